"""FileRows of an event log against each other: repeated ones, wrong clocks, unknown queries, where positions begin.

Everything is found on a frame of hashes and numbers, some fifty bytes a row, so that a log of ten million events fits
into memory; texts are read only by those who use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from assay.data.events import QUERY, EventFault, Events, Quarantine, schema
from assay.data.ratings import settle_scales
from assay.errors import InputError, excerpt
from assay.formats.events import bots, variants
from assay.formats.events.faults import RowKeys
from assay.formats.events.positions import find_bases
from assay.formats.events.privacy import hash_users
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from assay.data.source import Source
    from assay.formats.events.positions import Bases
    from assay.formats.events.rows import FileRows

_OLDEST = datetime(2000, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(days=1)  # a clock may be in another zone
_EARLY = timedelta(minutes=1)  # how far clocks of a browser and a server may be apart
_SAME = ("query_id", "user", "time", "action", "doc_id", "position", "feedback", "dwell_ms", "latency_ms",
         "input_tokens", "output_tokens", "cost")  # fmt: skip
INHERITED = ("user", "session", "experiment", "variant")  # what an event has from its request where it has none


@dataclass(frozen=True)
class CleaningRules:
    """How a log is cleaned: where positions begin if that is known, what becomes of bots and of other spellings.

    With a `salt`, users and sessions have pseudonyms.
    """

    first_position: int | None = None
    bots: Literal["keep", "drop"] = "keep"
    fold_variants: bool = False
    salt: str | None = None


def clean(files: Sequence[FileRows], attributes: Sequence[str], rules: CleaningRules) -> Events:
    """Put the rows of files together, and set aside or merge those that no measure may count."""
    tables = [one.table or str(i) for i, one in enumerate(files)]
    places = [
        {"_file": pl.lit(i, pl.Int32), "_table": pl.lit(tables.index(one), pl.Int32)} for i, one in enumerate(tables)
    ]
    numbered = [one.frame.with_columns(**place) for one, place in zip(files, places, strict=True)]
    frame = pl.concat(numbered, how="vertical").with_row_index("_row")
    _check_attributes(frame, attributes)
    faults = [fault for one in files for fault in one.faults]
    log, found = set_aside(frame, [one.source.portable for one in files])
    faults += found
    faults += bots.find_bots(log, drop=rules.bots == "drop")
    faults += find_unknown(log)
    bases = find_bases(log.rows, rules.first_position)
    faults += find_shifted(log, bases)
    spellings = variants.find_spellings(variants.count_variants(frame).collect(engine="streaming"))
    faults += [*variants.spelling_faults(spellings, fold=rules.fold_variants), *variants.find_movers(log)]
    faults += find_without_impressions(log)
    missing = find_missing(log)
    notes = list(dict.fromkeys(note for one in files for note in one.notes))
    notes += say_inherited(missing)
    whole = finish(frame, log, bases, missing, spellings, rules=rules)
    settled, told = settle_scales(whole.select(*schema(), *attributes))
    notes += told
    return make_log(settled, attributes, tuple(one.source for one in files), faults, notes)


def set_aside(frame: pl.LazyFrame, labels: Sequence[str]) -> tuple[RowKeys, list[EventFault]]:
    """The keys of rows with `_row`, `_file` and `_line`, and the faults of those that are not counted.

    Whole requests may be looked at apart from others: what is found of some and of others is what is found of all.
    """
    log = RowKeys(frame.select(*_keys()).collect(engine="streaming"), labels)
    return log, [*_observe(log), *_set_aside(log)]


def find_unknown(log: RowKeys) -> list[EventFault]:
    """All events as they were read, repeated ones too, whose request is not in the log, or set aside."""
    return log.fault("unknown_query", _unknown(log, log.as_read))


def say_inherited(missing: Sequence[str]) -> list[str]:
    """Say which columns events have from their requests."""
    return [say("events.inherited", names=list(missing))] if missing else []


def finish(
    frame: pl.LazyFrame,
    log: RowKeys,
    bases: Bases,
    missing: Sequence[str],
    spellings: Mapping[str, str],
    *,
    rules: CleaningRules,
) -> pl.LazyFrame:
    """The rows that are counted, with what they have from their requests, positions from 1, and pseudonyms."""
    counted = _inherit(log.keep(frame), missing)
    if rules.fold_variants:
        counted = counted.with_columns(_fold(spellings))
    if rules.salt is not None:
        counted = hash_users(counted, rules.salt)
    return counted.with_columns(_positions(bases), _orphans(log))


def make_log(
    frame: pl.LazyFrame,
    attributes: Sequence[str],
    sources: tuple[Source, ...],
    faults: Sequence[EventFault],
    notes: Sequence[str] = (),
) -> Events:
    """A log with what was found in it, in words."""
    aside = tuple(Quarantine(one.sentence, one.rows, one.examples) for one in faults if one.fate == "quarantined")
    told = (*notes, *(fault.sentence for fault in faults if fault.fate != "quarantined"))
    return Events(frame, tuple(attributes), aside, sources, told, tuple(faults))


def _check_attributes(frame: pl.LazyFrame, attributes: Sequence[str]) -> None:
    """Refuse an attribute that no row has: its name is misspelled, or it is in another file."""
    if attributes:
        refuse_empty(attributes, find_filled(frame, attributes))


def find_filled(frame: pl.LazyFrame, attributes: Sequence[str]) -> set[str]:
    """The attributes that some row has."""
    filled = frame.select(pl.col(name).is_not_null().any() for name in attributes).collect(engine="streaming")
    return {name for name in attributes if filled[name].item()}


def refuse_empty(attributes: Sequence[str], filled: Collection[str]) -> None:
    """Refuse the first attribute that no row has."""
    for name in attributes:
        if name not in filled:
            raise InputError(say("no row of the log has the attribute {name}", name=excerpt(name)))


def _keys() -> list[pl.Expr | str]:
    """What the checks need of a row."""
    return [
        "_row", "_file", "_line", "time", "position", "_bare", "_bad_time", "_bad_number", "_no_zone",
        pl.col("query_id").hash().alias("query"),
        pl.col("query_id").is_null().alias("nameless"),
        pl.col("action").is_null().alias("actionless"),
        pl.col("user").hash().alias("user"),
        pl.col("experiment").hash().alias("experiment"),
        pl.when(pl.col("variant").is_not_null()).then(pl.col("variant").hash()).alias("variant"),
        *(pl.col(name).is_null().alias(f"no_{name}") for name in INHERITED),
        name_application().hash().alias("application"),
        pl.struct(*_SAME).hash().alias("same"),
        _is("query").alias("request"),
        _is("impression").alias("impression"),
        _is("click").alias("click"),
        pl.col("results").list.len().alias("size"),
        bots.is_named_so().alias("bot"),
    ]  # fmt: skip


def _is(action: str) -> pl.Expr:
    return (pl.col("action") == action).fill_null(value=False)


def name_application() -> pl.Expr:
    """The application of a row; rows without one belong together by their file, or their table."""
    return pl.concat_str(pl.col("_application").fill_null(""), pl.lit("\n"), pl.col("_table").cast(pl.String))


def _observe(log: RowKeys) -> list[EventFault]:
    """What is worth knowing of rows as they were read."""
    return [
        *log.fault("bare", log.rows.filter("_bare")),
        *log.fault("no_zone", log.rows.filter("_no_zone")),
        *log.fault("bad_number", log.rows.filter("_bad_number")),
    ]


def _requests(log: RowKeys) -> pl.LazyFrame:
    return log.rows.filter(pl.col("request") & ~pl.col("nameless"))


def _unknown(log: RowKeys, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Events whose request is not in the log, or set aside."""
    return rows.filter(~pl.col("request")).join(_requests(log), on="query", how="anti")


