"""Where queries fail, targets with advice in two languages, slices, worst queries."""

from __future__ import annotations

import json
import re

import pytest
import scipy.stats

import assay
from assay.analysis.diagnose import check_targets, diagnose, diagnose_scores
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.formats.queries import read_queries
from assay.report.document import write
from assay.report.views import diagnosis as report

# Clusters -------------------------------------------------------------------------------------------------------------


def test_intervals_of_targets_and_slices_count_clusters(tmp_path):
    judged = {f"q{i:02}": {"a": 1} for i in range(40)}
    run = {q: {"a": 1.0} if i // 4 % 2 else {"x": 1.0} for i, q in enumerate(judged)}
    table = "query_id,kind\n" + "".join(f"{q},{'odd' if i % 2 else 'even'}\n" for i, q in enumerate(judged))
    (tmp_path / "queries.csv").write_text(table)
    asked = read_queries(str(tmp_path / "queries.csv"))
    clusters = {q: f"c{i // 4}" for i, q in enumerate(judged)}
    alone, together = (diagnose(judged, run, queries=asked, clusters=one) for one in (None, clusters))
    expected = assay.evaluate(judged, run, "recall@5", protocol="rag", clusters=clusters)
    target = next(one for one in together.targets if one.target.measure == "recall@5")
    assert (target.interval.low, target.interval.high) == pytest.approx(wilson(5, 10))
    assert together.slices[0].mean.high == pytest.approx(wilson(5, 10)[1])
    assert alone.slices[0].mean.high < together.slices[0].mean.high
    assert expected.clusters == together.scores[0].clusters


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's interval with t in place of z, from its definition."""
    t, share = scipy.stats.t.ppf(0.975, n - 1), hits / n
    middle, half = share + t * t / (2 * n), t * ((share * (1 - share) + t * t / (4 * n)) / n) ** 0.5
    return (middle - half) / (1 + t * t / n), (middle + half) / (1 + t * t / n)


# Targets -------------------------------------------------------------------------------------------------------------

S2 = {
    "precision@5": (0.60, "rerank, filter irrelevant documents", "添加 ReRank 重排序，过滤无关文档"),
    "recall@5": (0.70, "raise k, or a better embedding model", "增大 K 值，或优化 Embedding 模型"),
    "reciprocal_rank": (
        0.50,
        "fix the order so that the best document comes first",
        "优化排序策略，确保最相关文档排在前面",
    ),
    "ndcg@5": (0.60, "add a reranker or change the similarity", "引入 ReRank 或调整相似度算法"),
    "hit_rate@5": (0.80, "check the embeddings: some queries find nothing", "检查 Embedding 质量，部分查询完全未命中"),
}
S3 = {
    "ndcg@10": (0.85, 0.90, False), "reciprocal_rank": (0.80, 0.90, False), "recall@5": (0.75, 0.85, False),
    "precision@5": (0.80, 0.90, False), "recall@50": (0.85, None, False), "latency_p95": (500, 300, True),
    "cost_per_million_tokens": (0.05, 0.03, True),
}  # fmt: skip


def test_the_rag_protocol_has_the_thresholds_and_texts():
    found = {t.measure: (t.target, t.advice, t.advice_zh) for t in load_protocol("rag").targets}
    assert found == S2


def test_the_rerank_protocol_has_targets_and_excellent_values():
    found = {t.measure: (t.target, t.excellent, t.below) for t in load_protocol("rerank").targets}
    assert found == S3


def test_values_below_a_threshold_get_status_and_advice_in_both_languages():
    judged = {f"q{i}": {f"r{j}": 1 for j in range(5)} for i in range(20)}
    run = {q: {"x1": 9.0, "x2": 8.0, "x3": 7.0, "x4": 6.0, "x5": 5.0, "r0": 1.0} for q in judged}
    found = diagnose(Judgments.from_dict(judged), Run.from_dict(run, "bad"), protocol="rag")
    english = write(report.table(found), "markdown", "en")
    chinese = write(report.table(found), "markdown", "zh")
    for measure, (target, advice, advice_zh) in S2.items():
        row = rf"\| {measure} \| 0\.[01][0-9]* \| \[[^|]*\] \| >= {target:g} \| "
        assert re.search(rf"{row}low \| {advice} \|", english), measure
        assert re.search(rf"{row}偏低 \| {advice_zh} \|", chinese), measure


def targets_of(judged, run):
    found = diagnose(Judgments.from_dict(judged), Run.from_dict(run, "run"), protocol="rag")
    return {check.target.measure: check for check in found.targets}


def test_a_target_above_what_the_judgments_allow_is_not_attainable_and_has_no_advice():
    judged = {f"q{i}": {"r": 1} for i in range(30)}  # precision@5 is at most 1/5
    found = targets_of(judged, {q: {"x": 2.0, "r": 1.0} for q in judged})["precision@5"]
    assert (found.status, found.advice, found.limit) == ("unattainable", "", pytest.approx(0.2))


@pytest.mark.parametrize(("hits", "expected"), [(20, "low"), (30, "unclear"), (35, "unclear"), (40, "ok")])
def test_a_target_within_the_interval_is_not_clear(hits, expected):
    judged = {f"q{i}": {"r": 1} for i in range(40)}
    found = targets_of(judged, {q: {"r" if i < hits else "x": 1.0} for i, q in enumerate(judged)})["hit_rate@5"]
    low = scipy.stats.beta.ppf(0.025, hits, 40 - hits + 1)  # Clopper and Pearson's, far from the intervals used
    high = 1.0 if hits == 40 else scipy.stats.beta.ppf(0.975, hits + 1, 40 - hits)
    assert found.status == expected == ("ok" if low >= 0.8 else "low" if high < 0.8 else "unclear")


def test_no_larger_k_or_reranker_is_advised_where_nothing_relevant_is_retrieved():
    judged = {f"q{i}": {f"r{j}": 1 for j in range(5)} for i in range(20)}
    nothing = targets_of(judged, {q: {f"x{j}": -float(j) for j in range(20)} for q in judged})
    for measure in ("recall@5", "precision@5", "ndcg@5"):
        assert nothing[measure].advice.startswith("improve retrieval"), measure
    below = {q: {f"x{j}": 9.0 - j for j in range(5)} | dict.fromkeys(docs, 1.0) for q, docs in judged.items()}
    assert targets_of(judged, below)["recall@5"].advice.startswith("rerank, or raise k")
    assert targets_of(judged, below)["precision@5"].advice == "rerank, filter irrelevant documents"


def status(value: float, **target) -> str:
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"], protocol="rerank")
    return {f.target.measure: f.status for f in check_targets(scores, {"latency_p95": value})}["latency_p95"]


@pytest.mark.parametrize(
    ("value", "expected"), [(299.9, "excellent"), (300, "ok"), (499, "ok"), (500, "high"), (900, "high")]
)
def test_targets_of_small_quantities_are_strict(value, expected):
    assert status(value) == expected


def test_what_was_not_measured_has_no_status_of_success():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"], protocol="rerank")
    found = {f.target.measure: (f.status, f.value) for f in check_targets(scores)}
    assert found["latency_p95"] == ("unmeasured", None)
    assert found["ndcg@10"] == ("unclear", 1.0), "one query has no interval"
    many = {f"q{i}": {"a": 1} for i in range(60)}
    scores = assay.evaluate(many, {q: {"a": 1.0} for q in many}, ["ndcg@10"], protocol="rerank")
    assert {f.target.measure: f.status for f in check_targets(scores)}["ndcg@10"] == "excellent"


# Stages, slices, worst queries ----------------------------------------------------------------------------------------


@pytest.fixture
def case():
    """One query for each stage, at k = 2."""
    judgments = Judgments.from_dict(
        {
            "absent": {"a": 1}, "lost": {"a": 1}, "deep": {"a": 1}, "part": {"a": 1, "b": 1}, "full": {"a": 1},
            "many": {"a": 1, "b": 1, "c": 1}, "none": {"a": 0},
        }
    )  # fmt: skip
    run = Run.from_dict(
        {
            "lost": {"x": 1.0}, "deep": {"x": 3.0, "y": 2.0, "a": 1.0}, "part": {"a": 2.0, "x": 1.0, "b": 0.0},
            "full": {"a": 1.0}, "many": {"a": 2.0, "b": 1.0}, "none": {"a": 1.0},
        },
        "case",
    )  # fmt: skip
    return judgments, run


def test_every_query_ends_at_its_stage(case):
    found = diagnose(*case, Settings.of(case[0], None, "rag"), k=2)
    assert found.stages == {
        "missing": ("absent",), "not_retrieved": ("lost",), "below_k": ("deep",), "partly": ("part",),
        "complete": ("full", "many"), "no_relevant": ("none",),
    }  # fmt: skip


def test_the_worst_queries_show_what_stands_above_the_first_relevant_document(case):
    found = diagnose(*case, Settings.of(case[0], None, "rag"), k=2)
    worst = {one.query_id: one for one in found.worst}
    assert "none" not in worst
    assert [one.query_id for one in found.worst][:2] == ["absent", "lost"]
    assert [(doc.doc_id, doc.grade) for doc in worst["deep"].above] == [("x", None), ("y", None)]
    assert worst["deep"].first_relevant == 3
    assert worst["lost"].first_relevant is None
    assert [doc.doc_id for doc in worst["lost"].above] == ["x"]
    assert worst["full"].above == ()
    assert worst["part"].relevant == 2


def test_slices_are_means_of_their_queries(case, tmp_path):
    path = tmp_path / "queries.csv"
    path.write_text("qid,query,type,words\nabsent,a,hard,1\nlost,b,hard,2\ndeep,c,easy,3\nfull,d,easy,40\n")
    queries = read_queries(path)
    assert queries.texts()["deep"] == "c"
    found = diagnose(*case, Settings.of(case[0], ["recip_rank"], "rag"), k=2, queries=queries)
    slices = {(s.attribute, s.value): (s.queries, s.mean.estimate, s.failed) for s in found.slices}
    assert slices["type", "hard"] == (2, 0.0, 2)
    assert slices["type", "easy"] == (2, pytest.approx((1 / 3 + 1) / 2), 1)
    assert ("words", "40") in slices
    assert {one.text for one in found.worst if one.query_id == "lost"} == {"b"}


def test_numbers_with_many_values_are_cut_into_three_ranges(tmp_path):
    queries = [f"q{i:02}" for i in range(30)]
    judgments = Judgments.from_dict({q: {"a": 1} for q in queries})
    run = Run.from_dict({q: {"a" if i < 20 else "x": 1.0} for i, q in enumerate(queries)})
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps({"query_id": q, "length": i}) + "\n" for i, q in enumerate(queries)))
    found = diagnose(judgments, run, Settings.of(judgments, ["recip_rank"], "rag"), queries=read_queries(path))
    assert [(s.value, s.queries, s.mean.estimate) for s in found.slices] == [
        ("> 19", 10, 0.0), ("<= 9", 10, 1.0), ("> 9, <= 19", 10, 1.0),
    ]  # fmt: skip


