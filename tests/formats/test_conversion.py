"""What Python code hands over: frames, tuples, datasets, one run or several, and thresholds by name."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple

import ir_measures
import polars as pl
import pytest

import assay
from assay.formats import tables
from assay.formats.reading import read_run

WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
import assay, pandas
judged = pandas.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "relevance": [1, 0]})
listed = pandas.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [2.0, 1.0]})
print(assay.evaluate(judged, listed, ["mrr"])["mrr"])
asked = pandas.DataFrame({"question": ["When?"], "answer": ["In 1889."], "reference": ["In 1889."], "odd": [None]})
print(len(assay.answers(asked, ["exact_match"], method="words").outcomes))
"""


def test_pandas_frames_need_no_pyarrow():
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "1"]


def test_missing_values_of_a_frame_that_arrow_cannot_carry_are_null(monkeypatch):
    import pandas as pd

    frame = pd.DataFrame({"whole": pd.array([1, None], dtype="Int64"), "text": ["x", None], "list": [[1, 2], None]})
    monkeypatch.setattr(tables.pl, "from_dataframe", lambda _: (_ for _ in ()).throw(ImportError("pyarrow")))
    found = tables.frame_from(frame)
    assert found is not None and found.rows() == [(1, "x", [1, 2]), (None, None, None)]


def test_a_panic_of_the_parquet_reader_is_one_line(tmp_path, monkeypatch):
    place = tmp_path / "damaged.parquet"
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).write_parquet(place)

    def panic(*_):
        raise pl.exceptions.PanicException("range end index 9 out of range\nmore")

    monkeypatch.setattr(tables.pl, "read_parquet", panic)
    with pytest.raises(
        assay.InputError, match=r"damaged\.parquet: not a Parquet file: range end index 9 out of range$"
    ):
        read_run(place)


def test_any_grade_above_zero_may_be_relevant_in_python_and_on_the_command_line(tmp_path, call):
    judgments, run = {"q": {"a": 0.5, "b": 0.0}}, {"q": {"b": 2.0, "a": 1.0}}
    assert assay.evaluate(judgments, run, ["mrr"])["mrr"] == 0.0
    scores = assay.evaluate(judgments, run, ["mrr"], min_relevance="positive")
    assert scores["mrr"] == 0.5
    assert str(scores.protocol) == "trec (min_relevance = positive)"
    (tmp_path / "qrels").write_text("q 0 a 0.5\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n")
    code, out, _ = call("evaluate", "qrels", "run", "-m", "mrr", "--min-relevance", "positive", "--format", "csv")
    assert (code, out.split()[-1]) == (0, "run,0.5")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_relevance": "high"}, "min_relevance = 'high': expected a finite number, or 'positive'"),
        ({"min_relevance": float("-inf")}, "min_relevance = -inf: expected a finite number"),
        ({"max_grade": "positive"}, "max_grade = 'positive': expected a finite number$"),
        ({"max_grade": True}, "max_grade = True: expected a finite number$"),
    ],
)
def test_a_rule_that_is_no_number_is_refused(rules, message):
    with pytest.raises(assay.UsageError, match=message):
        assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, ["mrr"], **rules)


