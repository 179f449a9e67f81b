"""The sign-flip permutation test: exact against all assignments, random against SciPy, maxT against its definition."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, UnknownName, UsageError
from assay.stats import sign_flip
from assay.stats.resampling import as_integers, map_blocks, stream
from assay.stats.signflip import _all_flips, _random_flips, _sums_of_flips, exact_pvalue

NAN = math.nan
ALTERNATIVES = ["two-sided", "greater", "less"]
TOWARD = {"two-sided": abs, "greater": lambda s: s, "less": lambda s: -s}


def by_enumeration(values, alternative="two-sided"):
    """Share of all sign assignments that are at least as extreme as the observed one."""
    toward, room = TOWARD[alternative], 1e-12 * sum(map(abs, values))
    sums = [sum(s * v for s, v in zip(signs, values, strict=True)) for signs in product((1, -1), repeat=len(values))]
    return sum(toward(s) >= toward(sum(values)) - room for s in sums) / len(sums)


def one(values, **options):
    return sign_flip(np.reshape(values, (-1, 1)), **options)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("values", [
    [], [0.0], [1.0], [-2.0], [1, 1], [1, -1], [0.1, 0.2, -0.3], [0.3, -0.1, -0.2], [0.1] * 8, [-0.1] * 7, [0.1, 0.2, 0.3, 0.1, -0.1, -0.3, 0.2, 0, 0, 0.1], [1e-9, 1, 2, -3, 4], [1e300, 1e299, -3e299],
    [5e-324, 1e-323, -5e-324], [0.0, 0.0, 0.0],
])  # fmt: skip
def test_the_exact_p_counts_all_assignments(values, alternative):
    found = one(values, alternative=alternative)
    assert found.pvalue.tolist() == [by_enumeration(values, alternative)]
    assert found.exact.tolist() == [True]
    assert found.adjusted.tolist() == found.pvalue.tolist()


@given(
    st.lists(st.integers(-5, 5), max_size=11), st.sampled_from(ALTERNATIVES), st.sampled_from([0.1, 1 / 3, 1e-200, 7.0])
)
def test_the_exact_p_is_right_with_ties_and_rounding(values, alternative, unit):
    scaled = [value * unit for value in values]
    assert one(scaled, alternative=alternative).pvalue[0] == by_enumeration(values, alternative)


def counted_by_convolution(integers):
    """Exact two-sided p of integer differences from the distribution of their sum, built one value at a time."""
    ways = {0: 1}
    for value in map(abs, integers):
        step = {}
        for total, count in ways.items():
            for moved in (total - value, total + value):
                step[moved] = step.get(moved, 0) + count
        ways = step
    return sum(count for total, count in ways.items() if abs(total) >= abs(sum(integers))) / 2 ** len(integers)


@pytest.mark.parametrize("n", [29, 30])
@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-150, 1e200])
def test_30_differences_with_ties_are_tested_exactly(n, unit):
    integers = np.random.default_rng(n).integers(1, 8, n) * np.where(np.arange(n) % 3, 1, -1)
    found = one(np.append(integers * unit, [0.0, 0.0]))
    assert found.exact[0]
    assert found.pvalue[0] == found.adjusted[0] == counted_by_convolution(integers.tolist())
    assert found.n[0] == n + 2


def test_many_differences_without_ties_are_tested_exactly(stress):
    third = 10 if stress else 7
    values = np.random.default_rng(3).normal(0.2, 1, 3 * third)
    sums = [
        [sum(s * v for s, v in zip(signs, part, strict=True)) for signs in product((1, -1), repeat=third)]
        for part in values.reshape(3, third)
    ]
    both = np.add.outer(sums[0], sums[1]).ravel()
    reached = sum(int(np.sum(np.abs(both + last) >= abs(values.sum()) - 1e-11)) for last in sums[2])
    assert one(values).pvalue[0] == reached / 2 ** (3 * third)


def test_31_differences_are_sampled():
    values = np.random.default_rng(3).normal(0.2, 1, 31)
    found = one(values, n_resamples=999)
    assert not found.exact[0]
    assert found.pvalue[0] * 1000 == pytest.approx(round(found.pvalue[0] * 1000), abs=1e-9)
    assert one(np.append(values[:30], 0)).exact[0]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_random_p_is_that_of_scipy_within_three_standard_errors(alternative):
    values = np.random.default_rng(5).gamma(1, 1, (60, 4)) - [0.6, 0.8, 1.0, 1.3]
    found = sign_flip(values, alternative=alternative, n_resamples=20_000, rng=1)
    theirs = scipy.stats.permutation_test((values,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", vectorized=True, n_resamples=20_000, batch=500,
                                          axis=0, alternative=alternative, rng=2).pvalue  # fmt: skip
    assert not found.exact.any()
    error = np.sqrt(
        found.pvalue * (1 - found.pvalue) * 3 / 20_000
    )  # SciPy doubles one tail, which doubles its variance
    assert np.all(np.abs(found.pvalue - theirs) <= 3 * error + 1e-4)
    assert np.ptp(found.pvalue) > 0.3


def test_the_random_p_is_the_exact_one_within_three_standard_errors():
    integers = np.random.default_rng(6).integers(-3, 4, (80, 6))
    integers[:, 3:] += np.random.default_rng(7).integers(0, 2, (80, 3))
    found = sign_flip(integers * 0.1, n_resamples=20_000)
    exact = np.array([counted_by_convolution(column.tolist()) for column in integers.T])
    assert np.all(np.abs(found.pvalue - exact) <= 3 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_the_random_p_counts_the_observed_assignment():
    found = one(np.ones(40), n_resamples=199)
    assert found.pvalue[0] == 1 / 200  # no random assignment of 40 signs is all alike
    assert one(-np.ones(40), n_resamples=199, alternative="greater").pvalue[0] == 1.0
    assert one(-np.ones(40), n_resamples=199, alternative="less").pvalue[0] == 1 / 200
    assert one(np.ones(40), n_resamples=1).pvalue[0] == 0.5


def test_p_is_never_0_and_never_above_1():
    values = np.random.default_rng(8).normal([0, 5, -5], 1, (50, 3))
    for alternative in ALTERNATIVES:
        found = sign_flip(values, n_resamples=100, alternative=alternative)
        assert np.all(
            (found.pvalue >= 1 / 101) & (found.pvalue <= 1) & (found.adjusted >= found.pvalue) & (found.adjusted <= 1)
        )
    assert one([1e-300] * 30).pvalue[0] == 2 / 2**30


def test_the_same_seed_gives_the_same_p_in_100_calls_and_on_any_number_of_threads():
    values = np.random.default_rng(9).normal(0.1, 1, (200, 5))
    first = sign_flip(values, rng=42, n_resamples=3000, threads=1)
    for call in range(100):
        again = sign_flip(values, rng=42, n_resamples=3000, threads=(1, 2, 8, None)[call % 4])
        assert again.pvalue.tobytes() == first.pvalue.tobytes()
        assert again.adjusted.tobytes() == first.adjusted.tobytes()
    other = sign_flip(values, rng=43, n_resamples=3000)
    assert not np.array_equal(other.pvalue, first.pvalue)
    assert (first.rng, first.n_resamples, first.alternative) == (42, 3000, "two-sided")


def test_the_defaults_are_10000_two_sided_resamples_of_seed_0():
    values = np.random.default_rng(9).normal(0.1, 1, (50, 1))
    found = sign_flip(values)
    assert found.pvalue == sign_flip(values, n_resamples=10_000, rng=0, alternative="two-sided").pvalue
    assert found.n_resamples == 10_000


def test_other_columns_change_no_p():
    values = np.random.default_rng(10).normal(0.1, 1, (100, 300))
    found = sign_flip(values, n_resamples=500)
    for column in (0, 7, 127, 128, 150, 299):
        assert sign_flip(values[:, [column]], n_resamples=500).pvalue[0] == found.pvalue[column]


def test_nan_is_an_absent_pair_and_counts_for_its_column_only():
    values = np.random.default_rng(11).normal(0.2, 1, (60, 2))
    holes = values.copy()
    holes[[3, 5], 1] = NAN
    zeros = np.where(np.isnan(holes), 0, holes)
    found, filled = sign_flip(holes, n_resamples=800), sign_flip(zeros, n_resamples=800)
    assert found.n.tolist() == [60, 58]
    assert found.pvalue.tolist() == filled.pvalue.tolist()
    assert found.estimate.tolist() == pytest.approx([values[:, 0].mean(), np.nanmean(holes[:, 1])], rel=1e-13)


def test_columns_without_pairs_or_without_differences_have_p_1():
    values = np.column_stack([np.full(40, NAN), np.zeros(40), np.random.default_rng(1).normal(1, 1, 40)])
    for alternative in ("two-sided", "greater"):
        found = sign_flip(values, n_resamples=500, alternative=alternative)
        assert found.pvalue[:2].tolist() == [1, 1]
        assert found.adjusted[:2].tolist() == [1, 1]
        assert found.n.tolist() == [0, 40, 40]
        assert np.isnan(found.estimate[0])
        assert found.estimate[1] == 0
        assert found.pvalue[2] < 0.05


def test_nothing_at_all_is_answered():
    assert sign_flip(np.zeros((5, 0))).pvalue.tolist() == []
    found = sign_flip(np.zeros((0, 2)))
    assert (found.pvalue.tolist(), found.n.tolist()) == ([1, 1], [0, 0])


def test_weights_multiply_differences():
    rng = np.random.default_rng(12)
    values, weights = rng.normal(0.3, 1, 10), rng.integers(1, 5, 10)
    found = one(values, weights=weights)
    assert found.pvalue[0] == by_enumeration((values * weights).tolist())
    assert found.estimate[0] == pytest.approx(np.average(values, weights=weights), rel=1e-13)
    many = rng.normal(0.1, 1, (50, 2))
    w = rng.random(50)
    assert (
        sign_flip(many, weights=w, n_resamples=300).pvalue.tolist()
        == sign_flip(many * w[:, None], n_resamples=300).pvalue.tolist()
    )


def test_weight_0_is_an_absent_pair_and_equal_weights_are_none():
    values = np.random.default_rng(13).normal(0.3, 1, (12, 2))
    found = sign_flip(values, weights=[1] * 10 + [0, 0])
    assert found.pvalue.tolist() == sign_flip(values[:10]).pvalue.tolist()
    assert found.n.tolist() == [10, 10]
    assert found.estimate.tolist() == pytest.approx(values[:10].mean(axis=0).tolist(), rel=1e-13)
    assert sign_flip(values, weights=[7] * 12).adjusted.tolist() == sign_flip(values).adjusted.tolist()


def t_values(signed):
    return signed.mean(axis=-1) / (signed.std(axis=-1, ddof=1) / math.sqrt(signed.shape[-1]))


def stepped_down(observed, resampled, own):
    """Step-down maxT p-values from Student's t (columns x resamples), as Westfall and Young define them."""
    order = np.argsort(-observed)
    found, last = np.empty(len(observed)), 0.0
    for place, column in enumerate(order):
        largest = resampled[order[place:]].max(axis=0)
        last = max(last, (np.sum(largest >= observed[column] - 1e-9) + own) / (resampled.shape[1] + own))
        found[column] = last
    return found


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_max_t_over_all_assignments_is_westfall_and_youngs(alternative):
    values = np.random.default_rng(14).normal([0.7, 0.1, 0.6, -0.5, 0], 1, (9, 5))
    signs = np.array(list(product((1, -1), repeat=9)))
    toward = {"two-sided": np.abs, "greater": lambda t: t, "less": lambda t: -t}[alternative]
    resampled = toward(t_values(signs * values.T[:, None]))
    expected = stepped_down(toward(t_values(values.T)), resampled, own=0)
    found = sign_flip(values, alternative=alternative, n_resamples=512)
    assert found.adjusted.tolist() == pytest.approx(expected.tolist(), abs=1e-15)
    assert len(set(found.adjusted.tolist())) > 2


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_max_t_over_random_assignments_uses_the_same_signs_for_all_columns(alternative):
    values = np.random.default_rng(15).normal([0.5, 0.1, 0.4, -0.3], [1, 10, 0.1, 1], (40, 4))
    flips = np.unpackbits(np.concatenate([_random_flips(3, block, 40) for block in (0, 1)], axis=1), axis=1)[:, :1500]
    signs = 1 - 2.0 * flips.T
    toward = {"two-sided": np.abs, "greater": lambda t: t, "less": lambda t: -t}[alternative]
    resampled, observed = toward(t_values(signs * values.T[:, None])), toward(t_values(values.T))
    found = sign_flip(values, alternative=alternative, n_resamples=1500, rng=3)
    assert found.adjusted.tolist() == pytest.approx(stepped_down(observed, resampled, own=1).tolist(), abs=1e-15)
    alone = (np.sum(resampled >= observed[:, None] - 1e-9, axis=1) + 1) / 1501
    assert found.pvalue.tolist() == pytest.approx(alone.tolist(), abs=1e-15)


