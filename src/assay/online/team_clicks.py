"""Interleaved requests of an event log: whose document was clicked how often in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec
import numpy as np

from assay.data.events import QUERY, Events
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.lazy import pl
from assay.messages import say
from assay.online.impressions import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.stats.inputs import Ints

_FIELDS = ["query_id", "user", "session", "time", "experiment", "text", "results", "teams"]


@dataclass(frozen=True, eq=False)
class TeamClicks:
    """Clicks by request and team, and the facts of the requests.

    `clicks` has a row per request and a column per team; a document counts once in a request. `cluster` numbers whose
    request each is; `unit` says what that is. `places` and `contested` count places of all lists, and those with a
    team. `first` counts by team how often it has the first contested place: among lists that differ, and where requests
    have texts, among the first lists of texts that differ, as draws may depend on the query alone.
    """

    teams: tuple[str, ...]
    clicks: Ints
    cluster: Ints
    unit: str
    methods: Mapping[str, int]
    places: int
    contested: int
    first: tuple[tuple[int, ...], ...]
    outside: int
    nobody: int
    full_days: int | None


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a request says of its list: the method, and the team of each document, in their order."""

    method: str
    teams: Mapping[str, str | None]


def is_interleaved(given: Any, measures: Sequence[str] = ()) -> TypeGuard[Events]:
    """Return whether this is a log whose requests name the teams of their results.

    A log that has variants too is one of an A/B test where its measures are asked for.
    """
    if not isinstance(given, Events):
        return False

    def look(frame: pl.LazyFrame) -> pl.LazyFrame:
        requests = frame.filter(pl.col("action") == QUERY)
        return requests.select(pl.col("teams", "variant").is_not_null().any())

    teams, variants = given.over_users(look).select(pl.all().any()).row(0)
    return bool(teams) and not (measures and variants)


def count_team_clicks(events: Events, experiment: str | None = None) -> TeamClicks:
    """Count the clicks of every interleaved request by team."""
    asked = _requests(events, experiment)
    unit = next((name for name in ("user", "session") if asked[name].is_not_null().any()), "query_id")
    nobody = asked[unit].null_count()
    asked = asked.filter(pl.col(unit).is_not_null()).with_row_index("request")
    shown, codes = _read_teams(asked)
    names = sorted({team for one in shown for team in one.teams.values() if team is not None})
    if len(names) < 2:  # noqa: PLR2004
        raise InputError(say("interleaved requests name fewer than two teams: nothing is compared"))
    number = {name: i for i, name in enumerate(names)}
    clicks = np.zeros((len(asked), len(names)), np.int64)
    found, outside = _find_clicks(events, asked), 0
    for request, doc in zip(found["request"].to_list(), found["doc_id"].to_list(), strict=True):
        teams = shown[codes[request]].teams
        team = teams.get(doc)
        if team is not None:
            clicks[request, number[team]] += 1
        outside += doc not in teams
    times = np.bincount(codes, minlength=len(shown))
    methods: dict[str, int] = {}
    for one, n in zip(shown, times.tolist(), strict=True):
        methods[one.method] = methods.get(one.method, 0) + n
    return TeamClicks(
        tuple(names),
        clicks,
        asked[unit].rank("dense").cast(pl.Int64).to_numpy() - 1,
        unit,
        methods,
        sum(len(one.teams) * n for one, n in zip(shown, times.tolist(), strict=True)),
        sum(_count_contested(one) * n for one, n in zip(shown, times.tolist(), strict=True)),
        _count_first(asked, shown, codes, names),
        outside,
        nobody,
        _full_days(asked),
    )


def _requests(events: Events, experiment: str | None) -> pl.DataFrame:
    chosen = events.frame.filter((pl.col("action") == QUERY) & pl.col("teams").is_not_null())
    asked = events.collect(chosen.select(_FIELDS)).unique("query_id", keep="first", maintain_order=True)
    known = asked["experiment"].drop_nulls().unique().sort().to_list()
    if experiment is None:
        if len(known) > 1:
            raise UsageError(
                say("the log has several experiments: choose one with --experiment ({names})", names=known)
            )
    elif experiment not in known:
        raise UnknownName(say("experiment"), experiment, known)
    else:
        asked = asked.filter(pl.col("experiment") == experiment)
    if not len(asked):
        raise InputError(say("no request of the log names the teams of its results"))
    return asked


def _read_teams(asked: pl.DataFrame) -> tuple[list[_Shown], Ints]:
    """The different lists of the log, and the number of that of each request; most lists are shown many times."""
    texts, results = asked["teams"].to_list(), asked["results"].to_list()
    numbers: dict[Any, int] = {}
    shown: list[_Shown] = []
    codes = np.zeros(len(asked), np.int64)
    for i, text in enumerate(texts):
        key = (text, tuple(results[i] or ()))
        if key not in numbers:
            numbers[key] = len(shown)
            shown.append(_understand(text, results[i]))
        codes[i] = numbers[key]
    return shown, codes


def _understand(text: str, results: Sequence[str] | None) -> _Shown:
    """Read {"method": ..., "teams": ...}; teams are an object by document, or a list in the order of the results."""
    try:
        told = msgspec.json.decode(text)
        method, teams = (str(told.get("method", "")), told["teams"]) if isinstance(told, dict) else ("", told)
        if isinstance(teams, list):
            teams = dict(zip(results or (), teams, strict=True))
        by_doc = {str(doc): None if team is None or team == "" else str(team) for doc, team in teams.items()}
    except (msgspec.DecodeError, RecursionError, KeyError, AttributeError, ValueError):
        raise InputError(
            say("teams {text}: expected the team of each result", text=excerpt(text)),
            hint=say('write {{"method": "team-draft", "teams": {{"d1": "A", "d2": null}}}}'),
        ) from None
    shown = {doc: by_doc.get(doc) for doc in results} if results else by_doc
    return _Shown(method, shown)


def _count_contested(one: _Shown) -> int:
    return sum(team is not None for team in one.teams.values())


def _count_first(
    asked: pl.DataFrame, shown: Sequence[_Shown], codes: Ints, names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    first = [next((team for team in one.teams.values() if team is not None), None) for one in shown]
    by_text: dict[str, str | None] = {}
    for text, code in zip(asked["text"].to_list(), codes.tolist(), strict=True):
        if text is not None:
            by_text.setdefault(plain_text(text), first[code])
    counted = [first, *([list(by_text.values())] if by_text else [])]
    return tuple(tuple(one.count(name) for name in names) for one in counted)


def _find_clicks(events: Events, asked: pl.DataFrame) -> pl.DataFrame:
    """The documents that were clicked, once for each request."""
    clicks = events.frame.filter((pl.col("action") == "click") & pl.col("doc_id").is_not_null())
    joined = clicks.select("query_id", "doc_id").join(asked.lazy().select("query_id", "request"), on="query_id")
    return events.collect(joined.select("request", "doc_id").unique()).sort("request", "doc_id")


def _full_days(asked: pl.DataFrame) -> int | None:
    """Whole days from the first request to the last; an hour less is let pass."""
    first, last = asked.select(pl.col("time").min(), last=pl.col("time").max()).row(0)
    if first is None:
        return None
    return int((last - first + timedelta(hours=1)) // timedelta(days=1))
