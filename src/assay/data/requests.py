"""One row per request of an event log, with the fields that measures ask for.

Rows of an event log are reduced in two steps: to one row per request, then (in `online`) to one row per user. Each
step is a lazy query over whole requests and whole users, so that parts of a log with other users can be reduced
apart and put together afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a codec reads the types of records
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.data.events import QUERY, schema
from assay.data.ratings import Scale, has_scale
from assay.data.sums import exact_sum
from assay.lazy import pl

if TYPE_CHECKING:
    from assay.data.events import Events

CLICK, IMPRESSION = "click", "impression"
SOON = 300.0  # seconds within which another text is a rewording
_SCALES: tuple[Scale, ...] = ("thumbs", "stars")
_ANY = ""  # rows of every action
_DOCUMENT = " document"  # rows of `_list_documents`; no action begins with a blank
_HASH = " request"  # the hash of a request's id
_COLUMNS = ("user", "session", "text", "results", "result_count", "variant", "latency_ms", "input_tokens",
            "output_tokens", "cost", "dwell_ms", "feedback", "position")  # fmt: skip


@dataclass(frozen=True)
class Holdings:
    """What a log holds: how many rows of each action, and which columns have values in rows of it.

    `scales` are those of its ratings.
    """

    actions: Mapping[str, int]
    columns: Mapping[str, frozenset[str]]
    scales: frozenset[str] = frozenset()
    unknown: int = 0

    def has(self, name: str) -> bool:
        """Return whether there are rows of an action, values of a column, or ratings by thumbs or stars.

        `click.dwell_ms` asks for values of a column in rows of one action.
        """
        if name in _SCALES:
            return name in self.scales
        action, dot, column = name.partition(".")
        if dot:
            return column in self.columns.get(action, ())
        return name in self.actions or any(name in found for found in self.columns.values())

    def __or__(self, other: Holdings) -> Holdings:
        """What two parts of a log hold together."""
        actions = {
            name: self.actions.get(name, 0) + other.actions.get(name, 0) for name in (*self.actions, *other.actions)
        }
        columns = {
            name: self.columns.get(name, frozenset()) | other.columns.get(name, frozenset())
            for name in (*self.columns, *other.columns)
        }
        return Holdings(actions, columns, self.scales | other.scales, self.unknown + other.unknown)

    def lacks(self, needs: tuple[str, ...]) -> list[str]:
        """Name what is missing of `needs`; "a|b": one of them will do."""
        return [need for need in needs if not any(self.has(name) for name in need.split("|"))]


def look_through(events: Events) -> Holdings:
    """Find out what a log holds, in one pass over it; what events of unknown requests hold does not count."""
    found = events.over_users(_count_values).group_by("action").agg(pl.all().sum())
    return Holdings(
        {str(row["action"]): int(row["rows"]) for row in found.iter_rows(named=True)},
        {str(row["action"]): frozenset(name for name in _COLUMNS if row[name]) for row in found.iter_rows(named=True)},
        frozenset(name for name in _SCALES if found[name].sum()),
        int(found["orphan"].sum()),
    )


def _count_values(frame: pl.LazyFrame) -> pl.LazyFrame:
    known = ~pl.col("orphan")
    return (
        frame.with_columns(pl.col("orphan").fill_null(value=False))
        .group_by("action")
        .agg(
            pl.len().alias("rows"),
            *((pl.col(name).is_not_null() & known).sum().alias(name) for name in _COLUMNS),
            *((has_scale(name) & known).sum().alias(name) for name in _SCALES),
            pl.col("orphan").sum(),
        )
    )


@dataclass
class RequestRow:
    """The fields of a request that were asked for: each method gives one as an expression over rows of requests.

    What it was asked for is what `reduce_requests` reads of a log and computes.
    """

    holdings: Holdings
    fields: dict[str, dict[str, pl.Expr]] = field(default_factory=dict)
    follows: bool = False
    ordered: bool = False

    def _ask(self, source: str, name: str, made: pl.Expr) -> pl.Expr:
        self.fields.setdefault(source, {})[name] = made
        return pl.col(name)

    def about(self, column: str) -> pl.Expr:
        """What a request says of itself: its user, variant, text ...; of its events where no request says it."""
        source = QUERY if self.holdings.has(f"{QUERY}.{column}") or not self.holdings.has(column) else _ANY
        made = pl.col(column).drop_nulls().first() if source == _ANY else pl.col(column).first()
        return self._ask(source, column, made)

    def attribute(self, column: str) -> pl.Expr:
        """A further column, of the request itself."""
        return self._ask(QUERY, column, pl.col(column).first())

    @property
    def time(self) -> pl.Expr:
        """When the request was made."""
        return self._ask(QUERY, "time", pl.col("time").first())

    def count(self, action: str) -> pl.Expr:
        """How many events of an action the request had."""
        return self._ask(action, f"{action} rows", pl.len()).fill_null(0)

    def total(self, column: str) -> pl.Expr:
        """The sum of a column over all rows of the request; null where none has a value."""
        known = pl.col(column)
        total = exact_sum(known) if schema()[column].is_float() else known.sum()
        return self._ask(_ANY, f"{column} total", pl.when(known.count() > 0).then(total))

    def list_size(self, k: int | None) -> pl.Expr:
        """How many different results were shown, in the first k places, as `_list_documents` finds them."""
        return self._count_documents(f"shown {k}", pl.col("shown") & _is_near(k))

    def hits(self, k: int | None) -> pl.Expr:
        """How many different results of those that were shown in the first k places were clicked."""
        return self._count_documents(f"clicked of shown {k}", pl.col("shown") & pl.col("clicked") & _is_near(k))

    @property
    def unseen_clicks(self) -> pl.Expr:
        """How many different results were clicked and not shown, as far as the log says."""
        return self._count_documents("clicked unseen", pl.col("clicked") & ~pl.col("shown"))

    @property
    def clicks_nowhere(self) -> pl.Expr:
        """How many different results were shown and clicked at no known position."""
        return self._count_documents("nowhere", pl.col("clicked") & pl.col("shown") & pl.col("position").is_null())

    def _count_documents(self, name: str, condition: pl.Expr) -> pl.Expr:
        return self._ask(_DOCUMENT, name, condition.sum()).fill_null(0)

    @property
    def result_total(self) -> pl.Expr:
        """How many results the request returned; null where that is unknown."""
        listed = self._ask(QUERY, "listed", pl.col("results").list.len().first().cast(pl.Int64))
        return pl.coalesce(self._ask(QUERY, "result_count", pl.col("result_count").first()), listed)

    def distinct_clicks(self, k: int | None) -> pl.Expr:
        """How many different results were clicked, in the first k places."""
        name = pl.coalesce("doc_id", pl.col("position").cast(pl.String))
        near = name if k is None else name.filter(pl.col("position") <= k)
        return self._ask(CLICK, f"clicked {k}", near.drop_nulls().n_unique()).fill_null(0)

    def clicks_without(self, column: str) -> pl.Expr:
        """How many clicks have no value of a column."""
        return self._ask(CLICK, f"clicks without {column}", pl.col(column).is_null().sum()).fill_null(0)

    @property
    def first_click(self) -> pl.Expr:
        """The position of the click that came first; of clicks at one moment, the highest place."""
        self.ordered = True
        return self._ask(CLICK, "first click", pl.col("position").filter(pl.col("first")).max())

    @property
    def dwell(self) -> pl.Expr:
        """Seconds spent on the results that were clicked."""
        return self._ask(CLICK, "dwell", exact_sum(pl.col("dwell_ms")) / 1000).fill_null(0)

    def long_clicks(self, seconds: float) -> pl.Expr:
        """How many clicks lasted at least so long."""
        return self._ask(CLICK, f"clicks of {seconds}", (pl.col("dwell_ms") >= 1000 * seconds).sum()).fill_null(0)

    def returns(self, seconds: float) -> pl.Expr:
        """How many clicks were followed within so many seconds by a click on another result of the request."""
        self.ordered = True
        soon = pl.col("since") <= pl.duration(microseconds=round(1e6 * seconds))
        return self._ask(CLICK, f"returns {seconds}", (soon & pl.col("other")).sum()).fill_null(0)

    def ratings(self, scale: Scale, least: float) -> tuple[pl.Expr, pl.Expr]:
        """How many ratings of a scale the request had of at least so much, and in all."""
        good = self._ask(_ANY, f"{scale} {least}", (has_scale(scale) & (pl.col("feedback") >= least)).sum())
        return good.fill_null(0), self._ask(_ANY, scale, has_scale(scale).sum()).fill_null(0)

    def is_followed_by_other_words(self, seconds: float) -> pl.Expr:
        """Whether the request was soon followed by one in other words, as `is_reworded` says; null: unknown."""
        self.follows = True
        text, session, user, _ = self.about("text"), self.about("session"), self.about("user"), self.time
        known = text.is_not_null() & (session.is_not_null() | user.is_not_null())
        return pl.when(known).then(is_reworded(_plain(text), _plain(pl.col("next text")), seconds))


def _plain(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase()


def is_reworded(text: pl.Expr, following: pl.Expr, seconds: float = SOON) -> pl.Expr:
    """Whether the next request of rows that `add_next` made has another text and came within so many seconds."""
    soon = pl.col("next time") - pl.col("time") <= pl.duration(microseconds=round(1e6 * seconds))
    return (soon & (text != following)).fill_null(value=False)


def reduce_requests(frame: pl.LazyFrame, row: RequestRow) -> pl.LazyFrame:
    """Reduce the rows of a log to one row per request, with the fields that were asked for.

    Events whose request is not in the log belong to nothing and are left out.
    """
    known = frame.filter(pl.col("query_id").is_not_null())
    found = known.filter(pl.col("action") == QUERY).group_by("query_id").agg(**row.fields.get(QUERY, {}))
    found = found.with_columns(_hash_request()) if _DOCUMENT in row.fields else found
    for source, fields in row.fields.items():
        if source != QUERY:
            rows = _rows_of(source, known, row.holdings)
            if source == CLICK and row.ordered:
                rows = _add_previous(rows)
            key = _HASH if source == _DOCUMENT else "query_id"
            found = found.join(rows.group_by(key).agg(**fields), on=key, how="left")
    return add_next(found, "text") if row.follows else found


def _rows_of(source: str, known: pl.LazyFrame, holdings: Holdings) -> pl.LazyFrame:
    if source == _DOCUMENT:
        return _list_documents(known, holdings)
    return known if source == _ANY else known.filter(pl.col("action") == source)


def _is_near(k: int | None) -> pl.Expr:
    return pl.lit(value=True) if k is None else (pl.col("position") <= k).fill_null(value=False)


def _list_documents(rows: pl.LazyFrame, holdings: Holdings) -> pl.LazyFrame:
    """One row for each document of a request: its highest position, whether it was shown, and whether clicked.

    What a request returned counts as shown where no impression of that request is recorded. Requests and documents are
    known by hashes of 64 bits each, which take half the memory of their names.
    """
    shown, name = pl.col("action") == IMPRESSION, pl.coalesce("doc_id", pl.col("position").cast(pl.String))
    acts = rows.filter(pl.col("action").is_in([IMPRESSION, CLICK]) & name.is_not_null())
    acts = acts.select(_hash_request(), "position", name=name.hash(), shown=shown, clicked=~shown)
    if holdings.has(f"{QUERY}.results"):
        acts = pl.concat([acts, _list_results(rows).join(acts.filter("shown"), on=_HASH, how="anti")])
    return acts.group_by(_HASH, "name").agg(pl.col("position").min(), pl.col("shown").any(), pl.col("clicked").any())


def _hash_request() -> pl.Expr:
    return pl.col("query_id").hash().alias(_HASH)


def _list_results(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The documents that requests returned, as if they had been shown."""
    requests = rows.filter((pl.col("action") == QUERY) & (pl.col("results").list.len() > 0))
    listed = (
        requests.group_by("query_id")
        .agg(name=pl.col("results").first())
        .with_columns(position=pl.int_ranges(1, pl.col("name").list.len().cast(pl.Int64) + 1, dtype=pl.Int32))
    )
    listed = listed.explode("name", "position").filter(pl.col("name").is_not_null())
    return listed.select(
        _hash_request(), "position", pl.col("name").hash(), shown=pl.lit(value=True), clicked=pl.lit(value=False)
    )


def _add_previous(clicks: pl.LazyFrame) -> pl.LazyFrame:
    """Add to each click if it is the request's first, how long after the last it came, if on another result."""
    result = pl.coalesce("doc_id", pl.col("position").cast(pl.String))
    same = (pl.col("query_id") == pl.col("query_id").shift(1)).fill_null(value=False)
    return clicks.sort("query_id", "time", "position", "doc_id", nulls_last=True).with_columns(
        first=~same, since=pl.when(same).then(pl.col("time").diff()), other=same & (result != result.shift(1))
    )


def add_next(requests: pl.LazyFrame, text: str) -> pl.LazyFrame:
    """Add the text and the time of the next request of the same user and session; a request may lack one of them."""
    session, user = pl.col("session"), pl.col("user")
    alike = session.eq_missing(session.shift(-1)) & user.eq_missing(user.shift(-1))
    same = alike & (session.is_not_null() | user.is_not_null())
    following = {f"next {name}": pl.when(same).then(pl.col(name).shift(-1)) for name in (text, "time")}
    return requests.sort(session, user, "time", "query_id").with_columns(**following)
