"""How much two runs agree: rank-biased overlap and plain overlap of the top k. No judgments are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.formats.conversion import as_whole_run
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.run import Run


def overlap(first: Any, second: Any, k: int) -> dict[str, float]:
    """Share of the top k that both runs have in common, per query of either run.

    Documents in both top-k lists / k (or the longer list's length, where that is shorter).

    >>> import assay
    >>> assay.overlap({"q": ["a", "b"]}, {"q": ["a", "c"]}, 2)
    {'q': 0.5}
    """
    if k < 1:
        raise UsageError(say("overlap needs a cutoff of 1 or more"))
    return {query: overlap_lists(a, b, k) for query, (a, b) in _pairs(first, second).items()}


def overlap_lists(first: Sequence[Any], second: Sequence[Any], k: int) -> float:
    """Share of the top k that two lists have in common."""
    depth = min(k, max(len(first), len(second)))
    return len(set(first[:k]) & set(second[:k])) / depth if depth else 1.0


def rbo(first: Any, second: Any, *, p: float = 0.9) -> dict[str, float]:
    """Rank-biased overlap per query of either run, extrapolated from the lists as far as they go (RBO_ext).

    Webber, Moffat & Zobel, A similarity measure for indefinite rankings, TOIS 2010, equation 32: it handles lists of
    different lengths. 1 means the same order, 0 nothing in common; p = .9 puts 86% of the weight on the first ten.

    >>> import assay
    >>> assay.rbo({"q": ["a", "b"]}, {"q": ["a", "b"]})
    {'q': 1.0}
    """
    if not 0 < p < 1:
        raise UsageError(say("rbo needs a persistence p between 0 and 1"))
    return {query: rbo_lists(a, b, p) for query, (a, b) in _pairs(first, second).items()}


def rbo_lists(first: Sequence[Any], second: Sequence[Any], p: float) -> float:
    """RBO_ext of two ranked lists without repeats."""
    short, long = sorted((first, second), key=len)
    s, l = len(short), len(long)
    if s == 0:
        return 1.0 if l == 0 else 0.0
    seen_short: set[Any] = set()
    seen_long: set[Any] = set()
    common = 0
    total = 0.0
    common_at_s = 0
    for depth in range(1, l + 1):
        a, b = long[depth - 1], short[depth - 1] if depth <= s else None
        if depth <= s:
            common += (a == b) + (a != b) * ((a in seen_short) + (b in seen_long))
            seen_short.add(b)
        else:
            common += a in seen_short
        seen_long.add(a)
        if depth == s:
            common_at_s = common
        total += common / depth * p**depth
        if depth > s:
            # Beyond the shorter list, its share of the overlap is assumed to continue.
            total += common_at_s * (depth - s) / (depth * s) * p**depth
    tail = ((common - common_at_s) / l + common_at_s / s) * p**l
    return (1 - p) / p * total + tail


def _pairs(first: Any, second: Any) -> dict[str, tuple[list[str], list[str]]]:
    a, b = _as_lists(first), _as_lists(second)
    return {query: (a.get(query, []), b.get(query, [])) for query in sorted({*a, *b})}


def _as_lists(data: Any) -> Mapping[str, list[str]]:
    """Take runs in any form that evaluate takes."""
    return order_lists(as_whole_run(data))


def order_lists(run: Run, depth: int | None = None, *, given: bool = False) -> dict[str, list[str]]:
    """Order each query's documents as trec_eval does (or equal scores as `given`), down to a depth."""
    if given:
        frame = run.frame.sort(["query_id", "score"], descending=[False, True], maintain_order=True)
    else:
        frame = run.frame.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    docs = pl.col("doc_id") if depth is None else pl.col("doc_id").head(depth)
    grouped = frame.group_by("query_id", maintain_order=True).agg(docs)
    return dict(zip(grouped["query_id"].to_list(), grouped["doc_id"].to_list(), strict=True))
