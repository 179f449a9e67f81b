"""The population stability index: its number by its definition, and its interval by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.drift import group_names, group_numbers, stability_interval
from conftest import STRESS

DRAWS = 20_000 if STRESS else 600
LEVEL = 0.9785  # two-sided: what hours ask for


def shifted(kinds, index, seed):
    """Shares whose stability index against equal ones is this, in a random direction."""
    equal, way = np.full(kinds, 1 / kinds), np.random.default_rng(seed).normal(size=kinds)
    low, high = 0.0, 5.0
    for _ in range(80):
        middle = (low + high) / 2
        shares = equal * np.exp(middle * way) / np.sum(equal * np.exp(middle * way))
        low, high = (middle, high) if np.sum((shares - equal) * np.log(shares / equal)) < index else (low, middle)
    return shares


def test_the_index_is_the_sum_over_kinds_less_its_bias():
    found = stability_interval([300, 700], [500, 500], effective=1e9)
    p, q = 300.5 / 1001, 0.5
    expected = (p - q) * math.log(p / q) + (q - p) * math.log((1 - p) / (1 - q))
    assert found.estimate == pytest.approx(expected, rel=1e-6)
    assert stability_interval([300, 700], [500, 500]).estimate == pytest.approx(expected - 1 / 1000, rel=1e-6)


@pytest.mark.parametrize("index", [0.0, 0.1, 0.25])
@pytest.mark.parametrize(("kinds", "n"), [(3, 200), (10, 200), (10, 1000)])
def test_a_window_is_past_its_target_no_more_often_than_its_level(kinds, n, index):
    """Baselines that are the truth; the one-sided level is 1.1 %."""
    rng, shares = np.random.default_rng(7), shifted(kinds, index, kinds)
    baseline = np.full(kinds, 10_000)
    found = [stability_interval(x, baseline, confidence_level=LEVEL) for x in rng.multinomial(n, shares, size=DRAWS)]
    level = (1 - LEVEL) / 2
    past = np.mean([one.low > index + 1e-9 for one in found])
    assert past <= level + 3 * math.sqrt(level / DRAWS)


def test_half_as_many_independent_values_give_a_wider_interval():
    whole, half = (stability_interval([30, 70], [50, 50], effective=n) for n in (100, 50))
    assert half.high - half.estimate > 1.3 * (whole.high - whole.estimate)


def test_a_kind_that_the_baseline_lacks_is_seen_and_one_kind_alone_has_no_index():
    groups = group_names({"latin": 1000}, ["latin", "zh"])
    assert groups == [{"latin"}, {"zh"}]
    assert stability_interval([500, 500], [1000, 0]).low > 0.25
    assert stability_interval([5], [9]).estimate is None


def test_groups_hold_about_their_share_of_the_baseline_and_every_number():
    baseline = dict.fromkeys(range(-20, 30), 10)
    groups = group_numbers(baseline, [99, -99])
    assert set.union(*groups) == {*baseline, 99, -99}
    sizes = [sum(baseline.get(one, 0) for one in group) for group in groups]
    assert min(sizes) >= 50
    assert len(groups) == 10
