"""A gate: targets and "not worse than the baseline" as a decision for continuous integration."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.comparable import align_systems
from assay.analysis.gate_rules import ALPHA, GivenRules, NotWorse, Place, Rule, Threshold, collect_rules
from assay.analysis.means import column_mean
from assay.analysis.stored import read_system
from assay.data.scores import Scores
from assay.errors import UsageError
from assay.messages import Said, ends, say
from assay.results.gate import Gate, Outcome, RuleCheck
from assay.stats.inputs import paired_differences
from assay.stats.intervals import Interval, difference_interval
from assay.stats.moments import NO_SPREAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.scores import Column

_WORST_FIRST: tuple[Outcome, ...] = ("failed", "inconclusive")


def gate(
    scores: Scores | Place,
    rules: GivenRules = (),
    *,
    at_most: Mapping[str, float] | None = None,
    targets: bool = False,
    not_worse_than: Scores | Place | None = None,
    measures: Any = (),
    margin: float | None = None,
    alpha: float = ALPHA,
    sure: bool = False,
    min_coverage: float | None = None,
    score: Callable[[str], Scores] | None = None,
) -> Gate:
    """Hold one system's scores, or those of a result file, against rules.

    `rules` are `Threshold` and `NotWorse`, {measure: least mean}, a TOML file of rules, or a list of any of these;
    `at_most` has the largest means. `targets` checks those of the protocol. `not_worse_than` is a baseline, scores or a
    result file, compared on `measures` (the primary one unless named); a loss below `margin` is tolerated. `score`
    evaluates a baseline that is named by the file of its run. `sure`, `alpha` and `min_coverage` (see `Threshold`) are
    those of all rules but `Threshold`, `NotWorse` and the rules of a file, which have their own.

    >>> import assay
    >>> scores = assay.evaluate({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, ["reciprocal_rank"])
    >>> assay.gate(scores, {"reciprocal_rank": 0.4}).passed
    True
    """
    held = scores if isinstance(scores, Scores) else read_system(scores)
    given = collect_rules(
        held, rules, at_most=at_most, targets=targets, not_worse_than=not_worse_than, measures=measures, margin=margin,
        alpha=alpha, sure=sure, min_coverage=min_coverage, score=score,
    )  # fmt: skip
    return _decide(held, given)


def _decide(scores: Scores, rules: Sequence[Rule]) -> Gate:
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
        raise UsageError(
            say("{measure}: there is no threshold to check against", measure=rule.measure)
            if goal is None
            else say("{measure}: there is no value to check", measure=rule.measure)
        )
    interval = None
    outcome: Outcome = "passed" if _reaches(value, goal, below=below, strict=rule.strict) else "failed"
    if rule.sure and scores.about(label).is_mean:
        interval = column_mean(scores, label, confidence_level=1 - 2 * rule.alpha)
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
        raise UsageError(say("margin {margin:g}: expected a number, 0 or more", margin=rule.margin))
    label = scores.label_of(rule.measure)
    name = say("gate.rule_not_worse", measure=rule.measure, baseline=rule.baseline.name, margin=rule.margin)
    gap = _gap(scores, label, rule.min_coverage, rule.measure) or _gap_before(scores, label, rule)
    if gap is not None:
        value = scores[label]
        return RuleCheck(name, rule.measure, "failed", None if math.isnan(value) else value, None, gap)
    pair = [replace(rule.baseline, name=say("{name} (baseline)", name=rule.baseline.name)), scores]
    data = align_systems(pair, [label])
    change = paired_differences(data.values[:, 0, 1], data.values[:, 0, 0]) * data.columns[0].direction
    reach = data.columns[0].reach(data.values)
    interval = difference_interval(change, reach=reach, weights=data.weights, confidence_level=1 - 2 * rule.alpha)
    if interval.estimate is None:
        raise UsageError(
            say(
                "{measure}: no query has a value for both {system} and {baseline}",
                measure=rule.measure,
                system=scores.name,
                baseline=rule.baseline.name,
            )
        )
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
