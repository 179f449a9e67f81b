"""Subtopic measures against a plain oracle, ndeval and hand-worked cases; RBO and overlap against theirs."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest

import assay
import oracles
from assay.data.judgments import Judgments
from assay.data.mappings import rank_mapping
from assay.measures.lists import rbo_lists


def judged(rows: list[tuple[str, str, str, int]]) -> Judgments:
    frame = pl.DataFrame(
        [(q, d, float(g), s) for q, s, d, g in rows], schema=["query_id", "doc_id", "grade", "subtopic"], orient="row"
    )
    return Judgments.of(frame, groups="subtopics")


def random_case(rng: random.Random) -> tuple[list[tuple[str, str, str, int]], list[str]]:
    docs = [f"d{i:02d}" for i in range(12)]
    rows = [("q", s, d, rng.choice([0, 1, 1, 2])) for d in docs for s in "1234" if rng.random() < 0.3]
    return [*rows, ("q", "1", "sure", 1)], rng.sample([*docs, "sure"], 8)


def compute(text: str, rows: list, order: list[str]) -> float:
    run = {"q": {doc: float(-i) for i, doc in enumerate(order)}}
    return float(assay.parse(text).compute(rank_mapping(judged(rows), run))[0])


def test_alpha_ndcg_of_a_hand_worked_case():
    rows = [("q", "1", "a", 1), ("q", "2", "a", 1), ("q", "1", "b", 1), ("q", "3", "c", 1)]
    # Ranking b a: b gains 1; a gains .5 for subtopic 1 (seen) and 1 for subtopic 2. Ideal: a (2), then c (1).
    expected = (1 + 1.5 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert compute("alpha_ndcg@2", rows, ["b", "a"]) == pytest.approx(expected)


def test_err_ia_of_a_hand_worked_case():
    rows = [("q", "1", "a", 1), ("q", "2", "b", 1)]
    assert compute("err_ia(norm='none')@2", rows, ["a", "b"]) == pytest.approx((0.5 / 1 + 0.5 / 2) / 2)
    assert compute("err_ia@2", rows, ["a", "b"]) == pytest.approx((0.5 / 1 + 0.5 / 2) / 2 / (0.5 + 0.25 / 2))


def test_subtopic_recall_counts_aspects():
    rows = [("q", "1", "a", 1), ("q", "2", "a", 1), ("q", "3", "b", 1), ("q", "4", "c", 0)]
    assert compute("subtopic_recall@1", rows, ["a", "b"]) == pytest.approx(2 / 3)
    assert compute("subtopic_recall@2", rows, ["x", "b"]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(20))
def test_alpha_ndcg_against_the_oracle(seed):
    rows, order = random_case(random.Random(seed))
    subtopics: dict[str, set[str]] = {}
    for _, topic, doc, grade in rows:
        if grade:
            subtopics.setdefault(doc, set()).add(topic)
    expected = oracles.alpha_ndcg(order, subtopics, 5, 0.5)
    assert compute("alpha_ndcg@5", rows, order) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_ndeval_agrees(seed):
    pyndeval = pytest.importorskip("pyndeval", reason="pyndeval is not installed")
    rows, order = random_case(random.Random(seed))
    names = {"alpha-nDCG": "alpha_ndcg", "alpha-DCG": "alpha_dcg", "ERR-IA": "err_ia", "strec": "subtopic_recall"}
    qrels = [pyndeval.SubtopicQrel(*row) for row in rows]
    run = [pyndeval.ScoredDoc("q", doc, -float(i)) for i, doc in enumerate(order)]
    for theirs, ours in names.items():
        for k in (5, 10):
            expected = pyndeval.ndeval(qrels, run, measures=[f"{theirs}@{k}"])["q"][f"{theirs}@{k}"]
            assert compute(f"{ours}@{k}", rows, order) == pytest.approx(expected, abs=1e-12), theirs


def test_subtopics_are_read_from_the_second_column(tmp_path):
    (tmp_path / "q").write_text("1 1 a 1\n1 2 a 1\n1 2 b 1\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    scores = assay.evaluate(tmp_path / "q", tmp_path / "r", ["subtopic_recall@1", "precision@2"])
    assert scores["subtopic_recall@1"] == 0.5
    assert scores["precision@2"] == 1.0


def plain_rbo(first: list[str], second: list[str], p: float, depth: int = 3000) -> float:
    """Sum the definition with the agreement of equal, fully known lists held constant beyond their end."""
    total = 0.0
    agreement = 0.0
    for d in range(1, depth + 1):
        if d <= len(first):
            agreement = len(set(first[:d]) & set(second[:d])) / d
        total += (1 - p) * p ** (d - 1) * agreement
    return total


@pytest.mark.parametrize("p", [0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_rbo_of_equally_long_lists_is_the_definition(p, seed):
    docs = list("abcdefgh")
    rng = random.Random(seed)
    first, second = rng.sample(docs, 6), rng.sample(docs, 6)
    assert rbo_lists(first, second, p) == pytest.approx(plain_rbo(first, second, p), abs=1e-9)


def test_rbo_at_its_ends():
    assert rbo_lists(list("abc"), list("abc"), 0.9) == pytest.approx(1.0)
    assert rbo_lists(list("abc"), list("xyz"), 0.9) == 0.0
    assert rbo_lists([], [], 0.9) == 1.0
    assert rbo_lists(list("ab"), [], 0.9) == 0.0


def test_rbo_of_a_prefix_is_1():
    assert rbo_lists(list("abc"), list("abcdef"), 0.9) == pytest.approx(1.0)


def test_overlap_at_k_and_rbo_of_runs():
    first = assay.Run.from_lists({"q": ["a", "b", "c"], "p": ["x"]})
    second = assay.Run.from_lists({"q": ["c", "a", "d"], "r": ["y"]})
    assert assay.overlap(first, second, 2) == {"p": 0.0, "q": 0.5, "r": 0.0}
    assert assay.rbo(first, second)["q"] == pytest.approx(plain_rbo(["a", "b", "c"], ["c", "a", "d"], 0.9), abs=1e-9)
    with pytest.raises(assay.UsageError):
        assay.rbo(first, second, p=1.0)
