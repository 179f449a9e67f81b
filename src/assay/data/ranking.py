"""Ranking: what a measure needs to know about one run under one set of judgments.

Only judged documents matter. For each query a measure needs the ranks and grades of the documents that are both
judged and retrieved (the hits), the judged grades (the pool) and how many documents were retrieved. Millions of run
lines shrink to some thousands of rows here, and every measure is arithmetic on those.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay.data import segments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from assay.data.segments import Bools, Floats, Ints

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Subtopics:
    """Rows of judged (document, subtopic) pairs, numbered like the pool of the ranking they belong to."""

    pool: Ints
    subtopic: Ints
    gold: bool


@dataclass(frozen=True, eq=False)
class Ranking:
    """Hits and pool of every query; queries are the union of judged and retrieved ones in id order.

    Hits are ordered by query and rank. `position` is where the cut at k applies: it differs from `rank` only for
    chunks folded after the cut. `tie_first` and `tie_last` bound the ranks that the hit shares with equal scores.
    `of_pool` keeps what follows from the pool alone; other lists of the same queries under the same judgments share it.
    """

    query_ids: list[str]
    judged: Bools
    in_run: Bools
    retrieved: Ints
    query: Ints
    rank: Ints
    position: Ints
    grade: Floats
    tie_first: Ints
    tie_last: Ints
    pool_of_hit: Ints
    pool_query: Ints
    pool_grade: Floats
    listed_query: Ints | None = None
    listed_position: Ints | None = None
    subtopics: Subtopics | None = None
    expected: bool = False
    of_pool: dict[Any, Any] = field(default_factory=dict, repr=False, init=False)

    def __len__(self) -> int:
        return len(self.query_ids)

    # Parts of the list ------------------------------------------------------------------------------------------

    def within(self, k: int | None) -> Bools:
        """Mark the hits in the top k."""
        return np.ones(len(self.rank), dtype=bool) if k is None else self.position <= k

    def count_shown(self, k: int | None) -> Ints:
        """Count the documents that the top k really holds."""
        if k is None:
            return self.retrieved
        if self.listed_position is None or self.listed_query is None:
            return np.minimum(self.retrieved, k)
        return segments.count(self.listed_query[self.listed_position <= k], len(self))

    def relevant(self, min_relevance: float) -> Bools:
        """Mark the relevant hits; a negative grade is never relevant."""
        return self.grade >= max(min_relevance, 0.0)

    @cached_property
    def is_judged(self) -> Bools:
        """Mark the hits with a real judgment: a negative grade means pooled but not judged."""
        return self.grade >= 0

    @cached_property
    def positive(self) -> Ranking:
        """The same lists without their documents of grade 0 or less; ranks stay as they are."""
        return self._keep(np.flatnonzero(self.grade > 0))

    # Sums per query ---------------------------------------------------------------------------------------------

    def count(self, mask: Bools) -> Ints:
        """Count the marked hits of each query."""
        return segments.count(self.query[mask], len(self))

    def count_judged(self, depths: Sequence[int | None]) -> list[Ints]:
        """Count the judged documents of each query down to each depth."""
        judged = np.append(0, np.cumsum(self.is_judged))
        width = int(self.position.max(initial=0)) + 1
        key, first = self.query * width + self.position, np.arange(len(self)) * width  # rising: so hits are ordered
        start = np.searchsorted(key, first)
        ends = [np.searchsorted(key, first + min(width if k is None else k + 1, width)) for k in depths]
        return [judged[end] - judged[start] for end in ends]

    def total(self, values: NDArray[Any], mask: Bools) -> Floats:
        """Sum the values of the marked hits of each query."""
        return segments.total(values[mask], self.query[mask], len(self))

    def num_relevant(self, min_relevance: float) -> Ints:
        """Count all relevant documents of each query, retrieved or not."""

        def count() -> Ints:
            return segments.count(self.pool_query[self.pool_grade >= max(min_relevance, 0.0)], len(self))

        return self.once(("relevant", min_relevance), count)

    def sharing(self, facts: dict[Any, Any]) -> Ranking:
        """This ranking, which keeps what follows from the pool where other lists over the same pool find it.

        A changed copy (`replace`) never shares: its pool may be another one.
        """
        object.__setattr__(self, "of_pool", facts)
        return self

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """What follows from the pool alone, made the first time that any list over it asks for it."""
        if key not in self.of_pool:
            self.of_pool[key] = make()
        found: Made = self.of_pool[key]
        return found

    @property
    def best_first(self) -> Ints:
        """Order of the pool by query and falling grade; the pool itself is ordered by query."""
        return self.once("best first", lambda: np.lexsort((-self.pool_grade, self.pool_query)))

    @property
    def pool_place(self) -> Ints:
        """Number the documents of each query's pool 1, 2, 3 ..."""
        return self.once("place", lambda: segments.ordinals(self.pool_query))

    # Other views of the same lists --------------------------------------------------------------------------------

    def condense(self) -> Ranking:
        """Leave only judged documents in the lists, closing the gaps."""
        keep = self.is_judged
        query, first = self.query[keep], self.tie_first[keep]
        rank = segments.ordinals(query)
        block = segments.changes(query) | segments.changes(first)
        of_block = np.cumsum(block) - 1
        size = segments.count(of_block, int(block.sum()))
        start = rank[block]
        return replace(
            self,
            retrieved=segments.count(query, len(self)),
            query=query,
            rank=rank,
            position=rank if self.listed_position is None else self.position[keep],
            grade=self.grade[keep],
            tie_first=start[of_block],
            tie_last=(start + size - 1)[of_block],
            pool_of_hit=self.pool_of_hit[keep],
            listed_query=None if self.listed_query is None else query,
            listed_position=None if self.listed_position is None else self.position[keep],
        )

    def best(self) -> Ranking:
        """Put the highest grades first: the best order of the documents that were retrieved."""
        moved = self._keep(np.lexsort((-self.grade, self.query)))
        rank = segments.ordinals(moved.query)
        return replace(moved, rank=rank, position=rank, tie_first=rank, tie_last=rank)

    def only(self, queries: Ints) -> Ranking:
        """Leave only some queries, given by their numbers in rising order."""
        number = np.full(len(self), -1)
        number[queries] = np.arange(len(queries))
        kept, pool = self._keep(number[self.query] >= 0), number[self.pool_query] >= 0
        row = np.cumsum(pool) - 1
        listed, topics = self.listed_query, self.subtopics
        shown = None if listed is None else number[listed] >= 0
        some = None if topics is None else pool[topics.pool]
        return replace(
            kept,
            query_ids=[self.query_ids[query] for query in queries],
            judged=self.judged[queries],
            in_run=self.in_run[queries],
            retrieved=self.retrieved[queries],
            query=number[kept.query],
            pool_of_hit=row[kept.pool_of_hit],
            pool_query=number[self.pool_query[pool]],
            pool_grade=self.pool_grade[pool],
            listed_query=None if listed is None else number[listed[shown]],
            listed_position=None if self.listed_position is None else self.listed_position[shown],
            subtopics=None if topics is None else Subtopics(row[topics.pool[some]], topics.subtopic[some], topics.gold),
        )

    def _keep(self, rows: Bools | Ints) -> Ranking:
        names = ("query", "rank", "position", "grade", "tie_first", "tie_last", "pool_of_hit")
        return replace(self, **{name: getattr(self, name)[rows] for name in names}).sharing(self.of_pool)

    @property
    def tied_queries(self) -> Ints:
        """Numbers of the queries in which a hit shares its score with another document."""
        return np.unique(self.query[np.flatnonzero(self.tie_last > self.tie_first)])

    def extreme(self, *, best: bool) -> Ranking:
        """Order tied documents so that the highest grades come first (or, for the worst case, last)."""
        tied = np.flatnonzero(self.tie_last > self.tie_first)  # those of one tie follow each other, and stay together
        grade, query, first = self.grade[tied], self.query[tied], self.tie_first[tied]
        moved = tied[np.lexsort((-grade if best else grade, first, query))]
        fresh = segments.changes(query) | segments.changes(first)
        group = np.cumsum(fresh) - 1
        nth = segments.ordinals(group)
        size = np.bincount(group)[group]
        # Unjudged documents of the tie count as grade 0: below relevant hits at best, above them at worst.
        positive = np.bincount(group, weights=self.grade[moved] > 0)[group].astype(np.int64)
        above = nth <= positive if best else nth <= size - positive
        rank = np.where(above, first + nth - 1, self.tie_last[tied] - size + nth)

        def place(values: NDArray[Any], fresh: NDArray[Any]) -> NDArray[Any]:
            values = values.copy()
            values[tied] = fresh
            return values

        ranks = place(self.rank, rank)
        return replace(
            self,
            rank=ranks,
            position=ranks if self.listed_position is None else place(self.position, self.position[moved]),
            grade=place(self.grade, self.grade[moved]),
            pool_of_hit=place(self.pool_of_hit, self.pool_of_hit[moved]),
        ).sharing(self.of_pool)