def test_a_result_file_is_diagnosed_without_lists(case, tmp_path):
    scores = assay.evaluate(*case, protocol="rag")
    found = diagnose_scores(scores)
    assert found.stages == {}
    assert {one.query_id for one in found.worst[:2]} == {"absent", "lost"}
    assert [f.status for f in found.targets] == [f.status for f in check_targets(scores)]


def test_folded_chunks_show_documents(tmp_path):
    judgments = Judgments.from_dict({"q": {"C": 1}})
    run = Run.from_dict({"q": {"A#1": 5.0, "A#2": 4.0, "B#1": 3.0, "C#1": 2.0}}, "chunks")
    found = diagnose(judgments, run, Settings.of(judgments, None, "chunking"), chunks="{doc}#{chunk}")
    assert [doc.doc_id for doc in found.worst[0].above] == ["A", "B"]


# From Python ----------------------------------------------------------------------------------------------------------


def test_every_system_of_a_result_file_is_diagnosed(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(20)}
    runs = {"good": {q: {"a": 1.0} for q in judged}, "bad": {q: {"x": 1.0} for q in judged}}
    scores = [assay.evaluate(judged, run, protocol="rag", name=name) for name, run in runs.items()]
    assay.write_result(scores, tmp_path / "r.json")
    found = assay.diagnose_result(tmp_path / "r.json")
    assert [(one.system, any(check.misses_target for check in one.targets)) for one in found] == [
        ("good", True),  # precision@5 of one relevant document
        ("bad", True),
    ]
    assert [check.status for check in found[1].targets] == ["low"] * len(S2)


def test_a_measured_value_without_a_target_is_refused():
    judgments, run = Judgments.from_dict({"q": {"a": 1}}), Run.from_dict({"q": {"a": 1.0}}, "x")
    with pytest.raises(assay.UnknownName, match="latency_p95"):
        assay.diagnose(judgments, run, measured={"latency_p95": 420.0})
