"""Protect ids that a spreadsheet would run as formulas in CSV and TSV files, and restore them when read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable

# A cell that begins with = or @, or with a sign before a call; a plain -abc is harmless and stays.
_RUNS = "(?:[=@\uff1d\uff0b\uff0d\uff20\t\r\n]|[+-][^(|!]*[(|!])"
_BARE = f"^'*{_RUNS}"
_GUARDED = f"^'+{_RUNS}"


def guard(text: str) -> str:
    """Put an apostrophe in front of what a spreadsheet would run; `unguard` restores the exact text."""
    return f"'{text}" if re.match(_BARE, text) else text


def unguard(text: str) -> str:
    """Take away the apostrophe that `guard` put there."""
    return text[1:] if re.match(_GUARDED, text) else text


def guard_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Guard all columns of text."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    if not texts:
        return frame
    column = pl.col(texts)
    return frame.with_columns(pl.when(column.str.contains(_BARE)).then("'" + column).otherwise(column).name.keep())


def unguard_texts(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Take the apostrophes away in the columns of these names."""
    texts = [name for name in names if frame.schema[name] == pl.String]
    if not texts:
        return frame
    column = pl.col(texts)
    guarded = column.str.contains(_GUARDED)
    return frame.with_columns(pl.when(guarded).then(column.str.slice(1)).otherwise(column).name.keep())
