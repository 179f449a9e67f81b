"""What a diagnosis looks like: targets with advice, stages of failure, slices, the worst queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.edges import NamedMean
from assay.messages import say
from assay.report.blocks import Block, Chart, Fold, Heading, Lines, Point, Verdict
from assay.report.intervals import between, interval_column, near_bounds
from assay.report.marks import tone
from assay.report.numbers import cut, number
from assay.report.tables import Cell, Table
from assay.report.views.answers import stages as answer_stages
from assay.report.views.answers import weakest
from assay.report.views.scores import definitions, unevenness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.protocol import Target
    from assay.results.diagnosis import Diagnosis, Slice, TargetCheck, Worst

_EXAMPLES = 4
_TEXT = 40


def goal(target: Target, value: float | None) -> str:
    """Show a value that a target asks for."""
    if value is None:
        return ""
    sign = ("<" if target.below else ">") + ("" if target.strict else "=")
    shown = f"${value:g}" if target.unit == "$" else f"{value:g} {target.unit}".rstrip()
    return f"{sign} {shown}"


def line(found: Diagnosis) -> Verdict:
    """The number of targets reached, in one sentence."""
    known = found.targets_with_value
    if not known:
        return Verdict(say("diagnose.no_targets", protocol=found.protocol.name))
    reached = found.count("ok", "excellent")
    open_, beyond = found.count("unclear"), found.count("unattainable")
    more = [say("report.targets_unclear", n=open_)] if open_ else []
    more += [say("report.targets_unattainable", n=beyond)] if beyond else []
    key = "report.targets_reached_but" if more else "report.targets_reached"
    text = say(key, system=found.system, reached=reached, n=len(known), more=more)
    return Verdict(text, "good" if reached == len(known) else "warn")


def table(found: Diagnosis) -> list[Block]:
    """Targets with advice, stages of failure, slices, the worst queries."""
    title = say("diagnose.title", system=found.system, n=found.queries, protocol=str(found.protocol))
    return [Heading(title), *targets([found]), *_body(found), *_definitions(found)]


def _body(found: Diagnosis) -> list[Block]:
    told = [*answer_stages(found.answers), *weakest(found.weakest)] if found.answers else []
    return [*stages(found), *told, *slices(found), *_worst(found)]


def page(found: Diagnosis, place: int = 0) -> list[Block]:
    """The same, with pictures of the slices."""
    return [*table(found), *pictures([found], place)]


def _definitions(found: Diagnosis) -> list[Block]:
    scores = next((one for one in found.scores if one.name == found.system), None)
    return [] if scores is None else [Lines((*unevenness(scores), *definitions(scores)))]


def targets(found: Sequence[Diagnosis]) -> list[Block]:
    """Compare systems with the targets of their protocol, with advice where one is missed."""
    known = [(one, check) for one in found for check in one.targets]
    if not known:
        none = [one for one in found if not one.answers]
        return [Lines((say("diagnose.no_targets", protocol=none[0].protocol.name),))] if none else []
    many = len(found) > 1
    two = any(check.target.excellent is not None for _, check in known)
    before, after = ("measure", "value"), ("target", *(("excellent",) if two else ()), "status", "advice")
    names = tuple(say(f"column.{name}") for name in (("system", *before) if many else before))
    interval = interval_column(check.interval for _, check in known)
    headers = (*names, interval, *(say(f"column.{name}") for name in after))
    rows = tuple(((one.system,) if many else ()) + _check(check, two=two) for one, check in known)
    ends = [
        say("diagnose.limit", measure=check.target.measure, limit=most)
        for one, check in known
        if (most := one.limit_of(check)) is not None
    ]
    if any(check.status == "unclear" for _, check in known):
        ends.append(say("diagnose.unclear"))
    if all(check.reaches_target or check.status == "unmeasured" for _, check in known):
        ends.append(say("diagnose.all_reached"))
    texts = (4 + two + many, 5 + two + many)
    table = Table(headers, rows, caption=say("diagnose.targets"), names=1 + many, texts=texts)
    means = ((one.system, check.target.measure, check.interval) for one, check in known)
    near = near_bounds(NamedMean(label, system, mean) for system, label, mean in means if mean is not None)
    return [table, Lines(tuple(dict.fromkeys(ends))), *near]


def _check(check: TargetCheck, *, two: bool) -> tuple[str | Cell, ...]:
    """A row; `two` says whether any target names what is excellent."""
    target = check.target
    value = "" if check.value is None else f"{check.value:.4f}" if not target.unit else f"{check.value:g}"
    return (
        target.measure, value, "" if check.interval is None else between(check.interval),
        goal(target, target.target), *((goal(target, target.excellent),) if two else ()),
        Cell(say(f"status.{check.status}"), tone=tone(check.status)), check.advice,
    )  # fmt: skip


def stages(found: Diagnosis) -> list[Block]:
    """Show the stages that the queries' relevant documents reached."""
    if not found.stages:
        return []
    total = sum(len(queries) for queries in found.stages.values())
    rows = tuple(
        (
            say(f"stage.{stage}"), str(len(queries)), f"{len(queries) / total:.1%}",
            say("text.some" if len(queries) > _EXAMPLES else "text.list", parts=list(queries[:_EXAMPLES])),
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
        (s.attribute, s.value, _number_of(s), number(s.mean.estimate), between(s.mean), str(s.failed))
        for s in found.slices
    )
    headers = (
        say("column.attribute"), say("column.value"), say("column.queries"), say("column.mean"),
        interval_column(one.mean for one in found.slices), say("column.failed"),
    )  # fmt: skip
    means = (NamedMean(found.measure, f"{one.attribute} = {one.value}", one.mean) for one in found.slices)
    table = Table(headers, rows, caption=say("diagnose.slices", measure=found.measure), names=2)
    return [table, *near_bounds(means)]


def _number_of(part: Slice) -> str:
    """How many queries there are, and what they are worth where that is something else."""
    n = f"{part.queries:,}"
    return n if part.effective is None else say("queries.worth", n=n, effective=part.effective)


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
        row.append(cut(one.text, _TEXT))
    row.append(number(one.value))
    if with_lists:
        missing = say("stage.missing") if one.stage == "missing" else say("diagnose.nothing_relevant")
        row.append(missing if one.first_relevant is None else str(one.first_relevant))
        graded = [(doc.doc_id, "?" if doc.grade is None else f"{doc.grade:g}") for doc in one.above]
        row.append(say("text.list", parts=[say("text.graded", doc=doc, grade=grade) for doc, grade in graded]))
    return tuple(row)


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


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


def pictures(found: Sequence[Diagnosis], place: int = 0) -> list[Block]:
    """Measures by attribute: a row for each of its values, a mark for each system."""
    kinds = dict.fromkeys((one.measure, part.attribute) for one in found for part in one.slices)
    return [_picture(*kind, [one for one in found if one.measure == kind[0]], place) for kind in kinds]


def _picture(measure: str, attribute: str, found: Sequence[Diagnosis], place: int) -> Chart:
    parts = [(one.system, part) for one in found for part in one.slices if part.attribute == attribute]
    points = tuple(
        Point(part.value or "-", part.mean.estimate, part.mean.low, part.mean.high, series=system)
        for system, part in parts
        if part.mean.estimate is not None
    )
    rows = tuple(
        (system, part.value, _number_of(part), number(part.mean.estimate), between(part.mean), str(part.failed))
        for system, part in parts
    )
    headers = (
        say("column.system"), say("column.value"), say("column.queries"), say("column.mean"),
        interval_column(part.mean for _, part in parts), say("column.failed"),
    )  # fmt: skip
    title = say("chart.slice", measure=measure, attribute=attribute)
    name = f"slice-{measure}-{attribute}" if not place else f"slice-{measure}-{attribute}-{place}"
    return Chart(name, "intervals", title, measure, attribute, points, Table(headers, rows, names=2))


def kinds(found: Sequence[Diagnosis]) -> list[Block]:
    """Kinds of queries of several systems: pictures of all, then each by itself."""
    known = [one for one in found if one.stages or one.slices or one.answers]
    parts = [Fold(say("report.system", system=one.system), tuple(_body(one))) for one in known]
    return [*pictures(known), *(parts if len(parts) > 1 else [block for part in parts for block in part.blocks])]
