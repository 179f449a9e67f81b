"""Find where a search fails and what to do about it: targets, stages, slices, the worst queries."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.evaluate import rank, score
from assay.analysis.explain import rank_list
from assay.analysis.joining import prepare_run
from assay.analysis.means import column_mean
from assay.analysis.query_units import align_clusters
from assay.analysis.settings import Settings, settings_for
from assay.analysis.slicing import DISTINCT, group_queries
from assay.analysis.stored import read_systems
from assay.analysis.warnings import find_unevenness
from assay.data.status import UNDEFINED
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.conversion import as_judgments, as_whole_run
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.messages import say
from assay.results.answers import AnswerDetails, by_stage, weakest_statements
from assay.results.diagnosis import RETRIEVAL_STAGES, Diagnosis, RetrievalStage, Slice, TargetCheck, Worst
from assay.results.result import Result
from assay.stats.moments import moments

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol, Target
    from assay.data.ranking import Ranking
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.formats.queries import Queries
    from assay.results.answers import JudgedSample
    from assay.results.diagnosis import RankedDocument
    from assay.stats.intervals import Interval

FAILED = frozenset({"missing", "not_retrieved", "below_k"})

_WORST = 10
_ABOVE = 5


@dataclass(frozen=True)
class Attainable:
    """The highest values that the lists and the judgments allow.

    `limits` has the highest mean that any system could have, by label; `buried` and `absent` how many queries have
    relevant documents below rank k and in no list, by k.
    """

    limits: Mapping[str, float]
    buried: Mapping[int, int]
    absent: int


def check_targets(
    scores: Scores, measured: Mapping[str, float] | None = None, *, attainable: Attainable | None = None
) -> tuple[TargetCheck, ...]:
    """Compare the means, and values measured elsewhere such as latency, with the protocol's targets.

    A target counts as reached or missed where the whole interval of the mean says so, else it is not clear.
    """
    found = []
    for target in scores.protocol.targets:
        label = scores.find(target.measure)
        if target.measure in (measured or {}) or label is None:
            found.append(_check_target(target, (measured or {}).get(target.measure), None))
            continue
        interval = column_mean(scores, label) if scores.about(label).is_mean else None
        checked = _check_target(target, scores[label], interval)
        found.append(checked if attainable is None else _fit(checked, label, scores.about(label).k or 1, attainable))
    return tuple(found)


def _check_target(target: Target, value: float | None, interval: Interval | None) -> TargetCheck:
    if value is None or value != value:  # noqa: PLR0124
        return TargetCheck(target, None, "unmeasured", "")
    worst, best = _ends(target, value, interval)
    if worst is None or best is None:
        return TargetCheck(target, value, "unclear", "", interval)
    if target.excellent is not None and target.is_reached(worst, target.excellent):
        return TargetCheck(target, value, "excellent", "", interval)
    if target.is_reached(worst, target.target):
        return TargetCheck(target, value, "ok", "", interval)
    if target.is_reached(best, target.target):
        return TargetCheck(target, value, "unclear", "", interval)
    return TargetCheck(target, value, "high" if target.below else "low", target.what_to_do, interval)


def _ends(target: Target, value: float, interval: Interval | None) -> tuple[float | None, float | None]:
    """The worst and the best value of the interval; twice the value itself if it has no interval."""
    if interval is None:
        return value, value
    return (interval.high, interval.low) if target.below else (interval.low, interval.high)


def _fit(check: TargetCheck, label: str, k: int, attainable: Attainable) -> TargetCheck:
    """Mark a target that no system could reach as unattainable, and keep only advice that can help here."""
    most = attainable.limits.get(label)
    if most is not None and not check.reaches_target and not check.target.is_reached(most, check.target.target):
        return replace(check, status="unattainable", advice="", limit=most)
    if not check.misses_target or not check.target.helps:
        return check
    buried, absent = attainable.buried.get(k, 0), attainable.absent
    useful = {"order": buried > 0, "depth": buried > 0, "retrieval": absent > 0}
    if all(useful[remedy] for remedy in check.target.helps):
        return check
    key = "retrieve" if absent else "order" if buried else "shorter"
    return replace(check, advice=say(f"diagnose.advice_{key}", k=k))


def _attainable(ranking: Ranking, settings: Settings) -> Attainable:
    threshold = settings.protocol.min_relevance
    relevant, total = ranking.relevant(threshold), ranking.num_relevant(threshold)
    found = ranking.count(relevant)
    depths = {measure.k or 1 for measure in settings.measures.values()}
    buried = {k: int((ranking.judged & (found > ranking.count(relevant & ranking.within(k)))).sum()) for k in depths}
    return Attainable(_limits(ranking, settings), buried, int((ranking.judged & (found < total)).sum()))


def _limits(ranking: Ranking, settings: Settings) -> dict[str, float]:
    """The highest mean that any system could reach, where the judgments themselves set a limit."""
    found = {}
    for label, measure in settings.measures.items():
        most = measure.ceiling(ranking)
        if most is not None:
            known = most[ranking.judged & ~np.isnan(most)]
            found[label] = float(known.sum() / max(int(ranking.judged.sum()), 1))
    return found


def diagnose(
    judgments: Any,
    run: Any,
    settings: Settings | None = None,
    *,
    protocol: str | Protocol = "rag",
    k: int | None = None,
    queries: Queries | None = None,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
    measured: Mapping[str, float] | None = None,
    calibration: str = "",
    clusters: Mapping[str, str] | None = None,
) -> Diagnosis:
    """Diagnose one run with its lists, by a protocol's targets unless settings say otherwise.

    Judgments, run and `clusters` may be whatever `evaluate` takes; intervals of targets and slices count clusters.
    `judge` is named where its grades are not calibrated.

    >>> import assay
    >>> found = assay.diagnose({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}})
    >>> found.stages["complete"], found.stages["not_retrieved"]
    (('q1',), ('q2',))
    """
    judgments, run = as_judgments(judgments, dedupe=dedupe), as_whole_run(run)
    settings = settings or settings_for([run] if chunks is None else (), judgments, None, protocol)
    check_measured(measured or {}, settings.protocol)
    ranking, _ = rank(judgments, run, settings.protocol, chunks=chunks, dedupe=dedupe)
    scores = replace(score(ranking, settings), clusters=align_clusters(ranking, settings, clusters))
    scores = replace(scores, warnings=find_unevenness(scores))
    label = choose_measure(scores, None)
    depth = k or cutoff_of(scores, label)
    threshold = settings.protocol.min_relevance
    stage = _stages(ranking, threshold, depth)
    first = _first_relevant(ranking, threshold)
    lowest = _lowest(scores, label)
    listed = prepare_run(run, settings.protocol, chunks, dedupe=dedupe)
    lists = _lists(judgments, listed, settings.protocol, [query for _, query in lowest])
    attainable = _attainable(ranking, settings)
    texts = queries.texts() if queries else {}
    return Diagnosis(
        system=run.name,
        measure=label,
        k=depth,
        queries=scores.judged,
        protocol=settings.protocol,
        targets=check_targets(scores, measured, attainable=attainable),
        stages=_queries_by_stage(stage),
        slices=_slices(scores, label, queries, stage),
        worst=tuple(
            Worst(
                query_id=query,
                value=float(scores.column(label)[row]),
                stage=stage[query],
                first_relevant=first[row],
                relevant=int(ranking.num_relevant(threshold)[row]),
                above=_above(lists.get(query, []), threshold),
                text=texts.get(query, ""),
            )
            for row, query in lowest
        ),
        judge="" if calibration else judgments.judge,
        limits=attainable.limits,
        scores=(replace(scores, name=run.name),),
    )


def diagnose_scores(
    scores: Scores,
    *,
    measure: str | None = None,
    queries: Queries | None = None,
    measured: Mapping[str, float] | None = None,
    samples: Sequence[JudgedSample] = (),
) -> Diagnosis:
    """Diagnose scores without their lists, as a result file has them: targets, slices and the worst queries.

    Of answers, `samples` are the records of the result file: their stages and their weakest statements.
    """
    label = choose_measure(scores, measure)
    texts = {one.sample.query_id: one.sample.question or "" for one in samples} | (queries.texts() if queries else {})
    worst = [
        Worst(query, float(scores.column(label)[row]), None, None, None, (), texts.get(query, ""))
        for row, query in _lowest(scores, label)
    ]
    return Diagnosis(
        system=scores.name,
        measure=label,
        k=cutoff_of(scores, label),
        queries=scores.judged,
        protocol=scores.protocol,
        targets=check_targets(scores, measured),
        stages={},
        slices=_slices(scores, label, queries, {}),
        worst=tuple(worst),
        judge=scores.judge if scores.uncalibrated else "",
        answers=by_stage(samples),
        weakest=weakest_statements(samples),
        scores=(scores,),
    )


def diagnose_result(
    result: Result | str | os.PathLike[str],
    *,
    name: str | None = None,
    queries: Queries | None = None,
    measured: Mapping[str, float] | None = None,
) -> list[Diagnosis]:
    """Diagnose every system of a result or its file; the stages of answers come from their samples.

    >>> import assay
    >>> assay.write_result(assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "mrr", name="mine"), "result.json")
    >>> [(one.system, one.measure) for one in assay.diagnose_result("result.json")]
    [('mine', 'mrr')]
    """
    read = result if isinstance(result, Result) else load_result(Input.at(result))
    systems = read_systems(result, name=name) if not isinstance(result, Result) else list(read.systems)
    part = read.part(AnswerDetails)
    return [
        diagnose_scores(scores, queries=queries, measured=measured, samples=part.of(scores.name) if part else ())
        for scores in systems
    ]


def check_measured(measured: Mapping[str, float], protocol: Protocol) -> None:
    """Refuse values measured elsewhere that no target of the protocol asks for."""
    targets = [target.measure for target in protocol.targets]
    for name in measured:
        if name not in targets:
            raise UnknownName(
                say("target of protocol {name}", name=protocol.name),
                name,
                targets,
                hint=say("its targets are {targets}", targets=targets),
            )


def attribute_notes(queries: Queries, found: Sequence[Diagnosis], *, place: str | None = None) -> list[str]:
    """Note how many queries have attributes and which attributes were not used; none at all is an error."""
    known = set(queries.frame["query_id"].to_list())
    judged = {query for one in found for ids in one.stages.values() for query in ids}
    if not judged:
        return []
    if not known & judged:
        raise InputError(
            say("none of the query ids in this file is judged"), path=place, hint=say("check that the ids are the same")
        )
    lacking = len(judged - known)
    used = {part.attribute for one in found for part in one.slices}
    left = [name for name in queries.attributes if name not in used]
    lines: list[str] = [say("diagnose.lacking", n=lacking, of=len(judged))] if lacking else []
    return [*lines, say("diagnose.left_out", names=left)] if left else lines


def cutoff_of(scores: Scores, label: str) -> int:
    """The cutoff of a measure; 10 for one that has none."""
    return scores.about(label).k or 10


def choose_measure(scores: Scores, measure: str | None) -> str:
    """The measure to sort queries by: the one named, the protocol's primary one, or the first mean."""
    if measure is not None:
        return scores.label_of(measure)
    if scores.protocol.primary in scores.labels:
        return scores.protocol.primary
    means = [column.label for column in scores.columns if column.is_mean]
    if not means:
        raise UsageError(say("none of the measures is a mean over queries"))
    return means[0]


