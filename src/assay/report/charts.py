"""Charts: a chart block becomes a Vega-Lite specification, and that an SVG or PNG picture. Nothing is drawn later.

Colours are Okabe and Ito's, which people with any kind of colour vision can distinguish; series differ in shape or dash
too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from assay.errors import MissingPackage, UsageError, clean
from assay.messages import Lang, say, tell
from assay.report.svg import tidy
from assay.report.tables import width

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.report.blocks import Chart, Point

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#c2609a", "#3f8fc4", "#b47d00", "#7a6fb5", "#5f7f2f", "#a6564a", "#5c6670")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3), (10, 3), (3, 1), (6, 2, 1, 2), (12, 4))
BETTER, WORSE = PALETTE[0], PALETTE[1]
INK, GRID = "#1f2328", "#d8dee4"
_WIDTH, _HEIGHT, _ROW = 400, 240, 24
_LETTER = 7.2  # widest usual width of a letter in pixels: browsers choose other fonts than the converter
_TEXT = re.compile(r"<text[^>]*>([^<]*)<")
_NAME = 42  # characters of a name that fit beside a chart


def svg(chart: Chart, lang: Lang = "en", *, alone: bool = False) -> str:
    """Draw a chart as SVG; texts stay texts, and the same chart gives the same bytes.

    A chart that is `alone` has its title and a white background.
    """
    convert = _converter()
    return tidy(convert.vegalite_to_svg(_specification(chart, lang, alone=alone)), clean(tell(chart.title, lang)))


def png(chart: Chart, lang: Lang = "en", *, scale: float = 2.0) -> bytes:
    """Draw a chart as PNG; refuse where this machine has no font for its texts."""
    convert = _converter()
    picture = svg(chart, lang, alone=True)
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


def _specification(chart: Chart, lang: Lang, *, alone: bool) -> dict[str, Any]:
    draw: Callable[[Any, Chart, Any, Lang], Any] = _DRAWN[chart.kind]
    alt = _altair()
    rows = [
        {
            "x": clean(tell(p.x, lang))[:_NAME] if isinstance(p.x, str) else p.x, "y": p.y, "low": p.low,
            "high": p.high, "series": clean(tell(p.series, lang))[:_NAME], "label": clean(tell(p.label, lang))[:_NAME],
        }
        for p in chart.points
    ]  # fmt: skip
    with alt.utils.schemapi.debug_mode(arg=False):  # checking every part against the schema doubles the time
        names = _series(chart, lang)
        drawn = _configure(alt, draw(alt, chart, alt.Data(values=rows), lang), names)
        if alone:
            title = alt.TitleParams(clean(tell(chart.title, lang)), color=INK, anchor="start", fontSize=14)
            drawn = drawn.properties(title=title, background="white")
        made: dict[str, Any] = drawn.to_dict(validate=False)
    return made


def _configure(alt: Any, drawn: Any, names: list[str]) -> Any:
    """Set the type and the colours that all charts share.

    A converter without a Chinese font takes Chinese names for narrow ones: legends leave them room.
    """
    wide = max((width(name) - len(name) for name in names), default=0)
    return drawn.properties(background="transparent").configure(
        aria=False, font="sans-serif", padding=8,
        axis=alt.AxisConfig(
            labelColor=INK, titleColor=INK, tickColor=GRID, domainColor=GRID, gridColor=GRID, labelFontSize=12,
            titleFontSize=12, titleFontWeight="normal", labelLimit=320, labelOverlap="greedy", labelSeparation=10,
            tickCount=6, titlePadding=12,
        ),
        legend=alt.LegendConfig(
            labelColor=INK, titleColor=INK, labelFontSize=12, orient="top", title=None, labelLimit=240, columns=4,
            columnPadding=26 + 7 * wide,
            symbolStrokeWidth=0, symbolOpacity=1,
        ),
        view=alt.ViewConfig(stroke=None),
        text=alt.MarkConfig(color=INK, fontSize=12),
    )  # fmt: skip


def _series(chart: Chart, lang: Lang) -> list[str]:
    return list(dict.fromkeys(clean(tell(point.series, lang))[:_NAME] for point in chart.points))


def _colour(alt: Any, names: list[str], *, legend: bool = True) -> Any:
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    shown = {} if legend and len(names) > 1 else {"legend": None}
    return alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=colours), **shown)


def _shape(alt: Any, names: list[str]) -> Any:
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    shown = {} if len(names) > 1 else {"legend": None}
    return alt.Shape("series:N", title=None, scale=alt.Scale(domain=names, range=shapes), **shown)


def _axis(kind: Any, field: str, title: str, lang: Lang, **more: Any) -> Any:
    return kind(field, title=clean(tell(title, lang)), **more)


def _intervals(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Dots with whiskers, one row for each name; series are set off from each other.

    Names are data, never part of the specification: Vega would turn a list to sort by into an expression.
    """
    names = _series(chart, lang)
    order = list(dict.fromkeys(clean(tell(str(point.x), lang))[:_NAME] for point in chart.points))
    base = alt.Chart(data).encode(
        y=alt.Y(
            "x:N",
            sort=None,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, grid=False, minExtent=_label_width(order)),
        ),
        color=_colour(alt, names),
    )
    if len(names) > 1:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=names)))
    value = _axis(alt.X, "y:Q", chart.x, lang, scale=alt.Scale(zero=False, nice=True))
    ends = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(x=value, shape=_shape(alt, names))
    rows = len(order) * max(1, len(names))
    return alt.layer(ends, dots).properties(width=_WIDTH, height=max(2 * _ROW, rows * (_ROW if len(names) < 2 else 16)))  # noqa: PLR2004


