"""Charts: a chart block becomes a Vega-Lite specification, and that an SVG or PNG picture. Nothing is drawn later.

Systems have the colours that `design.colours` gives them; series differ in shape or dash too. In pages, marks carry the
number of their point, by which a script finds what to say about it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from assay.errors import MissingPackage, UsageError, clean
from assay.messages import Lang, say, tell
from assay.report.design.colours import GRID, INK
from assay.report.drawings import DRAWINGS, LETTERS, Pen
from assay.report.svg import tidy
from assay.report.tables import width

if TYPE_CHECKING:
    from assay.report.blocks import Cast, Chart

_TEXT = re.compile(r"<text[^>]*>([^<]*)<")


def svg(chart: Chart, lang: Lang = "en", *, alone: bool = False, cast: Cast | None = None) -> str:
    """Draw a chart as SVG; texts stay texts, and the same chart gives the same bytes.

    A chart that is `alone` has its title and a white background. `cast` says which systems there are, and thereby who
    has which colour.
    """
    convert = _converter()
    drawn = convert.vegalite_to_svg(_specification(chart, lang, cast, alone=alone))
    return tidy(drawn, clean(tell(chart.title, lang)), clean(chart.name))


def png(chart: Chart, lang: Lang = "en", *, scale: float = 2.0, cast: Cast | None = None) -> bytes:
    """Draw a chart as PNG; refuse where this machine has no font for its texts."""
    convert = _converter()
    picture = svg(chart, lang, alone=True, cast=cast)
    if any(_wide(char) for text in _TEXT.findall(picture) for char in text) and not draws_chinese():
        raise UsageError(tell(say("plot.no_font", place=chart.name), lang))
    return bytes(convert.svg_to_png(picture, scale=scale))


def draws_chinese() -> bool:
    """Return whether two Chinese characters look different: without a font, both are the same box or nothing."""
    convert = _converter()
    frame = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        '<text x="4" y="30" font-size="24" font-family="sans-serif">{}</text></svg>'
    )
    return bool(convert.svg_to_png(frame.format("一")) != convert.svg_to_png(frame.format("龍")))


def _wide(char: str) -> bool:
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003ffff"


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingPackage(say("a chart"), "vl-convert-python", "report") from None
    return vl_convert


def _altair() -> Any:
    try:
        import altair as alt
    except ImportError:
        raise MissingPackage(say("a chart"), "altair", "report") from None
    return alt


def _specification(chart: Chart, lang: Lang, cast: Cast | None, *, alone: bool) -> dict[str, Any]:
    alt = _altair()
    rows = [
        {
            "x": _name(p.x, lang) if isinstance(p.x, str) else p.x, "y": p.y, "low": p.low, "high": p.high,
            "series": _name(p.series, lang), "label": _name(p.label, lang), "at": f"#{place}",
        }
        for place, p in enumerate(chart.points)
    ]  # fmt: skip
    with alt.utils.schemapi.debug_mode(arg=False):  # checking every part against the schema doubles the time
        pen = Pen(alt, chart, alt.Data(values=rows), lang, cast)
        drawn = _configure(alt, DRAWINGS[chart.kind](pen), pen.series, pen.beside)
        if alone:
            title = alt.TitleParams(clean(tell(chart.title, lang)), color=INK, anchor="start", fontSize=14)
            drawn = drawn.properties(title=title, background="white")
        made: dict[str, Any] = drawn.to_dict(validate=False)
    return made


def _name(text: str, lang: Lang) -> str:
    return clean(tell(text, lang))[:LETTERS]


def _configure(alt: Any, drawn: Any, names: list[str], beside: float) -> Any:
    """Set the type and the colours that all charts share; `beside` is room on the right for names of lines.

    A converter without a Chinese font takes Chinese names for narrow ones: legends leave them room.
    """
    wide = max((width(name) - len(name) for name in names), default=0)
    return drawn.properties(background="transparent").configure(
        aria=True, font="sans-serif", padding={"left": 8, "top": 8, "bottom": 8, "right": 8 + beside},
        axis=alt.AxisConfig(
            labelColor=INK, titleColor=INK, tickColor=GRID, domainColor=GRID, gridColor=GRID, labelFontSize=12,
            titleFontSize=12, titleFontWeight="normal", labelLimit=320, labelOverlap="greedy", labelSeparation=10,
            tickCount=6, titlePadding=12,
        ),
        legend=alt.LegendConfig(
            labelColor=INK, titleColor=INK, labelFontSize=12, orient="top", title=None, labelLimit=240, columns=4,
            columnPadding=26 + 7 * wide,
            symbolStrokeWidth=0, symbolOpacity=1, symbolFillColor=INK,
        ),
        header=alt.HeaderConfig(labelColor=INK, labelFontSize=12, title=None),
        view=alt.ViewConfig(stroke=None),
        text=alt.MarkConfig(color=INK, fontSize=12),
    )  # fmt: skip
