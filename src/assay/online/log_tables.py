"""An event log in tables of any size: read, cleaned and reduced by users where it is, on a cluster or on this machine.

What comes to this process are sums, tallies and rows of users. The result is a log like any other for all who only ask
for `over_users`; what needs every event in one place is refused.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.analysis.evaluate_tables import engine_of
from assay.data.events import EventFault, Events, schema
from assay.data.ratings import choose_scale
from assay.data.source import Source
from assay.engines.local import has_lines
from assay.engines.spark import is_spark_frame
from assay.errors import InputError, UsageError
from assay.formats.events.cleaning import INHERITED, CleaningRules, make_log, refuse_empty, say_inherited
from assay.formats.events.positions import find_common
from assay.formats.events.privacy import key_of_salt
from assay.formats.events.reading import open_log
from assay.formats.events.tables import find_used, rows_of_table
from assay.formats.events.variants import find_spellings, spelling_faults
from assay.lazy import pl
from assay.messages import say
from assay.online.impressions import (
    LEFT_OUT,
    PairCounts,
    QueryTexts,
    count_pairs,
    name_texts,
    refuse_textless,
    refuse_unseen,
)
from assay.online.log_kernels import (
    KEY_OF_PAIR,
    NUMBER,
    ORDER,
    REQUEST,
    TALLY,
    UNIT,
    AddPairs,
    CountFacts,
    CountPairs,
    FindPrograms,
    FinishRows,
    ListDeeds,
    LogFacts,
    OpenTallies,
    QueryUsers,
    ReadLines,
    ReadTable,
)
from assay.stats.click_models import Cells, UserSums, design_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assay.engines.engine import Engine, Rows
    from assay.online.impressions import ShownPairs

_NO_TABLES = (".csv", ".tsv", ".gz", ".json")
# Kinds of faults in the order in which a log that is read in one place has them.
_KINDS = ("schema", "no_json", "no_document", "bare", "no_zone", "bad_number", "no_action", "bad_time", "clock",
          "duplicate", "shared_query", "repeated_request", "long_before", "skew", "bots", "bots_dropped",
          "unknown_query", "mixed_positions", "positions_from_zero", "unknown_positions", "spellings",
          "folded_variants", "two_variants", "no_impressions")  # fmt: skip


class TableEvents(Events):
    """The cleaned rows of a log, whole users together, where an engine keeps them."""

    def __init__(self, rows: Rows, log: Events, changes: tuple[Any, ...] = ()) -> None:
        own = {"rows": rows, "changes": changes, "log": log}
        known = {name: getattr(log, name) for name in ("attributes", "quarantine", "sources", "notes", "faults")}
        for name, value in {**own, **known}.items():
            object.__setattr__(self, name, value)

    rows: Rows
    changes: tuple[Any, ...]
    log: Events

    @property
    def frame(self) -> pl.LazyFrame:
        """No frame holds the rows."""
        raise UsageError(
            say("this needs all events in one place, and an engine has them in parts: read the log without --engine")
        )

    def over_users(self, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Rows that a query makes of whole users, where they are."""
        kernel = QueryUsers(self.attributes, self.changes, query)
        found = self.rows.map_kept(kernel, UNIT).collect()["frame"]
        empty = query(kernel.open(self.log.frame.collect())).collect()
        return pl.concat([empty, *(pl.read_ipc(BytesIO(part)) for part in found)])

    def change(self, change: Callable[[pl.LazyFrame], pl.LazyFrame]) -> TableEvents:
        """The log with other rows, each of them made of one row."""
        return TableEvents(self.rows, self.log, (*self.changes, change))

    def count_pairs(self, known: Mapping[str, str] | None, *, positions: bool) -> PairCounts:
        """Find what was shown and clicked, as `impressions.count_pairs` does."""
        counted = self.rows.map_kept(CountPairs(self.attributes, self.changes, positions), UNIT)
        return _join_counts(counted.map_groups(AddPairs(), KEY_OF_PAIR), known)


def find_shown_pairs(events: Events, known: Mapping[str, str] | None, *, positions: bool) -> ShownPairs | PairCounts:
    """Count pairs of a text and a document wherever the log is."""
    if isinstance(events, TableEvents):
        return events.count_pairs(known, positions=positions)
    return count_pairs(events, known=known, positions=positions)


@contextmanager
def open_events(events: Any, attributes: Sequence[str] = (), *, engine: str | Engine | None = None) -> Iterator[Events]:
    """A log as it is, or read from its places, by an engine where one is asked for or frames of Spark are given."""
    if isinstance(events, Events) or ((engine is None or engine == "local") and not _are_frames(events)):
        yield open_log(events, attributes)
        return
    with read_event_tables(events, engine=engine, attributes=attributes) as log:
        yield log


def _are_frames(events: Any) -> bool:
    return any(map(is_spark_frame, events if isinstance(events, (list, tuple)) else [events]))


