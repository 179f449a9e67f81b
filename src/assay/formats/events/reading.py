"""Reading event logs from files of any format."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from assay.data.events import Events, schema
from assay.data.ratings import settle_scales
from assay.errors import InputError, UsageError
from assay.formats import tables
from assay.formats.decoding import read_json
from assay.formats.events.cleaning import CleaningRules, clean, make_log
from assay.formats.events.faults import LineFaults
from assay.formats.events.privacy import hash_users
from assay.formats.events.recognition import files_of, first_object, is_list, kind_of
from assay.formats.events.rows import FileRows, columns_of
from assay.formats.events.slices import pack, slices_of
from assay.formats.events.tables import rows_of_table
from assay.formats.events.ubi import decode_lines, looks_like_ubi, read_slice
from assay.formats.events.writing import marks_of
from assay.formats.files import Input
from assay.formats.parquet import is_sound_file
from assay.formats.traces.reading import is_traces, read_traces
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
    Places = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read_events(
    places: Places,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the name of the option
    encoding: str | None = None,
    attributes: Sequence[str] = (),
    first_position: int | None = None,
    bots: Literal["keep", "drop"] = "keep",
    fold_variants: bool = False,
    salt: str | None = None,
) -> Events:
    r"""Read an event log from a file, several, or a folder of them: UBI in JSON lines, Parquet, CSV or TSV, or traces.

    `map` names columns, as in {"user": "client"}. `attributes` are further columns, or names under `query_attributes`
    and `event_attributes` (`interleaving.method`), which become columns of text. `first_position` says that all
    positions begin at 0 or at 1, where that cannot be found out. Users who look like programs are counted in the notes,
    and left out with `bots="drop"`; variants that differ only by case, blanks or width are made one by `fold_variants`.
    With a `salt`, ids of users and sessions are replaced by keyed hashes of them.

    >>> import assay
    >>> from pathlib import Path
    >>> query = '{"query_id": "1", "client_id": "u", "user_query": "tea", "timestamp": "2025-01-01T00:00:00Z"}'
    >>> click = '{"query_id": "1", "client_id": "u", "action_name": "click", "timestamp": "2025-01-01T00:00:05Z"}'
    >>> _ = Path("ubi.ndjson").write_text(query + "\n" + click)
    >>> assay.read_events("ubi.ndjson").frame.select("action").collect()["action"].to_list()
    ['query', 'click']
    """
    named = [places] if isinstance(places, (str, os.PathLike)) else list(places)
    if not named:
        raise UsageError(say("no event log is given"))
    if not map and is_traces(named[0]):
        return read_traces(named, attributes=attributes, salt=salt).log(attributes)
    asked = Selection(dict(map or {}), tuple(name for name in dict.fromkeys(attributes) if name not in schema()))
    found = [(Input.at(place, encoding), _table_of(one, place)) for one in named for place in files_of(one)]
    inputs = [source for source, _ in found]
    rules = CleaningRules(first_position, bots, fold_variants, salt)
    return _read_again(inputs, asked, rules) or clean(
        [replace(_read_file(one, asked), table=table) for one, table in found], asked.attributes, rules
    )


def _table_of(place: str | os.PathLike[str], file: str | os.PathLike[str]) -> str:
    """The folder that a Parquet file was found in; empty for a file that was named itself, and for other files."""
    is_part = os.fspath(file) != os.fspath(place) and os.fspath(file).lower().endswith(".parquet")
    return os.fspath(place) if is_part else ""


def open_log(log: Events | Places, attributes: Sequence[str] = ()) -> Events:
    """A log as it is, or read from its places with these attributes."""
    return log if isinstance(log, Events) else read_events(log, attributes=attributes)


def read_rows(place: str | os.PathLike[str], lines: bytes | None = None) -> FileRows:
    """The rows of one file as they are, not yet checked against each other; of `lines` of it, if they are given.

    `clean` checks the rows of a log. Lines are JSON; a file of another format is read as a whole.
    """
    source, asked = Input.at(place), Selection({}, ())
    return _read_file(source, asked) if lines is None else _read_lines(source, asked, [(1, lines)])


def grows_by_lines(place: str | os.PathLike[str]) -> bool:
    """Return whether a file is JSON lines, to which lines may be added while it is read."""
    source = Input.at(place)
    return not source.is_packed and kind_of(source) in {"json", "jsonl"} and not is_list(source)


@dataclass(frozen=True)
class Selection:
    """How files are read: names of columns, and attributes that become columns."""

    columns: Mapping[str, str]
    attributes: tuple[str, ...]


def _read_again(inputs: Sequence[Input], asked: Selection, rules: CleaningRules) -> Events | None:
    """A log that was cleaned before and written by `write_events`, if this is one and nothing else is asked for."""
    source = inputs[0]
    if (
        len(inputs) > 1
        or source.path is None
        or kind_of(source) != "parquet"
        or rules != CleaningRules(salt=rules.salt)
    ):
        return None
    marks = marks_of(source.path) if is_sound_file(source.path, source.label) else None
    if marks is None or not set(asked.attributes) <= set(marks.attributes):
        return None
    opened = tables.open_parquet(source)
    known = [*opened.collect_schema().names(), *asked.attributes]
    columns = [pl.col(name) if name in known else pl.lit(None, kind).alias(name) for name, kind in schema().items()]
    frame, _ = settle_scales(opened.select(*columns, *asked.attributes))
    hashed = frame if rules.salt is None else hash_users(frame, rules.salt)
    return make_log(hashed, asked.attributes, (source.source,), marks.faults)


def _read_file(source: Input, asked: Selection) -> FileRows:
    kind = kind_of(source)
    if kind == "parquet":
        return rows_of_table(
            _number(tables.open_parquet(source), 1), source.source, asked.columns, asked.attributes, ()
        )
    if kind == "json" and is_list(source):
        return _read_lines(source, asked, [(1, _as_lines(source))])
    if kind in {"json", "jsonl"}:
        return _read_lines(source, asked, slices_of(source))
    frame = _number(tables.read_table(source, kind), 2)
    tally = LineFaults()
    if _is_cut_table(source, kind):
        tally.add("truncated", f"{source.source.portable}:{len(frame) + 1}")
        frame = frame.head(-1)
    return rows_of_table(frame.lazy(), source.source, asked.columns, asked.attributes, tally.faults)


def _is_cut_table(source: Input, kind: str) -> bool:
    """Return whether the last line of a table has no end and fewer fields than the first."""
    separator = "\t" if kind == "tsv" else ","
    first, last = source.text.split("\n", 1)[0], source.text.rsplit("\n", 1)[-1]
    return bool(last) and '"' not in last and last.count(separator) < first.count(separator)


def _number(frame: Frame, first: int) -> Frame:
    """Number the rows; a column of ours in a file is not ours."""
    return frame.drop("_line", strict=False).with_row_index("_line", offset=first)


def _as_lines(source: Input) -> bytes:
    """A list of documents in one JSON text as JSON lines."""
    return b"\n".join(_as_line(one) for one in read_json(source))


def _as_line(document: Any) -> bytes:
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return b"half a surrogate pair"  # no JSON, and counted as such


def _read_lines(source: Input, asked: Selection, slices: Iterable[tuple[int, bytes]]) -> FileRows:
    """Read JSON lines: UBI's, or flat objects whose names are those of a table."""
    pieces = iter(slices)
    first = next(pieces)
    names = first_object(first[1])
    read = _read_ubi if names is None or looks_like_ubi(names) else _read_flat
    return read(source, asked, chain([first], pieces))


