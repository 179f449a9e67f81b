"""Money: what each method costs, what a gain is worth, and where it breaks even."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.messages import ends, say
from assay.report.blocks import Block, Chart, Facts, Point, Section, Verdict
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.report_data import ReportData
    from assay.report.blocks import Tone


def section(found: ReportData) -> Section | None:
    """Costs side by side, the return, the break-even curve."""
    blocks = [block for place, part in enumerate(found.extras["economics"]) for block in _part(part, place)]
    return Section("money", say("page.money"), tuple(blocks)) if blocks else None


def verdict(found: ReportData) -> Verdict | None:
    """Say what the investment returns."""
    roi = next((part["roi"] for part in found.extras["economics"] if part.get("roi")), None)
    if roi is None or roi.get("value") is None:
        return None
    return Verdict(say("money.verdict", value=float(roi["value"]), interval=_interval(roi)), _tone(roi))


def _tone(roi: Mapping[str, Any]) -> Tone:
    """Good or bad where the whole interval is; a return without one, or of width 0 in an earlier file, is neither."""
    low, high = roi.get("low"), roi.get("high")
    if low is None or high is None or low == high:
        return "warn"
    if low > 0:
        return "good" if roi.get("outcome", "pays") == "pays" else "warn"
    return "bad" if high < 0 else "warn"


def _interval(roi: Mapping[str, Any]) -> str:
    shown = ends(roi.get("low"), roi.get("high"), "+.1%")
    return f" {shown}" if shown else ""


def _part(part: Mapping[str, Any], place: int) -> list[Block]:
    currency = str(part.get("currency") or "")
    blocks: list[Block] = []
    costs = list(part.get("costs") or ())
    if costs:
        rows = tuple((str(c["method"]), _money(c.get("per_query"), 6), _money(c.get("per_day"), 2)) for c in costs)
        headers = (say("column.method"), say("column.per_query", currency=currency),
                   say("column.per_day", currency=currency))  # fmt: skip
        blocks.append(Table(headers, rows, caption=say("money.costs")))
    roi = part.get("roi")
    return [*blocks, *_roi(roi, currency, place)] if roi else blocks


def _money(value: object, digits: int) -> str:
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else ""


def _roi(roi: Mapping[str, Any], currency: str, place: int) -> list[Block]:
    items = [(say("fact.roi"), f"{float(roi['value']):+.2%}" if roi.get("value") is not None else "", _interval(roi))]
    at, price = roi.get("break_even_queries_per_day"), roi.get("break_even_price")
    if at is not None:
        items.append((say("fact.break_even"), f"{float(at):,.0f}", say("fact.per_day")))
    if price is not None:
        items.append((say("fact.break_even_price"), f"{float(price):,.6g}", currency))
    curve = list(roi.get("curve") or ())
    if not curve:
        return [Facts(tuple(items))]
    points = tuple(Point(float(p["queries_per_day"]), float(p["net_per_day"])) for p in curve)
    rows = tuple((f"{p.x:,.0f}", f"{p.y:+,.2f}") for p in points)
    net = say("axis.net", currency=currency)
    table = Table((say("axis.per_day"), net), rows, names=0)
    rules = ((float(at), say("chart.break_even_at")),) if at is not None else ()
    chart = Chart(
        f"break-even-{place}", "curves", say("chart.break_even"), say("axis.per_day"), net, points, table, rules=rules
    )
    return [Facts(tuple(items)), chart]
