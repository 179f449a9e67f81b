"""Rules that are easily got wrong: each of these once was, here or elsewhere."""

from __future__ import annotations

import json
import math
import os
import threading

import polars as pl
import pytest

import assay
from assay.errors import InputError, NotComparable, UsageError
from assay.formats.reading import read_judgments, read_run


def one(measure: str, judgments: dict, run: object, **options: object) -> float:
    return assay.evaluate(judgments, run, [measure], **options)[measure]


def test_a_pipe_is_read_once_and_whole(tmp_path):
    lines = "".join(f"q{i} Q0 d 1 1 r\n" for i in range(30_000)).encode()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(lines,))
    writer.start()
    assert len(read_run(pipe)) == 30_000
    writer.join()


def test_a_parameter_that_is_given_stays_given_under_a_protocol_with_other_defaults(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(
        'name = "p"\nmin_relevance = 2\n[measures]\np1 = "precision(min_relevance=1)@1"\nlin = "ndcg(gain=\'linear\')@10"\n'
        'exp = "ndcg@10"\n[defaults.ndcg]\ngain = "exp"\n'
    )
    judgments, run = {"q": {"a": 1, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    scores = assay.evaluate(judgments, run, protocol=str(path))
    second = 1 / math.log2(3)
    assert scores["p1"] == 1.0
    assert scores["lin"] == pytest.approx((1 + 2 * second) / (2 + second))
    assert scores["exp"] == pytest.approx((1 + 3 * second) / (3 + second))
    assay.write_result(scores, tmp_path / "r.json")
    again = assay.evaluate(judgments, run, protocol=assay.read_result(tmp_path / "r.json")[0].protocol)
    assert again.mean() == scores.mean()


def test_both_variants_can_be_asked_for_under_a_protocol():
    scores = assay.evaluate(
        {"q": {"a": 1, "b": 2}},
        {"q": {"a": 2.0, "b": 1.0}},
        ["ndcg@10", "ndcg(gain='linear')@10"],
        protocol="graded-012",
    )
    assert scores["ndcg@10"] < scores["ndcg(gain='linear')@10"]


@pytest.mark.parametrize("measure", ["err(max_grade=1)", "judged@1", "rbp", "g", "ndcg_rel", "rbp_residual", "f1@1"])
def test_measures_without_an_expected_value_refuse_expected_ties(measure):
    with pytest.raises(UsageError, match="no expected value"):
        one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected")


@pytest.mark.parametrize(("measure", "value"), [("num_ret", 2.0), ("set_recall", 1.0), ("coverage@1", 0.5)])
def test_measures_that_do_not_hang_on_order_have_one(measure, value):
    assert one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected") == value


def test_expected_graded_average_precision_needs_the_scale_too():
    with pytest.raises(UsageError, match="largest grade"):
        one("average_precision(gain='graded')", {"q": {"a": 2}}, {"q": {"a": 1.0}}, ties="expected")


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("average_precision(gain='graded', max_grade=2)", 0.75 * 0.5 + 0.0), ("recall(capped=true)@1", 0.5), ("precision(over='retrieved')@1", 0.5),
     ("average_precision(over='min_k')@1", 0.5)],
)  # fmt: skip
def test_expected_values_of_variants(measure, expected):
    # One relevant document (grade 1 of 2) tied with another: first or second with equal chance.
    assert one(measure, {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="expected") == pytest.approx(expected)


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


@pytest.mark.parametrize(("protocol", "label"), [("graded-012", "p@1"), ("rerank", "reciprocal_rank")])
def test_protocols_that_count_any_grade_above_0(protocol, label):
    assert assay.evaluate({"q": {"a": 0.5, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}, protocol=protocol)[label] == 1.0
    assert assay.evaluate({"q": {"a": 0, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, protocol=protocol)[label] < 1.0


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
    assert one("err(max_grade=100)", {"q": {"a": 100, "b": 50}}, {"q": {"a": 2.0, "b": 1.0}}) == pytest.approx(1.0)


def test_exponential_gain_of_absurd_grades_is_refused():
    with pytest.raises(UsageError, match="too large"):
        one("ndcg(gain='exp')", {"q": {"a": 1100}}, {"q": {"a": 1.0}})


def test_results_that_would_overwrite_or_mislead_are_not_written(tmp_path):
    judgments, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0}}
    first = assay.evaluate(judgments, run, ["mrr"], name="x")
    same = assay.evaluate(judgments, {"q": {"b": 1.0}}, ["mrr"], name="x")
    rules = assay.evaluate(judgments, run, ["mrr"], name="y", min_relevance=2)
    other = assay.evaluate({"q": {"a": 2}}, run, ["mrr"], name="y")
    for systems, error in (
        ([first, same], UsageError),
        ([first, rules], NotComparable),
        ([first, other], NotComparable),
        ([], UsageError),
    ):
        with pytest.raises(error):
            assay.write_result(systems, tmp_path / "r.json")
    with pytest.raises(UsageError, match=r"ends in \.json"):
        assay.write_result(first, tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_not_taken_for_judgments(tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 0.5 r\n")
    (tmp_path / "a.csv").write_text("query_id,doc_id,score,rank\nq,d,0.5,1\n")
    with pytest.raises(InputError, match="this is a run, not judgments"):
        read_judgments(tmp_path / "a.run")
    with pytest.raises(InputError, match="make a run, not judgments"):
        read_judgments(tmp_path / "a.csv")


def test_blanks_inside_ids_are_noticed(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 my doc 1 0.9 tag\n")
    with pytest.raises(InputError, match=r"a\.run:1: 'doc' stands where the rank should"):
        read_run(tmp_path / "a.run")
    (tmp_path / "b.run").write_bytes("q1 Q0 a\u3000b 1 0.9 tag\r\n".encode())
    assert read_run(tmp_path / "b.run").to_dict() == {"q1": {"a\u3000b": 0.9}}


def test_a_line_with_two_blanks_and_a_field_missing_is_noticed(tmp_path):
    good = "".join(f"q1 Q0 d{i} {i} {-i} r\n" for i in range(9000))
    (tmp_path / "a.run").write_text(good + "q2  Q0 d1 1 0.5\n")
    assert read_run(tmp_path / "a.run").to_dict()["q2"] == {"d1": 0.5}


def test_repeated_documents_are_named_with_their_lines(tmp_path):
    (tmp_path / "a.run").write_text("# x\nq Q0 d 1 2 r\nq Q0 e 2 1 r\nq Q0 d 3 0 r\n")
    with pytest.raises(InputError, match=r"document 'd' is listed twice for query 'q' \(lines 2 and 4\)"):
        assay.evaluate({"q": {"d": 1}}, tmp_path / "a.run", ["mrr"])
    (tmp_path / "a.qrels").write_text("q 0 d 1\nq 0 d 0\n")
    with pytest.raises(InputError, match=r"judged twice for query 'q' \(lines 1 and 2\)"):
        read_judgments(tmp_path / "a.qrels")


def test_weights_of_nothing_give_no_mean_and_coverage_needs_them_all():
    judgments, run = {"a": {"x": 1}, "b": {"x": 0}}, {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {"x": 1.0}}
    scores = assay.evaluate(judgments, run, ["recall@1"], weights={"a": 0, "b": 1}, undefined="skip")
    assert math.isnan(scores["recall@1"])
    with pytest.raises(InputError, match="query 'c' has no weight"):
        assay.evaluate(judgments, run, ["coverage@1"], weights={"a": 1, "b": 1})


def test_given_order_holds_within_float32_ties_of_unsorted_rows():
    rows = [("q", "a", 1.0), ("q", "b", 1.0 + 1e-9), ("q", "c", 2.0)]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    for data in (frame, {"q": {doc: score for _, doc, score in rows}}):
        assert one("reciprocal_rank", {"q": {"a": 1}}, data, protocol="trec9", ties="given") == 0.5


def test_f1_is_the_harmonic_mean_also_for_gold_groups():
    records = [{"query": "q", "retrieved": ["x", "b"], "relevant": [["a", "b"], ["c"]]}]
    scores = assay.evaluate(records, measures=["precision@2", "recall@2", "f1@2"])
    assert list(scores.mean().values()) == [0.5, 0.5, 0.5]


def test_judged_only_keeps_the_cut_of_folded_chunks():
    run = {"q": {"X#1": 4.0, "A#1": 3.0, "C#1": 2.0}}
    options = {"fold": "after", "chunks": "{doc}#{chunk}"}
    assert one("recall@2", {"q": {"A": 1, "C": 1}}, run, **options) == 0.5
    assert one("recall(judged_only=true)@2", {"q": {"A": 1, "C": 1}}, run, **options) == 0.5


def test_tied_chunks_are_ordered_by_their_own_ids():
    run = {"q": {"A#1": 1.0, "B#9": 1.0}}
    assert one("reciprocal_rank", {"q": {"A": 1}}, run, fold="before", chunks="{doc}#{chunk}") == 0.5
    assert one("reciprocal_rank", {"q": {"A": 1}}, run, fold="before", chunks="{doc}#{chunk}", ties="given") == 1.0


def test_the_last_separator_of_a_chunk_id_counts():
    assert (
        one("reciprocal_rank", {"q": {"a#b": 1}}, {"q": {"a#b#3": 1.0}}, fold="before", chunks="{doc}#{chunk}") == 1.0
    )


@pytest.mark.parametrize(
    "option",
    [{"ties": "Given"}, {"missing": "skipp"}, {"undefined": "x"}, {"fold": "both"}, {"min_relevance": math.nan}],
)
def test_python_options_are_checked_like_those_of_the_command_line(option):
    with pytest.raises(UsageError, match=next(iter(option))):
        one("ndcg@3", {"q": {"a": 1}}, {"q": {"a": 1.0}}, **option)


@pytest.mark.parametrize(
    "text",
    ["rbp(p=2)", "rbp_residual(p=0)", "P(rel=2,rel=3)@5", "ndcg@nan", "ndcg@inf", "ndcg(gain={[1]: 2})", "ndcg@10,map"],
)
def test_senseless_parameters_are_refused(text):
    with pytest.raises(UsageError):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [text])


def test_a_users_measure_cannot_hide_a_built_in_one():
    with pytest.raises(UsageError, match="there is a measure ndcg already"):

        @assay.measure
        def ndcg(ranking, k):
            return ranking


def test_a_measure_must_return_one_number_per_query():
    from assay.measures import REGISTRY

    try:

        @assay.measure
        def lonely(ranking, k):
            return 1.0

        with pytest.raises(UsageError, match="must return one number per query"):
            assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [lonely])
    finally:
        REGISTRY.pop("lonely", None)


@pytest.mark.parametrize(
    ("judgments", "match"), [({}, "no judgments"), ({"q": {"a": "x"}}, "grade 'x' of query 'q'"), ({"q": 5}, "must be")]
)
def test_bad_dicts_are_refused_by_name(judgments, match):
    with pytest.raises(InputError, match=match):
        assay.evaluate(judgments, {"q": {"a": 1.0}}, ["mrr"])


def test_scores_are_found_by_what_was_asked_for():
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map", "nDCG@10", assay.ndcg(gain="exp") @ 5])
    assert scores["map"] == scores["average_precision"] == scores["nDCG@10"] == 1.0
    assert scores[assay.ndcg(gain="exp") @ 5] == 1.0


def test_overrides_of_a_protocol_are_told(tmp_path):
    scores = assay.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, protocol="graded-012", ties="given", min_relevance=2)
    assert str(scores.protocol) == "graded-012 with min_relevance = 2, ties = given"
    assay.write_result(scores, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["protocol"]["overrides"] == {
        "min_relevance": 2,
        "ties": "given",
    }


WARNINGS = {
    "1 judged query is missing and counts as 0: b": ({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}}),
    "1 query has no relevant document and counts as 0: b": (
        {"a": {"x": 1}, "b": {"x": 0}},
        {"a": {"x": 1.0}, "b": {"x": 1.0}},
    ),
    "1 query has no judgments and counts nowhere: b": ({"a": {"x": 1}}, {"a": {"x": 1.0}, "b": {"x": 1.0}}),
    "recall@2 of 1 query hangs on tied scores, broken by document id": (
        {"a": {"x": 1}},
        {"a": {"x": 1.0, "y": 1.0, "z": 1.0}},
    ),
    "67% of the documents behind average_precision are unjudged and count as not relevant": (
        {"a": {"x": 1}},
        {"a": {"x": 3.0, "y": 2.0, "z": 1.0}},
    ),
    "no document of the run is judged: do both files use the same document ids? (see: assay check)": (
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
    assert "average_precision: over 1 of 2 queries" in scores.warnings


def test_extreme_orders_of_ties_bound_every_order():
    import itertools

    from assay.data.mappings import rank_mapping

    judgments = assay.Judgments.from_dict({"q": {"a": 2, "b": 1, "c": 0}})
    ranking = rank_mapping(judgments, {"q": dict.fromkeys("abcxy", 1.0)})
    measure = assay.parse("ndcg@3")
    every = [
        assay.evaluate(judgments, {"q": {doc: float(-i) for i, doc in enumerate(order)}}, ["ndcg@3"])["ndcg@3"]
        for order in itertools.permutations("abcxy")
    ]
    assert measure.compute(ranking.extreme(best=True))[0] == pytest.approx(max(every))
    assert measure.compute(ranking.extreme(best=False))[0] == pytest.approx(min(every))


@pytest.mark.parametrize("protocol", ["trec", "rerank"])
def test_a_threshold_of_0_makes_every_judged_document_relevant(protocol):
    judgments, run = {"q": {"a": 0, "b": 1, "c": -1}}, {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}
    assert one("precision@3", judgments, run, protocol=protocol, min_relevance=0) == pytest.approx(2 / 3)
