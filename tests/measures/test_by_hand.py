"""Measures that pytrec_eval does not have: hand-worked cases and other libraries."""

from __future__ import annotations

import random

import numpy as np
import pytest

import assay
import oracles
from assay.data.joining import rank_run
from assay.data.judgments import Judgments
from assay.data.mappings import rank_mapping
from assay.data.run import Run
from assay.data.texts import Texts
from assay.errors import InputError, UsageError


def value(measure: str, grades: dict[str, float], order: str) -> float:
    run = {"q": {doc: float(-i) for i, doc in enumerate(order.split())}}
    return float(assay.parse(measure).compute(rank_mapping(Judgments.from_dict({"q": grades}), run))[0])


def test_err_worked_by_hand():
    # stop: a (grade 2 of 2) 3/4, b (grade 1) 1/4. Ranking x b a.
    assert value("err(max_grade=2)", {"a": 2, "b": 1}, "x b a") == pytest.approx(1 / 2 * 1 / 4 + 1 / 3 * 3 / 4 * 3 / 4)


def test_rbp_worked_by_hand():
    assert value("rbp(p=0.5)", {"a": 2, "b": 1}, "a x b") == pytest.approx(0.5 * (1 + 0.25))
    assert value("rbp(p=0.5, gain='graded', max_grade=2)", {"a": 2, "b": 1}, "a x b") == pytest.approx(
        0.5 * (1 + 0.5 * 0.25)
    )


def test_rbp_residual_worked_by_hand():
    # Ranks 1 and 3 judged; rank 2 and everything below rank 3 could still be relevant.
    assert value("rbp_residual(p=0.5)", {"a": 1, "b": 0}, "a x b") == pytest.approx(0.25 + 0.125)
    assert value("rbp_residual(p=0.5, tail='trec')", {"a": 1, "b": 0}, "a b") == 0.0


def test_set_measures_worked_by_hand():
    grades = {"a": 1, "b": 1, "c": 1}
    assert value("set_f1(beta=2)", grades, "a b x y") == pytest.approx(5 * 0.5 * (2 / 3) / (4 * 0.5 + 2 / 3))
    assert value("utility(a=2, b=-1, c=-3, d=1, collection_size=10)", grades, "a b x y") == 2 * 2 - 2 - 3 + 5


def random_lists(seed: int) -> tuple[dict, dict]:
    rng = random.Random(seed)
    docs = [f"d{i}" for i in range(30)]
    judgments = {str(i): {d: rng.randint(0, 4) for d in rng.sample(docs, 15)} for i in range(1, 9)}
    run = {q: dict(zip(rng.sample(docs, 20), rng.sample(range(1000), 20), strict=True)) for q in judgments}
    return judgments, {q: {d: float(s) for d, s in docs.items()} for q, docs in run.items()}


@pytest.mark.parametrize("k", [5, 20])
def test_err_against_the_oracle(k):
    judgments, run = random_lists(k)
    scores = assay.evaluate(judgments, run, [f"err(max_grade=4)@{k}"])
    for query, got in zip(scores.query_ids, scores.values[:, 0], strict=True):
        order = sorted(run[query], key=lambda doc: -run[query][doc])
        assert got == pytest.approx(oracles.err(order, judgments[query], k, 4), abs=1e-12)


@pytest.mark.parametrize(
    ("theirs", "ours", "digits"),
    [
        ("ERR@20", "err(max_grade=4)@20", 5),
        ("RBP(p=0.8,rel=1)", "rbp(p=0.8)", 9),
        ("RBP(p=0.5,rel=2)", "rbp(p=0.5, min_relevance=2)", 9),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ir_measures_agrees(theirs, ours, digits):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    judgments, run = random_lists(7)
    try:
        measure = ir_measures.parse_measure(theirs)
        found = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], judgments, run)}
    except (RuntimeError, ValueError, FileNotFoundError) as error:
        pytest.skip(f"no provider: {error}")
    scores = assay.evaluate(judgments, run, [ours])
    got = dict(zip(scores.query_ids, scores.values[:, 0], strict=True))
    assert got == pytest.approx(found, abs=10**-digits)


