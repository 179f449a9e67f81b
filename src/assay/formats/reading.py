"""Reading judgments, runs and what belongs to them from files of any format."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.errors import InputError, Repeated, excerpt
from assay.formats import columns, tables
from assay.formats.cells import kind_of_value
from assay.formats.decoding import read_json
from assay.formats.detect import format_of, is_records
from assay.formats.files import Input, run_name, system_name
from assay.formats.set_folders import is_set, locate, read_manifest
from assay.formats.trec import reading as trec
from assay.formats.trec import scan
from assay.formats.trec.pieces import pool_of
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.formats.records import Records


def read_records(place: str | os.PathLike[str], *, kind: str | None = None, encoding: str | None = None) -> Records:
    """Read a file of self-contained records: judgments and the runs of one or more systems.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("records.jsonl").write_text('{"query": "q", "retrieved": ["a", "b"], "relevant": ["b"]}')
    >>> found = assay.read_records("records.jsonl")
    >>> assay.evaluate(found.judgments, found.runs, "mrr")["records"]["mrr"]
    0.5
    """
    from assay.formats.records import records_of, rows_of

    source = Input.at(place, encoding)
    kind = format_of(source, kind)
    if not is_records(source, kind):
        raise InputError(
            say("this file has no records of retrieved and relevant documents"),
            path=source.label,
            hint=say("if it holds judgments, give the run files after it"),
        )
    return records_of(rows_of(source, kind), source.source, system_name(source.label))


def read_judgments(
    place: str | os.PathLike[str],
    *,
    kind: str | None = None,
    subtopics: bool = False,
    split: str = "test",
    dedupe: bool = False,
    encoding: str | None = None,
) -> Judgments:
    """Read judgments from a file or a BEIR folder; its format is found out unless `kind` names it.

    Text is UTF-8, or UTF-16 with a byte order mark, unless another `encoding` is named.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("judgments.json").write_text('{"q1": {"d1": 2, "d2": 0}}')
    >>> assay.read_judgments("judgments.json").max_grade
    2.0
    """
    if is_set(place):
        return _judgments_of_set(place, subtopics=subtopics, dedupe=dedupe, encoding=encoding)
    source = Input.at(place, encoding)
    kind = format_of(source, kind)
    if kind == "beir":
        if source.path is None or not source.path.is_dir():
            raise InputError(
                say("this is not a BEIR folder"),
                path=source.label,
                hint=say("expected a folder with a qrels folder inside"),
            )
        file = source.path / "qrels" / f"{split}.tsv"
        if not file.exists():
            splits = sorted(path.stem for path in file.parent.glob("*.tsv"))
            raise InputError(
                say("no split {split!r}", split=split),
                path=source.label,
                hint=say("its splits are {splits}", splits=splits) if splits else say("it has no splits"),
            )
        source, kind = Input.at(file, encoding), "tsv"
    if kind == "trec":
        pool = None if subtopics or dedupe else pool_of(source)
        if pool is not None:
            return Judgments.of_pool(pool, source=source.source)
        frame = trec.read_trec(source, scan.QRELS)
        groups: Literal["subtopics", "none"] = "subtopics" if subtopics else "none"
        try:
            judge = trec.judge_of(source)
            return Judgments.of(frame, source=source.source, groups=groups, dedupe=dedupe, judge=judge)
        except Repeated as error:
            raise trec.locate(source.source, error) from None
    if kind == "json":
        frame, empty = _json_frame(source, "grade")
        return Judgments.of(frame, source=source.source, dedupe=dedupe, empty=empty)
    return tables.judgments_of(tables.read_table(source, kind), source.source, subtopics=subtopics, dedupe=dedupe)


def _judgments_of_set(
    folder: str | os.PathLike[str], *, subtopics: bool, dedupe: bool, encoding: str | None
) -> Judgments:
    """The judgments of an evaluation set or, where it has none, the documents that hold its gold."""
    path, note = locate(folder, "judgments"), ""
    if path is None:
        path, note = locate(folder, "gold"), say("set.judged_by_gold")
    if path is None:
        raise InputError(say("the set has no judgments and no gold"), path=os.fspath(folder))
    if note:
        source = Input.at(path, encoding)
        found = tables.judgments_of_gold(tables.read_table(source, format_of(source, None)), source.source)
    else:
        found = read_judgments(path, subtopics=subtopics, dedupe=dedupe, encoding=encoding)
    manifest = read_manifest(folder)
    assert found.source is not None
    notes = (*found.notes, *([note] if note else []), *manifest.warnings())
    return replace(found, source=replace(found.source, of_set=manifest.label), notes=notes)


def read_run(
    place: str | os.PathLike[str], *, kind: str | None = None, name: str | None = None, encoding: str | None = None
) -> Run:
    """Read a run from a file; its format is found out unless `kind` names it.

    Text is UTF-8, or UTF-16 with a byte order mark, unless another `encoding` is named.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("bm25.run").write_text("q1 Q0 d1 1 2.5 tag")
    >>> run = assay.read_run("bm25.run")
    >>> run.name, run.to_dict()
    ('bm25', {'q1': {'d1': 2.5}})
    """
    run = open_run(place, kind=kind, name=name, encoding=encoding)
    return replace(run, rows=run.frame)


def open_run(
    place: str | os.PathLike[str], *, kind: str | None = None, name: str | None = None, encoding: str | None = None
) -> Run:
    """Find out what a run file is; the rows of a TREC file are read, and its faults found, when they are used."""
    source = Input.at(place, encoding)
    kind = format_of(source, kind)
    name = name or run_name(source.label)
    if kind == "beir":
        raise InputError(
            say("this is a folder of judgments, not a run"), path=source.label, hint=say("give a run file")
        )
    if kind == "trec":
        source.forget_head()
        return Run(trec.RunPieces(source), name, source.source)
    if kind == "json":
        frame, empty = _json_frame(source, "score")
        return Run(frame, name, source.source, empty)
    return tables.run_of(tables.read_table(source, kind), source.source, name)


def _json_frame(source: Input, value: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read {query: {document: number}}, {query: [documents]} or a list of row objects, and the queries with nothing."""
    data = read_json(source)
    expected = say("expected {{query: {{document: {value}}}}} or a list of rows", value=value)
    if isinstance(data, list) and data and all(isinstance(row, dict) for row in data):
        frame = tables.frame_of_records(data, source.label)
        of = tables.judgments_of(frame, source.source, subtopics=False, dedupe=False) if value == "grade" else None
        return of.frame if of is not None else tables.run_of(frame, source.source, "").frame, ()
    if not isinstance(data, dict) or not data:
        what = say("the JSON is {kind}", kind=kind_of_value(data)) if data else say("the JSON is empty")
        raise InputError(what, path=source.label, hint=expected)
    rows: list[tuple[str, str, float]] = []
    for query, docs in data.items():
        if isinstance(docs, list) and all(isinstance(doc, (str, int)) for doc in docs):
            rows += [(query, str(doc), 1.0 if value == "grade" else float(-i)) for i, doc in enumerate(docs, 1)]
        elif isinstance(docs, dict):
            rows += [
                (query, doc, _json_number(number, query, doc, value, source.label)) for doc, number in docs.items()
            ]
        else:
            raise InputError(
                say("query {query} has {found}", query=excerpt(query), found=excerpt(docs)),
                path=source.label,
                hint=expected,
            )
    schema = {"query_id": pl.String, "doc_id": pl.String, value: pl.Float64}
    frame = tables.frame_of_rows(rows, schema, source.label)
    return frame, tuple(query for query, docs in data.items() if not docs)


