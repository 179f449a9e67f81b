"""What Python code hands over: frames, tuples, datasets, one run or several, and thresholds by name."""

from __future__ import annotations

import subprocess
import sys

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
    assert str(scores.protocol) == "trec with min_relevance = positive"
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