@pytest.mark.parametrize("tied", [False, True])
def test_scikit_learn_agrees_on_ndcg_also_with_ties(tied):
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(5)
    for _ in range(20):
        grades = rng.integers(0, 4, 8)
        scores = rng.integers(0, 3, 8).astype(float) if tied else rng.permutation(8).astype(float)
        if not grades.any():
            continue
        judged = {"q": {f"d{i}": float(g) for i, g in enumerate(grades)}}
        run = {"q": {f"d{i}": float(s) for i, s in enumerate(scores)}}
        for k in (3, 8):
            got = assay.evaluate(judged, run, [f"ndcg@{k}"], ties="expected")[f"ndcg@{k}"]
            assert got == pytest.approx(ndcg_score([grades], [scores], k=k), abs=1e-12)


@pytest.mark.parametrize("bits", [6, 1, 0])
def test_pairs_with_like_hashes_are_told_apart_by_their_text(bits, monkeypatch):
    judgments, run = random_lists(3)
    expected = assay.evaluate(judgments, run, ["ndcg@10", "map", "bpref"]).values
    plain, mask = Texts.hashes, np.uint64((1 << bits) - 1)
    monkeypatch.setattr(Texts, "hashes", lambda texts: plain(texts) & mask)
    ranking = rank_run(Judgments.from_dict(judgments), Run.from_dict(run))
    for i, name in enumerate(["ndcg@10", "map", "bpref"]):
        np.testing.assert_allclose(assay.parse(name).compute(ranking), expected[:, i], atol=1e-15)


def test_a_judged_document_whose_hash_a_listed_one_shares_is_not_found(monkeypatch):
    def short(texts):
        return np.array([int(text[1:]) % 10 for text in texts.to_list()], np.uint64) << np.uint64(5)

    monkeypatch.setattr(Texts, "hashes", short)
    judgments, run = {"q": {"d11": 1, "d2": 1}}, {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    ranking = rank_run(Judgments.from_dict(judgments), Run.from_dict(run))
    assert ranking.rank.tolist() == [2]


def test_a_table_that_pays_less_for_higher_grades_has_its_own_ideal():
    grades = {"a": 1, "b": 2, "c": 3, "d": 0}
    worth = {1: 3.0, 2: 1.0, 3: 2.0, 0: 0.0}
    listed = ["b", "d", "c", "a"]
    terms = [worth[grades[doc]] / np.log2(rank + 2) for rank, doc in enumerate(listed)]
    ideal = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(sorted(worth.values(), reverse=True)))
    found = assay.evaluate(
        {"q": grades}, {"q": {doc: 9.0 - i for i, doc in enumerate(listed)}}, ["ndcg(gain={1: 3, 2: 1, 3: 2})@4"]
    )
    assert next(iter(found.mean().values())) == pytest.approx(sum(terms) / ideal, abs=1e-15)


@pytest.mark.parametrize("kind", ["frame", "dict"])
def test_judgments_without_any_document_are_no_crash(kind):
    run = {"1": {"a": 1.0}}
    scores = assay.evaluate({"1": {}}, Run.from_dict(run) if kind == "frame" else run, ["map"])
    assert scores["average_precision"] == 0.0 and scores.counts["map"].undefined == 1


def test_a_list_without_documents_is_asked_but_empty():
    run = assay.Run.from_lists({"a": [], "b": ["x"]})
    scores = assay.evaluate({"a": {"x": 1}, "b": {"x": 1}}, run, ["mrr", "coverage@1"])
    assert scores["reciprocal_rank"] == 0.5
    assert scores["coverage@1"] == 0.5
    assert scores.counts["mrr"].missing == 0


@pytest.mark.parametrize(
    "options",
    [
        {"measures": ["err(max_grade=1)"]},
        {"measures": ["err"], "max_grade": 1},
        {"protocol": "llm-graded", "min_relevance": 1},
    ],
)
def test_grades_above_the_scale_are_refused(options):
    grade = 11 if "protocol" in options else 2
    with pytest.raises(InputError, match="above the scale"):
        assay.evaluate({"q": {"a": grade}}, {"q": {"a": 1.0}}, **options)


def test_err_of_long_scales():
    assert value("err(max_grade=100)", {"a": 100, "b": 50}, "a b") == pytest.approx(1.0)


def test_exponential_gain_of_absurd_grades_is_refused():
    with pytest.raises(UsageError, match="too large"):
        value("ndcg(gain='exp')", {"a": 1100}, "a")


def test_f1_is_the_harmonic_mean_also_for_gold_groups():
    records = [{"query": "q", "retrieved": ["x", "b"], "relevant": [["a", "b"], ["c"]]}]
    scores = assay.evaluate(records, measures=["precision@2", "recall@2", "f1@2"])
    assert list(scores.mean().values()) == [0.5, 0.5, 0.5]
