"""Click models against their definitions in plain Python, and their intervals on simulated logs with known truth."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.optimize import minimize

from assay.errors import InputError
from assay.messages import tell
from assay.stats.click_models import (
    Cells,
    UserSums,
    click_through,
    clicks_over_expected,
    design_effects,
    position_based,
    share_limits,
)
from assay.stats.intervals import proportion_interval

STRESS = os.environ.get("ASSAY_STRESS") == "1"
CASES = 4000 if STRESS else 60

# (pair, position from 0): (shown, clicks)
WORKED = {(0, 0): (100, 30), (0, 1): (50, 5), (1, 0): (60, 6), (1, 1): (80, 16), (2, 1): (30, 0), (3, 2): (20, 0)}


def cells(table, pairs=None, positions=None):
    rows = [(pair, place, n, c) for (pair, place), (n, c) in table.items()]
    pair, place, shown, clicks = (np.array(column) for column in zip(*rows, strict=True))
    pairs, positions = pairs or pair.max() + 1, positions or place.max() + 1
    return Cells(pair, place, shown.astype(float), clicks.astype(float), np.ones(pairs), np.ones(positions))


def simulate(rng, pairs=80, positions=6, n=80, power=0.8):
    """A log of the position-based model: attraction, examination, and what was counted."""
    examination = np.arange(1, positions + 1.0) ** -power
    attraction = rng.beta(1, 3, pairs)
    pair, place = np.repeat(np.arange(pairs), positions), np.tile(np.arange(positions), pairs)
    shown = rng.multinomial(n, np.full(positions, 1 / positions), size=pairs).ravel()
    clicks = rng.binomial(shown, attraction[pair] * examination[place])
    kept = shown > 0
    columns = (pair[kept], place[kept], shown[kept].astype(float), clicks[kept].astype(float))
    return attraction, examination, Cells(*columns, np.ones(pairs), np.ones(positions))


# By hand --------------------------------------------------------------------------------------------------------------


def test_the_click_through_rate_is_clicks_over_impressions_with_wilsons_interval():
    found = click_through(cells(WORKED))
    assert found.value.tolist() == [35 / 150, 22 / 140, 0.0, 0.0]
    wilson = proportion_interval(35, 150)
    assert found.low[0] == pytest.approx(wilson.low)
    assert found.high[0] == pytest.approx(wilson.high)
    assert found.low[2] == 0


def test_coec_divides_by_the_clicks_that_the_positions_usually_get():
    first, second = (30 + 6) / (100 + 60), (5 + 16 + 0) / (50 + 80 + 30)
    expected = [100 * first + 50 * second, 60 * first + 80 * second, 30 * second]
    found = clicks_over_expected(cells(WORKED))
    assert found.expected[:3] == pytest.approx(expected)
    assert found.value[:3] == pytest.approx([35 / expected[0], 22 / expected[1], 0.0])
    assert np.isnan(found.value[3])  # nobody ever clicked at its only position
    assert found.low[0] < found.value[0] < found.high[0]


def test_opensearchs_coec_takes_the_rate_of_the_best_position_for_all_impressions_and_rounds():
    first, second = 36 / 160, 21 / 160
    by_hand = [35 / (150 * first), 22 / (140 * first), 0 / (30 * second), 0.0]
    found = clicks_over_expected(cells(WORKED), variant="opensearch")
    assert found.value.tolist() == [round(one, 3) for one in by_hand]
    assert found.value[0] == 1.037


def test_coec_of_a_whole_log_is_1():
    found = clicks_over_expected(cells(WORKED))
    assert np.nansum(found.clicks) == pytest.approx(np.nansum(found.expected))


def test_the_position_based_model_is_the_most_likely_one():
    """SciPy's optimiser finds the same, from the likelihood alone."""
    table = {(0, 0): (100, 40), (0, 1): (90, 15), (1, 0): (80, 10), (1, 1): (120, 9), (1, 2): (60, 3), (2, 2): (70, 9),
             (2, 0): (40, 12)}  # fmt: skip
    rows = [(i, k, n, c) for (i, k), (n, c) in table.items()]

    def loss(both):
        rate = [np.exp(both[i] + (0.0 if k == 0 else both[2 + k])) for i, k, _, _ in rows]
        return -sum(c * np.log(p) + (n - c) * np.log(1 - p) for p, (_, _, n, c) in zip(rate, rows, strict=True))

    best = minimize(loss, [-1.0, -1.5, -1.5, -0.5, -0.7], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000})  # fmt: skip
    found = position_based(cells(table))
    assert found.value == pytest.approx(np.exp(best.x[:3]), rel=1e-4)
    assert found.examination == pytest.approx([1.0, *np.exp(best.x[3:])], rel=1e-4)
    step = 1e-3  # the observed information, by differences of the same likelihood
    eye = np.eye(5) * step
    hessian = [[(loss(best.x + a + b) - loss(best.x + a - b) - loss(best.x - a + b) + loss(best.x - a - b)) / (4 * step**2) for b in eye] for a in eye]  # fmt: skip
    error = np.sqrt(np.diag(np.linalg.inv(np.array(hessian))))[3:] * np.exp(best.x[3:])
    assert found.standard_error == pytest.approx([0.0, *error], rel=1e-3)


