"""A run: the ranked lists of one system."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assay.data.rows import Rows
    from assay.data.source import Source


class Pieces(ABC):
    """Rows of a run that were not read yet."""

    @abstractmethod
    def whole(self) -> pl.DataFrame:
        """Read all rows."""

    @abstractmethod
    def loaders(self) -> Iterable[Callable[[], Rows]]:
        """Functions that each read some rows, in order; a query's adjacent rows are in one piece. May be `Unclean`."""


@dataclass(frozen=True, eq=False)
class Run:
    """Scores of (query, document) rows in the order they were given; the higher score ranks first.

    Rows may be read piece by piece, or all at once as `frame`. `empty` names the queries
    that were asked and returned nothing.
    """

    rows: pl.DataFrame | Pieces
    name: str = "run"
    source: Source | None = None
    empty: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def from_dict(cls, scores: Mapping[object, Mapping[object, float]], name: str = "run") -> Run:
        """Take {query: {document: score}}; ids become text."""
        rows = [(str(q), str(d), float(s)) for q, docs in scores.items() for d, s in docs.items()]
        empty = tuple(str(q) for q, docs in scores.items() if not docs)
        return cls(pl.DataFrame(rows, schema=_schema(), orient="row"), name, empty=empty)

    @classmethod
    def from_lists(cls, lists: Mapping[object, list[object]], name: str = "run") -> Run:
        """Take {query: [best document, second, ...]}; scores count down from the length of the list."""
        rows = [(str(q), str(d), float(len(docs) - i)) for q, docs in lists.items() for i, d in enumerate(docs)]
        empty = tuple(str(q) for q, docs in lists.items() if not docs)
        return cls(pl.DataFrame(rows, schema=_schema(), orient="row"), name, empty=empty)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows."""
        return self.rows.whole() if isinstance(self.rows, Pieces) else self.rows

    def without_same_ids(self) -> Run:
        """Leave out documents that have the id of their query; a query that has no others was asked and is empty."""
        frame = self.frame
        kept = frame.filter(pl.col("query_id") != pl.col("doc_id"))
        emptied = set(frame["query_id"].unique()) - set(kept["query_id"].unique())
        return replace(self, rows=kept, empty=(*self.empty, *sorted(emptied)))

    @property
    def has_chunks(self) -> bool:
        """Return whether rows name a chunk besides its document; only tables can."""
        return not isinstance(self.rows, Pieces) and "chunk_id" in self.rows.columns

    @property
    def is_of_chunks(self) -> bool:
        """Return whether some row is a piece of its document, which has to be folded before documents are counted."""
        return self.has_chunks and bool((self.frame["chunk_id"] != self.frame["doc_id"]).any())

    def __len__(self) -> int:
        return len(self.frame)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Copy to {query: {document: score}}."""
        found: dict[str, dict[str, float]] = {}
        for query, doc, score in self.frame.select("query_id", "doc_id", "score").iter_rows():
            found.setdefault(query, {})[doc] = score
        return found


def _schema() -> dict[str, type[pl.DataType]]:
    return {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
