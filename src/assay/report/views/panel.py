"""What a panel of judges looks like: each judge, how far they agree, and what that means for systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.messages import Said, ends, say, word
from assay.report.blocks import Block, Chart, Lines, Point, Verdict
from assay.report.intervals import behind, between, interval_column, why
from assay.report.numbers import number, percent
from assay.report.tables import Table

if TYPE_CHECKING:
    from assay.report.blocks import Tone
    from assay.results.panel import Panel, PanelCalibration, PanelJudge
    from assay.stats.agreement import Agreement
    from assay.stats.intervals import Interval


def line(found: Panel) -> Verdict:
    """How far the judges agree, and whether the order of systems depends on them."""
    order = _order(found)
    names = {"n": len(found.judges), "pairs": found.pairs, "order": order}
    tone: Tone = "warn" if found.warnings or found.swaps else ""
    if len(found.judges) > 1:
        if found.alpha.value is None:
            return Verdict(say("panel.line_open", **names), "warn")
        return Verdict(say("panel.line", alpha=found.alpha.value, **names), tone)
    first = found.judges[0]
    names |= {"judge": first.judge}
    if first.flips.estimate is not None:
        repeated = {"pairs": first.repeated, "repeats": found.repeats, "flips": first.flips.estimate}
        return Verdict(say("panel.line_repeated", **{**names, **repeated}), tone)
    return Verdict(say("panel.line_alone", graded=found.graded, **names), tone)


def _order(found: Panel) -> Said | str:
    """Whether the first measure orders the systems in the same way under every judge."""
    if not found.pairs_of_systems or len(found.judges) < 2:  # noqa: PLR2004 - one judge has nobody to differ from
        return ""
    measure = found.measures[0]
    swaps = found.swaps_of(measure)
    systems = len({one.system for one in found.systems})
    if not swaps:
        return say("panel.holds", measure=measure, n=systems)
    return say("panel.varies", measure=measure, n=len(swaps), of=found.pairs_of_systems)


def table(found: Panel) -> list[Block]:
    """Judges, agreement, calibration, systems, and what to know about them."""
    blocks: list[Block] = [line(found), _judges(found)]
    if found.agreements:
        blocks.append(_agreements(found))
    if found.calibration is not None:
        blocks.append(_calibration(found.calibration))
    if found.systems:
        blocks.append(bands(found))
    if found.swaps:
        blocks.append(_swaps(found))
    return [*blocks, Lines(tuple(_notes(found)), listed=True)]


def page(found: Panel, place: int = 0) -> list[Block]:
    """The same with a picture of the bands."""
    return [
        *table(found),
        *(_picture(found, measure, f"panel-{place}-{i}") for i, measure in enumerate(found.measures)),
    ]


def _judges(found: Panel) -> Table:
    flips = [one.flips for one in found.judges]
    kappas = [one.people for one in found.judges]
    headers = [say("column.judge"), say("column.answers_graded")]
    if found.repeats > 1:
        headers += [say("column.flips"), interval_column(flips), say("column.apart")]
    if any(kappas):
        headers += [
            say("column.with_people"),
            interval_column(one.interval for one in kappas if one),
            say("column.bias"),
        ]
    headers += [say("column.tokens"), say("column.cost")]
    rows = [_judge(one, found.repeats) for one in found.judges]
    if found.people is not None and len(found.judges) > 1:
        lacking = ("",) * (3 if found.repeats > 1 else 0)
        rows.append((say("panel.panel"), f"{found.graded:,}", *lacking, *_agreement(found.people), "", "", ""))
    return Table(tuple(headers), tuple(rows))


def _judge(one: PanelJudge, repeats: int) -> tuple[str, ...]:
    cells: list[str] = [one.judge, f"{one.graded:,}/{one.asked:,}"]
    if repeats > 1:
        cells += [percent(one.flips.estimate), _shares(one.flips), percent(one.apart.estimate)]
    if one.people is not None:
        bias = None if one.bias is None else one.bias.estimate
        cells += [*_agreement(one.people), number(bias, signed=True)]
    money = "" if one.cost is None else f"{one.cost:.4f} {one.currency}"
    return (*cells, "" if one.tokens is None else f"{one.tokens:,}", money)


def _shares(of: Interval) -> Said | str:
    """The ends of an interval of a share, in per cent, or why there are none."""
    return ends(of.low, of.high, ".1%") or why(of.reason)


def _agreement(of: Agreement) -> tuple[str, Said | str]:
    value = "" if of.value is None else f"{of.value:.3f}"
    return value, between(of.interval) if of.interval is not None else why(of.reason)


def _agreements(found: Panel) -> Table:
    headers = (
        say("column.judge_pair"), "", say("column.pairs"), say("column.kappa"),
        interval_column(one.kappa.interval for one in found.agreements), say("column.same_grade"),
    )  # fmt: skip
    rows = tuple(
        (one.first, one.second, f"{one.pairs:,}", *_agreement(one.kappa), percent(one.exact))
        for one in found.agreements
    )
    return Table(headers, rows, caption=say("panel.agreements"), names=2)


def _calibration(of: PanelCalibration) -> Table:
    rows = [(name, number(weight), number(of.errors[name])) for name, weight in of.weights.items()]
    rows.append((say("panel.calibrated"), "", number(of.error)))
    caption = say("panel.calibration", n=of.labels, queries=of.queries, folds=of.folds)
    return Table((say("column.judge"), say("column.weight_of_judge"), say("column.rmse")), tuple(rows), caption=caption)


def bands(found: Panel) -> Table:
    """Each system's mean under the panel and every judge, with the lowest and the highest of them."""
    names = [one.judge for one in found.judges]
    headers = (
        say("column.system"), say("column.measure"), say("panel.panel"), say("column.lowest_mean"),
        say("column.highest_mean"), *names,
    )  # fmt: skip
    rows = tuple(
        (
            one.system, one.measure, number(one.panel), number(one.low), number(one.high),
            *(number(one.judges.get(name)) for name in names),
        )
        for one in found.systems
    )  # fmt: skip
    return Table(headers, rows, caption=say("panel.bands"), names=2)


