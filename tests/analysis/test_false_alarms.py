"""How often a comparison says what is not so: better, best, best of several, and equivalent, on real and extreme values.

Real values are those of a TREC collection, resampled query by query, with the difference between two systems turned
around at random, so that neither is better. `ASSAY_STRESS=1` runs 4,000 comparisons of each kind and prints the rows of
docs/decisions.md; fewer run normally, with bounds that a fair test leaves as seldom. So do other decisions: the best k
of a sweep, the front of an experiment, targets, limits of latencies.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import brentq

import assay
from assay.analysis.comparable import AlignedScores
from assay.analysis.compare import _contrasts
from assay.analysis.conclude import conclude
from assay.analysis.decision import decide
from assay.analysis.diagnose import _check_target
from assay.analysis.front import FrontPoint, find_front
from assay.analysis.limits import _verdict
from assay.data.protocol import Target
from assay.data.scores import Column
from assay.results.comparison import Rules
from assay.stats import difference_interval, mean_interval, quantile_interval, sign_flip

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "robust03"
MEASURES = ["ndcg@10", "map"]


@pytest.fixture(scope="module")
def count(stress):
    return 4000 if stress else 60


@pytest.fixture(scope="module")
def real():
    """Values of every query by measure: a column for each system."""
    if not DATA.exists():
        pytest.skip(f"no {DATA.name} beside the project")
    runs = sorted(DATA.glob("*.run.gz"))[:6]
    found = [assay.evaluate(DATA / "qrels.txt.gz", run, MEASURES) for run in runs]
    return {label: np.stack([one.column(label) for one in found], axis=1) for label in MEASURES}


def most(count):
    """Most false alarms: 6.5 % of 4,000; of fewer, what 5 % leave once in ten thousand."""
    return 0.065 * count if count >= 4000 else scipy.stats.binom(count, 0.05).isf(1e-4)


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


# Differences that are not symmetric -----------------------------------------------------------------------------------


def rare_losses(rng, shape, expected, gain):
    """So many queries of a sample lose 1 on average, the others gain `gain`, or tie where that would be too much."""
    share = expected / shape[1]
    drawn, winners = rng.random(shape), min(share / gain, 1 - share) if gain else 1 - share
    return np.where(drawn < share, -1.0, np.where(drawn < share + winners, share / winners, 0.0))


def losses_among_small_gains(rng, shape, noise=0.0):
    """5 % lose anything up to .95, the others gain up to .05; with noise, many of these lose a little, too."""
    lost = rng.random(shape) < 0.05
    found = np.where(lost, -0.95 * rng.random(shape), 0.05 * rng.random(shape))
    return np.clip(found + noise * rng.normal(size=shape), -1, 1)


SKEWED = {
    "5 % lose up to .95, the others gain a little": losses_among_small_gains,
    "1 loses 1, the others gain": lambda rng, shape: rare_losses(rng, shape, 1, 0.0),
    "3 lose 1, the others gain": lambda rng, shape: rare_losses(rng, shape, 3, 0.0),
    "6 lose 1, the others gain": lambda rng, shape: rare_losses(rng, shape, 6, 0.0),
    "1 loses 1, few gain .1": lambda rng, shape: rare_losses(rng, shape, 1, 0.1),
    "3 lose 1, few gain .1": lambda rng, shape: rare_losses(rng, shape, 3, 0.1),
    "2 lose 1, few gain .3": lambda rng, shape: rare_losses(rng, shape, 2, 0.3),
    "4 lose 1, few gain .3": lambda rng, shape: rare_losses(rng, shape, 4, 0.3),
}


def rates(samples):
    """The share of samples whose difference the test alone calls real, and the share that is called better or worse."""
    pvalues = sign_flip(samples.T, n_resamples=1999, rng=1).pvalue
    small = np.flatnonzero(pvalues <= 0.05)
    said = [decide(samples[i], Rules(), adjusted=pvalues[i], sign=1.0, weights=None) for i in small]
    return len(small) / len(samples), sum(one in {"better", "worse"} for one in said) / len(samples)


def tilt(pool, mean, n, count, rng):
    """Samples of real differences, drawn with weights that give them this true mean."""

    def shares(tilt):
        found = np.exp(tilt * pool - np.abs(tilt * pool).max())
        return found / found.sum()

    chosen = brentq(lambda tilt: shares(tilt) @ pool - mean, -200, 200)
    return pool[rng.choice(len(pool), (count, n), p=shares(chosen))]


@pytest.mark.parametrize("kind", SKEWED)
def test_rare_losses_among_small_gains_are_seldom_called_an_improvement(kind, stress):
    count, found = 4000 if stress else 150, {}
    for n in (12, 20, 50, 100, 200) if stress else (20, 50):
        found[n] = rates(SKEWED[kind](np.random.default_rng([n, len(kind)]), (count, n)))
    tell(stress, kind, *(f"{100 * plain:.1f}, {100 * said:.1f}" for plain, said in found.values()))
    limit = 0.065 if stress else scipy.stats.binom(count, 0.065).isf(1e-4) / count
    assert max(said for _, said in found.values()) <= limit


@pytest.mark.parametrize("kind", SKEWED)
def test_a_verdict_and_the_interval_that_is_printed_agree(kind):
    samples = SKEWED[kind](np.random.default_rng(len(kind)), (60, 30))
    pvalues = sign_flip(samples.T, n_resamples=999, rng=1).pvalue
    for sample, p in zip(samples, pvalues, strict=True):
        verdict = decide(sample, Rules(), adjusted=p, sign=1.0, weights=None)
        interval = difference_interval(sample, reach=1.0)
        assert (verdict in {"better", "worse"}) == (p <= 0.05 and interval.excludes(0.0))


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [20, 50, 100, 200])
def test_real_differences_without_a_mean_keep_the_level_and_those_with_one_are_found(real, measure, n, stress):
    """Differences of real systems need not be symmetric; the rule for skewed ones must not cost much of their power."""
    pools = [real[measure][:, i] - real[measure][:, j] for i in range(6) for j in range(i)]
    means, each = ((0.0, 0.02, 0.05), 267) if stress else ((0.0,), 12)
    rng = np.random.default_rng([n, len(measure)])
    found = [rates(np.concatenate([tilt(pool, mean, n, each, rng) for pool in pools])) for mean in means]
    tell(stress, measure, n, *(f"{100 * plain:.1f}, {100 * said:.1f}" for plain, said in found))
    count = each * len(pools)
    assert found[0][1] <= (0.065 if stress else scipy.stats.binom(count, 0.065).isf(1e-4) / count)
    if stress and n >= 50:
        assert found[0][1] >= 0.035
        assert all(said >= plain - 0.04 for plain, said in found)


def test_many_small_losses_hide_that_rare_large_ones_were_not_seen(stress):
    """A known limit: such a sample looks like one whose queries all gain a little, and no rule can tell them apart."""
    found = {}
    for n in (20, 50, 100):
        rng = np.random.default_rng(n)
        found[n] = rates(losses_among_small_gains(rng, (4000 if stress else 300, n), noise=0.05))
    tell(
        stress,
        "the same with noise of .05",
        *(f"{100 * plain:.1f}, {100 * said:.1f}" for plain, said in found.values()),
    )
    assert found[20][1] > 0.1


# Decisions that are not about two systems -----------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_a_k_is_seldom_called_best_where_all_are_equal(real, measure, count, stress):
    """A sweep takes every k for a system; here four, whose values are exchanged within each query."""
    rules, best = Rules(n_resamples=999), 0
    for i in range(count):
        data = aligned(equal_systems(real[measure], 50, 4, np.random.default_rng([7, i])))
        best += conclude(data, rules)[0].state == "shown"
    tell(stress, "a k called best", measure, 50, f"{100 * best / count:.1f}")
    assert best <= most(count)


@pytest.mark.parametrize("measure", MEASURES)
def test_one_of_three_equal_combinations_seldom_leaves_the_front(real, measure, count, stress):
    left = 0
    for i in range(count):
        values = equal_systems(real[measure], 50, 3, np.random.default_rng([8, i]))
        points = [FrontPoint(own, np.ones(50), None) for own in values.T]
        left += not all(one.on_front for one in find_front(points, Rules(n_resamples=999)))
    tell(stress, "one leaves the front", measure, 50, f"{100 * left / count:.1f}")
    assert left <= most(count)


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("kind", ["ndcg@10", "map", "hits .95", "hits .05"])
def test_a_target_at_the_true_mean_is_seldom_called_met_or_missed(real, kind, n, count, stress):
    hits = {"hits .95": [95, 5], "hits .05": [5, 95]}.get(kind)
    pool = real[kind][:, 0] if hits is None else np.repeat([1.0, 0.0], hits)
    target, said = Target("m", float(pool.mean())), []
    for values in np.random.default_rng([9, n]).choice(pool, (count, n)):
        mean = mean_interval(values, bounds=(0.0, 1.0))
        said.append(_check_target(target, mean.estimate, mean).status)
    shares = [said.count(status) / count for status in ("ok", "low")]
    tell(stress, "target", kind, n, *(f"{100 * share:.1f}" for share in shares))
    assert sum(shares) <= (0.075 if stress else scipy.stats.binom(count, 0.075).isf(1e-4) / count)
    assert max(shares) <= (0.055 if stress else scipy.stats.binom(count, 0.05).isf(1e-4) / count)


@pytest.mark.parametrize("n", [100, 400])
def test_a_limit_at_the_true_percentile_is_seldom_called_kept_or_passed(n, count, stress):
    times = np.random.default_rng([10, n]).lognormal(3, 0.7, (count, n))
    limit = float(np.exp(3 + 0.7 * scipy.stats.norm.ppf(0.95)))
    said = [_verdict(1.0, quantile_interval(row, 0.95), limit) for row in times]
    shares = [said.count(word) / count for word in ("ok", "over")]
    tell(stress, "p95 at its limit", n, *(f"{100 * share:.1f}" for share in shares))
    assert sum(shares) <= most(count) / count
