"""How each kind of chart is drawn, in Vega-Lite. Names are data, never part of a specification: Vega would run them.

Labels stand beside lines and bars where they fit; an axis whose values span more than a decade or so is logarithmic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.errors import clean
from assay.messages import Lang, say, tell
from assay.report.design.colours import GAIN, INK, LOSS, PALETTE, assign_colours
from assay.report.numbers import percent
from assay.report.tables import width

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.report.blocks import Cast, Chart, Point

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3), (10, 3), (3, 1), (6, 2, 1, 2), (12, 4))
LETTERS = 42  # of a name that fit beside a chart
_WIDTH, _HEIGHT, _ROW = 440, 240, 26
_LETTER = 7.2  # widest usual width of a letter in pixels: browsers choose other fonts than the converter
_BOLDER = 2.6  # pixels that a bold letter of a wide font takes more than the converter's
_DIRECT = 6  # more lines than this have a legend instead of labels at their ends
_DECADES = 20  # a larger ratio of the largest to the smallest value makes an axis logarithmic


@dataclass(frozen=True)
class Pen:
    """A chart that is being drawn: Altair, the rows, the language, and who has which colour."""

    alt: Any
    chart: Chart
    data: Any
    lang: Lang
    cast: Cast | None = None

    @cached_property
    def series(self) -> list[str]:
        """The names of its series."""
        return list(dict.fromkeys(self.text(point.series) for point in self.chart.points))

    @cached_property
    def places(self) -> list[str]:
        """The names on its axis."""
        return list(dict.fromkeys(self.place(point) for point in self.chart.points))

    def role(self, name: str) -> str:
        """What a system is here, where it is something, for its label on an axis."""
        if self.cast is None or self.chart.kind != "intervals":
            return ""
        roles = {self.text(self.cast.best): "page.best", self.text(self.cast.baseline): "page.baseline"}
        return tell(say(roles[name]), self.lang) if name and name in roles else ""

    @cached_property
    def colours_of_systems(self) -> Mapping[str, int]:
        """The colours of systems."""
        colours = assign_colours(self.cast.systems if self.cast else ())
        return {self.text(name): colour for name, colour in colours.items()}

    @property
    def is_direct(self) -> bool:
        """Whether the names of lines stand at their ends."""
        return self.chart.kind == "curves" and 1 < len(self.series) <= _DIRECT

    @property
    def beside(self) -> float:
        """Pixels that names at the ends of lines may need more than the converter knows: fonts of browsers differ."""
        return _BOLDER * max(map(width, self.series)) if self.is_direct else 0.0

    def text(self, given: str) -> str:
        """A name in the language of the page, cut to what fits."""
        return clean(tell(given, self.lang))[:LETTERS]

    def place(self, point: Point) -> str:
        """The name of a point on the axis; `str` would make a message an English text."""
        return self.text(point.x if isinstance(point.x, str) else str(point.x))

    def title(self, given: str) -> str:
        """A title of an axis."""
        return clean(tell(given, self.lang))

    def colours(self, names: Sequence[str]) -> list[str]:
        """The colours of names: those of systems, or one after the other."""
        if all(name in self.colours_of_systems for name in names):
            return [PALETTE[self.colours_of_systems[name] - 1] for name in names]
        return [PALETTE[place % len(PALETTE)] for place in range(len(names))]

    def colour(self, field: str = "series", *, legend: bool = True) -> Any:
        """The colour of a field."""
        names = self.series if field == "series" else self.places
        shown = {} if legend and len(names) > 1 else {"legend": None}
        scale = self.alt.Scale(domain=names, range=self.colours(names))
        return self.alt.Color(f"{field}:N", title=None, scale=scale, **shown)

    def shape(self, *, legend: bool = True) -> Any:
        """The shape of a series."""
        shapes = [SHAPES[i % len(SHAPES)] for i in range(len(self.series))]
        shown = {} if legend and len(self.series) > 1 else {"legend": None}
        return self.alt.Shape("series:N", title=None, scale=self.alt.Scale(domain=self.series, range=shapes), **shown)

    def marks(self, base: Any) -> Any:
        """Give marks the number of their point."""
        return base.encode(description="at:N")

    def quantity(self, kind: Any, field: str, title: str, values: Sequence[float], **scale: Any) -> Any:
        """An axis of numbers, logarithmic where they span decades."""
        if min(values, default=0) > 0 and max(values) / min(values) > _DECADES:
            axis = self.alt.Axis(format="~g", grid=True, tickCount=5)
            return kind(field, title=self.title(title), scale=self.alt.Scale(type="log", nice=True), axis=axis)
        return kind(field, title=self.title(title), scale=self.alt.Scale(**scale))

    def rules(self) -> list[Any]:
        """Vertical lines with their names."""
        if not self.chart.rules:
            return []
        alt = self.alt
        rows = [{"at": at, "name": self.title(name), "h": 14 * i} for i, (at, name) in enumerate(self.chart.rules)]
        base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("at:Q"))
        names = base.mark_text(align="left", dx=4, dy=8, color=INK).encode(
            text="name:N", y=alt.Y("h:Q", scale=None, axis=None)
        )
        return [base.mark_rule(strokeDash=[4, 3], color=INK), names]

    def level(self, value: float, channel: str = "y") -> Any:
        """A thin line at a value."""
        base = self.alt.Chart(self.alt.Data(values=[{"v": value}])).mark_rule(color=INK, strokeWidth=1)
        return base.encode(**{channel: "v:Q"})


def _intervals(pen: Pen) -> Any:
    """Dots with whiskers and their values, one row for each name; series are set off from each other."""
    alt, names = pen.alt, pen.series
    many = len(names) > 1
    axis = alt.Axis(ticks=False, domain=False, grid=False, minExtent=_label_width(pen.places))
    base = alt.Chart(pen.data).encode(
        y=alt.Y("x:N", sort=None, title=None, axis=axis),
        color=pen.colour() if many else pen.colour("x", legend=False) if _are_known(pen) else alt.value(PALETTE[0]),
    )
    if many:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=names)))
    shares = {"axis": alt.Axis(format="~%")} if pen.chart.write is percent else {}
    value = alt.X("y:Q", title=pen.title(pen.chart.x), scale=alt.Scale(zero=False, nice=True), **shares)
    ends = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q")
    dots = pen.marks(base.mark_point(filled=True, size=90, opacity=1).encode(x=value, shape=pen.shape()))
    layers = [*_zero_between(pen), ends, dots]
    if not many:
        rows = [{"x": (name := pen.place(p)), "y": p.y, "t": f"{pen.chart.write(p.y)} {pen.role(name)}".rstrip()}
                for p in pen.chart.points]  # fmt: skip
        texts = alt.Chart(alt.Data(values=rows)).mark_text(dy=-10, color=INK, fontSize=11)
        layers.append(texts.encode(x="y:Q", y=alt.Y("x:N", sort=None), text="t:N"))
    rows_ = len(pen.places) * max(1, len(names))
    height = max(2 * _ROW, rows_ * (16 if many else 34))
    return alt.layer(*layers).properties(width=_WIDTH, height=height)


def _are_known(pen: Pen) -> bool:
    return bool(pen.places) and all(name in pen.colours_of_systems for name in pen.places)


def _zero_between(pen: Pen) -> list[Any]:
    """A line at zero where some intervals lie on either side of it."""
    ends = [end for p in pen.chart.points for end in (p.low, p.high, p.y) if end is not None]
    return [pen.level(0.0, "x")] if ends and min(ends) < 0 < max(ends) else []


def _label_width(names: Sequence[str]) -> float:
    """Pixels that the longest name takes."""
    return 8 + _LETTER * max(map(width, names), default=0)


def _curves(pen: Pen) -> Any:
    """Lines with bands, named at their ends."""
    alt, chart, names = pen.alt, pen.chart, pen.series
    marks = sorted({float(point.x) for point in chart.points})
    few = {"values": marks} if len(marks) <= 12 else {}  # noqa: PLR2004
    log = min(marks, default=0) > 0 and max(marks) / min(marks) > _DECADES
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False, nice=False, padding=8)
    x = alt.X("x:Q", title=pen.title(chart.x), scale=scale, axis=alt.Axis(grid=False, format=",.6~g", **few))
    direct = pen.is_direct
    colour, base = pen.colour(legend=not direct), alt.Chart(pen.data)
    layers = []
    if any(point.low is not None for point in chart.points):
        band = base.mark_area(opacity=0.12).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
        layers.append(band)
    y = alt.Y("y:Q", title=pen.title(chart.y), scale=alt.Scale(zero=False))
    dashes = [list(DASHES[i % len(DASHES)]) for i in range(len(names))]
    shown = {} if len(names) > 1 and not direct else {"legend": None}
    dash = alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes), **shown)
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash))
    dots = base.mark_point(filled=True, size=60, opacity=1)
    layers.append(pen.marks(dots.encode(x=x, y=y, color=colour, shape=pen.shape(legend=not direct))))
    if chart.rules:
        layers.append(pen.level(0.0))
    layers += [_line_ends(pen, colour)] if direct else []
    if not chart.rules:
        return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)
    return alt.layer(alt.layer(*layers, pen.rules()[0]), pen.rules()[1]).resolve_scale(y="independent").properties(
        width=_WIDTH, height=_HEIGHT)  # fmt: skip


def _line_ends(pen: Pen, colour: Any) -> Any:
    """The name of each line at its end; names that would touch are moved apart."""
    last = {pen.text(p.series): p for p in sorted(pen.chart.points, key=_x_of)}
    ends = [end for p in pen.chart.points for end in (p.y, p.low, p.high) if end is not None]
    gap = (max(ends) - min(ends)) * 15 / _HEIGHT
    rows: list[dict[str, Any]] = []
    for name, point in sorted(last.items(), key=lambda pair: pair[1].y):
        at = point.y if not rows else max(point.y, rows[-1]["at"] + gap)
        rows.append({"series": name, "x": float(point.x), "at": at})
    base = pen.alt.Chart(pen.alt.Data(values=rows)).mark_text(align="left", dx=9, fontWeight="bold")
    return base.encode(x="x:Q", y="at:Q", text="series:N", color=colour)


def _bars(pen: Pen) -> Any:
    """Sorted differences: what gained to the left, what lost to the right."""
    alt, chart = pen.alt, pen.chart
    colour = alt.condition(f"datum.y {_gain_sign(chart)} 0", alt.value(GAIN), alt.value(LOSS))
    size = max(1.0, min(16.0, 0.86 * _WIDTH / max(1, len(chart.points))))
    x = alt.X("x:Q", title=pen.title(chart.x), axis=alt.Axis(labels=False, ticks=False, grid=False),
              scale=alt.Scale(nice=False, padding=10))  # fmt: skip
    y = alt.Y("y:Q", title=pen.title(chart.y))
    bars = pen.marks(alt.Chart(pen.data).mark_bar(size=size).encode(x=x, y=y, color=colour))
    return alt.layer(bars, pen.level(0.0)).properties(width=_WIDTH, height=_HEIGHT)


def _gain_sign(chart: Chart) -> str:
    return "<=" if chart.lower else ">="


def _plane(pen: Pen) -> tuple[Any, Any, Any]:
    """Axes of equal range, and the line on which nothing changed."""
    alt, chart = pen.alt, pen.chart
    values = [value + more for p in chart.points for value in (float(p.x), p.y) for more in (0.0, chart.step)]
    low, high = min([0.0, *values]), max([1e-9, *values])
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("x:Q", title=pen.title(chart.x), scale=scale)
    y = alt.Y("y:Q", title=pen.title(chart.y), scale=scale)
    line = alt.Chart(alt.Data(values=[{"x": low, "y": low}, {"x": high, "y": high}]))
    return x, y, line.mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1).encode(x="x:Q", y="y:Q")


def _scatter(pen: Pen) -> Any:
    """One dot for each query; above the line it gained, or below it where lower is better."""
    alt = pen.alt
    x, y, line = _plane(pen)
    colour = alt.condition(f"datum.y {_gain_sign(pen.chart)} datum.x", alt.value(GAIN), alt.value(LOSS))
    dots = pen.marks(alt.Chart(pen.data).mark_point(filled=True, size=60, opacity=0.6).encode(x=x, y=y, color=colour))
    return alt.layer(line, dots).properties(width=300, height=_HEIGHT)


def _density(pen: Pen) -> Any:
    """Cells shaded by the number of queries in them."""
    alt, step = pen.alt, pen.chart.step
    x, y, line = _plane(pen)
    cells = pen.marks(
        alt.Chart(pen.data)
        .transform_calculate(x2=f"datum.x + {step!r}", y2=f"datum.y + {step!r}")
        .mark_rect(color=INK)
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", opacity=alt.Opacity(
            "low:Q", title=None, scale=alt.Scale(type="log", range=[0.15, 1]),
            legend=alt.Legend(tickCount=4, symbolFillColor=INK, symbolType="square", symbolStrokeWidth=0)))
    )  # fmt: skip
    return alt.layer(cells, line).properties(width=300, height=_HEIGHT)


def _histogram(pen: Pen) -> Any:
    """Bars between edges, which are even on a logarithmic scale; percentiles as lines, named one below the other."""
    alt, chart = pen.alt, pen.chart
    low = min((point.low or 0.0 for point in chart.points), default=0.0)
    even = {"type": "log"} if low > 0 else {"zero": False}
    axis = alt.Axis(format=",.6~g", grid=False)
    x = alt.X("low:Q", title=pen.title(chart.x), scale=alt.Scale(nice=False, **even), axis=axis)
    tall = max((point.y for point in chart.points), default=1.0)
    room = (1.3 if chart.rules else 1.05) * tall or 1.0
    y = alt.Y("y:Q", title=pen.title(chart.y), scale=alt.Scale(domain=[0, room], nice=False))
    bars = alt.Chart(pen.data).mark_bar(color=PALETTE[0], binSpacing=1).encode(x=x, x2="high:Q", y=y, y2=alt.datum(0))
    bars, rules = pen.marks(bars), pen.rules()
    if not rules:
        return bars.properties(width=_WIDTH, height=_HEIGHT)
    return alt.layer(alt.layer(bars, rules[0]), rules[1]).resolve_scale(y="independent").properties(
        width=_WIDTH, height=_HEIGHT)  # fmt: skip


def _distribution(pen: Pen) -> Any:
    """A row of bars for each series, all on one axis."""
    alt, chart = pen.alt, pen.chart
    x = alt.X("low:Q", title=pen.title(chart.x), scale=alt.Scale(nice=False), axis=alt.Axis(grid=False))
    y = alt.Y("y:Q", title=None, axis=alt.Axis(tickCount=2, grid=True))
    bars = alt.Chart(pen.data).mark_bar(binSpacing=1)
    bars = bars.encode(x=x, x2="high:Q", y=y, y2=alt.datum(0), color=pen.colour(legend=False))
    header = alt.Header(labelAngle=0, labelAlign="left", labelAnchor="start", labelOrient="top", labelPadding=2)
    row = alt.Row("series:N", sort=pen.series if not any(map(_risky, pen.series)) else None, title=None, header=header)
    tall = 110 if len(pen.series) == 1 else 56
    return pen.marks(bars).properties(width=_WIDTH, height=tall).facet(row=row, spacing=6)


def _risky(name: str) -> bool:
    """Return whether a name had better not be part of a specification."""
    return not all(char.isalnum() or char in " -_+@." for char in name)


def _counts(pen: Pen) -> Any:
    """Bars named by what they count, with the count at their ends."""
    alt, names = pen.alt, pen.series
    axis = alt.Axis(ticks=False, domain=False, grid=False, minExtent=_label_width(pen.places))
    base = alt.Chart(pen.data).encode(y=alt.Y("x:N", sort=None, title=None, axis=axis))
    many = len(names) > 1
    if many:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=None, scale=alt.Scale(domain=names)))
    most = max((point.y for point in pen.chart.points), default=1.0)
    x = alt.X("y:Q", title=pen.title(pen.chart.x), scale=alt.Scale(domain=[0, 1.18 * most or 1.0], nice=False))
    bars = pen.marks(base.mark_bar(size=11 if many else 18).encode(x=x, color=pen.colour()))
    texts = base.mark_text(align="left", dx=5, color=INK).encode(x=x, text="label:N")
    rows = len(pen.places) * len(names)
    return alt.layer(bars, texts).properties(width=_WIDTH, height=max(60, rows * (16 if many else 30)))


def _frontier(pen: Pen) -> Any:
    """Named dots in the colours of their systems; those of the front are joined."""
    alt, points = pen.alt, pen.chart.points
    x = pen.quantity(alt.X, "x:Q", pen.chart.x, [float(p.x) for p in points], zero=True)
    y = alt.Y("y:Q", title=pen.title(pen.chart.y), scale=alt.Scale(zero=False, padding=24))
    base = alt.Chart(pen.data).encode(x=x, y=y)
    labels = [pen.text(point.label) for point in points]
    colour = alt.Color("label:N", legend=None, scale=alt.Scale(domain=labels, range=pen.colours(labels)))
    dots = pen.marks(base.mark_point(filled=True, size=110, opacity=1).encode(color=colour, shape=pen.shape()))
    ordered = sorted(points, key=_x_of)
    middle = _x_of(ordered[len(ordered) // 2 - 1]) if ordered else 0.0
    left = base.transform_filter(f"datum.x <= {middle!r}").mark_text(align="left", dx=9, dy=12)
    right = base.transform_filter(f"datum.x > {middle!r}").mark_text(align="right", dx=-9, dy=-10)
    texts = [side.encode(text="label:N") for side in (left, right)]
    return alt.layer(*_front_line(pen), dots, *texts).properties(width=_WIDTH, height=280)


def _x_of(point: Point) -> float:
    return float(point.x)


def _front_line(pen: Pen) -> list[Any]:
    """Draw the line along the front."""
    alt, rows = pen.alt, [{"x": x, "y": y} for x, y in pen.chart.line]
    line = alt.Chart(alt.Data(values=rows)).mark_line(color=INK, strokeWidth=1, opacity=0.5, interpolate="step-after")
    return [line.encode(x="x:Q", y="y:Q")] if rows else []


DRAWINGS: dict[str, Callable[[Pen], Any]] = {
    "intervals": _intervals, "curves": _curves, "bars": _bars, "scatter": _scatter, "density": _density,
    "histogram": _histogram, "frontier": _frontier, "counts": _counts, "distribution": _distribution,
}  # fmt: skip
