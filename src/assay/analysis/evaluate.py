"""From judgments and a run to scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from assay.analysis.sampled import score_sample, settle_sampled
from assay.analysis.settings import Settings, need_subtopics, settings_for
from assay.analysis.warnings import find_score_warnings
from assay.data.folding import fold_run
from assay.data.joining import rank_run
from assay.data.mappings import rank_mapping
from assay.data.run import Run
from assay.data.scores import Counts, Scores
from assay.data.status import MISSING, SCORED, UNDEFINED, UNJUDGED
from assay.errors import InputError, Repeated, UsageError, excerpt
from assay.formats.conversion import are_several, as_judgments, as_records, as_run, as_runs
from assay.formats.trec.reading import locate
from assay.messages import say, some

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.protocol import Fold, Missing, Protocol, Ties, Undefined
    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats, Ints
    from assay.measures import Measure


_FEW = 3  # queries in a message
# Several runs, as far as a type can distinguish them from one.
Several = (
    list[str] | list[Path] | list[Run] | tuple[str, ...] | tuple[Path, ...] | tuple[Run, ...]
    | Mapping[str, str] | Mapping[str, Path] | Mapping[str, Run] | Mapping[str, Mapping[str, Mapping[str, float]]]
)  # fmt: skip


@overload
def evaluate(
    judgments: Any,
    run: Several,
    measures: Any = None,
    *,
    protocol: str | Protocol = ...,
    min_relevance: float | Literal["positive"] | None = ...,
    max_grade: float | None = ...,
    ties: Ties | None = ...,
    missing: Missing | None = ...,
    undefined: Undefined | None = ...,
    fold: Fold | None = ...,
    ignore_same_id: bool | None = ...,
    chunks: Mapping[str, str] | str | None = ...,
    weights: Mapping[str, float] | None = ...,
    clusters: Mapping[str, str] | None = ...,
    dedupe: bool = ...,
    calibration: str = ...,
) -> dict[str, Scores]: ...
@overload
def evaluate(
    judgments: Any,
    run: Any = None,
    measures: Any = None,
    *,
    protocol: str | Protocol = ...,
    min_relevance: float | Literal["positive"] | None = ...,
    max_grade: float | None = ...,
    ties: Ties | None = ...,
    missing: Missing | None = ...,
    undefined: Undefined | None = ...,
    fold: Fold | None = ...,
    ignore_same_id: bool | None = ...,
    chunks: Mapping[str, str] | str | None = ...,
    weights: Mapping[str, float] | None = ...,
    clusters: Mapping[str, str] | None = ...,
    dedupe: bool = ...,
    calibration: str = ...,
    name: str | None = ...,
) -> Scores: ...


def evaluate(
    judgments: Any,
    run: Any = None,
    measures: Any = None,
    *,
    protocol: str | Protocol = "trec",
    min_relevance: float | Literal["positive"] | None = None,
    max_grade: float | None = None,
    ties: Ties | None = None,
    missing: Missing | None = None,
    undefined: Undefined | None = None,
    fold: Fold | None = None,
    ignore_same_id: bool | None = None,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    clusters: Mapping[str, str] | None = None,
    dedupe: bool = False,
    calibration: str = "",
    name: str | None = None,
) -> Scores | dict[str, Scores]:
    """Evaluate a run against judgments; a list of runs, or a dict that names them, gives a dict of scores by name.

    Judgments and runs may be paths, dicts, frames, tuples (query, document, number), datasets or our own types.
    `measures` is one text, also a list with commas, or a measure, or several of these; ir_measures has some, too.

    Without a run, `judgments` is a file of self-contained records (or a list of them) with a single system. Without
    measures, the protocol's are computed. Options given here override the protocol, and the result says so;
    `min_relevance` may be "positive" for any grade above 0;
    `ignore_same_id` leaves out retrieved documents that have the id of their query, as BEIR does.
    `calibration` says how far the judge behind the judgments agrees with people, if one made them. `clusters` say
    which queries belong together (by query, the name of what it belongs to): intervals and tests then count clusters.

    >>> import assay
    >>> judgments, run = {"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}
    >>> assay.evaluate(judgments, run, "AP, ndcg@10")["map"]
    0.5
    >>> both = assay.evaluate(judgments, {"old": run, "new": [("q", "d1", 1.0)]}, "AP")
    >>> {name: scores["AP"] for name, scores in both.items()}
    {'old': 0.5, 'new': 1.0}
    """
    if run is None:
        records = as_records(judgments)
        if len(records.runs) != 1:
            names = [one.name for one in records.runs]
            raise UsageError(
                say(
                    "the records are of several systems ({names}): give their judgments and runs, as in "
                    "evaluate(found.judgments, found.runs) with found = assay.read_records(...)",
                    names=names,
                )
            )
        judgments, run = records.judgments, records.runs[0]
        ties = ties or ("given" if records.unnamed else None)
    several = are_several(run)
    if several and name is not None:
        raise UsageError(say("name={name!r} cannot name several runs: give them as a dict, {{name: run}}", name=name))
    judged = as_judgments(judgments, subtopics=need_subtopics(measures, protocol), dedupe=dedupe)
    runs = as_runs(run) if several else {"": as_run(run)}
    settings = settings_for(
        [one for one in runs.values() if isinstance(one, Run) and chunks is None],
        judged,
        measures,
        protocol,
        min_relevance=min_relevance,
        max_grade=max_grade,
        ties=ties,
        missing=missing,
        undefined=undefined,
        fold=fold,
        ignore_same_id=ignore_same_id,
    )
    options: dict[str, Any] = {
        "chunks": chunks, "weights": weights, "clusters": clusters, "dedupe": dedupe, "calibration": calibration,
    }  # fmt: skip
    settings = settle_sampled(settings, judged, named=measures is not None)
    if not several:
        return evaluate_run(judged, runs[""], settings, name=name, **options)
    return {name: evaluate_run(judged, one, settings, name=name, **options) for name, one in runs.items()}


def evaluate_run(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    settings: Settings,
    *,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    clusters: Mapping[str, str] | None = None,
    dedupe: bool = False,
    calibration: str = "",
    name: str | None = None,
) -> Scores:
    """Evaluate a run under settings that are already complete."""
    ranking, notes = rank(judgments, run, settings.protocol, chunks=chunks, dedupe=dedupe, sampled=True)
    sources = [("judgments", judgments.source), ("run", getattr(run, "source", None))]
    aligned = _weights(ranking, weights, _counted(ranking, settings))
    inclusion = judgments.inclusion
    scored = score(ranking, settings, aligned) if inclusion is None else score_sample(
        ranking, inclusion, settings, aligned)  # fmt: skip
    scores = replace(
        scored, judgments=judgments, judge=judgments.judge, calibration=calibration,
        clusters=align_clusters(ranking, settings, clusters),
    )  # fmt: skip
    return replace(
        scores,
        name=name or str(getattr(run, "name", "run")),
        inputs=tuple((role, source) for role, source in sources if source is not None),
        file=None if sources[1][1] is None else sources[1][1].portable,
        warnings=find_score_warnings(scores, complete=judgments.complete or inclusion is not None),
        notes=(*settings.notes, *judgments.notes, *getattr(run, "notes", ()), *notes),
    )


def rank(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    protocol: Protocol,
    *,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
    sampled: bool = False,
) -> tuple[Ranking, tuple[str, ...]]:
    """Join judgments and run under a protocol's rules of ties, precision and folding.

    Judgments of a sample are refused unless the caller estimates from them (`sampled`).
    """
    if judgments.inclusion is not None and not sampled:
        raise UsageError(say("sample.not_complete"))
    float32 = protocol.scores == "float32"
    has_chunks = chunks is not None or (isinstance(run, Run) and run.has_chunks)
    if chunks is not None and protocol.fold is None:
        raise UsageError(say("a chunk map needs --fold after (cut, then fold) or --fold before (fold, then cut)"))
    if protocol.fold is None or not has_chunks:
        notes = () if protocol.fold is None else (say("evaluate.no_chunk_map"),)
        if protocol.ignore_same_id:
            run = _without_same_ids(run)
        if isinstance(run, Run):
            try:
                ranking = rank_run(judgments, run, ties=protocol.ties, float32=float32, dedupe=dedupe)
            except Repeated as error:
                found = locate(run.source, error)
                raise (found.with_hint(_fold_hint()) if run.has_chunks else found) from None
        else:
            ranking = rank_mapping(judgments, run, ties=protocol.ties, float32=float32)
    else:
        notes = ()
        folded = prepare_run(run, protocol, chunks)
        ranking = rank_run(judgments, folded, ties="given", folded=protocol.fold == "after")
    if not (ranking.judged & ranking.in_run).any():
        queries = {"listed": _first(ranking, ranking.in_run), "judged": _first(ranking, ranking.judged)}
        names = {"run": _source_label(run), "judgments": _source_label(judgments)}
        raise InputError(
            say(
                "run {run} and judgments {judgments} have no query in common: the run has {listed}, the judgments have "
                "{judged}",
                **names,
                **queries,
            )
            if all(names.values())
            else say(
                "the run and the judgments have no query in common: the run has {listed}, the judgments have {judged}",
                **queries,
            ),
            hint=say("check that both use the same query ids"),
        )
    return ranking, notes


def prepare_run(
    run: Run | Mapping[str, Mapping[str, float]],
    protocol: Protocol,
    chunks: Mapping[str, str] | str | None = None,
    *,
    dedupe: bool = False,
) -> Run:
    """The lists that are evaluated: chunks folded to documents where the protocol says so, repeats left out."""
    whole = run if isinstance(run, Run) else Run.from_dict(run)  # type: ignore[arg-type]
    if dedupe:
        frame = whole.frame.sort("score", descending=True, maintain_order=True)
        kept = frame.unique(
            [name for name in ("query_id", "chunk_id", "doc_id") if name in frame.columns], keep="first"
        )
        ids = ["query_id", "doc_id", "score"]
        whole = replace(
            whole,
            rows=whole.frame.join(kept.select(ids), on=ids, how="semi").unique(ids, keep="first", maintain_order=True),
        )
    if protocol.fold is None or not (chunks is not None or whole.has_chunks):
        return whole.without_same_ids() if protocol.ignore_same_id else whole
    float32 = protocol.scores == "float32"
    return fold_run(whole, chunks, ties=protocol.ties, float32=float32, ignore_same_id=protocol.ignore_same_id)


def _without_same_ids(
    run: Run | Mapping[str, Mapping[str, float]],
) -> Run | Mapping[str, Mapping[str, float]]:
    """Leave out documents that have the id of their query."""
    if isinstance(run, Run):
        return run.without_same_ids()
    return {query: {doc: score for doc, score in docs.items() if doc != query} for query, docs in run.items()}


def _source_label(data: Any) -> str:
    source = getattr(data, "source", None)
    return str(source.label) if source is not None else ""


def _first(ranking: Ranking, mask: Bools) -> str:
    found = np.flatnonzero(mask)
    if not len(found):
        return say("none")
    first = excerpt(ranking.query_ids[found[0]])
    return first if len(found) == 1 else say("{query} and {n} more", query=first, n=len(found) - 1)


def _fold_hint() -> str:
    return say("these are chunks: fold them to documents with --fold before (or --fold after: cut at k, then fold)")


def _counted(ranking: Ranking, settings: Settings) -> Bools:
    """Mark the queries that are in a mean: for coverage, every query of the run."""
    everything = any(measure.spec.over == "run" for measure in settings.measures.values())
    return ranking.judged | ranking.in_run if everything else ranking.judged


def _weights(ranking: Ranking, weights: Mapping[str, float] | None, counted: Bools) -> Floats | None:
    """Align query weights; every query that is in a mean needs one."""
    if weights is None:
        return None
    lacking = [query for query, needs in zip(ranking.query_ids, counted, strict=True) if needs and query not in weights]
    if lacking:
        raise InputError(
            say(
                "{n} {n:query has|queries have} no weight: {queries}",
                n=len(lacking),
                queries=some(map(excerpt, lacking), _FEW),
            ),
            hint=say("give every query a weight; 0 leaves it out"),
        )
    values = np.array([float(weights.get(query, 0.0)) for query in ranking.query_ids])
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise InputError(say("query weights must be finite and not negative, and at least one must be above 0"))
    return values


def align_clusters(ranking: Ranking, settings: Settings, clusters: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """What each query belongs to; every query that is in a mean must belong to something."""
    if clusters is None:
        return None
    pairs = zip(ranking.query_ids, _counted(ranking, settings), strict=True)
    lacking = [query for query, needs in pairs if needs and query not in clusters]
    if lacking:
        raise InputError(
            say(
                "{n} {n:query has|queries have} no cluster: {queries}",
                n=len(lacking),
                queries=some(map(excerpt, lacking), _FEW),
            ),
            hint=say("give every query a cluster; one that belongs to no other has one of its own"),
        )
    return tuple(str(clusters.get(query, query)) for query in ranking.query_ids)


def score(ranking: Ranking, settings: Settings, weights: Floats | None = None) -> Scores:
    """Compute all measures on a ranking."""
    protocol = settings.protocol
    size = len(ranking)
    values = np.empty((size, len(settings.measures)))
    status = np.empty((size, len(settings.measures)), dtype=np.uint8)
    counts: dict[str, Counts] = {}
    tied_queries = ranking.tied_queries
    spread = _orders(ranking, tied_queries)
    for i, (label, measure) in enumerate(settings.measures.items()):
        raw = measure.compute(ranking)
        values[:, i], status[:, i] = _cells(ranking, measure, raw, protocol)
        kept = ~np.isnan(values[:, i])
        hangs = _depends_on_ties(measure, raw[tied_queries], spread) & kept[tied_queries]
        counts[label] = Counts(
            queries=int(kept.sum()),
            missing=int((status[:, i] == MISSING).sum()),
            undefined=int((status[:, i] == UNDEFINED).sum()),
            unjudged=int((status[:, i] == UNJUDGED).sum()),
            tied=int(hangs.sum()),
            short=0 if measure.k is None else int((kept & ranking.in_run & (ranking.retrieved < measure.k)).sum()),
            unjudged_share=_share_unjudged(ranking, measure.k, kept),
            listed=_typical_length(ranking, measure.k, kept),
        )
    return Scores(
        name="run",
        query_ids=ranking.query_ids,
        columns=tuple(measure.column(label) for label, measure in settings.measures.items()),
        values=values,
        status=status,
        counts=counts,
        protocol=protocol,
        weights=weights,
        asked=settings.asked,
    )


def _cells(ranking: Ranking, measure: Measure, raw: Floats, protocol: Protocol) -> tuple[Floats, Any]:
    """Give every query its value and status under the protocol's rules."""
    status = np.full(len(raw), SCORED, dtype=np.uint8)
    value = raw.copy()
    if measure.spec.over == "run":
        status[~ranking.in_run] = MISSING
        value[~ranking.in_run] = np.nan
        return value, status
    status[~ranking.in_run] = MISSING
    undefined = np.isnan(raw)
    status[undefined] = UNDEFINED
    status[~ranking.judged] = UNJUDGED
    if measure.spec.aggregate != "sum":
        value[status == MISSING] = 0.0
    value[undefined] = 0.0
    if protocol.missing == "skip":
        value[~ranking.in_run] = np.nan
    if protocol.undefined == "skip":
        value[undefined] = np.nan
    value[~ranking.judged] = np.nan
    return value, status


def _orders(ranking: Ranking, queries: Ints) -> list[Ranking]:
    """Best and worst order of tied documents of these queries, unless their order is averaged over."""
    if ranking.expected or not len(queries):
        return []
    tied = ranking.only(queries)
    return [tied.extreme(best=True), tied.extreme(best=False)]


def _depends_on_ties(measure: Measure, raw: Floats, spread: list[Ranking]) -> Bools:
    """Mark the queries whose value would differ under another order of tied documents."""
    differs = np.zeros(len(raw), dtype=bool)
    for other in spread:
        differs |= ~np.isclose(measure.compute(other), raw, rtol=1e-12, atol=1e-15, equal_nan=True)
    return differs


def _share_unjudged(ranking: Ranking, k: int | None, kept: Bools) -> float | None:
    """Mean share of unjudged documents in the top k of the queries in the mean."""
    shown = ranking.shown(k)
    some = kept & (shown > 0)
    if not some.any():
        return None
    judged = ranking.count(ranking.within(k) & ranking.is_judged)
    return float(np.mean((shown[some] - judged[some]) / shown[some]))


def _typical_length(ranking: Ranking, k: int | None, kept: Bools) -> int | None:
    """The median of how many documents the lists in the mean have, down to k."""
    lengths = ranking.shown(k)[kept & ranking.in_run]
    return int(np.median(lengths)) if len(lengths) else None
