"""Who answers: ratings of two variants can be compared only if as many of their requests are rated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.results.ab_test import ResponseCheck
from assay.stats.arms import lift

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.results.ab_test import MeasureTest
    from assay.stats.arms import Arm


def check_responses(
    answers: Mapping[str, Mapping[str, Arm]], control: str, treatments: Sequence[str], alpha: float
) -> tuple[ResponseCheck, ...]:
    """Compare the share of requests that were rated, for every measure that rests on ratings."""
    return tuple(
        _check(measure, arms[control], arms[treatment], treatment, alpha)
        for measure, arms in answers.items()
        for treatment in treatments
        if control in arms and treatment in arms
    )


def _check(measure: str, control: Arm, treatment: Arm, name: str, alpha: float) -> ResponseCheck:
    found = lift(control, treatment, confidence_level=1 - alpha)
    differs = found.pvalue is not None and found.pvalue <= alpha
    return ResponseCheck(measure, name, found.control, found.treatment, found.pvalue, differs)


def doubt_responses(tests: tuple[MeasureTest, ...], responses: Sequence[ResponseCheck]) -> tuple[MeasureTest, ...]:
    """Call no lift of ratings better where other people may have answered."""
    doubtful = {(one.measure, one.treatment) for one in responses if one.differs}
    return tuple(
        replace(test, outcome="inconclusive")
        if test.outcome == "better" and (test.measure, test.treatment) in doubtful
        else test
        for test in tests
    )
