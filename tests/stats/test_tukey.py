"""Randomised Tukey HSD against its definition, and the letters that show it."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, UsageError
from assay.stats import compact_letters, randomised_tukey, sign_flip
from assay.stats.tukey import _pick_orders, _shuffle_labels, letter

NAN = math.nan


def by_enumeration(rows):
    """Exact p of every pair: the share of all relabellings whose range of sums reaches the pair's difference."""
    k = len(rows[0])
    ranges = []
    for orders in product(permutations(range(k)), repeat=len(rows)):
        sums = [math.fsum(row[order[place]] for row, order in zip(rows, orders, strict=True)) for place in range(k)]
        ranges.append(max(sums) - min(sums))
    means = np.sum(rows, axis=0)
    return np.array([[np.mean(np.array(ranges) >= abs(a - b) - 1e-9) for b in means] for a in means])


def test_p_is_the_share_of_all_relabellings_within_three_standard_errors():
    rows = np.random.default_rng(1).normal([0.8, 0, -0.4], 1, (5, 3))
    exact = by_enumeration(rows.tolist())
    found = randomised_tukey(rows[:, :, None], n_resamples=20_000).pvalue[0]
    assert np.all(np.abs(found - exact) <= 3 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
    assert 0 < found[0, 2] < found[0, 1] < 1


def test_two_treatments_are_a_sign_flip_test():
    values = np.random.default_rng(2).normal([0.25, 0], 1, (60, 2))
    found = randomised_tukey(values[:, :, None], n_resamples=20_000).pvalue[0, 0, 1]
    exact = sign_flip(values[:, :1] - values[:, 1:], n_resamples=100_000, rng=9).pvalue[0]
    assert found == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) * 1.2 / 20_000))


def test_the_matrix_is_symmetric_with_1_on_its_diagonal():
    values = np.random.default_rng(3).normal([0, 0.5, 1, 1], 1, (30, 4))[:, :, None] * [1, 10]
    found = randomised_tukey(values, n_resamples=300)
    assert found.pvalue.shape == (2, 4, 4)
    assert np.array_equal(found.pvalue, found.pvalue.transpose(0, 2, 1))
    assert np.all(found.pvalue[:, range(4), range(4)] == 1)
    assert np.array_equal(found.pvalue[0], found.pvalue[1])  # the unit of a column does not matter
    assert found.mean == pytest.approx(values.mean(axis=0).T, rel=1e-12)
    assert found.difference[0, 2, 1] == found.mean[0, 2] - found.mean[0, 1]
    assert (found.n.tolist(), found.confidence_level, found.n_resamples, found.rng) == ([30, 30], 0.95, 300, 0)


def test_columns_of_any_unit_stand_side_by_side():
    values = np.random.default_rng(3).normal([0, 0.5, 1], 1, (30, 3))[:, :, None]
    plain, scaled = (
        randomised_tukey(values, n_resamples=200),
        randomised_tukey(values * [2.0**900, 1, 2.0**-900], n_resamples=200),
    )
    assert all(np.array_equal(p, plain.pvalue[0]) for p in scaled.pvalue)
    assert (scaled.critical_difference / [2.0**900, 1, 2.0**-900]).tolist() == plain.critical_difference.tolist() * 3
    assert (scaled.mean[2] / 2.0**-900).tolist() == plain.mean[0].tolist()


def test_p_counts_the_observed_labels_and_is_never_0():
    values = np.tile([0.0, 1.0, 5.0], (60, 1))[:, :, None]
    found = randomised_tukey(values, n_resamples=99)
    assert found.pvalue[0, 0, 2] == 1 / 100
    assert np.all(randomised_tukey(np.zeros((10, 3, 1)), n_resamples=99).pvalue == 1)


def test_ties_by_rounding_count_as_equal():
    rows = np.array([[0.1 + 0.2, 0.0], [0.0, 0.3], [0.3, 0.0], [0.6, 0.3]])
    exact = by_enumeration((np.round(rows * 10)).tolist())
    found = randomised_tukey(rows[:, :, None], n_resamples=20_000).pvalue[0]
    assert found[0, 1] == pytest.approx(exact[0, 1], abs=3 * math.sqrt(exact[0, 1] * (1 - exact[0, 1]) / 20_000) + 1e-4)
    assert exact[0, 1] == 0.625