def _label_width(names: list[str]) -> float:
    """Pixels that the longest name takes."""
    return 8 + _LETTER * max(map(width, names), default=0)


def _curves(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Lines with bands."""
    names = _series(chart, lang)
    marks = sorted({float(point.x) for point in chart.points})
    few = {"values": marks} if len(marks) <= 12 else {}  # noqa: PLR2004
    x = _axis(alt.X, "x:Q", chart.x, lang, scale=alt.Scale(zero=False, nice=False, padding=8),
              axis=alt.Axis(grid=False, format=",.6~g", **few))  # fmt: skip
    colour = _colour(alt, names)
    base = alt.Chart(data)
    layers = []
    if any(point.low is not None for point in chart.points):
        band = base.mark_area(opacity=0.12).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
        layers.append(band)
    y = _axis(alt.Y, "y:Q", chart.y, lang, scale=alt.Scale(zero=False))
    shown = {} if len(names) > 1 else {"legend": None}
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(len(names))]
    dash = alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes), **shown)
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash))
    layers.append(
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, shape=_shape(alt, names))
    )
    if chart.rules:
        layers.append(_zero(alt))
    return alt.layer(*layers, *_rules(alt, chart, lang)).properties(width=_WIDTH, height=_HEIGHT)


def _zero(alt: Any) -> Any:
    return alt.Chart(alt.Data(values=[{"y": 0}])).mark_rule(color=INK, strokeWidth=1).encode(y="y:Q")


def _rules(alt: Any, chart: Chart, lang: Lang) -> list[Any]:
    """Vertical lines with their names."""
    if not chart.rules:
        return []
    rows = [{"at": at, "name": clean(tell(name, lang))} for at, name in chart.rules]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("at:Q"))
    names = base.mark_text(align="left", dx=4, dy=8, color=INK).encode(text="name:N", y=alt.value(0))
    return [base.mark_rule(strokeDash=[4, 3], color=INK), names]


def _bars(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Sorted differences: what gained to the left, what lost to the right."""
    colour = alt.condition(f"datum.y {_gain_sign(chart)} 0", alt.value(BETTER), alt.value(WORSE))
    size = max(1.0, min(16.0, 0.86 * _WIDTH / max(1, len(chart.points))))
    x = _axis(alt.X, "x:Q", chart.x, lang, axis=alt.Axis(labels=False, ticks=False, grid=False),
              scale=alt.Scale(nice=False, padding=10))  # fmt: skip
    y = _axis(alt.Y, "y:Q", chart.y, lang)
    bars = alt.Chart(data).mark_bar(size=size).encode(x=x, y=y, color=colour)
    return alt.layer(bars, _zero(alt)).properties(width=_WIDTH, height=_HEIGHT)


def _gain_sign(chart: Chart) -> str:
    return "<=" if chart.lower else ">="


def _plane(alt: Any, chart: Chart, lang: Lang) -> tuple[Any, Any, Any]:
    """Axes of equal range, and the line on which nothing changed."""
    values = [value + more for p in chart.points for value in (float(p.x), p.y) for more in (0.0, chart.step)]
    low, high = min([0.0, *values]), max([1e-9, *values])
    scale = alt.Scale(domain=[low, high], nice=False)
    x = _axis(alt.X, "x:Q", chart.x, lang, scale=scale)
    y = _axis(alt.Y, "y:Q", chart.y, lang, scale=scale)
    line = alt.Chart(alt.Data(values=[{"x": low, "y": low}, {"x": high, "y": high}]))
    return x, y, line.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1).encode(x="x:Q", y="y:Q")


