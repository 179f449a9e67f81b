"""Which documents to judge next: the documents that runs put first, in an order that a method gives them.

Nothing is remembered from one call to the next: the order follows from the runs, the judgments so far and the seed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from assay.stats.sampling import inclusion_probabilities, pareto_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assay.data.run import Run
    from assay.data.segments import Floats

Grades = dict[str, dict[str, float]]

_FLATTEN = 60.0  # odds of a document are 1 / (this + best rank): see docs/pools.md
_MEMORY = 0.8  # how much an earlier document of a run counts in its mean against the next one
_BITS = 64
_LATER = 1e-9  # among equals, the run that was asked least goes first


class PooledDocument(NamedTuple):
    """A document of a query's pool: the number of the query, and of the document in it."""

    query: int
    doc: int


@dataclass(frozen=True, eq=False)
class QueryPool:
    """The documents of one query in id order, and their ranks in every run (infinite where it is not so high)."""

    query_id: str
    doc_ids: tuple[str, ...]
    ranks: Floats

    @cached_property
    def best(self) -> Floats:
        """The best rank of each document."""
        return np.asarray(self.ranks.min(axis=1))

    @cached_property
    def odds(self) -> Floats:
        """The odds with which each is drawn."""
        return np.asarray(1 / (_FLATTEN + self.best))


def collect_pools(runs: Sequence[Run], depth: int) -> list[QueryPool]:
    """The documents in the first `depth` ranks of any run, query by query."""
    tops = [
        run.frame.select("query_id", "doc_id", "score")
        .sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        .unique(["query_id", "doc_id"], keep="first", maintain_order=True)
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64), run=pl.lit(number))
        .filter(pl.col("rank") <= depth)
        .select("query_id", "doc_id", "rank", "run")
        for number, run in enumerate(runs)
    ]
    rows = pl.concat(tops).sort("query_id", "doc_id")
    found = []
    for (query,), part in rows.group_by("query_id", maintain_order=True):
        docs = part["doc_id"].unique(maintain_order=True)
        place = {doc: i for i, doc in enumerate(docs)}
        ranks = np.full((len(docs), len(runs)), np.inf)
        ranks[[place[doc] for doc in part["doc_id"]], part["run"].to_numpy()] = part["rank"].to_numpy()
        found.append(QueryPool(str(query), tuple(docs), ranks))
    return found


def by_depth(pools: Sequence[QueryPool]) -> Iterator[PooledDocument]:
    """Order by best rank: the first of every run, then the second."""
    rows = [(rank, q, d) for q, pool in enumerate(pools) for d, rank in enumerate(pool.best.tolist())]
    return (PooledDocument(q, d) for _, q, d in sorted(rows))


def by_front(pools: Sequence[QueryPool], grades: Grades, min_relevance: float) -> Iterator[PooledDocument]:
    """Move to front (Cormack, Palmer & Clarke 1998): stay with a run until it gives what is not relevant."""

    def order(pool: QueryPool) -> Iterator[int]:
        memory = _Demerits(np.zeros(pool.ranks.shape[1]), np.zeros(pool.ranks.shape[1]))
        return _pull(pool, grades.get(pool.query_id, {}), min_relevance, memory)

    return _in_turn(pools, order)


def by_bandit(pools: Sequence[QueryPool], grades: Grades, min_relevance: float) -> Iterator[PooledDocument]:
    """Take from the run whose latest documents were relevant most often (Losada, Parapar & Barreiro 2016)."""

    def order(pool: QueryPool) -> Iterator[int]:
        memory = _Tally(*(np.zeros(pool.ranks.shape[1]) for _ in range(3)))
        return _pull(pool, grades.get(pool.query_id, {}), min_relevance, memory)

    return _in_turn(pools, order)


class _Demerits(NamedTuple):
    """What move-to-front remembers of each run; a document without a grade lowers it, too, so that runs take turns."""

    demerits: Floats
    pulls: Floats

    def worth(self) -> Floats:
        """Minus the demerits."""
        return np.asarray(-self.demerits - self.pulls * _LATER)

    def learn(self, run: int, relevant: bool | None) -> None:  # noqa: FBT001 - unknown is a third answer
        """Remember a document of a run."""
        self.pulls[run] += 1
        self.demerits[run] += not relevant


class _Tally(NamedTuple):
    """What the bandit remembers of each run: discounted numbers of relevant and of judged documents."""

    relevant: Floats
    judged: Floats
    pulls: Floats

    def worth(self) -> Floats:
        """The mean of each run's beta distribution."""
        return np.asarray((1 + self.relevant) / (2 + self.judged) - self.pulls * _LATER)

    def learn(self, run: int, relevant: bool | None) -> None:  # noqa: FBT001 - unknown is a third answer
        """Remember a document of a run."""
        self.pulls[run] += 1
        if relevant is not None:
            self.relevant[run] = _MEMORY * self.relevant[run] + relevant
            self.judged[run] = _MEMORY * self.judged[run] + 1


def _pull(
    pool: QueryPool, grades: Mapping[str, float], min_relevance: float, memory: _Demerits | _Tally
) -> Iterator[int]:
    """Take the next document of the run that is worth most, again and again."""
    lists = [np.argsort(column, kind="stable")[: int(np.isfinite(column).sum())].tolist() for column in pool.ranks.T]
    seen: set[int] = set()
    places = [0] * len(lists)
    while len(seen) < len(pool.doc_ids):
        for run, row in enumerate(lists):
            while places[run] < len(row) and row[places[run]] in seen:
                places[run] += 1
        left = np.array([places[run] < len(row) for run, row in enumerate(lists)])
        run = int(np.argmax(np.where(left, memory.worth(), -np.inf)))
        doc = lists[run][places[run]]
        seen.add(doc)
        grade = grades.get(pool.doc_ids[doc], -1.0)
        memory.learn(run, None if grade < 0 else grade >= min_relevance)
        yield doc


def _in_turn(pools: Sequence[QueryPool], order: Callable[[QueryPool], Iterator[int]]) -> Iterator[PooledDocument]:
    """One document of every query, then the next of each."""
    rows = [_of_query(q, order(pool)) for q, pool in enumerate(pools)]
    return (place for turn in itertools.zip_longest(*rows) for place in turn if place is not None)


def _of_query(query: int, docs: Iterator[int]) -> Iterator[PooledDocument]:
    return (PooledDocument(query, doc) for doc in docs)


def by_sample(pools: Sequence[QueryPool], seed: int) -> Iterator[PooledDocument]:
    """Draw documents in Pareto orders: the first n of a query are a sample of n, whatever n is."""

    def order(pool: QueryPool) -> Iterator[int]:
        uniforms = np.array([_uniform(seed, pool.query_id, doc) for doc in pool.doc_ids])
        return iter(pareto_order(pool.odds, uniforms).tolist())

    return _in_turn(pools, order)


def _uniform(seed: int, query: str, doc: str) -> float:
    """The random number of a document: the same whichever documents are beside it."""
    digest = blake2b(f"{seed}\n{len(query)}\n{query}\n{doc}".encode(), digest_size=_BITS // 8).digest()
    return (int.from_bytes(digest) + 0.5) / 2.0**_BITS


def chances(pools: Sequence[QueryPool], drawn: Sequence[PooledDocument]) -> list[float]:
    """The inclusion probability of each of the documents that were drawn, which are the first of `by_sample`."""
    number = np.bincount([place.query for place in drawn], minlength=len(pools))
    inclusion = [inclusion_probabilities(pool.odds, int(n)) for pool, n in zip(pools, number, strict=True)]
    return [float(min(inclusion[place.query][place.doc], 1.0)) for place in drawn]