@pytest.mark.parametrize("k", [2, 5, 9])
def test_the_same_seed_gives_the_same_p_on_any_number_of_threads(k):
    values = np.random.default_rng(4).normal(0, 1, (40, k, 3))
    first = randomised_tukey(values, n_resamples=500, rng=7, threads=1)
    for threads in (1, 2, 8, None):
        again = randomised_tukey(values, n_resamples=500, rng=7, threads=threads)
        assert again.pvalue.tobytes() == first.pvalue.tobytes()
        assert again.critical_difference.tobytes() == first.critical_difference.tobytes()
    assert not np.array_equal(randomised_tukey(values, n_resamples=500, rng=8).pvalue, first.pvalue)


def test_other_columns_and_absent_rows_change_no_p():
    values = np.random.default_rng(5).normal(0, 1, (50, 3, 2))
    both = randomised_tukey(values, n_resamples=300)
    assert np.array_equal(randomised_tukey(values[:, :, 1:], n_resamples=300).pvalue[0], both.pvalue[1])
    holes = values.copy()
    holes[4, 2, 0] = NAN
    without = randomised_tukey(holes, n_resamples=300)
    assert np.array_equal(without.pvalue[1], both.pvalue[1])
    assert without.n.tolist() == [49, 50]
    assert without.mean[0] == pytest.approx(np.delete(values[:, :, 0], 4, axis=0).mean(axis=0), rel=1e-12)
    constant = values.copy()
    constant[4, :, 0] = 3.0  # a row without differences has no say either
    assert np.array_equal(randomised_tukey(constant, n_resamples=300).pvalue[0], without.pvalue[0])


def test_large_tables_are_relabelled_in_slabs():
    values = np.random.default_rng(6).normal([0, 0.05], 1, (3000, 2))[:, :, None]
    found = randomised_tukey(values, n_resamples=2000).pvalue[0, 0, 1]
    exact = sign_flip(values[:, 0] - values[:, 1], n_resamples=20_000).pvalue[0]
    assert found == pytest.approx(exact, abs=3.5 * math.sqrt(exact * (1 - exact) / 2000))


def test_weights_belong_to_rows():
    rng = np.random.default_rng(7)
    values, w = rng.normal([0, 0.3, 0.6], 1, (30, 3)), rng.random(30) + 0.1
    found = randomised_tukey(values[:, :, None], weights=w, n_resamples=400)
    assert np.array_equal(found.pvalue, randomised_tukey((values * w[:, None])[:, :, None], n_resamples=400).pvalue)
    assert found.mean[0] == pytest.approx(np.average(values, axis=0, weights=w), rel=1e-12)
    dropped = randomised_tukey(values[:, :, None], weights=[1] * 29 + [0], n_resamples=400)
    assert dropped.n.tolist() == [29]
    assert dropped.mean[0] == pytest.approx(values[:29].mean(axis=0), rel=1e-12)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 40)])
@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_difference_beyond_the_critical_one_is_significant(level, weights, scale):
    values = np.random.default_rng(8).normal(np.arange(9) / 5, 1, (40, 9))[:, :, None] * scale
    found = randomised_tukey(values, confidence_level=level, n_resamples=999, weights=weights)
    beyond = np.abs(found.difference[0]) > found.critical_difference[0]
    assert np.array_equal(found.pvalue[0] <= 1 - level + 1e-12, beyond)
    assert 10 < beyond.sum() < 62


@pytest.mark.parametrize(("n_resamples", "known"), [(18, False), (19, True)])
def test_too_few_resamples_have_no_critical_difference(n_resamples, known):
    values = np.random.default_rng(9).normal(0, 1, (20, 3, 1))
    found = randomised_tukey(values, n_resamples=n_resamples).critical_difference[0]
    assert np.isnan(found) != known


def test_nothing_at_all_is_answered():
    empty = randomised_tukey(np.zeros((0, 2, 1)), n_resamples=50)
    assert (empty.pvalue.tolist(), empty.n.tolist()) == ([[[1, 1], [1, 1]]], [0])
    assert np.isnan(empty.mean).all()
    assert np.isnan(empty.critical_difference).all()
    absent = randomised_tukey(np.full((5, 2, 1), NAN), n_resamples=50)
    assert absent.n.tolist() == [0]
    assert np.all(absent.pvalue == 1)
    assert randomised_tukey(np.zeros((3, 2, 0)), n_resamples=50).pvalue.shape == (0, 2, 2)


def test_every_order_is_equally_likely():
    words = np.random.default_rng(10).integers(2**64 - 1, size=(60_000, 4), dtype=np.uint64, endpoint=True)
    for found in (_pick_orders(words[:, 0], 4), _shuffle_labels(words)):
        _, counts = np.unique(found, axis=0, return_counts=True)
        assert len(counts) == 24
        assert np.sum((counts - 2500) ** 2 / 2500) < 49.7  # chi-square, 23 degrees of freedom, p = .001


