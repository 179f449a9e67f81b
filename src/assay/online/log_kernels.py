"""Kernels that read, clean and reduce an event log where it is: rows by rows, then whole requests, then whole users.

They are the steps of `formats/events/cleaning`, each taken by a worker for the requests that it has. What only all rows
together say (where positions begin, which spelling is usual, who is a program) is counted in tallies, rows of their own
that are added up by `log_tables`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

from assay.data.events import QUERY, Events, schema
from assay.data.ratings import count_bare
from assay.data.source import Source
from assay.engines.engine import BLOCK, FILE, LINE, PLACE
from assay.formats.events import bots, variants
from assay.formats.events.cleaning import (
    CleaningRules,
    find_filled,
    find_missing,
    find_shifted,
    find_unknown,
    find_without_impressions,
    finish,
    name_application,
    set_aside,
)
from assay.formats.events.faults import LineFaults, RowKeys
from assay.formats.events.positions import count_bases, join_bases, look_at_queries
from assay.formats.events.rows import columns_of
from assay.formats.events.tables import rows_of_table
from assay.formats.events.ubi import read_slice
from assay.lazy import pl
from assay.online.impressions import find_pairs, plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.events import EventFault
    from assay.formats.events.positions import Bases
    from assay.stats.click_models import UserSums

Query = "Callable[[pl.LazyFrame], pl.LazyFrame]"

ORDER = (FILE, BLOCK, PLACE)
# Besides the columns of a log: the request that a row belongs to, why a line is no row, its order, and whose it is.
REQUEST, LOST, NUMBER, UNIT, TALLY = "assay request", "assay lost", "assay number", "assay unit", "assay tally"
_TYPES = {"String": "string", "Boolean": "boolean", "Int32": "int", "Int64": "long", "Float64": "double"}
_DEEDS = {"user": "string", "time": "long", "request": "boolean", "bot": "boolean", "experiment": "string",
          "variant": "string"}  # fmt: skip
_FLAGS = ("_bare", "_bad_time", "_bad_number", "_no_zone")


def _columns_of_log() -> dict[str, str]:
    """Names and types of the columns of a log; times are whole numbers, as engines have clocks of their own."""
    found = {name: _TYPES.get(str(kind), "long") for name, kind in schema().items()}
    return {**found, "results": "strings"}


def _write_times(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("time").cast(pl.Int64))


def _read_times(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


def _make_tally(columns: Mapping[str, str], found: Mapping[str, Any]) -> pl.DataFrame:
    """A row that holds only what was counted."""
    return pl.DataFrame({TALLY: [json.dumps(found)]}, schema={TALLY: pl.String}).select(
        *(pl.col(TALLY) if name == TALLY else pl.lit(None).alias(name) for name in columns)
    )


def faults_as_plain(faults: Sequence[EventFault]) -> list[list[Any]]:
    """Faults as a tally has them: their places in files are left out, as a worker knows only its own rows."""
    return [[one.kind, one.fate, one.rows, dict(one.values)] for one in faults]


# Reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ReadRows:
    """What becomes of rows that were understood: they are given the request that they belong to."""

    label: str
    attributes: tuple[str, ...]

    @cached_property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        found = {name: kind for name, kind in _columns_of_log().items() if name != "orphan"}
        found |= dict.fromkeys(self.attributes, "string") | dict.fromkeys(("_application", "_agent"), "string")
        found |= dict.fromkeys(_FLAGS, "boolean")
        return found | {REQUEST: "string", LOST: "string", FILE: "string", BLOCK: "long", PLACE: "long"}

    @property
    def origin(self) -> pl.Expr:
        """What rows without an application have in common: their file."""
        return pl.col(FILE)

    def number(self, frame: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
        """Add where rows are and what they belong to; rows without a place are ordered by what they hold."""
        found = _write_times(frame.drop("_line"))
        alone = pl.concat_str(pl.lit("\n"), pl.col("user").fill_null(""), pl.lit("\n"), pl.col("time").fill_null(0))
        by_content = pl.struct(pl.all()).hash().reinterpret(signed=True)
        found = found.with_columns(
            pl.coalesce("query_id", alone).alias(REQUEST), pl.lit(None, pl.String).alias(LOST),
            by_content.alias("by content"),
        ).hstack(places)  # fmt: skip
        application = pl.concat_str(pl.col("_application").fill_null(""), pl.lit("\n"), self.origin)
        placed = found.with_columns(pl.coalesce(PLACE, "by content").alias(PLACE), application.alias("_application"))
        return placed.select(*self.columns)


@dataclass(frozen=True)
class ReadTable(_ReadRows):
    """Understands the rows of a table as those of a log; `asked` names columns."""

    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> pl.Expr:
        """The table: its files are no more than parts."""
        return pl.lit(self.label)

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Read some rows."""
        frame = rows.drop(*ORDER).with_row_index("_line").lazy()
        found = rows_of_table(frame, Source(self.label), self.asked, self.attributes, ())
        return self.number(found.frame.collect(), rows.select(*ORDER))


