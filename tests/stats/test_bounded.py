"""Means of bounded values: against closed forms, Clopper and Pearson, and random weights drawn one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from assay.errors import InputError, UsageError
from assay.stats import bounded_equivalence, bounded_pvalue, upper_bound
from assay.stats.moments import NO_VALUES

NAN = math.nan


def drawn_pvalue(values, null, upper, weights=None, draws=200_000):
    """Find p by its definition: draw random weights of the values and the upper end, count means above the null."""
    x = np.append(np.asarray(values, dtype=float) - null, upper - null)
    if weights is not None:
        x *= np.append(np.asarray(weights) / np.max(weights), 1.0)
    rng = np.random.default_rng(1)
    above = sum(int((rng.dirichlet(np.ones(len(x)), draws // 20) @ x >= 0).sum()) for _ in range(20))
    return above / draws


SAMPLES = {
    "two differ": np.array([0.0] * 60 + [0.5, -0.3]),
    "continuous": np.random.default_rng(2).normal(0, 0.05, 80),
    "skewed": np.random.default_rng(3).beta(0.2, 5, 40),
    "few": np.array([0.4, -0.2, 0.1]),
    "two values": np.array([0.02, -0.6]),
    "far apart": np.array([1e-7] * 20 + [0.9] * 2 + [-0.9] * 3),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("null", [0.01, 0.05, 0.2])
def test_the_inverted_p_is_that_of_weights_drawn_at_random(name, null):
    values = SAMPLES[name]
    expected = drawn_pvalue(values, null, 1.0)
    assert bounded_pvalue(values, null, upper=1.0) == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 200_000))


def test_the_inverted_p_of_weighted_values_is_that_of_weights_drawn_at_random():
    values = SAMPLES["two differ"]
    weights = np.random.default_rng(4).lognormal(0, 0.5, len(values))
    expected = drawn_pvalue(values, 0.05, 1.0, weights)
    assert bounded_pvalue(values, 0.05, upper=1.0, weights=weights) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(("n", "hits"), [(1, 0), (1, 1), (10, 0), (10, 3), (50, 1), (50, 49), (300, 2), (3000, 40)])
def test_of_zeros_and_ones_it_is_the_bound_of_clopper_and_pearson(n, hits):
    values = [1.0] * hits + [0.0] * (n - hits)
    expected = stats.beta.ppf(0.95, hits + 1, n - hits) if hits < n else 1.0
    assert upper_bound(values, upper=1.0) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("n", "range_"), [(2, 1.0), (30, 1.0), (299, 1.0), (40, 7.5)])
def test_values_of_0_alone_leave_room_for_what_was_not_seen(n, range_):
    assert upper_bound(np.zeros(n), upper=range_) == pytest.approx((1 - 0.05 ** (1 / n)) * range_, rel=1e-12)


def test_it_takes_299_values_without_a_difference_to_stay_within_a_hundredth_of_the_range():
    assert bounded_equivalence(np.zeros(298), 0.01).pvalue > 0.05
    assert bounded_equivalence(np.zeros(299), 0.01).pvalue <= 0.05
    assert bounded_equivalence(np.zeros(299), 0.02, reach=2.0).pvalue <= 0.05
    assert bounded_equivalence(np.zeros(299), 0.01, reach=2.0).pvalue > 0.05


def test_the_order_of_values_and_missing_ones_do_not_matter():
    values = SAMPLES["continuous"]
    mixed = np.random.default_rng(5).permutation(values)
    assert bounded_pvalue(mixed, 0.02, upper=1.0) == bounded_pvalue(values, 0.02, upper=1.0)
    assert bounded_pvalue([*values, NAN], 0.02, upper=1.0) == bounded_pvalue(values, 0.02, upper=1.0)


def test_both_sides_are_tested_and_the_larger_p_counts():
    values = np.array([-0.02] * 200 + [0.0] * 200)
    found = bounded_equivalence(values, 0.012)
    assert found.pvalue_low == pytest.approx(bounded_pvalue(-values, 0.012, upper=1.0))
    assert found.pvalue_high == pytest.approx(bounded_pvalue(values, 0.012, upper=1.0))
    assert found.pvalue == found.pvalue_low > found.pvalue_high
    mirrored = bounded_equivalence(-values, 0.012)
    assert (mirrored.pvalue_low, mirrored.pvalue_high) == (found.pvalue_high, found.pvalue_low)
    assert found.estimate == pytest.approx(-0.01)


def test_equal_weights_are_no_weights_and_uneven_ones_make_p_larger():
    values = SAMPLES["two differ"]
    plain = bounded_pvalue(values, 0.1, upper=1.0)
    assert bounded_pvalue(values, 0.1, upper=1.0, weights=np.full(len(values), 7.0)) == plain
    heavy = np.ones(len(values))
    heavy[0] = 100.0
    assert bounded_pvalue(values, 0.1, upper=1.0, weights=heavy) > max(0.5, plain)


def test_weighted_zeros_have_a_closed_form():
    weights = np.array([1.0, 2.0, 4.0] * 20)
    expected = np.prod(1 / (1 + 0.1 / 0.9 * weights / 4))
    assert bounded_pvalue(np.zeros(60), 0.1, upper=1.0, weights=weights) == pytest.approx(expected, rel=1e-12)


def test_the_bound_is_where_p_reaches_alpha():
    values = SAMPLES["continuous"]
    bound = upper_bound(values, upper=1.0, alpha=0.1)
    assert bounded_pvalue(values, bound, upper=1.0) == pytest.approx(0.1, abs=1e-6)


def test_a_margin_beyond_the_reach_holds_every_mean():
    assert bounded_equivalence([0.3, -0.9], 1.0).pvalue < 1e-300


def test_a_p_that_is_large_enough_is_bounded_without_more_work():
    rng = np.random.default_rng(6)
    values, weights = rng.choice([-0.5, 0.0, 0.5], 300, p=[0.1, 0.8, 0.1]), rng.zipf(2.0, 300).astype(float)
    full = bounded_pvalue(values, 0.01, upper=1.0, weights=weights)
    early = bounded_pvalue(values, 0.01, upper=1.0, weights=weights, beyond=0.05)
    down = values <= 0.01
    held = np.prod(1 / (1 + (0.01 - values[down]) * (weights / weights.max())[down] / 0.99))
    assert 0.05 < early < full
    assert early == pytest.approx(held, rel=1e-12)
    small = np.random.default_rng(7).normal(0, 0.02, 2000)
    assert bounded_pvalue(small, 0.02, upper=1.0, beyond=0.05) == bounded_pvalue(small, 0.02, upper=1.0) <= 0.05
    both = bounded_equivalence(values, 0.01, weights=weights, beyond=0.05)
    assert (both.pvalue_high, both.pvalue > 0.05) == (early, True)


def test_an_inverted_p_is_never_smaller_than_its_error():
    values = np.tile([0.001, -0.001], 20_000)
    assert bounded_pvalue(values, 0.0009, upper=1.0) == 1e-9


def test_no_values_give_no_p():
    assert bounded_pvalue([NAN], 0.1, upper=1.0) is None
    assert upper_bound([], upper=1.0) is None
    found = bounded_equivalence([], 0.1)
    assert (found.pvalue, found.n, found.reason) == (None, 0, NO_VALUES)


def test_values_beyond_their_bound_and_odd_settings_are_refused():
    with pytest.raises(InputError, match=r"value 1\.5 is above the upper bound 1"):
        bounded_pvalue([0.2, 1.5], 0.1, upper=1.0)
    with pytest.raises(InputError, match="above the upper bound"):
        bounded_equivalence([0.2, -1.5], 0.1)
    assert bounded_pvalue([0.1 + 0.2], 0.1, upper=0.3) is not None
    for margin in (0.0, -1.0, math.inf, NAN):
        with pytest.raises(UsageError, match="margin must be a finite number above 0"):
            bounded_equivalence([0.1], margin)
    for reach in (0.0, -1.0, math.inf, NAN):
        with pytest.raises(UsageError, match="reach must be a finite number above 0"):
            bounded_equivalence([0.0], 0.1, reach=reach)
    with pytest.raises(UsageError, match="must be finite"):
        bounded_pvalue([0.1], 0.1, upper=math.inf)
    with pytest.raises(UsageError, match="alpha"):
        upper_bound([0.1], upper=1.0, alpha=0)
