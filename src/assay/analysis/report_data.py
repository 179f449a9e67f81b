"""Collect what a report shows about results: what they hold, and what can be computed from their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from assay.analysis.answers import answer_means
from assay.analysis.bench import latency_goal
from assay.analysis.changes import QueryChanges, query_changes
from assay.analysis.compare import compare
from assay.analysis.diagnose import choose_measure, diagnose, diagnose_scores
from assay.analysis.distributions import Distribution, distribution
from assay.analysis.economics import price_goal
from assay.analysis.joining import prepare_run
from assay.analysis.means import column_mean
from assay.analysis.settings import settings_of
from assay.analysis.sweep import sweep
from assay.analysis.warnings import find_score_warnings
from assay.data.record import Record
from assay.errors import NotComparable, UsageError
from assay.measures.lists import order_lists
from assay.messages import say
from assay.results.answers import AnswerDetails
from assay.results.bench import Bench
from assay.results.comparison import Comparison
from assay.results.conclusion import describe_best
from assay.results.diagnosis import Diagnosis
from assay.results.experiment import Findings
from assay.results.money import Costs
from assay.results.sweep import Curve, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.formats.queries import Queries
    from assay.results.conclusion import Conclusion
    from assay.results.result import Result
    from assay.stats.intervals import Interval

PartRecord = TypeVar("PartRecord", bound=Record)
_DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError)
_CUTS = (1, 3, 5, 10, 20)
_DEPTH = 100  # how far down a document's place in the baseline's list is looked for


@dataclass(frozen=True)
class ReportEvidence:
    """The data behind a result: judgments, runs by system, texts; each may be unknown.

    `files` are those that results name and that were found near them. `redacted` says that texts were left out.
    """

    judgments: Judgments | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    queries: Queries | None = None
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    redacted: bool = False


@dataclass(frozen=True)
class Group:
    """Systems with the same judgments and rules, and their comparison.

    `primary` is the main measure of the report, and `lower` says that lower values of it are better. `why` says why
    systems were not compared. `means` has the means of systems that were not, with their intervals, by system and
    label. `changes` has what each query gained and lost, by system. `distributions` are those of the values of the main
    measure, of answers of all. `lists` has the ranked documents of every system
    and query.
    """

    systems: tuple[Scores, ...]
    primary: str
    lower: bool = False
    comparison: Comparison | None = None
    why: str = ""
    curves: tuple[Curve, ...] = ()
    sweep: Sweep | None = None
    diagnoses: tuple[Diagnosis, ...] = ()
    lists: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    means: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    changes: Mapping[str, QueryChanges] = field(default_factory=dict)
    distributions: tuple[Distribution, ...] = ()
    results: tuple[Result, ...] = ()

    @property
    def conclusion(self) -> Conclusion:
        """What is shown about the best system; of systems that were not compared, the means alone."""
        if self.comparison is not None:
            return self.comparison.conclusion(self.primary)
        known = {scores.name: scores[self.primary] for scores in self.systems}
        means = {name: None if math.isnan(mean) else mean for name, mean in known.items()}
        return describe_best(self.primary, means, lower=self.lower)

    @property
    def of_answers(self) -> bool:
        """Return whether it is mainly about answers, not ranked lists."""
        return self.systems[0].about(self.primary).subject == "answers"

    @property
    def best(self) -> Scores:
        """The system with the best mean; the first of several."""
        name = next(iter(self.conclusion.best), self.systems[0].name)
        return next(scores for scores in self.systems if scores.name == name)


@dataclass(frozen=True)
class ReportData:
    """Groups of systems, and the results with all their parts."""

    groups: tuple[Group, ...]
    results: tuple[Result, ...]
    evidence: ReportEvidence

    def every(self, kind: type[PartRecord]) -> tuple[PartRecord, ...]:
        """All such records that the results hold."""
        return tuple(record for result in self.results for record in result.every(kind))

    @property
    def main(self) -> Group | None:
        """The group that the report is mainly about: the first."""
        return self.groups[0] if self.groups else None


def report_data(results: Sequence[Result], evidence: ReportEvidence | None = None) -> ReportData:
    """Put together what a report shows about results; what a result holds is taken as it is."""
    evidence = evidence or ReportEvidence()
    results = [
        replace(result, parts={name: _complete(one) for name, one in result.parts.items()}) for result in results
    ]
    parts: dict[str, list[tuple[Scores, Result]]] = {}
    for result in results:
        for scores in result.systems:
            known = scores if scores.warnings else replace(scores, warnings=find_score_warnings(scores))
            parts.setdefault(f"{scores.judgments_digest} {scores.protocol.rules()}", []).append((known, result))
    return ReportData(
        groups=tuple(_group(found, evidence) for found in parts.values()),
        results=tuple(results),
        evidence=evidence,
    )


def _complete(found: Record | tuple[Record, ...]) -> Record | tuple[Record, ...]:
    """Add what files of earlier versions do not hold: means of answers, and what a latency and a price should be."""
    if isinstance(found, AnswerDetails) and not found.means:
        return replace(found, means=answer_means(found.scores))
    if isinstance(found, Bench) and found.goal is None:
        return replace(found, goal=latency_goal(found.loads))
    if isinstance(found, Costs) and found.goal is None:
        return replace(found, goal=price_goal(found.currency, found.costs))
    return found


def _group(found: Sequence[tuple[Scores, Result]], evidence: ReportEvidence) -> Group:
    systems = tuple(scores for scores, _ in found)
    names = [scores.name for scores in systems]
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise UsageError(say("two systems are called {name!r}: name them, as in new=FILE", name=twice))
    results = tuple({id(result): result for _, result in found}.values())
    comparison, why = _comparison(systems, results)
    if comparison is not None:
        systems = tuple(next(s for s in systems if s.name == name) for name in comparison.systems)
    runs = [evidence.runs[scores.name] for scores in systems if scores.name in evidence.runs]
    judged = evidence.judgments if _fits(systems[0], evidence) else None
    swept = next((part for result in results if (part := result.part(Sweep))), None) or _sweep(systems, judged, runs)
    primary = _primary(systems, comparison, _deciding(results))
    return Group(
        systems=systems,
        primary=primary,
        lower=systems[0].about(primary).lower_is_better,
        comparison=comparison,
        why=why,
        sweep=swept,
        curves=swept.curves if swept else _curves(systems),
        diagnoses=_diagnoses(systems, results, primary, evidence, judged),
        lists={run.name: _lists(run, systems[0], judged) for run in runs} if judged is not None else {},
        means=_means(systems) if comparison is None else {},
        changes=query_changes(systems, primary) if comparison is not None else {},
        distributions=_distributions(systems, primary),
        results=results,
    )


def _comparison(systems: Sequence[Scores], results: Sequence[Result]) -> tuple[Comparison | None, str]:
    """The comparison that the result holds, or one by the usual rules; or none, and why."""
    written = results[0].part(Comparison) if len(results) == 1 else None
    if written is not None:
        return written, ""
    try:
        return (compare(systems, baseline=_baseline(systems, results)) if len(systems) > 1 else None), ""
    except (NotComparable, UsageError) as error:
        return None, error.message


def _distributions(systems: Sequence[Scores], primary: str) -> tuple[Distribution, ...]:
    """How the values of the main measure are spread; those of all measures of answers."""
    of_answers = systems[0].about(primary).subject == "answers"
    rest = [column.label for column in systems[0].columns if column.is_mean and column.label != primary]
    found = (distribution(systems, label) for label in (primary, *(rest if of_answers else ())))
    return tuple(one for one in found if one is not None)


def _means(systems: Sequence[Scores]) -> dict[str, dict[str, Interval]]:
    return {
        scores.name: {column.label: _point(scores, column.label) for column in scores.columns if column.is_mean}
        for scores in systems
    }


def _fits(scores: Scores, evidence: ReportEvidence) -> bool:
    """Return whether these judgments are the ones behind the scores."""
    return evidence.judgments is not None and evidence.judgments.digest == scores.judgments_digest


def _baseline(systems: Sequence[Scores], results: Sequence[Result]) -> str | None:
    """The baseline of an experiment, where all systems are its own."""
    part = results[0].part(Findings) if len(results) == 1 else None
    name = None if part is None else part.baseline
    return name if any(scores.name == name for scores in systems) else None


def _deciding(results: Sequence[Result]) -> str:
    """The measure that an experiment was decided by; empty where there is none."""
    parts = [part for result in results if (part := result.part(Findings)) is not None]
    return next((part.measure for part in parts if part.measure), "")


def _primary(systems: Sequence[Scores], comparison: Comparison | None, deciding: str) -> str:
    """The main measure of the report, which must be one of the comparison."""
    if comparison is not None:
        wanted = (deciding, systems[0].protocol.primary)
        return next((label for label in wanted if label in comparison.measures), comparison.measures[0])
    if deciding in systems[0].labels:
        return deciding
    return choose_measure(systems[0], None) if _has_mean(systems[0]) else systems[0].labels[0]


def _has_mean(scores: Scores) -> bool:
    return any(column.is_mean for column in scores.columns)


def _diagnoses(
    systems: Sequence[Scores],
    results: Sequence[Result],
    primary: str,
    evidence: ReportEvidence,
    judgments: Judgments | None,
) -> tuple[Diagnosis, ...]:
    """The diagnoses that results hold, and of other systems those that their scores and lists allow."""
    written = {one.system: one for result in results for one in result.every(Diagnosis)}
    return tuple(
        written.get(scores.name) or _diagnosis(scores, primary, evidence, judgments)
        for scores in systems
        if _has_mean(scores)
    )


def _diagnosis(scores: Scores, primary: str, evidence: ReportEvidence, judgments: Judgments | None) -> Diagnosis:
    """Diagnose with the ranked lists where they are available and complete, else by the values alone."""
    label = scores.find(primary)
    if label is not None and scores.about(label).is_mean:
        scores = replace(scores, protocol=replace(scores.protocol, primary=label))
    run = evidence.runs.get(scores.name)
    if judgments is None or run is None or scores.protocol.fold is not None:
        return diagnose_scores(scores, queries=evidence.queries)
    try:
        settings = settings_of(scores)
    except UsageError:  # a custom measure of another session
        return diagnose_scores(scores, queries=evidence.queries)
    return diagnose(
        judgments, run, settings, queries=evidence.queries, dedupe=True, calibration=scores.calibration
    )  # fmt: skip


def _lists(run: Run, scores: Scores, judgments: Judgments) -> Mapping[str, list[str]]:
    """Order the lists as they were evaluated; chunks whose map is not available are not shown as documents."""
    protocol = scores.protocol
    if protocol.fold is not None and not run.has_chunks:
        judged = set(judgments.frame["doc_id"].to_list())
        if judged.isdisjoint(run.frame["doc_id"].to_list()):
            return {}
        return order_lists(run, _DEPTH, given=protocol.ties == "given")
    listed = prepare_run(run, protocol, dedupe=True)
    return order_lists(listed, _DEPTH, given=protocol.ties == "given" or protocol.fold is not None)


def _sweep(systems: Sequence[Scores], judgments: Judgments | None, runs: Sequence[Run]) -> Sweep | None:
    """Sweep over k with the lists, if all of them are available."""
    first = systems[0]
    if judgments is None or len(runs) < len(systems) or first.protocol.fold is not None or judgments.groups != "none":
        return None
    weights = None if first.weights is None else dict(zip(first.query_ids, map(float, first.weights), strict=True))
    protocol = replace(first.protocol, required=())
    return sweep(judgments, runs, _CUTS, protocol=protocol, weights=weights, dedupe=True)


def _curves(systems: Sequence[Scores]) -> tuple[Curve, ...]:
    """Draw the measures that a result has at two cutoffs or more as curves."""
    families: dict[str, list[tuple[int, str]]] = {}
    for column in systems[0].columns:
        if column.k is not None and all(scores.find(column.label) for scores in systems):
            families.setdefault(column.family, []).append((column.k, column.label))
    return tuple(
        Curve(scores.name, name, tuple(k for k, _ in cuts), tuple(_point(scores, label) for _, label in cuts))
        for name, found in families.items()
        if len(cuts := sorted(found)) > 1
        for scores in systems
    )


def _point(scores: Scores, label: str) -> Interval:
    return column_mean(scores, label)