def _json_number(number: Any, query: str, doc: str, value: str, label: str) -> float:
    if _is_finite(number):
        return float(number)
    raise InputError(
        say(
            "{value} {number} of query {query}, document {doc} is not a finite number",
            value=value,
            number=excerpt(number),
            query=excerpt(query),
            doc=excerpt(doc),
        ),
        path=label,
    )


def _is_finite(number: Any) -> bool:
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        return False
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def read_chunk_map(place: str) -> Mapping[str, str] | str:
    """Read a chunk -> document map from a file of two columns or a JSON object; a pattern is returned as it is."""
    if "{doc}" in place:
        return place
    source = Input.at(place)
    kind = format_of(source, None)
    if kind == "json":
        data = read_json(source)
        if not isinstance(data, dict) or not all(isinstance(doc, (str, int)) for doc in data.values()):
            raise InputError(say("expected a JSON object {{chunk: document}}"), path=source.label)
        return {chunk: str(doc) for chunk, doc in data.items()}
    frame = tables.read_table(source, kind) if kind != "trec" else _two_columns(source)
    chunk = columns.find(frame.columns, columns.CHUNK, path=source.label, needed=say("chunk maps"))
    doc = columns.find(frame.columns, columns.DOC, path=source.label, needed=say("chunk maps"))
    assert chunk and doc
    return dict(
        zip(refuse_repeats(frame, chunk, source.label), tables.text_column(frame, doc, source.label), strict=True)
    )


