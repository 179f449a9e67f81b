"""The rows of one file of events, before they are checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.data.events import NOT_BELOW_0, schema
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import EventFault
    from assay.data.source import Source

_LARGEST = 2**31 - 2  # of a position, to which 1 may be added


@dataclass(frozen=True)
class FileRows:
    """What was read of one file: its rows, the faults of lines that are not among them, and how it was understood.

    Beside the columns of a log the frame has `_line`, `_application`, `_agent` (the name of the browser), `_bare` (an
    event without attributes), `_bad_time`, `_bad_number` and `_no_zone`. Positions are as the log counts them.
    `table` is the folder all of whose Parquet files are parts of one table.
    """

    frame: pl.LazyFrame
    source: Source
    faults: tuple[EventFault, ...] = ()
    notes: tuple[str, ...] = ()
    table: str = ""


def columns_of(attributes: Sequence[str] = ()) -> list[pl.Expr]:
    """The columns of a log from those that a reader found, with numbers as floats."""
    position = pl.col("position")
    whole = (position == position.round()) & (position >= 0) & (position <= _LARGEST)
    below = {name: (pl.col(name) < 0).fill_null(value=False) for name in NOT_BELOW_0}
    own = {
        **{name: pl.when(~negative).then(pl.col(name)) for name, negative in below.items()},
        "position": pl.when(whole).then(position),
        "result_count": pl.coalesce(pl.when(~below["result_count"]).then("result_count"), pl.col("results").list.len()),
        **{name: _fill_null(name) for name in ("query_id", "user", "session", "doc_id", "experiment", "variant")},
    }
    return [
        *(
            own.get(name, pl.col(name)).cast(kind, strict=False).alias(name)
            for name, kind in schema().items()
            if name != "orphan"
        ),
        *map(pl.col, (*attributes, "_line", "_application", "_agent", "_bare", "_bad_time", "_no_zone")),
        pl.any_horizontal("_bad_number", position.is_not_null() & ~whole.fill_null(value=False), *below.values()).alias(
            "_bad_number"
        ),
    ]


def _fill_null(name: str) -> pl.Expr:
    """A text, null where it is empty."""
    return pl.when(pl.col(name).str.strip_chars() != "").then(pl.col(name))
