"""Lifts of A/B tests, beside tea-tasting, SciPy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestIndPower
from statsmodels.stats.proportion import confint_proportions_2indep, power_proportions_2indep, proportions_ztest

from assay import stats
from assay.errors import UsageError
from assay.stats.arms import NO_CONTROL, NO_DENOMINATOR, NO_USERS, pool_arms

tt = pytest.importorskip("tea_tasting", reason="tea-tasting is not installed")

METRICS = {
    "mean": (tt.Mean("revenue"), ("revenue",)),
    "ratio": (tt.RatioOfMeans("orders", "sessions"), ("orders", "sessions")),
    "mean by a covariate": (tt.Mean("revenue", covariate="revenue_covariate"), ("revenue", None, "revenue_covariate")),
    "ratio by a covariate": (
        tt.RatioOfMeans("orders", "sessions", numer_covariate="orders_covariate", denom_covariate="sessions_covariate"),
        ("orders", "sessions", "orders_covariate", "sessions_covariate"),
    ),
}


@pytest.fixture(scope="module", params=[(1, 400), (2, 5000)], ids=["400 users", "5000 users"])
def users(request):
    seed, n = request.param
    return tt.make_users_data(rng=seed, n_users=n, covariates=True, sessions_uplift=0.1).to_pandas()


def summarise(users, variant, value, denominator=None, covariate=None, covariate_denominator=None):
    rows = users[users.variant == variant]
    pick = lambda name: None if name is None else rows[name]  # noqa: E731
    return stats.arm_of(
        rows[value], pick(denominator), covariate=pick(covariate), covariate_denominator=pick(covariate_denominator)
    )


@pytest.mark.parametrize("name", METRICS)
def test_a_lift_is_that_of_tea_tasting(users, name):
    metric, columns = METRICS[name]
    theirs = tt.Experiment(m=metric).analyze(users)["m"]
    ours = stats.lift(summarise(users, 0, *columns), summarise(users, 1, *columns))
    found = [ours.control, ours.treatment, ours.absolute.estimate, ours.absolute.low, ours.absolute.high,
             ours.relative.estimate, ours.relative.low, ours.relative.high, ours.pvalue]  # fmt: skip
    expected = [theirs.control, theirs.treatment, theirs.effect_size, theirs.effect_size_ci_lower,
                theirs.effect_size_ci_upper, theirs.rel_effect_size, theirs.rel_effect_size_ci_lower,
                theirs.rel_effect_size_ci_upper, theirs.pvalue]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_lift_of_means_is_welchs_t_test(users):
    control, treatment = (users[users.variant == v].revenue for v in (0, 1))
    ours = stats.lift(stats.arm_of(control), stats.arm_of(treatment))
    theirs = scipy_stats.ttest_ind(treatment, control, equal_var=False)
    interval = theirs.confidence_interval(0.95)
    np.testing.assert_allclose([ours.pvalue, ours.absolute.low, ours.absolute.high], [theirs.pvalue, *interval])


def test_sums_over_users_give_the_same_arm(users):
    rows = users[users.variant == 1][["orders", "sessions", "orders_covariate", "sessions_covariate"]].to_numpy(float)
    ours = stats.arm_from_sums(len(rows), rows.sum(0).tolist(), products=(rows.T @ rows).tolist())
    direct = summarise(users, 1, "orders", "sessions", "orders_covariate", "sessions_covariate")
    np.testing.assert_allclose(ours.means, direct.means)
    np.testing.assert_allclose(ours.covariances, np.cov(rows.T))


def test_arms_of_disjoint_users_pool_to_the_arm_of_all(users):
    halves = [summarise(users, v, "orders", "sessions") for v in (0, 1)]
    whole = stats.arm_of(users.orders, users.sessions)
    found = stats.pool_arms(*halves)
    np.testing.assert_allclose(found.means, whole.means)
    np.testing.assert_allclose(found.covariances, whole.covariances, atol=1e-12)


def test_a_missing_product_and_impossible_squares_are_refused():
    with pytest.raises(UsageError, match="value x denominator is missing"):
        stats.arm_from_sums(
            3, [3, 3, None, None], products=[[5, None, None, None], [None, 5, None, None], [None] * 4, [None] * 4]
        )
    with pytest.raises(UsageError, match="do not fit together"):
        stats.arm_from_sums(
            10, [100, None, None, None], products=[[10, None, None, None], [None] * 4, [None] * 4, [None] * 4]
        )


def test_what_cannot_be_said_of_a_lift_has_its_reason():
    one, many = stats.arm_of([1.0]), stats.arm_of([1.0, 2.0, 3.0])
    assert stats.lift(one, many).absolute.reason == NO_USERS
    assert stats.lift(stats.arm_of([0.0, 0.0, 0.0]), many).relative.reason == NO_CONTROL
    assert stats.lift(stats.arm_of([1.0, 2.0], [0.0, 0.0]), many).absolute.reason == NO_DENOMINATOR
    constant = stats.lift(stats.arm_of([1.0, 1.0]), stats.arm_of([2.0, 2.0]))
    assert (constant.absolute.estimate, constant.absolute.low, constant.pvalue) == (1.0, None, None)


@pytest.mark.parametrize(
    ("a", "n", "b", "m"), [(30, 200, 45, 210), (1, 50, 9, 60), (99, 100, 95, 100), (400, 800, 420, 790)]
)
def test_a_lift_of_shares_is_newcombes(a, n, b, m):
    ours = stats.share_lift((a, n), (b, m))
    low, high = confint_proportions_2indep(b, m, a, n, method="newcomb", compare="diff")
    below, above = confint_proportions_2indep(b, m, a, n, method="log", compare="ratio")
    found = [ours.absolute.low, ours.absolute.high, ours.pvalue, ours.relative.low, ours.relative.high]
    np.testing.assert_allclose(found, [low, high, proportions_ztest([b, a], [m, n])[1], below - 1, above - 1])


def test_the_ratio_of_samples_is_the_chi_square_test():
    ours = stats.sample_ratio([4900, 5100, 10300], [1, 1, 2])
    theirs = scipy_stats.chisquare([4900, 5100, 10300], [5075, 5075, 10150])
    np.testing.assert_allclose([ours.statistic, ours.pvalue], [theirs.statistic, theirs.pvalue])
    with pytest.raises(UsageError, match="one share above 0 for each of the 2 arms"):
        stats.sample_ratio([1, 2], [1, 0])


def test_a_confidence_sequence_has_the_closed_form():
    a, n, se, tuning = 0.05, 2500, 0.013, 10_000
    rho = math.sqrt((-2 * math.log(a) + math.log(1 - 2 * math.log(a))) / tuning)
    half = math.sqrt(n * se**2) * math.sqrt(
        2 * (n * rho**2 + 1) * math.log(math.sqrt(n * rho**2 + 1) / a) / (n * rho) ** 2
    )
    found = stats.confidence_sequence(0.1, se, n=n, tuning=tuning)
    np.testing.assert_allclose([found.low, found.high], [0.1 - half, 0.1 + half])


@pytest.mark.parametrize(("effect", "ratio"), [(0.1, 1.0), (0.3, 0.5), (0.05, 3.0)])
def test_planned_power_is_that_of_statsmodels(effect, ratio):
    theirs = TTestIndPower()
    n = stats.users_needed(effect, 1.0, ratio=ratio).n
    assert theirs.power(effect, n / (1 + ratio), 0.05, ratio=ratio) >= 0.8 - 1e-4
    assert theirs.power(effect, (n - 4) / (1 + ratio), 0.05, ratio=ratio) < 0.8 + 1e-4
    assert stats.trial_power(effect, 2.0, n=900, ratio=1.0) == pytest.approx(
        theirs.power(effect / 2, 450, 0.05, ratio=1)
    )
    shown = stats.lift_shown(2.0, n, ratio=ratio).lift
    assert shown == pytest.approx(2 * effect, rel=2e-2)


@pytest.mark.parametrize(("share", "lift", "n"), [(0.2, 0.02, 13_000), (0.05, -0.01, 20_000), (0.7, 0.1, 600)])
def test_planned_power_of_shares_is_that_of_statsmodels(share, lift, n):
    theirs = power_proportions_2indep(lift, share, n / 2, return_results=False)
    assert stats.share_power(share, lift, n=n) == pytest.approx(theirs, abs=0.004)  # Newcombe's interval counts here


@pytest.mark.parametrize(
    ("share", "lift", "n"), [(0.1, 0.1, 400), (0.02, 0.01, 7700), (0.5, 0.2, 190), (0.9, -0.1, 420)]
)
def test_planned_power_of_shares_is_that_of_all_outcomes(share, lift, n):
    half = n // 2
    chances = [scipy_stats.binom.pmf(np.arange(half + 1), half, p) for p in (share, share + lift)]
    shown, likely = 0.0, [np.flatnonzero(one > 1e-9) for one in chances]
    for a in likely[0][:: max(len(likely[0]) // 40, 1)].tolist():
        wins = [b for b in likely[1].tolist() if _shows(a, b, half)]
        shown += chances[0][a] * chances[1][wins].sum()
    shown /= sum(chances[0][a] for a in likely[0][:: max(len(likely[0]) // 40, 1)].tolist())
    assert stats.share_power(share, lift, n=n) == pytest.approx(shown, abs=0.02)


def _shows(a, b, n):
    found = stats.share_lift((a, n), (b, n))
    return found.pvalue is not None and found.pvalue <= 0.05 and found.absolute.excludes(0.0)


def test_users_of_a_treatment_that_vary_more_need_more_users():
    equal = stats.trial_power(0.3, 1.0, n=400, treatment_deviation=1.0)
    assert equal == stats.trial_power(0.3, 1.0, n=400)
    more = stats.trial_power(0.3, 1.0, n=400, treatment_deviation=2.0)
    # One deviation for both with the same sum of squares, and t with Welch's degrees of freedom.
    df = (1 + 4) ** 2 / (1 / 199 + 16 / 199)
    away, bound = 0.3 / math.sqrt(5 / 200), scipy_stats.t.ppf(0.975, df)
    assert more == pytest.approx(scipy_stats.nct.sf(bound, df, away) + scipy_stats.nct.cdf(-bound, df, away))


def test_arms_of_several_days_put_together_keep_what_is_constant():
    rng = np.random.default_rng(9)
    for _ in range(50):
        together = pool_arms(*(stats.arm_of(rng.random(n), np.ones(n)) for n in rng.integers(2, 40, 10).tolist()))
        assert together.means[1] == 1
        assert together.covariances[1][1] == 0


def test_users_whose_values_rise_by_a_share_are_those_whose_values_were_multiplied():
    rng = np.random.default_rng(2)
    columns = [rng.exponential(1.0, (4, 50))[i] for i in range(4)]
    names = dict(zip(("denominator", "covariate", "covariate_denominator"), columns[1:], strict=True))
    raised = stats.raise_arm(stats.arm_of(columns[0], **names), 0.3)
    multiplied = stats.arm_of(1.3 * columns[0], **names)
    np.testing.assert_allclose(raised.means, multiplied.means)
    np.testing.assert_allclose(raised.covariances, multiplied.covariances)


def test_counts_that_rise_by_a_share_have_the_variance_of_their_distribution():
    share = stats.arm_of(np.repeat([0.0, 1.0], [800_000, 200_000]))
    assert stats.raise_arm(share, 0.5, counts=True).covariances[0][0] == pytest.approx(0.3 * 0.7, rel=1e-5)
    k = np.arange(9)
    chance = scipy_stats.betabinom.pmf(k, 8, 1, 3)
    some = stats.arm_of(np.repeat(k, np.round(chance * 4_000_000).astype(int)))
    # A chance of their own for every user, 1.2 times as high: E[h] and Var[h] of the beta distribution, binomial around.
    mean, spread = 1.2 * 1 / 4, 1.44 * (1 * 3) / (4**2 * 5)
    expected = 8 * (mean - mean**2 - spread) + 64 * spread
    assert stats.raise_arm(some, 0.2, counts=True).covariances[0][0] == pytest.approx(expected, rel=1e-4)


def test_counts_too_regular_to_be_rarer_events_vary_as_values_do():
    regular = stats.arm_of([2, 3, 2, 3, 2])
    assert stats.raise_arm(regular, 0.5, counts=True) == stats.raise_arm(regular, 0.5)


def test_no_power_is_planned_for_nothing():
    with pytest.raises(UsageError, match="lift of 0"):
        stats.users_needed(0.0, 1.0)
    assert stats.trial_power(1.0, 1.0, n=2) == 0
