"""A gate for the results of bench and cost."""

from __future__ import annotations

import pytest

import assay
from assay.results.bench import Bench, Latency, Load
from assay.stats.intervals import Interval


def load(p95: float, *, errors: int = 0, low: float | None = None, high: float | None = None) -> Load:
    point = Interval(
        p95,
        low if low is not None else p95,
        high if high is not None else p95,
        confidence_level=0.95,
        method="order",
        n=100,
    )
    return Load("closed", 1, None, None, 1.0, 100, {"timeout": errors} if errors else {}, {}, 100.0,
                Latency(point, point, point, p95, 0.0), None, None)  # fmt: skip


def outcomes(record, *rules, **more) -> list[str]:
    return [one.outcome for one in assay.gate_result(record, list(rules), **more)]


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (assay.Threshold("p95", at_most=300), "passed"),
        (assay.Threshold("latency_p95", at_most=300), "passed"),
        (assay.Threshold("p95", at_most=200), "failed"),
        (assay.Threshold("p95", at_most=250, strict=True), "failed"),
        (assay.Threshold("throughput", at_least=100), "passed"),
        (assay.Threshold("errors", at_most=0), "passed"),
        (assay.Threshold("mean", at_most=249), "failed"),
    ],
)
def test_a_load_is_held_against_thresholds(rule, outcome):
    assert outcomes(Bench("x", (load(250.0),)), rule) == [outcome]


def test_the_whole_interval_decides_where_one_must_be_sure():
    wide = Bench("x", (load(250.0, low=200.0, high=400.0),))
    assert outcomes(wide, assay.Threshold("p95", at_most=300, sure=True)) == ["inconclusive"]
    assert outcomes(wide, assay.Threshold("p95", at_most=400, sure=True)) == ["passed"]
    assert outcomes(wide, assay.Threshold("p95", at_most=199, sure=True)) == ["failed"]


def test_a_percentile_of_the_calls_that_worked_does_not_hide_those_that_failed():
    failing = Bench("x", (load(250.0, errors=25),))
    assert outcomes(failing, assay.Threshold("p95", at_most=300)) == ["failed"]
    assert outcomes(failing, assay.Threshold("p95", at_most=300, min_coverage=0.8)) == ["passed"]
    assert outcomes(failing, assay.Threshold("error_rate", at_most=0.2)) == ["passed"]


def test_a_cost_that_is_not_known_decides_nothing():
    costs = assay.cost(
        {"known": {"per_query": 0.002}, "open": {"price": 1.0, "tokens": 9, "output_tokens": 5}}, queries_per_day=1000
    )
    found = assay.gate_result(costs, [assay.Threshold("per_day", at_most=3)])
    assert [one.outcome for one in found] == ["passed", "passed", "inconclusive"]


def test_what_such_a_result_has_not_is_named():
    with pytest.raises(assay.UnknownName, match=r"unknown number 'ndcg@10'.*p50, p95, p99"):
        assay.gate_result(Bench("x", (load(1.0),)), [assay.Threshold("ndcg@10", at_least=1)])
    with pytest.raises(assay.UsageError, match="thresholds only"):
        assay.gate_result(Bench("x", (load(1.0),)), [], targets=True)
    with pytest.raises(assay.UsageError, match="has no rule"):
        assay.gate_result(Bench("x", (load(1.0),)), [])


def test_the_command_gates_bench_and_cost_files(call, tmp_path):
    Bench("mine:search", (load(250.0),)).save(tmp_path / "bench.json")
    assay.cost({"own": {"per_query": 0.002}}).save(tmp_path / "cost.json")
    code, out, _ = call("gate", "bench.json", "--fail-over", "p95=300")
    assert (code, "p95 is 250 (<= 300)" in out) == (0, True)
    assert call("gate", "bench.json", "--fail-over", "p95=200", "-q")[:2] == (1, "")
    assert call("gate", "cost.json", "--fail-over", "per_query=0.001")[0] == 1
    code, out, _ = call("cost", "cost.json")
    assert (code, "own" in out) == (0, True)


def test_a_system_among_those_given_is_the_baseline(call, tmp_path):
    (tmp_path / "q").write_text("".join(f"q{i} 0 a 1\n" for i in range(20)))
    for name, docs in (("old", "ax"), ("new", "xa")):
        lines = [f"q{i} Q0 {d} {k} {9 - k} {name}\n" for i in range(20) for k, d in enumerate(docs)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    code, out, _ = call("gate", "q", "old.run", "new.run", "--baseline", "old", "-m", "rr")
    assert (code, "Gate for new: failed" in out, "Gate for old" in out) == (1, True, False)
    assert call("gate", "q", "old.run", "new.run", "--baseline", "new", "-m", "rr")[0] == 0
