"""Writing judgments, runs and results."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from assay.errors import InputError, Repeated, UsageError, excerpt
from assay.formats.files import Input, write_atomically
from assay.formats.formulas import guard_texts
from assay.formats.results import load_result, to_json
from assay.formats.trec.reading import JUDGE_LINE
from assay.formats.trec.scan import FIELD, fields_of
from assay.messages import say
from assay.results.result import Result, make_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.judgments import Judgments
    from assay.data.record import Record
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.results.judging import Judging
    from assay.results.pool import JudgingPool

_GZIP = ".gz"
_BY_SUFFIX = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".qrels": "trec",
    ".run": "trec",
    ".trec": "trec",
    ".txt": "trec",
}


def write_judgments(
    judgments: Judgments, place: str | os.PathLike[str], *, kind: str | None = None, rounds: Sequence[int] = ()
) -> None:
    """Write judgments as trec, json, jsonl, csv, tsv or parquet; the suffix decides unless `kind` does.

    Those of a sample have the `rounds` in which they were drawn, if they are given in the order of the pairs.

    >>> import assay
    >>> assay.write_judgments(assay.Judgments.from_dict({"q": {"d": 1}}), "judgments.qrels")
    >>> assay.read_judgments("judgments.qrels").to_dict()
    {'q': {'d': 1.0}}
    """
    kind = _kind(place, kind)
    frame = judgments.frame
    if judgments.inclusion is not None:
        if kind in {"trec", "json"}:
            raise UsageError(say("sample.no_place", path=os.fspath(place)))
        frame = frame.with_columns(inclusion=pl.Series(judgments.inclusion))
        frame = frame.with_columns(round=pl.Series(rounds)) if rounds else frame
    if kind == "trec":
        part = pl.col("subtopic") if judgments.groups != "none" else pl.lit("0")
        grade = pl.when(pl.col("grade") == pl.col("grade").round()).then(pl.col("grade").cast(pl.Int64).cast(pl.String))
        frame = frame.select("query_id", part.alias("0"), "doc_id", grade.otherwise(pl.col("grade").cast(pl.String)))
    if judgments.judge:
        _write(place, _stamp(frame, kind, judgments.judge, place))
    else:
        _write(place, _encode(frame, kind, "grade", place))


def _stamp(frame: pl.DataFrame, kind: str, judge: str, place: str | os.PathLike[str]) -> bytes:
    """Note in the file which language model made its grades: a comment in TREC files, a column in tables."""
    if kind == "json":
        raise UsageError(
            say("a JSON object has no place for the name of the judge: use .qrels, .jsonl, .csv or .parquet")
        )
    if kind == "trec":
        return f"{JUDGE_LINE}{judge}\n".encode() + _encode(frame, kind, "grade", place)
    return _encode(frame.with_columns(judge=pl.lit(judge)), kind, "grade", place)


def write_verdicts(judging: Judging, place: str | os.PathLike[str]) -> None:
    """Write what each judge said each time about every pair, as JSON lines in a reproducible form.

    `panel_grade` is the grade that became of all answers about the pair.

    >>> import assay
    >>> from assay.llm import Client
    >>> from assay.testing import FakeLLM
    >>> texts = {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}
    >>> with FakeLLM('{"reason": "on the point", "grade": 3}') as server, Client(server.url, "any-model") as client:
    ...     assay.write_verdicts(assay.judge_pairs([("q", "d")], judge=client, **texts), "why.jsonl")
    >>> from pathlib import Path
    >>> "on the point" in Path("why.jsonl").read_text()
    True
    """
    lines = (
        json.dumps(
            {"query_id": one.query_id, "doc_id": one.doc_id, **asdict(vote), "panel_grade": one.grade},
            ensure_ascii=False,
        )
        for one in judging.verdicts
        for vote in one.votes
    )
    write_atomically(place, "\n".join(lines) + "\n")


def check_place(place: str | os.PathLike[str], ids: Iterable[str], *, sampled: bool = False) -> None:
    """Refuse a place that could not hold judgments of a named judge (or a sample), before anything is paid for them."""
    if not Path(place).parent.is_dir():
        raise UsageError(say("{path}: there is no such folder", path=os.fspath(place)))
    kind = _kind(place, None)
    if kind == "json":
        raise UsageError(
            say("a JSON object has no place for the name of the judge: use .qrels, .jsonl, .csv or .parquet")
        )
    if sampled and kind == "trec":
        raise UsageError(say("sample.no_place", path=os.fspath(place)))
    blank = next((one for one in ids if len(one.split()) != 1), None) if kind == "trec" else None
    if blank is not None:
        raise UsageError(
            say(
                "id {id!r} contains blanks, which {path} cannot hold: use .jsonl",
                id=blank,
                path=os.fspath(place),
            )
        )


def write_pool(found: JudgingPool, place: str | os.PathLike[str]) -> None:
    """Write what to judge as jsonl, csv, tsv or parquet: one row for each document, with a column for its grade.

    >>> import assay
    >>> found = assay.pool_judgments({"one": {"q": ["a", "b"]}, "two": {"q": ["b", "c"]}}, depth=2)
    >>> assay.write_pool(found, "pool.csv")
    >>> from pathlib import Path
    >>> Path("pool.csv").read_text().splitlines()[0]
    'query_id,doc_id,grade,priority,round,method'
    """
    kind = _kind(place, None)
    if kind in {"trec", "json"}:
        raise UsageError(
            say("{path}: a list of what to judge is .jsonl, .csv, .tsv or .parquet", path=os.fspath(place))
        )
    frame = pl.DataFrame(found.to_rows(), infer_schema_length=None)
    _write(place, _encode(frame.with_columns(pl.col("grade").cast(pl.Float64)), kind, "grade", place))


def write_run(run: Run, place: str | os.PathLike[str], *, kind: str | None = None) -> None:
    """Write a run as trec, json, jsonl, csv, tsv or parquet; the suffix decides unless `kind` does.

    >>> import assay
    >>> assay.write_run(assay.Run.from_dict({"q": {"d": 2.5}}, "mine"), "mine.run")
    >>> assay.read_run("mine.run").to_dict()
    {'q': {'d': 2.5}}
    """
    kind = _kind(place, kind)
    frame = run.frame
    if "chunk_id" in frame.columns and kind in {"trec", "json"}:
        if not frame.select((pl.col("chunk_id") == pl.col("doc_id")).all()).item():
            raise UsageError(
                say("a run with chunk ids does not fit into {kind}: use .jsonl, .csv or .parquet", kind=kind)
            )
        frame = frame.drop("chunk_id")
    if kind == "trec":
        frame = frame.sort(["query_id", "score"], descending=[False, True], maintain_order=True)
        frame = frame.select(
            "query_id",
            pl.lit("Q0").alias("Q0"),
            "doc_id",
            pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"),
            "score",
            pl.lit("_".join(fields_of(run.name.replace("\n", " "))) or "run").alias("tag"),
        )
    _write(place, _encode(frame, kind, "score", place))


def write_result(
    found: Result | Record | Sequence[Record] | Mapping[str, Scores],
    place: str | os.PathLike[str],
    *,
    command: str = "",
) -> None:
    """Write a result file: scores, one or several (a list, or a dict by name), or any record.

    >>> import assay
    >>> assay.write_result(assay.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "map"), "result.json")
    """
    if isinstance(found, (str, os.PathLike)):
        raise UsageError(say("the record comes first, then the file: write_result(scores, 'result.json')"))
    if Path(place).suffix.lower() != ".json":
        raise UsageError(say("a result file ends in .json, not {name}", name=excerpt(Path(place).name)))
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, (list, tuple)) and not found:
        raise UsageError(say("there is nothing to write: give scores, or another record"))
    write_atomically(place, to_json(found if isinstance(found, Result) else make_result(found, command=command)))


def read_result(place: str | os.PathLike[str]) -> list[Scores]:
    """Read the systems of a result file.

    >>> import assay
    >>> assay.write_result(assay.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "map"), "result.json")
    >>> [scores["AP"] for scores in assay.read_result("result.json")]
    [1.0]
    """
    return list(load_result(Input.at(place)).systems)


def kind_of(place: str | os.PathLike[str]) -> str:
    """Return the format of a file of judgments or of a run by its suffix."""
    return _kind(place, None)


def _kind(place: str | os.PathLike[str], kind: str | None) -> str:
    found = kind or _BY_SUFFIX.get(Path(str(place).lower().removesuffix(_GZIP)).suffix)
    if found not in _BY_SUFFIX.values():
        raise UsageError(
            say(
                "cannot tell the format of {path}: use a suffix such as .run, .jsonl or .parquet",
                path=excerpt(str(place)),
            )
        )
    assert found is not None
    return found


def _write(place: str | os.PathLike[str], data: bytes) -> None:
    packed = str(place).lower().endswith(_GZIP)
    write_atomically(place, gzip.compress(data, mtime=0) if packed else data)


def _encode(frame: pl.DataFrame, kind: str, value: str, place: str | os.PathLike[str]) -> bytes:
    if kind == "trec":
        ids = frame.select("query_id", "doc_id")
        blank = pl.any_horizontal(~pl.all().str.contains(f"^{FIELD}$") | pl.all().str.contains("\n", literal=True))
        odd = ids.filter(blank | pl.col("query_id").str.starts_with("#"))
        if len(odd):
            raise InputError(
                say("ids {ids} contain blanks or begin with #, which TREC files cannot hold", ids=excerpt(odd.row(0))),
                path=str(place),
                hint=say("use .jsonl"),
            )
        return frame.write_csv(separator=" ", include_header=False, quote_style="never").encode()
    if kind == "json":
        twice = frame.filter(pl.struct("query_id", "doc_id").is_duplicated())
        if len(twice):
            raise Repeated(twice["query_id"][0], twice["doc_id"][0], "listed", path=str(place))
        nested: dict[str, dict[str, float]] = {}
        for query, doc, number in frame.select("query_id", "doc_id", value).iter_rows():
            nested.setdefault(query, {})[doc] = number
        return (json.dumps(nested, ensure_ascii=False, indent=1) + "\n").encode()
    if kind == "jsonl":
        return frame.write_ndjson().encode()
    if kind == "parquet":
        buffer = BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    return guard_texts(frame).write_csv(separator="\t" if kind == "tsv" else ",").encode()
