"""The users of an A/B test, from an event log: what each of them did in the test and before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from assay.data.events import QUERY
from assay.data.requests import look_through
from assay.data.sums import exact_sum
from assay.errors import UnknownName, UsageError
from assay.formats.trials import check_spellings
from assay.lazy import pl
from assay.measures import parse
from assay.messages import say
from assay.online.user_table import user_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from assay.data.events import Events
    from assay.formats.trial_users import Parts
    from assay.measures import Measure

QUERIES = "queries"
_RATING = "rating"  # the unit of measures that only those who answer have
_ENOUGH = 50  # users of every variant with requests from before the test: fewer do not correct a measure


@dataclass(frozen=True)
class LogUsers:
    """One row per user, with `variant` and `day`, and which columns make up each measure.

    `answers` are those of measures that rest on ratings: how many of the requests were rated. `lower` names measures of
    which less is better, `notes` say what was left out. `full_days` is how long requests of the test came in, and
    `crossed` the share of its users who were in more than one variant.
    """

    frame: pl.DataFrame
    parts: Mapping[str, Parts]
    answers: Mapping[str, Parts]
    lower: tuple[str, ...]
    notes: tuple[str, ...]
    full_days: int | None = None
    crossed: float = 0.0


def users_of_log(
    events: Events,
    measures: Sequence[str],
    *,
    cuped: bool = True,
    one_variant: bool = False,
    timezone: str = "UTC",
    experiment: str | None = None,
    label: str = "",
) -> LogUsers:
    """Reduce a log to its users, with the measures that are asked for.

    A user belongs to the variant of the first request that has one, with all requests that have one. Requests without a
    variant, or of another `experiment`, are no part of the test; those from before its first request correct the
    measures (CUPED), where enough users have some. With `one_variant`, all requests count and all users are alike.
    """
    if not measures:
        raise UsageError(say("which measure decides? Name it: -m any_click, for instance"))
    named = {text: parse(text) for text in dict.fromkeys(measures)}
    wanted = list(named.values())
    lower = tuple(text for text, measure in named.items() if measure.spec.lower_is_better)
    if one_variant:
        users = user_table(events, wanted, by=(), timezone=timezone).with_columns(variant=pl.lit("all"))
        parts = {text: _parts(measure, cuped=False) for text, measure in named.items()}
        return LogUsers(users.rename({"first_day": "day"}), parts, {}, lower, events.remarks)
    log = _choose(events, experiment)
    rows, people = user_table(log, wanted, by=("variant",), timezone=timezone), _people(log)
    check_spellings(rows["variant"].drop_nulls().unique().sort().to_list(), label)
    users = _add_up(rows.filter(pl.col("variant").is_not_null()), people)
    before = _before(log, wanted, timezone) if cuped else None
    if before is not None:
        users = users.join(before, on="user", how="left").with_columns(pl.col(before.columns[1:]).fill_null(0.0))
    known = {text for text, measure in named.items() if before is not None and _corrects(users, measure)}
    rated = {text: measure for text, measure in named.items() if measure.spec.unit == _RATING}
    crossed = int((people["variants"] > 1).sum())
    return LogUsers(
        users.rename({"first_day": "day"}),
        {text: _parts(measure, cuped=text in known) for text, measure in named.items()},
        {text: (f"{measure.label}.denominator", QUERIES, "", "") for text, measure in rated.items()},
        lower,
        (*events.remarks, *_notes(log, rows, users, named), *([say("ab.log_crossed", n=crossed)] if crossed else [])),
        _full_days(log),
        crossed / len(people),
    )


def _choose(events: Events, experiment: str | None) -> Events:
    """The log, with the variants of one experiment."""
    assigned = pl.col("variant").is_not_null()
    names = events.over_users(lambda frame: frame.filter(assigned).select(pl.col("experiment").unique()))
    known = names["experiment"].drop_nulls().unique().sort().to_list()
    if experiment is None:
        if len(known) > 1:
            raise UsageError(
                say("the log has several experiments: choose one with --experiment ({names})", names=known)
            )
        return events
    if experiment not in known:
        raise UnknownName(say("experiment"), experiment, known)
    chosen = pl.when(pl.col("experiment") == experiment).then("variant").alias("variant")
    return events.change(lambda frame: frame.with_columns(chosen))


def _requests_of_test(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The requests of the test."""
    return frame.filter(pl.col("variant").is_not_null(), pl.col("action") == QUERY)