@contextmanager
def read_event_tables(
    places: Any,
    *,
    engine: str | Engine | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the name of the option
    attributes: Sequence[str] = (),
    first_position: int | None = None,
    bots: Literal["keep", "drop"] = "keep",
    fold_variants: bool = False,
    salt: str | None = None,
) -> Iterator[Events]:
    """Read an event log with an engine: frames of Spark, tables, Parquet, UBI in lines of JSON.

    The rows are kept in the workers until the block ends. All else is as `read_events` has it.

    >>> import assay, polars as pl
    >>> rows = {"query_id": ["1", "1", "2"], "user": ["ann", "ann", "bob"], "action": ["query", "click", "query"]}
    >>> pl.DataFrame(rows).write_parquet("events.parquet")
    >>> with assay.read_event_tables("events.parquet", engine="local") as log:
    ...     assay.log_metrics(log, "any_click").value("any_click").interval.estimate
    0.5
    """
    named = list(places) if isinstance(places, (list, tuple)) else [places]
    where = engine_of(engine, *named)
    rules = CleaningRules(first_position, bots, fold_variants, salt)
    if salt is not None:
        key_of_salt(salt)
    asked = tuple(name for name in dict.fromkeys(attributes) if name not in schema())
    read = [_read_rows(where, one, dict(map or {}), asked) for one in named]
    rows = reduce(lambda one, other: one.beside(other), [rows for rows, _ in read])
    kept: list[Rows] = []

    def keep(rows: Rows) -> Rows:
        kept.append(rows)
        return rows

    try:
        by_request = keep(rows.regroup(REQUEST, ORDER))
        people, facts = _find_facts(by_request, asked, rules)
        finished = by_request.map_kept(FinishRows(asked, rules, facts), REQUEST)
        by_user = keep(finished.regroup(UNIT, (REQUEST, NUMBER)))
        ends = _open(by_user.map_kept(OpenTallies(), UNIT).collect())
        _refuse_strangers(ends, named)
        notes = [*dict.fromkeys(note for _, told in read for note in told)]
        notes += say_inherited([name for name in INHERITED if any(name in one["missing"] for one in ends)])
        bare, stars, thumbs = ([one["bare"][i] for one in ends] for i in range(3))
        settling, told = choose_scale(sum(bare), any(stars), any(thumbs))
        faults = _add_faults(people, ends, spelling_faults(facts.spellings, fold=fold_variants))
        empty = pl.LazyFrame(schema={**schema(), **dict.fromkeys(asked, pl.String)})
        log = TableEvents(by_user, make_log(empty, asked, _sources(named), faults, [*notes, *told]))
        yield log if settling is None else log.change(lambda frame: frame.with_columns(settling))
    finally:
        for one in kept:
            one.release()


# Reading --------------------------------------------------------------------------------------------------------------


def _read_rows(
    where: Engine, data: Any, asked: Mapping[str, str], attributes: tuple[str, ...]
) -> tuple[Rows, tuple[str, ...]]:
    """The rows of a place or a frame, and what is to be said of their columns."""
    place = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
    if place and has_lines(place):
        return where.scan_lines(place, ordered=True).map_rows(ReadLines(place, attributes)), ()
    if place.lower().endswith(_NO_TABLES):
        raise InputError(
            say("an engine reads event logs in Parquet, in tables and in lines of JSON, not in files of this kind"),
            path=place,
            hint=say("leave out --engine, or write the log as Parquet"),
        )
    label, columns = place or say("frame"), where.schema(data)
    numbered = pl.LazyFrame(schema=columns).with_row_index("_line")
    notes = rows_of_table(numbered, Source(label), asked, attributes, ()).notes
    rows = where.scan_columns(data, find_used(columns, label, asked, attributes))
    return rows.map_rows(ReadTable(label, attributes, asked)), notes


def _sources(places: Sequence[Any]) -> tuple[Source, ...]:
    named = [os.fspath(one) for one in places if isinstance(one, (str, os.PathLike))]
    return tuple(Source(one, Path(one) if Path(one).exists() else None) for one in named)


def _refuse_strangers(tallies: Sequence[Mapping[str, Any]], places: Sequence[Any]) -> None:
    """Refuse lines none of which is UBI's."""
    if any(one["rows"] for one in tallies) or not any(one["lost"] for one in tallies):
        return
    raise InputError(
        say("no line of this file is a query or an event"),
        path=next((one.label for one in _sources(places)), None),
        hint=say("an engine reads UBI queries and events, one JSON object per line; write other lines as Parquet"),
    )


# Facts and faults -----------------------------------------------------------------------------------------------------


def _open(tallies: pl.DataFrame) -> list[dict[str, Any]]:
    return [json.loads(text) for text in tallies[TALLY]]


