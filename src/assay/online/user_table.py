"""An event log reduced to one row per user: what each adds to the numerator and the denominator of every measure.

The reduction is a lazy query over whole users. Parts of a log with other users can be reduced apart: their rows, put
below each other, are those of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assay.data.requests import Holdings, RequestRow, look_through, reduce_requests
from assay.data.sums import exact_sum
from assay.errors import UnknownName, UsageError
from assay.formats.events.reading import open_log
from assay.lazy import pl
from assay.measures import Measure, parse, split_measures
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import Events
    from assay.formats.events.reading import Places
    from assay.measures.counts import RequestCounts

Cluster = Literal["user", "session", "query_id"]
DAY = "day"
OWN_GROUPS = (DAY, "experiment", "variant", "session", "text")

_RATINGS = {"thumbs": say("ratings by thumbs"), "stars": say("ratings by stars")}


@dataclass(frozen=True)
class Reduction:
    """How a log is reduced: which measures, by which groups, on whose clock; users are what varies.

    A log without users takes sessions in their place, and requests where it has no sessions either.
    """

    holdings: Holdings
    measures: tuple[Measure, ...]
    by: tuple[str, ...]
    timezone: str = "UTC"

    @property
    def cluster(self) -> Cluster:
        """What is drawn at random, and within which requests depend on each other."""
        return "user" if self.holdings.has("user") else "session" if self.holdings.has("session") else "query_id"

    @cached_property
    def _parts(self) -> tuple[RequestRow, list[RequestCounts]]:
        row = RequestRow(self.holdings)
        _ = row.time
        if self.cluster != "query_id":
            row.about(self.cluster)
        for name in self.by:
            if name != DAY:
                row.about(name) if name == "variant" else row.attribute(name)
        return row, [measure.counts(row) for measure in self.measures]

    @property
    def counts(self) -> list[RequestCounts]:
        """What a request adds to each of the measures."""
        return self._parts[1]

    def requests(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """One row per request, with its day."""
        day = pl.col("time").dt.convert_time_zone(self.timezone).dt.date()
        return reduce_requests(frame, self._parts[0]).with_columns(day.alias(DAY))

    def users(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """One row per user and group: requests, first day, and three sums for each measure."""
        requests = self.requests(frame)
        added = {f"{letter}{place}": expr for place, one in enumerate(self.counts)
                 for letter, expr in (("n", one.numerator), ("d", one.denominator))}  # fmt: skip
        fractions = [name for name, kind in requests.select(**added).collect_schema().items() if kind.is_float()]
        sums = {
            name: exact_sum(expr) if name in fractions else expr.cast(pl.Int64).sum().cast(pl.Float64)
            for name, expr in added.items()
        }
        for place, one in enumerate(self.counts):
            sums[f"o{place}"] = (pl.lit(0) if one.left_out is None else one.left_out).cast(pl.Int64).sum()
        keys = dict.fromkeys((self.cluster, *self.by))
        return requests.group_by(list(keys)).agg(pl.len().alias("queries"), first_day=pl.col(DAY).min(), **sums)


def plan_reduction(
    events: Events,
    measures: Sequence[Measure],
    by: Sequence[str] = (),
    *,
    timezone: str = "UTC",
    holdings: Holdings | None = None,
) -> Reduction:
    """Check groups and clock against a log, and say how it is reduced."""
    known = [*OWN_GROUPS, *events.attributes]
    for name in by:
        if name not in known:
            raise UnknownName(
                say("group"), name, known, hint=say("an attribute is read with the log: attributes=[...]")
            )
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError):
        raise UsageError(say("there is no time zone {name!r}: write it like Europe/Berlin", name=timezone)) from None
    return Reduction(holdings or look_through(events), tuple(measures), tuple(dict.fromkeys(by)), timezone)


def user_table(
    events: Events | Places,
    measures: Sequence[str | Measure] | str,
    *,
    by: Sequence[str] = ("variant",),
    timezone: str = "UTC",
    holdings: Holdings | None = None,
) -> pl.DataFrame:
    """One row per user and group: `user`, the groups, `queries`, `first_day`, and three columns for each measure.

    They are called `MEASURE.numerator`, `MEASURE.denominator` and `MEASURE.left_out`, and add up: a measure of some
    users is the sum of the numerators over that of the denominators. Requests without a user are left out. Percentiles
    are no such ratio and are refused, and so is a measure for which the log does not hold what it needs; `holdings` say
    what it holds where `events` are a part of it.

    >>> import assay, polars as pl
    >>> rows = {"query_id": ["1", "1", "2"], "user": ["ann", "ann", "bob"], "action": ["query", "click", "query"]}
    >>> log = assay.Events.of(pl.DataFrame(rows))
    >>> user_table(log, "any_click", by=()).sort("user")["any_click.numerator"].to_list()
    [1.0, 0.0]
    """
    wanted = [parse(one) for one in split_measures(measures)]
    events = open_log(events, [name for name in by if name not in OWN_GROUPS])
    plan = plan_reduction(events, wanted, by, timezone=timezone, holdings=holdings)
    if plan.cluster != "user":
        raise UsageError(say("the log has no users, and users are what an A/B test compares"))
    for measure, counts in zip(plan.measures, plan.counts, strict=True):
        refuse_undefined(measure, plan.holdings)
        if counts.percentile is not None:
            raise UsageError(say("{measure} is a percentile, which users do not add up to", measure=str(measure)))
    names = {
        f"{letter}{place}": f"{measure.label}.{column}"
        for place, measure in enumerate(plan.measures)
        for letter, column in (("n", "numerator"), ("d", "denominator"), ("o", "left_out"))
    }
    return events.over_users(lambda frame: plan.users(frame).filter(pl.col("user").is_not_null()).rename(names))


def find_lacking(measure: Measure, holdings: Holdings) -> list[str]:
    """Name what a log does not hold of what a measure needs, with the parameters that it has."""
    needs = (*measure.spec.needs, *measure.counts(RequestRow(holdings)).needs)
    return holdings.lacks(tuple(dict.fromkeys(needs)))


def refuse_undefined(measure: Measure, holdings: Holdings) -> None:
    """Refuse a measure for which a log does not hold what it needs."""
    lacking = find_lacking(measure, holdings)
    if lacking:
        raise UsageError(say_lacking(measure, lacking))


def say_lacking(measure: Measure, lacking: Sequence[str]) -> str:
    """Say what a log would have to hold for a measure."""
    names = [say("{names:or}", names=[_RATINGS.get(name, name) for name in need.split("|")]) for need in lacking]
    return say("{measure} needs {names:and}, which the log does not hold", measure=str(measure), names=names)
