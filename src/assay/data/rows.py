"""Rows of a run, column by column, as the kernel walks over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data import segments
from assay.data.texts import Texts
from assay.lazy import pl

if TYPE_CHECKING:
    from assay.data.segments import Floats, Ints


class Unclean(Exception):
    """A piece cannot be read by itself: read the whole."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a run; those of a query go from one of `starts` to the next, and perhaps on in another place."""

    starts: Ints
    queries: Texts
    docs: Texts
    score: Floats

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Rows:
        """Take a frame with query_id, doc_id and score."""
        query = frame["query_id"]
        starts = np.flatnonzero(query.ne_missing(query.shift(1)).to_numpy())
        queries, docs = Texts.of_series(query.gather(starts)), Texts.of_series(frame["doc_id"])
        return cls(starts, queries, docs, frame["score"].cast(pl.Float64).to_numpy())

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def sizes(self) -> Ints:
        """How many rows follow each start."""
        return np.diff(np.append(self.starts, len(self)))

    def segment(self, rows: Ints) -> Ints:
        """Number of the start that each row follows."""
        return np.searchsorted(self.starts, rows, side="right") - 1

    @cached_property
    def names(self) -> list[str]:
        """The query of each start."""
        return self.queries.to_list()

    @property
    def is_scattered(self) -> bool:
        """Return whether a query has rows in several places."""
        return len(set(self.names)) < len(self.names)

    @cached_property
    def _query(self) -> Ints:
        """A number for each row that rows of one query have in common."""
        numbers: dict[str, int] = {}
        each = [numbers.setdefault(name, len(numbers)) for name in self.names]
        return np.repeat(np.array(each, np.int64), self.sizes)

    def take(self, rows: Any) -> Rows:
        """Choose rows by their numbers in any order, or by a mask; rows of one query that meet have one start."""
        query = self._query[rows]
        segment = np.repeat(np.arange(len(self.starts)), self.sizes)[rows]
        starts = np.flatnonzero(segments.changes(query))
        return Rows(starts, self.queries.take(segment[starts]), self.docs.take(rows), self.score[rows])

    def by_rank(self) -> Rows:
        """Put the rows of each query together, the highest score first, equal ones as they were."""
        return self.take(segments.order(self._query, -self.score))
