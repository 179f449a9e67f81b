"""Rules of evaluation: missing, undefined, unjudged, ties, weights, overrides, protocols, results."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.analysis.protocols import builtin_names, load_protocol
from assay.analysis.settings import Settings
from assay.data.judgments import Judgments
from assay.errors import InputError, UsageError
from assay.formats.reading import read_judgments, read_run

JUDGMENTS = {"a": {"x": 1}, "b": {"x": 1}, "none": {"x": 0}}
RUN = {"a": {"x": 2.0, "y": 1.0}, "none": {"x": 1.0}, "extra": {"x": 1.0}}


@pytest.mark.parametrize(
    ("missing", "undefined", "mean", "queries"),
    [("zero", "zero", 1 / 3, 3), ("skip", "zero", 1 / 2, 2), ("zero", "skip", 1 / 2, 2), ("skip", "skip", 1.0, 1)],
)
def test_missing_and_undefined_queries(missing, undefined, mean, queries):
    scores = assay.evaluate(JUDGMENTS, RUN, ["mrr"], missing=missing, undefined=undefined)
    assert scores["reciprocal_rank"] == pytest.approx(mean)
    counts = scores.counts["mrr"]
    assert (counts.queries, counts.missing, counts.undefined, counts.unjudged) == (queries, 1, 1, 1)


def test_every_cell_has_a_status():
    frame = assay.evaluate(JUDGMENTS, RUN, ["mrr"]).to_polars()
    assert dict(zip(frame["query_id"], frame["status"], strict=True)) == {
        "a": "scored",
        "b": "missing",
        "none": "undefined",
        "extra": "unjudged",
    }


def test_coverage_averages_over_the_runs_queries():
    scores = assay.evaluate(JUDGMENTS, RUN, ["coverage@5", "hit_rate@5"])
    assert scores["coverage@5"] == pytest.approx(1 / 3)  # a hits; none and extra do not; b was not asked
    assert scores["hit_rate@5"] == pytest.approx(1 / 3)  # a hits; b is missing; none has nothing to find
    assert scores.counts["coverage@5"].missing == 1


def test_negative_grades_are_pooled_but_not_judged():
    judgments, run = {"q": {"a": -1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    scores = assay.evaluate(judgments, run, ["judged@2", "P@2", "num_rel", "precision(min_relevance=-5)@2", "bpref"])
    assert list(scores.mean().values()) == [0.5, 0.5, 1.0, 0.5, 1.0]


def test_float_grades_and_thresholds():
    judgments = {"q": {"a": 6.5, "b": 3.0}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    scores = assay.evaluate(judgments, run, protocol="llm-graded", min_relevance=5)
    assert scores["precision@5"] == pytest.approx(1 / 5)
    assert scores["ndcg@5"] == 1.0
    assert scores.definitions["precision@5"] == "precision(min_relevance=5)@5"
    assert scores.definitions["ndcg@5"] == "ndcg(gain='exp')@5"


def test_threshold_touches_linear_ndcg_only_when_the_measure_says_so():
    judgments, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    linear = assay.evaluate(judgments, run, ["ndcg", "ndcg(gain='binary')", "ndcg(min_relevance=2)"], min_relevance=2)
    second = 1 / math.log2(3)
    assert linear["ndcg"] == pytest.approx((1 + 2 * second) / (2 + second))
    assert linear["ndcg(gain='binary')"] == pytest.approx(second)
    assert linear["ndcg(min_relevance=2)"] == pytest.approx(second)


def test_gain_tables_take_fractions():
    judgments, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    got = assay.evaluate(judgments, run, ["ndcg(gain={1: 0.25, 2: 0.5})"])
    gains = [0.5 + 0.25 / math.log2(3) + 3 / 2, 3 + 0.5 / math.log2(3) + 0.25 / 2]
    assert next(iter(got.mean().values())) == pytest.approx(gains[0] / gains[1])


@pytest.mark.parametrize(("ties", "value"), [("docid", 0.5), ("given", 1.0), ("expected", 0.75)])
def test_ties(ties, value):
    run = {"q": {"a": 1.0, "b": 1.0}}
    scores = assay.evaluate({"q": {"a": 1}}, run, ["mrr"], ties=ties)
    assert scores["reciprocal_rank"] == pytest.approx(value)
    assert scores.counts["mrr"].tied == (0 if ties == "expected" else 1)


def test_ties_that_cannot_matter_are_not_counted():
    run = {"q": {"a": 2.0, "x": 1.0, "y": 1.0}, "p": {"a": 1.0, "b": 1.0}}
    scores = assay.evaluate({"q": {"a": 1}, "p": {"a": 1, "b": 1}}, run, ["mrr", "map"])
    assert scores.counts["map"].tied == 0


def test_document_ids_break_ties_by_bytes_descending():
    run = {"q": {"Z": 1.0, "a": 1.0, "é": 1.0}}
    for doc, rank in (("é", 1), ("a", 2), ("Z", 3)):
        assert assay.evaluate({"q": {doc: 1}}, run, ["mrr"])["reciprocal_rank"] == pytest.approx(1 / rank)


def test_unjudged_share_is_reported():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, ["ndcg@2", "map"])
    assert scores.counts["ndcg@2"].unjudged_share == pytest.approx(1 / 2)
    assert scores.counts["map"].unjudged_share == pytest.approx(2 / 3)


def test_weighted_means():
    judgments, run = {"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}, "b": {"y": 2.0, "x": 1.0}}
    scores = assay.evaluate(judgments, run, ["mrr"], weights={"a": 3, "b": 1})
    assert scores["reciprocal_rank"] == pytest.approx((3 * 1 + 1 * 0.5) / 4)


@pytest.mark.parametrize(
    "weights", [{"a": 1.0}, {"a": -1.0, "b": 2.0}, {"a": 0.0, "b": 0.0}, {"a": math.nan, "b": 1.0}]
)
def test_bad_weights_are_refused(weights):
    with pytest.raises(InputError, match="weight"):
        assay.evaluate({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}}, ["mrr"], weights=weights)


def test_geometric_mean_has_a_floor():
    scores = assay.evaluate({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}}, ["gm_map"])
    assert scores["geometric_average_precision"] == pytest.approx(math.exp(math.log(0.00001) / 2))


def test_measures_are_values():
    from assay import ndcg

    measure = ndcg(gain="exp") @ 10
    assert str(measure) == "ndcg(gain='exp')@10"
    assert assay.parse(str(measure)) == measure
    assert len({measure, assay.parse("nDCG(dcg='exp-log2')@10")}) == 1


ALIASES = {
    "ndcg_cut_10": "ndcg@10", "ndcg_cut.10": "ndcg@10", "P_5": "precision@5", "nDCG@10": "ndcg@10",
    "P(rel=2)@5": "precision(min_relevance=2)@5", "hit_rate@5": "hit_rate@5", "MAP@10": "average_precision@10",
    "map": "average_precision", "map_cut_10": "average_precision@10", "recip_rank": "reciprocal_rank",
    "MRR@10": "reciprocal_rank@10", "RR": "reciprocal_rank", "R@100": "recall@100", "recall_100": "recall@100",
    "Success@1": "hit_rate@1", "success_1": "hit_rate@1", "Rprec": "r_precision", "infAP": "infap", "bpref": "bpref",
    "iprec_at_recall_0.10": "interpolated_precision(recall=0.1)", "IPrec@0.1": "interpolated_precision(recall=0.1)",
    "Rprec_mult_0.20": "r_precision(multiple=0.2)", "ERR(max_rel=4)@20": "err(max_grade=4)@20", "Judged@10": "judged@10",
    "unj_10": "unjudged(over='k')@10", "RBP(p=0.9)": "rbp(p=0.9)", "ndcg_burges@10": "ndcg(gain='exp')@10",
    "SetP": "set_precision", "set_map": "set_average_precision", "NumRelRet": "num_rel_ret", "num_q": "num_q",
    "alpha_nDCG@20": "alpha_ndcg@20", "StRecall@20": "subtopic_recall@20", "ERR_IA@20": "err_ia@20",
    "11pt_avg": "eleven_point", "gm_map": "geometric_average_precision", "relative_P_5": "relative_precision@5",
    "R_cap@10": "recall(capped=true)@10", "AP(rel=2)@100": "average_precision(min_relevance=2)@100",
    "ndcg(gain={1: 0.5, 2: 1.0})@3": "ndcg(gain={1: 0.5, 2: 1.0})@3", "precision( over = retrieved )@5": "precision(over='retrieved')@5",
}  # fmt: skip


@pytest.mark.parametrize("text", ALIASES)
def test_names_of_other_tools(text):
    assert str(assay.parse(text)) == ALIASES[text]
    assert str(assay.parse(ALIASES[text])) == ALIASES[text]


@pytest.mark.parametrize(
    "text", ["", "()", "ndcg@", "ndcg@x", "ndcg(gain=)@3", "ndcg('exp')", "ndcg(**x)", "ndcg@1@2", "ndcg(gain=f())"]
)
def test_nonsense_is_refused_as_usage(text):
    with pytest.raises(UsageError):
        assay.parse(text)


def test_a_custom_measure_is_one_decorated_function():
    from assay.measures import REGISTRY

    try:

        @assay.measure
        def first_grade(ranking, _k):
            """Grade of the first document."""
            top = ranking.rank == 1
            return np.bincount(ranking.query[top], weights=ranking.grade[top], minlength=len(ranking))

        scores = assay.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, [first_grade, "ndcg@10"])
        assert scores["first_grade"] == 2.0
        assert assay.parse("first_grade") == first_grade
    finally:
        REGISTRY.pop("first_grade", None)


@pytest.mark.parametrize("name", ["trec", "trec9", "llm-graded", "graded-012", "rag", "rerank", "chunking"])
def test_built_in_protocols_load_and_their_texts_are_canonical(name):
    protocol = load_protocol(name)
    assert protocol.name == name
    assert protocol.primary in protocol.measures
    assert len(protocol.description) > 100
    assert all(assay.parse(text).text == text for text in protocol.measures.values())


def test_there_are_eight_built_in_protocols():
    assert len(builtin_names()) == 8


@pytest.mark.parametrize(("top", "chosen"), [(2, 2.0), (1, 1.0)])
def test_graded_012_falls_back_to_binary_on_binary_data(top, chosen):
    scores = assay.evaluate({"q": {"a": top, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, protocol="graded-012")
    assert scores.protocol.max_grade == chosen
    assert f"max_grade = {chosen:g}" in scores.notes[0]
    weight = (1.0, 0.5) if top == 2 else (1.0, 1.0)
    assert scores["map@10"] == pytest.approx((1 * weight[1] + 1 * weight[0]) / 2)


def test_a_protocols_defaults_apply_to_measures_asked_for_one_by_one():
    scores = assay.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, ["ndcg@3"], protocol="graded-012")
    assert scores.definitions == {"ndcg@3": "ndcg(gain='exp')@3"}


def test_a_users_protocol(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nmin_relevance = 2\n[measures]\n"strict" = "ndcg(min_relevance=2)@5"\np = "P@1"\n')
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, protocol=str(path))
    assert scores.definitions == {"strict": "ndcg(min_relevance=2)@5", "p": "precision(min_relevance=2)@1"}
    one = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["strict"], protocol=str(path))
    assert list(one.mean()) == ["strict"]


def test_results_round_trip(tmp_path):
    scores = assay.evaluate(
        JUDGMENTS, RUN, ["mrr", "coverage@5"], name="mine", weights={"a": 1, "b": 2, "none": 1, "extra": 1}
    )
    assay.write_result(scores, tmp_path / "r.json")
    back = assay.read_result(tmp_path / "r.json")[0]
    assert back.name == "mine"
    assert back.query_ids == scores.query_ids
    np.testing.assert_array_equal(back.values, scores.values)
    np.testing.assert_array_equal(back.status, scores.status)
    assert back.mean() == scores.mean()
    assert back.protocol == scores.protocol
    assert back.counts == scores.counts


def test_result_files_have_the_documented_shape(tmp_path):
    assay.write_result(
        assay.evaluate(JUDGMENTS, RUN, ["ndcg@10", "map"], protocol="llm-graded", min_relevance=1), tmp_path / "r.json"
    )
    data = json.loads((tmp_path / "r.json").read_text())
    assert {"schema", "version", "command", "protocol", "inputs", "seed", "systems", "per_query", "warnings"} <= set(
        data
    )
    assert data["schema"] == 2
    assert data["date"].endswith("Z")
    assert list(data["systems"][0]["metrics"]) == ["ndcg@10", "map"]
    assert data["systems"][0]["definitions"]["ndcg@10"] == "ndcg(gain='exp')@10"


@pytest.mark.parametrize("schema", [3, "x", None])
def test_results_of_another_schema_are_refused(schema, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps({"schema": schema, "systems": []}))
    with pytest.raises(InputError, match="schema"):
        assay.read_result(tmp_path / "r.json")


def test_scores_convert_to_frames_and_dicts():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}, "p": {"a": 1.0}}, ["mrr"])
    assert scores.per_query().to_dict(as_series=False) == {"query_id": ["p", "q"], "mrr": [None, 1.0]}
    assert scores.to_dict() == {"p": {}, "q": {"mrr": 1.0}}
    assert scores.to_pandas()["mrr"].dropna().tolist() == [1.0]
    with pytest.raises(assay.UnknownName, match="did you mean mrr"):
        scores["mrrr"]


def test_the_digest_ignores_format_and_order(tmp_path):
    (tmp_path / "a.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (tmp_path / "b.csv").write_text("query_id,doc_id,grade\nq1,d2,0\nq1,d1,1\n")
    first, second = (assay.read_judgments(tmp_path / name) for name in ("a.qrels", "b.csv"))
    assert first.digest == second.digest
    assert first.digest != assay.Judgments.from_dict({"q1": {"d1": 1, "d2": 1}}).digest


def test_unsorted_and_scattered_rows_are_ranked_by_score():
    import polars as pl

    rows = [("b", "x", 1.0), ("a", "y", 1.0), ("b", "y", 3.0), ("a", "x", 2.0), ("b", "z", 2.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    scores = assay.evaluate({"a": {"x": 1}, "b": {"x": 1}}, frame, ["mrr"])
    assert scores.column("reciprocal_rank") == pytest.approx([1.0, 1 / 3])


def test_dedupe_keeps_the_highest_ranked():
    import polars as pl

    rows = [("a", "x", 1.0), ("a", "y", 2.0), ("a", "x", 3.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    with pytest.raises(InputError, match="listed twice"):
        assay.evaluate({"a": {"y": 1}}, frame, ["mrr"])
    scores = assay.evaluate({"a": {"y": 1}}, frame, ["mrr", "num_ret"], dedupe=True)
    assert list(scores.mean().values()) == [0.5, 2.0]


def test_chunks_of_one_document_are_folded_not_dropped():
    import polars as pl

    columns = ["query_id", "doc_id", "chunk_id", "score"]
    run = assay.Run(pl.DataFrame([("a", "x", "x#0", 2.0), ("a", "x", "x#1", 1.0)], schema=columns, orient="row"))
    found = assay.evaluate({"a": {"x": 1}}, run, ["map"])
    assert found["map"] == assay.evaluate({"a": {"x": 1}}, run, ["map"], fold="before")["map"] == 1.0
    assert any("--fold before" in note for note in found.notes)


def test_a_query_longer_than_a_block_is_ranked_whole(monkeypatch):
    from assay.data import joining

    monkeypatch.setattr(joining, "_BLOCK", 4)
    monkeypatch.setattr(joining, "_LOOK", 2)
    run = {q: {f"d{i}": float(-i) for i in range(n)} for q, n in (("a", 11), ("b", 1), ("c", 3), ("d", 9))}
    judgments = {q: {f"d{n - 1}": 1} for q, n in (("a", 11), ("b", 1), ("c", 3), ("d", 9))}
    frame = assay.Run.from_dict(run)
    assert assay.evaluate(judgments, frame, ["mrr"]).column("reciprocal_rank") == pytest.approx(
        [1 / 11, 1, 1 / 3, 1 / 9]
    )
    import polars as pl

    again = pl.concat([frame.frame, frame.frame.filter((pl.col("query_id") == "d") & (pl.col("doc_id") == "d0"))])
    with pytest.raises(InputError, match="'d0' is listed twice for query 'd'"):
        assay.evaluate(judgments, again, ["mrr"])


SAME = {"a": {"b": 1, "a": 1}, "c": {"d": 1}}, {"a": {"a": 0.9, "b": 0.1}, "c": {"c": 2.0}}


def beir_without_identical_ids(judgments: dict, run: dict, k: int) -> float:
    """nDCG@k of binary judgments after dropping what has the id of its query, worked out rank by rank."""
    values = []
    for query, grades in judgments.items():
        left = sorted((doc for doc in run.get(query, {}) if doc != query), key=lambda d: -run[query][d])[:k]
        gain = sum(grades.get(doc, 0) / math.log2(rank + 2) for rank, doc in enumerate(left))
        values.append(gain / sum(1 / math.log2(rank + 2) for rank in range(min(k, sum(grades.values())))))
    return sum(values) / len(values)


@pytest.mark.parametrize("kind", ["dict", "run", "trec", "csv"])
def test_documents_with_the_id_of_their_query_are_left_out_of_runs_if_asked(tmp_path, kind):
    judgments, run = SAME
    rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    (tmp_path / "r.trec").write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in rows))
    (tmp_path / "r.csv").write_text("query_id,doc_id,score\n" + "".join(f"{q},{d},{s}\n" for q, d, s in rows))
    given = {"dict": run, "run": assay.Run.from_dict(run), "trec": tmp_path / "r.trec", "csv": tmp_path / "r.csv"}[kind]
    scores = assay.evaluate(judgments, given, ["ndcg@10", "num_ret", "judged@1"], ignore_same_id=True)
    assert scores["ndcg@10"] == pytest.approx(beir_without_identical_ids(judgments, run, 10), abs=1e-12)
    assert scores["num_ret"] == 1
    assert scores.counts["ndcg@10"].missing == 0  # c was asked, and found nothing but itself
    assert scores.protocol.rules()["ignore_same_id"] is True
    assert assay.evaluate(judgments, given, ["num_ret"])["num_ret"] == 3


def test_chunks_of_the_document_with_the_id_of_the_query_are_left_out_before_the_cut():
    run = {"a": {"a#1": 3.0, "a#2": 2.0, "b#1": 1.0}}
    options = {"fold": "after", "chunks": "{doc}#{chunk}"}
    plain = assay.evaluate({"a": {"b": 1}}, run, ["recall@1", "mrr"], **options)
    assert (plain["recall@1"], plain["mrr"]) == (0.0, 0.5)
    scores = assay.evaluate({"a": {"b": 1}}, run, ["recall@1", "mrr"], ignore_same_id=True, **options)
    assert (scores["recall@1"], scores["mrr"]) == (1.0, 1.0)


def test_results_with_and_without_documents_named_like_their_query_are_not_compared(tmp_path):
    judgments, run = SAME
    left = assay.evaluate(judgments, run, ["ndcg@10"], name="x")
    right = assay.evaluate(judgments, run, ["ndcg@10"], name="y", ignore_same_id=True)
    with pytest.raises(assay.NotComparable, match="ignore_same_id = False and True"):
        assay.compare([left, right])
    for scores in (left, right):
        assay.write_result(scores, tmp_path / f"{scores.name}.json")
    again = [assay.read_result(tmp_path / f"{name}.json")[0] for name in "xy"]
    assert [scores.protocol.ignore_same_id for scores in again] == [False, True]
    with pytest.raises(assay.NotComparable, match="ignore_same_id"):
        assay.compare(again)
    assert "ignore_same_id" not in (tmp_path / "x.json").read_text()  # as earlier versions wrote it


def test_a_protocol_may_leave_out_documents_named_like_their_query(tmp_path):
    text = 'name = "beir"\nignore_same_id = {}\n[measures]\n"ndcg@10" = "ndcg@10"\n'
    (tmp_path / "beir.toml").write_text(text.format("true"))
    scores = assay.evaluate(*SAME, protocol=str(tmp_path / "beir.toml"))
    assert scores["ndcg@10"] == pytest.approx(beir_without_identical_ids(*SAME, 10), abs=1e-12)
    (tmp_path / "wrong.toml").write_text(text.format('"yes"'))
    with pytest.raises(InputError, match="ignore_same_id = 'yes': expected one of"):
        assay.evaluate(*SAME, protocol=str(tmp_path / "wrong.toml"))


@pytest.mark.parametrize(
    "words",
    ["evaluate q r -m ndcg@10", "compare q r s -m ndcg@10", "sweep q r -m ndcg", "diagnose q r", "explain q r a -m ndcg@10",
     "gate q r --fail-under ndcg@10=0.1"],
)  # fmt: skip
def test_commands_that_take_runs_leave_out_documents_named_like_their_query(call, words):
    Path("q").write_text("a 0 b 1\nc 0 d 1\n")
    for name in "rs":
        Path(name).write_text("a Q0 a 1 2 t\na Q0 b 2 1 t\nc Q0 d 1 1 t\nc Q0 x 2 0 t\n")
    code, plain, error = call(*words.split())
    assert code in {0, 1}, error
    code, out, error = call(*words.split(), "--ignore-same-id")
    assert code in {0, 1}, error
    assert out != plain


def test_a_cutoff_beyond_any_list_is_refused():
    with pytest.raises(assay.UsageError, match="is too large"):
        Settings.of(Judgments.from_dict({"q": {"a": 1}}), ["ndcg@1000000000000000000000"], "trec")


def test_a_query_judged_with_nothing_counts_as_0_and_is_reported(tmp_path):
    scores = assay.evaluate({"a": {"x": 1}, "b": {}}, {"a": {"x": 1.0}, "b": {"x": 1.0}}, ["recall@5"])
    assert scores["recall@5"] == 0.5
    assert scores.counts["recall@5"].undefined == 1
    (tmp_path / "r.jsonl").write_text(
        '{"query": "a", "retrieved": ["x"], "relevant": ["x"]}\n{"query": "b", "retrieved": ["x"], "relevant": []}\n'
    )
    assert assay.evaluate(tmp_path / "r.jsonl", measures=["recall@5"])["recall@5"] == 0.5
    assert assay.evaluate(tmp_path / "r.jsonl", measures=["recall@5"], undefined="skip")["recall@5"] == 1.0
    (tmp_path / "j.json").write_text('{"a": ["x"], "b": []}')
    assert read_judgments(tmp_path / "j.json").empty == ("b",)
    assert read_run(tmp_path / "j.json").empty == ("b",)


def test_weights_of_nothing_give_no_mean_and_coverage_needs_them_all():
    judgments, run = {"a": {"x": 1}, "b": {"x": 0}}, {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {"x": 1.0}}
    scores = assay.evaluate(judgments, run, ["recall@1"], weights={"a": 0, "b": 1}, undefined="skip")
    assert math.isnan(scores["recall@1"])
    with pytest.raises(InputError, match="query has no weight: 'c'"):
        assay.evaluate(judgments, run, ["coverage@1"], weights={"a": 1, "b": 1})


@pytest.mark.parametrize(
    "option",
    [{"ties": "Given"}, {"missing": "skipp"}, {"undefined": "x"}, {"fold": "both"}, {"min_relevance": math.nan}],
)
def test_python_options_are_checked_like_those_of_the_command_line(option):
    with pytest.raises(UsageError, match=next(iter(option))):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@3"], **option)


@pytest.mark.parametrize(
    ("judgments", "match"),
    [
        ({}, "no judgments"),
        ({"q": {"a": "x"}}, "grade 'x' of document 'a' for query 'q'"),
        ({"q": 5}, "query 'q' has '5'"),
    ],
)
def test_bad_dicts_are_refused_by_name(judgments, match):
    with pytest.raises(InputError, match=match):
        assay.evaluate(judgments, {"q": {"a": 1.0}}, ["mrr"])


def test_scores_are_found_by_what_was_asked_for():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map", "nDCG@10", assay.ndcg(gain="exp") @ 5])
    assert scores["map"] == scores["average_precision"] == scores["nDCG@10"] == 1.0
    assert scores[assay.ndcg(gain="exp") @ 5] == 1.0


WARNINGS = {
    "1 judged query is missing and counts as 0: b": ({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}}),
    "1 query has no relevant document and counts as 0: b": (
        {"a": {"x": 1}, "b": {"x": 0}},
        {"a": {"x": 1.0}, "b": {"x": 1.0}},
    ),
    "1 query has no judgments and counts in no mean: b": ({"a": {"x": 1}}, {"a": {"x": 1.0}, "b": {"x": 1.0}}),
    "recall@2 of 1 query depends on how ties are ordered (here by document id)": (
        {"a": {"x": 1}},
        {"a": {"x": 1.0, "y": 1.0, "z": 1.0}},
    ),
    "67% of the documents behind map are unjudged and count as not relevant": (
        {"a": {"x": 1}},
        {"a": {"x": 3.0, "y": 2.0, "z": 1.0}},
    ),
    "none of the retrieved documents is judged: do both files use the same document ids? (see: assay check)": (
        {"a": {"x": 1}},
        {"a": {"x#1": 1.0}},
    ),
}


@pytest.mark.parametrize("text", WARNINGS)
def test_warnings_in_words(text):
    measures = ["recall@2"] if "recall@2" in text else ["map"]
    assert text in assay.evaluate(*WARNINGS[text], measures).warnings


def test_means_over_fewer_queries_say_so():
    scores = assay.evaluate(
        {"a": {"x": 1}, "b": {"x": 0}}, {"a": {"x": 1.0}, "b": {"x": 1.0}}, ["map"], undefined="skip"
    )
    assert "map: mean over 1 of 2 queries" in scores.warnings
