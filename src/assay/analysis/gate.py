"""A gate: targets and "not worse than the baseline" as a decision for continuous integration."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.comparable import aligned
from assay.errors import InputError, UnknownName, UsageError
from assay.messages import Said, ends, say
from assay.results.gate import Gate, Outcome, RuleCheck
from assay.stats.bounded import upper_bound
from assay.stats.inputs import paired_differences
from assay.stats.intervals import Interval, mean_interval
from assay.stats.moments import NO_SPREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.protocol import Target
    from assay.data.scores import Column, Scores

MARGIN = 0.01
ALPHA = 0.05
_WORST_FIRST: tuple[Outcome, ...] = ("failed", "inconclusive")


@dataclass(frozen=True)
class Threshold:
    """The mean must be at least `at_least` (at most `at_most`); with `sure`, so must the end of its interval.

    At least the share `min_coverage` of what should have a value must have one (see `Scores.coverage`).
    """

    measure: str
    at_least: float | None = None
    at_most: float | None = None
    strict: bool = False
    sure: bool = False
    alpha: float = ALPHA
    min_coverage: float = 1.0


@dataclass(frozen=True)
class NotWorse:
    """The mean must not be lower than the baseline's by `margin` or more (higher, where lower is better).

    Of both systems, at least the share `min_coverage` of what should have a value must have one.
    """

    measure: str
    baseline: Scores
    margin: float = MARGIN
    alpha: float = ALPHA
    min_coverage: float = 1.0


Rule = Threshold | NotWorse


def gate(scores: Scores, rules: Sequence[Rule]) -> Gate:
    """Hold one system's scores against rules."""
    for rule in rules:
        if not 0 < rule.alpha < 0.5:  # noqa: PLR2004
            raise UsageError(f"alpha = {rule.alpha:g}: expected a number between 0 and 0.5")
        if not 0 <= rule.min_coverage <= 1:
            raise UsageError(f"min_coverage = {rule.min_coverage:g}: expected a share between 0 and 1")
    if not rules:
        raise UsageError(
            "the gate has no rule: give a threshold (--fail-under), a baseline (--not-worse-than), --targets or --rules"
        )
    checks = [_threshold(scores, rule) if isinstance(rule, Threshold) else _not_worse(scores, rule) for rule in rules]
    bases = {rule.baseline.name: rule.baseline for rule in rules if isinstance(rule, NotWorse)}
    doubts = [*scores.warnings, *(say("doubt.of_one", system=n, text=t) for n, b in bases.items() for t in b.warnings)]
    outcomes = {check.outcome for check in checks}
    worst: Outcome = next((one for one in _WORST_FIRST if one in outcomes), "passed")
    return Gate(scores.name, worst, tuple(checks), tuple(doubts), (scores,))


def _threshold(scores: Scores, rule: Threshold) -> RuleCheck:
    label = scores.label_of(rule.measure)
    value = scores[label]
    below = rule.at_most is not None
    goal = rule.at_most if rule.at_most is not None else rule.at_least
    sign = ("<" if rule.strict else "<=") if below else (">" if rule.strict else ">=")
    name = f"{rule.measure} {sign} {goal:g}"
    shown = _with_method(rule.measure, scores.about(label))
    gap = _gap(scores, label, rule.min_coverage, shown)
    if gap is not None and goal is not None:
        return RuleCheck(name, rule.measure, "failed", None if math.isnan(value) else value, None, gap)
    if goal is None or math.isnan(value):
        raise UsageError(f"{rule.measure}: there is no {'value' if goal is not None else 'threshold'} to check")
    interval = None
    outcome: Outcome = "passed" if _reaches(value, goal, below=below, strict=rule.strict) else "failed"
    if rule.sure and scores.about(label).is_mean:
        interval = _interval(scores, label, rule.alpha)
        outcome = _sure(interval, goal, below=below, strict=rule.strict)
    message = say(f"gate.{outcome}_threshold", measure=shown, value=value, sign=sign, goal=goal)
    return RuleCheck(name, rule.measure, outcome, value, interval, message)


def _gap(scores: Scores, label: str, least: float, shown: str) -> Said | None:
    """Say that too few values stand behind a mean; None where enough do."""
    found, counts, value = scores.coverage(label), scores.counts[label], scores[label]
    if found.share >= least:
        return None
    answers = scores.about(label).subject == "answers"
    absent = found.expected - found.scored - counts.failed - sum(counts.judged_by.values())
    others = [say("left.judged_by", n=n, method=say(f"method.{method}")) for method, n in counts.judged_by.items()]
    kinds = {"failed": counts.failed, "missing" if answers else "absent": absent}
    why = [*others, *(say(f"left.{name}", n=n) for name, n in kinds.items() if n)]
    told: dict[str, Any] = {"measure": shown, "of": found.expected, "why": why}
    told["things"] = say("gate.samples" if answers else "gate.queries")
    if math.isnan(value):
        return say("gate.no_value", **told)
    return say("gate.coverage", value=value, n=found.scored, share=found.share, least=least, **told)


def _interval(scores: Scores, label: str, alpha: float) -> Interval:
    """Interval of a mean; values that do not vary have the one that the bounds of the measure and their number give."""
    values, weights = scores.column(label), scores.weights
    found = mean_interval(values, weights=weights, confidence_level=1 - 2 * alpha)
    ends = scores.about(label).limits(values)
    if found.reason != NO_SPREAD or ends is None:
        return found
    low = upper_bound(-values, upper=-ends[0], alpha=alpha, weights=weights)
    high = upper_bound(values, upper=ends[1], alpha=alpha, weights=weights)
    return replace(found, low=None if low is None else -low, high=high, method="bounded", reason="")