def _set_aside(log: RowKeys) -> list[EventFault]:
    """FileRows that are not counted, and events that are a little earlier than their requests."""
    faults = log.fault("no_action", log.rows.filter("actionless"), "quarantined")
    faults += log.fault("bad_time", log.rows.filter("_bad_time"), "quarantined")
    wrong = (pl.col("time") < _OLDEST) | (pl.col("time") > datetime.now(UTC) + _AHEAD)
    faults += log.fault("clock", log.rows.filter(wrong), "quarantined")
    single = ~pl.col("request") | pl.col("nameless")
    again = log.rows.filter(single & pl.col("time").is_not_null()).filter(~pl.col("same").is_first_distinct())
    faults += log.fault("duplicate", again, "merged")
    faults += _merge_requests(log)
    faults += log.fault("long_before", _earlier_by(log, _EARLY), "quarantined")
    return [*faults, *log.fault("skew", _earlier_by(log, timedelta(0)))]


def _merge_requests(log: RowKeys) -> list[EventFault]:
    """One request for each query: the one that returned most; others were for facets, or further pages."""
    several = _requests(log).filter(pl.col("query").is_duplicated())
    requests = several.select("_row", "_file", "_line", "query", "user", "size", "time").collect()
    order = requests.sort(pl.col("size"), "time", "_row", descending=[True, False, False], nulls_last=True)
    best = order.unique("query", keep="first", maintain_order=True)
    others = requests.join(best, on="_row", how="anti").join(best.select("query", owner="user"), on="query").lazy()
    own = pl.col("user") == pl.col("owner")
    events = _events_of_others(log, best.select("query", owner="user"), others.filter(~own))
    aside = pl.concat([others.filter(~own).select("_row", "_file", "_line"), events])
    faults = log.fault("shared_query", aside, "quarantined")
    return [*faults, *log.fault("repeated_request", others.filter(own), "merged")]


