"""The judged documents of all queries, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.data.texts import Texts
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.segments import Floats, Ints
    from assay.data.texts import Words


@dataclass(frozen=True, eq=False)
class Pool:
    """One row for each judged (query, document), ordered by both; `sizes` counts the rows of each query."""

    queries: list[str]
    sizes: Ints
    ids: Sequence[str] | Texts
    grade: Floats

    @classmethod
    def of(cls, pairs: pl.DataFrame) -> Pool:
        """Take a frame in that order."""
        sizes = pairs.group_by("query_id", maintain_order=True).len()
        queries = Texts.of_series(sizes["query_id"]).to_list()
        size, grade = sizes["len"].to_numpy().astype(np.int64), pairs["grade"].cast(pl.Float64).to_numpy()
        return cls(queries, size, Texts.of_series(pairs["doc_id"]), grade)

    @classmethod
    def in_order(cls, names: list[str], sizes: Ints, docs: Texts, grade: Floats) -> Pool | None:
        """Sort rows given in blocks of `sizes`, one block per name; None if a pair occurs twice."""
        queries = sorted(set(names))
        number = {query: place for place, query in enumerate(queries)}
        each = np.repeat(np.array([number[name] for name in names], np.int64), sizes)
        order, fresh = docs.order(each)
        if not fresh.all():
            return None
        return cls(queries, np.bincount(each, minlength=len(queries)), docs.take(order), grade[order])

    def frame(self) -> pl.DataFrame:
        """Make a frame."""
        each = np.repeat(np.arange(len(self.sizes)), self.sizes)
        queries, docs = (pl.Series(values=list(ids), dtype=pl.String) for ids in (self.queries, self.names))
        return pl.DataFrame({"query_id": queries.gather(each), "doc_id": docs, "grade": self.grade})

    def __len__(self) -> int:
        return len(self.grade)

    @cached_property
    def docs(self) -> Texts:
        """The documents as bytes."""
        return self.ids if isinstance(self.ids, Texts) else Texts.of(self.ids)

    @cached_property
    def names(self) -> Sequence[str]:
        """The documents as strings."""
        return self.ids.to_list() if isinstance(self.ids, Texts) else self.ids

    @cached_property
    def hashes(self) -> Words:
        """A hash for every document."""
        return self.docs.hashes()

    @cached_property
    def first(self) -> Ints:
        """Row at which those of each query begin."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """Row at which those of each query begin, and the row behind them."""
        ends = zip(self.first.tolist(), (self.first + self.sizes).tolist(), strict=True)
        return dict(zip(self.queries, ends, strict=True))

    def of_queries(self, queries: Iterable[str]) -> tuple[Ints, Ints]:
        """Rows of all documents judged for some queries, and for each the place of its query among them."""
        spans = np.array([self.spans.get(query, (0, 0)) for query in queries], np.int64).reshape(-1, 2)
        sizes = spans[:, 1] - spans[:, 0]
        place = np.repeat(np.arange(len(spans)), sizes)
        return np.arange(len(place)) - (np.cumsum(sizes) - sizes - spans[:, 0])[place], place