def _swaps(found: Panel) -> Table:
    headers = tuple(
        say(f"column.{name}")
        for name in ("measure", "higher", "lower", "least_difference", "most_difference", "against")
    )
    rows = tuple(
        (
            one.measure, one.first, one.second, number(one.low, signed=True), number(one.high, signed=True),
            say("text.list", parts=list(one.against)),
        )
        for one in found.swaps
    )  # fmt: skip
    return Table(headers, rows, caption=say("panel.swaps"), names=3, texts=(5,))


def _notes(found: Panel) -> list[Said | str]:
    notes: list[Said | str] = [
        say("panel.coverage", graded=found.graded, pairs=found.pairs, by_all=found.by_all),
        *_failures(found),
    ]
    if found.alpha.value is not None and len(found.judges) > 1:
        interval = found.alpha.interval
        limits = "" if interval is None else behind(interval.low, interval.high, ".3f", reason=interval.reason)
        notes.append(say("panel.alpha", alpha=found.alpha.value, interval=limits))
    if found.tied:
        notes.append(say("panel.ties", n=found.tied, rule=say(f"panel.tie_{found.combine}")))
    of = found.calibration
    if of is not None and of.mean.estimate is not None:
        limits = behind(of.mean.low, of.mean.high, ".3f", reason=of.mean.reason)
        notes.append(say("panel.mean_grade", mean=of.mean.estimate, interval=limits, plain=of.plain))
        notes.append(say("panel.random"))
    if found.combine == "calibrated":
        notes.append(say("panel.expected_grades"))
    if found.repeats > 1:
        notes.append(say("panel.flips_note"))
    if any(one.tokens for one in found.judges):
        notes.append(say("panel.cost_note"))
    if found.pairs_of_systems:
        notes.append(say("panel.means_note"))
    return [*notes, *found.warnings]


def _failures(found: Panel) -> list[Said]:
    """How many pairs each judge left to others, and why."""
    key = "panel.left_to_others" if len(found.judges) > 1 else "panel.left_open"
    said = []
    for one in found.judges:
        reasons = [say("call.count", reason=word("call", name), n=count) for name, count in one.failures.items()]
        if one.pairs < found.pairs:
            said.append(say(key, judge=one.judge, n=found.pairs - one.pairs, reasons=reasons))
    return said


def _picture(found: Panel, measure: str, name: str) -> Chart:
    """The band of each system: from the lowest to the highest mean under any judge, the panel's as the mark."""
    points = tuple(
        Point(one.system, one.panel, one.low, one.high)
        for one in found.systems
        if one.measure == measure and one.panel is not None
    )
    return Chart(name, "intervals", say("panel.bands"), measure, "", points, bands(found))
