"""Result files: what is written is found again."""

from __future__ import annotations

import pytest

import assay
from assay.errors import NotComparable, UsageError
from commands import run_assay


def test_aliases_work_with_result_files(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(6)}
    scores = assay.evaluate(judged, {q: {"a": 1.0} for q in judged}, ["map", "nDCG@10"], name="a")
    assay.write_result(scores, tmp_path / "a.json")
    back = assay.read_result(tmp_path / "a.json")[0]
    assert back["map"] == 1.0
    assert (
        run_assay(
            "gate", "a.json", "--fail-under", "MAP=0.2", "--fail-under", "ndcg_cut_10=0.2", cwd=tmp_path
        ).returncode
        == 0
    )
    done = run_assay("compare", "old=a.json", "new=a.json", "-m", "map", "-m", "nDCG@10", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_weights_of_queries_that_only_one_run_has_are_kept(tmp_path):
    judged = {f"q{i}": {"a": 1} for i in range(3)}
    weights = {"q0": 1.0, "q1": 2.0, "q2": 3.0, "extra": 4.0}
    pair = [
        assay.evaluate(judged, {q: {"a": 1.0} for q in queries}, ["coverage@5"], weights=weights, name=name)
        for name, queries in (("few", ["q0", "q1", "q2"]), ("more", ["q0", "q1", "q2", "extra"]))
    ]
    assay.write_result(pair, tmp_path / "both.json")
    assert [s["coverage@5"] for s in assay.read_result(tmp_path / "both.json")] == [s["coverage@5"] for s in pair]


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