def _scatter(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """One dot for each query; above the line it gained, or below it where lower is better."""
    x, y, line = _plane(alt, chart, lang)
    colour = alt.condition(f"datum.y {_gain_sign(chart)} datum.x", alt.value(BETTER), alt.value(WORSE))
    dots = alt.Chart(data).mark_point(filled=True, size=55, opacity=0.55).encode(x=x, y=y, color=colour)
    return alt.layer(line, dots).properties(width=300, height=300)


def _density(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Cells shaded by the number of queries in them."""
    x, y, line = _plane(alt, chart, lang)
    cells = (
        alt.Chart(data)
        .transform_calculate(x2=f"datum.x + {chart.step!r}", y2=f"datum.y + {chart.step!r}")
        .mark_rect(color=BETTER)
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", opacity=alt.Opacity(
            "low:Q", title=None, scale=alt.Scale(type="log", range=[0.15, 1]),
            legend=alt.Legend(tickCount=4, symbolFillColor=BETTER, symbolType="square", symbolStrokeWidth=0)))
    )  # fmt: skip
    return alt.layer(cells, line).properties(width=300, height=300)


def _histogram(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Bars between edges, percentiles as lines."""
    x = _axis(alt.X, "low:Q", chart.x, lang, scale=alt.Scale(zero=False, nice=False))
    tall = max((point.y for point in chart.points), default=1.0)
    y = _axis(alt.Y, "y:Q", chart.y, lang, scale=alt.Scale(domain=[0, 1.3 * tall or 1.0], nice=False))
    bars = alt.Chart(data).mark_bar(color=BETTER, binSpacing=1).encode(x=x, x2="high:Q", y=y, y2=alt.datum(0))
    rules = _rules(alt, chart, lang)
    if rules:  # names of close percentiles are placed one below the other
        heights = [14 * i for i in range(len(chart.rules))]
        rows = [{"at": at, "name": clean(tell(n, lang)), "h": h}
                for (at, n), h in zip(chart.rules, heights, strict=True)]  # fmt: skip
        rules[1] = (
            alt.Chart(alt.Data(values=rows))
            .mark_text(align="left", dx=4, dy=8, color=INK)
            .encode(x=alt.X("at:Q"), y=alt.Y("h:Q", scale=None, axis=None), text="name:N")
        )
        return alt.layer(alt.layer(bars, rules[0]), rules[1]).resolve_scale(y="independent").properties(
            width=_WIDTH, height=_HEIGHT)  # fmt: skip
    return bars.properties(width=_WIDTH, height=_HEIGHT)


def _frontier(alt: Any, chart: Chart, data: Any, lang: Lang) -> Any:
    """Named dots; those of the front are joined."""
    names = _series(chart, lang)
    x = _axis(alt.X, "x:Q", chart.x, lang, scale=alt.Scale(zero=True))
    level = len({point.y for point in chart.points}) == 1  # a scale needs two values: the other one is 0
    y = _axis(alt.Y, "y:Q", chart.y, lang, scale=alt.Scale(zero=level, padding=20))
    base = alt.Chart(data).encode(x=x, y=y)
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(color=_colour(alt, names), shape=_shape(alt, names))
    middle = sum(float(point.x) for point in (min(chart.points, key=_x_of), max(chart.points, key=_x_of))) / 2
    left = base.transform_filter(f"datum.x <= {middle!r}").mark_text(align="left", dx=9, dy=11)
    right = base.transform_filter(f"datum.x > {middle!r}").mark_text(align="right", dx=-9, dy=-9)
    texts = [side.encode(text="label:N") for side in (left, right)]
    return alt.layer(*_front_line(alt, chart), dots, *texts).properties(width=_WIDTH, height=300)


def _x_of(point: Point) -> float:
    return float(point.x)


def _front_line(alt: Any, chart: Chart) -> list[Any]:
    """Draw the line along the front."""
    rows = [{"x": x, "y": y} for x, y in chart.line]
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=PALETTE[0], strokeWidth=1.5, interpolate="step-after")
    return [line.encode(x="x:Q", y="y:Q")] if rows else []


_DRAWN: dict[str, Callable[[Any, Chart, Any, Lang], Any]] = {
    "intervals": _intervals, "curves": _curves, "bars": _bars, "scatter": _scatter, "density": _density,
    "histogram": _histogram, "frontier": _frontier,
}  # fmt: skip
