"""How many queries a comparison needs, from the spread of differences seen before or from numbers."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from assay.analysis.comparable import align_systems
from assay.analysis.decision import too_few
from assay.analysis.stored import read_systems
from assay.data.scores import Scores
from assay.errors import UnknownName, UsageError
from assay.messages import say
from assay.results.comparison import Rules
from assay.results.comparison_plan import ComparisonPlan, PlannedContrast
from assay.results.result import Result
from assay.stats.inputs import paired_differences
from assay.stats.power import design, detectable_difference, sample_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.comparable import AlignedScores
    from assay.stats.power import Design


_Asked = tuple[float | None, int | None, float, float]  # difference, queries, level, power


def plan_comparison(
    difference: float | None = None,
    systems: Sequence[Scores] | Mapping[str, Scores] | Result | str | os.PathLike[str] | None = None,
    measures: Any = None,
    *,
    n: int | None = None,
    deviation: float | None = None,
    tests: int | None = None,
    baseline: str | None = None,
    power: float = 0.8,
    rules: Rules | None = None,
) -> ComparisonPlan:
    """Return how many queries show a difference with this power, or which difference that many queries show.

    The spread of the differences is that of `systems` (scores, a result or its file), or a `deviation` that is given.
    `tests` is how many systems are to be compared with the baseline: those that there are, or one. The tests are
    corrected together, so the first of them is made at alpha / tests, and so is the plan.

    >>> import assay
    >>> plan = assay.plan_comparison(0.02, deviation=0.2, tests=3)
    >>> plan.contrasts[0].needed
    1050
    >>> round(assay.plan_comparison(n=200, deviation=0.2).contrasts[0].detectable, 4)
    0.0398
    """
    rules = rules or Rules()
    if systems is None and deviation is None:
        raise UsageError(
            say(
                "a plan needs to know how much differences vary: give the scores or the result file of an earlier "
                "comparison, or their standard deviation (--deviation 0.2)"
            )
        )
    if systems is not None and deviation is not None:
        raise UsageError(
            say("give scores, a result file, or the standard deviation of differences: one of them, not both")
        )
    if difference is None and n is None and systems is None:
        raise UsageError(say("give the difference to be shown, or the number of queries"))
    if difference is not None and not 0 < abs(difference) < math.inf:
        raise UsageError(say("difference {difference:g}: expected a number other than 0", difference=difference))
    if n is not None and n < 2:  # noqa: PLR2004
        raise UsageError(say("n = {n}: expected 2 queries or more", n=n))
    if tests is not None and tests < 1:
        raise UsageError(say("{tests} tests: expected 1 or more", tests=tests))
    seen = [] if systems is None else _spreads(systems, measures, baseline, difference)
    others = len({name for name, _, _ in seen})
    count = rules.family_size(tests or max(others, 1), len({label for _, label, _ in seen}) or 1)
    asked = (difference, n, rules.alpha / count, power)
    if deviation is not None:
        contrasts = [_plan(("", ""), deviation, None, asked)]
    else:
        contrasts = [_plan_seen(name, label, of, asked) for name, label, of in seen]
    return ComparisonPlan(
        difference, n, _baseline(systems, baseline), tuple(contrasts), tests=count, alpha=rules.alpha, power=power
    )


def _scores(systems: Any) -> list[Scores]:
    if isinstance(systems, (str, os.PathLike)):
        return read_systems(systems)
    if isinstance(systems, Result):
        return list(systems.systems)
    return list(systems.values() if hasattr(systems, "values") and not isinstance(systems, Scores) else systems)


def _baseline(systems: Any, baseline: str | None) -> str:
    return "" if systems is None else baseline or _scores(systems)[0].name


def _refuse_beyond(difference: float | None, label: str, reach: float | None) -> None:
    """Refuse a difference that no two values of the measure can have."""
    if difference is not None and reach is not None and abs(difference) > reach:
        raise UsageError(
            say(
                "difference {difference:g}: values of {label} differ by {reach:g} at most",
                difference=difference, label=label, reach=reach,
            )
        )  # fmt: skip


def _spreads(
    systems: Any, measures: Any, baseline: str | None, difference: float | None
) -> list[tuple[str, str, Design]]:
    """The spread of the differences of every system from the baseline, on every measure."""
    scores = _scores(systems)
    names = [one.name for one in scores]
    if baseline is not None and baseline not in names:
        raise UnknownName(say("baseline"), baseline, names)
    ordered = sorted(scores, key=lambda one: one.name != (baseline or names[0]))
    data = align_systems(ordered, measures)
    for i, column in enumerate(data.columns):
        _refuse_beyond(difference, column.label, column.reach(data.values[:, i]))
    return [
        (name, label, _design(data, i, j))
        for i, label in enumerate(data.labels)
        for j, name in enumerate(data.names)
        if j
    ]


def _design(data: AlignedScores, measure: int, system: int) -> Design:
    change = paired_differences(data.values[:, measure, system], data.values[:, measure, 0])
    return design(change, weights=data.weights, clusters=data.clusters)


def _plan_seen(name: str, label: str, of: Design, asked: _Asked) -> PlannedContrast:
    if too_few(of.effective_n) or not of.deviation:
        reason = say("plan.too_few") if too_few(of.effective_n) else say("plan.no_spread")
        return PlannedContrast(name, label, of.deviation or 0.0, of.n, None, None, reason)
    worth = of.effective_n / of.n  # the effective size of a query where weights are uneven or queries belong together
    return _plan((name, label), of.deviation, of.n, asked, worth)


def _plan(
    names: tuple[str, str],
    deviation: float,
    queries: int | None,
    asked: _Asked,
    worth: float = 1.0,
) -> PlannedContrast:
    difference, n, level, power = asked
    needed = None if difference is None else sample_size(abs(difference), deviation, alpha=level, power=power).n
    shown = n if n is not None else queries
    detectable = None if shown is None else detectable_difference(deviation, shown * worth, alpha=level, power=power)
    return PlannedContrast(
        *names,
        deviation,
        queries,
        None if needed is None else math.ceil(needed / worth),
        None if detectable is None else detectable.difference,
        say("plan.no_spread") if deviation == 0 else "",
    )
