"""What a whole result looks like: all its parts one after the other, or the pages of a report."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay.data.scores import Scores
from assay.errors import UsageError
from assay.messages import Said, is_known, say
from assay.report.blocks import Block, Lines, Section, Verdict
from assay.report.views import answers, comparison, diagnosis, origin, queries, reranker, scores, summary, sweep
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
    "experiment": "experiment", "answers": "answers", "bench": "latency", "cost": "money", "roi": "money",
    "reranker": "reranker", "gates": "gates", "calibration": "calibration", "validation": "validation",
    "judging": "judging", "judging_plan": "judging", "panel": "judging",
    "preferences": "preferences", "comparison_plan": "plan",
    "explanation": "explanation", "check": "findings",
}  # fmt: skip
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
    blocks: dict[str, list[Block]] = {
        "summary": _summary(found),
        "systems": [block for place, group in enumerate(found.groups) for block in _systems(group, place)],
        "experiment": parts.pop("experiment", []),
        "curves": [block for place, group in enumerate(found.groups) for block in _curves(group, place)],
        "differences": [block for place, group in enumerate(found.groups) for block in _differences(group, place)],
        "queries": queries.page(found, samples),
        "slices": [
            *parts.pop("slices", []),
            *diagnosis.kinds([one for group in found.groups for one in group.diagnoses]),
        ],
        **parts,
        "checks": origin.checks(found),
        "origin": origin.provenance(found),
    }
    return [Section(key, say(f"page.{key}"), tuple(shown)) for key, shown in blocks.items() if shown]


def title_of(results: Sequence[Result], names: Sequence[str]) -> Said:
    """The title of a report: of one without systems, what kind of result it is and what it is about."""
    if len(results) > 1 or any(result.systems for result in results):
        return say("page.title", name=list(names)) if names else say("page.untitled")
    named = dict.fromkeys(PAGES.get(name, name) for result in results for name in result.parts)
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


def _summary(found: ReportData) -> list[Block]:
    """What a manager reads: a sentence for each group and part, then facts and targets."""
    said: list[Verdict] = [one for group in found.groups for one in summary.headline(group)]
    said += [line(record) for record in _records(found) if not isinstance(record, RerankerEvaluation)]
    blocks: list[Block] = list(dict.fromkeys(said))
    for group in found.groups:
        blocks += [*summary.about(group), *summary.targets(group, alone=len(found.groups) == 1)]
    return blocks


def _systems(group: Group, place: int) -> list[Block]:
    if group.comparison is not None:
        return comparison.page(group.comparison, place, primary=group.primary)
    return scores.side_by_side(group.systems, place, intervals=group.means, primary=group.primary)


def _curves(group: Group, place: int) -> Sequence[Block]:
    return sweep.page(group.sweep, place) if group.sweep is not None else sweep.curves(group.curves, place)


def _differences(group: Group, place: int) -> list[Block]:
    if group.comparison is None:
        return []
    return comparison.differences(group.comparison, group.changes, place, group.primary)
