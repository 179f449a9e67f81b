"""What costs and returns look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.analysis.economics import money
from assay.messages import Said, say
from assay.report.blocks import Block, Chart, Heading, Lines, Point, Verdict
from assay.report.marks import tone
from assay.report.numbers import about
from assay.report.tables import Table
from assay.results.money import Roi

if TYPE_CHECKING:
    from assay.results.money import Band, Costs, MethodCost


def line(found: Costs | Roi) -> Verdict:
    """Say what methods cost a day, or what a method earns a day and whether that is shown."""
    if not isinstance(found, Roi):
        each = [say("cost.each", method=one.method, money=money(one.per_day, found.currency)) for one in found.costs]
        return Verdict(say("cost.line", costs=each))
    net = "" if found.net.value is None else money(found.net.value, found.currency)
    band = _ends(found.net, lambda value: money(value, found.currency))
    key = "roi.line_ends" if band and net else "roi.line" if net else "roi.line_unknown"
    return Verdict(say(key, method=found.method, net=net, ends=band, outcome=_outcome(found)), tone(found.decision))


def table(found: Costs | Roi) -> list[Block]:
    """Costs side by side, or a return line by line."""
    return _returns(found) if isinstance(found, Roi) else _costs(found)


def page(found: Costs | Roi, place: int = 0) -> list[Block]:
    """The same, and where a return breaks even."""
    chart = _break_even(found, place) if isinstance(found, Roi) and found.curve else None
    return [*table(found), *([] if chart is None else [chart])]


def _costs(found: Costs) -> list[Block]:
    title = say("cost.title", documents=found.documents_per_query, queries=found.queries_per_day)
    if found.queries is not None:
        title = say("cost.title_measured", n=found.queries, queries=found.queries_per_day)
    goal = found.goal
    notes = () if goal is None else (say("cost.target", target=goal.target, excellent=goal.excellent),)
    tables: list[Block] = [_methods(found)] if any(not one.stages for one in found.costs) else []
    tables += [_stages(found)] if found.has_stages else []
    estimated = [say("cost.estimates")] if any(_mark_estimate(one) for one in found.costs) else []
    return [Heading(title), *tables, Lines(found.warnings, listed=True), Lines((*notes, *estimated))]


def _mark_estimate(one: MethodCost) -> bool:
    return any(stage.estimated or stage.money_estimated for stage in one.stages)


def _stages(found: Costs) -> Table:
    """One row per stage, and the total of each method."""
    rows: list[tuple[str, ...]] = []
    for one in found.costs:
        for place, stage in enumerate(one.stages):
            tokens = "" if stage.tokens is None else about(f"{stage.tokens:,.0f}", stage.estimated)
            sums = (money(part, found.currency) for part in (stage.per_query, stage.per_day))
            shown = (about(part, stage.money_estimated) for part in sums)
            written = "" if stage.output_tokens is None else about(f"{stage.output_tokens:,.0f}", stage.estimated)
            rows.append(("" if place else one.method, stage.stage, tokens, written, *shown, stage.basis))
        if one.stages:
            sums = (money(part, found.currency) for part in (one.per_query, one.per_day))
            rows.append(("", say("cost.total"), "", "", *(about(part, one.estimated) for part in sums), one.basis))
    columns = ("system", "stage", "tokens_query", "output_tokens", "each_query", "each_day", "basis")
    return Table(tuple(say(f"column.{name}") for name in columns), tuple(rows), names=2, texts=(6,))


def _methods(found: Costs) -> Table:
    rows = []
    for one in found.costs:
        if one.stages:
            continue
        shown = "" if one.price is None else money(one.price, found.currency)
        tokens = "" if one.tokens is None else f"{one.tokens:,g}"
        per = money(one.per_query, found.currency), money(one.per_day, found.currency)
        rows.append((one.method, shown, tokens, *per, one.basis))
    headers = tuple(
        say(f"column.{name}") for name in ("method", "price", "tokens_each", "each_query", "each_day", "basis")
    )
    return Table(headers, tuple(rows), texts=(5,))


def cost_rows(found: Costs) -> Table:
    """Every method, and every stage of it, as one row with exact numbers, for a spreadsheet."""
    rows = found.to_rows()
    cells = tuple(tuple("" if cell is None else str(cell) for cell in row.values()) for row in rows)
    return Table(tuple(rows[0]), cells, texts=(6,))


def _returns(found: Roi) -> list[Block]:
    """The calculation line by line, then what it rests on."""
    currency = found.currency
    ends = found.gain.confidence_level
    interval = [] if ends is None else [say("column.interval", level=ends)]
    headers = [say("column.quantity"), say("column.value"), *interval]
    rows = [
        _row(say("roi.net"), found.net, lambda value: money(value, currency)),
        _row(say("roi.gain"), found.gain.relative, "{:+.2%}".format),
        _row(say("roi.revenue"), found.revenue, lambda value: money(value, currency)),
        (say("roi.cost"), money(found.cost, currency), ""),
        *([_row(say("roi.roi"), found.roi_if_shown, "{:+.2%}".format)] if found.change_is_shown else []),
        (
            say("roi.even_volume"),
            "" if found.cost is None else _volume(found.break_even_queries_per_day.value),
            _volumes(found),
        ),
        _price(found, currency),
        (say("roi.even_gain"), "" if found.break_even_gain is None else f"{found.break_even_gain:+.2%}", ""),
    ]
    table = Table(tuple(headers), tuple(row[: len(headers)] for row in rows))
    title = say("roi.title", method=found.method, queries=found.queries_per_day)
    return [Heading(title), Lines((*_source(found), *_verdict(found))), table, Lines(tuple(_notes(found)))]


def _verdict(found: Roi) -> list[Said]:
    """What the comparison says of the gain, and whether it pays: before any number."""
    verdict = found.gain.verdict
    compared = [say("roi.verdict", verdict=say(f"verdict.{verdict}"))] if verdict else []
    unshown = [] if found.change_is_shown else [say("roi.no_percent")]
    return [*compared, _outcome(found), *unshown]


def _row(name: Said, band: Band, show: Any) -> tuple[str, str, str]:
    return name, "" if band.value is None else show(band.value), _ends(band, show)


def _ends(band: Band, show: Any) -> str:
    return "" if band.low is None or band.high is None else f"[{show(band.low)}, {show(band.high)}]"


def _price(found: Roi, currency: str) -> tuple[str, str, str]:
    band = found.break_even_price
    shown = [say("roi.never") if part is None else money(part, currency) for part in (band.low, band.high)]
    value = say("roi.never") if band.value is None else money(band.value, currency)
    ends = "" if found.gain.relative.low is None else say("roi.volumes", low=shown[0], high=shown[1])
    return say("roi.even_price"), value, ends


def _volume(value: float | None) -> str:
    return say("roi.never") if value is None else say("roi.any") if value == 0 else f"{value:,.0f}"


def _volumes(found: Roi) -> str:
    band = found.break_even_queries_per_day
    if found.gain.relative.low is None or found.cost_per_query is None:
        return ""
    if band.low == band.high:
        return _volume(band.low)
    return say("roi.volumes", low=_volume(band.low), high=_volume(band.high))


def _source(found: Roi) -> list[Said]:
    gain = found.gain
    if gain.measure:
        key, n = ("roi.from_test", gain.users) if gain.users else ("roi.from_file", gain.queries)
        return [say(
            key, measure=gain.measure, system=gain.system, baseline=gain.baseline, before=gain.before,
            after=gain.after, n=n,
        )]  # fmt: skip
    if gain.before is not None:
        return [say("roi.from_values", before=gain.before, after=gain.after)]
    return [] if gain.relative.value is None else [say("roi.from_gain", gain=gain.relative.value)]


def _outcome(found: Roi) -> Said:
    """Say whether it pays."""
    unknown = found.outcome == "no_interval" and found.gain.measure
    other = f"unseen_{found.unseen}" if found.unseen else found.outcome
    key = "no_interval_in_file" if unknown else "unproven" if found.unproven else other
    return say(f"roi.{key}", system=found.gain.system, n=found.gain.queries)


def _notes(found: Roi) -> list[Said]:
    notes = [say("roi.free")] if found.cost == 0 else []
    price = found.break_even_price_per_million
    if price is not None:
        notes.append(say("roi.price_per_million", money=money(price, found.currency)))
    return [*notes, say("roi.assumes", elasticity=found.elasticity)]


def _break_even(found: Roi, place: int) -> Chart:
    """What a day earns by the number of its queries."""
    points = tuple(Point(one.queries_per_day, one.net_per_day) for one in found.curve)
    rows = tuple((f"{one.queries_per_day:,.0f}", f"{one.net_per_day:+,.2f}") for one in found.curve)
    axes = (say("axis.per_day"), say("axis.net", currency=found.currency))
    at = found.break_even_queries_per_day.value
    rules = ((at, say("chart.break_even_at")),) if at else ()
    title = say("chart.break_even")
    return Chart(
        f"break-even-{place}", "curves", title, *axes, points, Table(axes, rows, names=0), rules,
        write="{:+,.2f}".format, write_x="{:,.0f}".format,
    )  # fmt: skip
