"""Counting the faults of an event log while it is read: lines that cannot be decoded, and rows among rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.data.events import EXAMPLES, EventFault
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import Fate


class LineFaults:
    """Lines that could not be read, counted by reason while a file is read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def add(self, kind: str, place: str) -> None:
        """Count one line."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        shown = self._examples.setdefault(kind, [])
        if len(shown) < EXAMPLES:
            shown.append(place)

    @property
    def faults(self) -> list[EventFault]:
        """What was counted; all of it is quarantined."""
        return [EventFault(kind, n, tuple(self._examples[kind]), "quarantined") for kind, n in self._counts.items()]


class RowKeys:
    """The keys of rows that are still counted, the rows that are not, and where each of them comes from.

    Rows that leave the log are marked and not taken out: a table of millions of keys is never copied.
    """

    def __init__(self, keys: pl.DataFrame, labels: Sequence[str]) -> None:
        self._keys = keys
        self._gone = np.zeros(len(keys), np.bool_)
        self.labels = labels

    @property
    def rows(self) -> pl.LazyFrame:
        """The keys of the rows that are still counted; lazy, as each question needs only some of them."""
        return self._keys.lazy().filter(pl.Series(~self._gone)) if self._gone.any() else self._keys.lazy()

    @property
    def as_read(self) -> pl.LazyFrame:
        """The keys of all rows, counted or not."""
        return self._keys.lazy()

    def keep(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows that are still counted, of the frame whose keys these are."""
        if not self._gone.any():
            return frame
        gone = self._gone.copy()

        def is_kept(numbers: pl.Series) -> pl.Series:
            return pl.Series(~gone[numbers.to_numpy()])

        return frame.filter(pl.col("_row").map_batches(is_kept, return_dtype=pl.Boolean, is_elementwise=True))

    def fault(self, kind: str, rows: pl.LazyFrame, fate: Fate = "kept", **values: int) -> list[EventFault]:
        """A fault of these rows, if there are any; those that are not kept leave the log."""
        found = rows.select("_row", "_file", "_line").collect(engine="streaming").sort("_row")
        if found.is_empty():
            return []
        shown = found.head(EXAMPLES)
        places = tuple(f"{self.labels[i]}:{n}" for i, n in zip(shown["_file"], shown["_line"], strict=True))
        if fate != "kept":
            self._gone[found["_row"].to_numpy()] = True
        return [EventFault(kind, len(found), places, fate, values)]
