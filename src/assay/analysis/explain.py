"""One query's calculation, rank by rank."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from assay.analysis.settings import Settings
from assay.data.folding import fold_run
from assay.errors import InputError, UsageError, excerpt
from assay.formats.conversion import as_judgments, as_whole_run
from assay.measures import defaults
from assay.measures.steps import STEPS, StepCase
from assay.messages import say, some
from assay.results.diagnosis import RankedDocument
from assay.results.explanation import Explanation

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol, Ties
    from assay.measures import Measure


_SHOWN = 3


def rank_list(
    judgments: Judgments, query_id: str, docs: list[tuple[str, float]], *, given: bool, single: bool
) -> list[RankedDocument]:
    """Order one query's documents: by falling score, then by falling document id (or as given)."""
    if query_id not in judgments.by_query:
        raise InputError(
            say("query {query} is not judged", query=excerpt(query_id)),
            hint=say("judged queries are {queries}", queries=some(judgments.query_ids, _SHOWN)),
        )
    grades = judgments.by_query[query_id]
    if single:
        import numpy as np

        docs = [(doc, float(np.float32(score))) for doc, score in docs]
    ordered = sorted(docs, key=lambda item: item[0], reverse=True) if not given else docs
    ordered = sorted(ordered, key=lambda item: -item[1])
    return [RankedDocument(i, doc, score, grades.get(doc)) for i, (doc, score) in enumerate(ordered, 1)]


def explain(
    judgments: Any,
    run: Any,
    query: str,
    measure: str | Measure | None = None,
    *,
    protocol: str | Protocol = "trec",
    min_relevance: float | None = None,
    max_grade: float | None = None,
    ties: Ties | None = None,
    ignore_same_id: bool | None = None,
) -> Explanation:
    """Show how a measure comes about for one query, rank by rank; everything is given as to `evaluate`.

    >>> import assay
    >>> assay.explain({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, "q", "ndcg@10").steps[-1]
    'nDCG = 0.630930 / 1.000000 = 0.630930'
    """
    judged = as_judgments(judgments)
    settings = Settings.of(
        judged, [measure or defaults.SINGLE], protocol, min_relevance=min_relevance, max_grade=max_grade, ties=ties,
        ignore_same_id=ignore_same_id,
    )  # fmt: skip
    rule, whole = settings.protocol, as_whole_run(run)
    if whole.is_of_chunks:
        whole = fold_run(whole, None, ties=rule.ties)
    rows = whole.frame.filter(pl.col("query_id") == query).select("doc_id", "score").rows()
    if not rows and query in judged.by_query:
        place = whole.source.label if whole.source else None
        raise InputError(
            say("query {query} is not in the run", query=excerpt(query)), path=place, hint=say("it counts as 0")
        )
    docs = [(doc, score) for doc, score in rows if not (rule.ignore_same_id and doc == query)]
    listed = rank_list(judged, query, docs, given=rule.ties == "given", single=rule.scores == "float32")
    return replace(work_out(judged, query, listed, next(iter(settings.measures.values()))), protocol=rule.name)


def work_out(judgments: Judgments, query_id: str, listed: list[RankedDocument], measure: Measure) -> Explanation:
    """Work out a measure for one ranked list step by step."""
    work = STEPS.get(measure.name)
    if work is None:
        raise UsageError(
            say("{name} has no step-by-step explanation; these have one: {names}", name=measure.name, names=list(STEPS))
        )
    if measure.spec.cutoff == "required" and measure.k is None:
        raise UsageError(say("{name} needs a cutoff: write {name}@10", name=measure.name))
    if dict(measure.params).get("judged_only"):
        kept = [doc for doc in listed if doc.grade is not None and doc.grade >= 0]
        listed = [RankedDocument(i, doc.doc_id, doc.score, doc.grade) for i, doc in enumerate(kept, 1)]
    top = listed if measure.k is None else listed[: measure.k]
    case = StepCase(listed, top, judgments.by_query[query_id], measure.k, measure.arguments)
    columns, cells, steps, value = work(case)
    base = [(str(d.rank), d.doc_id, f"{d.score:g}", "-" if d.grade is None else f"{d.grade:g}") for d in top]
    rows = tuple((*left, *right) for left, right in zip(base, cells, strict=True))
    known = None if math.isnan(value) else value
    return Explanation(
        query_id,
        str(measure),
        (say("column.rank"), say("step.document"), say("column.score"), say("column.grade"), *columns),
        rows,
        tuple(steps),
        known,
    )
