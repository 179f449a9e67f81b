"""The page about the sources: every figure that is called right is recomputed here in plain Python, without assay."""

from __future__ import annotations

from math import log2
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "sources.md").read_text(encoding="utf-8")


def dcg(gains):
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def binary_ndcg(pattern, relevant, k):
    return dcg(pattern[:k]) / dcg([1] * min(relevant, k))


BATCH = [((1, 0, 1, 0, 1), 4), ((1, 0, 1, 0, 1), 3), ((0, 1, 1, 0, 1), 3), ((1, 0, 1, 0, 1), 4)]
GRADES = {"A": 8, "B": 7, "C": 6, "D": 5}
FOUND = dcg([2 ** GRADES.get(doc, 0) - 1 for doc in "CEAFBGHIJD"])
IDEAL = dcg([2**grade - 1 for grade in (8, 7, 6, 5)])


def batch(k, value):
    return sum(value(pattern, relevant, k) for pattern, relevant in BATCH) / len(BATCH)


def precision(pattern, _, k):
    return sum(pattern[:k]) / k


def recall(pattern, relevant, k):
    return sum(pattern[:k]) / relevant


RIGHT = {
    "ideal DCG of grades 8, 7, 6, 5": ("380.3", f"{IDEAL:.4f}"),
    "P@5 of the ranking A to J with A, C, E, G relevant": ("0.4", f"{len(set('ACEG') & set('ABCDE')) / 5:g}"),
    "binary nDCG@3 of d1 d5 d3 d8 d2": (".773", f"{binary_ndcg((1, 0, 1, 0, 1), 4, 3):.6f}"),
    "binary nDCG@5 of d1 d5 d3 d8 d2": (".741", f"{binary_ndcg((1, 0, 1, 0, 1), 4, 5):.6f}"),
    "mean nDCG@5 of the batch": (".757", f"{batch(5, binary_ndcg):.6f}"),
    "P@10 of the batch": (".6", f"{batch(10, precision):g}"),
    "nDCG@10 of the list 3 1 2 0 0, linear": ("0.9203", f"{dcg([3, 1, 2]) / dcg([3, 2, 1]):.6f}"),
    "nDCG@10 of the list 3 1 2 0 0, exponential": ("0.9203", f"{dcg([7, 1, 3]) / dcg([7, 3, 1]):.6f}"),
    "cost of a day at 100,000 queries": ("$2.5", f"${50 * 800 * 0.025 / 1e6 * 100_000:g}"),
}


def rows():
    lines = [line for line in PAGE.splitlines() if line.startswith("| S")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("what", RIGHT)
def test_a_figure_that_is_called_right_is_what_its_formula_gives(what):
    printed, right = RIGHT[what]
    (row,) = [row for row in rows() if len(row) == 6 and row[1] == what]
    assert row[2] == printed
    assert row[3] == right
    assert printed.lstrip("$0") != right.lstrip("$0")


def test_the_page_lists_no_erratum_that_is_not_recomputed_here():
    assert {row[1] for row in rows() if len(row) == 6} == set(RIGHT)


def test_the_rest_of_the_batch_over_k_is_what_its_formulas_give():
    cuts = (1, 3, 5, 10)
    for name, value in (("precision", precision), ("recall", recall), ("nDCG", binary_ndcg)):
        told = ", ".join(f"{batch(k, value):.6f}" for k in cuts)
        assert f"{name} {told}" in PAGE


def test_figures_that_are_called_right_to_the_printed_digit_are():
    assert f"{FOUND / IDEAL:.3f}" == "0.654"
    assert "0.654" in PAGE
    gains = [f"{100 * (value / 0.65 - 1):.1f}" for value in (0.72, 0.78, 0.87)]
    assert all(f"+{gain}%" in PAGE for gain in gains)
    gain = 0.87 / 0.72 - 1
    assert f"{100 * gain:.4f}%" in PAGE
    assert f"{100 * (gain * 0.01 - 0.001) / 0.001:.2f}%" in PAGE
