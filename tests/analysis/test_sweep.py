"""Curves over k, and the k that they recommend."""

from __future__ import annotations

import pytest

import assay
from assay.analysis.sweep import sweep
from assay.data.judgments import Judgments
from assay.data.run import Run
from interval_oracles import mean_ends

# The batch of four queries of the specification: 10101 with 4 relevant, 10101 with 3, 01101 with 3, 10101 with 4.
PATTERNS = {"q1": ("10101", 4), "q2": ("10101", 3), "q3": ("01101", 3), "q4": ("10101", 4)}


def batch() -> tuple[Judgments, Run]:
    judged, ranked = {}, {}
    for query, (pattern, relevant) in PATTERNS.items():
        ranked[query] = {f"d{i}": float(-i) for i in range(5)}
        found = {f"d{i}": 1 for i, mark in enumerate(pattern) if mark == "1"}
        judged[query] = {**found, **{f"lost{i}": 1 for i in range(relevant - len(found))}}
    return Judgments.from_dict(judged), Run.from_dict(ranked, "batch")


def test_a_sweep_keeps_the_definitions_of_the_protocol():
    judged = Judgments.from_dict({f"q{i}": {"a": 2, "b": 1} for i in range(5)})
    run = Run.from_dict({f"q{i}": {"b": 2.0, "a": 1.0} for i in range(5)}, "r")
    from assay.analysis.protocols import read_protocol

    own = read_protocol('name = "own"\n[measures]\n"ndcg@10" = "ndcg(gain=\'exp\')@10"\n', "own.toml")
    point = sweep(judged, [run], [3], protocol=own).curve("r", "ndcg").points[0]
    assert point.estimate == pytest.approx(
        assay.evaluate(judged, run, ["ndcg(gain='exp')@3"]).mean()["ndcg(gain='exp')@3"]
    )


def test_a_sweep_gives_the_worked_example():
    found = sweep(*([batch()[0], [batch()[1]]]), [1, 3, 5, 10], protocol="rag")
    expected = {
        "precision": [0.75, 0.666667, 0.6, 0.3],
        "recall": [0.208333, 0.583333, 0.875, 0.875],
        "ndcg": [0.75, 0.660619, 0.767726, 0.767726],
    }
    for measure, values in expected.items():
        assert [p.estimate for p in found.curve("batch", measure).points] == pytest.approx(values, abs=1e-6)


def test_bands_stay_within_the_bounds_of_the_measure():
    judgments, run = batch()
    point = sweep(judgments, [run], [5], protocol="rag").curve("batch", "recall").points[0]
    assert (point.low, point.high) == pytest.approx(mean_ends([0.75, 1, 1, 0.75]), rel=1e-6)
    assert point.method == "score"


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
        with pytest.raises(assay.UsageError, match="whole numbers, 1 or more"):
            sweep(judgments, [run], k)
    with pytest.raises(assay.UsageError, match="leave out @k"):
        sweep(judgments, [run], [5], measures=["ndcg@10"])