@dataclass(frozen=True)
class ReadLines(_ReadRows):
    """Understands lines of JSON as UBI's queries and events; a line that is none of them is counted."""

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Read some lines."""
        tally = LineFaults()
        data = "\n".join(line.removeprefix("\ufeff") for line in rows[LINE]).encode()
        read = read_slice(data, 1, self.label, self.attributes, tally).select(columns_of(self.attributes))
        places = rows.select(*ORDER)[(read["_line"] - 1).to_list()]
        # Only the last line of a file can be cut off, and a worker does not know which that is.
        lost = ["no_json" if one.kind == "truncated" else one.kind for one in tally.faults for _ in range(one.rows)]
        gone = pl.DataFrame({LOST: lost}, schema={LOST: pl.String})
        return pl.concat([self.number(read, places), gone], how="diagonal").select(*self.columns)


# Cleaning -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogFacts:
    """What only all rows of a log say: where positions of applications begin, spellings, programs, whose requests.

    `held` are those of user and session that some request has itself.
    """

    applications: Mapping[str, int | None] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _CleanRequests:
    """The rows of whole requests, and those of them that are counted."""

    attributes: tuple[str, ...]
    rules: CleaningRules
    facts: LogFacts

    @cached_property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        raise NotImplementedError

    def open(self, rows: pl.DataFrame) -> tuple[pl.LazyFrame, RowKeys, list[EventFault]]:
        """The rows with their numbers, their keys, and what is wrong with them."""
        known = _read_times(rows.filter(pl.col(LOST).is_null()))
        places = {"_file": pl.lit(0, pl.Int32), "_table": pl.lit(0, pl.Int32), "_line": pl.lit(0, pl.Int64)}
        numbered = known.with_columns(**places).with_row_index("_row")
        frame = numbered.lazy()
        log, faults = set_aside(frame, [""])
        return frame, log, faults

    def drop_bots(self, frame: pl.LazyFrame, log: RowKeys) -> list[EventFault]:
        """Take programs out of the log, if that is asked for; those with an id are counted by `FindPrograms`."""
        nameless = log.rows.filter(pl.col("no_user") & pl.col("bot"))
        if self.rules.bots == "keep":
            return log.fault("bots", nameless, users=0)
        users = frame.filter(pl.col("user").is_in(list(self.facts.programs))).select("_row")
        log.fault("bots_dropped", log.rows.join(users, on="_row", how="semi"), "quarantined")
        return log.fault("bots_dropped", nameless, "quarantined", users=0)


@dataclass(frozen=True)
class ListDeeds(_CleanRequests):
    """Lists what users did and when: what it takes to tell programs, and those who saw two variants."""

    columns = _DEEDS

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """List the rows of users in some requests."""
        frame, log, _ = self.open(rows)
        kept = log.keep(frame).filter(pl.col("user").is_not_null())
        is_request = (pl.col("action") == QUERY).fill_null(value=False)
        listed = kept.select("user", "time", "experiment", "variant", request=is_request, bot=bots.is_named_so())
        return _write_times(listed.collect()).select(*self.columns)


@dataclass(frozen=True)
class FindPrograms:
    """Finds programs among users, and users who saw two variants, in all rows of each of them."""

    drop: bool
    columns = {TALLY: "string"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Look at all rows of some users."""
        place = {"_file": pl.lit(0, pl.Int32), "_line": pl.lit(0, pl.Int64), "no_user": pl.lit(value=False)}
        named = _read_times(rows).with_columns(**place, name="user").with_row_index("_row")
        seen = pl.when(pl.col("variant").is_not_null()).then(pl.col("variant").hash())
        hashed = named.with_columns(pl.col("user", "experiment").hash(), seen.alias("variant"))
        log = RowKeys(hashed, [""])
        users = bots.find_users(log)
        faults = [*bots.find_bots(log, drop=self.drop), *variants.find_movers(log)]
        names = hashed.join(users, on="user", how="semi")["name"].unique().to_list() if self.drop else []
        return _make_tally(self.columns, {"faults": faults_as_plain(faults), "programs": names})


