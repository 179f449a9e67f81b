"""Curves over k, targets with advice in two languages, where queries fail."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from scipy import stats

import assay
from assay.analysis.diagnose import diagnose, diagnose_scores, findings
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import Settings
from assay.analysis.sweep import sweep
from assay.data.judgments import Judgments
from assay.data.run import Run
from assay.formats.queries import read_queries
from assay.messages import say, tell
from assay.report import diagnosis as report
from assay.report.document import write
from assay.report.tables import width
from assay.wordings import PARTS, WORDINGS

# The batch of four queries of the specification: 10101 with 4 relevant, 10101 with 3, 01101 with 3, 10101 with 4.
PATTERNS = {"q1": ("10101", 4), "q2": ("10101", 3), "q3": ("01101", 3), "q4": ("10101", 4)}


def batch() -> tuple[Judgments, Run]:
    judged, ranked = {}, {}
    for query, (pattern, relevant) in PATTERNS.items():
        ranked[query] = {f"d{i}": float(-i) for i in range(5)}
        found = {f"d{i}": 1 for i, mark in enumerate(pattern) if mark == "1"}
        judged[query] = {**found, **{f"lost{i}": 1 for i in range(relevant - len(found))}}
    return Judgments.from_dict(judged), Run.from_dict(ranked, "batch")


def test_a_sweep_gives_the_worked_example():
    found = sweep(*([batch()[0], [batch()[1]]]), [1, 3, 5, 10], protocol="rag")
    expected = {
        "precision": [0.75, 0.666667, 0.6, 0.3],
        "recall": [0.208333, 0.583333, 0.875, 0.875],
        "ndcg": [0.75, 0.660619, 0.767726, 0.767726],
    }
    for measure, values in expected.items():
        assert [p.estimate for p in found.curve("batch", measure).points] == pytest.approx(values, abs=1e-6)


def test_bands_are_student_intervals():
    judgments, run = batch()
    point = sweep(judgments, [run], [5], protocol="rag").curve("batch", "recall").points[0]
    values = [0.75, 1, 1, 0.75]
    low, high = stats.t.interval(0.95, 3, 0.875, stats.sem(values))
    assert (point.low, point.high) == pytest.approx((low, high), rel=1e-9)


def test_the_sweep_says_which_k_to_choose():
    judgments, run = batch()
    found = sweep(judgments, [run], [1, 3, 4, 5, 10, 20], protocol="rag", recall_target=0.8).choices[0]
    # precision at 3, 4, 5 is 2/3, 1/2, 3/5; recall at 5, 10 and 20 is .875; F1 is highest at 5
    assert (found.f1, found.recall, found.answers, found.survey) == (5, 5, 3, 10)
    none = sweep(judgments, [run], [1, 2], protocol="rag", recall_target=0.9).choices[0]
    assert (none.recall, none.answers, none.survey) == (None, None, None)


@pytest.mark.parametrize(("target", "k"), [(0.875, 5), (0.8751, None)])
def test_the_recall_target_may_be_met_exactly(target, k):
    judgments, run = batch()
    assert sweep(judgments, [run], [1, 5], protocol="rag", recall_target=target).choices[0].recall == k


def test_cutoffs_that_make_no_sense_are_refused():
    judgments, run = batch()
    for k in ([], [0], [-1, 5]):
        with pytest.raises(assay.UsageError, match="whole numbers from 1 on"):
            sweep(judgments, [run], k)
    with pytest.raises(assay.UsageError, match="leave out @k"):
        sweep(judgments, [run], [5], measures=["ndcg@10"])


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
    judgments = Judgments.from_dict({"q": {"a": 1}, "r": {"b": 1}})
    run = Run.from_dict({"q": {"x": 1.0}, "r": {"y": 1.0}}, "bad")
    found = diagnose(judgments, run, Settings.of(judgments, None, "rag"))
    english = write(report.diagnosis(found), "markdown", "en")
    chinese = write(report.diagnosis(found), "markdown", "zh")
    for measure, (target, advice, advice_zh) in S2.items():
        assert f"| {measure} | 0.0000 | >= {target:g} |  | low | {advice} |" in english
        assert f"| {measure} | 0.0000 | >= {target:g} |  | 偏低 | {advice_zh} |" in chinese


def status(value: float, **target) -> str:
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"], protocol="rerank")
    return {f.target.measure: f.status for f in findings(scores, {"latency_p95": value})}["latency_p95"]


@pytest.mark.parametrize(
    ("value", "expected"), [(299.9, "excellent"), (300, "ok"), (499, "ok"), (500, "low"), (900, "low")]
)
def test_targets_of_small_quantities_are_strict(value, expected):
    assert status(value) == expected


def test_what_was_not_measured_has_no_status_of_success():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"], protocol="rerank")
    found = {f.target.measure: (f.status, f.value) for f in findings(scores)}
    assert found["latency_p95"] == ("unmeasured", None)
    assert found["ndcg@10"] == ("excellent", 1.0)


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
    assert [f.status for f in found.findings] == [f.status for f in findings(scores)]


def test_folded_chunks_show_documents(tmp_path):
    judgments = Judgments.from_dict({"q": {"C": 1}})
    run = Run.from_dict({"q": {"A#1": 5.0, "A#2": 4.0, "B#1": 3.0, "C#1": 2.0}}, "chunks")
    found = diagnose(judgments, run, Settings.of(judgments, None, "chunking"), chunks="{doc}#{chunk}")
    assert [doc.doc_id for doc in found.worst[0].above] == ["A", "B"]


# Commands and languages ----------------------------------------------------------------------------------------------


def run_assay(*words):
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def demo():
    from assay.demo import collection

    return collection()


def test_sweep_prints_tables_and_advice(demo):
    done = run_assay("sweep", demo.judgments, *demo.runs, "--k", "1-3,10")
    assert done.returncode == 0, done.stderr
    assert "k = 1" in done.stdout and "k = 2" in done.stdout and "k = 10" in done.stdout
    assert "bm25: F1 is highest at k = 1." in done.stdout
    csv = run_assay("sweep", demo.judgments, *demo.runs, "--k", "1,3", "--format", "csv").stdout.splitlines()
    assert csv[0] == "system,measure,k,mean,low,high,reason"
    assert len(csv) == 1 + 3 * 4 * 2
    data = json.loads(run_assay("sweep", demo.judgments, demo.runs[0], "--k", "1,3", "--format", "json").stdout)
    assert data["sweep"]["choices"][0]["system"] == "keywords"
    wrong = run_assay("sweep", demo.judgments, demo.runs[0], "--k", "1,x")
    assert (wrong.returncode, "expected whole numbers" in wrong.stderr) == (2, True)


def test_columns_of_a_chinese_diagnosis_are_aligned(demo):
    done = run_assay("diagnose", demo.judgments, demo.runs[1], "--queries", demo.queries_file, "--lang", "zh")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "bm25：50 个查询，协议 rag"
    for number, line in enumerate(lines):
        if re.fullmatch(r"-+(  -+)*", line):  # the rule under a header: every cell ends or begins at its column
            starts = [match.start() for match in re.finditer(r"-+", line)]
            ends = [match.end() for match in re.finditer(r"-+", line)]
            for row in (lines[number - 1], *lines[number + 1 : number + 4]):
                if row:
                    edges = {width(row[:i]) for i in range(len(row) + 1)}
                    assert all(edge in edges or edge > width(row) for edge in (*starts, *ends)), row


def test_diagnose_reads_result_files_and_measured_values(demo, tmp_path):
    run_assay("evaluate", demo.judgments, demo.runs[1], "--protocol", "rerank", "-o", tmp_path / "r.json")
    done = run_assay("diagnose", tmp_path / "r.json", "--measured", "latency_p95=420")
    assert re.search(r"latency_p95 +420 +< 500 ms +< 300 ms +OK", done.stdout)
    assert re.search(r"cost_per_million_tokens +< \$0.05 +< \$0.03 +not measured", done.stdout)
    for words in (["--k", "3"], ["--ties", "given"], ["--measured", "latency"]):
        assert run_assay("diagnose", tmp_path / "r.json", *words).returncode == 2


def test_evaluate_speaks_chinese(demo):
    done = run_assay("evaluate", demo.judgments, demo.runs[1], "-m", "ndcg@10", "--lang", "zh")
    assert "50 个已标注查询，协议 trec" in done.stdout
    assert done.stdout.startswith("系统")


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", text))


def test_no_two_parts_use_one_key():
    assert len(WORDINGS) == sum(map(len, PARTS))


@pytest.mark.parametrize("key", list(WORDINGS))
def test_both_languages_say_the_same_values(key):
    english, chinese = WORDINGS[key]
    assert fields(english) - fields(chinese) <= {"en", "n"}  # a number may only choose a word in English
    assert fields(chinese) - fields(english) <= {"zh"}
    names = key == "text.either" or key.startswith("method.")  # of methods, the same everywhere
    if not names and english and re.sub(r"\{[^}]*\}|[^A-Za-z]", "", english) and english.islower():
        assert chinese != english or len(english) < 4


def test_numbers_choose_words_and_lists_are_joined():
    one = say("doubt.missing", n=1, fate=say("fate.zero"), some="q1")
    assert one == "1 judged query is missing and counts as 0: q1"
    assert tell(one, "zh") == "1 个已标注查询在结果中缺失，按 0 计：q1"
    assert (
        say("doubt.missing", n=2, fate=say("fate.skip"), some="q1")
        == "2 judged queries are missing and count nowhere: q1"
    )
    like = say("compare.best_like", measure="m", system="s", value=0.5, others=["a", "b"])
    assert "it is not shown to differ from a, b." in like
    assert "与 a、b 未显示出差异" in tell(like, "zh")
    assert tell("plain", "zh") == "plain"
