"""What a gate can check: systems with their scores, loads of a bench, methods of a cost, and their numbers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from assay.analysis.bench import load_name
from assay.analysis.stored import read_systems
from assay.data.record import Record
from assay.data.scores import Scores
from assay.errors import UnknownName
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.messages import ends, say
from assay.results.bench import Bench
from assay.results.experiment import Findings
from assay.results.gate import Outcome, RuleCheck
from assay.results.money import Costs
from assay.results.result import Result, make_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.analysis.gate_rules import Place, Threshold
    from assay.results.bench import Load
    from assay.results.experiment import Row
    from assay.results.money import MethodCost
    from assay.stats.intervals import Interval

_AROUND = re.compile(r"latency_(?=p\d|mean)|cost_(?=per_)|(?<=\d)_ms$|(?<=mean)_ms$")
_NUMBERS = frozenset({"mean", "p50", "p95", "p99", "per_query", "per_1000", "coverage"})  # of a combination
_FREE_OF_FAILURES = frozenset({"errors", "error_rate", "coverage"})


@dataclass(frozen=True)
class Measured:
    """A value that was measured; None where it is not known."""

    value: float | None
    interval: Interval | None = None


@dataclass(frozen=True)
class Subject:
    """One thing that rules are checked on; `answered` is the share of its calls that worked."""

    name: str
    kind: Literal["system", "load", "method"]
    scores: Scores | None = None
    numbers: Mapping[str, Measured] = field(default_factory=dict)
    answered: float = 1.0
    place: str | None = None

    def knows(self, measure: str) -> bool:
        """Return whether it has a value of the measure, or a number of this name."""
        return (self.scores is not None and self.scores.find(measure) is not None) or self.number(measure) is not None

    def number(self, measure: str) -> Measured | None:
        """A number by its name: p95, p95_ms and latency_p95 are one, and so are per_query and cost_per_query."""
        return self.numbers.get(_AROUND.sub("", measure))


def find_subjects(given: Scores | Record | Place, *, name: str | None = None) -> list[Subject]:
    """List the systems of a result or its file; of a bench without systems its loads, of a cost its methods."""
    if isinstance(given, Scores):
        return [Subject(given.name, "system", given)]
    place = None if isinstance(given, Record) else os.fspath(given)
    result = _whole(given) if isinstance(given, Record) else load_result(Input.at(given))
    bench, costs = result.part(Bench), result.part(Costs)
    if result.systems or (bench is None and costs is None):
        systems = list(result.systems) if place is None else read_systems(place, name=name)
        rows = {row.name: row for one in result.every(Findings) for row in one.combinations}
        return [_system(s, rows.get(s.name), place) for s in systems]
    if bench is not None:
        return [_load(bench, load) for load in bench.loads]
    assert costs is not None
    return [Subject(one.method, "method", None, _cost_numbers(one)) for one in costs.costs]


def _system(scores: Scores, row: Row | None, place: str | None) -> Subject:
    answered = None if row is None else row.share_answered
    share = 1.0 if answered is None else answered
    return Subject(scores.name, "system", scores, _row_numbers(row), share, place)


def _whole(record: Record) -> Result:
    return record if isinstance(record, Result) else make_result(record)


def _load(bench: Bench, load: Load) -> Subject:
    title = say("gate.load", target=bench.target, load=load_name(load)) if len(bench.loads) > 1 else bench.target
    return Subject(title, "load", None, _load_numbers(load), load.count / max(load.count + load.failed, 1))


def _load_numbers(load: Load) -> dict[str, Measured]:
    calls = load.count + load.failed
    found = {name: Measured(*figure) for name, figure in load.figures().items()}
    return {**found, "coverage": Measured(load.count / calls if calls else None)}


def _cost_numbers(one: MethodCost) -> dict[str, Measured]:
    return {**_money(one.per_query), "per_day": Measured(one.per_day), "per_million_tokens": Measured(one.price)}


def _money(per_query: float | None) -> dict[str, Measured]:
    thousand = None if per_query is None else 1000 * per_query
    return {"per_query": Measured(per_query), "per_1000": Measured(thousand)}


def _row_numbers(row: Row | None) -> dict[str, Measured]:
    """Time and money of a combination of an experiment; a time that includes cached calls is unknown."""
    if row is None or not row.done:
        return {}
    times = {name: Measured(value if row.timed else None) for name, value in row.latency_ms.items()}
    share = {} if row.share_answered is None else {"coverage": Measured(row.share_answered)}
    return {**times, **_money(row.cost_per_query), **share}


def is_number(name: str) -> bool:
    """Return whether a rule is about a time, a cost or the share of answers, and not about a measure."""
    plain = _AROUND.sub("", name)
    return plain in _NUMBERS or plain.startswith(("first_token_p", "own_p"))


def check_number(subject: Subject, rule: Threshold) -> RuleCheck:
    """Compare a number with a threshold; with `sure`, its whole interval if it has one."""
    known = subject.number(rule.measure)
    if known is None:
        names = list(subject.numbers)
        raise UnknownName(say("gate.number"), rule.measure, names, hint=say("gate.numbers", names=names))
    name = f"{rule.measure} {rule.sign} {rule.goal:g}"
    told: dict[str, Any] = {"measure": rule.measure, "sign": rule.sign, "goal": rule.goal}
    least = 1.0 if rule.min_coverage is None else rule.min_coverage
    answered = 1.0 if _AROUND.sub("", rule.measure) in _FREE_OF_FAILURES else subject.answered
    if answered < least:
        message = say("gate.calls_failed", share=answered, least=least, **told)
        return RuleCheck(name, rule.measure, "failed", known.value, None, message)
    if known.value is None:
        return RuleCheck(name, rule.measure, "inconclusive", None, None, say("gate.unknown", **told))
    outcome, interval = _outcome(known, rule)
    message = say(f"gate.{outcome}_number", value=known.value, **told)
    if rule.sure and interval is not None and interval.low is not None and interval.high is not None:
        message = say("gate.with_interval", message=message, **_ends(interval))
    return RuleCheck(name, rule.measure, outcome, known.value, interval, message)


def _outcome(known: Measured, rule: Threshold) -> tuple[Outcome, Interval | None]:
    assert known.value is not None
    if not rule.sure or known.interval is None:
        return "passed" if rule.is_reached(known.value) else "failed", known.interval
    low, high = known.interval.low, known.interval.high
    worst, best = (high, low) if rule.below else (low, high)
    if worst is not None and rule.is_reached(worst):
        return "passed", known.interval
    return "failed" if best is not None and not rule.is_reached(best) else "inconclusive", known.interval


def _ends(interval: Interval) -> dict[str, Any]:
    return {"level": f"{100 * interval.confidence_level:.3g}", "ends": ends(interval.low, interval.high, ".4f")}
