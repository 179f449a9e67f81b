"""Experiments without judgments: runs, answers, times and agreement are there, and nothing is scored."""

from __future__ import annotations

import json

import pytest

from assay.analysis.experiment_runner import run_experiment
from assay.errors import UsageError
from assay.report.document import write
from assay.report.views import experiment as view
from assay.results.result import decode_result, encode_result
from experiments import lines, short_experiment

GRID = '[[retrieve]]\nmethod = "bm25"\n[[retrieve]]\nmethod = "run"\nfile = "other.jsonl"\n[generate]\nmethod = "extractive"\n'


@pytest.fixture
def finished(tmp_path):
    rows = [("q1", "b", 3.0), ("q1", "a", 2.0), ("q2", "a", 9.0), ("q2", "b", 8.0)]
    (tmp_path / "other.jsonl").write_text(lines({"query_id": q, "doc_id": d, "score": s} for q, d, s in rows))
    return run_experiment(short_experiment(tmp_path, GRID, judged=""))


def test_an_experiment_without_judgments_writes_runs_answers_times_and_no_quality(finished, tmp_path):
    place = finished.save(tmp_path / "out")
    assert sorted(path.name for path in place.parent.iterdir()) == ["result.json", "runs", "samples", "trace.jsonl"]
    stored = json.loads(place.read_text())
    assert "systems" not in stored or stored["systems"] == []
    assert [row["quality"] for row in stored["experiment"]["combinations"]] == [{}, {}]
    assert all(row["latency_ms"]["p95"] > 0 for row in stored["experiment"]["combinations"])
    assert stored["experiment"]["winner"] == "" and stored["experiment"]["measure"] == ""
    assert decode_result(json.loads(json.dumps(encode_result(finished.to_result())))).parts["experiment"].agreements


def test_agreement_is_the_mean_over_queries_of_overlap_and_rank_biased_overlap(finished):
    (one,) = finished.findings.agreements
    lists = {
        outcome.combination.name: [[outcome.chunks[n].id for n in hits.chunks] for hits in outcome.hits]
        for outcome in finished.outcomes
    }
    first, second = lists.values()
    shared = [len(set(a) & set(b)) / max(len(a), len(b)) for a, b in zip(first, second, strict=True)]
    assert one.overlap == pytest.approx(sum(shared) / 2)
    assert (one.k, one.queries, one.unit) == (10, 2, "chunks")
    assert one.rbo == pytest.approx(sum(rbo(a, b) for a, b in zip(first, second, strict=True)) / 2)


def rbo(a, b, p=0.9, depth=2000):
    """Webber and others' sum, far enough; beyond the shorter list both go on as they agreed so far (RBO_ext)."""
    s, l = sorted((len(a), len(b)))
    if not s:
        return 1.0 if not l else 0.0
    short, long = sorted((a, b), key=len)
    x = [0, *(len(set(short[:d]) & set(long[:d])) for d in range(1, l + 1))]
    total = 0.0
    for d in range(1, depth):
        below = (x[min(d, l)] + (x[s] * (d - s) / s if d > s else 0)) / d
        agree = below if d <= l else (x[l] - x[s]) / l + x[s] / s
        total += (1 - p) * p ** (d - 1) * agree
    return total


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_shown_has_times_and_agreement_and_no_measure(finished, lang):
    text = write(view.table(finished.findings), "table", lang)
    assert "overlap@10" in text or "重合" in text
    assert "0.0000" not in text.replace(f"{finished.findings.agreements[0].rbo:.4f}", "")
    assert "ndcg" not in text.lower()
    assert view.page(finished.findings)


def test_next_steps_name_the_commands_that_judge_lists_and_answers(finished, tmp_path):
    said = finished.next_steps(finished.save(tmp_path / "out"))
    assert [one.split(": ")[-1].split(" ")[:2] for one in said[::2]] == [["assay", "judge"], ["assay", "answers"]]


def test_a_judged_experiment_has_no_next_steps(tmp_path):
    found = run_experiment(short_experiment(tmp_path, '[retrieve]\nmethod = "bm25"\n'))
    assert found.next_steps(tmp_path / "result.json") == []
    assert found.findings.winner == "bm25"


def test_a_holdout_without_judgments_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holdout needs judgments"):
        run_experiment(short_experiment(tmp_path, "", judged=""), holdout=0.3)


def test_settings_of_an_evaluation_that_cannot_be_are_named(tmp_path):
    found = run_experiment(short_experiment(tmp_path, '[evaluate]\nmeasures = ["ndcg@10"]\n', judged=""))
    assert any("[evaluate] has no effect" in text for text in found.findings.warnings)