def test_orders_of_many_labels_are_complete():
    words = np.random.default_rng(11).integers(2**64 - 1, size=(500, 33), dtype=np.uint64, endpoint=True)
    assert np.array_equal(np.sort(_shuffle_labels(words), axis=1), np.tile(np.arange(33), (500, 1)))
    edge = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert _pick_orders(edge, 3).tolist() == [[0, 1, 2], [2, 1, 0]]


@pytest.mark.parametrize("call", [
    lambda: randomised_tukey(np.zeros((3, 1, 1))), lambda: randomised_tukey(np.zeros((3, 2))), lambda: randomised_tukey(np.zeros((3, 2, 1)), n_resamples=0), lambda: randomised_tukey(np.zeros((3, 2, 1)), confidence_level=1),
    lambda: randomised_tukey(np.zeros((3, 2, 1)), rng=-3), lambda: randomised_tukey(np.zeros((3, 2, 1)), threads=-1), lambda: randomised_tukey(np.zeros((3, 2, 1)), weights=[1, 2]),
])  # fmt: skip
def test_calls_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()


def test_infinite_values_are_refused():
    with pytest.raises(InputError, match="finite"):
        randomised_tukey([[[1.0], [math.inf]]])


def different(n, pairs):
    matrix = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        matrix[i, j] = matrix[j, i] = True
    return matrix


@pytest.mark.parametrize(
    ("n", "pairs", "expected"),
    [(0, [], []), (1, [], ["a"]), (2, [], ["a", "a"]), (2, [(0, 1)], ["a", "b"]), (3, [(0, 2)], ["a", "ab", "b"]), (3, [(0, 1), (0, 2)], ["a", "b", "b"]), (3, [(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
     (4, [(0, 2), (0, 3), (1, 3)], ["a", "ab", "bc", "c"]), (4, [(0, 1), (2, 3)], ["ab", "cd", "ac", "bd"])],
)  # fmt: skip
def test_letters_by_hand(n, pairs, expected):
    assert compact_letters(different(n, pairs)) == expected


def test_the_first_of_the_order_has_the_first_letter():
    matrix = different(3, [(0, 2)])
    assert compact_letters(matrix, [2, 1, 0]) == ["b", "ab", "a"]
    assert compact_letters(matrix, [1, 0, 2]) == ["a", "ab", "b"]
    assert compact_letters(matrix, np.array([2, 0, 1])) == ["b", "ab", "a"]


def read_back(text):
    letters = []
    for character in text:
        if character.isdigit():
            letters[-1] += character
        else:
            letters.append(character)
    return letters


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sets(st.sampled_from([*combinations(range(n), 2), (0, 0)])), st.permutations(range(n))
        )
    )
)
def test_two_treatments_share_a_letter_exactly_when_they_do_not_differ(case):
    n, pairs, order = case
    matrix = different(n, pairs - {(0, 0)})
    letters = [set(read_back(text)) for text in compact_letters(matrix, order)]
    for i, j in combinations(range(n), 2):
        assert bool(letters[i] & letters[j]) != matrix[i, j]
    used = sorted(set().union(*letters))
    members = [frozenset(i for i in range(n) if name in letters[i]) for name in used]
    assert used == [letter(i) for i in range(len(used))]
    assert all(not a < b for a in members for b in members)  # no letter says what another one says already
    assert len(set(members)) == len(members)


def test_letters_go_on_beyond_z():
    assert [letter(i) for i in (0, 25, 26, 51, 52, 26 * 11)] == ["a", "z", "a1", "z1", "a2", "a11"]
    found = compact_letters(~np.eye(60, dtype=bool))
    assert found[:3] == ["a", "b", "c"]
    assert (found[25], found[26], found[59]) == ("z", "a1", "h2")
    assert len(set(found)) == 60
    chain = np.abs(np.subtract.outer(range(40), range(40))) > 1
    assert compact_letters(chain)[26:29] == ["za1", "a1b1", "b1c1"]
    assert read_back("za1b12c") == ["z", "a1", "b12", "c"]


@pytest.mark.parametrize("call", [
    lambda: compact_letters([[False, True], [False, False]]), lambda: compact_letters([[True]]), lambda: compact_letters([[False, True]]), lambda: compact_letters([[False]], [1]), lambda: compact_letters([[False]], [0, 0]),
    lambda: compact_letters(different(2, []), [0, 0]),
])  # fmt: skip
def test_matrices_and_orders_that_make_no_sense_are_refused(call):
    with pytest.raises(UsageError):
        call()