@dataclass(frozen=True)
class CountFacts(_CleanRequests):
    """Counts what only all rows of a log say together."""

    columns = {TALLY: "string"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Count in some requests."""
        frame, log, _ = self.open(rows)
        spelled = variants.count_variants(frame).collect().rows()
        self.drop_bots(frame, log)
        names = frame.select(application=name_application().hash(), name=name_application()).unique()
        bases = count_bases(look_at_queries(log.rows)).lazy().join(names, on="application").collect()
        asked = log.keep(frame).filter(pl.col("action") == QUERY)
        held = asked.select(pl.col("user", "session").is_not_null().any()).collect()
        found = {
            "variants": dict(spelled),
            "applications": {row["name"]: [row["low"], row["high"], row["one"]] for row in bases.iter_rows(named=True)},
            "held": [name for name in held.columns if held[name].item()],
            "filled": sorted(find_filled(frame, self.attributes)),
        }
        return _make_tally(self.columns, found)


@dataclass(frozen=True)
class FinishRows(_CleanRequests):
    """Cleans the rows of whole requests, says whose each request is, and counts what it found."""

    @cached_property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        found = _columns_of_log() | dict.fromkeys(self.attributes, "string")
        return found | {REQUEST: "string", NUMBER: "long", UNIT: "string", TALLY: "string"}

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Clean some requests."""
        frame, log, faults = self.open(rows)
        lost = rows[LOST].drop_nulls().value_counts().rows()
        faults += self.drop_bots(frame, log)
        faults += find_unknown(log)
        bases = self._find_bases(frame, log)
        shifted = find_shifted(log, bases)
        missing = find_missing(log)
        faults += find_without_impressions(log)
        whole = finish(frame, log, bases, missing, self.facts.spellings, rules=self.rules)
        found = {
            "rows": int(rows[LOST].is_null().sum()),
            "lost": dict(lost),
            "faults": faults_as_plain(faults),
            "shifted": {one.kind: one.rows for one in shifted},
            "bases": [bases.count(0), bases.count(1), bases.count(None)],
            "missing": missing,
            "bare": count_bare(whole),
        }
        made = whole.with_columns(self._find_unit().alias(UNIT), pl.col("_row").cast(pl.Int64).alias(NUMBER))
        empty = pl.lit(None, pl.String).alias(TALLY)
        kept = _write_times(made.with_columns(empty).select(*self.columns).collect())
        return pl.concat([kept, _make_tally(self.columns, found)], how="vertical_relaxed")

    def _find_bases(self, frame: pl.LazyFrame, log: RowKeys) -> Bases:
        queries = look_at_queries(log.rows)
        names = frame.select(name_application().unique().alias("name")).collect()["name"]
        common = pl.DataFrame(
            {"application": names.hash(), "common": [self.facts.applications.get(name) for name in names]},
            schema_overrides={"common": pl.Int8},
        )
        return join_bases(queries, common, self.rules.first_position)

    def _find_unit(self) -> pl.Expr:
        """Whose a request is, with all of its rows: its user, without one its session, without both its own."""
        parts = [pl.concat_str(pl.lit(name[0]), self._of_request(name)) for name in ("user", "session")]
        return pl.coalesce(*parts, pl.concat_str(pl.lit("q"), REQUEST))

    def _of_request(self, name: str) -> pl.Expr:
        """What a request says of itself; of its events where no request of the log says it."""
        value = pl.col(name).filter(pl.col("action") == QUERY) if name in self.facts.held else pl.col(name).drop_nulls()
        return value.first().over(REQUEST)


# Reducing -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenTallies:
    """The tallies among rows."""

    columns = {TALLY: "string"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Take the tallies out."""
        return rows.select(TALLY).drop_nulls()


@dataclass(frozen=True)
class _ReduceUsers:
    """The cleaned rows of whole users, with what was changed of them since."""

    attributes: tuple[str, ...]
    changes: tuple[Any, ...] = ()

    def open(self, rows: pl.DataFrame) -> pl.LazyFrame:
        """The rows as those of a log."""
        known = _read_times(rows.filter(pl.col(TALLY).is_null())) if TALLY in rows.columns else rows
        frame = known.lazy().select(*schema(), *self.attributes)
        for change in self.changes:
            frame = change(frame)
        return frame


@dataclass(frozen=True)
class QueryUsers(_ReduceUsers):
    """Runs a query over whole users; its rows travel as bytes, whatever their types are."""

    query: Any = None
    columns = {"frame": "binary"}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Run the query over some users."""
        file = BytesIO()
        self.query(self.open(rows)).collect().write_ipc(file, compression="zstd")
        return pl.DataFrame({"frame": [file.getvalue()]}, schema={"frame": pl.Binary})


_SUMS = ("n0", "n1", "n2", "n3", "n4")
KEY_OF_PAIR = "assay pair"
COUNTED = ("kind", "text", "doc_id", "position")
_COUNTS = {"kind": "string", "text": "string", "doc_id": "string", "position": "long", "spelling": "string",
           **dict.fromkeys(_SUMS, "long")}  # fmt: skip


@dataclass(frozen=True)
class CountPairs(_ReduceUsers):
    """Counts what was shown to whole users and clicked: by pair and position, by pair, by position, by text."""

    positions: bool = True
    columns = {KEY_OF_PAIR: "string", **_COUNTS}  # noqa: RUF012 - never changed

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Count for some users."""
        found = find_pairs(Events(self.open(rows), self.attributes), positions=self.positions)
        plain = [plain_text(one) for one in found.queries.spellings]
        texts = [plain[code] for code in found.query.tolist()]
        cells = found.cells() if len(found.pair) else None
        frames = [
            _frame("text", plain, spelling=found.queries.spellings, sums=[found.queries.requests]),
            _frame("left", [], doc_id=[*found.left_out, "requests", "returned"],
                   sums=[[*found.left_out.values(), found.requests, found.returned]]),
        ]  # fmt: skip
        if cells is not None:
            by_pair, by_place = found.user_sums()
            each = cells.pair.tolist()
            frames += [
                _frame("cell", [texts[pair] for pair in each], doc_id=[found.doc_ids[pair] for pair in each],
                       position=(cells.position + 1).tolist(), sums=[cells.shown, cells.clicks]),
                _frame("pair", texts, doc_id=found.doc_ids, sums=_list_sums(by_pair)),
                _frame("place", [], position=range(1, len(by_place.shown) + 1), sums=_list_sums(by_place)),
            ]  # fmt: skip
        return pl.concat(frames).select(*self.columns)


def _list_sums(sums: UserSums) -> list[Any]:
    return [sums.shown, sums.clicks, sums.shown_squares, sums.products, sums.click_squares]


def _frame(kind: str, text: Sequence[str], *, sums: Sequence[Any], **columns: Any) -> pl.DataFrame:
    """Counts of one kind, whatever the columns that it has."""
    size = len(sums[0])
    kinds = {"text": pl.String, "doc_id": pl.String, "position": pl.Int64, "spelling": pl.String}
    given = {"text": text or None, **columns}
    made = [pl.Series(name, given.get(name) or [None] * size, dtype) for name, dtype in kinds.items()]
    numbers = [pl.Series(name, _whole(sums, i, size), pl.Int64) for i, name in enumerate(_SUMS)]
    key = pl.concat_str(pl.lit(kind), *(pl.col(name).cast(pl.String).fill_null("") for name in ("text", "doc_id")),
                        separator="\n")  # fmt: skip
    return (
        pl.DataFrame([*made, *numbers])
        .with_columns(pl.lit(kind).alias("kind"), key.alias(KEY_OF_PAIR))
        .select(KEY_OF_PAIR, *COUNTED, "spelling", *_SUMS)
    )


def _whole(sums: Sequence[Any], i: int, size: int) -> list[int]:
    return [int(one) for one in sums[i]] if i < len(sums) else [0] * size


@dataclass(frozen=True)
class AddPairs:
    """Adds up the counts of the same pairs."""

    columns = _COUNTS

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add up the counts of some pairs."""
        added = rows.group_by(*COUNTED).agg(pl.col("spelling").min(), pl.col(*_SUMS).sum())
        return added.select(*self.columns)
