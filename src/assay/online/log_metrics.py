"""Click measures of an event log by day, variant and attribute, with intervals over users."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from assay.data.events import QUERY
from assay.data.requests import look_through
from assay.data.sums import join_parts, sum_parts
from assay.errors import UsageError
from assay.lazy import pl
from assay.measures import parse, split_measures
from assay.measures.defaults import EVENTS
from assay.messages import say
from assay.online.log_tables import open_events
from assay.online.user_table import OWN_GROUPS, Reduction, find_lacking, plan_reduction, say_lacking
from assay.results.log_metrics import LogMeasure, LogMetrics, LogValue
from assay.stats.arms import arm_from_sums
from assay.stats.clustered import cluster_quantile_interval, ratio_interval
from assay.stats.inputs import check_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.data.events import Events
    from assay.data.requests import Holdings
    from assay.engines.engine import Engine
    from assay.formats.events.reading import Places
    from assay.measures import Measure
    from assay.results.log_metrics import Unit
    from assay.stats.arms import Arm
    from assay.stats.intervals import Interval

Group = tuple[Any, ...]

_ENOUGH = 200  # users: with fewer, intervals of heavy tails hold the truth in less than 93 % (docs/events.md)


def log_metrics(
    events: Events | Places,
    measures: Sequence[str | Measure] | str = (),
    *,
    by: Sequence[str] | str = (),
    timezone: str = "UTC",
    confidence_level: float = 0.95,
    holdings: Holdings | None = None,
    engine: str | Engine | None = None,
) -> LogMetrics:
    """Compute measures of an event log, for the whole or `by` day, variant, experiment and attributes of the log.

    Without measures, all that the log holds what they need for. Intervals take users as independent of each other
    (sessions, or requests, where a log has no users). Days are those of requests in the time zone. Where the events are
    a part of a log, `holdings` say what all of it holds: a part without clicks then has a rate of 0, and not none.
    An `engine` reads and reduces the log where it is: Parquet, tables or frames of Spark.

    >>> import assay, polars as pl
    >>> rows = {"query_id": ["1", "1", "2"], "user": ["ann", "ann", "bob"], "action": ["query", "click", "query"]}
    >>> found = assay.log_metrics(assay.Events.of(pl.DataFrame(rows)), "any_click")
    >>> found.value("any_click").interval.estimate
    0.5
    """
    check_share(confidence_level, "confidence_level")
    groups = [part.strip() for part in by.split(",") if part.strip()] if isinstance(by, str) else list(by)
    with open_events(events, [name for name in groups if name not in OWN_GROUPS], engine=engine) as log:
        return measure_log(log, measures, groups, timezone=timezone, level=confidence_level, holdings=holdings)


def measure_log(
    events: Events, measures: Sequence[str | Measure] | str, groups: list[str], *, timezone: str, level: float,
    holdings: Holdings | None, skewed: bool = False,
) -> LogMetrics:  # fmt: skip
    """Compute measures as `log_metrics` does; the intervals of means without an upper bound may count on their skew."""
    own = look_through(events)
    holdings = (
        own
        if holdings is None
        else replace(holdings, actions={**dict.fromkeys(holdings.actions, 0), **own.actions}, unknown=own.unknown)
    )
    if not own.actions.get(QUERY):
        raise UsageError(say("the log has no requests (rows of the action query): no measure has anything to count"))
    asked = [parse(one) for one in split_measures(measures)]
    wanted = asked or [one for one in map(parse, EVENTS) if not find_lacking(one, holdings)]
    for one in wanted:
        one.check_subject("events")
    present = [one for one in wanted if not find_lacking(one, holdings)]
    plan = plan_reduction(events, present, groups, timezone=timezone, holdings=holdings)
    cubed = [i for i in range(len(present)) if skewed and _is_mean(plan, i)]
    sums = _sum_users(plan, events, cubed)
    percentiles = _find_percentiles(plan, events, level)
    known = [group for group in sums if not group[-1]]
    values = [value for group in known for value in _values(plan, group[:-1], sums[group], percentiles, level)]
    rows = [sums[group] for group in known]
    few = [one.label for i, one in enumerate(plan.measures) if _rests_on_few(plan, i, rows)]
    return LogMetrics(
        by=plan.by,
        measures=tuple(_describe(one, holdings) for one in wanted),
        values=tuple(values),
        queries=sum(int(sums[group]["queries"]) for group in known),
        events=sum(holdings.actions.values()),
        users=_count_users(plan, events),
        cluster=plan.cluster,
        without_cluster=sum(int(row["queries"]) for group, row in sums.items() if group[-1]),
        unknown_requests=holdings.unknown,
        timezone=timezone,
        confidence_level=level,
        warnings=(
            *events.remarks,
            *_warnings(plan, [one for one in wanted if one not in present]),
            *([say("log.few_users", measures=few, least=_ENOUGH)] if few else []),
        ),
    )


def _describe(measure: Measure, holdings: Holdings) -> LogMeasure:
    lacking = find_lacking(measure, holdings)
    reason = say_lacking(measure, lacking) if lacking else ""
    unit = cast("Unit", measure.spec.unit)
    return LogMeasure(measure.label, str(measure), unit, measure.spec.lower_is_better, reason)


def _sum_users(plan: Reduction, events: Events, cubed: Sequence[int]) -> dict[Group, Mapping[str, float]]:
    """Sums over users and their products, by group; the last of a group says that its requests have no user.

    Products of three are summed for the measures at the places `cubed`.
    """
    keys = [*plan.by, "lost"]
    whole = {"users": pl.len(), "queries": pl.col("queries").sum()}
    whole |= {f"o{i}": pl.col(f"o{i}").sum() for i in range(len(plan.measures))}
    products: dict[str, pl.Expr] = {}
    for i in range(len(plan.measures)):
        n, d = pl.col(f"n{i}"), pl.col(f"d{i}")
        products |= {f"n{i}": n, f"d{i}": d, f"nn{i}": n * n, f"nd{i}": n * d, f"dd{i}": d * d}
        if i in cubed:
            products |= {f"nnn{i}": n**3, f"nnd{i}": n * n * d, f"ndd{i}": n * d * d, f"ddd{i}": d**3}
    sums = {column: part for name, one in products.items() for column, part in sum_parts(one, name).items()}

    def add_up(frame: pl.LazyFrame) -> pl.LazyFrame:
        users = plan.users(frame).with_columns(lost=pl.col(plan.cluster).is_null())
        return users.group_by(keys).agg(**whole, **sums)

    found = events.over_users(add_up).group_by(keys).agg(
        *(pl.col(name).sum() for name in whole), **{name: join_parts(name) for name in products}
    )  # fmt: skip
    ordered = found.sort(keys, nulls_last=True)
    return {tuple(row[name] for name in keys): row for row in ordered.iter_rows(named=True)}


def _count_users(plan: Reduction, events: Events) -> int:
    def count(frame: pl.LazyFrame) -> pl.LazyFrame:
        told = plan.holdings.has(f"{QUERY}.{plan.cluster}")
        requests = frame.filter(pl.col("action") == QUERY) if told else plan.requests(frame)
        return requests.select(pl.col(plan.cluster).drop_nulls().n_unique())

    return int(events.over_users(count).to_series().sum())


def _find_percentiles(plan: Reduction, events: Events, level: float) -> dict[tuple[Group, int], Interval]:
    """The intervals of percentiles, by group and place of the measure."""
    wanted = [(place, one) for place, one in enumerate(plan.counts) if one.percentile is not None]
    if not wanted:
        return {}
    only = Reduction(plan.holdings, tuple(plan.measures[place] for place, _ in wanted), plan.by, plan.timezone)
    columns = {f"v{i}": one.value for i, (_, one) in enumerate(wanted) if one.value is not None}
    name = pl.col(plan.cluster).alias("cluster ")

    def list_values(frame: pl.LazyFrame) -> pl.LazyFrame:
        return only.requests(frame).filter(pl.col(plan.cluster).is_not_null()).select(*plan.by, name, **columns)

    rows = events.over_users(list_values).with_columns(pl.col("cluster ").rank("dense"))
    found = {}
    parts = rows.partition_by(plan.by, as_dict=True) if plan.by else {(): rows}
    for group, part in parts.items():
        for i, (place, one) in enumerate(wanted):
            seen = part.select("cluster ", pl.col(f"v{i}")).drop_nulls()
            share = cast("float", one.percentile) / 100
            clusters = np.unique(seen["cluster "].to_numpy(), return_inverse=True)[1]
            values = seen[f"v{i}"].to_numpy()
            found[group, place] = cluster_quantile_interval(values, share, clusters, confidence_level=level)
    return found


def _values(
    plan: Reduction, group: Group, row: Mapping[str, float], percentiles: Mapping[Any, Interval], level: float
) -> list[LogValue]:
    shown = tuple(None if part is None else str(part) for part in group)
    found = []
    for i, measure in enumerate(plan.measures):
        interval = percentiles.get((group, i)) or _ratio(measure, i, row, level)
        numerator = None if (group, i) in percentiles else row[f"n{i}"]
        found.append(
            LogValue(shown, measure.label, numerator, row[f"d{i}"], interval, int(row["queries"]), int(row[f"o{i}"]))
        )
    return found


def _ratio(measure: Measure, i: int, row: Mapping[str, float], level: float) -> Interval:
    arm = _arm(i, row)
    cubes = None
    if f"nnn{i}" in row and arm.n and (r := arm.value) is not None:
        cubes = row[f"nnn{i}"] - 3 * r * row[f"nnd{i}"] + 3 * r**2 * row[f"ndd{i}"] - r**3 * row[f"ddd{i}"]
    return ratio_interval(arm, bounds=measure.bounds, confidence_level=level, cubes=cubes)


def _is_mean(plan: Reduction, i: int) -> bool:
    """Say whether a measure is a mean without an upper bound."""
    return not math.isfinite(plan.measures[i].bounds[1]) and plan.counts[i].percentile is None


def _rests_on_few(plan: Reduction, i: int, rows: Iterable[Mapping[str, float]]) -> bool:
    """Say whether a mean without an upper bound rests, in some group, on so few users that one of them may move it."""
    return _is_mean(plan, i) and any(0 < _arm(i, row).effective_n < _ENOUGH for row in rows)


def _arm(i: int, row: Mapping[str, float]) -> Arm:
    products = [[row[f"nn{i}"], row[f"nd{i}"], None, None], [row[f"nd{i}"], row[f"dd{i}"], None, None]]
    empty: list[list[float | None]] = [[None] * 4] * 2
    return arm_from_sums(int(row["users"]), [row[f"n{i}"], row[f"d{i}"], None, None], products=[*products, *empty])


def _warnings(plan: Reduction, lacking: Sequence[Measure]) -> tuple[str, ...]:
    found = [say_lacking(one, find_lacking(one, plan.holdings)) for one in lacking]
    if plan.cluster != "user":
        found.append(say(f"log.cluster_{plan.cluster}"))
    if plan.holdings.has("click") and plan.holdings.has("results") and (not plan.holdings.has("impression")):
        found.append(say("log.no_impressions"))
    return tuple(found)
