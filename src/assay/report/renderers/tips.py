"""What a page tells about each mark of a chart when a reader points at it, and where the mark leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Lang, say, tell

if TYPE_CHECKING:
    from assay.report.blocks import Chart, Point


def tips(chart: Chart, lang: Lang) -> list[list[str]]:
    """The name of each point, its value with its interval, and its address."""
    return [[_name(point, lang), _value(chart, point, lang), point.to] for point in chart.points]


def _name(point: Point, lang: Lang) -> str:
    named = [text for text in (point.series, point.x if isinstance(point.x, str) else "", point.label) if text]
    told = [tell(text, lang) for text in dict.fromkeys(named)]
    return tell(say("text.list", parts=told), lang) if told else ""


def _value(chart: Chart, point: Point, lang: Lang) -> str:
    y = chart.write(point.y)
    ends = "" if point.low is None or point.high is None else f"[{chart.write(point.low)}, {chart.write(point.high)}]"
    match chart.kind:
        case "histogram" | "distribution":
            return f"[{point.low:.4g}, {point.high:.4g}]: {point.y:,.0f}"
        case "density":
            return tell(say("page.queries_here", n=int(point.low or 0)), lang)
        case "counts":
            return ""
        case "scatter" | "frontier":
            return f"{tell(chart.x, lang)}: {chart.write_x(float(point.x))}\n{tell(chart.y, lang)}: {y}"
        case "curves":
            return f"{tell(chart.x, lang)} {chart.write_x(float(point.x))}: {y} {ends}".strip()
        case _:
            return f"{y} {ends}".strip()