def _lowest(scores: Scores, label: str) -> list[tuple[int, str]]:
    """Rows and ids of the queries with the lowest values, in that order; undefined ones are not failures."""
    values = np.where(scores.status[:, scores.labels.index(label)] == UNDEFINED, np.nan, scores.column(label))
    values = values * scores.about(label).direction
    order = np.argsort(values, kind="stable")[: min(_WORST, int((~np.isnan(values)).sum()))]
    return [(row, scores.query_ids[row]) for row in order.tolist()]


def _stages(ranking: Ranking, threshold: float, k: int) -> dict[str, RetrievalStage]:
    """Return the stage that each judged query's relevant documents reached."""
    relevant = ranking.relevant(threshold)
    total = ranking.num_relevant(threshold)
    found, top = ranking.count(relevant), ranking.count(relevant & ranking.within(k))
    rules = [
        ("no_relevant", total == 0),
        ("missing", ~ranking.in_run),
        ("not_retrieved", found == 0),
        ("below_k", top == 0),
        ("partly", top < np.minimum(total, k)),
    ]
    codes = np.select([mask for _, mask in rules], list(range(len(rules))), default=len(rules))
    names: list[RetrievalStage] = [*(name for name, _ in rules), "complete"]  # type: ignore[list-item]
    return {query: names[codes[i]] for i, query in enumerate(ranking.query_ids) if ranking.judged[i]}


