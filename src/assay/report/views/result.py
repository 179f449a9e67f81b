"""What a whole result looks like: all its parts one after the other, or the pages of a report."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.data.scores import Scores
from assay.errors import UsageError
from assay.messages import Said, is_known, say
from assay.report.blocks import Block, Figure, Lines, Section, Verdict
from assay.report.views import (
    answers,
    changes,
    comparison,
    diagnosis,
    origin,
    queries,
    reranker,
    scores,
    spread,
    summary,
    sweep,
)
from assay.results.answers import AnswerDetails
from assay.results.comparison import Comparison
from assay.results.diagnosis import Diagnosis
from assay.results.parts import all_parts
from assay.results.reranker import RerankerEvaluation
from assay.results.result import Result
from assay.results.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.report_data import Group, ReportData
    from assay.data.record import Record
    from assay.report.blocks import AnswerView

# Pages of parts that are shown as they are, in this order; parts that have no page here have one called as they are.
PAGES = {
    "experiment": "experiment", "answers": "answers", "bench": "speed", "cost": "speed", "roi": "speed",
    "reranker": "reranker", "gates": "gates", "calibration": "calibration", "validation": "validation",
    "judging": "judging", "judging_plan": "judging", "panel": "judging",
    "preferences": "preferences", "comparison_plan": "plan",
    "explanation": "explanation", "check": "findings",
}  # fmt: skip
_TITLES = {"bench": "latency", "cost": "money", "roi": "money"}  # parts that a page shows together, by themselves
_GROUPED = (Comparison, Sweep, Diagnosis)  # parts that are shown with the systems they are about


def view_of(record: Record) -> Any:
    """The module that shows a record: the one that is called as its part of a result."""
    if isinstance(record, Scores):
        return scores
    shape = next((one for one in all_parts().values() if isinstance(record, one.record)), None)
    if shape is None:
        raise UsageError(say("report.no_view", kind=type(record).__name__))
    return importlib.import_module(f"assay.report.views.{shape.view}")


def line(record: Record) -> Verdict:
    """One sentence about a record; about a result, that of its first part."""
    if not isinstance(record, Result):
        return view_of(record).line(record)  # type: ignore[no-any-return]
    held = _records_of(record)
    return line(held[0]) if held else Verdict(say("report.empty"))


def table(record: Record) -> list[Block]:
    """A record as a terminal shows it; a result with all its parts, or its scores where no part shows them."""
    if not isinstance(record, Result):
        return view_of(record).table(record)  # type: ignore[no-any-return]
    parts = [one for one in _records_of(record) if not isinstance(one, Scores)]
    beside = {id(other) for one in parts for other in one.beside()}
    blocks = [block for one in parts if id(one) not in beside for block in table(one)]
    if not blocks and record.systems:
        return scores.table(*record.systems)
    return blocks or [Lines(record.warnings)]


def page(record: Record, place: int = 0) -> list[Block]:
    """A part with pictures and details, where it has some; a result with those of all its parts."""
    if isinstance(record, Result):
        return [block for i, one in enumerate(_records_of(record)) for block in page(one, i)]
    drawn = getattr(view_of(record), "page", None)
    return table(record) if drawn is None else drawn(record, place)


def _records_of(result: Result) -> list[Record]:
    listed = [one if isinstance(one, tuple) else (one,) for one in result.parts.values()]
    return [record for records in listed for record in records] or list(result.systems)


# The pages of a report ------------------------------------------------------------------------------------------------


def pages(found: ReportData) -> list[Section]:
    """All pages that results have something for."""
    samples = _samples(found)
    parts = _parts(found)
    groups = list(enumerate(found.groups))
    parts["answers"] = [*_spread_answers(found), *parts.get("answers", [])]
    blocks: dict[str, list[Block]] = {
        "systems": [block for place, group in groups for block in (*_systems(group, place), *_curves(group, place))],
        "experiment": parts.pop("experiment", []),
        "queries": [
            *(block for place, group in groups[:1] for block in _differences(group, place)),
            *queries.page(found, samples),
            *(block for place, group in groups for block in _more_differences(group, place)),
        ],
        "slices": [*_failures(found), *parts.pop("slices", []), *_kinds(found)],
        **parts,
        "input": origin.checks(found),
        "origin": origin.provenance(found),
    }
    shown = {key: page for key, page in blocks.items() if page}
    blocks = {"summary": summary.page(found, shown, _list_findings(found), _figure(found)), **shown}
    return [Section(key, say(f"page.{key}"), tuple(shown)) for key, shown in blocks.items()]


def title_of(results: Sequence[Result], names: Sequence[str]) -> Said:
    """The title of a report: of one without systems, what kind of result it is and what it is about."""
    if len(results) > 1 or any(result.systems for result in results):
        return say("page.title", name=list(names)) if names else say("page.untitled")
    named = dict.fromkeys(_TITLES.get(name, PAGES.get(name, name)) for result in results for name in result.parts)
    kinds = [kind for kind in named if is_known(f"page.{kind}")] or ["untitled"]
    told = say("text.list", parts=[say(f"page.{kind}") for kind in kinds])
    return say("page.title_of", kind=told, name=list(names)) if names else told


def _records(found: ReportData) -> list[Record]:
    """Parts that are shown as they are, in the order of their pages."""
    order = list(PAGES)
    named = [(name, one) for result in found.results for name, one in result.parts.items()]
    named.sort(key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))
    listed = [one if isinstance(one, tuple) else (one,) for _, one in named]
    return [record for records in listed for record in records if not isinstance(record, _GROUPED)]


def _parts(found: ReportData) -> dict[str, list[Block]]:
    blocks: dict[str, list[Block]] = {}
    names = {shape.record: name for name, shape in all_parts().items()}
    places: dict[str, int] = {}
    for record in _records(found):
        name = names[type(record)]
        own = places[name] = places.get(name, -1) + 1
        shown = reranker.timing(record) if isinstance(record, RerankerEvaluation) else page(record, own)
        blocks.setdefault(PAGES.get(name, name), []).extend(shown)
    return blocks


def _samples(found: ReportData) -> dict[str, tuple[AnswerView, ...]]:
    """All answers by query, of all results side by side."""
    made: dict[str, tuple[AnswerView, ...]] = {}
    for part in found.every(AnswerDetails):
        for query, own in answers.views(part).items():
            made[query] = (*made.get(query, ()), *own)
    return made


def _list_findings(found: ReportData) -> list[tuple[str, Verdict]]:
    """What every part found, in a sentence each, with the page that shows it."""
    names = {shape.record: name for name, shape in all_parts().items()}
    known = [one for one in _records(found) if not isinstance(one, RerankerEvaluation)]
    pages_ = [(PAGES.get(names[type(one)], names[type(one)]), one) for one in known]
    return [("slices" if page == "slices" else page, line(one)) for page, one in pages_]


def _figure(found: ReportData) -> Figure | None:
    """The main number of the first part, where its view names one."""
    first = next((one for one in _records(found) if not isinstance(one, RerankerEvaluation)), None)
    named = None if first is None else getattr(view_of(first), "figure", None)
    return None if named is None else named(first)


def _systems(group: Group, place: int) -> list[Block]:
    if group.comparison is not None:
        return comparison.page(group.comparison, place, primary=group.primary)
    return scores.side_by_side(group.systems, place, intervals=group.means, primary=group.primary)


def _curves(group: Group, place: int) -> Sequence[Block]:
    return sweep.page(group.sweep, place) if group.sweep is not None else sweep.curves(group.curves, place)


def _differences(group: Group, place: int) -> list[Block]:
    if group.comparison is None:
        return [spread.spread(one, place) for one in group.distributions if not group.of_answers]
    return changes.differences(group.comparison, group.changes, place, group.primary)


def _more_differences(group: Group, place: int) -> list[Block]:
    """Further pictures: of other systems, and of other groups than the first."""
    if group.comparison is None:
        return []
    first = changes.differences(group.comparison, group.changes, place, group.primary) if place else []
    return [*first, *changes.more_differences(group.comparison, group.changes, place, group.primary)]


def _failures(found: ReportData) -> list[Block]:
    """How far the queries of each system got."""
    drawn = []
    for place, group in enumerate(found.groups):
        stages = {one.system: one.stages for one in group.diagnoses if one.stages}
        leading = queries.subject_of(group) if group is found.main else None
        drawn.append(spread.failures(stages, page="queries", leading=leading, name=f"failures-{place}"))
    return [one for one in drawn if one is not None]


def _kinds(found: ReportData) -> list[Block]:
    return diagnosis.kinds([one for group in found.groups for one in group.diagnoses])


def _spread_answers(found: ReportData) -> list[Block]:
    """Where the answers of each system failed, and how the values of their measures are spread."""
    drawn = [spread.draw_failures(part, place) for place, part in enumerate(found.every(AnswerDetails))]
    known = [(place, group) for place, group in enumerate(found.groups) if group.of_answers]
    values = [spread.spread(one, place, of_answers=True) for place, group in known for one in group.distributions]
    return [*(one for one in drawn if one is not None), *values]
