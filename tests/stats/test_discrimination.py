"""Telling two classes apart: areas and accuracies against scikit-learn, scipy and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from assay.errors import InputError, UsageError
from assay.stats import auroc, auroc_difference, balanced_accuracy, best_threshold

rows = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=60)


def made(n: int = 200, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties that are higher for positive rows."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.4).astype(float)
    return np.round(rng.normal(labels, 1.0), 1), labels


@given(rows)
def test_the_area_is_that_of_scikit_learn(found):
    scores, labels = [float(score) for score, _ in found], [float(label) for _, label in found]
    value = auroc(scores, labels).value
    if len(set(labels)) < 2:
        assert value is None
    else:
        assert value == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


@given(rows, st.integers(0, 7))
def test_balanced_accuracy_at_a_threshold_is_that_of_scikit_learn(found, threshold):
    scores, labels = np.array([score for score, _ in found], dtype=float), [float(label) for _, label in found]
    value = balanced_accuracy(scores, labels, threshold=threshold).value
    if len(set(labels)) < 2:
        assert value is None
    else:
        assert value == pytest.approx(balanced_accuracy_score(labels, scores >= threshold), abs=1e-12)


def best_by_trying(scores: np.ndarray, labels: np.ndarray) -> float:
    """Lowest of the scores that are the best threshold, by trying each."""
    tried = {float(cut): balanced_accuracy_score(labels, scores >= cut) for cut in np.unique(scores)}
    top = max(tried.values())
    return min(cut for cut, value in tried.items() if value > top - 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_threshold_is_found_by_trying_all(seed):
    scores, labels = made(seed=seed)
    assert best_threshold(scores, labels) == best_by_trying(scores, labels)
    assert best_threshold([1.0, 2.0], [1, 1]) is None


@pytest.mark.parametrize("seed", range(5))
def test_without_a_threshold_each_fifth_is_judged_by_the_others(seed):
    scores, labels = made(seed=seed)
    fold = np.arange(len(scores)) % 5
    said = np.zeros(len(scores), dtype=bool)
    for k in range(5):
        said[fold == k] = scores[fold == k] >= best_by_trying(scores[fold != k], labels[fold != k])
    assert balanced_accuracy(scores, labels).value == pytest.approx(balanced_accuracy_score(labels, said), abs=1e-12)


def test_a_threshold_from_other_rows_promises_less_than_one_from_the_same():
    rng = np.random.default_rng(3)
    scores, labels = rng.random(60), (rng.random(60) < 0.5).astype(float)
    best = balanced_accuracy_score(labels, scores >= best_threshold(scores, labels))
    assert balanced_accuracy(scores, labels).value < best


def test_groups_are_never_split_between_choosing_and_judging():
    """Twins of every row, one value each: with groups, nothing can be learnt from a row's own twin."""
    rng = np.random.default_rng(4)
    scores, labels = np.repeat(rng.random(40), 2), np.repeat((rng.random(40) < 0.5).astype(float), 2)
    grouped = balanced_accuracy(scores, labels, groups=np.repeat(np.arange(40), 2)).value
    assert grouped == pytest.approx(balanced_accuracy(scores[::2], labels[::2]).value, abs=1e-12)


def test_intervals_agree_with_the_bootstrap_of_scipy():
    scores, labels = made(300)
    found = auroc(scores, labels, n_resamples=2000, rng=5).interval
    theirs = stats.bootstrap(
        (scores, labels), lambda s, y: roc_auc_score(y, s), paired=True, vectorized=False, n_resamples=2000,
        method="percentile", rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    assert found.low == pytest.approx(theirs.low, abs=0.01) and found.high == pytest.approx(theirs.high, abs=0.01)
    assert found.low < found.estimate < found.high


def test_a_difference_is_that_of_the_two_areas_and_its_interval_that_of_pairs():
    scores, labels = made(300)
    others = np.round(scores + np.random.default_rng(6).normal(0, 0.3, 300), 1)
    found = auroc_difference(scores, others, labels=labels, n_resamples=1000)
    assert found.value == pytest.approx(roc_auc_score(labels, scores) - roc_auc_score(labels, others), abs=1e-12)
    apart = auroc(scores, labels, n_resamples=1000).interval
    assert found.interval.high - found.interval.low < (apart.high - apart.low) / 1.5
    same = auroc_difference(scores, scores, labels=labels, n_resamples=100).interval
    assert (same.estimate, same.low, same.high, same.reason) == (0, None, None, "every resample gives the same value")


def test_rows_without_a_value_are_left_out():
    scores, labels = made()
    holes = scores.copy()
    holes[::7] = np.nan
    kept = ~np.isnan(holes)
    assert auroc(holes, labels).value == pytest.approx(roc_auc_score(labels[kept], scores[kept]), abs=1e-12)
    assert auroc(holes, labels).n == kept.sum()
    found = auroc_difference(holes, scores, labels=labels)
    assert (found.value, found.n) == (0.0, kept.sum())


def test_what_cannot_be_computed_has_a_reason():
    assert auroc([1.0, 2.0], [1, 1]).reason == "all rows are of one class"
    assert auroc([], []).reason == "no pair has both values"
    assert balanced_accuracy([1.0, 2.0, 3.0], [0, 0, 0]).value is None
    with pytest.raises(InputError, match="labels must be 0 or 1"):
        auroc([1.0, 2.0], [1, 3])
    with pytest.raises(UsageError, match="the same length"):
        auroc([1.0, 2.0], [1])
