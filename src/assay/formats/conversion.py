"""Judgments and runs as Python code has them: paths, dicts, frames, tuples, datasets, our own types.

Everything that takes judgments or runs takes them through here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.data.source import Source
from assay.errors import InputError, UsageError, excerpt
from assay.formats import tables
from assay.formats.reading import open_run, read_judgments, read_records
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from assay.formats.records import Records

Lists = Mapping[str, Mapping[str, float]]  # scores of the documents of each query
_NAMELESS = "run"  # the name of a run without a name


def as_judgments(data: Any, *, subtopics: bool = False, dedupe: bool = False) -> Judgments:
    """Make judgments from a path, {query: {document: grade}}, {query: [relevant documents]} or a frame.

    So are tuples (query, document, grade), named ones of ir_measures among them, and datasets of ir_datasets.
    """
    if isinstance(data, Judgments):
        return data
    if isinstance(data, (str, PathLike)):
        return read_judgments(data, subtopics=subtopics, dedupe=dedupe)
    if isinstance(data, Mapping):
        lists = {
            query: dict.fromkeys(docs, 1.0) for query, docs in data.items() if isinstance(docs, (list, tuple, set))
        }
        return Judgments.from_dict(_check_nested({**data, **lists}, "grade"))
    frame = _frame(data, "qrels_iter", "grade")
    if frame is None:
        raise UsageError(
            say(
                "judgments must be a path, a dict of dicts, a frame or tuples (query, document, grade), not {kind}",
                kind=type(data).__name__,
            )
        )
    return tables.judgments_of(frame, None, subtopics=subtopics, dedupe=dedupe)


def as_run(data: Any) -> Run | Lists:
    """Make a run from a path, {query: {document: score}}, {query: [documents]} or a frame.

    So are tuples (query, document, score), named ones of ir_measures among them, and datasets with retrieved documents.
    """
    if isinstance(data, Run):
        return data
    if isinstance(data, (str, PathLike)):
        return open_run(data)
    if isinstance(data, Mapping):
        return _mapping_run(data)
    frame = _frame(data, "scoreddocs_iter", "score")
    if frame is None:
        raise UsageError(
            say(
                "a run must be a path, a dict of dicts, a frame or tuples (query, document, score), not {kind}",
                kind=type(data).__name__,
            )
        )
    return tables.run_of(frame, None, _NAMELESS)


def as_whole_run(data: Any, name: str = _NAMELESS) -> Run:
    """Take a run as `as_run` does, and copy a dict."""
    found = as_run(data)
    if isinstance(found, Run):
        return found
    try:
        return Run.from_dict(found, name)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rows = ((query, doc, score) for query, docs in found.items() for doc, score in docs.items())
        query, doc, score = next(row for row in rows if not _is_number(row[2]))
        raise InputError(
            say(
                "score {score} of query {query}, document {doc} is not a number",
                score=excerpt(score),
                query=excerpt(query),
                doc=excerpt(doc),
            )
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def are_several(data: Any) -> bool:
    """Return whether this is several runs, in a list or in a dict that names them, and not one."""
    if not isinstance(data, (Mapping, list, tuple)) or hasattr(data, "_fields"):
        return False
    told = (_is_run(value) for value in (data.values() if isinstance(data, Mapping) else data))
    return next((answer for answer in told if answer is not None), False)


def _is_run(value: Any) -> bool | None:
    """Return whether this is a whole run, and not a query's documents or a row; None if it is empty."""
    if isinstance(value, (str, PathLike, Run)):
        return True
    if isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and not hasattr(value, "_fields")):
        inner = list(islice(value.values() if isinstance(value, Mapping) else value, 1))
        return isinstance(inner[0], (Mapping, list, tuple)) if inner else None
    return any(hasattr(type(value), name) for name in ("columns", "scoreddocs_iter"))


def as_runs(data: Any) -> dict[str, Run | Lists]:
    """Take one run or several by name; none is an empty list."""
    data = list(data) if isinstance(data, Iterator) else data
    if are_several(data) or (isinstance(data, (list, tuple)) and not data):
        return runs_by_name(data)
    found = as_run(data)
    return {found.name if isinstance(found, Run) else _NAMELESS: found}


