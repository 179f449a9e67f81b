"""What users of other tools type means what it means there, or is refused with the right spelling."""

from __future__ import annotations

import random
import re

import ir_measures
import pytest
import pytrec_eval

import assay
from assay.errors import AssayError, UsageError
from assay.messages import tell

FIVE = {"q": dict.fromkeys(("d1", "d2", "d6", "d11", "d17"), 1)}
TWENTY = {"q": {f"d{i}": 100.0 - i for i in range(1, 21)}}
# Grades a3 b2 c1 d0 e1 (e not retrieved); scores c.9 a.8 x.7 (x unjudged) b.6 d.5.
MANY = {"q": {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}}, {"q": {"c": 0.9, "a": 0.8, "x": 0.7, "b": 0.6, "d": 0.5}}


def value(measure: str, judgments: dict, run: dict) -> float:
    return next(iter(assay.evaluate(judgments, run, [measure]).mean().values()))


def labels(*measures: str) -> list[str]:
    return list(assay.evaluate(*MANY, list(measures)).labels)


def pair(seed: int) -> tuple[dict, dict]:
    """Grades from 0 to 3 and lists without ties, some of them short."""
    rng = random.Random(seed)
    docs = [f"d{i}" for i in range(40)]
    judgments = {f"q{i}": {doc: rng.randint(0, 3) for doc in rng.sample(docs, 20)} | {"d0": 1} for i in range(6)}
    run = {q: {doc: float(s) for doc, s in zip(rng.sample(docs, n), rng.sample(range(999), n), strict=True)}
           for q, n in zip(judgments, (3, 8, 15, 25, 30, 40), strict=True)}  # fmt: skip
    return judgments, run


@pytest.mark.parametrize(("text", "p"), [("rbp.95", 0.95), ("rbp.50", 0.5), ("RBP.8", 0.8), ("rbp.0.95", 0.95)])
def test_what_follows_the_dot_of_rbp_is_its_persistence(text, p):
    hits = (1, 2, 6, 11, 17)
    assert value(text, FIVE, TWENTY) == pytest.approx((1 - p) * sum(p ** (rank - 1) for rank in hits), abs=1e-12)
    assert assay.parse(text) == assay.parse(f"rbp(p={p})")


@pytest.mark.parametrize("text", ["rbp_95", "rbp.0", "rbp.100.5"])
def test_an_unclear_persistence_is_refused(text):
    with pytest.raises(UsageError, match=r"rbp"):
        value(text, FIVE, TWENTY)


THEIRS = [
    "SetF(beta=0.5)", "SetF(beta=2.0)", "SetF(beta=2.0,rel=2)", "SetF", "SetP", "SetP(relative=True)", "SetP(relative=False)", "SetRelP",
    "SetP(rel=2,relative=True)", "SetR", "SetR(rel=2)", "SetAP", "nDCG@10", "P(rel=2)@5", "AP(rel=2)@10", "R@10", "Rprec", "RPrec(rel=2)",
    "Judged", "Judged@10", "NumRet", "NumRet(rel=1)", "NumRet(rel=2)", "NumRelRet", "NumRel", "NumQ", "RR", "MRR", "Success@5", "infAP",
    "Bpref", "nDCG(judged_only=True)@10", "nDCG(gains={0:0,1:1,2:3,3:7})@10",
]  # fmt: skip


@pytest.mark.parametrize("text", THEIRS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_spellings_of_ir_measures_have_its_values(text):
    judgments, run = pair(3)
    measure = ir_measures.parse_measure(text)
    assert value(text, judgments, run) == pytest.approx(
        ir_measures.calc_aggregate([measure], judgments, run)[measure], abs=1e-9
    )


@pytest.mark.parametrize(("beta", "want"), [(0.5, 0.4615), (2.0, 0.5455)])
def test_beta_is_squared_by_ir_measures_and_trec_eval_and_is_beta_everywhere_else(beta, want):
    judgments, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "x": 1.0, "y": 0.5, "z": 0.1}}
    precise, recalled = 2 / 5, 2 / 3
    textbook = (1 + beta**2) * precise * recalled / (beta**2 * precise + recalled)
    assert value(f"SetF(beta={beta})", judgments, run) == pytest.approx(want, abs=5e-5)
    assert value(f"set_F.{beta}", judgments, run) == pytest.approx(want, abs=5e-5)
    for name in (f"set_f1(beta={beta})", f"set_f(beta={beta})", f"f1(beta={beta})@5"):
        assert value(name, judgments, run) == pytest.approx(textbook, abs=1e-12)


