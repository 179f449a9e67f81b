"""Rows of an event log against each other: repeated ones, wrong clocks, unknown queries, where positions begin.

Everything is found on a frame of hashes and numbers, some fifty bytes a row, so that a log of ten million events fits
into memory; texts are read only by those who use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from assay.data.events import QUERY, Events, Quarantine, schema
from assay.formats.events.faults import EXAMPLES, Fate, Fault
from assay.formats.events.positions import find_bases
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.formats.events.positions import Bases
    from assay.formats.events.rows import Rows

_OLDEST = datetime(2000, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)  # a clock may be in another zone
_EARLY = timedelta(minutes=1)  # how far clocks of a browser and a server may be apart
_SAME = ("query_id", "user", "time", "action", "doc_id", "position")


@dataclass(frozen=True)
class Rules:
    """How a log is cleaned: where positions begin if that is known, and the time of now."""

    first_position: int | None = None
    now: datetime | None = None


@dataclass(frozen=True)
class Cleaning:
    """A log that may be counted, with every fault that was found in it."""

    events: Events
    faults: tuple[Fault, ...]


def clean(files: Sequence[Rows], attributes: Sequence[str], rules: Rules) -> Cleaning:
    """Put the rows of files together, and set aside or merge those that no measure may count."""
    labels = [one.source.portable for one in files]
    frame = pl.concat(
        [one.frame.with_columns(_file=pl.lit(i, pl.Int32)) for i, one in enumerate(files)], how="vertical"
    ).with_row_index("_row")
    log = _Log(frame.select(*_keys()).collect(engine="streaming"), labels)
    faults = [fault for one in files for fault in one.faults]
    faults += _observe(log)
    faults += _set_aside(log, rules)
    bases = find_bases(log.keys, rules.first_position)
    faults += _position_faults(log, bases)
    notes = [note for one in files for note in one.notes]
    notes += [fault.sentence for fault in faults if fault.fate != "quarantined"]
    aside = tuple(Quarantine(one.sentence, one.rows, one.examples) for one in faults if one.fate == "quarantined")
    whole = _apply(frame, log, bases).select(*schema(), *attributes)
    events = Events(whole, tuple(attributes), aside, tuple(one.source for one in files), tuple(notes))
    return Cleaning(events, tuple(faults))


def _keys() -> list[pl.Expr | str]:
    """What the checks need of a row."""
    return [
        "_row", "_file", "_line", "time", "position", "_bare", "_bad_time", "_bad_position", "_no_zone",
        pl.col("query_id").hash().alias("query"),
        pl.col("query_id").is_null().alias("nameless"),
        pl.col("user").hash().alias("user"),
        _application().alias("application"),
        pl.struct(*_SAME).hash().alias("same"),
        (pl.col("action") == QUERY).fill_null(value=False).alias("request"),
        (pl.col("action") == "impression").fill_null(value=False).alias("impression"),
        pl.col("results").list.len().alias("size"),
    ]  # fmt: skip


def _application() -> pl.Expr:
    """The application of a row; rows without one belong together by their file."""
    return pl.concat_str(pl.col("_application").fill_null(""), pl.lit("\n"), pl.col("_file").cast(pl.String)).hash()


class _Log:
    """The keys of rows that are still counted, and those that are not."""

    def __init__(self, keys: pl.DataFrame, labels: Sequence[str]) -> None:
        self.keys = keys
        self.labels = labels
        self.dropped: list[pl.Series] = []

    def fault(self, kind: str, rows: pl.DataFrame, fate: Fate = "kept", **values: int) -> list[Fault]:
        """A fault of these rows, if there are any; those that are not kept leave the log."""
        if rows.is_empty():
            return []
        shown = rows.sort("_row").head(EXAMPLES)
        places = tuple(f"{self.labels[i]}:{n}" for i, n in zip(shown["_file"], shown["_line"], strict=True))
        if fate != "kept":
            self.dropped.append(rows["_row"])
            self.keys = self.keys.join(rows.select("_row"), on="_row", how="anti", maintain_order="left")
        return [Fault(kind, len(rows), places, fate, values)]


def _set_aside(log: _Log, rules: Rules) -> list[Fault]:
    """Rows that are not counted, and events that are a little earlier than their requests."""
    latest = (rules.now or datetime.now(UTC)) + _AHEAD
    faults = log.fault("bad_time", log.keys.filter("_bad_time"), "quarantined")
    wrong = (pl.col("time") < _OLDEST) | (pl.col("time") > latest)
    faults += log.fault("clock", log.keys.filter(wrong), "quarantined")
    single = ~pl.col("request") | pl.col("nameless")
    again = log.keys.filter(single & pl.col("time").is_not_null()).filter(~pl.col("same").is_first_distinct())
    faults += log.fault("duplicate", again, "merged")
    faults += _merge_requests(log)
    faults += log.fault("long_before", log.keys.filter(_time_before(log) > _EARLY), "quarantined")
    return [*faults, *log.fault("skew", log.keys.filter(_time_before(log) > timedelta(0)))]


def _merge_requests(log: _Log) -> list[Fault]:
    """One request for each query: the one that returned most; others were for facets, or further pages."""
    requests = log.keys.filter(pl.col("request") & ~pl.col("nameless"))
    order = requests.sort(pl.col("size"), "time", "_row", descending=[True, False, False], nulls_last=True)
    best = order.unique("query", keep="first", maintain_order=True)
    others = requests.join(best.select("_row"), on="_row", how="anti")
    owners = others.join(best.select("query", owner="user"), on="query")
    strange = owners.filter(pl.col("user") != pl.col("owner")).drop("owner")
    faults = log.fault("shared_query", strange, "quarantined")
    same = owners.filter(pl.col("user") == pl.col("owner")).drop("owner")
    return [*faults, *log.fault("repeated_request", same, "merged")]


def _time_before(log: _Log) -> pl.Series:
    """How long before its request an event happened, row by row."""
    times = log.keys.filter("request").group_by("query").agg(asked=pl.col("time").min())
    return log.keys.join(times, on="query", how="left", maintain_order="left").select(
        early=pl.when(~pl.col("request")).then(pl.col("asked") - pl.col("time"))
    )["early"]


def _observe(log: _Log) -> list[Fault]:
    """What is worth knowing of rows as they were read."""
    known = log.keys.filter(pl.col("request") & ~pl.col("nameless")).select("query")
    unknown = log.keys.filter(~pl.col("request")).join(known, on="query", how="anti")
    return [
        *log.fault("unknown_query", unknown),
        *log.fault("bare", log.keys.filter("_bare")),
        *log.fault("no_zone", log.keys.filter("_no_zone")),
        *log.fault("bad_position", log.keys.filter("_bad_position")),
    ]


def _position_faults(log: _Log, bases: Bases) -> list[Fault]:
    """Rows whose positions were counted from 0, and those of which that is not known."""
    rows = log.keys.filter(pl.col("position").is_not_null()).join(bases.changes, on=["query", "application"])
    zero, unknown = rows.filter(pl.col("base") == 0), rows.filter(pl.col("base").is_null())
    mixed = "mixed_positions" if bases.count(1) else "positions_from_zero"
    return [
        *log.fault(mixed, zero, zeros=bases.count(0), ones=bases.count(1)),
        *log.fault("unknown_positions", unknown, queries=bases.count(None)),
    ]


def _apply(frame: pl.LazyFrame, log: _Log, bases: Bases) -> pl.LazyFrame:
    """The rows that are counted, with positions that begin at 1."""
    if log.dropped:
        gone = pl.concat(log.dropped).to_frame("_row").lazy()
        frame = frame.join(gone, on="_row", how="anti", maintain_order="left")
    changes = bases.changes
    if changes.is_empty():
        return frame
    frame = frame.with_columns(_query=pl.col("query_id").hash(), _group=_application())
    begin = changes.rename({"query": "_query", "application": "_group"}).with_columns(_found=pl.lit(1)).lazy()
    frame = frame.join(begin, on=["_query", "_group"], how="left", maintain_order="left")
    shifted = pl.when(pl.col("base") == 0).then(pl.col("position") + 1)
    return frame.with_columns(position=pl.when(pl.col("_found").is_null()).then(pl.col("position")).otherwise(shifted))
