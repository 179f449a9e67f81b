"""How a comparison decides: its rules, and the verdict on one difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import UsageError
from assay.stats.ttests import equivalence

if TYPE_CHECKING:
    from assay.data.segments import Floats
    from assay.stats.multiplicity import Correction

Verdict = Literal["better", "worse", "equivalent", "inconclusive"]
Family = Literal["systems", "all"]

_ENOUGH_TIES = 30  # fewer queries without any difference do not show that there is none


@dataclass(frozen=True)
class Rules:
    """How a comparison decides.

    A difference below `smallest_effect` does not matter; `family` says which tests are corrected together: all systems
    of one measure, or everything; `worth` is the relative gain above which a reranker pays.
    """

    smallest_effect: float = 0.01
    alpha: float = 0.05
    correction: Correction = "holm"
    family: Family = "systems"
    interval: Literal["t", "bca"] = "t"
    n_resamples: int = 10_000
    seed: int = 0
    worth: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004
            raise UsageError(f"alpha = {self.alpha:g}: expected a number between 0 and 0.5")
        if self.smallest_effect <= 0:
            raise UsageError(f"smallest effect {self.smallest_effect:g}: expected a number above 0")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: expected a whole number from 0 on")
        if self.n_resamples < 1:
            raise UsageError(f"{self.n_resamples} resamples: expected 1 or more")

    @property
    def confidence_level(self) -> float:
        """Level of all intervals."""
        return 1 - self.alpha


def decide(change: Floats, rules: Rules, *, adjusted: float, sign: float, weights: Floats | None) -> Verdict:
    """Equivalent if the difference is surely too small to matter, else better or worse if it is real.

    `adjusted` is the corrected p of the difference, `sign` is -1 where lower values are better.
    """
    present = change[~np.isnan(change)]
    if not present.any():
        return "equivalent" if len(present) >= _ENOUGH_TIES else "inconclusive"
    same = equivalence(change, rules.smallest_effect, weights=weights, alpha=rules.alpha)
    if same.pvalue is not None and same.pvalue <= rules.alpha:
        return "equivalent"
    constant = same.pvalue is None and len(present) >= _ENOUGH_TIES
    if constant and abs(same.estimate or 0.0) < rules.smallest_effect:
        return "equivalent"
    if adjusted > rules.alpha or not same.estimate:
        return "inconclusive"
    return "better" if sign * same.estimate > 0 else "worse"
