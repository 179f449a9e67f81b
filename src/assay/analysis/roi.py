"""Whether better results pay: revenue from the measured gain against what it costs, with its uncertainty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.errors import UnknownName, UsageError
from assay.results.money import Band, Gain, NetAt, Roi

if TYPE_CHECKING:
    from assay.results.comparison import Comparison

_POINTS = 25


def roi(
    gain: Gain | float,
    *,
    cost_per_query: float | None,
    queries_per_day: float,
    revenue_per_query: float,
    fixed_per_day: float = 0.0,
    elasticity: float = 1.0,
    method: str = "",
    currency: str = "USD",
    tokens: float | None = None,
) -> Roi:
    """Weigh a relative gain in quality against its extra cost; the interval of the gain goes into every number.

    Revenue rises by `elasticity` per cent when quality rises by one per cent; 1 is the plain formula. `method` names
    what costs it, `tokens` how many tokens that reads for a query.
    """
    given = gain if isinstance(gain, Gain) else Gain(Band(gain))
    if given.relative.value is None or not math.isfinite(given.relative.value):
        raise UsageError(f"the gain is {given.relative.value!r}: expected a number such as 0.2")
    for name, value in (("queries_per_day", queries_per_day), ("revenue_per_query", revenue_per_query),
                        ("elasticity", elasticity)):  # fmt: skip
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be above 0, not {value!r}")
    for name, value in (("cost_per_query", cost_per_query or 0.0), ("fixed_per_day", fixed_per_day)):
        if not 0 <= value < math.inf:
            raise UsageError(f"{name} must be 0 or more, not {value!r}")
    worth = _each(given.relative, lambda g: revenue_per_query * elasticity * g)  # earned by one query
    revenue = _each(worth, lambda earned: queries_per_day * earned)
    total = None if cost_per_query is None else queries_per_day * cost_per_query + fixed_per_day
    net = Band(None) if total is None else _each(revenue, lambda r: r - total)
    back = Band(None) if not total else _each(net, lambda n: n / total)
    needed = None if total is None else total / (queries_per_day * revenue_per_query * elasticity)
    volume = _volume(worth, cost_per_query, fixed_per_day)
    price = _each(worth, lambda earned: _above(earned - fixed_per_day / queries_per_day))
    return Roi(
        given, queries_per_day, revenue_per_query, cost_per_query, fixed_per_day, elasticity, revenue, total, net, back,
        volume, price, needed, _curve(worth, cost_per_query, fixed_per_day, queries_per_day), _outcome(net, given),
        method, currency, tokens,
    )  # fmt: skip


def _each(band: Band, function: Any) -> Band:
    """Put value and ends through a function that keeps their order."""
    return Band(*(None if part is None else function(part) for part in (band.value, band.low, band.high)))


def _above(value: float) -> float | None:
    return value if value > 0 else None


def _volume(worth: Band, cost: float | None, fixed: float) -> Band:
    """Queries a day from which on it pays; a smaller gain needs more, so the ends change places."""

    def needed(earned: float) -> float | None:
        left = earned - (cost or 0.0)
        return None if left <= 0 else fixed / left

    if cost is None:
        return Band(None)
    found = _each(worth, needed)
    return Band(found.value, found.high, found.low)


def _curve(worth: Band, cost: float | None, fixed: float, queries: float) -> tuple[NetAt, ...]:
    if cost is None or worth.value is None:
        return ()
    points = []
    for volume in np.geomspace(queries / 100, queries * 10, _POINTS).tolist():
        net = [
            None if part is None else volume * (part - cost) - fixed for part in (worth.value, worth.low, worth.high)
        ]
        assert net[0] is not None
        points.append(NetAt(volume, net[0], net[1], net[2]))
    return tuple(points)


def _outcome(net: Band, gain: Gain) -> Literal["pays", "loses", "open", "no_interval", "no_cost"]:
    """Where the interval lies; a gain from a comparison pays only if that calls the system better."""
    if net.value is None:
        return "no_cost"
    if net.low is None or net.high is None:
        return "no_interval"
    if net.low > 0:
        return "pays" if gain.verdict in {"better", ""} else "open"
    return "loses" if net.high < 0 else "open"


def gain_of(comparison: Comparison, *, system: str | None = None, measure: str | None = None) -> Gain:
    """Take the gain of one system over the baseline, with its interval, from a comparison.

    An interval that has a reason, or that stands on too few queries for a verdict, is left out.
    """
    measure = None if measure is None else comparison.label_of(measure)
    label = _chosen("measure", measure, list(comparison.measures), default=comparison.measures[0])
    systems = list(comparison.systems[1:])
    name = _chosen("system", system, systems, default=systems[0] if len(systems) == 1 else None)
    found = comparison.contrast(name, label)
    relative = found.relative
    if relative.estimate is None:
        raise UsageError(f"{label} of {comparison.baseline} is 0, so there is no relative gain")
    if relative.estimate and found.improves != (relative.estimate > 0):
        raise UsageError(f"{label} is better when it is lower: choose a measure of quality")
    known = not found.too_few and not relative.reason and relative.low != relative.high  # of width 0 in earlier files
    return Gain(
        Band(relative.estimate, relative.low, relative.high) if known else Band(relative.estimate),
        comparison.mean(comparison.baseline, label).estimate, comparison.mean(name, label).estimate,
        relative.confidence_level, name, comparison.baseline, label, comparison.queries, found.verdict,
    )  # fmt: skip


def _chosen(kind: str, asked: str | None, known: list[str], *, default: str | None) -> str:
    if asked is None and default is not None:
        return default
    if asked is None:
        raise UsageError(f"the comparison holds several systems: choose one with --{kind} ({', '.join(known)})")
    if asked not in known:
        raise UnknownName(kind, asked, known, hint=f"the comparison holds {', '.join(known)}")
    return asked
