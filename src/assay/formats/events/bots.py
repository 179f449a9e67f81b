"""Programs among the users of a log, by their names and by how fast they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.lazy import pl

if TYPE_CHECKING:
    from assay.data.events import EventFault
    from assay.formats.events.faults import RowKeys

# A user is one whose id has such a word in it (`quepid-nightly-bot`; `abbot` has none), or whose browser says so.
_USERS = r"(?i)(^|[^a-z])(bot|robot|crawler|spider|scraper)([^a-z]|$)"
_AGENTS = (
    r"(?i)(bot|crawler|spider|scraper|slurp)([^a-z]|$)|headless|phantomjs|selenium|puppeteer|playwright|lighthouse"
    r"|^(curl|wget|python-requests|python-urllib|python-httpx|go-http-client|okhttp|scrapy|java)(/|$)"
)
# Or one who sends more requests than this in some minute, or on some day.
_IN_A_MINUTE = 30
_IN_A_DAY = 1000


def is_named_so() -> pl.Expr:
    """Return whether the id of the user, or the name of the browser, is that of a program."""
    by_user = pl.col("user").str.contains(_USERS)
    return (by_user | pl.col("_agent").str.contains(_AGENTS).fill_null(value=False)).fill_null(value=False)


def find_bots(log: RowKeys, *, drop: bool) -> list[EventFault]:
    """All rows of users who are programs: kept unless they are to be dropped."""
    users = find_users(log)
    rows = log.rows.filter(~pl.col("no_user")).join(users.lazy(), on="user", how="semi")
    nameless = log.rows.filter(pl.col("no_user") & pl.col("bot"))  # known by the browser alone
    kind, fate = ("bots_dropped", "quarantined") if drop else ("bots", "kept")
    return log.fault(kind, pl.concat([rows, nameless]), fate, users=len(users))  # type: ignore[arg-type]


def find_users(log: RowKeys) -> pl.DataFrame:
    """The hashes of users who are programs."""
    named = log.rows.filter(pl.col("bot") & ~pl.col("no_user")).select("user")
    return pl.concat([named, *_hasty(log.rows)]).unique().collect()


def _hasty(keys: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Users with too many requests in one minute or on one day."""
    requests = keys.filter(pl.col("request") & ~pl.col("no_user"), pl.col("time").is_not_null())
    found = []
    for unit, most in (("1m", _IN_A_MINUTE), ("1d", _IN_A_DAY)):
        counts = requests.group_by("user", pl.col("time").dt.truncate(unit)).len()
        found.append(counts.filter(pl.col("len") > most).select("user"))
    return found