GRADES = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
SCORES = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 3.0, "x": 0.5}}
JUDGED = [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
LISTED = [(query, doc, score) for query, docs in SCORES.items() for doc, score in docs.items()]
Own = namedtuple("Own", ["docid", "qid", "similarity", "rel"])  # noqa: PYI024


class Dataset:
    """What ir_datasets offers: rows that are made when they are asked for."""

    def qrels_iter(self):
        return (ir_measures.Qrel(query, doc, grade, "0") for query, doc, grade in JUDGED)

    def scoreddocs_iter(self):
        return (ir_measures.ScoredDoc(*row) for row in LISTED)


ROWS = {
    "tuples": (JUDGED, LISTED),
    "a tuple of tuples": (tuple(JUDGED), tuple(LISTED)),
    "lists": ([list(row) for row in JUDGED], [list(row) for row in LISTED]),
    "generators": ((row for row in JUDGED), (row for row in LISTED)),
    "ir_measures": ([ir_measures.Qrel(*row) for row in JUDGED], [ir_measures.ScoredDoc(*row) for row in LISTED]),
    "other names": ([Own(d, q, 0.0, g) for q, d, g in JUDGED], [Own(d, q, s, 0) for q, d, s in LISTED]),
    "dicts": ([{"qid": q, "docno": d, "rel": g} for q, d, g in JUDGED], [{"qid": q, "docno": d, "sim": s} for q, d, s in LISTED]),
    "a dataset": (Dataset(), Dataset()),
    "polars": (pl.DataFrame(JUDGED, ["query_id", "doc_id", "grade"], orient="row"), pl.DataFrame(LISTED, ["query_id", "doc_id", "score"], orient="row")),
    "numbers as ids": ([("q1", "a", 2), ("q1", "b", 0), ("q2", "c", 1)], LISTED),
}  # fmt: skip


@pytest.mark.parametrize("kind", ROWS)
def test_judgments_and_runs_in_any_form_score_the_same(kind):
    expected = assay.evaluate(GRADES, SCORES, ["map", "ndcg@10"]).to_dict()
    judgments, run = ROWS[kind]
    assert assay.evaluate(judgments, run, ["map", "ndcg@10"]).to_dict() == expected


def test_named_rows_of_subtopics_are_read_as_such():
    rows = [ir_measures.Qrel("q", "a", 1, "1"), ir_measures.Qrel("q", "a", 1, "2"), ir_measures.Qrel("q", "b", 1, "3")]
    scores = assay.evaluate(rows, [("q", "a", 2.0), ("q", "x", 1.0)], "subtopic_recall@2")
    assert scores["subtopic_recall@2"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("judgments", "run", "message"),
    [
        ([("q", "a")], SCORES, r"row 1 is .* \(expected tuples \(query, document, grade\)\)"),
        ([("q", "0", "a", 1)], SCORES, "expected tuples"),
        ([("q1", "a", 1), 7], SCORES, "row 2 is '7'"),
        ([("q1", "a", "good")], SCORES, "grade 'good' is not a finite number"),
        ([("q1", "a", 1), ("q1", "a", 0)], SCORES, "'a' is judged twice"),
        ([], SCORES, "there are no rows"),
        (7, SCORES, "judgments must be a path, .* not int"),
        (b"q", SCORES, "not bytes"),
        (GRADES, 7, "a run must be a path, .* not int"),
        (GRADES, [("q1", "a", None)], "score 'None' is not a finite number"),
        (GRADES, {"a": 1.0}, "query 'a' has '1.0'"),
    ],
)
def test_rows_that_cannot_be_read_are_named(judgments, run, message):
    with pytest.raises(assay.AssayError, match=message):
        assay.evaluate(judgments, run, "map")


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ({"old": SCORES, "new": LISTED}, ["old", "new"]),
        ({"old": {"q1": ["a"], "q2": ["c"]}}, ["old"]),
        ({"old": assay.Run.from_dict(SCORES, "x"), "new": Dataset()}, ["old", "new"]),
        ({"old": pl.DataFrame(LISTED, ["query_id", "doc_id", "score"], orient="row").lazy()}, ["old"]),
        ([SCORES, LISTED], ["run1", "run2"]),
        ([assay.Run.from_dict(SCORES, "x"), assay.Run.from_dict(SCORES)], ["x", "run2"]),
        ((SCORES,), ["run1"]),
        ([{"q1": {}, "q2": {"c": 1.0}}, SCORES], ["run1", "run2"]),
    ],
)
def test_several_runs_give_scores_by_name(runs, names):
    found = assay.evaluate(GRADES, runs, "mrr")
    assert list(found) == [scores.name for scores in found.values()] == names
    assert assay.sweep(GRADES, runs, [1], measures="P").systems == tuple(names)


@pytest.mark.parametrize("run", [{"q1": {}, "q2": {"c": 1.0}}, {"q1": ["a"], "q2": []}, {"q1": {}}, LISTED[:1]])
def test_one_run_gives_scores(run):
    assert isinstance(assay.evaluate(GRADES, run, "mrr"), assay.Scores)