def test_positions_without_a_common_document_cannot_be_told_apart():
    apart = {(0, 0): (100, 30), (1, 1): (100, 10)}
    with pytest.raises(InputError, match="cannot be told apart") as error:
        position_based(cells(apart))
    assert "多个位置" in tell(error.value.message, "zh")
    with pytest.raises(InputError):  # a pair that nobody clicked joins nothing
        position_based(cells({**apart, (2, 0): (50, 0), (2, 1): (50, 0)}))


def test_positions_apart_from_most_others_are_left_out():
    joined = {(0, 0): (100, 40), (0, 1): (90, 15), (1, 0): (80, 10), (1, 1): (120, 9), (2, 2): (30, 3)}
    found = position_based(cells(joined))
    assert found.apart == (2,)
    assert np.isnan(found.value[2]) and np.isnan(found.examination[2])


# Users who come back --------------------------------------------------------------------------------------------------


def test_users_who_are_all_different_have_no_effect():
    assert design_effects(UserSums.of(np.zeros(9, int), np.ones(9), np.array([1.0] * 3 + [0.0] * 6), 1)).tolist() == [
        1.0
    ]


def test_users_who_always_do_the_same_are_worth_one_impression_each():
    rng = np.random.default_rng(5)
    clicks = 4.0 * (rng.random(4000) < 0.3)
    assert design_effects(UserSums.of(np.zeros(4000, int), np.full(4000, 4.0), clicks, 1))[0] == pytest.approx(
        4, rel=0.02
    )


def test_the_effect_of_users_is_that_of_their_correlation():
    """Beta-binomial users with a correlation of 0.2, in many small groups: 1 + 0.2 (sum(n_u^2)/n - 1)."""
    rng = np.random.default_rng(6)
    group, shown = np.repeat(np.arange(400), 10), np.tile([1.0, 1, 1, 2, 2, 3, 3, 4, 5, 8], 400)
    clicks = rng.binomial(shown.astype(int), rng.beta(0.3 * 4, 0.7 * 4, len(shown))).astype(float)
    wanted = 1 + 0.2 * ((shown[:10] ** 2).sum() / shown[:10].sum() - 1)
    assert design_effects(UserSums.of(group, shown, clicks, 400)).mean() == pytest.approx(wanted, rel=0.1)


# Simulations ----------------------------------------------------------------------------------------------------------


def test_examination_is_recovered_within_three_standard_errors():
    rng = np.random.default_rng(7)
    far = []
    for _ in range(CASES // 4):
        _, truth, log = simulate(rng, pairs=120, n=150)
        found = position_based(log)
        far.append((found.examination - truth)[1:] / found.standard_error[1:])
    within = float((np.abs(far) < 3).mean())
    print(f"examination within 3 standard errors: {within:.4f}; deviation of z {np.std(far):.3f}")  # noqa: T201
    assert within >= 0.985
    assert np.std(far) == pytest.approx(1, abs=0.15)


def test_intervals_hold_the_truth():
    rng = np.random.default_rng(8)
    held: dict[str, list[float]] = {"ctr": [], "coec": [], "pbm": []}
    for _ in range(CASES):
        attraction, examination, log = simulate(rng)
        rate = attraction[log.pair] * examination[log.position]
        clicks, shown = log.by_pair(log.shown * rate), log.by_pair(log.shown)
        usual = log.by_position(log.shown * rate) / log.by_position(log.shown)
        truths = {
            "ctr": clicks / shown,
            "coec": clicks / log.by_pair(log.shown * usual[log.position]),
            "pbm": attraction,
        }
        models = {"ctr": click_through, "coec": clicks_over_expected, "pbm": position_based}
        for name, model in models.items():
            found = model(log)
            held[name].append(float(((found.low <= truths[name]) & (truths[name] <= found.high)).mean()))
    print({name: round(float(np.mean(shares)), 4) for name, shares in held.items()})  # noqa: T201
    for name, shares in held.items():
        assert np.mean(shares) >= 0.94, name


def test_intervals_hold_the_truth_though_users_come_back():
    """40 users with 5 impressions each click with a correlation of 0.3; Wilson's interval alone holds it in 83 %."""
    rng = np.random.default_rng(9)
    held, plain, groups = [], [], 50
    group, shown = np.repeat(np.arange(groups), 40), np.full(40 * groups, 5.0)
    for _ in range(max(CASES // 4, 30)):
        clicks = rng.binomial(5, rng.beta(0.2 * 7 / 3, 0.8 * 7 / 3, len(shown))).astype(float)
        effects = design_effects(UserSums.of(group, shown, clicks, groups))
        share = np.bincount(group, weights=clicks) / 200
        for found, trials in ((held, 200 / effects), (plain, np.full(groups, 200.0))):
            low, high = share_limits(share, trials, 0.95)
            found.append(float(((low <= 0.2) & (high >= 0.2)).mean()))
    print(f"by users {np.mean(held):.4f}, as if independent {np.mean(plain):.4f}")  # noqa: T201
    assert np.mean(held) >= 0.935
    assert np.mean(plain) < 0.88
