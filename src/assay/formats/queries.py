"""Queries with their attributes: a text, and any other columns."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats import columns, tables
from assay.formats.detect import format_of
from assay.formats.documents import find_table
from assay.formats.files import Input, is_there, write_atomically
from assay.formats.formulas import guard_texts
from assay.formats.reading import refuse_repeats
from assay.formats.set_folders import is_set, need
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.data.record import Value


@dataclass(frozen=True, eq=False)
class Queries:
    """One row per query: `query_id`, `text` where it is known, and attributes under their own names."""

    frame: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def attributes(self) -> list[str]:
        """Names of the columns besides id and text that hold plain values."""
        plain = [name for name, kind in self.frame.schema.items() if not kind.is_nested()]
        return [name for name in plain if name not in {"query_id", "text"}]

    def texts(self) -> dict[str, str]:
        """Text of each query that has one."""
        if "text" not in self.frame.columns:
            return {}
        pairs = zip(self.frame["query_id"].to_list(), self.frame["text"].to_list(), strict=True)
        return {query: text for query, text in pairs if text is not None}


def read_queries(place: str | os.PathLike[str], *, encoding: str | None = None) -> Queries:
    """Read a table of queries: JSON lines, CSV, TSV or Parquet with a query id and any other columns.

    A folder, such as BEIR's or an evaluation set, has such a table in it.
    """
    if is_set(place):
        place = need(place, "queries")
    elif is_there(place) and Path(place).is_dir():
        place = _find_in_folder(Path(place))
    source = Input.at(place, encoding)
    kind = format_of(source, None)
    if kind == "trec" and source.suffix in {".tsv", ".txt", ".csv"}:
        kind = "csv" if source.suffix == ".csv" else "tsv"
    if kind not in {"csv", "tsv", "jsonl", "parquet"}:
        raise InputError(
            say("queries are read from .jsonl, .csv, .tsv or .parquet"),
            path=source.label,
            hint=say("a table with a column query_id"),
        )
    frame = tables.read_table(source, kind)
    notes: tuple[str, ...] = ()
    known = columns.has_any(frame.columns, columns.QUERY_ID, columns.QUERY_TEXT)
    if kind in {"csv", "tsv"} and len(frame.columns) == 2 and not known:  # noqa: PLR2004
        frame = tables.read_two_columns(source, kind, ("query_id", "text"))
        notes = (say("the file has no header: its columns are read as query_id and text"),)
    query = columns.find(frame.columns, columns.QUERY_ID, path=source.label, needed=say("queries"))
    text = columns.find([name for name in frame.columns if name != query], columns.QUERY_TEXT, path=source.label)
    assert query is not None
    named = {query: "query_id"} | ({text: "text"} if text else {})
    # A title or a topic is read as the text where nothing else is, and may be an attribute all the same.
    guessed = text is not None and columns.key_of(text) not in columns.QUERY_TEXT.keys
    kept = [frame[text]] if text is not None and guessed else []
    frame = frame.rename(named).with_columns(*kept, query_id=refuse_repeats(frame, query, source.label))
    if text:
        frame = frame.with_columns(text=tables.text_column(frame, "text", source.label))
    return Queries(frame, (*notes, *columns.notes({"query_id": query, "text": text})))


def _find_in_folder(folder: Path) -> Path:
    found = find_table(folder, "queries")
    if found is None:
        raise InputError(
            say("this folder has no table of queries"),
            path=str(folder),
            hint=say("expected queries.jsonl, queries.csv, queries.tsv or queries.parquet in it"),
        )
    return found


def read_clusters(place: str) -> dict[str, str]:
    """Read what each query belongs to: FILE of query_id and cluster, or FILE:COLUMN of a table of queries."""
    path, name = (place, "cluster") if is_there(place) or ":" not in place else place.rsplit(":", 1)
    frame = read_queries(path).frame
    if name not in frame.columns:
        raise UnknownName(say("column"), name, [one for one in frame.columns if one != "query_id"])
    pairs = zip(frame["query_id"].to_list(), frame[name].cast(pl.String).to_list(), strict=True)
    return {query: query if cluster is None else cluster for query, cluster in pairs}


def write_queries(rows: Sequence[Mapping[str, Value]], place: str | os.PathLike[str]) -> None:
    """Write queries with their attributes, one row each, as JSON lines, CSV, TSV or Parquet: the suffix decides.

    >>> import assay
    >>> assay.write_queries([{"query_id": "q1", "text": "green tea", "weight": 2.5}], "queries.csv")
    >>> from pathlib import Path
    >>> print(Path("queries.csv").read_text().strip())
    query_id,text,weight
    q1,green tea,2.5
    """
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    suffix = Path(place).suffix.lower()
    if suffix in {".jsonl", ".ndjson"}:
        write_atomically(place, frame.write_ndjson())
    elif suffix in {".csv", ".tsv"}:
        write_atomically(place, guard_texts(frame).write_csv(separator="\t" if suffix == ".tsv" else ","))
    elif suffix == ".parquet":
        buffer = BytesIO()
        frame.write_parquet(buffer)
        write_atomically(place, buffer.getvalue())
    else:
        raise UsageError(
            say("queries are written to .jsonl, .csv, .tsv or .parquet, not to {name}", name=excerpt(Path(place).name))
        )
