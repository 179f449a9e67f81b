"""Simulated comparisons of equal systems: how often tests cry wolf, and how often intervals hold the truth.

2,000 comparisons in full (ASSAY_STRESS=1), fewer normally. The bounds for 2,000 are fixed; for fewer they are those that
a fair test leaves with the same small probability.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import brentq

import assay
from assay.analysis.decision import decide, decide_payment
from assay.data.scores import Counts, Scores
from assay.results.comparison import Rules
from assay.stats import (
    equivalence,
    mcnemar,
    mean_interval,
    mean_intervals,
    paired_t,
    prediction_powered_mean,
    proportion_interval,
    randomised_tukey,
    relative_interval,
    sign_flip,
    sign_test,
    wilcoxon,
)

N = 200
KINDS = ["normal", "skewed", "discrete"]
MOST = 0.065  # false alarms of a decision at 5 %


@pytest.fixture(scope="module")
def count(stress):
    return 2000 if stress else 400


def bounds(count):
    """Least and most false alarms at 5 %: 3.5 % and 6.5 % of 2,000, as unlikely for fewer."""
    if count == 2000:
        return 70, 130
    fair = scipy.stats.binom(count, 0.05)
    return fair.ppf(0.001), fair.isf(0.001)


def least_cover(count):
    """Fewest intervals of 95 % that must hold the truth: 93 % of 2,000, four standard errors below for fewer."""
    return 1860 if count == 2000 else count * (0.95 - 4 * math.sqrt(0.95 * 0.05 / count))


def differences(kind, shape, seed):
    """Differences with mean 0: normal, skewed (skewness 2), or steps of a tenth with many zeros."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(0, 0.2, shape)
    if kind == "skewed":
        return rng.exponential(0.2, shape) - 0.2
    return np.where(rng.random(shape) < 0.4, 0.0, rng.integers(-5, 6, shape) * 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_t_test_keeps_its_level(kind, count):
    low, high = bounds(count)
    table = differences(kind, (count, N), 1)
    assert low <= sum(paired_t(row).pvalue <= 0.05 for row in table) <= high


@pytest.mark.parametrize("kind", KINDS)
def test_the_sign_flip_test_keeps_its_level(kind, count):
    low, high = bounds(count)
    found = sign_flip(differences(kind, (N, count), 2), n_resamples=2000)
    assert not found.exact.any()
    assert low <= np.sum(found.pvalue <= 0.05) <= high


@pytest.mark.parametrize("kind", KINDS)
def test_max_t_keeps_the_family_wise_level(kind, count):
    low, high = bounds(count)
    rng = np.random.default_rng(3)
    alarms = 0
    for seed in range(count):
        shared = differences(kind, (N, 1), [seed, 3])
        columns = np.hstack([shared, shared + differences(kind, (N, 3), [seed, 4])])
        alarms += sign_flip(columns, n_resamples=400, rng=int(rng.integers(2**31)), threads=1).adjusted.min() <= 0.05
    assert low <= alarms <= high


@pytest.mark.parametrize("kind", KINDS)
def test_tukeys_test_keeps_the_family_wise_level(kind, count):
    low, high = bounds(count)
    topics = np.random.default_rng(5).beta(2, 2, (N, 1, count))
    found = randomised_tukey(topics + differences(kind, (N, 4, count), 6), n_resamples=1000)
    alarms = np.sum(found.pvalue.min(axis=(1, 2)) <= 0.05)
    assert low <= alarms <= high


def test_exact_tests_are_never_too_eager(count):
    rng = np.random.default_rng(7)
    rare = rng.choice([-1, -0.5, 0, 0.5, 1], p=[0.02, 0.03, 0.9, 0.03, 0.02], size=(N, count))
    found = sign_flip(rare, n_resamples=100)
    assert found.exact.mean() > 0.95
    most = bounds(count)[1]
    assert np.sum(found.pvalue[found.exact] <= 0.05) <= most
    assert np.sum([sign_test(column).pvalue <= 0.05 for column in rare.T]) <= most
    assert np.sum([mcnemar(int(np.sum(c > 0)), int(np.sum(c < 0))).pvalue <= 0.05 for c in rare.T]) <= most


@pytest.mark.parametrize("kind", ["normal", "discrete"])
def test_the_exact_sign_flip_test_of_few_differences_is_never_too_eager(kind, count):
    found = sign_flip(differences(kind, (25, count), 8), n_resamples=100)
    assert found.exact.all()
    assert np.sum(found.pvalue <= 0.05) <= bounds(count)[1]


def test_wilcoxons_test_calls_equal_means_different_when_differences_are_skewed():
    table = differences("skewed", (100, 1000), 9)
    assert np.mean([wilcoxon(row).pvalue <= 0.05 for row in table]) > 0.9
    assert np.mean([paired_t(row).pvalue <= 0.05 for row in table]) < 0.15


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["t", "bca"])
def test_intervals_of_a_mean_cover_it(kind, method, count):
    found = mean_intervals(differences(kind, (N, count), 10), method=method, n_resamples=1000)
    assert sum(not interval.excludes(0) for interval in found) >= least_cover(count)


