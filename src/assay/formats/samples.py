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
from assay.formats.columns import SAMPLE, candidates, list_names, mention
from assay.formats.decoding import read_json
from assay.formats.detect import format_of
from assay.formats.files import Input

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping


_WRAPPERS = ("samples", "data", "rows", "results", "examples", "test_cases", "testcases", "records")
_TABLES = {"csv", "tsv", "parquet"}


def read_samples(
    place: str | os.PathLike[str], *, kind: str | None = None, columns: Mapping[str, str] | None = None
) -> Samples:
    """Read samples from a file; `columns` overrides which column a field is read from.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("samples.jsonl").write_text('{"user_input": "When?", "response": "In 1889."}')
    >>> [(sample.question, sample.answer) for sample in assay.read_samples("samples.jsonl")]
    [('When?', 'In 1889.')]
    """
    source = Input.at(place)
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
            f"samples cannot be read from {kind}", path=source.label, hint="expected jsonl, json, csv, tsv or parquet"
        )
    return samples_of(rows, source.source, columns=columns, flat=kind in {"csv", "tsv"})


def as_samples(data: Any, *, columns: Mapping[str, str] | None = None) -> Samples:
    """Take samples as a path, a list of dicts, a frame, or as they are."""
    if isinstance(data, Samples):
        return data
    if isinstance(data, (str, PathLike)):
        return read_samples(data, columns=columns)
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return samples_of(list(enumerate(data, 1)), Source("samples"), columns=columns)
    frame = tables.frame_from(data)
    if frame is None:
        raise UsageError(f"samples must be a path, a list of dicts or a frame, not {type(data).__name__}")
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
        "expected a list of samples", path=source.label, hint='[{"question": ..., "answer": ..., "contexts": [...]}]'
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
    return {field for field, heading in SAMPLE.items() if mention(names, heading)}


def samples_of(
    rows: list[tuple[int, dict[str, Any]]],
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    flat: bool = False,
) -> Samples:
    """Make samples of numbered rows; in a flat file, lists are JSON inside a cell."""
    if not rows:
        raise InputError("the file has no rows", path=source.label, hint="expected at least one sample")
    names = list(dict.fromkeys(name for _, row in rows for name in row))
    mapping = find_columns(names, source.label, columns or {})
    if "answer" not in mapping:
        raise InputError(
            f"no column for answer among {list_names(names)}",
            path=source.label,
            hint=f"also accepted: {', '.join(SAMPLE['answer'].others[:4])}; or say --map answer=COLUMN",
        )
    reader = _Reader(mapping, source.label, flat)
    read = _of_systems([reader.sample(number, row) for number, row in rows], source.label, named="query_id" in mapping)
    notes = tuple(f"column {excerpt(name)} is read as {field}" for field, name in mapping.items() if name != field)
    return Samples(read, mapping, source, notes)


def _of_systems(rows: list[Sample], label: str, *, named: bool) -> tuple[Sample, ...]:
    """Check samples of several systems; without ids they are numbered within each, if the questions then agree."""
    if len({row.system for row in rows}) < 2:  # noqa: PLR2004
        return tuple(rows)
    nobody = next((i for i, row in enumerate(rows, 1) if row.system is None), None)
    if nobody is not None:
        raise InputError(
            f"row {nobody} names no system", path=label, line=nobody, hint="others do: name one in each row"
        )
    if not named:
        seen: Counter[str | None] = Counter()
        numbered = []
        for row in rows:
            seen[row.system] += 1
            numbered.append(replace(row, query_id=str(seen[row.system])))
        return tuple(rows if _unlike(numbered) else numbered)
    _check_alike(rows, label)
    return tuple(rows)


def _unlike(rows: Iterable[Sample]) -> tuple[Sample, Sample] | None:
    """Two samples of the same id that differ in what they ask or in what is expected."""
    known: dict[str, Sample] = {}
    for row in rows:
        first = known.setdefault(row.query_id, row)
        if (row.question, row.references, row.gold_ids) != (first.question, first.references, first.gold_ids):
            return first, row
    return None


def _check_alike(rows: Iterable[Sample], label: str | None) -> None:
    pair = _unlike(rows)
    if pair is not None:
        one, other = pair
        raise InputError(
            f"sample {excerpt(one.query_id)} is not the same in the systems {excerpt(one.system)} and"
            f" {excerpt(other.system)}: its question, references or gold ids differ",
            path=label,
            hint="an id stands for one question: give others, or evaluate each system by itself",
        )


def join_samples(parts: Mapping[str, Samples]) -> Samples:
    """Put samples of several systems together, each under its name."""
    rows = [replace(row, system=name) for name, part in parts.items() for row in part]
    _check_alike(rows, None)
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


def find_columns(names: list[str], label: str, asked: Mapping[str, str]) -> dict[str, str]:
    """Find the column of each field; two that could be the same field are an error unless the user chose one.

    The user may name a field as any other tool does.
    """
    asked = {_field_of(field): name for field, name in asked.items()}
    for field, name in asked.items():
        if field not in FIELDS:
            raise UnknownName("field", field, FIELDS, hint=f"the fields are {', '.join(FIELDS)}")
        if name not in names:
            raise InputError(
                f"no column {excerpt(name)} for {field}", path=label, hint=f"its columns: {list_names(names)}"
            )
    free = [name for name in names if name not in asked.values()]
    found = {}
    for field, heading in SAMPLE.items():
        same = [asked[field]] if field in asked else candidates(free, heading)
        if len(same) > 1 and heading.others:  # an id of the query beside an id of the row is common and clear
            raise InputError(
                f"columns {' and '.join(map(excerpt, same))} could both be {field}",
                path=label,
                hint=f"say which: --map {field}={same[0]}",
            )
        if same:
            found[field] = same[0]
    return found


def _field_of(name: str) -> str:
    """The field that any tool's name for it means."""
    return next((field for field, heading in SAMPLE.items() if mention([name], heading)), name)


@dataclass
class _Reader:
    """Reads rows into samples; what is wrong with one value is a fault of that sample alone."""

    mapping: Mapping[str, str]
    label: str
    flat: bool

    def __post_init__(self) -> None:
        self.seen: dict[tuple[str | None, str], int] = {}

    def sample(self, number: int, row: dict[str, Any]) -> Sample:
        faults: dict[str, str] = {}
        notes: list[str] = []

        def value(field: str, read: Any) -> Any:
            raw = cells.plain(row.get(self.mapping[field])) if field in self.mapping else None
            if raw is None:
                return None
            try:
                return read(cells.unpack(raw) if self.flat else raw, notes)
            except cells.Fault as error:
                faults[field] = str(error)
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
            faults=faults,
            notes=tuple(notes),
            others={name: cells.plain(found) for name, found in row.items() if name not in used},
            system=system,
        )

    def _id(self, number: int, found: str | None, system: str | None) -> str:
        name = found or str(number)
        if (system, name) in self.seen:
            of = "" if system is None else f" of system {excerpt(system)}"
            raise InputError(
                f"sample {excerpt(name)}{of} stands in rows {self.seen[system, name]} and {number}",
                path=self.label,
                line=number,
                hint='give each sample its own id; if the file holds several systems, name them in a column "system"',
            )
        self.seen[system, name] = number
        return name
