"""How far the lists of combinations agree, which needs no judgments: rank-biased overlap and overlap of the top k."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from assay.measures.lists import overlap_lists, rbo_lists
from assay.results.experiment import ListAgreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.pipeline.runner import Execution

_K, _P = 10, 0.9
_ALL_PAIRS = 12  # combinations; of more than that, each is compared with the baseline only


def compare_lists(outcomes: Sequence[Execution], baseline: str) -> tuple[ListAgreement, ...]:
    """Compare the lists of every two combinations, or of each with the baseline where they are many."""
    pairs = list(combinations(outcomes, 2))
    if len(outcomes) > _ALL_PAIRS:
        pairs = [pair for pair in pairs if baseline in {one.combination.name for one in pair}]
    return tuple(_agreement(first, second) for first, second in pairs if first.hits and second.hits)


def _agreement(first: Execution, second: Execution) -> ListAgreement:
    same = first.chunks is second.chunks
    rows = [
        (a, b)
        for a, b, one, other in zip(_lists(first, same), _lists(second, same), first.hits, second.hits, strict=True)
        if not one.reason and not other.reason  # a query that failed says nothing about agreement
    ]
    count = len(rows)
    return ListAgreement(
        first.combination.name,
        second.combination.name,
        math.fsum(rbo_lists(a, b, _P) for a, b in rows) / count if count else None,
        math.fsum(overlap_lists(a, b, _K) for a, b in rows) / count if count else None,
        _K,
        count,
        "chunks" if same else "documents",
    )


def _lists(outcome: Execution, chunks: bool) -> list[list[str]]:  # noqa: FBT001 - the one thing that varies
    """The ids of each query's chunks, or of the documents they are from, each once."""
    named = [chunk.id if chunks else chunk.doc_id for chunk in outcome.chunks]
    return [list(dict.fromkeys(named[number] for number in hits.chunks)) for hits in outcome.hits]
