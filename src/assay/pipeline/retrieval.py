"""What retrievers and their indexes are, and the order of hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from assay.pipeline.records import Chunk, Query

_GROUP, _MANY = 32, 8
Ranked = tuple[list[int], list[float]]
"""Numbers of chunks, the best first, and their scores."""

ProgressCallback = Callable[[int, int], None]
"""Hears how far a long piece of work is: done, and in all."""


def ignore_progress(done: int, total: int) -> None:
    """Do nothing with reports of progress."""


class Index(Protocol):
    """Chunks that can be searched."""

    def search(self, query: Query, k: int) -> Ranked:
        """Find the best k chunks."""

    def save(self, folder: Path) -> None:
        """Write what is needed to load it again."""


class Indexer(Protocol):
    """Builds indexes; what is saved is found again by its identity."""

    identity: dict[str, Any]

    def build(self, chunks: Sequence[Chunk], tell: ProgressCallback = ...) -> Index:
        """Index chunks; `tell` is called with (chunks done, chunks in all)."""

    def load(self, folder: Path, count: int) -> Index:
        """Load an index of this many chunks that `save` wrote; ValueError or KeyError for anything else."""


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


def top_places(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Places of the k largest scores in falling order; equal scores in the order of their places.

    A full sort of 50,000 scores takes longer than computing them, and even a partition a third of that. So the scores
    are split into groups first: the k-th largest of the groups' maxima is below or equal to the k-th largest score.
    """
    size = len(scores)
    if k >= size:
        return np.argsort(-scores, kind="stable")
    groups = size // _GROUP
    if groups > k:
        tops = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
        kept = np.flatnonzero(scores >= np.partition(tops, groups - k)[groups - k])
    else:
        kept = np.arange(size)
    if len(kept) > _MANY * k:
        some = scores[kept]
        kept = kept[some >= np.partition(some, len(some) - k)[len(some) - k]]
    return kept[np.argsort(-scores[kept], kind="stable")[:k]]
