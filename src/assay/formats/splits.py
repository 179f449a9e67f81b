"""Which queries were trained on: read from and written to a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import InputError, excerpt
from assay.formats.files import Input, write_atomically
from assay.formats.formulas import guard, unguard
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

_HEADER = "query_id\tsplit"
_TRAIN, _TEST = "train", "test"


def read_training(place: str | os.PathLike[str]) -> list[str]:
    """Read the training queries: one id per line, or the rows marked train of a file that `write_split` made."""
    source = Input.at(place)
    lines = [(number, line.strip("\r")) for number, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    if lines and lines[0][1].strip() == _HEADER:
        found = [query for number, line in lines[1:] for query in _training_query(line, number, source.label)]
    else:
        found = [line.strip() for _, line in lines]
    if not found:
        raise InputError(
            say("the file names no training query"), path=source.label, hint=say("expected one query id per line")
        )
    return found


def _training_query(line: str, number: int, label: str) -> list[str]:
    query, _, part = line.rpartition("\t")
    if part not in {_TRAIN, _TEST} or not query:
        hint = say("expected a query id, a tab, and train or test")
        raise InputError(say("cannot read {line}", line=excerpt(line)), path=label, line=number, hint=hint)
    return [unguard(query)] if part == _TRAIN else []


def write_split(train: Iterable[str], test: Iterable[str], place: str | os.PathLike[str]) -> None:
    """Write which queries were for training and which were held out."""
    rows = [*((query, _TRAIN) for query in train), *((query, _TEST) for query in test)]
    write_atomically(
        place, "".join(f"{line}\n" for line in [_HEADER, *(f"{guard(q)}\t{part}" for q, part in sorted(rows))])
    )
