"""From judgments and a run to scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from assay.analysis.joining import join
from assay.analysis.many_runs import map_runs
from assay.analysis.query_rows import make_rows, scores_of
from assay.analysis.query_units import align_clusters, align_weights, refuse_strangers
from assay.analysis.settings import Settings, need_subtopics, settings_for
from assay.analysis.warnings import find_score_warnings
from assay.data.run import Run
from assay.errors import UsageError
from assay.formats.conversion import are_several, as_judgments, as_records, as_run, as_runs
from assay.messages import say

if TYPE_CHECKING:
    from os import PathLike

    from assay.data.judgments import Judgments
    from assay.data.protocol import Fold, Missing, Protocol, Ties, Undefined
    from assay.data.ranking import Ranking
    from assay.data.scores import Scores
    from assay.data.segments import Floats
    from assay.engines.engine import Engine


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
    engine: str | Engine | None = ...,
    folder: str | PathLike[str] | None = ...,
    parts: int = ...,
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
    engine: str | Engine | None = ...,
    folder: str | PathLike[str] | None = ...,
    parts: int = ...,
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
    engine: str | Engine | None = None,
    folder: str | PathLike[str] | None = None,
    parts: int = 0,
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

    With an `engine`, "local" or "spark", whole queries are evaluated in parts: Parquet folders larger than memory,
    frames of Spark; a column `system` or `run` names several runs, which give a dict. The rows of all queries are
    written to `folder`, which is a result that every command reads. docs/lake.md has more.

    >>> import assay
    >>> judgments, run = {"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}
    >>> assay.evaluate(judgments, run, "AP, ndcg@10")["map"]
    0.5
    >>> both = assay.evaluate(judgments, {"old": run, "new": [("q", "d1", 1.0)]}, "AP")
    >>> {name: scores["AP"] for name, scores in both.items()}
    {'old': 0.5, 'new': 1.0}
    """
    if engine is not None or folder is not None:
        from assay.analysis.evaluate_tables import evaluate_tables

        rules = {"min_relevance": min_relevance, "max_grade": max_grade, "ties": ties, "missing": missing,
                 "undefined": undefined, "fold": fold, "ignore_same_id": ignore_same_id}  # fmt: skip
        return evaluate_tables(
            judgments, run, measures, protocol=protocol, rules=rules, chunks=chunks, weights=weights, clusters=clusters,
            dedupe=dedupe, calibration=calibration, name=name, engine=engine, folder=folder, parts=parts,
        )  # fmt: skip
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
    if judged.inclusion is not None:
        from assay.analysis.sampled import settle_sampled

        settings = settle_sampled(settings, judged, named=measures is not None)
    if not several:
        return evaluate_run(judged, runs[""], settings, name=name, **options)

    def score_run(name: str) -> Scores:
        return evaluate_run(judged, runs[name], settings, name=name, **options)

    return dict(zip(runs, map_runs(score_run, list(runs), judged, settings.common), strict=True))


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
    aligned = align_weights(ranking, settings, weights)
    inclusion = judgments.inclusion
    if inclusion is None:
        scored = score(ranking, settings, aligned)
    else:
        from assay.analysis.sampled import score_sample

        scored = score_sample(ranking, inclusion, settings, aligned)
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
    if chunks is not None and protocol.fold is None:
        raise UsageError(say("a chunk map needs --fold after (cut, then fold) or --fold before (fold, then cut)"))
    ranking = join(judgments, run, protocol, chunks=chunks, dedupe=dedupe)
    refuse_strangers(ranking, run=_source_label(run), judgments=_source_label(judgments))
    folds = chunks is not None or (isinstance(run, Run) and run.has_chunks)
    return ranking, () if folds or protocol.fold is None else (say("evaluate.no_chunk_map"),)


def _source_label(data: Any) -> str:
    source = getattr(data, "source", None)
    return str(source.label) if source is not None else ""


def score(ranking: Ranking, settings: Settings, weights: Floats | None = None) -> Scores:
    """Compute all measures on a ranking."""
    return scores_of(make_rows(ranking, settings), settings, weights)
