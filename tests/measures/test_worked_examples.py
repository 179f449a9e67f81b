"""The specification's table of worked examples; expected values come from the table or from oracles, never from assay."""

from __future__ import annotations

import math

import pytest

import assay
import oracles


def ranked(text: str) -> dict[str, float]:
    docs = text.split()
    return {doc: float(len(docs) - i) for i, doc in enumerate(docs)}


def value(grades: dict[str, float], ranking: str | dict[str, float], measure: str, **options: object) -> float:
    scores = ranked(ranking) if isinstance(ranking, str) else ranking
    return assay.evaluate({"q": grades}, {"q": scores}, [measure], **options)[str(assay.parse(measure))]


def ones(text: str) -> dict[str, float]:
    return dict.fromkeys(text.split(), 1.0)


def test_exponential_ndcg_of_graded_list():
    grades = {"A": 8, "B": 7, "C": 6, "D": 5}
    order = "C E A F B G H I J D"
    assert value(grades, order, "dcg(gain='exp')@10") == pytest.approx(248.5913, abs=5e-5)
    assert oracles.dcg([2.0**g - 1 for g in (8, 7, 6, 5)]) == pytest.approx(379.9791, abs=5e-5)
    assert value(grades, order, "ndcg(gain='exp')@10") == pytest.approx(0.654224, abs=5e-7)


def test_precision_at_5_and_10():
    assert value(ones("A C E G"), "A B C D E F G H I J", "P@5") == 0.6
    assert value(ones("A C E G"), "A B C D E F G H I J", "P@10") == 0.4


def test_recall_at_10():
    assert value(ones("A B C D E"), "A C E F G H I J K L", "recall@10") == 0.6


def test_average_precision():
    assert value(ones("A B C"), "A X B Y C Z", "map") == pytest.approx(0.755556, abs=5e-7)


def test_mean_reciprocal_rank():
    judgments = {q: {"r": 1} for q in "abc"}
    run = {"a": ranked("x y r"), "b": ranked("r x"), "c": ranked("x y")}
    assert assay.evaluate(judgments, run, ["mrr"])["reciprocal_rank"] == pytest.approx(0.444444, abs=5e-7)


def test_graded_average_precision():
    grades = {"a": 2, "b": 1, "c": 0, "d": 2}
    got = value(grades, "b c a x", "average_precision(gain='graded', max_grade=2)@10")
    assert got == pytest.approx((1 / 1 * 0.5 + 2 / 3 * 1.0) / 3, abs=1e-15)


@pytest.mark.parametrize(("order", "expected"), [((0, 1, 2), 0.4583), ((0, 2, 1), 0.4167)])
def test_graded_average_precision_can_fall_when_a_better_document_moves_up(order, expected):
    grades = {f"d{i}": float(grade) for i, grade in enumerate(order)}
    got = value(grades, " ".join(grades), "average_precision(gain='graded', max_grade=2)")
    assert got == pytest.approx(expected, abs=5e-5)


def test_binary_single_query():
    grades, order = ones("d1 d2 d3 d4"), "d1 d5 d3 d8 d2"
    expected = {
        "P@1": 1,
        "P@3": 0.666667,
        "P@5": 0.6,
        "R@1": 0.25,
        "R@3": 0.5,
        "R@5": 0.75,
        "ndcg(gain='binary')@1": 1,
        "ndcg(gain='binary')@3": 0.703918,
        "ndcg(gain='binary')@5": 0.736590,
    }
    for measure, number in expected.items():
        assert value(grades, order, measure) == pytest.approx(number, abs=5e-7), measure


@pytest.fixture(scope="module")
def batch():
    patterns = [("10101", 4), ("10101", 3), ("01101", 3), ("10101", 4)]
    judgments, run = {}, {}
    for i, (pattern, number) in enumerate(patterns):
        docs = [f"{'r' if bit == '1' else 'x'}{j}" for j, bit in enumerate(pattern)]
        good = [doc for doc in docs if doc.startswith("r")]
        judgments[f"q{i}"] = ones(" ".join(good + [f"m{j}" for j in range(number - len(good))]))
        run[f"q{i}"] = ranked(" ".join(docs))
    return judgments, run


def test_batch_of_four_queries_at_5(batch):
    expected = {
        "precision@5": [0.6, 0.6, 0.6, 0.6],
        "recall@5": [0.75, 1, 1, 0.75],
        "reciprocal_rank": [1, 1, 0.5, 1],
        "ndcg@5": [0.736590, 0.885460, 0.712263, 0.736590],
        "f1@5": [0.666667, 0.75, 0.75, 0.666667],
        "hit_rate@5": [1, 1, 1, 1],
    }
    scores = assay.evaluate(*batch, protocol="rag")
    for label, numbers in expected.items():
        assert scores.column(label) == pytest.approx(numbers, abs=5e-7), label
    assert scores["ndcg@5"] == pytest.approx(0.767726, abs=5e-7)


def test_the_same_batch_over_k(batch):
    scores = assay.evaluate(*batch, protocol="rag")
    expected = {
        "precision": [0.75, 0.666667, 0.6, 0.3],
        "recall": [0.208333, 0.583333, 0.875, 0.875],
        "ndcg": [0.75, 0.660619, 0.767726, 0.767726],
    }
    for name, numbers in expected.items():
        assert [scores[f"{name}@{k}"] for k in (1, 3, 5, 10)] == pytest.approx(numbers, abs=5e-7)