def _events_of_others(log: RowKeys, owners: pl.DataFrame, foreign: pl.LazyFrame) -> pl.LazyFrame:
    """Events of a query id that several users have, and that are not those of the user whose request is counted."""
    events = log.rows.filter(~pl.col("request")).join(foreign, on="query", how="semi").join(owners.lazy(), on="query")
    return events.filter(pl.col("user") != pl.col("owner")).select("_row", "_file", "_line")


def _earlier_by(log: RowKeys, most: timedelta) -> pl.LazyFrame:
    """Events that happened earlier than their request by more than this."""
    times = _requests(log).group_by("query").agg(asked=pl.col("time").min())
    return log.rows.filter(~pl.col("request")).join(times, on="query").filter(pl.col("asked") - pl.col("time") > most)


def find_shifted(log: RowKeys, bases: Bases) -> list[EventFault]:
    """FileRows whose positions were counted from 0, and those of which that is not known."""
    rows = log.rows.filter(pl.col("position").is_not_null()).join(bases.changes.lazy(), on=["query", "application"])
    zero, unknown = rows.filter(pl.col("base") == 0), rows.filter(pl.col("base").is_null())
    mixed = "mixed_positions" if bases.count(1) else "positions_from_zero"
    return [
        *log.fault(mixed, zero, zeros=bases.count(0), ones=bases.count(1)),
        *log.fault("unknown_positions", unknown, queries=bases.count(None)),
    ]


def find_without_impressions(log: RowKeys) -> list[EventFault]:
    """Queries with clicks of which nobody knows what was shown."""
    seen = log.rows.filter(pl.col("impression") | (pl.col("size") > 0))
    clicks = log.rows.filter(pl.col("click") & ~pl.col("nameless")).join(seen, on="query", how="anti")
    return log.fault("no_impressions", clicks.unique("query", keep="first", maintain_order=True))


def find_missing(log: RowKeys) -> list[str]:
    """What some events lack and their requests have."""
    found = []
    for name in INHERITED:
        has = _requests(log).filter(~pl.col(f"no_{name}")).select("query")
        lack = log.rows.filter(~pl.col("request") & pl.col(f"no_{name}")).select("query")
        if not lack.join(has, on="query", how="semi").head(1).collect().is_empty():
            found.append(name)
    return found


def _inherit(frame: pl.LazyFrame, missing: Sequence[str]) -> pl.LazyFrame:
    """Give events what their requests have of these columns, where they have nothing of their own."""
    if not missing:
        return frame
    requests = frame.filter(pl.col("action") == QUERY, pl.col("query_id").is_not_null())
    given = requests.select("query_id", *(pl.col(name).alias(f"_{name}") for name in missing))
    joined = frame.join(given, on="query_id", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce(name, f"_{name}").alias(name) for name in missing)


def _fold(spellings: Mapping[str, str]) -> pl.Expr:
    """The usual spelling of each variant, part by part: the expression `replace` would hold all rows in memory."""
    variant = pl.col("variant")
    return variant.map_batches(lambda part: part.replace(spellings), return_dtype=pl.String, is_elementwise=True)


def _positions(bases: Bases) -> pl.Expr:
    """Positions that begin at 1; null where it is not known where they begin."""
    position, changes = pl.col("position"), bases.changes
    if changes.is_empty():
        return position
    group = pl.struct(query=pl.col("query_id").hash(), application=name_application().hash()).hash()
    zero = _groups(changes.filter(pl.col("base") == 0))
    unknown = _groups(changes.filter(pl.col("base").is_null()))
    return (
        pl.when(group.is_in(zero.implode()))
        .then(position + 1)
        .when(~group.is_in(unknown.implode()))
        .then(position)
        .alias("position")
    )


def _groups(queries: pl.DataFrame) -> pl.Series:
    return queries.select(pl.struct("query", "application").hash()).to_series()


def _orphans(log: RowKeys) -> pl.Expr:
    """Whether the request of an event is not in the log."""
    unknown = _unknown(log, log.rows).select(pl.col("query").unique()).collect().to_series()
    lone = pl.col("query_id").hash().is_in(unknown.implode()) if len(unknown) else pl.lit(value=False)
    return (lone & (pl.col("action") != QUERY)).alias("orphan")
