"""What to judge next, by one of several methods, and whether the judgments so far are enough."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from assay.analysis.deciding import by_decision
from assay.analysis.stopping import SoFar, StopRule, number_relevant, stop
from assay.curation import pools
from assay.errors import UnknownName, UsageError
from assay.formats.conversion import as_judgments, as_runs, as_whole_run
from assay.formats.documents import read_documents, read_rounds
from assay.formats.queries import Queries, read_queries
from assay.judge import pooling
from assay.measures.defaults import SINGLE
from assay.messages import say
from assay.results.pool import METHODS, JudgingPool, Method, PoolPair, Stopping
from assay.stats.inputs import check_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.curation.pools import PooledDocument, QueryPool
    from assay.data.judgments import Judgments
    from assay.data.run import Run


def pool(runs: Any, depth: int = 10, *, known: Any = None) -> list[tuple[str, str]]:
    """List the (query, document) pairs in the first `depth` ranks of any run, each once, less what is `known` already.

    >>> import assay
    >>> assay.pool([{"q": {"a": 3.0, "b": 2.0}}, {"q": {"c": 1.0}}], depth=1)
    [('q', 'a'), ('q', 'c')]
    """
    found = _collect(_read(runs), depth)
    judged = None if known is None else as_judgments(known)
    pairs = [(one.query_id, doc) for one in found for doc in one.doc_ids]
    return [pair for pair in pairs if judged is None or not pooling.is_judged(judged, *pair)]


def pool_judgments(
    runs: Any,
    budget: int = 500,
    *,
    method: Method = "depth",
    depth: int = 20,
    judgments: Any = None,
    between: Sequence[str] | None = None,
    measure: Any = SINGLE,
    smallest_effect: float = 0.01,
    alpha: float = 0.05,
    look: int | None = None,
    min_relevance: float = 1,
    max_grade: float = 1,
    queries: Any = None,
    documents: Any = None,
    seed: int = 0,
) -> JudgingPool:
    """List what to judge next: `budget` more documents of the first `depth` of any run, in the order of a method.

    "depth" goes down the ranks; "move-to-front" and "bandit" follow the runs that gave relevant documents; "decide"
    takes what could move the difference `between` two systems in a measure most; "sample" draws documents with known
    probabilities, so that measures can be estimated. Given the `judgments` so far, the next ones follow. For a sample,
    the list has all that was drawn, with the grades there are, and for two systems it says whether that is enough at
    this `look`, whose number follows from the rounds in the file of the judgments unless it is given.

    >>> import assay
    >>> runs = {"old": {"q": {"a": 3.0, "b": 2.0}}, "new": {"q": {"c": 2.0, "a": 1.0}}}
    >>> [one.doc_id for one in assay.pool_judgments(runs, 2, judgments={"q": {"a": 1}}).pairs]
    ['c', 'b']
    """
    _check(method, budget, between)
    check_share(alpha, "alpha")
    read = _read(runs)
    known, rounds = _read_known(judgments)
    so_far = SoFar(tuple(_collect(read, depth)), {} if known is None else known.by_query, min_relevance)
    two = None if between is None else _two(read, between)
    effects: Mapping[PooledDocument, float] = {}
    if method == "decide" and two is not None:
        effects = by_decision(so_far.pools, two, so_far.grades, measure, max(max_grade, min_relevance))
    taken = so_far.take(iter(effects) if effects else _order(so_far, method, seed), budget)
    limits = StopRule(smallest_effect, alpha)
    stopping = (
        _stop(so_far, taken, two, measure, limits=limits, look=look, rounds=rounds) if method == "sample" else None
    )
    now = max(rounds.values(), default=0) + 1 if so_far.grades else 1
    texts = _texts(so_far, taken, queries, documents)
    listed = _list(so_far, taken, method, rounds=rounds, now=now, effects=effects, texts=texts)
    judged = [so_far.grade(place) for place in so_far.every() if so_far.grade(place) is not None]
    drawn = [place for place in taken if so_far.grade(place) is not None]
    sampled = method == "sample"
    return JudgingPool(
        method=method, depth=depth, budget=budget, runs=tuple(run.name for run in read), pairs=listed,
        size=sum(len(one.doc_ids) for one in so_far.pools), queries=len(so_far.pools), judged=len(judged),
        relevant=sum((grade or 0) >= min_relevance for grade in judged), seed=seed, round=now,
        unused=len(judged) - len(drawn) if sampled else 0,
        relevant_in_all=number_relevant(so_far, taken) if sampled else None,
        stopping=stopping,
    )  # fmt: skip


def _check(method: str, budget: int, between: Sequence[str] | None) -> None:
    if method not in METHODS:
        raise UnknownName(say("method"), method, METHODS)
    if budget < 0:
        raise UsageError(say("budget {budget}: expected 0 or more", budget=budget))
    if method == "decide" and between is None:
        raise UsageError(say("pool.needs_two"))
    if between is not None and (isinstance(between, str) or len(set(between)) != 2):  # noqa: PLR2004
        raise UsageError(say("pool.needs_two"))


def _read(runs: Any) -> list[Run]:
    listed = [as_whole_run(run, name) for name, run in as_runs(runs).items()]
    if not listed:
        raise UsageError(say("there is no run to pool"))
    return listed


def _collect(runs: Sequence[Run], depth: int) -> list[QueryPool]:
    if depth < 1:
        raise UsageError(say("depth {depth}: expected 1 or more", depth=depth))
    return pools.collect_pools(runs, depth)


def _read_known(judgments: Any) -> tuple[Judgments | None, Mapping[tuple[str, str], int]]:
    """The judgments so far, and the round in which each pair was listed, where their file says so."""
    if judgments is None:
        return None, {}
    place = judgments if isinstance(judgments, (str, os.PathLike)) else None
    return as_judgments(judgments), read_rounds(place) if place is not None else {}


def _two(runs: Sequence[Run], between: Sequence[str]) -> tuple[Run, Run]:
    by_name = {run.name: run for run in runs}
    for name in between:
        if name not in by_name:
            raise UnknownName(say("system"), name, by_name)
    return by_name[between[0]], by_name[between[1]]


def _order(so_far: SoFar, method: Method, seed: int) -> Iterator[PooledDocument]:
    if method == "sample":
        return pools.by_sample(so_far.pools, seed)
    if method == "move-to-front":
        return pools.by_front(so_far.pools, so_far.grades, so_far.min_relevance)
    if method == "bandit":
        return pools.by_bandit(so_far.pools, so_far.grades, so_far.min_relevance)
    return pools.by_depth(so_far.pools)


def _list(
    so_far: SoFar, taken: Sequence[PooledDocument], method: Method, *, rounds: Mapping[tuple[str, str], int], now: int,
    effects: Mapping[PooledDocument, float], texts: Mapping[tuple[str, str], tuple[str, str]],
) -> tuple[PoolPair, ...]:  # fmt: skip
    """Describe what was taken: all of a sample, otherwise what has no grade yet."""
    chance: dict[PooledDocument, float] = {}
    if method == "sample":
        chance = dict(zip(taken, pools.chances(so_far.pools, taken), strict=True))
    kept = [place for place in taken if method == "sample" or so_far.grade(place) is None]
    return tuple(
        PoolPair(
            *so_far.ids(place), number, rounds.get(so_far.ids(place), now), chance.get(place), effects.get(place),
            so_far.grade(place), *texts.get(so_far.ids(place), (None, None)),
        )
        for number, place in enumerate(kept, 1)
    )  # fmt: skip


def _texts(
    so_far: SoFar, taken: Sequence[PooledDocument], queries: Any, documents: Any
) -> dict[tuple[str, str], tuple[str, str]]:
    """Texts of queries and documents, where they are given."""
    if queries is None and documents is None:
        return {}
    if queries is None or documents is None:
        raise UsageError(say("pool.both_texts"))
    asked = read_queries(queries) if isinstance(queries, (str, os.PathLike)) else queries
    asked = asked.texts() if isinstance(asked, Queries) else asked
    texts = read_documents(documents) if isinstance(documents, (str, os.PathLike)) else documents
    pairs = pooling.pairs_of([so_far.ids(place) for place in taken], asked, texts)
    return {(pair.query_id, pair.doc_id): (pair.query, pair.document) for pair in pairs}


def _stop(
    so_far: SoFar, taken: Sequence[PooledDocument], two: tuple[Run, Run] | None, measure: Any, *, limits: StopRule,
    look: int | None, rounds: Mapping[tuple[str, str], int],
) -> Stopping | None:  # fmt: skip
    """Say whether enough of a sample is judged; every round of judging was a look."""
    drawn = [place for place in taken if so_far.grade(place) is not None]
    if two is None or not drawn:
        return None
    if look is None and not rounds:
        raise UsageError(say("pool.no_rounds"))
    return stop(so_far, drawn, two, measure, limits=limits, look=look or max(rounds.values()))
