"""What retrievers and their indexes are, and the order of hits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from assay.pipeline.records import Chunk, Query

Ranked = tuple[list[int], list[float]]
"""Numbers of chunks, the best first, and their scores."""


class Index(Protocol):
    """Chunks that can be searched."""

    def search(self, query: Query, k: int) -> Ranked:
        """Find the best k chunks."""

    def save(self, folder: Path) -> None:
        """Write what is needed to load it again."""


class Indexer(Protocol):
    """Builds indexes; what is saved is found again by its identity."""

    identity: dict[str, Any]

    def build(self, chunks: Sequence[Chunk]) -> Index:
        """Index chunks."""

    def load(self, folder: Path) -> Index:
        """Load what `save` wrote."""


class Retriever(Protocol):
    """One or more indexers, or a search of its own, and how several lists become one."""

    identity: dict[str, Any]
    parts: tuple[Indexer, ...]

    def fuse(self, lists: Sequence[Ranked], k: int) -> Ranked:
        """Make one list of the parts' lists."""


class Single:
    """A retriever with one index."""

    def __init__(self, part: Indexer) -> None:
        self.identity: dict[str, Any] = {}
        self.parts: tuple[Indexer, ...] = (part,)

    def fuse(self, lists: Sequence[Ranked], k: int) -> Ranked:
        """The list as it is."""
        numbers, scores = lists[0]
        return numbers[:k], scores[:k]


def best(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Places of the k largest scores in falling order; equal scores in the order of their places.

    Partition first: a full sort of 50,000 scores takes longer than computing them.
    """
    size = len(scores)
    if k >= size:
        return np.argsort(-scores, kind="stable")
    limit = np.partition(scores, size - k)[size - k]  # values partition several times faster than their places
    kept = np.flatnonzero(scores >= limit)
    return kept[np.argsort(-scores[kept], kind="stable")[:k]]
