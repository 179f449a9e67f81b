"""Evaluate a reranker on given lists: quality before and after, the ceiling, and latency. No index is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.compare import compare
from assay.analysis.evaluate import evaluate_run
from assay.analysis.listwise import ceilings, lifts
from assay.analysis.settings import Settings
from assay.data.run import Run
from assay.errors import InputError, UsageError, excerpt
from assay.formats.conversion import as_judgments, as_whole_run
from assay.formats.documents import read_documents
from assay.formats.queries import read_queries
from assay.messages import say
from assay.pipeline.experiment import make
from assay.pipeline.grid import choices_of
from assay.pipeline.measuring import time_work
from assay.pipeline.ordering import apply_scores, check_answered, descending, fresh_score
from assay.pipeline.records import Hits, add_money
from assay.pipeline.rerankers import OwnReranker
from assay.pipeline.stages import Setup
from assay.results.reranker import RerankerEvaluation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.measures import Measure
    from assay.pipeline.rerankers import Reranker

_BEFORE, _AFTER = "retrieved", "reranked"


def evaluate_reranker(
    reranker: Any,
    queries: Any,
    candidates: Any,
    judgments: Any,
    *,
    documents: Any = None,
    measures: Sequence[str | Measure] | None = None,
    protocol: str = "rerank",
    depth: int | None = None,
    llm: Mapping[str, Any] | None = None,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> RerankerEvaluation:
    """Evaluate a reranker alone.

    reranker: a function of query and texts that gives one score per text, an object with score, rerank or predict, the
    name of a built-in method, or a dict such as {"method": "embedding", "embedder": "minilm"}.
    queries: {id: text}, or a file. candidates: {query: {document: text}}, best first; or a run, and the texts as
    `documents` ({id: text}, or a file). Only the first `depth` candidates of each query are used.

    >>> import assay
    >>> texts = {"q": {"a": "rain in spring", "b": "tea is a drink"}}
    >>> def holds_it(query, texts):
    ...     return [float(query in text) for text in texts]
    >>> found = assay.evaluate_reranker(holds_it, {"q": "tea"}, texts, {"q": {"b": 1}}, measures="mrr")
    >>> found.before["mrr"], found.after["mrr"]
    (0.5, 1.0)
    """
    setup = Setup(Path(), llm=llm or {})
    try:
        scorer = as_reranker(reranker, setup)
        asked = read_queries(queries).texts() if isinstance(queries, (str, PathLike)) else dict(queries)
        lists, texts = _candidates(candidates, documents, depth)
        judged = as_judgments(judgments)
        settings = Settings.of(judged, measures, protocol)
        told = _MeasuredReranker(scorer, asked, texts, tell)
        after = told.rerank(lists)
    finally:
        setup.close()
    found = _evaluate(told, lists, after, (judged, settings))
    return replace(
        found, chosen=_stage_settings(reranker), estimated=told.estimated, money_estimated=told.money_estimated
    )  # fmt: skip


def _stage_settings(thing: Any) -> dict[str, Any]:
    if not isinstance(thing, (str, dict)):
        return {}
    (choice,) = choices_of("rerank", thing, "reranker")
    return {"method": choice.method, **choice.params}


def as_reranker(thing: Any, setup: Setup) -> Reranker:
    """Take a reranker as a method's name, a dict of method and parameters, a function or an object."""
    if isinstance(thing, (str, dict)):
        (choice,) = choices_of("rerank", thing, "reranker")
        made: Reranker | None = make("rerank", choice, setup)
        if made is None:
            raise UsageError(say("the reranker none changes nothing: choose another"))
        return made
    return OwnReranker(thing)


