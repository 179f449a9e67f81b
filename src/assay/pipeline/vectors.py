"""Vectors: exact search by one matrix product, or approximate search by usearch."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError, MissingPackage, UsageError
from assay.messages import say
from assay.pipeline.retrieval import Index, ProgressCallback, Ranked, Retriever, Single, ignore_progress, top_places
from assay.pipeline.stages import Setup, identity_of, method
from assay.text.embeddings import embed_all
from assay.text.products import products

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from assay.pipeline.records import Chunk, Query
    from assay.text.embeddings import Embedder

SEARCHES = ("exact", "usearch")
_CELLS = 1 << 24  # similarities that are held at once, four bytes each
_ROUGH = np.float32(1e-5)  # more than a product of unit rows in single precision is wrong by


@method("retrieve", "vectors")
def vectors(setup: Setup, *, embedder: str = "auto", search: str = "exact") -> Retriever:
    """Cosine similarity of embeddings; `search` is exact (all of them, by numpy) or usearch (approximate)."""
    return Single(VectorIndexer(setup.embedder(embedder), search=search))


class VectorIndexer:
    """Builds indexes of vectors."""

    def __init__(self, embedder: Embedder, *, search: str = "exact") -> None:
        if search not in SEARCHES:
            raise UsageError(
                say("search = {search!r}: expected one of {searches}", search=search, searches=list(SEARCHES))
            )
        self._embedder, self._search = embedder, search
        self.identity = {"method": "vectors", "embedder": identity_of(embedder), "search": search}
        self.prices = list(getattr(embedder, "prices", ()))

    def build(self, chunks: Sequence[Chunk], tell: ProgressCallback = ignore_progress) -> Index:
        """Embed chunks and index them."""
        found = embed_all(self._embedder, [chunk.text for chunk in chunks], tell=tell)
        if found.failures:
            place, reason = next(iter(found.failures.items()))
            raise InputError(say("chunk {id} got no vector: {reason}", id=chunks[place].id, reason=reason))
        return self._index(found.rows)

    def load(self, folder: Path, count: int) -> Index:
        """Load the vectors of this many chunks."""
        rows: NDArray[np.float32] = np.load(folder / "vectors.npy")
        if rows.ndim != 2 or len(rows) != count or rows.dtype != np.float32 or not np.isfinite(rows).all():  # noqa: PLR2004
            raise ValueError("not the vectors of these chunks")
        if self._search == "exact":
            return Exact(rows, self._embedder)
        graph = _usearch().Index(ndim=rows.shape[1], metric="ip")
        place = folder / "graph.usearch"
        with place.open("rb"):  # what is not there or may not be read is an OSError
            try:
                graph.load(str(place))
            except RuntimeError as error:
                raise ValueError(f"not a graph: {error}") from None
        if len(graph) != count:
            raise ValueError("not the graph of these chunks")
        return Approximate(rows, self._embedder, graph)

    def _index(self, rows: NDArray[np.float32]) -> Index:
        if self._search == "exact":
            return Exact(rows, self._embedder)
        graph = _usearch().Index(ndim=rows.shape[1], metric="ip")
        graph.add(np.arange(len(rows)), rows, threads=1)  # one thread: the same graph every time
        return Approximate(rows, self._embedder, graph)


class Exact:
    """Compares a query with every vector."""

    def __init__(self, rows: NDArray[np.float32], embedder: Embedder) -> None:
        self._rows, self._embedder = np.ascontiguousarray(rows), embedder

    def search(self, query: Query, k: int) -> Ranked:
        """Find the k nearest chunks."""
        return self.search_vectors(self.embed([query.text]), k)[0]

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Vectors of queries."""
        found = embed_all(self._embedder, texts)
        if found.failures:
            raise InputError(say("the query got no vector: {reason}", reason=next(iter(found.failures.values()))))
        return found.rows

    def search_vectors(self, queries: NDArray[np.float32], k: int) -> list[Ranked]:
        """Find the k nearest chunks of each of several vectors, by matrix products of a bounded size."""
        out = []
        step = max(1, _CELLS // max(len(self._rows), 1))
        for start in range(0, len(queries), step):
            some = queries[start : start + step]
            for query, rough in zip(some, some @ self._rows.T, strict=True):
                out.append(self._rank(query, _candidates(rough, k), k))
        return out

    def _rank(self, query: NDArray[np.float32], places: NDArray[np.intp], k: int) -> Ranked:
        """The k best of some places; equal scores in the order of their places."""
        scores = products(self._rows[places], query)
        order = np.argsort(-scores, kind="stable")[:k]
        return places[order].tolist(), scores[order].tolist()

    def save(self, folder: Path) -> None:
        """Write the vectors."""
        np.save(folder / "vectors.npy", self._rows)


class Approximate(Exact):
    """Walks a graph of neighbours; may miss some."""

    def __init__(self, rows: NDArray[np.float32], embedder: Embedder, graph: Any) -> None:
        super().__init__(rows, embedder)
        self._graph = graph

    def search_vectors(self, queries: NDArray[np.float32], k: int) -> list[Ranked]:
        """Find about the k nearest chunks of each vector; their scores are exact."""
        out = []
        for query in queries:
            found = self._graph.search(query, min(k, len(self._rows)))
            out.append(self._rank(query, np.sort(np.asarray(found.keys, dtype=np.intp)), k))
        return out

    def save(self, folder: Path) -> None:
        """Write vectors and graph."""
        super().save(folder)
        self._graph.save(str(folder / "graph.usearch"))


def _candidates(rough: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Places of all that may be among the k best, by scores in single precision."""
    best = top_places(rough, k)
    return np.flatnonzero(rough >= rough[best[-1]] - _ROUGH) if len(best) else best


def _usearch() -> Any:
    with suppress(ImportError):
        import onnxruntime  # noqa: F401 - imported after usearch (2.26 with numkong 7.8), it kills the process
    try:
        from usearch import index
    except ImportError:
        raise MissingPackage(say("approximate search"), "usearch", "usearch") from None
    return index
