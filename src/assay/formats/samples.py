"""Samples as JSON lines, JSON, CSV, Parquet or frames, under the column names that users already have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from assay.data.samples import FIELDS, Sample, Samples
from assay.data.source import Source
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats import cells, tables
from assay.formats.columns import SAMPLE, candidates, has_any, list_names
from assay.formats.columns import notes as column_notes
from assay.formats.decoding import read_json
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.traces.reading import is_traces, read_traces
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence


_WRAPPERS = ("samples", "data", "rows", "results", "examples", "test_cases", "testcases", "records")
_TABLES = {"csv", "tsv", "parquet"}


def read_samples(
    place: str | os.PathLike[str],
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> Samples:
    """Read samples from a file; `columns` overrides which column a field is read from.

    Traces are read as samples too, as `read_traces` says. Text is UTF-8, or UTF-16 with a byte order mark, unless
    another `encoding` is named.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("samples.jsonl").write_text('{"user_input": "When?", "response": "In 1889."}')
    >>> [(sample.question, sample.answer) for sample in assay.read_samples("samples.jsonl")]
    [('When?', 'In 1889.')]
    """
    if not columns and kind in {None, "json", "jsonl"} and is_traces(place):
        return read_traces(place).samples
    source = Input.at(place, encoding)
    kind = format_of(source, kind or ("tsv" if source.suffix == ".tsv" else None))
    if kind in _TABLES:
        rows: list[tuple[int, dict[str, Any]]] = list(
            enumerate(tables.read_table(source, kind).iter_rows(named=True), 1)
        )
    elif kind == "jsonl":
        rows = list(tables.read_jsonl(source))
    elif kind == "json":
        rows = list(enumerate(_json_rows(source), 1))
    else:
        raise InputError(
            say("samples cannot be read from {kind}", kind=kind),
            path=source.label,
            hint=say("expected jsonl, json, csv, tsv or parquet"),
        )
    return samples_of(rows, source.source, columns=columns, flat=kind in {"csv", "tsv"})


def as_samples(data: Any, *, columns: Mapping[str, str] | None = None) -> Samples:
    """Make samples from a path, a list of dicts or a frame; samples are returned unchanged."""
    if isinstance(data, Samples):
        return data
    if isinstance(data, (str, PathLike)):
        return read_samples(data, columns=columns)
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return samples_of(list(enumerate(data, 1)), Source("samples"), columns=columns)
    frame = tables.frame_from(data)
    if frame is None:
        raise UsageError(
            say("samples must be a path, a list of dicts or a frame, not {kind}", kind=type(data).__name__)
        )
    rows: Iterable[dict[str, Any]] = frame.iter_rows(named=True)
    return samples_of(list(enumerate(rows, 1)), Source("frame"), columns=columns)


def _json_rows(source: Input) -> list[dict[str, Any]]:
    """Rows of a list of objects, of an object that wraps one, or of an object of columns."""
    data = read_json(source)
    if isinstance(data, dict):
        data = _unwrap(data)
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        return data
    raise InputError(
        say("expected a list of samples"),
        path=source.label,
        hint=say('such as [{{"question": ..., "answer": ..., "contexts": [...]}}]'),
    )


def _unwrap(data: dict[str, Any]) -> Any:
    inside = [value for key, value in data.items() if key.lower() in _WRAPPERS and isinstance(value, list)]
    if len(inside) == 1:
        return inside[0]
    sizes = {len(value) for value in data.values() if isinstance(value, list)}
    if len(sizes) == 1 and all(isinstance(value, list) for value in data.values()) and _fields(list(data)):
        return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]
    return [data]


def _fields(names: list[str]) -> set[str]:
    return {field for field, heading in SAMPLE.items() if has_any(names, heading)}


def samples_of(
    rows: list[tuple[int, dict[str, Any]]],
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    flat: bool = False,
) -> Samples:
    """Make samples of numbered rows; in a flat file, lists are JSON inside a cell."""
    if not rows:
        raise InputError(say("the file has no rows"), path=source.label, hint=say("expected at least one sample"))
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    mapping = find_columns(names, source.label, columns or {}, [row for _, row in rows])
    if "answer" not in mapping:
        raise InputError(
            say("no column for {name} among {names}", name="answer", names=list_names(names)),
            path=source.label,
            hint=say(
                "also accepted: {others}; or name it with --map answer=COLUMN", others=list(SAMPLE["answer"].others[:4])
            ),
        )
    reader = SampleReader(mapping, source.label, flat)
    read = _of_systems([reader.sample(number, row) for number, row in rows], source.label, named="query_id" in mapping)
    return Samples(read, mapping, source, column_notes(mapping))


def _of_systems(rows: list[Sample], label: str, *, named: bool) -> tuple[Sample, ...]:
    """Check samples of several systems; without ids they are numbered within each, if the questions then agree."""
    if len({row.system for row in rows}) < 2:  # noqa: PLR2004
        return tuple(rows)
    nobody = next((i for i, row in enumerate(rows, 1) if row.system is None), None)
    if nobody is not None:
        raise InputError(
            say("row {number} names no system", number=nobody),
            path=label,
            line=nobody,
            hint=say("other rows do: name a system in every row"),
        )
    if not named:
        seen: Counter[str | None] = Counter()
        numbered = []
        for row in rows:
            seen[row.system] += 1
            numbered.append(replace(row, query_id=str(seen[row.system])))
        return tuple(rows if _find_contradiction(numbered) else numbered)
    check_alike(rows, label)
    return tuple(rows)


def _find_contradiction(rows: Iterable[Sample]) -> tuple[Sample, Sample] | None:
    """Two samples of the same id that differ in what they ask or in what is expected."""
    known: dict[str, Sample] = {}
    for row in rows:
        first = known.setdefault(row.query_id, row)
        if _expected(row) != _expected(first):
            return first, row
    return None


def _expected(row: Sample) -> tuple[Any, ...]:
    return row.question, row.references, row.gold_ids, row.nuggets


def check_alike(rows: Iterable[Sample], label: str | None) -> None:
    """Refuse samples of one id that ask different questions."""
    pair = _find_contradiction(rows)
    if pair is not None:
        one, other = pair
        raise InputError(
            say(
                "sample {id} is not the same in the systems {first} and {second}: its question, "
                "references, gold ids or nuggets differ",
                id=excerpt(one.query_id),
                first=excerpt(one.system),
                second=excerpt(other.system),
            ),
            path=label,
            hint=say(
                "samples with the same id must ask the same question: change the ids, or evaluate each system by itself"
            ),
        )


def join_samples(parts: Mapping[str, Samples]) -> Samples:
    """Join the samples of several systems, each under its name."""
    rows = [replace(row, system=name) for name, part in parts.items() for row in part]
    check_alike(rows, None)
    mapping: dict[str, list[str]] = {}
    for part in parts.values():
        for field, column in part.mapping.items():
            known = mapping.setdefault(field, [])
            known += [column] if column not in known else []
    return Samples(
        tuple(rows),
        {field: " or ".join(names) for field, names in mapping.items()},
        notes=tuple(dict.fromkeys(note for part in parts.values() for note in part.notes)),
        sources={name: part.source for name, part in parts.items()},
    )


def find_columns(
    names: list[str], label: str, asked: Mapping[str, str], rows: Sequence[Mapping[str, Any]] = ()
) -> dict[str, str]:
    """Find the column of each field; two that could be the same field are an error unless the user chose one.

    The user may name a field as any other tool does, and a value inside an object of the `rows` as in inputs.question.
    """
    asked = {_field_of(field): name for field, name in asked.items()}
    for field, name in asked.items():
        if field not in FIELDS:
            raise UnknownName(say("field"), field, FIELDS, hint=say("the fields are {fields}", fields=list(FIELDS)))
        if name not in names and all(value_at(row, name) is None for row in rows):
            raise InputError(
                say("no column {name} for {field}", name=excerpt(name), field=field),
                path=label,
                hint=say("the columns are {names}", names=list_names(_inner_names(names, rows))),
            )
    free = [name for name in names if name not in asked.values()]
    found = {}
    for field, heading in SAMPLE.items():
        same = [asked[field]] if field in asked else candidates(free, heading)
        if len(same) > 1 and heading.others:  # an id of the query beside an id of the row is common and clear
            raise InputError(
                say("columns {found:and} could each be {name}", found=list(map(excerpt, same)), name=field),
                path=label,
                hint=say("choose one: --map {field}={column}", field=field, column=same[0]),
            )
        if same:
            found[field] = same[0]
    return found


def _is_place(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) < 10  # noqa: PLR2004 - no list is longer


def value_at(row: Mapping[str, Any], name: str) -> Any:
    """The value of a column, or inside one: a.b is b of the object a, a.0 the first of the list a."""
    if name in row:
        return row[name]
    found: Any = row
    for part in name.split("."):
        found = _unpack_value(found)
        if isinstance(found, list):
            found = found[int(part)] if _is_place(part) and int(part) < len(found) else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


def _unpack_value(value: Any) -> Any:
    """A value to look into; in a flat file, an object or a list is text."""
    try:
        return cells.unpack(cells.plain(value))
    except cells.Fault:
        return None


def _inner_names(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of columns, with what is inside those that are objects."""
    inner: dict[str, Mapping[str, Any]] = {
        name: next((row[name] for row in rows if isinstance(row.get(name), dict)), {}) for name in names
    }
    return [found for name in names for found in ([f"{name}.{key}" for key in inner[name]] or [name])]