def _people(log: Events) -> pl.DataFrame:
    """The users of the test: the variant that each met first, and how many each met."""
    first = pl.col("variant").sort_by("time", "query_id").first()

    def find(frame: pl.LazyFrame) -> pl.LazyFrame:
        named = _requests_of_test(frame).filter(pl.col("user").is_not_null()).group_by("user")
        return named.agg(first, variants=pl.col("variant").n_unique())

    found = log.over_users(find)
    if not len(found):
        raise UsageError(say("no request of the log has a variant and a user: nothing was tested"))
    return found


def _add_up(rows: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """One row per user, with all requests of the test under the first variant."""
    sums = [name for name in rows.columns if name not in {"user", "variant", "first_day"}]
    whole = rows.group_by("user").agg(
        pl.col("first_day").min(), *(_sum(pl.col(name), rows.schema[name]) for name in sums)
    )
    return whole.join(people.select("user", "variant"), on="user").sort("user")


def _sum(values: pl.Expr, kind: pl.DataType) -> pl.Expr:
    return exact_sum(values) if kind.is_float() else values.sum()


def _full_days(log: Events) -> int | None:
    """Whole days from the first request of the test to the last; an hour less is let pass."""
    first, last = _span(log)
    return None if first is None or last is None else (last - first + timedelta(hours=1)) // timedelta(days=1)


def _span(log: Events) -> tuple[datetime | None, datetime | None]:
    """The times of the first request of the test and of the last."""
    time = pl.col("time")
    ends = log.over_users(lambda frame: _requests_of_test(frame).select(first=time.min(), last=time.max()))
    first, last = ends.select(pl.col("first").min(), pl.col("last").max()).row(0)
    return first, last


def _notes(log: Events, rows: pl.DataFrame, users: pl.DataFrame, named: Mapping[str, Measure]) -> list[str]:
    """What is no part of the test, or of a measure."""
    outside = int(rows.filter(pl.col("variant").is_null())[QUERIES].sum())
    nobody = _count(log, lambda frame: _requests_of_test(frame).filter(pl.col("user").is_null()))
    found: list[str] = [say("ab.log_outside", n=outside)] if outside else []
    found += [say("ab.log_nobody", n=nobody)] if nobody else []
    for text, measure in named.items():
        left = users.group_by("variant").agg(pl.col(f"{measure.label}.left_out").sum().alias("n")).sort("variant")
        if left["n"].sum():
            each = [say("ab.log_each", variant=variant, n=n) for variant, n in left.iter_rows()]
            found.append(say("ab.log_left_out", measure=text, n=int(left["n"].sum()), each=each))
    return found


def _count(log: Events, rows: Callable[[pl.LazyFrame], pl.LazyFrame]) -> int:
    return int(log.over_users(lambda frame: rows(frame).select(pl.len())).to_series().sum())


def _before(events: Events, measures: Sequence[Measure], timezone: str) -> pl.DataFrame | None:
    """What users did before the first request of the test; None where the log begins with it."""
    start, _ = _span(events)
    if start is None:
        return None
    log = events.change(lambda frame: frame.filter(pl.col("time") < start))
    if not _count(log, lambda frame: frame):
        return None
    holdings = look_through(events)
    found = user_table(log, list(measures), by=(), timezone=timezone, holdings=holdings)
    sums = [f"{measure.label}.{part}" for measure in measures for part in ("numerator", "denominator")]
    return found.select("user", *(pl.col(name).alias(f"{name}.before") for name in dict.fromkeys(sums)))


def _corrects(users: pl.DataFrame, measure: Measure) -> bool:
    """Say whether enough users of every variant did something before the test, and not all the same."""
    above, below = (pl.col(f"{measure.label}.{part}.before") for part in ("numerator", "denominator"))
    found = users.group_by("variant").agg(n=(below > 0).sum(), spread=above.n_unique())
    return bool((found["n"] >= _ENOUGH).all() and (found["spread"] > 1).all())


def _parts(measure: Measure, *, cuped: bool) -> Parts:
    above, below = f"{measure.label}.numerator", f"{measure.label}.denominator"
    return (above, below, f"{above}.before", f"{below}.before") if cuped else (above, below, "", "")
