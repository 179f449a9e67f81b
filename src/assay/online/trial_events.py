"""The users of an A/B test, from an event log: what each of them did in the test and before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.lazy import pl
from assay.measures import parse
from assay.messages import say
from assay.online.user_table import user_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.events import Events
    from assay.measures import Measure

Parts = tuple[str, str, str, str]  # columns of value, denominator, and both before the test; "" where there is none
QUERIES = "queries"
_RATING = "rating"  # the unit of measures that only those who answer have


@dataclass(frozen=True)
class LogUsers:
    """One row per user, with `variant` and `day`, and which columns make up each measure.

    `answers` are those of measures that rest on ratings: how many of the requests were rated. `lower` names measures of
    which less is better, `notes` say what was left out.
    """

    frame: pl.DataFrame
    parts: Mapping[str, Parts]
    answers: Mapping[str, Parts]
    lower: tuple[str, ...]
    notes: tuple[str, ...]


def users_of_log(
    events: Events, measures: Sequence[str], *, cuped: bool = True, one_variant: bool = False, timezone: str = "UTC"
) -> LogUsers:
    """Reduce a log to its users: those of one variant only, with the measures that are asked for.

    A user belongs to the variant of the requests that have one, from the day of the first of them on. Requests without
    a variant are no part of the test; those from before its first request correct the measures (CUPED). With
    `one_variant`, all requests count and all users are alike.
    """
    if not measures:
        raise UsageError(say("which measure decides? Name it: -m any_click, for instance"))
    named = {text: parse(text) for text in dict.fromkeys(measures)}
    by = () if one_variant else ("variant",)
    rows = user_table(events, list(named.values()), by=by, timezone=timezone)
    notes = [*events.notes]
    if one_variant:
        users = rows.with_columns(variant=pl.lit("all"))
    else:
        users, told = _assigned(rows)
        notes += told
    before = None if one_variant or not cuped else _before(events, list(named.values()), timezone)
    if before is not None:
        users = users.join(before, on="user", how="left").with_columns(pl.col(before.columns[1:]).fill_null(0.0))
    parts = {text: _parts(measure, cuped=before is not None) for text, measure in named.items()}
    rated = {text: measure for text, measure in named.items() if measure.spec.unit == _RATING}
    return LogUsers(
        users.rename({"first_day": "day"}),
        parts,
        {text: (f"{measure.label}.denominator", QUERIES, "", "") for text, measure in rated.items()},
        tuple(text for text, measure in named.items() if measure.spec.lower_is_better),
        tuple(notes),
    )


def _assigned(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The users of one variant, and how many were left out."""
    inside = rows.filter(pl.col("variant").is_not_null())
    if not len(inside):
        raise UsageError(say("no request of the log has a variant: nothing was tested"))
    crossed = inside.filter(pl.col("user").is_duplicated())
    outside = int(rows.filter(pl.col("variant").is_null())[QUERIES].sum())
    notes: list[str] = []
    if outside:
        notes.append(say("ab.log_outside", n=outside))
    if len(crossed):
        notes.append(say("ab.log_crossed", n=crossed["user"].n_unique()))
    return inside.filter(~pl.col("user").is_duplicated()), notes


def _before(events: Events, measures: Sequence[Measure], timezone: str) -> pl.DataFrame | None:
    """What users did before the first request of the test; None where the log begins with it."""
    start = events.collect(events.frame.filter(pl.col("variant").is_not_null()).select(pl.col("time").min())).item()
    earlier = events.frame.filter(pl.col("time") < start)
    if start is None or not events.collect(earlier.select(pl.len())).item():
        return None
    found = user_table(replace(events, frame=earlier), list(measures), by=(), timezone=timezone)
    sums = [f"{measure.label}.{part}" for measure in measures for part in ("numerator", "denominator")]
    return found.select("user", *(pl.col(name).alias(f"{name}.before") for name in dict.fromkeys(sums)))


def _parts(measure: Measure, *, cuped: bool) -> Parts:
    above, below = f"{measure.label}.numerator", f"{measure.label}.denominator"
    return (above, below, f"{above}.before", f"{below}.before") if cuped else (above, below, "", "")
