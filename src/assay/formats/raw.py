"""Read judgments and runs without checking them, so that `check` can list faults that stop an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assay.formats import tables
from assay.formats.detect import format_of
from assay.formats.files import Input
from assay.formats.reading import read_judgments, read_run
from assay.formats.set_folders import is_set
from assay.formats.trec import reading as trec
from assay.formats.trec import scan

if TYPE_CHECKING:
    from assay.formats.trec.scan import Layout

_TABLES = {"csv", "tsv", "jsonl", "parquet"}


def raw_judgments(place: str, *, kind: str | None, split: str, encoding: str | None = None) -> pl.DataFrame:
    """Rows of query_id, doc_id and grade, unchanged from the file."""
    if is_set(place):
        return read_judgments(place, encoding=encoding).frame
    source = Input.at(place, encoding)
    kind = format_of(source, kind)
    if kind == "trec":
        return _raw_trec(source, scan.QRELS).select("query_id", "doc_id", "grade")
    if kind in _TABLES:
        return tables.pick_judgments(tables.read_table(source, kind), source.source, subtopics=False)[0]
    return read_judgments(place, kind=kind, split=split, encoding=encoding).frame


def raw_run(place: str, *, kind: str | None, encoding: str | None = None) -> pl.DataFrame:
    """Rows of query_id, doc_id, score and, if present, rank, unchanged from the file."""
    source = Input.at(place, encoding)
    kind = format_of(source, kind)
    if kind == "trec":
        frame = _raw_trec(source, scan.RUN_WITH_RANK)
        return frame.with_columns(pl.col("rank").cast(pl.Float64, strict=False))
    frame = read_run(place, kind=kind, encoding=encoding).frame
    if kind in _TABLES:
        table = tables.read_table(source, kind)
        if "rank" in table.columns and "score" in table.columns and tables.is_plain(table["rank"]):
            frame = frame.with_columns(table["rank"].cast(pl.Float64, strict=False).alias("rank"))
    return frame


def _raw_trec(source: Input, layout: Layout) -> pl.DataFrame:
    return trec.read_trec(source, layout, finite=False)