def _queries_by_stage(stage: Mapping[str, RetrievalStage]) -> dict[RetrievalStage, tuple[str, ...]]:
    return {name: tuple(query for query, found in stage.items() if found == name) for name in RETRIEVAL_STAGES}


def _first_relevant(ranking: Ranking, threshold: float) -> list[int | None]:
    rows = np.flatnonzero(ranking.relevant(threshold))
    first: list[int | None] = [None] * len(ranking)
    for query, rank_ in zip(ranking.query[rows][::-1].tolist(), ranking.rank[rows][::-1].tolist(), strict=True):
        first[query] = rank_
    return first


def _lists(
    judgments: Judgments, run: Run, protocol: Protocol, queries: Sequence[str]
) -> dict[str, list[RankedDocument]]:
    """Ranked lists of some queries."""
    rows = run.frame.filter(pl.col("query_id").is_in(list(queries))).select("query_id", "doc_id", "score")
    docs: dict[str, list[tuple[str, float]]] = {}
    for query, doc, value in rows.iter_rows():
        docs.setdefault(query, []).append((doc, value))
    given, single = protocol.ties == "given" or protocol.fold is not None, protocol.scores == "float32"
    return {
        query: [
            _grade_unjudged(one, complete=judgments.complete)
            for one in rank_list(judgments, query, found, given=given, single=single)
        ]
        for query, found in docs.items()
        if query in judgments.by_query
    }


