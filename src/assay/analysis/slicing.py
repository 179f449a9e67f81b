"""Group queries by the value of an attribute; a number with many values is cut into ranges."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Collection

    from assay.data.segments import Floats
    from assay.formats.queries import Queries

DISTINCT = 8  # a number with more values than this is cut into ranges
_RANGES = 3


def group_queries(queries: Queries, attribute: str, held: Collection[str]) -> dict[str, list[str]]:
    """The queries among `held` by their value of an attribute, in the order of the values; an empty one is a value.

    A number with many values is cut into three ranges of about equal size.
    """
    frame = queries.frame.filter(pl.col("query_id").is_in(list(held)))
    texts = frame[attribute].cast(pl.String).fill_null("")
    numbers = texts.cast(pl.Float64, strict=False)
    names = texts.to_list()
    if numbers.null_count():
        order = sorted(set(names))
    else:
        if numbers.n_unique() > DISTINCT:
            names = _ranges(numbers.to_numpy())
        order = [name for _, name in sorted(zip(numbers.to_list(), names, strict=True), key=lambda pair: pair[0])]
    groups: dict[str, list[str]] = {name: [] for name in order}
    for query, name in zip(frame["query_id"].to_list(), names, strict=True):
        groups[name].append(query)
    return groups


def _ranges(numbers: Floats) -> list[str]:
    cuts = np.unique(np.quantile(numbers, [i / _RANGES for i in range(1, _RANGES)], method="lower"))
    bounds = [None, *cuts.tolist(), None]
    names = [
        f"> {low:g}" if high is None else f"<= {high:g}" if low is None else f"> {low:g}, <= {high:g}"
        for low, high in itertools.pairwise(bounds)
    ]
    return [names[place] for place in np.searchsorted(cuts, numbers).tolist()]
