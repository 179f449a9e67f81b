"""A column keeps the name that was asked for, and is found by every spelling of the same definition."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest

import assay
from assay.analysis.diagnose import diagnose_scores
from assay.measures import split_measures

JUDGMENTS = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1, "c": 0}, "q3": {"b": 1}}
RUN = {"q1": {"a": 3.0, "c": 2.0}, "q2": {"b": 2.0, "a": 1.0}, "q3": {"b": 2.0}}
SPELLINGS = {
    "AP": ["map", "MAP", "average_precision", "AP", "ap", "mean_average_precision", "map(rel=1)"],
    "mrr@10": ["RR@10", "mrr_at_10", "reciprocal_rank@10", "recip_rank_10", "MRR@10"],
    "nDCG@10": ["ndcg_cut_10", "ndcg@10", "ndcg(gain='linear')@10", "ndcg_cut.10", "nDCG(cutoff=10)"],
    "rbp.95": ["rbp(p=0.95)", "RBP(p=0.95)"],
    "SetF(beta=0.5)": ["set_F.0.5", "SetF(beta=0.5)"],
}


def evaluate(*measures, **more):
    return assay.evaluate(JUDGMENTS, RUN, list(measures), **more)


def test_a_column_is_called_what_was_asked_for():
    assert evaluate("AP", "nDCG@10", "SetF(beta=0.5)", " P @ 5 ").labels == ("AP", "nDCG@10", "SetF(beta=0.5)", "P @ 5")
    assert evaluate(assay.ndcg(gain="exp") @ 10, ir_measures.P(rel=2) @ 5).labels == (
        "ndcg(gain='exp')@10",
        "P(rel=2)@5",
    )


def test_what_asks_for_several_columns_has_canonical_names():
    assert evaluate("P.5,10", "map").labels == ("precision@5", "precision@10", "map")
    assert evaluate("mrr", "official").labels[:2] == ("mrr", "num_q")
    assert "reciprocal_rank" not in evaluate("mrr", "official").labels


def test_a_protocols_own_labels_stay_what_they_are():
    scores = assay.evaluate(JUDGMENTS, RUN, protocol="graded-012")
    assert scores.labels == ("ndcg@10", "map@10", "p@1")
    assert evaluate("map@10", protocol="graded-012").definitions == {"map@10": scores.definitions["map@10"]}


@pytest.mark.parametrize("label", SPELLINGS)
def test_a_column_is_found_by_every_spelling_of_its_definition(label, tmp_path):
    scores = evaluate(label)
    assay.write_result(scores, tmp_path / "r.json")
    (read,) = assay.read_result(tmp_path / "r.json")
    for found in (scores, read):
        for text in SPELLINGS[label]:
            assert found[text] == found[label]
            assert found.column(text).tolist() == found.column(label).tolist()
            assert found.about(text).label == found.find(text) == label
    assert scores[assay.parse(label)] == scores[label]


def test_a_spelling_of_another_definition_finds_nothing():
    for asked, wrong in (
        ("ndcg(gain='exp')@10", "ndcg@10"), ("P(rel=2)@5", "P@5"), ("map", "map@10"), ("rbp.95", "rbp"), ("P@5", "nothing"),
    ):  # fmt: skip
        scores = evaluate(asked)
        assert scores.find(wrong) is None
        with pytest.raises(assay.UnknownName, match="run has"):
            scores[wrong]


def test_spellings_mean_what_they_mean_under_the_rules_of_the_scores():
    scores = evaluate("P@5", min_relevance=2)
    assert scores["precision(min_relevance=2)@5"] == scores["P_5"] == scores["P@5"]
    assert scores.find("P(rel=1)@5") is None
    graded = evaluate("nDCG@10", protocol="graded-012")
    assert graded["ndcg(gain='exp')@10"] == graded["ndcg_cut_10"] == graded["nDCG@10"]
    assert graded.find("ndcg(gain='linear')@10") is None


def test_one_definition_under_two_names_is_refused():
    with pytest.raises(assay.UsageError, match="measure map is asked for twice, also as AP"):
        evaluate("AP", "map")
    with pytest.raises(assay.UsageError, match=r"measure map is asked for twice$"):
        evaluate("map", "map")


def test_comparisons_and_gates_find_measures_by_any_spelling():
    one, other = evaluate("AP", "mrr", name="one"), evaluate("map", "RR", name="other")
    assert assay.compare([one, other]).measures == ("AP", "mrr")
    assert assay.compare([other, one], "average_precision").measures == ("map",)
    assert assay.compare([one, other], ["recip_rank"]).contrast("other", "MRR").measure == "mrr"
    found = assay.gate(one, [assay.Threshold("map", at_least=0.1), assay.NotWorse("recip_rank", other)])
    assert [check.outcome for check in found.checks] == ["passed", "inconclusive"]  # too few queries for a baseline


def test_targets_of_a_protocol_are_held_against_columns_of_other_names():
    scores = evaluate("mrr", "P@5", protocol="rag")
    told = {check.target.measure: check.value for check in diagnose_scores(scores).targets}
    assert (told["reciprocal_rank"], told["precision@5"]) == (scores["mrr"], scores["P@5"])
    assert told["recall@5"] is None


def test_the_primary_measure_of_a_protocol_leads_under_another_name():
    assert evaluate("mrr", "nDCG@5", protocol="rag").protocol.primary == "nDCG@5"
    assert evaluate("mrr", "ndcg@10", protocol="rag").protocol.primary is None


def test_files_with_canonical_names_are_compared_with_new_ones(tmp_path, call):
    for name, measures in (("old", ["average_precision", "ndcg@10"]), ("new", ["map", "nDCG@10"])):
        assay.write_result(evaluate(*measures, name=name), tmp_path / f"{name}.json")
    code, out, error = call("compare", "old.json", "new.json", "--brief", "--format", "csv")
    assert code == 0, error
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["average_precision", "ndcg@10"]
    code, out, error = call("compare", "new.json", "old.json", "-m", "AP", "--brief", "--format", "csv")
    assert code == 0 and [line.split(",")[0] for line in out.splitlines()[1:]] == ["map"], error


def test_the_command_line_heads_columns_as_they_were_asked_for(tmp_path, call):
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "x.run").write_text("q Q0 a 1 1 t\n")
    code, out, error = call("evaluate", "qrels", "x.run", "-m", "map, nDCG@10", "-m", "P.1,5", "--format", "json")
    assert code == 0, error
    assert list(json.loads(out)["systems"][0]["metrics"]) == ["map", "nDCG@10", "precision@1", "precision@5"]
    assert json.loads(out)["systems"][0]["definitions"]["map"] == "average_precision"
    code, out, _ = call("sweep", "qrels", "x.run", "-m", "P,map", "--k", "1,2", "--format", "csv")
    assert code == 0 and {line.split(",")[1] for line in out.splitlines()[1:]} == {"P", "map", "recall", "f1"}


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("map", ["map"]),
        ("ndcg@10, map", ["ndcg@10", "map"]),
        ("P.5,10,20,map", ["P.5,10,20", "map"]),
        ("rbp(p=0.8, min_relevance=2)@10,ndcg(gain={1: 2, 2: 3})", ["rbp(p=0.8, min_relevance=2)@10", "ndcg(gain={1: 2, 2: 3})"]),
        ("utility.2,-1,0,0 , 11pt_avg,", ["utility.2,-1,0,0", "11pt_avg"]),
        (["ndcg.1=3,2=9", "map,rr"], ["ndcg.1=3,2=9", "map", "rr"]),
        (("map", assay.parse("P@5")), ["map", "precision@5"]),
        (ir_measures.nDCG @ 10, ["nDCG@10"]),
        (iter([ir_measures.AP, "mrr"]), ["AP", "mrr"]),
    ],
)  # fmt: skip
def test_lists_of_measures_are_taken_apart_at_commas(given, parts):
    assert list(map(str, split_measures(given))) == parts


@pytest.mark.parametrize("given", [7, [7], [None], ["ndcg@10,20"], "", [], ","])
def test_what_is_no_list_of_measures_is_refused(given):
    with pytest.raises(assay.UsageError):
        assay.evaluate(JUDGMENTS, RUN, given)


def test_scores_that_were_read_alone_know_all_spellings(tmp_path):
    place = tmp_path / "r.json"
    assay.write_result(evaluate("AP"), place)
    code = f"import assay; print(assay.read_result({str(place)!r})[0]['map'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == evaluate("AP")["AP"]


def test_files_of_earlier_versions_know_all_spellings():
    archive = Path(__file__).parents[1] / "archive" / "schema-1"
    (scores, *_) = assay.read_result(archive / "evaluate.json")
    for label in scores.labels:
        assert scores.find(scores.definitions[label]) in scores.labels
    assert scores["ndcg_cut_10"] == scores["ndcg@10"] and scores["P_1"] == scores["p@1"]