@pytest.mark.parametrize(("kind", "n"), [("normal", 20), ("discrete", 20), *((kind, N) for kind in KINDS)])
def test_weighted_intervals_and_tests_hold_when_weight_and_spread_go_together(kind, n, count):
    rng = np.random.default_rng(11)
    covered = alarms = 0
    for row in differences(kind, (count, n), 12):
        w = rng.lognormal(0, 0.7, n)
        values = row * np.sqrt(w) + 0.1
        covered += not mean_interval(values, weights=w).excludes(0.1)
        alarms += paired_t(values - 0.1, weights=w).pvalue <= 0.05
    assert covered >= least_cover(count)
    assert alarms <= count - least_cover(count)


def test_weighted_intervals_hold_when_values_hang_on_weights(count):
    rng = np.random.default_rng(13)
    truth = (2**3 - 0.2**3) / 3 / 1.8 / 1.1  # E[w x]/E[w] of x = w + noise, w uniform from 0.2 to 2
    covered = 0
    for _ in range(count):
        w = rng.uniform(0.2, 2, N)
        covered += not mean_interval(w + rng.normal(0, 0.3, N), weights=w).excludes(truth)
    assert covered >= least_cover(count)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weighted_bca_interval_covers_the_mean(kind, count):
    w = np.random.default_rng(14).lognormal(0, 0.5, N)
    found = mean_intervals(differences(kind, (N, count), 15), weights=w, method="bca", n_resamples=1000)
    assert sum(not interval.excludes(0) for interval in found) >= least_cover(count)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weighted_sign_flip_test_keeps_its_level(kind, count):
    w = np.random.default_rng(16).lognormal(0, 0.5, N)
    low, high = bounds(count)
    found = sign_flip(differences(kind, (N, count), 17), weights=w, n_resamples=2000)
    assert low <= np.sum(found.pvalue <= 0.05) <= high


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_relative_intervals_cover_the_relative_difference(kind, weighted, count):
    rng = np.random.default_rng(18)
    noise = differences(kind, (count, N), 19)
    covered = 0
    for row in noise:
        baseline = rng.beta(1, 1.5, N)  # mean 0.4
        weights = rng.lognormal(0, 0.5, N) if weighted else None
        covered += not relative_interval(1.1 * baseline + row + 0.02, baseline, weights=weights).excludes(0.15)
    assert covered >= least_cover(count)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_wilsons_interval_covers_the_proportion(share, count):
    found = np.random.default_rng(20).binomial(N, share, count)
    assert sum(not proportion_interval(int(k), N).excludes(share) for k in found) >= least_cover(count)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "noise"), [(30, 0.1), (100, 0.1), (100, 1.0)])
def test_prediction_powered_intervals_cover_the_mean(n, noise, weighted, count):
    rng = np.random.default_rng(21)
    covered, shorter = 0, []
    for _ in range(count):
        truth = rng.beta(2, 1, n + 1000)
        judge = truth**2 + rng.normal(0, noise, n + 1000)  # biased, and not on one line with the truth
        weights = rng.lognormal(0, 0.4, n + 1000) if weighted else np.ones(n + 1000)
        found = prediction_powered_mean(
            truth[:n], judge[:n], unlabelled=judge[n:], weights=weights[:n], unlabelled_weights=weights[n:]
        )
        covered += not found.interval.excludes(2 / 3)
        classical = mean_interval(truth[:n], weights=weights[:n])
        shorter.append((found.interval.high - found.interval.low) / (classical.high - classical.low))
    assert covered >= least_cover(count)
    assert np.mean(shorter) < (0.7 if noise < 1 else 1.01)