def test_files_of_several_runs_are_named_after_themselves(tmp_path):
    places = [tmp_path / "a.run", tmp_path / "b.jsonl"]
    for place in places:
        assay.write_run(assay.Run.from_dict(SCORES), place)
    for given in (places, list(map(str, places))):
        assert list(assay.evaluate(GRADES, given, "mrr")) == ["a", "b"]
    assert list(assay.evaluate(GRADES, {"one": str(places[0]), "two": places[1]}, "mrr")) == ["one", "two"]


def test_several_runs_go_into_a_comparison_and_a_file_as_they_are(tmp_path):
    found = assay.evaluate(GRADES, {"old": SCORES, "new": {"q1": {"a": 1.0}, "q2": {"c": 1.0}}}, "mrr, map")
    assert assay.compare(found, "RR").contrast("new", "mrr").difference.estimate == pytest.approx(0.25)
    assert assay.compare({"a": found["old"], "b": found["new"]}, baseline="b").systems == ("b", "a")
    assay.write_result(found, tmp_path / "both.json")
    assert [scores.name for scores in assay.read_result(tmp_path / "both.json")] == ["old", "new"]


@pytest.mark.parametrize(
    ("runs", "more", "message"),
    [
        ([assay.Run.from_dict(SCORES, "x")] * 2, {}, "two runs are called 'x'"),
        ({"a": SCORES}, {"name": "b"}, "name='b' cannot name several runs"),
        ({"a": SCORES, "b": 7}, {}, "a run must be a path"),
        ([], {}, "there are no rows"),
    ],
)
def test_several_runs_that_cannot_be_told_apart_are_refused(runs, more, message):
    with pytest.raises(assay.AssayError, match=message):
        assay.evaluate(GRADES, runs, "mrr", **more)


def test_diagnoses_and_rerankers_take_what_evaluate_takes():
    found = assay.diagnose(JUDGED, Dataset(), protocol="rerank")
    assert (found.system, found.queries, found.measure) == ("run", 2, "ndcg@10")
    texts = {doc: f"text of {doc}" for _, doc, _ in [*JUDGED, *LISTED]}
    told = assay.evaluate_reranker(
        lambda query, docs: [float(doc.endswith(" a")) for doc in docs], {"q1": "one", "q2": "two"}, LISTED,
        Dataset(), documents=texts, measures="mrr",
    )  # fmt: skip
    assert (told.before["mrr"], told.after["mrr"]) == (0.75, 1.0)


def test_ranked_lists_are_compared_and_fused_from_tuples():
    assert assay.rbo(LISTED, SCORES) == {"q1": 1.0, "q2": 1.0}
    assert assay.fuse([LISTED, SCORES]).to_dict().keys() == SCORES.keys()


def test_pools_checks_and_calibrations_take_one_run_or_several(tmp_path):
    assay.write_run(assay.Run.from_dict(SCORES), tmp_path / "a.run")
    expected = [("q1", "b"), ("q2", "c")]
    for runs in (SCORES, [SCORES], {"a": LISTED}, str(tmp_path / "a.run"), (run for run in [SCORES, LISTED])):
        assert assay.pool(runs, depth=1) == expected
    with pytest.raises(assay.UsageError, match="no run to pool"):
        assay.pool([])
    for runs in (str(tmp_path / "a.run"), [tmp_path / "a.run"], {"a": SCORES}, SCORES, LISTED):
        assert [one.kind for one in assay.check(GRADES, runs).findings] == [
            one.kind for one in assay.check(GRADES, [SCORES]).findings
        ]
    people = [(f"q{i}", "d", i % 3) for i in range(60)]
    found = assay.calibrate(people, people, runs={"mine": [(f"q{i}", "d", 1.0) for i in range(60)]}, measures="mrr")
    assert found.exact == 1.0 and {one.system for one in found.systems} == {"mine"}


def test_a_sweep_of_tuples_reads_subtopics():
    rows = [ir_measures.Qrel("q", "a", 1, "1"), ir_measures.Qrel("q", "b", 1, "2")]
    found = assay.sweep(rows, [("q", "a", 2.0), ("q", "b", 1.0)], [1, 2], measures="subtopic_recall")
    assert [point.estimate for point in found.curve("run", "subtopic_recall").points] == [0.5, 1.0]