def test_columns_of_any_unit_stand_side_by_side():
    columns = np.random.default_rng(16).normal([0.3, 0.2, 0.1], 1, (50, 3))
    plain, scaled = sign_flip(columns, n_resamples=300), sign_flip(columns * [2.0**900, 1, 2.0**-900], n_resamples=300)
    assert scaled.pvalue.tolist() == plain.pvalue.tolist()
    assert scaled.adjusted.tolist() == plain.adjusted.tolist()
    assert (scaled.estimate / [2.0**900, 1, 2.0**-900]).tolist() == plain.estimate.tolist()


def test_copies_of_a_column_cost_nothing_in_max_t():
    column = np.random.default_rng(16).normal(0.3, 1, 50)
    found = sign_flip(np.column_stack([column, 1000 * column, column / 3]), n_resamples=700)
    assert found.adjusted.tolist() == found.pvalue.tolist()
    assert len(set(found.pvalue.tolist())) == 1


@pytest.mark.parametrize(("n_resamples", "everything"), [(256, True), (255, False)])
def test_all_assignments_are_taken_when_they_are_no_more_than_the_resamples(n_resamples, everything):
    values = np.random.default_rng(17).normal(0.5, 1, (8, 2))
    found = [sign_flip(values, n_resamples=n_resamples, rng=seed).adjusted.tolist() for seed in range(5)]
    assert (found == [found[0]] * 5) == everything


