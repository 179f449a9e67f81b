"""Money: what each method costs, what a gain is worth, and where it breaks even."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import ends, say
from assay.report.blocks import Block, Chart, Facts, Point, Section, Verdict
from assay.report.tables import Table
from assay.results.money import Costs, Roi

if TYPE_CHECKING:
    from assay.analysis.report_data import ReportData
    from assay.report.blocks import Tone


def section(found: ReportData) -> Section | None:
    """Costs side by side, the return, the break-even curve."""
    blocks: list[Block] = [_costs(part) for part in found.every(Costs)]
    for place, part in enumerate(found.every(Roi)):
        blocks += [_cost_of(part), *_roi(part, place)]
    return Section("money", say("page.money"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Say what the investment returns."""
    roi = next(iter(found.every(Roi)), None)
    if roi is None or roi.roi.value is None:
        return None
    return Verdict(say("money.verdict", value=roi.roi.value, interval=_interval(roi)), _tone(roi))


def _tone(roi: Roi) -> Tone:
    """Good or bad where the whole interval is; a return without one, or of width 0 in an earlier file, is neither."""
    low, high = roi.roi.low, roi.roi.high
    if low is None or high is None or low == high:
        return "warn"
    if low > 0:
        return "good" if roi.outcome == "pays" else "warn"
    return "bad" if high < 0 else "warn"


def _interval(roi: Roi) -> str:
    shown = ends(roi.roi.low, roi.roi.high, "+.1%")
    return f" {shown}" if shown else ""


def _costs(part: Costs) -> Table:
    return _table([(one.method, one.per_query, one.per_day) for one in part.costs], part.currency)


def _cost_of(part: Roi) -> Table:
    per = part.cost_per_query
    return _table([(part.method, per, None if per is None else per * part.queries_per_day)], part.currency)


def _table(rows: list[tuple[str, float | None, float | None]], currency: str) -> Table:
    headers = (
        say("column.method"),
        say("column.per_query", currency=currency),
        say("column.per_day", currency=currency),
    )
    shown = tuple((name, _money(each, 6), _money(daily, 2)) for name, each, daily in rows)
    return Table(headers, shown, caption=say("money.costs"))


def _money(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _roi(roi: Roi, place: int) -> list[Block]:
    items = [(say("fact.roi"), f"{roi.roi.value:+.2%}" if roi.roi.value is not None else "", _interval(roi))]
    at, price = roi.break_even_queries_per_day.value, roi.break_even_price.value
    if at is not None:
        items.append((say("fact.break_even"), f"{at:,.0f}", say("fact.per_day")))
    if price is not None:
        items.append((say("fact.break_even_price"), f"{price:,.6g}", roi.currency))
    if not roi.curve:
        return [Facts(tuple(items))]
    points = tuple(Point(one.queries_per_day, one.net_per_day) for one in roi.curve)
    rows = tuple((f"{one.queries_per_day:,.0f}", f"{one.net_per_day:+,.2f}") for one in roi.curve)
    net = say("axis.net", currency=roi.currency)
    table = Table((say("axis.per_day"), net), rows, names=0)
    rules = ((at, say("chart.break_even_at")),) if at is not None else ()
    chart = Chart(
        f"break-even-{place}", "curves", say("chart.break_even"), say("axis.per_day"), net, points, table, rules=rules
    )
    return [Facts(tuple(items)), chart]
