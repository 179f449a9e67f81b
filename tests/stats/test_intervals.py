"""Means, their standard errors and intervals, against SciPy, statsmodels and matrices written out."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from dataclasses import is_dataclass

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from assay import stats
from assay.errors import InputError, UnknownName, UsageError
from assay.stats import (
    Interval,
    mean_interval,
    mean_intervals,
    moments,
    paired_differences,
    proportion_interval,
)
from assay.stats.bootstrap import bca, draw, percentile_limits, resample_means
from assay.stats.moments import NO_SPREAD, NO_VALUES, ONE_VALUE, ONE_WEIGHT

NAN = math.nan
RNG = np.random.default_rng(7)
X = RNG.gamma(2, 1, 40)
W = RNG.lognormal(0, 1, 40)


def by_matrices(x, w):
    """Weighted mean, SE, df and deviation from the quadratic form itself."""
    x, u = np.asarray(x, float), np.asarray(w, float) / np.sum(w)
    centring = np.eye(len(u)) - np.outer(np.ones(len(u)), u)
    form = centring.T @ np.diag(u**2) @ centring
    # With equal spread the mean has variance sum(u^2) and the form expects trace(form), both times sigma^2.
    error = math.sqrt(x @ form @ x * np.sum(u**2) / np.trace(form))
    deviation = math.sqrt(np.sum(u * (x - u @ x) ** 2) / (1 - np.sum(u**2)))
    return u @ x, error, np.trace(form) ** 2 / np.trace(form @ form), deviation


def test_the_moments_of_a_plain_sample_are_the_textbook_ones():
    of = moments(X)
    assert (of.n, of.df, of.effective_n, of.reason) == (40, 39.0, 40.0, "")
    assert of.mean == pytest.approx(X.mean(), rel=1e-14)
    assert of.deviation == pytest.approx(X.std(ddof=1), rel=1e-13)
    assert of.standard_error == pytest.approx(scipy.stats.sem(X), rel=1e-13)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_the_moments_of_a_weighted_sample_follow_their_quadratic_form(n):
    of = moments(X[:n], W[:n])
    mean, error, df, deviation = by_matrices(X[:n], W[:n])
    assert (of.n, of.reason) == (n, "")
    assert (of.mean, of.standard_error, of.deviation) == pytest.approx((mean, error, deviation), rel=1e-12)
    assert of.df == pytest.approx(df, rel=1e-9)
    assert of.effective_n == pytest.approx(W[:n].sum() ** 2 / np.sum(W[:n] ** 2), rel=1e-12)


def test_the_weighted_standard_error_is_the_robust_one_of_least_squares_made_unbiased():
    u = W / W.sum()
    robust = sm.WLS(X, np.ones(len(X)), weights=W).fit(cov_type="HC0").bse[0]
    unbiased = robust / math.sqrt(1 - 2 * np.sum(u**3) / np.sum(u**2) + np.sum(u**2))
    assert moments(X, W).standard_error == pytest.approx(unbiased, rel=1e-12)


def test_the_weighted_variance_is_unbiased_when_all_values_vary_alike():
    rng = np.random.default_rng(1)
    w = np.array([8.0, 4, 2, 1, 1, 1, 1, 0.5])
    estimates = [moments(x, w).standard_error ** 2 for x in rng.normal(size=(20_000, 8))]
    true = np.sum((w / w.sum()) ** 2)
    assert np.mean(estimates) == pytest.approx(true, abs=4 * np.std(estimates) / math.sqrt(20_000))


def test_equal_weights_are_no_weights():
    assert moments(X, np.full(40, 3.7)) == moments(X)
    assert moments(X[:5], [2, 2, 0, 2, 2]) == moments(X[[0, 1, 3, 4]])


def test_the_size_of_weights_does_not_matter_only_their_ratios():
    assert moments(X, W * 4).mean == pytest.approx(moments(X, W).mean, rel=1e-14)
    assert moments(X, W * 4).df == pytest.approx(moments(X, W).df, rel=1e-9)


def test_nan_and_weight_0_leave_a_value_out():
    values, weights = np.append(X, [NAN, 5, 7]), np.append(W, [1, 0, 0])
    assert moments(values, weights) == moments(X, W)
    assert moments([1, NAN, 2]) == moments([1, 2])


def test_the_order_of_values_changes_no_bit():
    order = RNG.permutation(40)
    assert moments(X[order]) == moments(X)


@pytest.mark.parametrize("scale", [2.0**1000, 2.0**-1000, 2.0**-1060])
def test_huge_and_tiny_values_neither_overflow_nor_vanish(scale):
    values = np.array([1.0, 2, 4, 5])
    of, plain = moments(values * scale), moments(values)
    assert (of.mean / scale, of.deviation / scale, of.df) == pytest.approx(
        (plain.mean, plain.deviation, plain.df), rel=1e-4 if scale < 2**-1050 else 1e-14
    )
    assert mean_interval(values * scale).low < of.mean < mean_interval(values * scale).high


@pytest.mark.parametrize(
    ("values", "weights", "mean", "reason"),
    [([], None, None, NO_VALUES), ([NAN], None, None, NO_VALUES), ([], [], None, NO_VALUES), ([NAN, 1], [1, 0], None, NO_VALUES), ([3], None, 3, ONE_VALUE),
     ([3, 4], [1, 0], 3, ONE_VALUE), ([3, 4], [0.991, 0.009], 3.009, ONE_WEIGHT)],
)  # fmt: skip
def test_what_cannot_be_judged_is_none_with_the_reason(values, weights, mean, reason):
    of = moments(values, weights)
    assert (of.deviation, of.standard_error, of.df, of.reason) == (None, None, None, reason)
    assert of.mean == (None if mean is None else pytest.approx(mean))
    for method in ("t", "bca"):
        found = mean_interval(values, weights=weights, method=method, n_resamples=50)
        assert (found.low, found.high, found.reason, found.n, found.method) == (None, None, reason, of.n, method)
        assert found.estimate == of.mean
        assert not found.excludes(0)


def test_a_value_with_exactly_99_percent_of_the_weight_is_still_judged():
    assert moments([3, 4], [0.98, 0.02]).standard_error > 0
    assert moments([3, 4], [0.98, 0.02]).df == 1


@pytest.mark.parametrize("method", ["t", "bca"])
@pytest.mark.parametrize("value", [0.0, 0.1, -3])
def test_values_that_do_not_vary_have_no_interval_and_the_reason_for_it(value, method):
    found = mean_interval([value] * 3, method=method, n_resamples=50)
    assert (found.estimate, found.low, found.high, found.reason) == (pytest.approx(value), None, None, NO_SPREAD)
    assert not found.excludes(0)
    assert not found.excludes(99)


def test_variation_by_rounding_alone_is_none():
    assert moments([0.1 + 0.2, 0.3, 0.3]).reason == NO_SPREAD
    assert moments([1, 1 + 0.9e-12]).reason == NO_SPREAD
    assert moments([1, 1 + 1.1e-12]).reason == ""
    assert moments([0.1 + 0.2, 0.3, 0.3]).df == 2


def test_an_interval_excludes_only_what_lies_outside():
    found = Interval(1.5, 1.0, 2.0, 0.95, "t", 10)
    assert [found.excludes(value) for value in (0.99, 1.0, 1.5, 2.0, 2.01)] == [True, False, False, False, True]
    assert found.excludes()
    assert not Interval(0.5, -1.0, 2.0, 0.95, "t", 10).excludes()
    assert not Interval(1.0, None, 2.0, 0.95, "t", 1).excludes()
    assert not Interval(1.0, 1.0, None, 0.95, "t", 1).excludes()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_the_t_interval_is_that_of_statsmodels(level):
    found = mean_interval(X, confidence_level=level)
    assert (found.low, found.high) == pytest.approx(DescrStatsW(X).tconfint_mean(1 - level), rel=1e-12)
    assert (found.estimate, found.confidence_level, found.method, found.n, found.reason) == (
        moments(X).mean,
        level,
        "t",
        40,
        "",
    )


def test_the_default_is_t_at_95_percent():
    assert mean_interval(X) == mean_interval(X, confidence_level=0.95, method="t")
    assert mean_intervals(X[:, None]) == (mean_interval(X),)


def test_the_weighted_t_interval_uses_its_own_degrees_of_freedom():
    mean, error, df, _ = by_matrices(X, W)
    found = mean_interval(X, weights=W)
    assert (found.low, found.high) == pytest.approx(scipy.stats.t.interval(0.95, df, mean, error), rel=1e-9)


def test_intervals_of_columns_are_those_of_each_column():
    table = np.column_stack([X, X**2, np.where(X > 1, X, NAN)])
    for method in ("t", "bca"):
        found = mean_intervals(table, weights=W, method=method, n_resamples=200, rng=3)
        alone = [mean_interval(column, weights=W, method=method, n_resamples=200, rng=3) for column in table.T]
        assert [(i.n, i.reason) for i in found] == [(i.n, i.reason) for i in alone]
        for one, other in zip(found, alone, strict=True):
            assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)


@pytest.mark.parametrize("method", ["t", "bca"])
def test_no_columns_give_no_intervals(method):
    assert mean_intervals(np.zeros((3, 0)), method=method) == ()
    assert [i.reason for i in mean_intervals(np.zeros((0, 2)), method=method)] == [NO_VALUES] * 2


def test_the_bca_interval_is_that_of_scipy_within_the_noise_of_resampling():
    seeds = range(40)
    found = [mean_interval(X, method="bca", n_resamples=1000, rng=seed) for seed in seeds]
    theirs = [
        scipy.stats.bootstrap((X,), np.mean, n_resamples=1000, method="BCa", rng=seed).confidence_interval
        for seed in seeds
    ]
    for ours, ends in (
        ([f.low for f in found], [t.low for t in theirs]),
        ([f.high for f in found], [t.high for t in theirs]),
    ):
        assert np.mean(ours) == pytest.approx(np.mean(ends), abs=3 * math.sqrt((np.var(ours) + np.var(ends)) / 40))
    assert found[0].method == "bca"
    assert found[0].estimate == moments(X).mean
    assert len({f.low for f in found}) == 40


def test_bca_limits_are_scipys_for_the_same_resamples():
    theirs = scipy.stats.bootstrap((X,), np.mean, n_resamples=999, method="BCa", rng=1, confidence_level=0.9)
    left_out = np.array([np.mean(np.delete(X, i)) for i in range(40)])
    found = bca(theirs.bootstrap_distribution, X.mean(), left_out, 0.9)
    assert found == pytest.approx(tuple(theirs.confidence_interval), rel=1e-12)


def bca_by_hand(drawn, estimate, left_out, level):
    normal = scipy.stats.norm
    bias = normal.ppf((np.mean(drawn < estimate) + np.mean(drawn <= estimate)) / 2)
    away = np.mean(left_out) - np.asarray(left_out)
    skew = np.sum(away**3) / (6 * np.sum(away**2) ** 1.5)
    ends = [normal.ppf((1 - level) / 2), normal.ppf((1 + level) / 2)]
    return [np.quantile(drawn, normal.cdf(bias + (bias + z) / (1 - skew * (bias + z)))) for z in ends]


def test_bca_limits_are_efrons_formula():
    drawn = np.random.default_rng(2).gamma(3, 1, 999)
    left_out = np.random.default_rng(3).gamma(2, 1, 20)
    drawn[:3] = 2.5
    for level in (0.8, 0.95):
        assert bca(drawn, 2.5, left_out, level) == pytest.approx(bca_by_hand(drawn, 2.5, left_out, level), rel=1e-12)


def test_bca_limits_exist_at_the_edges():
    drawn = np.arange(100.0)
    low, high = bca(drawn, -1.0, np.array([0.0, 0, 0, 1]), 0.95)
    assert 0 <= low <= high < 1  # every resample lies above the estimate: the limits go to the lower end
    low, high = bca(drawn, 100.0, np.array([0.0, 0, 0, -1]), 0.95)
    assert 98 < low <= high <= 99
    even = np.array([0.0, 1, 0, 1])
    for estimate, share in ((-1.0, 0.005), (100.0, 0.995)):  # half a resample is the least that can lie below or above
        bias = scipy.stats.norm.ppf(share)
        expected = [np.quantile(drawn, scipy.stats.norm.cdf(2 * bias + z)) for z in scipy.stats.norm.ppf([0.25, 0.75])]
        assert bca(drawn, estimate, even, 0.5) == pytest.approx(tuple(expected), rel=1e-9)
    assert bca(drawn, 1e9, np.array([0.0] * 999 + [-1]), 1 - 1e-12)[1] == 99.0


def test_the_weighted_bca_interval_leaves_out_values_with_their_weights():
    drawn = resample_means(X[:, None], W / W.sum(), n_resamples=300, rng=1)[:, 0]
    left_out = [np.average(np.delete(X, i), weights=np.delete(W, i)) for i in range(40)]
    found = mean_interval(X, weights=W, method="bca", n_resamples=300, rng=1)
    assert [found.low, found.high] == pytest.approx(
        bca_by_hand(drawn, np.average(X, weights=W), left_out, 0.95), rel=1e-9
    )
    plain = mean_interval(X, method="bca", n_resamples=300, rng=1)
    left_out = [np.mean(np.delete(X, i)) for i in range(40)]
    drawn = resample_means(X[:, None], None, n_resamples=300, rng=1)[:, 0]
    assert [plain.low, plain.high] == pytest.approx(bca_by_hand(drawn, X.mean(), left_out, 0.95), rel=1e-9)


def test_resamples_draw_n_rows_with_their_weights():
    repeats = draw(4, 0, 6, 256)
    assert repeats.shape == (256, 6)
    assert set(repeats.sum(axis=1)) == {6}
    assert repeats.mean() == 1
    assert repeats.var() == pytest.approx(5 / 6, abs=0.1)
    u = np.arange(1.0, 7) / 21
    x = RNG.normal(size=(6, 2))
    expected = [(r * u) @ x / (r @ u) for r in repeats[:9]]
    assert resample_means(x, u, n_resamples=9, rng=4) == pytest.approx(np.array(expected))
    assert resample_means(x, None, n_resamples=9, rng=4) == pytest.approx(repeats[:9] @ x / 6)
    assert len(resample_means(x, None, n_resamples=1000, rng=4)) == 1000


def test_resamples_are_the_same_on_any_number_of_threads_and_differ_by_block_and_seed():
    x = RNG.normal(size=(50, 3))
    one = resample_means(x, None, n_resamples=700, rng=1, threads=1)
    for threads in (2, 8, None):
        assert np.array_equal(resample_means(x, None, n_resamples=700, rng=1, threads=threads), one)
    assert not np.array_equal(one[:256], one[256:512])
    assert not np.array_equal(resample_means(x, None, n_resamples=700, rng=2), one)


def test_large_samples_are_drawn_in_smaller_blocks():
    x = np.arange(30_000.0)[:, None]
    assert resample_means(x, None, n_resamples=70, rng=0).mean() == pytest.approx(14_999.5, abs=100)


def test_percentile_limits_draw_whole_groups():
    groups = np.array([0, 0, 1, 1, 1, 2])
    seen = []
    limits = percentile_limits(
        lambda repeats: seen.append(repeats) or float(repeats[0]), groups, confidence_level=0.5, n_resamples=400, rng=1
    )
    assert len(seen) == 400
    for repeats in seen:
        assert repeats[0] == repeats[1]
        assert repeats[2] == repeats[3] == repeats[4]
        assert repeats[0] + repeats[2] + repeats[5] == 3
    assert limits == (np.quantile([r[0] for r in seen], 0.25), np.quantile([r[0] for r in seen], 0.75))


@pytest.mark.parametrize(("undefined", "known"), [(0, True), (10, True), (11, False)])
def test_percentile_limits_allow_one_undefined_resample_in_ten(undefined, known):
    calls = iter(range(100))
    found = percentile_limits(
        lambda _: None if next(calls) < undefined else 1.0, np.arange(5), confidence_level=0.95, n_resamples=100, rng=0
    )
    assert found == ((1.0, 1.0) if known else None)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("successes", "n"), [(0, 1), (1, 1), (0, 10), (10, 10), (3, 10), (1, 1000), (6980, 6980), (123, 456)]
)
def test_the_wilson_interval_is_that_of_statsmodels(successes, n, level):
    found = proportion_interval(successes, n, confidence_level=level)
    assert (found.low, found.high) == pytest.approx(
        proportion_confint(successes, n, 1 - level, method="wilson"), abs=1e-12
    )
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert (found.estimate, found.n, found.method, found.confidence_level) == (successes / n, n, "wilson", level)
    assert (found.low == 0.0) == (successes == 0)
    assert (found.high == 1.0) == (successes == n)


def test_a_proportion_of_nothing_has_no_interval():
    found = proportion_interval(0, 0)
    assert (found.estimate, found.low, found.high, found.n, found.reason) == (None, None, None, 0, NO_VALUES)
    assert proportion_interval(3, 10).confidence_level == 0.95


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_proportions_are_refused(successes, n):
    with pytest.raises(UsageError, match="successes"):
        proportion_interval(successes, n)


def test_differences_by_rounding_alone_are_0():
    found = paired_differences([0.1 + 0.2, 1, NAN, 1, 1 + 0.9e-12, 2], [0.3, 0.5, 1, NAN, 1, 2 - 2.2e-12])
    assert found[:2].tolist() == [0.0, 0.5]
    assert np.isnan(found[2:4]).all()
    assert found[4] == 0
    assert found[5] == pytest.approx(2.2e-12, rel=1e-3)
    assert paired_differences([[1.0, 2]], [[0.5, 3]]).tolist() == [[0.5, -1.0]]


@pytest.mark.parametrize("call", [
    lambda: mean_interval([1, 2], confidence_level=0), lambda: mean_interval([1, 2], confidence_level=1), lambda: mean_interval([[1, 2]]), lambda: mean_interval([1, 2], weights=[1]),
    lambda: mean_interval([1, 2], method="bca", n_resamples=0), lambda: mean_interval([1, 2], method="bca", rng=-1), lambda: mean_interval([1, 2], method="bca", rng=np.random.default_rng()),
    lambda: mean_intervals([1, 2]), lambda: paired_differences([1], [1, 2]), lambda: proportion_interval(1, 2, confidence_level=1),
    lambda: mean_intervals([[1.0], [2]], method="bca", threads=0),
    lambda: percentile_limits(lambda _: 1.0, np.arange(2), confidence_level=0.9, n_resamples=0, rng=0),
])  # fmt: skip
def test_calls_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize("call", [
    lambda: mean_interval([1, math.inf]), lambda: mean_interval([1, 2], weights=[1, -1]), lambda: mean_interval([1, 2], weights=[0, 0]), lambda: mean_interval([1, 2], weights=[1, NAN]),
    lambda: mean_interval([1, 2], weights=[1, math.inf]), lambda: mean_interval(["a"]), lambda: mean_interval([None, {}]), lambda: paired_differences([math.inf], [1]), lambda: paired_differences([1], [-math.inf]),
])  # fmt: skip
def test_values_that_cannot_be_used_are_refused(call):
    with pytest.raises(InputError):
        call()


def test_an_unknown_method_is_answered_with_the_known_ones():
    with pytest.raises(UnknownName, match="auto, score, adjusted t, t, bca"):
        mean_interval([1, 2], method="bootstrap")


def test_arguments_are_never_changed():
    x, w, b = X.copy(), W.copy(), X[::-1].copy()
    kept = x.copy(), w.copy(), b.copy()
    mean_interval(x, weights=w, method="bca", n_resamples=20)
    paired_differences(x, b)
    assert all(np.array_equal(a, k) for a, k in zip((x, w, b), kept, strict=True))


def test_importing_the_statistics_loads_no_scipy():
    code = "import sys, assay.stats; print(sorted({name.split('.')[0] for name in sys.modules} & {'scipy', 'polars', 'pandas'}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_of_the_statistics_exists():
    assert all(getattr(stats, name) is not None for name in stats.__all__)
    assert stats.__all__ == sorted(stats.__all__)


def test_records_are_frozen():
    records = [value for name in stats.__all__ if is_dataclass(value := getattr(stats, name))]
    assert len(records) == 23
    assert all(record.__dataclass_params__.frozen for record in records)
    assert not any(record.__dataclass_params__.eq for record in (stats.SignFlip, stats.Tukey))


@pytest.mark.parametrize("name", [name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))])
def test_options_are_named(name):
    parameters = inspect.signature(getattr(stats, name)).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters)[2:])
    assert all(p.kind is not p.POSITIONAL_ONLY for p in parameters)
