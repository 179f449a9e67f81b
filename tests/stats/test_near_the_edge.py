"""Intervals of means and differences of bounded values: their definitions, their bounds, and what they fall back to."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from assay.errors import InputError, UsageError
from assay.stats import difference_interval, mean_interval, moments
from assay.stats.moments import NO_SPREAD, ONE_VALUE, ONE_WEIGHT
from interval_oracles import adjusted_t_ends, opposing, score_ends, unseen_chance

SAMPLES = {
    "anything": np.random.default_rng(1).beta(2, 3, 40),
    "near the ceiling": np.array([1.0] * 27 + [0.5, 0.5, 0.0]),
    "one miss": np.array([1.0] * 49 + [0.0]),
    "one hit": np.array([0.0] * 19 + [1.0]),
    "all right": np.ones(12),
    "all wrong": np.zeros(5),
    "all the same": np.full(30, 0.25),
    "two": np.array([0.3, 0.9]),
    "one failure": np.append(np.full(39, 0.9), 0.0),
}


def check_end(values, end, score, risk):
    """Check that an upper end is the score interval's, or where unseen values have their risk if that is farther."""
    alpha = risk if opposing(values) < 5 else 2 * risk
    error = 5 * math.sqrt(alpha / 100_000)
    if score < 1 - 1e-9 and unseen_chance(values, score) > alpha + error:
        assert end > score
        assert unseen_chance(values, end) == pytest.approx(alpha, abs=error)
    else:
        assert end >= score - 1e-9
        assert end == pytest.approx(score, rel=1e-9, abs=1e-12) or unseen_chance(values, end) >= alpha - error


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_score_interval_follows_its_definition(name, level):
    values = SAMPLES[name]
    found = mean_interval(values, bounds=(0, 1), confidence_level=level)
    low, high = score_ends(values, level)
    check_end(values, found.high, high, (1 - level) / 2)
    check_end(1 - values, 1 - found.low, 1 - low, (1 - level) / 2)
    assert (found.estimate, found.method, found.n, found.reason) == (
        pytest.approx(values.mean()),
        "score",
        len(values),
        "",
    )
    assert found == mean_interval(values, bounds=(0, 1), confidence_level=level, method="score")
    wider = mean_interval(3 * values - 1, bounds=(-1, 2), confidence_level=level)
    assert (wider.low, wider.high) == pytest.approx((3 * found.low - 1, 3 * found.high - 1), rel=1e-9, abs=1e-12)


def test_with_weights_an_unseen_value_is_worth_one_of_the_effective_number():
    """Sixty values with weights of 1 and 2 are worth 54; weighed at random, each has a gamma number by its worth."""
    rng = np.random.default_rng(5)
    values, weights = np.append(np.full(58, 0.9), [0.0, 0.0]), np.tile([1.0, 2.0], 30)
    shapes = weights / weights.sum() * weights.sum() ** 2 / (weights**2).sum()
    assert shapes.sum() == pytest.approx(54)
    found = mean_interval(values, weights=weights, bounds=(0, 1), confidence_level=0.8)
    drawn = np.column_stack([rng.gamma(shapes, size=(200_000, 60)), rng.standard_exponential(200_000)])
    chance = np.mean(drawn @ np.append(found.low - values, found.low) >= 0)
    assert chance == pytest.approx(0.1, abs=0.004)  # two failures: the risk of the end itself
    repeated = mean_interval(values, weights=np.full(60, 3.0), bounds=(0, 1))
    assert repeated == mean_interval(values, bounds=(0, 1))


@pytest.mark.parametrize(("successes", "n"), [(0, 400), (200, 400), (390, 400), (400, 400)])
def test_of_many_zeros_and_ones_it_is_wilsons(successes, n):
    values = np.repeat([1.0, 0.0], [successes, n - successes])
    found = mean_interval(values, bounds=(0, 1))
    assert (found.low, found.high) == pytest.approx(proportion_confint(successes, n, method="wilson"), abs=2e-4)


def test_one_success_has_the_low_end_of_clopper_and_pearson_at_the_one_sided_level():
    found = mean_interval([0.0] * 49 + [1.0], bounds=(0, 1))
    assert found.low == pytest.approx(1 - 0.95 ** (1 / 50), rel=1e-9)
    wilson = proportion_confint(1, 50, method="wilson")[0]
    assert found.low < wilson


NUMBERS = st.floats(0, 1).map(lambda value: round(value, 9))  # 1 - value keeps all of their spread


@given(st.lists(NUMBERS, min_size=2, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.999]), st.booleans())
def test_intervals_stay_within_the_bounds_and_hold_the_mean(values, level, weighted):
    weights = np.arange(1.0, len(values) + 1) if weighted else None
    found = mean_interval(values, bounds=(0, 1), weights=weights, confidence_level=level)
    assert 0 <= found.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.high <= 1
    plain = mean_interval(values, bounds=(0, 1), weights=weights, confidence_level=level, method="t")
    assert plain.low is None or (plain.low >= 0 and plain.high <= 1)
    turned = mean_interval([1 - value for value in values], bounds=(0, 1), weights=weights, confidence_level=level)
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((found.low, found.high), abs=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.sampled_from([0.5, 0.9, 0.95]))
def test_an_adjusted_t_interval_is_never_shorter_than_students_within_the_bounds(values, level):
    found = difference_interval(values, reach=1.0, confidence_level=level)
    plain = difference_interval(values, reach=1.0, confidence_level=level, method="t")
    assert found.reason == plain.reason
    if found.low is not None:
        assert -1 <= found.low <= plain.low <= found.estimate <= plain.high <= found.high <= 1


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_adjusted_t_interval_follows_its_definition(level):
    rng = np.random.default_rng(2)
    for values in (
        rng.normal(0, 0.1, 30),
        rng.exponential(0.1, 30) - 0.1,
        np.r_[-rng.exponential(0.05, 200), 0.01, 0.02, 0.03],
        [0.0] * 20 + [0.9] * 3 + [-0.01] * 3,
    ):
        found = difference_interval(values, reach=1.0, confidence_level=level)
        assert (found.low, found.high) == pytest.approx(adjusted_t_ends(values, level), rel=1e-9)
        assert (found.method, found.n) == ("adjusted t", len(values))