def _with_method(measure: str, about: Column) -> str:
    """Name the method behind a measure of answers: a threshold made for one may be checked by another."""
    return f"{measure} [{about.method}]" if about.method else measure


def _reaches(value: float, goal: float, *, below: bool, strict: bool) -> bool:
    beyond = value < goal if below else value > goal
    return beyond or (value == goal and not strict)


def _sure(interval: Interval, goal: float, *, below: bool, strict: bool) -> Outcome:
    """Pass or fail when the whole interval does; one query alone decides nothing."""
    if interval.low is None or interval.high is None:
        return "inconclusive"
    worst, best = (interval.high, interval.low) if below else (interval.low, interval.high)
    if _reaches(worst, goal, below=below, strict=strict):
        return "passed"
    return "inconclusive" if _reaches(best, goal, below=below, strict=strict) else "failed"


def _not_worse(scores: Scores, rule: NotWorse) -> RuleCheck:
    """Non-inferiority: pass when the difference is surely above -margin, fail when it is surely not."""
    if not rule.margin >= 0:
        raise UsageError(f"margin {rule.margin:g}: expected a number from 0 on")
    label = scores.label_of(rule.measure)
    name = f"{rule.measure} not worse than {rule.baseline.name} by {rule.margin:g}"
    gap = _gap(scores, label, rule.min_coverage, rule.measure) or _gap_before(scores, label, rule)
    if gap is not None:
        value = scores[label]
        return RuleCheck(name, rule.measure, "failed", None if math.isnan(value) else value, None, gap)
    pair = [replace(rule.baseline, name=f"{rule.baseline.name} (baseline)"), scores]
    data = aligned(pair, [label])
    change = paired_differences(data.values[:, 0, 1], data.values[:, 0, 0]) * data.columns[0].direction
    interval = mean_interval(change, weights=data.weights, confidence_level=1 - 2 * rule.alpha)
    if interval.estimate is None:
        raise UsageError(f"{rule.measure}: no query has a value of both {scores.name} and {rule.baseline.name}")
    unchanged = not np.nan_to_num(change).any()
    outcome = "passed" if unchanged else _non_inferior(interval, rule.margin)
    kind = "unchanged" if unchanged else f"{outcome}_{_evidence(interval)}"
    message = say(
        f"gate.{kind}", measure=rule.measure, difference=interval.estimate, baseline=rule.baseline.name,
        margin=rule.margin, interval=ends(interval.low, interval.high, "+.4f"), n=interval.n,
    )  # fmt: skip
    return RuleCheck(name, rule.measure, outcome, interval.estimate, interval, message)


def _gap_before(scores: Scores, label: str, rule: NotWorse) -> Said | None:
    """Say that too few values of the baseline are there; one without the measure is refused elsewhere."""
    base = rule.baseline
    twin = next((own for own, text in base.definitions.items() if text == scores.definitions[label]), None)
    gap = None if twin is None else _gap(base, twin, rule.min_coverage, rule.measure)
    return None if gap is None else say("doubt.of_one", system=base.name, text=gap)


def _evidence(interval: Interval) -> str:
    """What a difference stands on: an interval, all queries alike, or too few of them."""
    if interval.low is not None:
        return "baseline"
    return "alike" if interval.reason == NO_SPREAD else "alone"


def _non_inferior(interval: Interval, margin: float) -> Outcome:
    if interval.reason == NO_SPREAD and interval.estimate is not None:  # every query moved by the same amount
        return "passed" if interval.estimate >= -margin else "failed"
    if interval.low is None or interval.high is None:
        return "inconclusive"
    if interval.low > -margin:
        return "passed"
    return "failed" if interval.high < -margin else "inconclusive"


def target_rules(targets: Sequence[Target], scores: Scores, **more: Any) -> list[Rule]:
    """Make rules of a protocol's targets, of those that the scores have; `more` goes into each `Threshold`."""
    return [
        Threshold(t.measure, at_most=t.target, strict=t.strict, **more)
        if t.below
        else Threshold(t.measure, at_least=t.target, strict=t.strict, **more)
        for t in targets
        if scores.find(t.measure) is not None
    ]


_KEYS = ("measure", "at_least", "at_most", "strict", "sure", "not_worse_than", "margin", "alpha", "min_coverage")


def read_rules(raw: Any, place: str, baseline: Callable[[str], Scores]) -> list[Rule]:
    """RuleCheck the rules of a TOML file; `baseline` reads the scores that a rule compares with."""
    entries = raw.get("rule") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("no rules", path=place, hint='expected [[rule]] with measure = "ndcg@10", at_least = 0.85')
    try:
        return [_rule(entry, baseline) for entry in entries]
    except UsageError as error:
        raise InputError(str(error), path=place) from None


def _rule(entry: Mapping[str, Any], baseline: Callable[[str], Scores]) -> Rule:
    for key, value in entry.items():
        if key not in _KEYS:
            raise UnknownName("key of a rule", key, _KEYS)
        wanted: tuple[type, ...] = (str,) if key in {"measure", "not_worse_than"} else (int, float)
        wanted = (bool,) if key in {"strict", "sure"} else wanted
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            raise UsageError(f"rule: {key} = {value!r}: expected {'text' if str in wanted else wanted[-1].__name__}")
    kinds = [key for key in ("at_least", "at_most", "not_worse_than") if key in entry]
    if "measure" not in entry or len(kinds) != 1:
        raise UsageError("a rule needs a measure and one of at_least, at_most, not_worse_than")
    rest = {key: value for key, value in entry.items() if key != "not_worse_than"}
    if kinds == ["not_worse_than"]:
        return NotWorse(baseline=baseline(entry["not_worse_than"]), **rest)
    return Threshold(**rest)
