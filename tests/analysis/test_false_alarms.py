"""How often a comparison says what is not so: better, best, best of several, and equivalent, on real and extreme values.

Real values are those of a TREC collection, resampled query by query, with the difference between two systems turned
around at random, so that neither is better. `ASSAY_STRESS=1` runs 2,000 comparisons of each kind and prints the rows of
docs/decisions.md; fewer run normally, with bounds that a fair test leaves as seldom.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import assay
from assay.analysis.comparable import AlignedScores
from assay.analysis.compare import _contrasts
from assay.analysis.conclude import conclude
from assay.data.scores import Column
from assay.results.comparison import Rules

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "robust03"
MEASURES = ["ndcg@10", "map"]


@pytest.fixture(scope="module")
def count(stress):
    return 2000 if stress else 60


@pytest.fixture(scope="module")
def real():
    """Values of every query by measure: a column for each system."""
    if not DATA.exists():
        pytest.skip(f"no {DATA.name} beside the project")
    runs = sorted(DATA.glob("*.run.gz"))[:6]
    found = [assay.evaluate(DATA / "qrels.txt.gz", run, MEASURES) for run in runs]
    return {label: np.stack([one.column(label) for one in found], axis=1) for label in MEASURES}


def most(count):
    """Most false alarms: 6.5 % of 2,000; of fewer, what 5 % leave once in ten thousand."""
    return 0.065 * count if count >= 2000 else scipy.stats.binom(count, 0.05).isf(1e-4)


def aligned(values):
    names = tuple(f"s{i}" for i in range(values.shape[1]))
    ids = [f"q{i}" for i in range(len(values))]
    return AlignedScores(ids, (Column("m", "m", "m"),), names, values[:, None, :], None)


def equal_systems(pool, n, systems, rng):
    """Queries drawn anew; in each, the values of the systems in random order: none is better than another."""
    drawn = pool[rng.integers(len(pool), size=n)][:, rng.permutation(pool.shape[1])[:systems]]
    return rng.permuted(drawn, axis=1)


EXTREMES = {
    "shares": lambda rng, n, k: (rng.random((n, k)) < 0.9).astype(float),
    "rare hits": lambda rng, n, k: (rng.random((n, k)) < 0.03).astype(float),
    "one noisy": lambda rng, n, k: np.clip(0.5 + rng.normal(0, [0.4] + [0.02] * (k - 1), (n, k)), 0, 1),
    "twins": lambda rng, n, k: np.clip(rng.random((n, 1)) + rng.normal(0, 0.01, (n, k)), 0, 1),
    "near 0, long tail": lambda rng, n, k: rng.beta(0.2, 1.5, (n, k)),
}
RULES = Rules(n_resamples=999)


def alarms(make, count, seed):
    """How often a system is called better or worse than the baseline, and one better than all others."""
    against = best = 0
    for i in range(count):
        data = aligned(make(np.random.default_rng([seed, i])))
        contrasts = _contrasts(data, RULES)
        against += any(one.verdict in {"better", "worse"} for one in contrasts)
        best += conclude(data, RULES, contrasts=contrasts)[0].state == "shown"
    return against, best


def tell(stress, *cells):
    if stress:
        sys.stdout.write("\n| " + " | ".join(map(str, cells)) + " |\n")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("n", "systems"), [(50, 2), (100, 2), (50, 5), (100, 5)])
def test_equal_systems_on_real_values_are_seldom_called_better_or_best(real, measure, n, systems, count, stress):
    against, best = alarms(lambda rng: equal_systems(real[measure], n, systems, rng), count, n + systems)
    tell(stress, measure, n, systems, f"{100 * against / count:.1f}", f"{100 * best / count:.1f}")
    assert max(against, best) <= most(count)
    if systems == 2 and stress:
        assert against >= 0.035 * count


@pytest.mark.parametrize("kind", EXTREMES)
@pytest.mark.parametrize("systems", [2, 5])
def test_equal_systems_of_extreme_values_are_seldom_called_better_or_best(kind, systems, count, stress):
    against, best = alarms(lambda rng: EXTREMES[kind](rng, 50, systems), count, systems)
    tell(stress, kind, 50, systems, f"{100 * against / count:.1f}", f"{100 * best / count:.1f}")
    assert max(against, best) <= most(count)


def test_of_two_equal_ones_far_above_the_others_neither_is_called_best(count, stress):
    """The hardest case for a choice by the same queries: the test is then one of two."""

    def make(rng):
        return np.clip(np.array([0.6, 0.6, 0.2, 0.2, 0.2]) + rng.normal(0, 0.15, (60, 5)), 0, 1)

    _, best = alarms(make, count, 9)
    tell(stress, "two far above", 60, 5, "", f"{100 * best / count:.1f}")
    assert best <= most(count)
