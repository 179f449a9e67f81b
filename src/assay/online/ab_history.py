"""How far comparisons before a release predicted the A/B tests after it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.messages import say
from assay.results.ab_history import ABHistory, Release
from assay.results.ab_test import ABTest
from assay.results.comparison import Comparison
from assay.stats.agreement import kendall_tau
from assay.stats.intervals import proportion_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.results.ab_history import Prediction
    from assay.results.ab_test import LiftOutcome, MeasureTest
    from assay.results.comparison import Contrast
    from assay.stats.intervals import Interval

Place = str | os.PathLike[str]
Pair = tuple[Comparison | Place, ABTest | Place]


def ab_history(
    results: Iterable[Comparison | ABTest | Place | Pair],
    *,
    measure: str | None = None,
    online_measure: str | None = None,
) -> ABHistory:
    """Set the differences of comparisons beside the lifts of the A/B tests of the same systems.

    Results are comparisons and A/B tests, or their files. A test belongs to the comparison that has a system of the
    name of its treatment; where names differ, give the two as a pair, (comparison, test). The measures are the first
    one of each comparison and the one that decided each test, unless others are named. Invalid tests are refused.

    >>> import assay
    >>> assay.ab_history([])
    Traceback (most recent call last):
    assay.errors.UsageError: there is no release to look at: give comparisons and A/B tests of the same systems
    """
    found = [
        _release(contrast, test, name)
        for comparison, trial in _pairs(list(results))
        for contrast, test, name in _match(comparison, trial, measure, online_measure)
    ]
    if not found:
        raise UsageError(say("there is no release to look at: give comparisons and A/B tests of the same systems"))
    moved = [(one.offline.estimate or 0.0, one.online.estimate or 0.0) for one in found]
    same = sum(before * after > 0 for before, after in moved)
    order = kendall_tau([before for before, _ in moved], [after for _, after in moved])
    return ABHistory(tuple(found), proportion_interval(same, len(found)), order)


def _pairs(given: list[Comparison | ABTest | Place | Pair]) -> list[tuple[Comparison, ABTest]]:
    """Comparisons with the tests of their systems: the pairs as given, then the others by names."""
    named = [(_open_comparison(one[0]), _open_test(one[1])) for one in given if isinstance(one, tuple)]
    single = [_open(one) for one in given if not isinstance(one, tuple)]
    comparisons = [one for one in single if isinstance(one, Comparison)]
    tests = [one for one in single if isinstance(one, ABTest)]
    return [*named, *((_comparison_of(test, comparisons), test) for test in tests)]


def _open(given: Comparison | ABTest | Place) -> Comparison | ABTest:
    if isinstance(given, (Comparison, ABTest)):
        return given
    source = Input.at(given)
    result = load_result(source) if source.text.lstrip().startswith("{") else None
    found = None if result is None else result.part(ABTest) or result.part(Comparison)
    if found is None:
        raise InputError(
            say("this file has neither a comparison nor an A/B test"),
            path=source.label,
            hint=say("make one: assay compare ... -o comparison.json, assay ab analyse ... -o ab.json"),
        )
    return found


def _open_comparison(given: Comparison | Place) -> Comparison:
    found = _open(given)
    if isinstance(found, ABTest):
        raise UsageError(say("a pair is COMPARISON=TEST, in this order: the first result is an A/B test"))
    return found


def _open_test(given: ABTest | Place) -> ABTest:
    found = _open(given)
    if isinstance(found, Comparison):
        raise UsageError(say("a pair is COMPARISON=TEST, in this order: the second result is a comparison"))
    return found


def _comparison_of(test: ABTest, comparisons: list[Comparison]) -> Comparison:
    """The one comparison that has systems of the names of the treatments."""
    fitting = [one for one in comparisons if {*test.treatments} & {*one.systems[1:]}]
    if len(fitting) == 1:
        return fitting[0]
    names = list(test.treatments)
    if fitting:
        raise UsageError(
            say("several comparisons have a system called {names:or}: give pairs, COMPARISON=TEST", names=names)
        )
    raise UsageError(say("no comparison has a system called {names:or}: give pairs, COMPARISON=TEST", names=names))


def _match(
    comparison: Comparison, trial: ABTest, measure: str | None, online_measure: str | None
) -> list[tuple[Contrast, MeasureTest, str]]:
    """Systems of a comparison and the treatments of the same name; one of each belong together under any names."""
    if trial.decision == "invalid":
        raise UsageError(say("the A/B test of {names:and} is invalid: leave it out", names=list(trial.treatments)))
    label = comparison.measures[0] if measure is None else comparison.label_of(measure)
    known = [one.measure for one in trial.tests]
    online = trial.primary if online_measure is None else online_measure
    if online not in known:
        raise UnknownName(say("measure"), online, known)
    systems, treatments = list(comparison.systems[1:]), list(trial.treatments)
    pairs = [(name, name) for name in treatments if name in systems]
    if not pairs and len(systems) == len(treatments) == 1:
        pairs = [(systems[0], treatments[0])]
    if not pairs:
        raise UsageError(
            say("no treatment ({treatments}) is a system of the comparison ({systems})",
                treatments=treatments, systems=systems)
        )  # fmt: skip
    return [(comparison.contrast(one, label), trial.test(online, other), other) for one, other in pairs]


def _release(contrast: Contrast, test: MeasureTest, name: str) -> Release:
    less = bool(contrast.difference.estimate) and contrast.improves != ((contrast.difference.estimate or 0) > 0)
    return Release(
        name,
        contrast.measure,
        _upright(contrast.difference, turn=less),
        contrast.verdict,
        test.measure,
        _upright(test.lift.relative, turn=test.lower_is_better),
        test.outcome,
        _judge(contrast.verdict, test.outcome),
    )


def _upright(found: Interval, *, turn: bool) -> Interval:
    """Turn an interval round where less is better."""
    if not turn:
        return found
    low, value, high = (None if one is None else -one for one in (found.high, found.estimate, found.low))
    return replace(found, estimate=value, low=low, high=high)


def _judge(verdict: str, outcome: LiftOutcome) -> Prediction:
    decided = {"better", "worse"}
    if verdict not in decided or outcome not in decided:
        return "open"
    return "right" if verdict == outcome else "wrong"
