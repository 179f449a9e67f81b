"""Compute whether better results pay: revenue from the measured gain less its cost, with uncertainty."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from assay.analysis.comparable import align_systems
from assay.analysis.decision import decide_payment
from assay.errors import UnknownName, UsageError
from assay.formats.files import Input
from assay.formats.results import load_result, read_record
from assay.messages import say
from assay.results.ab_test import ABTest, MeasureTest
from assay.results.comparison import Comparison, Payment
from assay.results.money import Band, Costs, Gain, NetAt, Roi

_POINTS = 25


Place = str | os.PathLike[str]


def roi(
    gain: Gain | Comparison | ABTest | float | Place,
    *,
    revenue_per_query: float,
    cost_per_query: float | None = None,
    queries_per_day: float | None = None,
    costs: Costs | Place | None = None,
    fixed_per_day: float = 0.0,
    elasticity: float = 1.0,
    system: str | None = None,
    measure: str | None = None,
    method: str = "",
    currency: str | None = None,
    tokens: float | None = None,
) -> Roi:
    """Weigh a relative gain in quality against its extra cost; the interval of the gain goes into every number.

    The gain is a number, or that of a comparison, of an A/B test, or of the result file of one: of its `measure` (the
    first) and its `system` (the only one). The cost of a query is given, or taken from `costs`, those of `assay.cost`
    or their file, with the volume and currency: of the `method` that is named, or the only one. Those of an
    experiment are of whole systems: then what counts is how much more the system costs than the baseline. Revenue rises
    by `elasticity` per cent when quality rises by one per cent; 1 is the plain formula. `tokens` are read for a query.
    That the gain of a comparison pays, or loses, takes more than its interval: the values of the queries must show it
    within the bounds of the measure.

    >>> import assay
    >>> assay.roi(0.2, cost_per_query=0.001, queries_per_day=100_000, revenue_per_query=0.01).net.value
    100.0
    """
    found = _gain(gain, system, measure)
    price = _price(costs, found, _Price(method, cost_per_query, queries_per_day, tokens, currency or "USD"), currency)
    if price.queries_per_day is None:
        raise UsageError(say("the number of queries a day is missing: give --queries-per-day"))
    return _weigh(
        found, price, queries_per_day=price.queries_per_day, revenue_per_query=revenue_per_query,
        fixed_per_day=fixed_per_day, elasticity=elasticity,
    )  # fmt: skip


@dataclass(frozen=True)
class _Price:
    """The extra cost of a query, and what it was computed for."""

    method: str
    per_query: float | None
    queries_per_day: float | None
    tokens: float | None
    currency: str
    saves: bool = False  # whether it may be below 0


def _price(costs: Costs | Place | None, gain: Gain, given: _Price, currency: str | None) -> _Price:
    """The price as given, else from the costs."""
    if costs is None:
        return replace(given, method=given.method or _change_of(gain))
    if given.per_query is not None:
        raise UsageError(say("give the extra cost only once: as the cost of a query, or as costs"))
    place = say("the cost") if isinstance(costs, Costs) else os.fspath(costs)
    hint = say("make one: assay cost ... -o FILE.json")
    part = costs if isinstance(costs, Costs) else read_record(costs, Costs, say("cost result"), hint=hint)
    names = [one.method for one in part.methods]
    name = given.method or (gain.system if gain.system in names else names[0] if len(names) == 1 else None)
    if name is None:
        raise UsageError(
            say("{place} holds several methods: choose one with --method ({names})", place=place, names=list(names))
        )
    if name not in names:
        raise UnknownName(say("method"), name, names, hint=say("{place} holds {names}", place=place, names=list(names)))
    if currency is not None and currency != part.currency:
        raise UsageError(
            say("{place} is in {currency}, not in {wanted}", place=place, currency=part.currency, wanted=currency)
        )
    each = part.of(name).tokens
    read = None if each is None else each * part.documents_per_query
    volume = part.queries_per_day if given.queries_per_day is None else given.queries_per_day
    if part.queries is not None:
        return replace(_extra(part, name, gain), queries_per_day=volume)
    return _Price(name, part.of(name).per_query, volume, read, part.currency)


def _change_of(gain: Gain) -> str:
    """What is weighed: the system that a comparison or an A/B test is about, else a reranking of the same results."""
    if gain.system and gain.baseline:
        return say("roi.instead", method=gain.system, baseline=gain.baseline)
    return say("roi.step")


def _extra(part: Costs, name: str, gain: Gain) -> _Price:
    """What a system of an experiment costs more than the baseline, whose cost was there before."""
    names = [one.method for one in part.methods if one.method != name]
    base = next((one for one in (gain.baseline, part.baseline) if one in names), None)
    if base is None:
        raise UsageError(
            say(
                "the costs are those of whole systems, and it is not known what {name} replaces: give the comparison "
                "of {name} with one of {names}",
                name=name,
                names=names,
            )
        )
    mine, other = part.of(name).per_query, part.of(base).per_query
    extra = None if mine is None or other is None else mine - other
    return _Price(say("roi.instead", method=name, baseline=base), extra, None, None, part.currency, saves=True)


def _gain(given: Gain | Comparison | ABTest | float | Place, system: str | None, measure: str | None) -> Gain:
    if isinstance(given, (str, os.PathLike)):
        given = _read_gain(given)
    if isinstance(given, ABTest):
        return gain_of_test(given, treatment=system, measure=measure)
    if isinstance(given, Comparison):
        return gain_of(given, system=system, measure=measure)
    if system or measure:
        raise UsageError(say("--system and --measure choose from a comparison or an A/B test: give the file of one"))
    return given if isinstance(given, Gain) else Gain(Band(given))


def _read_gain(place: Place) -> Comparison | ABTest:
    source = Input.at(place)
    tested = load_result(source).part(ABTest) if source.text.lstrip().startswith("{") else None
    hint = say("make one: assay compare ... -o comparison.json")
    return tested or read_record(place, Comparison, say("comparison"), hint=hint)


def _weigh(
    given: Gain,
    price: _Price,
    *,
    queries_per_day: float,
    revenue_per_query: float,
    fixed_per_day: float,
    elasticity: float,
) -> Roi:
    cost_per_query = price.per_query
    if given.relative.value is None or not math.isfinite(given.relative.value):
        raise UsageError(say("the gain is {value!r}: expected a number such as 0.2", value=given.relative.value))
    for name, value in (("queries_per_day", queries_per_day), ("revenue_per_query", revenue_per_query),
                        ("elasticity", elasticity)):  # fmt: skip
        if not 0 < value < math.inf:
            raise UsageError(say("{name} must be above 0, not {value!r}", name=name, value=value))
    for name, value in (
        ("cost_per_query", 0.0 if price.saves else cost_per_query or 0.0),
        ("fixed_per_day", fixed_per_day),
    ):
        if not 0 <= value < math.inf:
            raise UsageError(say("{name} must be 0 or more, not {value!r}", name=name, value=value))
    worth = _each(given.relative, lambda g: revenue_per_query * elasticity * g)  # earned by one query
    revenue = _each(worth, lambda earned: queries_per_day * earned)
    total = None if cost_per_query is None else queries_per_day * cost_per_query + fixed_per_day
    net = Band(None) if total is None else _each(revenue, lambda r: r - total)
    back = Band(None) if not total or total < 0 else _each(net, lambda n: n / total)
    needed = None if total is None else total / (queries_per_day * revenue_per_query * elasticity)
    volume = _volume(worth, cost_per_query, fixed_per_day)
    most = _each(worth, lambda earned: _positive_or_none(earned - fixed_per_day / queries_per_day))
    found = Roi(
        given, queries_per_day, revenue_per_query, cost_per_query, fixed_per_day, elasticity, revenue, total, net, back,
        volume, most, needed, _curve(worth, cost_per_query, fixed_per_day, queries_per_day),
        _outcome(net, given, needed), price.method, price.currency, price.tokens,
    )  # fmt: skip
    return replace(found, roi=found.roi_if_shown)


def _each(band: Band, function: Any) -> Band:
    """Apply an increasing function to a value and the ends of its interval."""
    return Band(*(None if part is None else function(part) for part in (band.value, band.low, band.high)))


def _positive_or_none(value: float) -> float | None:
    return value if value > 0 else None


def _volume(worth: Band, cost: float | None, fixed: float) -> Band:
    """Queries a day from which on it pays; a smaller gain needs more, so the ends change places."""

    def break_even(earned: float) -> float | None:
        left = earned - (cost or 0.0)
        return None if left <= 0 else fixed / left

    if cost is None:
        return Band(None)
    found = _each(worth, break_even)
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


def _outcome(net: Band, gain: Gain, needed: float | None) -> Literal["pays", "loses", "open", "no_interval", "no_cost"]:
    """The outcome by where the interval is; a gain from a comparison must be shown to be on that side, too."""
    if net.value is None or needed is None:
        return "no_cost"
    if net.low is None or net.high is None:
        return "no_interval"
    if net.low <= 0 <= net.high:
        return "open"
    side: Payment = "above" if net.low > 0 else "below"
    if gain.verdict and _beside(gain, needed, side) != side:
        return "open"
    return "pays" if side == "above" else "loses"


def _beside(gain: Gain, needed: float, by_interval: Payment) -> Payment | None:
    """Where a gain is shown to be, beside the one that pays: by the values behind it, else by verdict and interval."""
    found = gain.comparison
    by_name = {} if found is None else {one.name: one for one in found.scores}
    if found is None or not {*found.systems} <= {*by_name}:
        return "open" if by_interval == "above" and gain.verdict != "better" else by_interval
    data = align_systems([by_name[name] for name in found.systems], [gain.measure])
    before, after = data.values[:, 0, 0], data.values[:, 0, data.names.index(gain.system)]
    return decide_payment(
        found.contrast(gain.system, gain.measure).verdict, after, before, replace(found.rules, worth=needed),
        weights=data.weights, bounds=data.columns[0].limits(data.values[:, 0]), clusters=data.clusters,
    )  # fmt: skip


def gain_of(comparison: Comparison, *, system: str | None = None, measure: str | None = None) -> Gain:
    """Take the gain of one system over the baseline, with its interval, from a comparison.

    An interval that has a reason, or that has too few queries for a verdict, is left out.
    """
    measure = None if measure is None else comparison.label_of(measure)
    label = _choose(say("measure"), measure, list(comparison.measures), default=comparison.measures[0])
    systems = list(comparison.systems[1:])
    name = _choose(say("system"), system, systems, default=systems[0] if len(systems) == 1 else None)
    found = comparison.contrast(name, label)
    relative = found.relative
    if relative.estimate is None:
        raise UsageError(
            say("{label} of {baseline} is 0, so there is no relative gain", label=label, baseline=comparison.baseline)
        )
    if relative.estimate and found.improves != (relative.estimate > 0):
        raise UsageError(say("{label} is better when it is lower: choose a measure of quality", label=label))
    known = not found.too_few and not relative.reason and relative.low != relative.high  # of width 0 in earlier files
    return Gain(
        Band(relative.estimate, relative.low, relative.high) if known else Band(relative.estimate),
        comparison.mean(comparison.baseline, label).estimate, comparison.mean(name, label).estimate,
        relative.confidence_level, name, comparison.baseline, label, comparison.queries, found.verdict,
        comparison=comparison,
    )  # fmt: skip


def gain_of_test(test: ABTest, *, treatment: str | None = None, measure: str | None = None) -> Gain:
    """Take the lift of one treatment over the control, with its interval, from an A/B test.

    The measure is the one that decides the test, unless another is named. A test whose users were not assigned as
    planned has no lift to rely on, and is refused.
    """
    if test.decision == "invalid":
        raise UsageError(say("the A/B test is invalid, so its lift says nothing about money"))
    labels = list(dict.fromkeys(one.measure for one in test.tests))
    label = _choose(say("measure"), measure, labels, default=test.primary)
    names = list(test.treatments)
    name = _choose(say("treatment"), treatment, names, default=names[0] if len(names) == 1 else None)
    found = test.test(label, name)
    if found.lower_is_better:
        raise UsageError(say("{label} is better when it is lower: choose a measure of quality", label=label))
    lift = found.lift
    if lift.relative.estimate is None:
        raise UsageError(
            say("{label} of {baseline} is 0, so there is no relative gain", label=label, baseline=test.control)
        )
    verdict = found.outcome if found.outcome in {"better", "worse"} else "inconclusive"
    return Gain(
        _relative_band(found), lift.control, lift.treatment, lift.relative.confidence_level, name, test.control, label,
        verdict=verdict, users=sum(lift.n),
    )  # fmt: skip


def _relative_band(found: MeasureTest) -> Band:
    """The relative lift; of a sequential test, its interval is as much wider as that of the absolute lift is."""
    relative, absolute, always = found.lift.relative, found.lift.absolute, found.always
    if relative.low is None or relative.high is None or relative.estimate is None or found.outcome == "waiting":
        return Band(relative.estimate)
    if always is None or None in (always.low, always.high, absolute.low, absolute.high):
        return Band(relative.estimate, relative.low, relative.high)
    wider = (always.high - always.low) / (absolute.high - absolute.low)  # type: ignore[operator]
    value = relative.estimate
    return Band(value, value - wider * (value - relative.low), value + wider * (relative.high - value))


def _choose(kind: str, asked: str | None, known: list[str], *, default: str | None) -> str:
    if asked is None and default is not None:
        return default
    if asked is None:
        raise UsageError(
            say("the comparison holds several systems: choose one with --system ({names})", names=list(known))
        )
    if asked not in known:
        raise UnknownName(kind, asked, known, hint=say("the comparison holds {names}", names=list(known)))
    return asked
