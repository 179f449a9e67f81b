"""What a diagnosis, a sweep and a gate look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.sweep import most_complete
from assay.messages import Said, say
from assay.report.answers import stages as answer_stages
from assay.report.answers import weakest
from assay.report.blocks import Block, Heading, Lines
from assay.report.comparison import number
from assay.report.intervals import between, told
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.protocol import Target
    from assay.results.diagnosis import Diagnosis, TargetCheck, Worst
    from assay.results.gate import Gate
    from assay.results.sweep import CutoffChoice, Sweep

_EXAMPLES = 4
_TEXT = 40


def goal(target: Target, value: float | None) -> str:
    """Show a value that a target asks for."""
    if value is None:
        return ""
    sign = ("<" if target.below else ">") + ("" if target.strict else "=")
    shown = f"${value:g}" if target.unit == "$" else f"{value:g} {target.unit}".rstrip()
    return f"{sign} {shown}"


def diagnosis(found: Diagnosis) -> list[Block]:
    """Targets with advice, stages of failure, slices, the worst queries."""
    title = say("diagnose.title", system=found.system, n=found.queries, protocol=str(found.protocol))
    told = [*answer_stages(found.answers), *weakest(found.weakest)] if found.answers else []
    return [Heading(title), *_targets(found), *stages(found), *told, *slices(found), *_worst(found)]


def _targets(found: Diagnosis) -> list[Block]:
    if not found.targets and found.answers:
        return []
    if not found.targets:
        return [Lines((say("diagnose.no_targets", protocol=found.protocol.name),))]
    rows = tuple(_finding(finding) for finding in found.targets)
    headers = tuple(say(f"column.{name}") for name in ("measure", "value", "target", "excellent", "status", "advice"))
    low = [finding for finding in found.targets if finding.missed]
    ends = [
        say("diagnose.limit", measure=finding.target.measure, limit=found.limits[finding.target.measure])
        for finding in low
        if found.limits.get(finding.target.measure, 1.0) < finding.target.target
    ]
    if not low:
        ends.append(say("diagnose.all_reached"))
    return [Table(headers, rows, caption=say("diagnose.targets"), texts=(4, 5)), Lines(tuple(ends))]


def _finding(finding: TargetCheck) -> tuple[str, ...]:
    target = finding.target
    value = "" if finding.value is None else f"{finding.value:.4f}" if not target.unit else f"{finding.value:g}"
    return (
        target.measure, value, goal(target, target.target), goal(target, target.excellent),
        say(f"status.{finding.status}"), finding.advice,
    )  # fmt: skip


def stages(found: Diagnosis) -> list[Block]:
    """Say how far the relevant documents of the queries got."""
    if not found.stages:
        return []
    total = sum(len(queries) for queries in found.stages.values())
    rows = tuple(
        (
            say(f"stage.{stage}"), str(len(queries)), f"{len(queries) / total:.1%}",
            ", ".join(queries[:_EXAMPLES]) + (" ..." if len(queries) > _EXAMPLES else ""),
        )
        for stage, queries in found.stages.items()
        if queries
    )  # fmt: skip
    headers = tuple(say(f"column.{name}") for name in ("stage", "queries", "share", "examples"))
    advice = [
        say(f"diagnose.{stage}", n=len(found.stages[stage]), k=found.k)
        for stage in ("missing", "not_retrieved", "below_k")
        if found.stages[stage]
    ]
    return [Table(headers, rows, caption=say("diagnose.stages", k=found.k), texts=(3,)), Lines(tuple(advice))]


def slices(found: Diagnosis) -> list[Block]:
    """Show the measure by kind of query."""
    if not found.slices:
        return []
    rows = tuple(
        (s.attribute, s.value, str(s.queries), number(s.mean.estimate), between(s.mean), str(s.failed))
        for s in found.slices
    )
    level = found.slices[0].mean.confidence_level
    headers = (
        say("column.attribute"), say("column.value"), say("column.queries"), say("column.mean"),
        say("column.interval", level=level), say("column.failed"),
    )  # fmt: skip
    return [Table(headers, rows, caption=say("diagnose.slices", measure=found.measure), names=2)]


def _worst(found: Diagnosis) -> list[Block]:
    if not found.worst:
        return []
    with_lists = any(one.stage is not None for one in found.worst)
    with_text = any(one.text for one in found.worst)
    headers: list[str] = [say("column.query"), *([say("column.text")] if with_text else []), found.measure]
    if with_lists:
        headers += [say("column.first"), say("column.above")]
    rows = tuple(_worst_row(one, with_text=with_text, with_lists=with_lists) for one in found.worst)
    caption = say("diagnose.worst", measure=found.measure)
    table = Table(tuple(headers), rows, caption, names=2 if with_text else 1, texts=(len(headers) - 1,) * with_lists)
    return [table, Lines((say("diagnose.judged_mark"),) if with_lists else ())]


def _worst_row(one: Worst, *, with_text: bool, with_lists: bool) -> tuple[str, ...]:
    row: list[str] = [one.query_id]
    if with_text:
        row.append(one.text if len(one.text) <= _TEXT else one.text[: _TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}")
    row.append(number(one.value))
    if with_lists:
        missing = say("stage.missing") if one.stage == "missing" else say("diagnose.nothing_relevant")
        row.append(missing if one.first_relevant is None else str(one.first_relevant))
        row.append(", ".join(f"{doc.doc_id} ({'?' if doc.grade is None else f'{doc.grade:g}'})" for doc in one.above))
    return tuple(row)


def sweep(found: Sweep, protocol: str) -> list[Block]:
    """A table per measure, k across; then which k to choose."""
    blocks: list[Block] = []
    for measure in found.measures:
        rows = [
            (
                system,
                *(
                    say("interval.behind", value=number(p.estimate), interval=told(p))
                    for p in found.curve(system, measure).points
                ),
            )
            for system in found.systems
        ]
        headers = (say("column.system"), *(f"k = {k}" for k in found.k))
        blocks.append(Table(headers, tuple(rows), caption=say("sweep.title", measure=measure)))
    blocks.append(Lines((say("sweep.bands", n=found.queries, level=found.confidence_level, protocol=protocol),)))
    blocks.append(Heading(say("sweep.choices")))
    blocks.append(Lines(tuple(line for one in found.choices for line in choice_lines(found, one)), listed=True))
    return blocks


def choice_lines(found: Sweep, choice: CutoffChoice) -> list[Said]:
    """Say which k one system should have."""
    system = choice.system
    lines = [say("sweep.f1", system=system, k=choice.f1)]
    if choice.recall is not None:
        lines.append(say("sweep.recall", system=system, target=found.recall_target, k=choice.recall))
    else:
        value, k = most_complete(found, system)
        lines.append(say("sweep.no_recall", system=system, target=found.recall_target, value=value, k=k))
    if choice.answers is not None:
        lines.append(say("sweep.answers", system=system, k=choice.answers))
    if choice.survey is not None:
        lines.append(say("sweep.survey", system=system, k=choice.survey))
    return lines


def sweep_points(found: Sweep) -> Table:
    """One row per system, measure and k: the data of a chart."""
    rows = tuple(
        (curve.system, curve.measure, str(k), *(_exact(value) for value in (p.estimate, p.low, p.high)), p.reason)
        for curve in found.curves
        for k, p in zip(curve.k, curve.points, strict=True)
    )
    return Table(("system", "measure", "k", "mean", "low", "high", "reason"), rows, names=2)


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def gates(found: Sequence[Gate], *, strict: bool) -> list[Block]:
    """Rules of all systems with their outcomes, then what a reader should know."""
    rows = tuple(
        (one.system, check.name, say(f"outcome.{check.outcome}"), check.message)
        for one in found
        for check in one.checks
    )
    headers = (say("column.system"), say("column.rule"), say("column.outcome"), say("column.detail"))
    undecided = any(check.outcome == "inconclusive" for one in found for check in one.checks)
    titles = [Heading(_verdict(one, strict=strict)) for one in found]
    lines = [say("gate.open_fails" if strict else "gate.open")] if undecided else []
    doubts = [say("doubt.of_one", system=one.system, text=text) for one in found for text in one.warnings]
    return [*titles, Table(headers, rows, names=4), Lines((*lines, *doubts))]


def _verdict(one: Gate, *, strict: bool) -> Said:
    outcome = "failed" if strict and one.outcome == "inconclusive" else one.outcome
    return say("gate.title", system=one.system, outcome=say(f"outcome.{outcome}"))


def finding_rows(found: Sequence[Diagnosis]) -> Table:
    """Targets of all systems with exact numbers, for a spreadsheet."""
    rows = tuple(
        (
            one.system, finding.target.measure, _exact(finding.value), repr(finding.target.target),
            _exact(finding.target.excellent), finding.status, finding.advice,
        )
        for one in found
        for finding in one.targets
    )  # fmt: skip
    return Table(("system", "measure", "value", "target", "excellent", "status", "advice"), rows, names=2, texts=(5, 6))