@pytest.mark.parametrize(("gain", "expected"), [("linear", 0.972504), ("exp", 0.972121)])
def test_relevance_list(gain, expected, tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[3, 1, 2, 0, 0]")
    from assay.formats.reading import read_records

    records = read_records(path)
    scores = assay.evaluate(records.judgments, records.runs[0], [f"ndcg(gain='{gain}')@10"])
    assert next(iter(scores.mean().values())) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("grades", "before", "after", "expected"),
    [
        ([3, 1, 2, 0, 0], [0.8, 0.6, 0.5, 0.4, 0.3], [0.95, 0.75, 0.85, 0.12, 0.08], (0.972504, 1.0)),
        ([2, 3, 1, 0, 0], [0.7, 0.9, 0.6, 0.4, 0.2], [0.88, 0.96, 0.78, 0.15, 0.10], (1.0, 1.0)),
    ],
)
def test_parallel_grades_and_scores_before_and_after_reranking(grades, before, after, expected, tmp_path):
    import json

    path = tmp_path / "rerank.jsonl"
    path.write_text(json.dumps({"query_id": "q", "grades": grades, "scores_before": before, "scores_after": after}))
    from assay.formats.reading import read_records

    records = read_records(path)
    found = {run.name: assay.evaluate(records.judgments, run, ["ndcg@10"])["ndcg@10"] for run in records.runs}
    assert found["before"] == pytest.approx(expected[0], abs=5e-7)
    assert found["after"] == pytest.approx(expected[1], abs=5e-7)
    assert found["after"] / found["before"] - 1 == pytest.approx(expected[1] / expected[0] - 1, abs=5e-6)


def from_lists(lists: list[str], tmp_path):
    import json

    path = tmp_path / "lists.json"
    path.write_text(json.dumps([[int(bit) for bit in bits] for bits in lists]))
    from assay.formats.reading import read_records

    records = read_records(path)
    return records.judgments, records.runs[0]


def test_mrr_of_relevance_lists(tmp_path):
    judgments, run = from_lists(["00100", "10000", "01000"], tmp_path)
    assert assay.evaluate(judgments, run, ["mrr"])["reciprocal_rank"] == pytest.approx(0.611111, abs=5e-7)


def test_map_of_relevance_lists(tmp_path):
    judgments, run = from_lists(["10101", "01100"], tmp_path)
    scores = assay.evaluate(judgments, run, ["map"])
    assert scores.column("average_precision") == pytest.approx([0.755556, 0.583333], abs=5e-7)
    assert scores["average_precision"] == pytest.approx(0.669444, abs=5e-7)


@pytest.mark.parametrize(("fold", "precision", "recall"), [("after", 1 / 2, 1 / 2), ("before", 2 / 3, 1.0)])
def test_chunks_folded_to_documents(fold, precision, recall):
    run = {"q": ranked("A#1 A#2 B#1 C#1 A#3")}
    options = {"fold": fold, "chunks": "{doc}#{chunk}", "protocol": "chunking"}
    scores = assay.evaluate({"q": ones("A C")}, run, ["precision@3", "recall@3", "reciprocal_rank"], **options)
    assert scores["precision@3"] == pytest.approx(precision)
    assert scores["recall@3"] == pytest.approx(recall)
    assert scores["reciprocal_rank"] == 1.0


GRADES = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0, "e": 1.0}
SCORES = {"c": 0.9, "a": 0.8, "x": 0.7, "b": 0.6, "d": 0.5}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("ndcg@3", 0.6075),
        ("ndcg(ideal='full')@3", 0.5571),
        ("ndcg(gain='exp')@3", 0.5767),
        ("ndcg(gain='exp', ideal='full')@3", 0.5514),
        ("ndcg(gain='binary')@3", 0.7654),
        ("average_precision@3", 0.5),
        ("average_precision(over='min_k')@3", 0.6667),
        ("average_precision(over='found')@3", 1.0),
        ("precision@10", 0.30),
        ("precision(over='retrieved')@10", 0.60),
        ("recall@3", 0.50),
        ("recall(capped=true)@3", 0.6667),
        ("err(max_grade=3)@3", 0.5078),
        ("err(max_grade=4)@3", 0.2676),
        ("rbp(gain='raw')", 0.8848),
        ("rbp", 0.4624),
        ("rbp(gain='topic')", 0.2949),
    ],
)
def test_one_input_many_answers(measure, expected):
    assert value(GRADES, SCORES, measure) == pytest.approx(expected, abs=5e-5)


def test_one_input_to_all_digits():
    order = sorted(SCORES, key=lambda doc: -SCORES[doc])
    for kind in ("linear", "exp", "binary"):
        for full in (False, True):
            got = value(GRADES, SCORES, f"ndcg(gain='{kind}', ideal='{'full' if full else 'cut'}')@3")
            assert math.isclose(got, oracles.ndcg(order, GRADES, 3, kind, full=full), rel_tol=1e-14)
    assert math.isclose(value(GRADES, SCORES, "err(max_grade=3)@3"), oracles.err(order, GRADES, 3, 3), rel_tol=1e-14)