@pytest.mark.parametrize("x", ["4", "0.5", "1"])
def test_set_f_with_a_dot_is_that_of_trec_eval(x):
    judgments, run = pair(5)
    found = pytrec_eval.RelevanceEvaluator(judgments, {f"set_F.{x}"}).evaluate(run)
    name = next(key for key in next(iter(found.values())) if key.startswith("set_F"))
    mean = sum(values[name] for values in found.values()) / len(found)
    assert value(f"set_F.{x}", judgments, run) == pytest.approx(mean, abs=1e-12)
    assert value(f"set_F_{x}", judgments, run) == pytest.approx(mean, abs=1e-12)


SAME = {
    "ndcg_at_10": "ndcg@10", "map_at_10": "average_precision@10", "mrr_at_10": "reciprocal_rank@10", "NDCG_at_10": "ndcg@10",
    "precision_at_5": "precision@5", "recall_at_100": "recall@100", "hit_rate_at_3": "hit_rate@3", "accuracy@5": "hit_rate@5",
    "accuracy_at_5": "hit_rate@5", "capped_recall@10": "recall(capped=true)@10", "R_cap@10": "recall(capped=true)@10",
    "nDCG(cutoff=10)": "ndcg@10", "P(rel=2,cutoff=5)": "precision(min_relevance=2)@5", "AP(cutoff=3)": "average_precision@3",
    "R-Prec": "r_precision", "r_prec": "r_precision", "mean_reciprocal_rank": "reciprocal_rank", "MAP": "average_precision",
    "mean_average_precision": "average_precision", "mean_reciprocal_rank@10": "reciprocal_rank@10", "mean_average_precision_at_5":
    "average_precision@5", "AP": "average_precision", "mrr": "reciprocal_rank", "hits@5": "hits@5", "Judged": "judged",
    "NumRet(rel=1)": "num_rel_ret", "NumRet(rel=2)": "num_rel_ret(min_relevance=2)", "SetP(relative=True)": "set_relative_precision",
    "ERR_IA(rel=1)@20": "err_ia@20", "alpha_nDCG(rel=1,alpha=0.4)@5": "alpha_ndcg(alpha=0.4)@5", "ERR(max_rel=4)@20": "err(max_grade=4)@20",
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_a_spelling_with_one_meaning_is_read(text):
    assert str(assay.parse(text)) == SAME[text]


@pytest.mark.parametrize("text", ["ndcg_at_5", "map_at_5", "recall_at_10", "precision_at_5"])
def test_spellings_of_mteb_have_the_values_of_pytrec_eval(text):
    judgments, run = pair(8)
    theirs = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P"}[text.split("_")[0]]
    name = f"{theirs}_{text.rpartition('_')[2]}"
    found = pytrec_eval.RelevanceEvaluator(judgments, {name.replace(f"{theirs}_", f"{theirs}.")}).evaluate(run)
    assert value(text, judgments, run) == pytest.approx(sum(v[name] for v in found.values()) / len(found), abs=1e-12)


REFUSED = {
    "hole@10": ["BEIR", "for no query", "unjudged(over='k')@10"],
    "hole_at_10": ["BEIR", "unjudged(over='k')@10"],
    "Accuracy@5": ["ir_measures", "hit_rate@5"],
    "Compat": ["Compat", "ir_measures", "not available"],
    "INST": ["INST", "ir_measures", "not available"],
    "INSQ(T=2)": ["INSQ", "not available"],
    "P_IA@5": ["P_IA", "not available"],
    "SetP@5": ["SetP takes no cutoff", "precision@5"],
    "set_f1_at_5": ["takes no cutoff", "f1@5"],
    "nDCG(dcg=[1])@5": ["unknown parameter", "'dcg'"],
    "SetR@5": ["SetR takes no cutoff", "recall@5"],
    "Rprec@5": ["Rprec takes no cutoff"],
    "ERR_IA(rel=2)@20": ["ERR_IA", "rel", "every grade above 0"],
    "ERR@20": ["max_grade=4", "ir_measures"],
    "num_ret(rel=1)": ["unknown parameter", "'rel'"],
    "NumQ(rel=1)": ["unknown parameter", "'rel'"],
    "nDCG(cutoff=10)@5": ["two cutoffs"],
    "nDCG(cutoff=x)": ["whole number"],
    "SetF(beta=-1)": ["beta", "0"],
    "P@5,10": ["repeat -m"],
    "relstring.20": ["assay trec_eval"],
    "official.5": ["official"],
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_spelling_that_cannot_be_said_exactly_is_refused_with_the_right_one(text):
    with pytest.raises(UsageError) as caught:
        value(text, *MANY)
    assert all(word in str(caught.value) for word in REFUSED[text]), caught.value
    assert re.search("[\u4e00-\u9fff]", tell(caught.value.message, "zh"))


@pytest.mark.parametrize(
    "text", ["NumRet(rel=1, x=2)", "num_ret(rel=1)", "NumQ(rel=1)", "NumRet(max_rel=1)", "P(gains=1)@5", "RR(rel='x')"]
)
def test_errors_speak_of_the_parameters_that_were_written(text):
    with pytest.raises(UsageError) as caught:
        value(text, *MANY)
    assert not any(name in str(caught.value) for name in ("min_relevance", "max_grade", "'gain'")), caught.value


def test_lists_of_trec_eval_ask_for_several_columns():
    assert labels("P.5,10,20") == ["precision@5", "precision@10", "precision@20"]
    assert labels("ndcg_cut.10,20", "map") == ["ndcg@10", "ndcg@20", "map"]
    assert labels("iprec_at_recall..10,.5") == [
        "interpolated_precision(recall=0.1)",
        "interpolated_precision(recall=0.5)",
    ]
    assert labels("ndcg.1=3,2=9") == ["ndcg.1=3,2=9"]
    assert labels("map", "official")[0] == "map"
    assert "average_precision" not in labels("map", "official")
    with pytest.raises(UsageError, match="asked for twice"):
        labels("map", "AP")


def test_one_text_that_asks_for_several_measures_is_not_one_measure():
    with pytest.raises(UsageError, match="stands for 3 measures"):
        assay.parse("P.5,10,20")
    with pytest.raises(UsageError, match="stands for several measures"):
        assay.parse("official")


@pytest.mark.parametrize("name", ["official", "set", "all_trec"])
def test_the_sets_of_trec_eval_have_its_values(name):
    """As many columns as trec_eval prints numbers, and pytrec_eval's value where it has the measure."""
    judgments, run = pair(11)
    judged = {q: {d: float(g) for d, g in docs.items()} for q, docs in judgments.items()}
    scores = assay.evaluate(judged, run, [name], protocol="trec9")
    ours = {"official": "average_precision", "set": "set_recall", "all_trec": "ndcg"}[name]
    theirs = {"official": "map", "set": "set_recall", "all_trec": "ndcg"}[name]
    found = pytrec_eval.RelevanceEvaluator(judgments, {theirs}).evaluate(run)
    assert scores[ours] == pytest.approx(sum(v[theirs] for v in found.values()) / len(found), abs=1e-12)
    assert len(scores.labels) == {"official": 4 + 5 + 11 + 9, "set": 10}.get(name, len(scores.labels))
    assert len(scores.labels) > 80 or name != "all_trec"


def test_thresholds_of_a_set_are_those_of_the_protocol():
    assert value("official", {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}) == 1.0  # num_q
    scores = assay.evaluate({"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}, ["official"], min_relevance=2)
    assert scores["average_precision"] == 0.5


def test_lists_work_wherever_measures_are_asked_for(call, tmp_path):
    (tmp_path / "q").write_text("".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(4)))
    (tmp_path / "r").write_text("".join(f"q{i} Q0 a 1 2 t\nq{i} Q0 b 2 1 t\n" for i in range(4)))
    (tmp_path / "s").write_text("".join(f"q{i} Q0 b 1 2 t\nq{i} Q0 a 2 1 t\n" for i in range(4)))
    code, out, _ = call("evaluate", "q", "r", "-m", "P.1,2", "--format", "csv")
    assert (code, out.splitlines()[0]) == (0, "system,precision@1,precision@2")
    code, out, error = call("compare", "q", "r", "s", "-m", "P.1,2", "-m", "official", "--format", "csv")
    assert code == 0, error
    assert "precision@2" in out and "average_precision" in out
    code, _, error = call("gate", "q", "r", "-m", "P.1,2", "--not-worse-than", "r")
    assert code in {0, 1}, error


def test_grades_that_never_reach_the_threshold_are_warned_of():
    scores = assay.evaluate({"q": {"a": 0.5}}, {"q": {"a": 1.0}}, ["map", "ndcg"], name="r")
    assert (scores["map"], scores["ndcg"]) == (0.0, 1.0)
    assert any("no grade reaches min_relevance 1" in str(text) for text in scores.warnings), scores.warnings
    strict = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["P(rel=2)@5", "map"])
    assert any("min_relevance 2" in str(text) and "P(rel=2)@5" in str(text) for text in strict.warnings), (
        strict.warnings
    )
    for good in ({"q": {"a": 1.0}}, {"q": {"a": 0.5}, "r": {"a": 1}}):
        assert not any("no grade" in str(text) for text in assay.evaluate(good, {"q": {"a": 1.0}}, ["map"]).warnings)


def test_measures_of_subtopics_refuse_judgments_without_any(tmp_path, shared):
    robust = shared / "robust03"
    for name in ("alpha_nDCG@20", "ERR_IA@20", "StRecall@20", "alpha_DCG@20"):
        with pytest.raises(AssayError, match="needs subtopics, but the judgments have none"):
            assay.evaluate(robust / "qrels.txt.gz", robust / "aplrob03a.run.gz", [name])
    (tmp_path / "q").write_text("q1 0 a 1\nq2 0 a 1\n")
    with pytest.raises(AssayError, match="second column is '0' in every line"):
        assay.evaluate(tmp_path / "q", {"q1": {"a": 1.0}}, ["alpha_nDCG@20"])
    (tmp_path / "q").write_text("q1 1 a 1\nq1 2 b 1\nq2 1 a 1\n")
    assert assay.evaluate(tmp_path / "q", {"q1": {"a": 1.0}, "q2": {"a": 1.0}}, ["StRecall@5"])["StRecall@5"] == 0.75


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("召回率@5", "recall@5"), ("查准率@10", "precision@10"), ("平均精度均值", "average_precision"), ("命中率@3", "hit_rate@3"),
        ("平均倒数排名@10", "reciprocal_rank@10"), ("归一化折损累计增益(gain='exp')@10", "ndcg(gain='exp')@10"), ("忠实度", "faithfulness"),
        ("幻觉率", "hallucination_rate"), ("上下文利用率", "context_utilisation"),
    ],
)  # fmt: skip
def test_chinese_names_of_measures_are_read(text, canonical):
    assert str(assay.parse(text)) == canonical


def test_a_column_asked_for_in_chinese_is_called_so():
    assert labels("召回率@5", "ndcg@10") == ["召回率@5", "ndcg@10"]
