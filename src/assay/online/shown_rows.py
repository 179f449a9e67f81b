"""What a log showed, where, with which probability, and what it earned: rows of a table, or of an event log."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.data.events import QUERY, Events
from assay.errors import InputError, UsageError, excerpt
from assay.formats import columns, tables
from assay.formats.columns import EVENT, ColumnName
from assay.formats.detect import format_of
from assay.formats.events.reading import read_events
from assay.formats.events.recognition import is_event_log
from assay.formats.files import Input
from assay.lazy import pl
from assay.messages import Said, say
from assay.online.impressions import plain_text, text_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.source import Source
    from assay.stats.inputs import Floats, Ints

FIELDS: Mapping[str, ColumnName] = {
    "doc_id": replace(EVENT["doc_id"], others=(*EVENT["doc_id"].others, "item")),
    "position": EVENT["position"],
    "reward": ColumnName(
        "reward", ("click", "clicked", "clicks", "is_click", "is_clicked", "点击", "是否点击", "收益")
    ),
    "propensity": EVENT["propensity"],
    "query_id": replace(EVENT["query_id"], else_first=()),
    "text": EVENT["text"],
    "request": ColumnName("request_id", ("search_id", "impression_id", "请求ID", "搜索ID")),
    "user": EVENT["user"],
}
_NEEDED = ("doc_id", "reward", "propensity")
_NUMBERS = ("reward", "propensity", "position")


@dataclass(frozen=True, eq=False)
class ShownRows:
    """Rows of a log: numbers of queries, documents and lists, places from 0 on, propensities and rewards.

    `frame` has the columns `doc_id`, `position`, `reward`, `propensity`, `query_id`, `user` and `request`, and those of
    the file. `queries` are the ids by number, None where the log has none and all rows are alike. `request` numbers
    the lists, and `cluster` what is drawn at random, called `unit`.
    """

    frame: pl.DataFrame
    items: tuple[str, ...]
    item: Ints
    queries: tuple[str, ...] | None
    query: Ints
    place: Ints
    reward: Floats
    propensity: Floats
    request: Ints | None
    cluster: Ints | None
    unit: str
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def pair(self) -> Ints:
        """The number of each query and document together."""
        return self.query * len(self.items) + self.item

    def only(self, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> ShownRows:
        """Some of the rows."""
        return make_rows(self.frame.filter(pl.Series(kept)), self.sources, self.notes)


def read_shown(
    given: Any,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the name of the option
    queries: Mapping[str, str] | None = None,
) -> ShownRows:
    """Read a table of what was shown, or an event log, from a place or a frame; `queries` are texts by id."""
    if isinstance(given, ShownRows):
        return given
    if isinstance(given, Events):
        return _rows_of_events(given, queries)
    if isinstance(given, (str, os.PathLike)):
        if is_event_log(os.fspath(given)):
            return _rows_of_events(read_events(given, map=map), queries)
        source = Input.at(given)
        kind = format_of(source, None)
        kind = kind if kind in {"csv", "tsv", "jsonl", "parquet"} else "tsv" if source.suffix == ".tsv" else "csv"
        return _rows_of_table(tables.read_table(source, kind), source.label, (source.source,), map, queries)
    frame = tables.frame_of_records(given, "") if isinstance(given, list) else tables.frame_from(given)
    if frame is None:
        raise UsageError(say("give a file, a frame or an event log, not {kind}", kind=type(given).__name__))
    return _rows_of_table(frame, "", (), map, queries)


def _rows_of_table(
    frame: pl.DataFrame,
    label: str,
    sources: tuple[Source, ...],
    asked: Mapping[str, str] | None,
    texts: Mapping[str, str] | None,
) -> ShownRows:
    names = frame.columns
    used = dict(asked or {})
    for field, name in used.items():
        if field not in FIELDS or name not in names:
            raise InputError(
                say("no column {name} for {field}", name=excerpt(name), field=field),
                path=label or None,
                hint=say("the fields are {fields}", fields=list(FIELDS)),
            )
    free = [name for name in names if name not in used.values()]
    for field, heading in FIELDS.items():
        if field not in used:
            found = columns.find(
                free, heading, path=label, needed=say("logs to replay") if field in _NEEDED else ""
            )  # fmt: skip
            if found is not None:
                used[field] = found
    more = [pl.col(name) for name in names if name not in used.values() and name not in FIELDS]
    made = frame.select(*(_column(frame, field, used.get(field), label) for field in FIELDS), *more)
    return make_rows(_name_queries(made, texts), sources)


def _column(frame: pl.DataFrame, field: str, name: str | None, label: str) -> pl.Expr:
    """A column of ours from one of the file; numbers that cannot be read are refused with their place."""
    kind = pl.Float64 if field in _NUMBERS else pl.String
    if name is None:
        return pl.lit(None, kind).alias(field)
    value = pl.col(name)
    if field not in _NUMBERS:
        return value.cast(pl.String).alias(field)
    number = value.cast(pl.Float64, strict=False)
    read = frame.select(value=value.cast(pl.String), number=number)
    bad = read.with_row_index("row").filter(~pl.col("number").is_finite().fill_null(value=False))
    if field == "position":
        bad = bad.filter(pl.col("value").is_not_null())
    if len(bad):
        raise InputError(
            say("row {row}: {name} {value} is no number", row=bad["row"][0] + 1, name=name,
                value=excerpt(str(bad["value"][0]))),
            path=label or None,
        )  # fmt: skip
    return number.alias(field)


def _name_queries(frame: pl.DataFrame, texts: Mapping[str, str] | None) -> pl.DataFrame:
    """Give rows without the id of a query that of its text."""
    if frame["query_id"].is_not_null().any() or not frame["text"].is_not_null().any():
        return frame
    known = {plain_text(text): query for query, text in (texts or {}).items()}
    plain = {text: plain_text(text) for text in frame["text"].drop_nulls().unique()}
    ids = {text: known.get(one) or text_id(one) for text, one in plain.items()}
    return frame.with_columns(query_id=pl.col("text").replace_strict(ids, default=None, return_dtype=pl.String))


# Event logs -----------------------------------------------------------------------------------------------------------


def _rows_of_events(log: Events, texts: Mapping[str, str] | None) -> ShownRows:
    """One row for each result that was shown: its propensity is that of the impression, or of the interleaved list."""
    asked = log.collect(
        log.frame.filter(pl.col("action") == QUERY).select("query_id", "user", "text", "teams").unique("query_id")
    ).sort("query_id")
    seen = log.frame.filter((pl.col("action") == "impression") & pl.col("doc_id").is_not_null())
    shown = log.collect(seen.select("query_id", "doc_id", "position", "propensity"))
    shown = shown.sort("query_id", "position", nulls_last=True).unique(["query_id", "doc_id"], keep="first")
    listed = _read_teams(asked)
    silent = listed.join(shown.select("query_id"), on="query_id", how="anti")
    both = shown.join(listed, on=["query_id", "doc_id"], how="left", suffix="_listed").select(
        "query_id", "doc_id", pl.coalesce("position", "position_listed"), pl.coalesce("propensity", "propensity_listed")
    )
    rows = pl.concat([both, silent.select(both.columns)], how="vertical_relaxed")
    known = rows.filter(pl.col("propensity").is_not_null())
    if not len(known):
        raise InputError(
            say("no result of the log has a propensity: the probability of being shown where it was"),
            path=", ".join(one.portable for one in log.sources) or None,
            hint=say("log it with each impression (event_attributes.propensity), or with an interleaved list"),
        )
    clicks = log.frame.filter((pl.col("action") == "click") & pl.col("doc_id").is_not_null())
    clicked = log.collect(clicks.select("query_id", "doc_id").unique()).with_columns(reward=1.0)
    made = known.join(clicked, on=["query_id", "doc_id"], how="left").join(asked.drop("teams"), on="query_id")
    made = made.sort("query_id", "position", "doc_id").select(
        "doc_id", pl.col("position").cast(pl.Float64), pl.col("reward").fill_null(0.0), "propensity",
        pl.lit(None, pl.String).alias("query_id"), "text", pl.col("query_id").alias("request"), "user",
    )  # fmt: skip
    lost = len(rows) - len(known)
    notes: list[Said | str] = [*log.remarks, *([say("replay.no_propensity", n=lost, of=len(rows))] if lost else [])]
    return make_rows(_name_queries(made, texts), log.sources, tuple(notes))


def _read_teams(asked: pl.DataFrame) -> pl.DataFrame:
    """The documents of interleaved lists that were logged with their propensities."""
    found: list[tuple[str, str, int, float]] = []
    for query, text in asked.filter(pl.col("teams").is_not_null()).select("query_id", "teams").iter_rows():
        try:
            chances = msgspec.json.decode(text).get("propensities") or {}
            found += [(query, doc, place, float(p)) for place, (doc, p) in enumerate(chances.items(), 1)]
        except (msgspec.DecodeError, RecursionError, AttributeError, TypeError, ValueError):
            continue
    kinds = {"query_id": pl.String, "doc_id": pl.String, "position": pl.Int32, "propensity": pl.Float64}
    return pl.DataFrame(found, schema=kinds, orient="row")


# Rows -----------------------------------------------------------------------------------------------------------------


def make_rows(frame: pl.DataFrame, sources: tuple[Source, ...] = (), notes: tuple[str, ...] = ()) -> ShownRows:
    """Number what rows hold, and refuse values that cannot be."""
    _check(frame)
    item, items = _number(frame["doc_id"])
    named = frame["query_id"].is_not_null().all()
    query, queries = _number(frame["query_id"]) if named else (np.zeros(len(frame), np.int64), None)
    request = _number(frame["request"])[0] if frame["request"].is_not_null().all() else None
    unit = next((name for name in ("user", "request") if frame[name].is_not_null().all()), "row")
    cluster = None if unit == "row" else _number(frame[unit])[0]
    place = frame["position"].fill_null(1.0).cast(pl.Int64).to_numpy()
    return ShownRows(
        frame, items, item, queries, query, place - 1 if place.min() >= 1 else place, frame["reward"].to_numpy(),
        frame["propensity"].to_numpy(), request, cluster, unit, sources, notes,
    )  # fmt: skip


def _check(frame: pl.DataFrame) -> None:
    odd = frame.with_row_index("row").filter((pl.col("propensity") <= 0) | (pl.col("propensity") > 1))
    if len(odd):
        raise InputError(
            say("row {row}: the propensity {value:g} is not above 0 and at most 1", row=odd["row"][0] + 1,
                value=odd["propensity"][0])
        )  # fmt: skip
    below = frame.with_row_index("row").filter((pl.col("reward") < 0) | (pl.col("position") < 0))
    if len(below):
        raise InputError(say("row {row}: rewards and positions must not be below 0", row=below["row"][0] + 1))
    if frame["doc_id"].null_count():
        raise InputError(say("{n} {n:row has|rows have} no document", n=frame["doc_id"].null_count()))
    if not len(frame):
        raise InputError(say("the log has no rows that can be replayed"))


def _number(ids: pl.Series) -> tuple[Ints, tuple[str, ...]]:
    names = ids.unique().sort()
    codes = ids.to_frame("id").join(names.to_frame("id").with_row_index("code"), on="id", how="left",
                                    maintain_order="left")["code"]  # fmt: skip
    return codes.cast(pl.Int64).to_numpy(), tuple(names.to_list())