def runs_by_name(data: Iterable[Any] | Mapping[str, Any]) -> dict[str, Run | Lists]:
    """Give several runs names: a dict has them, files and our own runs have their own, others are numbered."""
    if isinstance(data, Mapping):
        return {str(name): _rename(as_run(run), str(name)) for name, run in data.items()}
    runs: dict[str, Run | Lists] = {}
    for number, run in enumerate(map(as_run, data), 1):
        own = run.name if isinstance(run, Run) else _NAMELESS
        name = f"{_NAMELESS}{number}" if own == _NAMELESS else own
        if name in runs:
            raise UsageError(
                say(
                    "two runs are called {name!r}: give them names, as in NAME=FILE (Python: a dict of runs)", name=name
                )
            )
        runs[name] = _rename(run, name)
    return runs


def each_run(data: Any) -> list[Any]:
    """The runs in what may be one run or several, as they were given."""
    data = list(data) if isinstance(data, Iterator) else data
    if are_several(data):
        return list(data.values() if isinstance(data, Mapping) else data)
    return [] if isinstance(data, (list, tuple)) and not data else [data]


def _rename(run: Run | Lists, name: str) -> Run | Lists:
    return replace(run, name=name) if isinstance(run, Run) else run


def as_records(data: Any) -> Records:
    """Take self-contained records as a path or a list of dicts."""
    from assay.formats.records import Records, records_of

    if isinstance(data, Records):
        return data
    if isinstance(data, (str, PathLike)):
        return read_records(data)
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise UsageError(say("no run is given; without one, give records: a file or a list of dicts"))
    return records_of(list(enumerate(data, 1)), Source("records"), "run")


def _frame(data: Any, rows: str, number: str) -> pl.DataFrame | None:
    """Take a frame, a dataset with a method of that name that gives rows, or rows; None for anything else."""
    if hasattr(data, rows):
        data = getattr(data, rows)()
    frame = None if isinstance(data, (list, tuple)) else tables.frame_from(data)
    if frame is not None or isinstance(data, bytes) or not isinstance(data, Iterable):
        return frame
    return _frame_of_rows(list(data), number)


def _frame_of_rows(rows: list[Any], number: str) -> pl.DataFrame:
    """Make a frame of tuples (query, document, number); rows with names of their own keep them."""
    if not rows:
        raise InputError(
            say("there are no rows"), hint=say("expected tuples (query, document, {number})", number=number)
        )
    if all(hasattr(row, "_asdict") for row in rows):
        rows = [row._asdict() for row in rows]
    if all(isinstance(row, Mapping) for row in rows):
        return tables.frame_of_records([{str(name): value for name, value in row.items()} for row in rows], "rows")
    fields = ("query_id", "doc_id", number)
    for place, row in enumerate(rows, 1):
        if not isinstance(row, (tuple, list)) or len(row) != len(fields):
            raise InputError(
                say("row {number} is {row}", number=place, row=excerpt(row)),
                hint=say("expected tuples (query, document, {number})", number=number),
            )
    return pl.DataFrame({name: pl.Series([row[i] for row in rows], strict=False) for i, name in enumerate(fields)})


def _mapping_run(data: Mapping[Any, Any]) -> Run | Lists:
    """Use a dict of dicts with text ids as it is; copy anything else into a run."""
    if data and all(isinstance(docs, (list, tuple)) for docs in data.values()):
        return Run.from_lists({query: list(docs) for query, docs in data.items()})
    scores = _check_nested(data, "score")
    for query, docs in scores.items():  # the first id of each query shows whether ids are text
        if not isinstance(query, str) or (docs and not isinstance(next(iter(docs)), str)):
            return Run.from_dict(scores)
    return scores


def _check_nested(data: Mapping[Any, Any], value: str) -> Mapping[Any, Mapping[Any, float]]:
    for query, docs in data.items():
        if not isinstance(docs, Mapping):
            raise InputError(
                say("query {query} has {found}", query=excerpt(query), found=excerpt(docs)),
                hint=say("expected {{query: {{document: {value}}}}}", value=value),
            )
    return data