def _find_facts(rows: Rows, attributes: tuple[str, ...], rules: CleaningRules) -> tuple[list[dict[str, Any]], LogFacts]:
    """What was found of users, and what cleaning needs to know of all rows."""
    none, drop = LogFacts(), rules.bots == "drop"
    deeds = rows.map_kept(ListDeeds(attributes, rules, none), REQUEST)
    people = _open(deeds.map_groups(FindPrograms(drop), "user"))
    first = replace(none, programs=frozenset(name for one in people for name in one["programs"]))
    counts = _open(rows.map_kept(CountFacts(attributes, rules, first), REQUEST).collect())
    refuse_empty(attributes, {name for one in counts for name in one["filled"]})
    variants = [(name, n) for one in counts for name, n in one["variants"].items()]
    spelled = pl.DataFrame(variants, schema={"variant": pl.String, "len": pl.Int64}, orient="row")
    bases = [(name, *base) for one in counts for name, base in one["applications"].items()]
    kinds = {"application": pl.String, "low": pl.Int8, "high": pl.Int8, "one": pl.Boolean}
    together = pl.DataFrame(bases, schema=kinds, orient="row").group_by("application")
    common = find_common(together.agg(pl.col("low").min(), pl.col("high").max(), pl.col("one").any()))
    return people, replace(
        first,
        applications=dict(common.iter_rows()),
        spellings=find_spellings(spelled.group_by("variant").agg(pl.col("len").sum())),
        held=frozenset(name for one in counts for name in one["held"]),
    )


def _add_faults(
    people: Sequence[Mapping[str, Any]], ends: Sequence[Mapping[str, Any]], more: Sequence[EventFault]
) -> list[EventFault]:
    """The faults of all workers, in the order of those of a log that is read in one place."""
    found: dict[str, EventFault] = {one.kind: one for one in more}

    def add(kind: str, fate: Any, rows: int, values: Mapping[str, int]) -> None:
        old = found.get(kind, EventFault(kind, 0, (), fate))
        both = {name: old.values.get(name, 0) + n for name, n in values.items()}
        found[kind] = EventFault(kind, old.rows + rows, (), fate, both)

    for tally in (*people, *ends):
        for kind, fate, rows, values in tally["faults"]:
            add(kind, fate, rows, values)
    for tally in ends:
        for kind, rows in tally["lost"].items():
            add(kind, "quarantined", rows, {})
    zeros, ones, unknown = (sum(one["bases"][i] for one in ends) for i in range(3))
    from_zero, nowhere = (
        sum(n for one in ends for kind, n in one["shifted"].items() if (kind == "unknown_positions") == lost)
        for lost in (False, True)
    )
    if from_zero:
        add("mixed_positions" if ones else "positions_from_zero", "kept", from_zero, {"zeros": zeros, "ones": ones})
    if nowhere:
        add("unknown_positions", "kept", nowhere, {"queries": unknown})
    return sorted(found.values(), key=lambda one: _KINDS.index(one.kind))


# Clicks ---------------------------------------------------------------------------------------------------------------


def _join_counts(table: pl.DataFrame, known: Mapping[str, str] | None) -> PairCounts:
    """Number texts, pairs and positions as `count_pairs` does: by the alphabet, whoever counted them."""
    of = table.partition_by("kind", as_dict=True)
    texts = of.get(("text",), table.head(0)).sort("spelling").with_row_index("query")
    ids = tuple(map(name_texts(known), texts["text"]))
    spelled = tuple(texts["spelling"])
    shown = tuple(" ".join(one.split()) for one in spelled)
    queries = refuse_textless(QueryTexts(texts.select("text"), ids, spelled, shown, tuple(texts["n0"])))
    refuse_unseen([1] if ("pair",) in of else [])
    pairs = of["pair",].join(texts.select("text", "query"), on="text").sort("query", "doc_id").with_row_index("pair")
    keys = pairs.select("text", "doc_id", "pair")
    cells = of["cell",].join(keys, on=["text", "doc_id"]).sort("pair", "position")
    left = dict(of["left",].select("doc_id", "n0").iter_rows())
    counts = Cells(
        cells["pair"].cast(pl.Int64).to_numpy(),
        cells["position"].to_numpy() - 1,
        *(cells[name].cast(pl.Float64).to_numpy() for name in ("n0", "n1")),
        *(design_effects(_sums_of(rows)) for rows in (pairs, of["place",].sort("position"))),
    )
    return PairCounts(
        queries, pairs["query"].cast(pl.Int64).to_numpy(), tuple(pairs["doc_id"]), counts,
        {name: left[name] for name in LEFT_OUT}, left["requests"], left["returned"],
    )  # fmt: skip


def _sums_of(rows: pl.DataFrame) -> UserSums:
    return UserSums(*(rows[f"n{i}"].cast(pl.Float64).to_numpy() for i in range(5)))