# Equivalence -----------------------------------------------------------------------------------------------------------

SHAPES = ["alike", "wins and losses", "continuous", "reciprocal ranks", "jitter"]
TIES = [0.9, 0.95, 0.97, 0.98, 0.99]
RANKS = [1, 1 / 2, 1 / 3, 1 / 4, 0]
STEPS = np.array(sorted({a - b for a in RANKS for b in RANKS} - {0.0}))  # differences of reciprocal ranks


def mostly_tied(shape, ties, mean, size, seed):
    """Differences with this mean in [-1, 1], a share `ties` of them 0; None where no such differences exist.

    The others are all the same, 1 and -1, anything from 0 to 1, or differences of reciprocal ranks. Jitter has many
    tiny differences in place of ties.
    """
    rng = np.random.default_rng(seed)
    each = mean / (1 - ties)
    if each > 1 + 1e-9 or (shape == "reciprocal ranks" and each > 0.95):
        return None
    each = min(each, 1.0)
    if shape in {"alike", "jitter"}:
        values = np.full(size, each)
    elif shape == "wins and losses":
        values = np.where(rng.random(size) < (1 + each) / 2, 1.0, -1.0)
    elif shape == "continuous":
        values = np.ones(size) if each == 1 else rng.beta(2 * each, 2 * (1 - each), size)
    else:

        def shares(tilt):
            found = np.exp(tilt * STEPS - abs(tilt))
            return found / found.sum()

        tilt = brentq(lambda tilt: shares(tilt) @ STEPS - each, -60, 60)
        values = rng.choice(STEPS, size, p=shares(tilt))
    rest = rng.uniform(-0.002, 0.002, size) if shape == "jitter" else 0.0
    return np.where(rng.random(size) < ties, rest, values)


def bounded_rule(change, smallest):
    return decide(change, Rules(smallest_effect=smallest), adjusted=1.0, sign=1.0, weights=None) == "equivalent"


def student_rule(change, smallest):
    """Two one-sided t tests, and equivalent where 30 queries or more do not differ: what a verdict must not rest on."""
    p = equivalence(change, smallest).pvalue
    return len(change) >= 30 and not change.any() if p is None else p <= 0.05


def false_rates(rule, n, smallest, times, count):
    """How often a true difference of so many times the smallest effect is called equivalent, by shape and ties."""
    rates = {}
    for place, shape in enumerate(SHAPES):
        for ties in TIES:
            found = mostly_tied(shape, ties, times * smallest, (count, n), [n, place, int(100 * ties), times])
            if found is not None:
                rates[shape, ties] = sum(rule(row, smallest) for row in found) / count
    return rates


def tell_rates(n, smallest, times, count, worst):
    """One row of the table in docs/comparing.md."""
    shown = [f"{100 * rate:.1f} ({shape}, {ties:.0%} ties)" for (shape, ties), rate in worst]
    error = 100 * math.sqrt(0.05 * 0.95 / count)
    sys.stdout.write(f"\n| {smallest:g} | {times} x | {n} | {' | '.join(shown)} | {error:.1f}\n")


@pytest.fixture(scope="module")
def equal_count(stress):
    return 4000 if stress else 60


@pytest.mark.parametrize(
    ("n", "smallest", "times"),
    [
        *((n, 0.01, times) for n in (20, 30, 50, 100, 300) for times in (1, 3)),
        *((n, 0.05, 1) for n in (50, 100, 300)),
        *((n, 0.1, 1) for n in (30, 100, 300)),
    ],
)
def test_different_systems_are_seldom_called_equivalent_however_many_queries_tie(n, smallest, times, equal_count):
    rates = false_rates(bounded_rule, n, smallest, times, equal_count)
    assert len(rates) >= 4
    most = 0.06 if equal_count == 4000 else scipy.stats.binom(equal_count, 0.05).isf(1e-4) / equal_count
    worst = max(rates.items(), key=lambda item: item[1])
    if equal_count == 4000:
        students = max(false_rates(student_rule, n, smallest, times, equal_count).items(), key=lambda item: item[1])
        tell_rates(n, smallest, times, equal_count, [students, worst])
    assert worst[1] <= most


