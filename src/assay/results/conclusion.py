"""What is shown about the best of several: the one decision that every sentence about a winner follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.stats.inputs import EQUAL
from assay.stats.intervals import Interval

Decision = Literal["better", "worse", "equivalent", "inconclusive"]
HoldoutCheck = Literal["none", "confirmed", "not_confirmed", "denied"]
State = Literal["nothing", "alone", "equal", "tie", "untested", "shown", "not_shown"]
Strength = Literal["shown", "open", "worse"]


@dataclass(frozen=True)
class PairTest:
    """One against another: the difference of their means, its test, and the decision.

    `adjusted` is p corrected for the `tests` that were made together, by the method that `correction` names. `turned`
    says that the correction made a difference inconclusive that would be real if it were the only one tested, and
    `too_few` that there are too few queries for any decision.
    """

    first: str
    second: str
    difference: Interval
    pvalue: float
    adjusted: float
    decision: Decision
    correction: str = "none"
    tests: int = 1
    turned: bool = False
    too_few: bool = False

    @property
    def fails_by_tail(self) -> bool:
        """Return whether the test alone would show the difference, but queries that were not seen could undo it."""
        alpha = (1 - self.difference.confidence_level) * (1 + EQUAL)
        return self.decision == "inconclusive" and not self.too_few and self.adjusted <= alpha


@dataclass(frozen=True)
class Conclusion:
    """The best on one measure, and what is shown about it; every statement about a winner comes from here.

    `best` has all that share the best mean, and is empty where all of several have the same; `second` has the
    next. `rivals` are those that the best one is not shown to be better than, `against_second` its test against the
    nearest of the others, None where there was none. `against_baseline` is its test against the baseline, None where it
    is the baseline; `baseline_named` is False for a baseline that is merely the first given. `holdout` says what
    queries that had no part in the choice say about it.
    """

    measure: str
    candidates: int
    best: tuple[str, ...]
    value: float | None
    second: tuple[str, ...] = ()
    second_value: float | None = None
    lower: bool = False
    rivals: tuple[str, ...] = ()
    against_second: PairTest | None = None
    baseline: str = ""
    baseline_named: bool = True
    against_baseline: PairTest | None = None
    holdout: HoldoutCheck = "none"

    @property
    def state(self) -> State:
        """What can be said about the best one."""
        if self.value is None:
            return "nothing"
        if self.candidates == 1:
            return "alone"
        if len(self.best) != 1:
            return "tie" if self.best else "equal"
        if self.against_second is None:
            return "untested"
        return "not_shown" if self.rivals else "shown"

    @property
    def choice(self) -> str:
        """The system to take: the best one where it is shown to be better than the baseline, else the baseline."""
        test = self.against_baseline
        shown = self.holdout == "confirmed" or (
            self.holdout == "none" and test is not None and test.decision == "better"
        )
        return self.best[0] if len(self.best) == 1 and shown else self.baseline

    @property
    def strength(self) -> Strength:
        """Whether the best one is shown to be better: than all others, or than a baseline that was named."""
        if self.holdout in {"not_confirmed", "denied"}:
            return "open"
        if self.holdout == "confirmed" or self.state == "shown":
            return "shown"
        test = self.against_baseline
        named = self.baseline_named or self.candidates == 2  # noqa: PLR2004
        return "shown" if test is not None and named and test.decision == "better" else "open"


def find_best(means: Mapping[str, float | None], *, lower: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those with the best mean and those with the next one; empty if all have the same."""
    sign = -1.0 if lower else 1.0
    known = {name: sign * mean for name, mean in means.items() if mean is not None}
    if not known:
        return (), ()
    first = _largest(known)
    if 1 < len(known) == len(first):
        return (), ()
    return first, _largest({name: mean for name, mean in known.items() if name not in first})


def _largest(means: Mapping[str, float]) -> tuple[str, ...]:
    if not means:
        return ()
    top = max(means.values())
    return tuple(name for name, mean in means.items() if top - mean <= EQUAL * abs(top))


def describe_best(
    measure: str, means: Mapping[str, float | None], *, lower: bool, baseline: str = "", baseline_named: bool = True
) -> Conclusion:
    """Name the best by the means alone, without any test."""
    best, second = find_best(means, lower=lower)
    known = [mean for mean in means.values() if mean is not None]
    top = means[best[0]] if best else (min(known) if lower else max(known)) if known else None
    return Conclusion(
        measure,
        candidates=len(means),
        best=best,
        value=top,
        second=second,
        second_value=means[second[0]] if second else None,
        lower=lower,
        baseline=baseline,
        baseline_named=baseline_named,
    )