def _candidates(
    given: Any, documents: Any, depth: int | None
) -> tuple[dict[str, list[tuple[str, float]]], dict[str, Mapping[str, str]]]:
    """Lists of (document, score), the best first, and the texts of each query's documents."""
    if documents is None:
        if not isinstance(given, Mapping) or not all(isinstance(docs, Mapping) for docs in given.values()):
            raise UsageError(say("candidates need texts: give {{query: {{document: text}}}}, or a run and documents="))
        wrong = next((text for docs in given.values() for text in docs.values() if not isinstance(text, str)), None)
        if wrong is not None:
            raise UsageError(
                say("candidate {found} is not a text: give the texts of a run as documents=", found=excerpt(wrong))
            )
        lists = {
            str(query): [(str(doc), float(len(docs) - i)) for i, doc in enumerate(docs)][:depth]
            for query, docs in given.items()
        }
        return lists, {str(query): {str(doc): text for doc, text in docs.items()} for query, docs in given.items()}
    known = read_documents(documents) if isinstance(documents, (str, PathLike)) else dict(documents)
    frame = as_whole_run(given).frame.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    found: dict[str, dict[str, float]] = {}
    for query, doc, score in frame.select("query_id", "doc_id", "score").iter_rows():
        mine = found.setdefault(query, {})
        if doc not in mine and (depth is None or len(mine) < depth):  # of a document's chunks, the best one counts
            mine[doc] = score
    return {query: list(rows.items()) for query, rows in found.items()}, dict.fromkeys(found, known)


class _MeasuredReranker:
    """Calls a reranker query by query, and records the times."""

    def __init__(
        self, scorer: Reranker, queries: Mapping[str, str], texts: Mapping[str, Mapping[str, str]],
        tell: Callable[[str, int, int], None],
    ) -> None:  # fmt: skip
        self._scorer, self._queries, self._texts, self._tell = scorer, queries, texts, tell
        self.ms: dict[str, float] = {}
        self.faults: dict[str, int] = {}
        self.tokens = 0
        self.money: float | None = 0.0
        self.estimated = self.money_estimated = False

    def rerank(self, lists: Mapping[str, list[tuple[str, float]]]) -> dict[str, dict[str, float]]:
        """New scores of every list; the first call is made twice, as it may load things, unless a server is asked."""
        found: dict[str, dict[str, float]] = {}
        told = []
        for number, (query, rows) in enumerate(lists.items()):
            self._tell(say("reranking"), number, len(lists))
            texts = [self._text(query, doc) for doc, _ in rows]
            if query not in self._queries:
                raise InputError(say("query {query} has no text", query=excerpt(query)))
            score = partial(fresh_score, self._scorer, self._queries[query], texts)
            done = time_work(score)
            if not found and not done.remote:
                done = time_work(score)
            told.append(done.found)
            hits = apply_scores(Hits(tuple(range(len(rows))), tuple(score for _, score in rows)), done)
            if not hits.cached:
                self.ms[query] = hits.ms
            self.tokens += hits.tokens
            self.money = add_money(self.money, hits.money)
            self.estimated |= hits.estimated
            self.money_estimated |= hits.money_estimated
            for reason, count in hits.faults.items():
                self.faults[reason] = self.faults.get(reason, 0) + count
            scores = descending(hits.scores)
            found[query] = {rows[place][0]: score for place, score in zip(hits.chunks, scores, strict=True)}
        check_answered(told)
        return found

    def _text(self, query: str, doc: str) -> str:
        text = self._texts[query].get(doc)
        if text is None:
            raise InputError(say("document {doc} of query {query} has no text", doc=excerpt(doc), query=excerpt(query)))
        return text


def _evaluate(
    told: _MeasuredReranker,
    lists: Mapping[str, list[tuple[str, float]]],
    after: Mapping[str, Mapping[str, float]],
    judging: tuple[Any, Settings],
) -> RerankerEvaluation:
    judged, settings = judging
    first = Run.from_dict({query: dict(rows) for query, rows in lists.items()}, _BEFORE)
    last = Run.from_dict(dict(after), _AFTER)  # type: ignore[arg-type]
    scores = [evaluate_run(judged, run, settings) for run in (first, last)]
    found = compare(scores)
    primary = settings.protocol.primary if settings.protocol.primary in found.measures else found.measures[0]
    gains = lifts(found, _AFTER, ceilings(judged, first, replace(settings)), primary)
    ms = np.array(list(told.ms.values()) or [np.nan])
    latency = {f"p{p}": float(np.percentile(ms, p)) for p in (50, 95, 99)}
    return RerankerEvaluation(
        {**latency, "mean": float(ms.mean()), "std": float(ms.std())},
        told.ms,
        {query: len(rows) for query, rows in lists.items()},
        told.tokens,
        told.money,
        told.faults,
        comparison=replace(found, lifts=gains),
        run=last,
        scores=tuple(scores),
    )
