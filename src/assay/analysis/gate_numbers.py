"""A gate for any result file: systems, the loads of a measurement, the costs of methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.analysis.bench import load_name
from assay.analysis.gate import gate
from assay.analysis.gate_rules import Threshold
from assay.analysis.stored import read_systems
from assay.data.record import Record
from assay.errors import UnknownName, UsageError
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.messages import say
from assay.results.bench import Bench
from assay.results.gate import Gate, Outcome, RuleCheck
from assay.results.money import Costs
from assay.results.result import Result, make_result

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.analysis.gate_rules import Place, Rule
    from assay.results.bench import Load
    from assay.results.money import MethodCost
    from assay.stats.intervals import Interval

    Known = Mapping[str, tuple[float | None, Interval | None]]

_LATENCY = "latency_"  # the targets of a protocol name percentiles so


def gate_result(
    result: Record | str | os.PathLike[str], rules: Sequence[Rule | Place] = (), *, name: str | None = None, **more: Any
) -> list[Gate]:
    """Hold everything in a result or its file against rules: each system, each load of a bench, each method of a cost.

    Of a bench there are p50, p95, p99, mean (milliseconds), throughput, errors and error_rate; of a cost per_query and
    per_day. `more` are the parameters of `gate`.

    >>> import assay
    >>> costs = assay.cost({"own": {"per_query": 0.002}}, queries_per_day=1000)
    >>> [(str(one.system), one.outcome) for one in assay.gate_result(costs, [assay.Threshold("per_day", at_most=1)])]
    [('no reranking', 'passed'), ('own', 'failed')]
    """
    read = load_result(Input.at(result)) if not isinstance(result, Record) else _whole(result)
    bench, costs = read.part(Bench), read.part(Costs)
    if read.systems or (bench is None and costs is None):
        systems = list(read.systems) if isinstance(result, Record) else read_systems(result, name=name)
        return [gate(scores, rules, **more) for scores in systems]
    thresholds = _thresholds(rules, more)
    if bench is not None:
        return [_decide(_load_title(bench, load), load.figures(), thresholds, load) for load in bench.loads]
    assert costs is not None
    return [_decide(one.method, _cost_numbers(one), thresholds) for one in costs.costs]


def _whole(record: Record) -> Result:
    return record if isinstance(record, Result) else make_result(record)


def _thresholds(rules: Sequence[Rule | Place], more: Mapping[str, Any]) -> list[Threshold]:
    found = [one for one in rules if isinstance(one, Threshold)]
    if len(found) < len(rules) or more.get("not_worse_than") is not None or more.get("targets"):
        raise UsageError(say("gate.thresholds_only"))
    if not found:
        raise UsageError(say("gate.threshold_needed"))
    return found


def _load_title(bench: Bench, load: Load) -> str:
    return say("gate.load", target=bench.target, load=load_name(load)) if len(bench.loads) > 1 else bench.target


def _cost_numbers(one: MethodCost) -> Known:
    return {"per_query": (one.per_query, None), "per_day": (one.per_day, None)}


def _decide(title: str, known: Known, rules: Sequence[Threshold], load: Load | None = None) -> Gate:
    checks = [_check(known, rule, load) for rule in rules]
    outcomes = {check.outcome for check in checks}
    worst: Outcome = "failed" if "failed" in outcomes else "inconclusive" if "inconclusive" in outcomes else "passed"
    return Gate(title, worst, tuple(checks))


def _check(known: Known, rule: Threshold, load: Load | None) -> RuleCheck:
    label = rule.measure.removeprefix(_LATENCY)
    if label not in known:
        raise UnknownName(say("gate.number"), rule.measure, known, hint=say("gate.numbers", names=list(known)))
    value, interval = known[label]
    below = rule.at_most is not None
    goal = rule.at_most if rule.at_most is not None else rule.at_least or 0.0
    sign = ("<" if rule.strict else "<=") if below else (">" if rule.strict else ">=")
    name = f"{rule.measure} {sign} {goal:g}"
    told: dict[str, Any] = {"measure": rule.measure, "sign": sign, "goal": goal}
    answered = 1.0 if load is None or label in {"errors", "error_rate"} else load.count / max(
        load.count + sum(load.errors.values()), 1)  # fmt: skip
    if answered < rule.min_coverage:
        message = say("gate.calls_failed", share=answered, least=rule.min_coverage, **told)
        return RuleCheck(name, rule.measure, "failed", value, None, message)
    if value is None:
        return RuleCheck(name, rule.measure, "inconclusive", None, None, say("gate.unknown", **told))
    outcome: Outcome = "passed" if _reaches(value, goal, below=below, strict=rule.strict) else "failed"
    if rule.sure and interval is not None:
        worst, best = (interval.high, interval.low) if below else (interval.low, interval.high)
        outcome = _surely(worst, best, goal, below=below, strict=rule.strict)
    return RuleCheck(name, rule.measure, outcome, value, interval, say(f"gate.{outcome}_number", value=value, **told))


def _reaches(value: float, goal: float, *, below: bool, strict: bool) -> bool:
    return (value < goal if below else value > goal) or (value == goal and not strict)


def _surely(worst: float | None, best: float | None, goal: float, *, below: bool, strict: bool) -> Outcome:
    if worst is None or best is None:
        return "inconclusive"
    if _reaches(worst, goal, below=below, strict=strict):
        return "passed"
    return "inconclusive" if _reaches(best, goal, below=below, strict=strict) else "failed"