def test_all_assignments_are_numbered_once():
    flips = np.unpackbits(np.concatenate([_all_flips(block, 11) for block in (0, 1)], axis=1), axis=1)
    assert len({tuple(column) for column in flips.T.tolist()}) == 2048


def test_random_signs_are_fair_and_unrelated_between_rows_and_blocks():
    bits = np.unpackbits(np.concatenate([_random_flips(0, block, 30) for block in range(20)], axis=1), axis=1).astype(
        float
    )
    assert bits.shape == (30, 20 * 1024)
    assert np.all(np.abs(bits.mean(axis=1) - 0.5) < 4 * 0.5 / math.sqrt(20 * 1024))
    related = np.corrcoef(bits) - np.eye(30)
    assert np.abs(related).max() < 5 / math.sqrt(20 * 1024)
    assert not np.array_equal(bits[:, :1024], bits[:, 1024:2048])


def test_sums_of_flipped_values_are_a_plain_product():
    rng = np.random.default_rng(18)
    flips = _random_flips(5, 0, 700)
    for columns in (1, 3, 128, 129, 300):
        values = rng.integers(-(2**40), 2**40, (700, columns)).astype(float)
        assert np.array_equal(_sums_of_flips(values, flips), np.unpackbits(flips, axis=1).T.astype(float) @ values)


