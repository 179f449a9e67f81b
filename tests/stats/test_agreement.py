"""Agreement coefficients against scikit-learn, SciPy, published examples and definitions written out."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from sklearn.metrics import confusion_matrix as their_confusion

from assay.errors import InputError, UnknownName, UsageError
from assay.stats import confusion_matrix, kappa, kendall_tau, krippendorff_alpha, spearman
from assay.stats.agreement import CONSTANT, NO_PAIRS, NO_UNITS, ONE_PAIR, UNSTABLE

NAN = math.nan
RNG = np.random.default_rng(31)
FIRST = RNG.integers(0, 4, 60)
SECOND = np.clip(FIRST + RNG.integers(-1, 2, 60), 0, 3)

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: four observers, twelve units, values missing.
OBSERVERS = np.array(
    [[1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
     [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
     [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
     [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN]]
)  # fmt: skip


@pytest.mark.parametrize("weighting", ["quadratic", "linear", "none"])
def test_kappa_is_that_of_scikit_learn(weighting):
    theirs = cohen_kappa_score(FIRST, SECOND, weights=None if weighting == "none" else weighting)
    found = kappa(FIRST, SECOND, weighting=weighting)
    assert found.value == pytest.approx(theirs, rel=1e-12)
    assert (found.n, found.interval, found.reason) == (60, None, "")
    assert found.method == ("kappa" if weighting == "none" else f"kappa ({weighting})")


def kappa_by_pairs(a, b, distance):
    seen = np.mean([distance(x, y) for x, y in zip(a, b, strict=True)])
    return 1 - seen / np.mean([distance(x, y) for x, y in product(a, b)])


@pytest.mark.parametrize(
    ("weighting", "distance"),
    [
        ("quadratic", lambda x, y: (x - y) ** 2),
        ("linear", lambda x, y: abs(x - y)),
        ("none", lambda x, y: float(x != y)),
    ],
)
def test_kappa_takes_any_values_and_goes_by_their_distance(weighting, distance):
    a, b = [0, 0.5, 7, 7, 10, -3], [0, 7, 7, 0.5, 10, 0]
    assert kappa(a, b, weighting=weighting).value == pytest.approx(kappa_by_pairs(a, b, distance), rel=1e-12)
    assert kappa(np.array(a) * 3, np.array(b) * 3, weighting=weighting).value == pytest.approx(
        kappa(a, b, weighting=weighting).value, rel=1e-12
    )


@pytest.mark.parametrize("scale", [1e250, 1e-250])
def test_huge_and_tiny_values_agree_as_others_do(scale):
    assert kappa(FIRST * scale, SECOND * scale).value == pytest.approx(kappa(FIRST, SECOND).value, rel=1e-12)
    rows = np.column_stack([FIRST, SECOND])
    assert krippendorff_alpha(rows * scale, level="interval").value == pytest.approx(
        krippendorff_alpha(rows, level="interval").value, rel=1e-12
    )


def test_kappa_is_quadratic_by_default_and_1_for_equal_raters():
    assert kappa(FIRST, SECOND) == kappa(FIRST, SECOND, weighting="quadratic")
    assert kappa(FIRST, FIRST).value == 1
    assert kappa([0, 1], [1, 0]).value == -1


def test_the_confusion_matrix_is_that_of_scikit_learn():
    found = confusion_matrix(FIRST, SECOND)
    assert np.array_equal(found.counts, their_confusion(FIRST, SECOND))
    assert (found.values, found.n) == ((0, 1, 2, 3), 60)
    small = confusion_matrix([0.5, 2, 2, NAN, 1], [2, 2, 0.5, 2, NAN])
    assert (small.values, small.counts, small.n) == ((0.5, 2), ((0, 1), (1, 1)), 3)
    assert confusion_matrix([], []).counts == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "method"),
    [(kendall_tau, scipy.stats.kendalltau, "tau-b"), (spearman, scipy.stats.spearmanr, "spearman")],
)
def test_rank_correlations_are_those_of_scipy(ours, theirs, method):
    for a, b in (
        (FIRST, SECOND),
        (RNG.normal(size=30), RNG.normal(size=30)),
        ([1, 2], [5, 3]),
        ([1, 2, 2, 3], [1, 1, 2, 9]),
    ):
        found = ours(a, b)
        assert found.value == pytest.approx(theirs(a, b).statistic, rel=1e-12)
        assert (found.n, found.method, found.interval) == (len(a), method, None)


def tau_by_pairs(a, b):
    signs = [(np.sign(a[i] - a[j]), np.sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    untied = math.sqrt(sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs))
    return sum(x * y for x, y in signs) / untied if untied else None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_tau_counts_pairs_and_corrects_for_ties(pairs):
    a, b = zip(*pairs, strict=True)
    expected = tau_by_pairs(a, b)
    assert kendall_tau(a, b).value == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize("function", [kappa, kendall_tau, spearman])
def test_pairs_with_a_nan_are_left_out(function):
    a, b = np.append(FIRST, [NAN, 2.0]), np.append(SECOND, [1.0, NAN])
    assert function(a, b) == function(FIRST.astype(float), SECOND.astype(float))


@pytest.mark.parametrize("function", [kappa, kendall_tau, spearman])
@pytest.mark.parametrize(("a", "b", "reason"), [([], [], NO_PAIRS), ([NAN], [1], NO_PAIRS), ([2, 2], [2, 2], CONSTANT)])
def test_what_has_no_agreement_has_a_reason(function, a, b, reason):
    found = function(a, b, n_resamples=10)
    assert (found.value, found.interval, found.reason) == (None, None, reason)


def test_one_pair_or_one_side_that_does_not_vary_has_no_correlation():
    for function in (kendall_tau, spearman):
        assert (function([1], [2]).value, function([1], [2]).reason) == (None, ONE_PAIR)
        assert (function([1, 2], [3, 3]).value, function([1, 2], [3, 3]).reason) == (None, CONSTANT)
        assert (function([3, 3], [1, 2]).value, function([3, 3], [1, 2]).n) == (None, 2)
    assert kappa([1], [2]).value == 0
    assert kappa([1], [1]).reason == CONSTANT


def test_krippendorffs_published_examples():
    assert round(krippendorff_alpha(OBSERVERS.T, level="nominal").value, 3) == 0.743
    assert round(krippendorff_alpha(OBSERVERS.T, level="ordinal").value, 3) == 0.815
    assert round(krippendorff_alpha(OBSERVERS.T, level="interval").value, 3) == 0.849
    binary = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert round(krippendorff_alpha(np.transpose(binary), level="nominal").value, 3) == 0.095
    codes = [[ord(character) for character in text] for text in ("aabbdcccedda", "babbbccceddd")]
    assert round(krippendorff_alpha(np.transpose(codes), level="nominal").value, 3) == 0.692


def alpha_by_pairs(rows, level):
    """Alpha straight from pairs of values within units and over all units."""
    units = [[v for v in row if not math.isnan(v)] for row in rows]
    units = [unit for unit in units if len(unit) > 1]
    everything = [v for unit in units for v in unit]

    def distance(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        return (
            (sum(low <= v <= high for v in everything) - (everything.count(a) + everything.count(b)) / 2) ** 2
            if a != b
            else 0.0
        )

    seen = sum(2 * sum(distance(a, b) for a, b in combinations(unit, 2)) / (len(unit) - 1) for unit in units) / len(
        everything
    )
    expected = (
        2 * sum(distance(a, b) for a, b in combinations(everything, 2)) / (len(everything) * (len(everything) - 1))
    )
    return 1 - seen / expected if expected else None


@pytest.mark.parametrize("level", ["ordinal", "interval", "nominal"])
@given(
    rows=st.integers(2, 4).flatmap(
        lambda raters: st.lists(
            st.lists(st.sampled_from([0.0, 1, 2.5, 7, NAN]), min_size=raters, max_size=raters), min_size=1, max_size=7
        )
    )
)
def test_alpha_is_its_definition_over_pairs(level, rows):
    found = krippendorff_alpha(rows, level=level)
    units = sum(sum(not math.isnan(v) for v in row) > 1 for row in rows)
    expected = alpha_by_pairs(rows, level) if units else None
    assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert (found.n, found.method) == (units, f"alpha ({level})")
    if expected is None:
        assert found.reason == (CONSTANT if units else NO_UNITS)


def test_alpha_is_ordinal_by_default_and_goes_by_rank_only():
    assert krippendorff_alpha(OBSERVERS.T) == krippendorff_alpha(OBSERVERS.T, level="ordinal")
    assert krippendorff_alpha(OBSERVERS.T**3).value == pytest.approx(krippendorff_alpha(OBSERVERS.T).value, rel=1e-12)
    assert krippendorff_alpha(OBSERVERS.T**3, level="interval").value != pytest.approx(
        krippendorff_alpha(OBSERVERS.T, level="interval").value, rel=1e-3
    )
    assert krippendorff_alpha(OBSERVERS.T).n == 11


def test_nothing_to_compare_has_no_alpha():
    for rows in (np.zeros((0, 3)), np.full((3, 2), NAN), [[1.0, NAN], [NAN, 2.0]], np.zeros((3, 1))):
        found = krippendorff_alpha(rows, n_resamples=5)
        assert (found.value, found.n, found.reason, found.interval) == (None, 0, NO_UNITS, None)


CASES = [
    lambda **options: kappa(FIRST, SECOND, **options),
    lambda **options: kendall_tau(FIRST, SECOND, **options),
    lambda **options: spearman(FIRST, SECOND, **options),
    lambda **options: krippendorff_alpha(np.column_stack([FIRST, SECOND]), **options),
]


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_seeded_and_surround_the_value(case):
    found = case(n_resamples=200, rng=4)
    assert found == case(n_resamples=200, rng=4, confidence_level=0.95)
    assert found.interval != case(n_resamples=200, rng=5).interval
    assert found.interval.low < found.value == found.interval.estimate < found.interval.high
    assert (found.interval.method, found.interval.n, found.interval.confidence_level, found.interval.reason) == (
        "percentile",
        60,
        0.95,
        "",
    )
    narrow = case(n_resamples=200, rng=4, confidence_level=0.5).interval
    assert found.interval.low < narrow.low < narrow.high < found.interval.high


@pytest.mark.parametrize("case", CASES)
def test_groups_of_one_are_no_groups_and_change_no_value(case):
    alone = case(n_resamples=100, groups=[f"q{i:02}" for i in range(60)], rng=1)
    assert alone == case(n_resamples=100, rng=1)
    few = case(n_resamples=100, groups=np.arange(60) // 15, rng=1)
    assert (few.value, few.n) == (case().value, 60)
    assert few.interval != alone.interval


def test_a_group_resample_is_the_coefficient_of_the_repeated_pairs():
    groups = np.repeat(["x", "y", "z"], 20)
    parts = {name: groups == name for name in "xyz"}
    found = kappa(FIRST, SECOND, groups=groups, n_resamples=500, confidence_level=1 - 1e-12).interval
    values = []
    for names in product("xyz", repeat=3):
        rows = np.concatenate([np.flatnonzero(parts[name]) for name in names])
        values.append(cohen_kappa_score(FIRST[rows], SECOND[rows], weights="quadratic"))
    assert (found.low, found.high) == pytest.approx((min(values), max(values)), rel=1e-9)


def test_groups_of_absent_pairs_are_left_out():
    a, b, groups = np.append(FIRST, NAN), np.append(SECOND, 1.0), ["same"] * 30 + ["other"] * 30 + ["third"]
    assert kappa(a, b, groups=groups, n_resamples=60) == kappa(a[:60], b[:60], groups=groups[:60], n_resamples=60)
    rows = np.column_stack([a, b])
    assert krippendorff_alpha(rows, groups=groups, n_resamples=60) == krippendorff_alpha(
        rows[:60], groups=groups[:60], n_resamples=60
    )


def test_too_many_resamples_without_variation_have_no_interval():
    found = kappa([1, 1, 1, 2], [1, 1, 1, 2], n_resamples=200)
    assert found.value == 1
    assert (found.interval.low, found.interval.high, found.interval.reason) == (None, None, UNSTABLE)


@pytest.mark.parametrize("call", [
    lambda: kappa([1], [1, 2]), lambda: kappa([1, 2], [1, 2], groups=["a"]), lambda: kappa([1, 2], [1, 2], n_resamples=-1), lambda: kappa([1, 2], [1, 2], confidence_level=0), lambda: kappa([1, 2], [1, 2], rng=-1),
    lambda: krippendorff_alpha([1, 2, 3]), lambda: krippendorff_alpha([[1, 2]], groups=[1, 2]), lambda: kendall_tau([1, 2], [1]), lambda: spearman([[1]], [[1]]), lambda: confusion_matrix([1], []),
    lambda: krippendorff_alpha([[1, 2]], n_resamples=-2), lambda: spearman([], [], confidence_level=1),
])  # fmt: skip
def test_calls_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()


def test_infinite_values_and_unknown_words_are_refused():
    with pytest.raises(InputError, match="finite"):
        kappa([math.inf], [1])
    with pytest.raises(UnknownName, match="weighting"):
        kappa([1], [1], weighting="square")
    with pytest.raises(UnknownName, match="level"):
        krippendorff_alpha([[1, 2]], level="ratio")
