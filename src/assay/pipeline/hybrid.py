"""Words and vectors together, by the fusion methods that `assay fuse` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.errors import UsageError
from assay.fusion.fuse import Fusion
from assay.fusion.overlay import Overlay
from assay.messages import say
from assay.pipeline.bm25 import Bm25
from assay.pipeline.stages import Setup, method
from assay.pipeline.vectors import VectorIndexer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.pipeline.retrieval import Indexer, Ranked, Retriever

_NAMES = ("bm25", "vectors")


@method("retrieve", "hybrid")
def hybrid(
    setup: Setup, *, embedder: str = "auto", search: str = "exact", k1: float = 1.5, b: float = 0.75,
    variant: str = "lucene", fusion: str = "rrf", weight: float | None = None, norm: str | None = None,
    rrf_k: float = 60.0,
) -> Retriever:  # fmt: skip
    """BM25 and vectors fused: `fusion` is rrf, weighted or another of `assay fuse --list`.

    `weight` is the share of the vectors, from 0 to 1 (equal parts unless given); `norm` as in `assay fuse`.
    """
    parts = (Bm25(k1=k1, b=b, variant=variant), VectorIndexer(setup.embedder(embedder), search=search))
    if weight is not None and not 0 <= weight <= 1:
        raise UsageError(say("weight = {weight:g}: expected a number from 0 to 1", weight=weight))
    weights = [1 - weight, weight] if weight is not None else [0.5, 0.5] if fusion == "weighted" else None
    return Hybrid(parts, Fusion.of(fusion, norm, weights, _NAMES, params={"k": rrf_k} if fusion == "rrf" else {}))


class Hybrid:
    """Several indexes searched with the same query."""

    def __init__(self, parts: tuple[Indexer, ...], fusion: Fusion) -> None:
        self.parts, self._fusion = parts, fusion
        self.identity = {
            "method": "hybrid", "fusion": str(fusion), "weights": list(fusion.weights or ()),
            "parts": [part.identity for part in parts],
        }  # fmt: skip

    def fuse(self, lists: Sequence[Ranked], k: int) -> Ranked:
        """Fuse the lists of one query; equal scores are in the order of the chunks."""
        rows = np.array(sorted({number for numbers, _ in lists for number in numbers}), dtype=np.int64)
        if not len(rows):
            return [], []
        cells = np.full((2, len(rows), len(lists)), np.nan)
        for column, (numbers, scores) in enumerate(lists):
            places = np.searchsorted(rows, numbers)
            cells[0, places, column] = np.arange(1, len(numbers) + 1)
            cells[1, places, column] = scores
        overlay = Overlay(np.zeros(len(rows), dtype=np.int64), rows, cells[0], cells[1], np.ones(len(lists)))
        fused = self._fusion.scores(overlay)
        order = np.argsort(-fused, kind="stable")[:k]
        return rows[order].tolist(), fused[order].tolist()