def test_integers_keep_values_to_the_last_bits_their_sum_can_hold():
    rng = np.random.default_rng(19)
    values = rng.normal(0, [1, 1e250, 1e-250, 0], (500, 4))
    integers, exponent = as_integers(values, np.abs(values))
    assert np.array_equal(integers, np.rint(integers))
    totals = np.abs(integers).sum(axis=0)
    assert np.all(totals[:3] >= 2**51 - 500)
    assert np.all(totals <= 2**52 + 500)
    assert integers[:, 3].tolist() == [0] * 500
    assert np.all(np.abs(np.ldexp(integers, exponent) - values) <= np.ldexp(0.5, exponent))


def test_meeting_in_the_middle_counts_both_tails_and_the_boundary():
    values = np.array([1.0, 2, 4, 8, 0])
    sums = [sum(s * v for s, v in zip(signs, (1, 2, 4, 8), strict=True)) for signs in product((1, -1), repeat=4)]
    for least in range(-16, 17):
        assert exact_pvalue(values, least, "greater") == sum(s >= least for s in sums) / 16
        assert exact_pvalue(values, least, "two-sided") == sum(abs(s) >= least for s in sums) / 16
    assert exact_pvalue(-values, 3, "less") == exact_pvalue(values, 3, "greater")


def test_blocks_have_streams_of_their_own():
    first = stream(1, 0).random_raw(5000)
    assert np.array_equal(first, stream(1, 0).random_raw(5000))
    for rng, block in ((1, 1), (2, 0), (0, 1)):
        assert not set(first.tolist()) & set(stream(rng, block).random_raw(5000).tolist())


def test_blocks_are_done_in_order_on_any_number_of_threads():
    for threads in (1, 2, 8, None):
        assert map_blocks(lambda block: block * block, 20, threads) == [block * block for block in range(20)]
    assert map_blocks(lambda block: block, 0, 3) == []


def test_threads_are_used_when_asked_for():
    import threading

    barrier = threading.Barrier(3, timeout=20)
    assert len(map_blocks(lambda _: barrier.wait(), 3, 3)) == 3
    names = map_blocks(lambda _: threading.current_thread().name, 3, 1)
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize(
    "options",
    [
        {"n_resamples": 0},
        {"rng": -1},
        {"rng": 1.5},
        {"rng": None},
        {"n_resamples": 10.0},
        {"threads": 1.5},
        {"threads": 0},
        {"weights": [1, 2]},
    ],
)
def test_calls_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        sign_flip(np.ones((40, 2)), **options)


def test_tables_that_cannot_be_used_are_refused():
    with pytest.raises(UsageError, match="dimension"):
        sign_flip([1.0, 2.0])
    with pytest.raises(InputError, match="finite"):
        sign_flip([[1.0, math.inf]])
    with pytest.raises(UnknownName, match="alternative"):
        sign_flip([[1.0]], alternative="both")


def test_a_numpy_integer_is_a_seed():
    values = np.random.default_rng(9).normal(0.1, 1, (50, 1))
    assert sign_flip(values, rng=np.int64(7), n_resamples=99).pvalue == sign_flip(values, rng=7, n_resamples=99).pvalue
