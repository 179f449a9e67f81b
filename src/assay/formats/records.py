"""Self-contained records: one object per query that holds both what was retrieved and what is relevant.

{"query": ..., "retrieved": [ids], "relevant": [ids]}         gold as a list, as {id: grade}, or as an AND of ORs
{"query": ..., "relevance": [3, 1, 2, 0, 0]}                  grades in ranked order: the list is all that is known
{"query": ..., "grades": [3, 1, 2], "scores": [.8, .6, .5]}   parallel lists; scores_before, scores_after: two systems
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from assay.data.judgments import Judgments, schema
from assay.data.run import Run
from assay.errors import InputError, excerpt
from assay.formats import columns, tables
from assay.formats.decoding import read_json
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.source import Source
    from assay.formats.files import Input


@dataclass(frozen=True)
class Records:
    """Judgments and the runs of one or more systems, from one file; `unnamed` documents have no ids of their own."""

    judgments: Judgments
    runs: tuple[Run, ...]
    unnamed: bool


def looks_like_records(keys: set[str]) -> bool:
    """Return whether objects are records, and not rows of judgments or runs, by their fields."""
    has_lists = columns.has_any(keys, columns.LISTS, columns.GRADES)
    pair = columns.has_any(keys, columns.RETRIEVED) and columns.has_any(keys, columns.RELEVANT)
    return pair or (has_lists and not columns.has_any(keys, columns.DOC))


def records_of(rows: list[tuple[int, dict[str, Any]]], source: Source, name: str) -> Records:
    """Make judgments and runs of numbered records."""
    keys = list(dict.fromkeys(key for _, row in rows for key in row))
    label = source.label
    query = next(iter(columns.candidates(keys, columns.RECORD_QUERY)), None)  # an id before a text; None numbers them
    relevance = columns.find(keys, columns.LISTS, path=label)
    grades = columns.find(keys, columns.GRADES, path=label)
    retrieved = columns.find(keys, columns.RETRIEVED, path=label)
    relevant = columns.find(keys, columns.RELEVANT, path=label)
    builder = _Builder(label, query)
    if relevance:
        builder.lists(rows, relevance, name)
    elif grades:
        builder.parallel(rows, grades, _score_fields(keys, label), name)
    elif retrieved and relevant:
        builder.sets(rows, retrieved, relevant, name)
    else:
        raise InputError(
            say(
                "no records of retrieved and relevant documents: the fields are {fields}",
                fields=list(map(excerpt, keys[:8])),
            ),
            path=label,
            hint=say(
                'expected "retrieved" and "relevant", or "relevance", or "grades" and "scores"; or give a second file'
            ),
        )
    used = {"query_id": query, "relevance": relevance, "grades": grades, "retrieved": retrieved, "relevant": relevant}
    return builder.finish(source, columns.notes(used))


def _score_fields(keys: list[str], label: str) -> dict[str, str]:
    """Find the score lists: `scores`, or one `scores_NAME` per system."""
    many = {key.removeprefix("scores_"): key for key in keys if key.startswith("scores_")}
    one = columns.find(keys, columns.SCORES, path=label, needed="" if many else say("grades"))
    return many or {"": one or ""}


def rows_of(source: Input, kind: str) -> list[tuple[int, dict[str, Any]]]:
    """Read numbered records from JSON lines, a JSON array or a bare JSON list of relevance lists."""
    if kind == "jsonl":
        return list(tables.read_jsonl(source))
    data = read_json(source)
    if isinstance(data, dict):
        data = [{"query_id": key, "relevance": value} for key, value in data.items()] if are_lists(data) else [data]
    if isinstance(data, list) and data and all(isinstance(item, list) for item in data):
        data = [{"relevance": item} for item in data]
    if isinstance(data, list) and data and all(isinstance(item, (int, float)) for item in data):
        data = [{"relevance": data}]
    if not isinstance(data, list) or not data or not all(isinstance(item, dict) for item in data):
        raise InputError(say("expected a JSON list of objects or of relevance lists"), path=source.label)
    return list(enumerate(data, 1))


def are_lists(data: dict[str, Any]) -> bool:
    """Return whether an object is {query: [grades in ranked order]}."""
    return bool(data) and all(
        isinstance(v, list) and all(isinstance(g, (int, float)) for g in v) for v in data.values()
    )


class _Builder:
    """Collects rows of judgments and runs while walking records."""

    def __init__(self, label: str, query: str | None) -> None:
        self.label, self.query = label, query
        self.judged: list[tuple[str, str, float, str]] = []
        self.runs: dict[str, list[tuple[str, str, float]]] = {}
        self.empty: dict[str, list[str]] = {}
        self.grouped = False
        self.unnamed = False
        self.seen: dict[str, int] = {}

    def id_of(self, number: int, row: dict[str, Any]) -> str:
        """Name a record's query; the same name twice is an error."""
        value = row.get(self.query) if self.query else None
        name = str(value) if value not in (None, "") else str(number)
        if name in self.seen:
            raise InputError(
                say(
                    "query {name} appears in records {first} and {second}",
                    name=excerpt(name),
                    first=self.seen[name],
                    second=number,
                ),
                path=self.label,
                line=number,
                hint=say("give each record its own query_id"),
            )
        self.seen[name] = number
        return name

    def add(self, system: str, query: str, docs: list[tuple[str, float]]) -> None:
        """Add one ranked list."""
        rows = self.runs.setdefault(system, [])
        if not docs:
            self.empty.setdefault(system, []).append(query)
        rows.extend((query, doc, score) for doc, score in docs)

    def lists(self, rows: list[tuple[int, dict[str, Any]]], field: str, name: str) -> None:
        """Take grades in ranked order."""
        self.unnamed = True
        for number, row in rows:
            self._has(number, row, field)
            query, values = self.id_of(number, row), self._numbers(number, row, field)
            self.judged.extend((query, f"#{i}", grade, "") for i, grade in enumerate(values, 1))
            self.add(name, query, [(f"#{i}", float(-i)) for i in range(1, len(values) + 1)])

    def parallel(self, rows: list[tuple[int, dict[str, Any]]], field: str, scores: dict[str, str], name: str) -> None:
        """Take grades with one or more lists of scores of the same documents."""
        self.unnamed = True
        for number, row in rows:
            self._has(number, row, field, *scores.values())
            query, grades = self.id_of(number, row), self._numbers(number, row, field)
            self.judged.extend((query, f"#{i}", grade, "") for i, grade in enumerate(grades, 1))
            for system, key in scores.items():
                values = self._numbers(number, row, key)
                if len(values) != len(grades):
                    raise InputError(
                        say(
                            "{scores} has {n} {n:value|values}, {grades} has {other}",
                            scores=key,
                            n=len(values),
                            grades=field,
                            other=len(grades),
                        ),
                        path=self.label,
                        line=number,
                        hint=say("both lists need one value per document"),
                    )
                self.add(system or name, query, [(f"#{i}", score) for i, score in enumerate(values, 1)])

    def sets(self, rows: list[tuple[int, dict[str, Any]]], retrieved: str, relevant: str, name: str) -> None:
        """Take retrieved ids in ranked order and gold ids."""
        for number, row in rows:
            self._has(number, row, retrieved, relevant)
            query = self.id_of(number, row)
            docs = self._ids(number, row.get(retrieved), retrieved)
            self.add(name, query, [(doc, float(-i)) for i, doc in enumerate(docs, 1)])
            self._gold(number, query, row.get(relevant), relevant)

    def _has(self, number: int, row: dict[str, Any], *fields: str) -> None:
        """Refuse a record that lacks what the others have."""
        for field in fields:
            if field not in row:
                raise InputError(
                    say(
                        "no {field}, which other records have: the fields are {fields}",
                        field=excerpt(field),
                        fields=list(map(excerpt, row)),
                    ),
                    path=self.label,
                    line=number,
                    hint=say("all records of a file need the same fields"),
                )

    def _gold(self, number: int, query: str, gold: Any, field: str) -> None:
        if isinstance(gold, dict):
            self.judged.extend(
                (query, str(doc), self._number(number, grade, field), str(doc)) for doc, grade in gold.items()
            )
        elif isinstance(gold, list) and gold and all(isinstance(group, list) for group in gold):
            self.grouped = True
            if not all(gold):
                raise InputError(
                    say("{field} contains an empty group, which no document can satisfy", field=field),
                    path=self.label,
                    line=number,
                )
            for i, group in enumerate(gold, 1):
                self.judged.extend((query, doc, 1.0, str(i)) for doc in self._ids(number, group, field))
        else:
            self.judged.extend((query, doc, 1.0, doc) for doc in self._ids(number, gold, field))

    def _ids(self, number: int, value: Any, field: str) -> list[str]:
        if not isinstance(value, list):
            raise InputError(
                say("{field} must be a list of ids, not {value}", field=field, value=excerpt(value)),
                path=self.label,
                line=number,
                hint=say('expected "{field}": ["d1"]', field=field),
            )
        ids = [item.get("id", item.get("doc_id")) if isinstance(item, dict) else item for item in value]
        if any(item is None or isinstance(item, (list, dict)) for item in ids):
            raise InputError(
                say("{field} contains something that is not an id", field=field), path=self.label, line=number
            )
        return [str(item) for item in ids]

    def _numbers(self, number: int, row: dict[str, Any], field: str) -> list[float]:
        value = row.get(field)
        if not isinstance(value, list):
            raise InputError(
                say("{field} must be a list of numbers, not {value}", field=field, value=excerpt(value)),
                path=self.label,
                line=number,
                hint=say('expected "{field}": [2, 0]', field=field),
            )
        return [self._number(number, item, field) for item in value]

    def _number(self, number: int, value: Any, field: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(
                say("{field} contains {value}, which is not a number", field=field, value=excerpt(value)),
                path=self.label,
                line=number,
            )
        try:
            return float(value)
        except OverflowError:
            raise InputError(
                say("{field} contains {value}, which is too large", field=field, value=excerpt(value)),
                path=self.label,
                line=number,
            ) from None

    def finish(self, source: Source, notes: tuple[str, ...]) -> Records:
        """Make judgments and runs."""
        frame = tables.frame_of_rows(self.judged, {**schema(), "subtopic": pl.String}, self.label)
        groups: Literal["gold", "none"] = "gold" if self.grouped else "none"
        judged = {query for query, *_ in self.judged}
        empty = tuple(query for query in self.seen if query not in judged)
        judgments = Judgments.of(
            frame, source=source, groups=groups, notes=notes, empty=empty, complete=not self.unnamed
        )
        runs = tuple(
            Run(
                tables.frame_of_rows(
                    rows, {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, self.label
                ),
                name,
                source,
                tuple(self.empty.get(name, ())),
            )
            for name, rows in self.runs.items()
        )
        return Records(judgments, runs, self.unnamed)