def _field_of(name: str) -> str:
    """The field that any tool's name for it means."""
    return next((field for field, heading in SAMPLE.items() if has_any([name], heading)), name)


@dataclass
class SampleReader:
    """Reads rows into samples; a wrong value is a fault of its own sample only."""

    mapping: Mapping[str, str]
    label: str
    flat: bool

    def __post_init__(self) -> None:
        self.seen: dict[tuple[str | None, str], int] = {}

    def sample(self, number: int, row: dict[str, Any]) -> Sample:
        """The sample of a row; without an id, its number is its id."""
        faults: dict[str, str] = {}
        notes: list[str] = []

        def value(field: str, read: Any) -> Any:
            raw = cells.plain(value_at(row, self.mapping[field])) if field in self.mapping else None
            if raw is None:
                return None
            try:
                return read(cells.unpack(raw) if self.flat else raw, notes)
            except cells.Fault as error:
                faults[field] = error.message
                return None

        used = set(self.mapping.values())
        system = value("system", cells.identifier) or None
        return Sample(
            query_id=self._id(number, value("query_id", cells.identifier), system),
            question=value("question", cells.question),
            answer=value("answer", cells.text),
            contexts=value("contexts", cells.contexts),
            history=value("history", cells.turns) or (),
            references=value("reference", cells.texts) or (),
            context_ids=value("context_ids", cells.identifiers),
            gold_ids=value("gold_ids", cells.groups),
            nuggets=value("nuggets", cells.nuggets),
            faults=faults,
            notes=tuple(notes),
            others={name: cells.plain(found) for name, found in row.items() if name not in used},
            system=system,
        )

    def _id(self, number: int, found: str | None, system: str | None) -> str:
        name = found or str(number)
        if (system, name) in self.seen:
            rows = {"name": excerpt(name), "first": self.seen[system, name], "second": number}
            raise InputError(
                say("sample {name} appears in rows {first} and {second}", **rows)
                if system is None
                else say(
                    "sample {name} of system {system} appears in rows {first} and {second}",
                    system=excerpt(system),
                    **rows,
                ),
                path=self.label,
                line=number,
                hint=say(
                    'give each sample its own id; if the file holds several systems, name them in a column "system"'
                ),
            )
        self.seen[system, name] = number
        return name