def test_students_t_calls_different_systems_equivalent_when_most_queries_tie():
    rates = false_rates(student_rule, 100, 0.01, 1, 100)
    assert rates["wins and losses", 0.99] > 0.2
    assert rates["jitter", 0.99] > 0.2


def test_weighted_systems_that_differ_are_seldom_called_equivalent(equal_count):
    """The true weighted mean is 0.05: queries with large weights differ more often."""
    count = 10 * equal_count if equal_count == 60 else equal_count
    rng = np.random.default_rng(22)
    called = 0
    for _ in range(count):
        w = rng.lognormal(0, 0.7, 300)
        share = 0.05 * w / math.exp(1.5 * 0.7**2)  # divided by E[w^2]/E[w]
        change = (rng.random(300) < np.minimum(share, 1)).astype(float)
        rules = Rules(smallest_effect=0.05)
        called += decide(change, rules, adjusted=1.0, sign=1.0, weights=w) == "equivalent"
    assert called <= scipy.stats.binom(count, 0.05).isf(1e-4)


def test_weights_larger_than_any_seen_make_equivalence_far_too_eager(equal_count):
    """A limit that docs/comparing.md states: 1 % of queries weigh 20 and differ by 1, a true mean of 0.2/1.19."""
    count = 10 * equal_count if equal_count == 60 else equal_count
    heavy = np.random.default_rng(25).random((count, 50)) < 0.01
    rules = Rules(smallest_effect=0.1)
    rate = (
        sum(
            decide(row.astype(float), rules, adjusted=1.0, sign=1.0, weights=np.where(row, 20.0, 1.0)) == "equivalent"
            for row in heavy
        )
        / count
    )
    if equal_count == 4000:
        sys.stdout.write(f"\nheavy queries unseen: {100 * rate:.1f}\n")
    assert 0.5 < rate < 0.7  # 0.99^50 = 0.605: the samples without a heavy query


@pytest.mark.parametrize(("n", "deviation", "least", "most"), [
    (100, 0.05, 0.0, 0.0), (300, 0.05, 0.0, 0.0), (500, 0.05, 0.7, 0.95), (1000, 0.05, 0.99, 1.0), (1000, 0.1, 0.65, 0.85),
    (3000, 0.1, 0.99, 1.0),
])  # fmt: skip
def test_equal_systems_are_called_equivalent_once_there_are_enough_queries(n, deviation, least, most, equal_count):
    """The power that docs/comparing.md states, for differences that are continuous with a true mean of 0."""
    count = 200 if equal_count == 60 else equal_count
    found = np.clip(np.random.default_rng([23, n]).normal(0, deviation, (count, n)), -1, 1)
    rate = sum(bounded_rule(row, 0.01) for row in found) / count
    if equal_count == 4000:
        student = sum(student_rule(row, 0.01) for row in found) / count
        sys.stdout.write(f"\n| {n} | {deviation:g} | {100 * student:.1f} | {100 * rate:.1f} |\n")
    assert least <= rate <= most


# Gains that pay -------------------------------------------------------------------------------------------------------


def gains_of_15_per_cent(kind, n, count):
    """Values before and after with a true gain of exactly 15 %: few wins or losses of 1, the rest moves by 0.01.

    Wins: 7 % of the queries go from 0 to 1, and the mean before is 0.07/0.15. Losses: 2 % go from 1 to 0, and the
    others gain as much as it takes.
    """
    rng = np.random.default_rng([24, n])
    rare, jitter = rng.random((count, n)), rng.uniform(-0.01, 0.01, (count, n))
    if kind == "rare wins":
        base = 0.07 / 0.15 / 0.93
        wins = rare < 0.07
        return np.where(wins, 0.0, base), np.where(wins, 1.0, base + jitter)
    base, losses = 0.4, rare < 0.02
    mean = 0.02 + 0.98 * base
    before = np.where(losses, 1.0, base)
    return before, np.where(losses, 0.0, 1.15 * mean / 0.98 + jitter)