def read_weights(place: str) -> dict[str, float]:
    """Read query weights from a file of two columns (query_id, weight) or a JSON object."""
    source = Input.at(place)
    kind = format_of(source, None)
    if kind == "json":
        data = read_json(source)
        if not isinstance(data, dict):
            raise InputError(say("expected a JSON object {{query: weight}}"), path=source.label)
        wrong = next((query for query, weight in data.items() if not _is_finite(weight)), None)
        if wrong is not None:
            raise InputError(
                say(
                    "weight {number} of query {query} is not a finite number",
                    number=excerpt(data[wrong]),
                    query=excerpt(wrong),
                ),
                path=source.label,
            )
        return {query: float(weight) for query, weight in data.items()}
    frame = tables.read_table(source, kind) if kind != "trec" else _two_columns(source, ("query_id", "weight"))
    query = columns.find(frame.columns, columns.QUERY, path=source.label, needed=say("weights"))
    weight = columns.find(frame.columns, columns.WEIGHT, path=source.label, needed=say("weights"))
    assert query and weight
    return dict(
        zip(refuse_repeats(frame, query, source.label), tables.numbers(frame, weight, source.label), strict=True)
    )


def read_labels(place: str) -> dict[str, str]:
    """Read descriptions of systems from a file of two columns (system, description) or a JSON object."""
    source = Input.at(place)
    kind = format_of(source, None)
    if kind == "json":
        data = read_json(source)
        if not isinstance(data, dict):
            raise InputError(say("expected a JSON object {{system: description}}"), path=source.label)
        return {name: str(text) for name, text in data.items()}
    frame = tables.read_table(source, ("tsv" if source.suffix == ".tsv" else "csv") if kind == "trec" else kind)
    system = columns.find(frame.columns, columns.SYSTEM, path=source.label, needed=say("descriptions"))
    text = columns.find(frame.columns, columns.DESCRIPTION, path=source.label, needed=say("descriptions"))
    assert system and text
    return dict(
        zip(
            refuse_repeats(frame, system, source.label),
            tables.text_column(frame, text, source.label).fill_null(""),
            strict=True,
        )
    )


def refuse_repeats(frame: pl.DataFrame, name: str, label: str) -> pl.Series:
    """Read a column of ids, and refuse the same id twice: only one of the rows could count."""
    ids = tables.text_column(frame, name, label)
    twice = ids.filter(ids.is_duplicated())
    if len(twice):
        raise InputError(
            say("{id} appears in more than one row", id=excerpt(twice[0])),
            path=label,
            hint=say("keep one of them"),
        )
    return ids


def _two_columns(source: Input, names: tuple[str, str] = ("chunk_id", "doc_id")) -> pl.DataFrame:
    lines = [(number, scan.fields_of(line)) for number, line in enumerate(source.text.split("\n"), 1)]
    rows = [(number, row) for number, row in lines if row and not row[0].startswith("#")]
    for number, row in rows:
        if len(row) != len(names):
            raise InputError(
                say("{n} {n:field|fields}, expected two: {names}", n=len(row), names=" ".join(names)),
                path=source.label,
                line=number,
            )
    return pl.DataFrame([row for _, row in rows], schema=list(names), orient="row")
