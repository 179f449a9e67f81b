"""Running a kernel in a worker: whole groups out of batches, and errors as rows, which no scheduler tries again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, InputError
from assay.lazy import pl
from assay.results.codec import encode, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assay.engines.engine import Kernel

ERROR = "error"  # the column of what a worker has to say
_LEAST = 1 << 17  # rows that are mapped at a time, unless one group has more


def whole_groups(frames: Iterable[pl.DataFrame], by: str = "query_id", least: int = _LEAST) -> Iterator[pl.DataFrame]:
    """Join frames ordered by a column so that each holds whole groups, and some more rows than `least`."""
    held: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        if not len(frame):
            continue
        if size + len(frame) >= least:
            # Where the last group of these rows begins, if they have another: up to there all groups are whole.
            key = frame[by]
            begin = int(key.eq_missing(key[-1]).arg_max() or 0)
            ends_before = not held or held[-1][by][-1] != key[0]
            if begin or (held and ends_before):
                yield pl.concat([*held, frame.head(begin)])
                held, size, frame = [], 0, frame.tail(len(frame) - begin)  # noqa: PLW2901
        held.append(frame)
        size += len(frame)
    if held:
        yield pl.concat(held)


def map_batches(batches: Iterable[Any], kernel: Kernel, by: str | None = None) -> Iterator[Any]:
    """Map Arrow batches, ordered by a column if one is named, to Arrow batches; what is wrong is a row that says so."""
    schema = arrow_schema(kernel)
    frames = (_without_errors(_as_frame(batch)) for batch in batches)
    try:
        for rows in frames if by is None else whole_groups(frames, by):
            found = kernel(rows).with_columns(pl.lit(None, pl.String).alias(ERROR))
            yield from found.select(schema.names).to_arrow().cast(schema).to_batches()
    except AssayError as error:
        said = json.dumps(encode(error.message))
        empty = pl.DataFrame({ERROR: [said], **{name: [None] for name in kernel.columns}})
        yield from empty.select(schema.names).to_arrow().cast(schema).to_batches()


def arrow_schema(kernel: Kernel) -> Any:
    """The columns of a kernel, and that of errors, as Arrow has them."""
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "boolean": pa.bool_(),
        "long": pa.int64(),
        "double": pa.float64(),
        "byte": pa.int8(),
        "int": pa.int32(),
        "strings": pa.list_(pa.string()),
        "binary": pa.binary(),
    }
    return pa.schema([pa.field(name, types[kind]) for name, kind in (*kernel.columns.items(), (ERROR, "string"))])


def write_lines(batches: Iterable[Any], names: list[str]) -> Iterator[Any]:
    """Write batches as lines of CSV, each with its place in the order of all."""
    import pyarrow as pa

    for number, batch in enumerate(batches):
        rows = _as_frame(batch)
        if len(rows):
            lines = rows.select(names).write_csv(include_header=False).encode()
            yield pa.RecordBatch.from_arrays(
                [pa.array([rows["place"][0]], pa.int32()), pa.array([number], pa.int64()), pa.array([lines])],
                ["place", "number", "lines"],
            )


def _as_frame(batch: Any) -> pl.DataFrame:
    found = pl.from_arrow(batch)
    assert isinstance(found, pl.DataFrame)
    return found


def _without_errors(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows that another kernel made, if it had nothing to say."""
    return raise_error(rows) if ERROR in rows.columns else rows


def raise_error(found: pl.DataFrame) -> pl.DataFrame:
    """Raise what a worker had to say; else the rows without the column for it."""
    said = found[ERROR].drop_nulls()
    if len(said):
        # The first in the alphabet: workers finish in any order.
        raise InputError(read_json(said.sort()[0]))
    return found.drop(ERROR)