def paid(before, after):
    """What is said of a gain whose verdict is better."""
    return decide_payment("better", after, before, Rules(), weights=None, bounds=(0.0, 1.0))


def paid_by_interval(before, after):
    """What the interval of the relative change would say."""
    found = relative_interval(after, before, bounds=(0.0, 1.0))
    return None if found.low is None else "above" if found.low > 0.15 else "below" if found.high < 0.15 else "open"


@pytest.mark.parametrize("n", [10, 20, 50, 100])
@pytest.mark.parametrize(("kind", "wrong"), [("rare wins", "below"), ("rare losses", "above")])
def test_a_gain_of_exactly_what_pays_is_seldom_called_above_or_below_it(kind, wrong, n, stress):
    count = 4000 if stress else 300
    before, after = gains_of_15_per_cent(kind, n, count)
    assert after[0].min() >= 0 and after[0].max() <= 1
    said = [paid(b, a) for b, a in zip(before, after, strict=True)]
    rates = [said.count(word) / count for word in ("below", "above")]
    if stress:
        interval = sum(paid_by_interval(b, a) == wrong for b, a in zip(before, after, strict=True)) / count
        error = 100 * math.sqrt(0.025 * 0.975 / count)
        shown = " | ".join(f"{100 * rate:.1f}" for rate in (interval, *rates))
        sys.stdout.write(f"\n| {kind} | {n} | {shown} | {error:.2f}\n")
    assert max(rates) <= (0.06 if stress else scipy.stats.binom(count, 0.06).isf(1e-3) / count)


def test_the_interval_of_a_relative_change_is_too_sure_where_rare_wins_hide_among_small_moves():
    """A known limit: the others move by 0.01 to both sides, and nothing tells such a sample from one without wins."""
    before, after = gains_of_15_per_cent("rare wins", 20, 200)
    assert sum(paid_by_interval(b, a) == "below" for b, a in zip(before, after, strict=True)) > 40


def test_the_interval_of_a_relative_change_counts_on_rare_losses_where_hardly_any_query_loses():
    """Of these samples Student's interval says in 60 % that the gain is above 15 %."""
    before, after = gains_of_15_per_cent("rare losses", 20, 200)
    assert sum(paid_by_interval(b, a) == "above" for b, a in zip(before, after, strict=True)) <= 5


def returned(before, after):
    """What a return says of values whose true gain is 15 %, where 15 % just pays."""
    column, protocol = assay.parse("ndcg@10").column("ndcg@10"), assay.load_protocol("trec")
    both = [
        Scores(
            name, [str(i) for i in range(len(values))], (column,), values[:, None],
            np.zeros((len(values), 1), dtype=np.uint8), {"ndcg@10": Counts(len(values))}, protocol, judgments="same",
        )
        for name, values in (("a", before), ("b", after))
    ]  # fmt: skip
    found = assay.compare(both, n_resamples=999)
    return assay.roi(found, cost_per_query=0.0015, queries_per_day=1000, revenue_per_query=0.01).outcome


@pytest.mark.parametrize("n", [12, 20, 50])
@pytest.mark.parametrize(("kind", "wrong"), [("rare wins", "loses"), ("rare losses", "pays")])
def test_a_gain_that_just_pays_is_seldom_said_to_pay_or_to_lose(kind, wrong, n, stress):
    count = 4000 if stress else 60
    sides = {"pays": "above", "loses": "below"}
    samples = list(zip(*gains_of_15_per_cent(kind, n, count), strict=True))
    suspect = [(b, a) for b, a in samples if paid_by_interval(b, a) == sides[wrong]]  # nothing else can be said to
    said = [returned(b, a) for b, a in suspect]
    if stress:
        shown = f"{100 * len(suspect) / count:.1f} | {100 * said.count(wrong) / count:.1f}"
        sys.stdout.write(f"\n| {kind} | {n} | {shown} | {100 * math.sqrt(0.05 * 0.95 / count):.2f}\n")
    assert kind == "rare losses" or n > 20 or len(suspect) > 0.1 * count  # what the interval alone would say
    assert said.count(wrong) / count <= (MOST if stress else scipy.stats.binom(count, MOST).isf(1e-3) / count)