def _grade_unjudged(document: RankedDocument, *, complete: bool) -> RankedDocument:
    """Grade unjudged documents 0 where judgments are complete."""
    return replace(document, grade=0.0) if complete and document.grade is None else document


def _above(listed: Sequence[RankedDocument], threshold: float) -> tuple[RankedDocument, ...]:
    """The first few documents above the first relevant one."""
    unwanted = itertools.takewhile(lambda doc: doc.grade is None or doc.grade < max(threshold, 0.0), listed)
    return tuple(itertools.islice(unwanted, _ABOVE))


def _effective(scores: Scores, label: str, rows: Sequence[int]) -> float | None:
    """The number of equal, independent queries that those of some rows are worth; None where they are such ones."""
    if scores.weights is None and scores.clusters is None:
        return None
    weights = None if scores.weights is None else scores.weights[rows]
    clusters = None if scores.clusters is None else np.array(scores.clusters)[rows]
    return moments(scores.column(label)[rows], weights, clusters=clusters).effective_n


def _slices(
    scores: Scores, label: str, queries: Queries | None, stage: Mapping[str, RetrievalStage]
) -> tuple[Slice, ...]:
    """Mean of the measure for every value of every attribute, the weakest first within an attribute."""
    if queries is None:
        return ()
    values = scores.column(label)
    row_of = {query: row for row, query in enumerate(scores.query_ids) if not np.isnan(values[row])}

    def part(attribute: str, value: str, ids: Sequence[str]) -> Slice:
        rows = [row_of[query] for query in ids]
        failed = sum(stage.get(query) in FAILED if stage else values[row_of[query]] == 0 for query in ids)
        worth = _effective(scores, label, rows)
        return Slice(attribute, value, len(ids), column_mean(scores, label, rows=rows), int(failed), worth)

    found: list[Slice] = []
    for attribute in queries.attributes:
        groups = group_queries(queries, attribute, row_of)
        if 1 < len(groups) <= max(DISTINCT, sum(map(len, groups.values())) // 4):
            parts = [part(attribute, value, ids) for value, ids in groups.items()]
            found += sorted(parts, key=lambda one: one.mean.estimate or 0.0)
    return tuple(found)