def _read_ubi(source: Input, asked: Selection, slices: Iterable[tuple[int, bytes]]) -> FileRows:
    tally = LineFaults()
    label = source.source.portable
    columns = columns_of(asked.attributes)
    frame = pack(read_slice(data, line, label, asked.attributes, tally).select(columns) for line, data in slices)
    if frame.head(1).collect().is_empty():
        raise _no_rows(source, tally)
    return FileRows(frame, source.source, tuple(tally.faults))


def _read_flat(source: Input, asked: Selection, slices: Iterable[tuple[int, bytes]]) -> FileRows:
    tally, decoder = LineFaults(), msgspec.json.Decoder(dict[str, Any])
    label = source.source.portable
    found = [one for line, data in slices for one in decode_lines(data, line, label, decoder, tally)]
    if not any(one for _, one in found):
        raise _no_rows(source, tally)
    frame = tables.frame_of_records([{**one, "_line": number} for number, one in found], source.label)
    return rows_of_table(frame.lazy(), source.source, asked.columns, asked.attributes, tally.faults)


def _no_rows(source: Input, tally: LineFaults) -> InputError:
    first = next(iter(tally.faults), None)
    return InputError(
        say("no line of this file is a query or an event") if first is None else first.sentence,
        path=source.label,
        hint=say("expected UBI queries and events, one JSON object per line"),
    )