def test_rare_wins_have_nearly_the_interval_of_a_poisson_count():
    """Five wins of 1 in 10,000: the exact ends of a Poisson mean are 1.6 and 11.7, the score interval's 2.1 and 11.7."""
    found = difference_interval([1.0] * 5 + [0.0] * 9995, reach=1.0)
    assert found.high * 10_000 == pytest.approx(5 + 1.96**2 / 2 + 1.96 * math.sqrt(5 + 1.96**2 / 4), rel=1e-3)
    assert found.high * 10_000 == pytest.approx(scipy.stats.chi2.ppf(0.975, 12) / 2, rel=0.01)


def dirichlet_end(values, risk):
    """Upper bound of the mean of values up to 1, by simulation: one value more, all weighed at random (Gaffke 2005)."""
    weights = np.random.default_rng(1).dirichlet(np.ones(len(values) + 1), 100_000)
    return float(np.quantile(weights @ np.append(values, 1.0), 1 - risk))


GAINS = np.linspace(0.01, 0.03, 30)


@pytest.mark.parametrize("losses", [0, 1, 2, 3])
def test_both_ends_count_on_what_was_not_seen_where_fewer_than_three_lose(losses):
    change = np.r_[GAINS, np.full(losses, -0.01)]
    found, plain = difference_interval(change, reach=1.0), adjusted_t_ends(change, 0.95)
    bounds = -dirichlet_end(-change, 0.05), dirichlet_end(change, 0.05)
    assert (found.low, found.high) == pytest.approx(bounds if losses < 3 else plain, abs=0.002)
    assert found.is_bounded == (losses < 3)
    assert bounds[0] < 0 < plain[0]
    turned = difference_interval(-change, reach=1.0)
    assert (-turned.high, -turned.low) == pytest.approx((found.low, found.high), abs=1e-9)


def test_few_that_lose_are_counted_by_their_weight_and_by_cluster():
    change = np.r_[GAINS, np.full(4, -0.01)]
    assert not difference_interval(change, reach=1.0).is_bounded
    heavy = np.r_[np.ones(30), 20.0, 0.1, 0.1, 0.1]
    assert difference_interval(change, reach=1.0, weights=heavy).is_bounded
    groups = np.r_[np.arange(30), 30, 30, 31, 31]
    assert difference_interval(change, reach=1.0, clusters=groups).is_bounded
    assert not difference_interval(change, reach=1.0, method="t").is_bounded


def test_without_bounds_both_are_students():
    values = SAMPLES["anything"]
    assert mean_interval(values).method == difference_interval(values).method == "t"
    assert mean_interval(values) == difference_interval(values) == mean_interval(values, method="t")


def test_differences_that_do_not_vary_have_no_interval_but_bounded_means_have_one():
    none = difference_interval([0.0] * 20, reach=1.0)
    assert (none.low, none.high, none.reason) == (None, None, NO_SPREAD)
    assert mean_interval([1.0] * 20, bounds=(0, 1)).low == pytest.approx(20 / (20 + scipy.stats.t.ppf(0.975, 19) ** 2))
    assert mean_interval([1.0], bounds=(0, 1)).reason == ONE_VALUE
    assert mean_interval([1.0, 0.5], weights=[0.999, 0.001], bounds=(0, 1)).reason == ONE_WEIGHT


def test_one_heavy_value_gives_a_wide_interval_within_the_bounds():
    values, weights = np.append(np.tile([1.0, 0.5], 25), 0.9), np.append(np.ones(50), 150.0)
    found = mean_interval(values, weights=weights, bounds=(0, 1))
    assert 0 < found.low < 0.5
    assert 0.95 < found.high < 1


def test_the_skewness_of_a_mean_is_scipys_over_the_root_of_n():
    x = np.random.default_rng(3).gamma(2, 1, 50)
    biased = scipy.stats.skew(x) * (49 / 50) ** 1.5
    assert moments(x).skewness == pytest.approx(biased / math.sqrt(50), rel=1e-12)
    assert moments(-x * 1e100).skewness == pytest.approx(-moments(x).skewness, rel=1e-12)
    u = np.arange(1.0, 51) / np.arange(1.0, 51).sum()
    of = moments(x, u)
    assert of.skewness == pytest.approx(np.sum(u**3 * (x - u @ x) ** 3) / of.standard_error**3, rel=1e-12)


def test_values_beyond_the_bounds_and_bounds_that_are_none_are_refused():
    for values in ([0.5, 1.1], [-0.1, 0.5]):
        with pytest.raises(InputError, match="not between 0 and 1"):
            mean_interval(values, bounds=(0, 1))
    assert mean_interval([0.5, 1 + 1e-13], bounds=(0, 1)).high <= 1
    for bounds in ((1, 0), (0, math.inf), (math.nan, 1)):
        with pytest.raises(UsageError, match="low < high"):
            mean_interval([0.5, 0.6], bounds=bounds)
    with pytest.raises(UsageError, match="needs the bounds"):
        mean_interval([0.5, 0.6], method="score")
    with pytest.raises(InputError):
        difference_interval([0.5, -1.2], reach=1.0)
