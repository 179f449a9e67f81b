"""Check one rule on one system, giving an outcome with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.comparable import align_systems
from assay.analysis.decision import too_few
from assay.analysis.gate_rules import COVERAGE, MARGIN, NotWorse, Threshold
from assay.analysis.means import column_mean
from assay.errors import UsageError
from assay.messages import Said, ends, say, word
from assay.results.gate import Outcome, RuleCheck
from assay.stats.guarded import detectable_drop, guard_interval
from assay.stats.inputs import paired_differences
from assay.stats.moments import NO_SPREAD, Moments, moments
from assay.stats.power import design, sample_size

if TYPE_CHECKING:
    from assay.analysis.gate_baselines import FoundBaseline
    from assay.data.scores import Column, Scores
    from assay.data.segments import Floats
    from assay.stats.intervals import Interval
    from assay.stats.power import Design

_DIGITS = 2  # of a number of queries that is needed


def check_threshold(scores: Scores, rule: Threshold) -> RuleCheck:
    """Compare a mean, or with `sure` its whole interval, with a threshold."""
    if rule.measure == COVERAGE and scores.find(COVERAGE) is None:
        return check_coverage(scores, rule)
    label = scores.label_of(rule.measure)
    value, name, shown = scores[label], name_threshold(rule), _with_method(rule.measure, scores.about(label))
    gap = _gap(scores, label, rule.min_coverage, shown)
    if gap is not None or math.isnan(value):
        why = gap or say("gate.applies_to_none", measure=shown, n=len(scores.query_ids))
        return RuleCheck(name, rule.measure, "failed", None if math.isnan(value) else value, None, why)
    told: dict[str, Any] = {"measure": shown, "value": value, "sign": rule.sign, "goal": rule.goal}
    if not (rule.sure and scores.about(label).is_mean):
        outcome: Outcome = "passed" if rule.is_reached(value) else "failed"
        return RuleCheck(name, rule.measure, outcome, value, None, say(f"gate.{outcome}_threshold", **told))
    interval = column_mean(scores, label, confidence_level=1 - 2 * rule.alpha / rule.among, sure=True)
    outcome = _surely(interval, rule)
    key = f"gate.{outcome}_sure" if interval.low is not None else "gate.inconclusive_threshold"
    message = say(key, interval=_describe_interval(interval, "", rule.among), **told)
    return RuleCheck(name, rule.measure, outcome, value, interval, message, among=rule.among)


def check_coverage(scores: Scores, rule: Threshold) -> RuleCheck:
    """Compare the share of values present, of the measure that has the fewest, with a threshold."""
    found = {label: scores.coverage(label) for label in scores.labels}
    label = min(found, key=lambda one: found[one].share)
    outcome: Outcome = "passed" if rule.is_reached(found[label].share) else "failed"
    message = say(
        f"gate.{outcome}_coverage", measure=label, value=found[label].share, n=found[label].scored,
        of=found[label].expected, things=_things(scores, label), sign=rule.sign, goal=rule.goal,
    )  # fmt: skip
    return RuleCheck(name_threshold(rule), rule.measure, outcome, found[label].share, None, message)


def name_threshold(rule: Threshold) -> str:
    """The rule as it could have been written."""
    return f"{rule.measure} {rule.sign} {rule.goal:g}"


def _things(scores: Scores, label: str) -> str:
    return say("gate.samples" if scores.about(label).subject == "answers" else "gate.queries")


def _gap(scores: Scores, label: str, least: float | None, shown: str) -> Said | None:
    """Return a message if a mean has too few values; None if it has enough."""
    found, counts, value = scores.coverage(label), scores.counts[label], scores[label]
    wanted = 1.0 if least is None else least
    if found.share >= wanted:
        return None
    answers = scores.about(label).subject == "answers"
    absent = found.expected - found.scored - counts.failed - sum(counts.judged_by.values())
    others = [say("left.judged_by", n=n, method=word("method", method)) for method, n in counts.judged_by.items() if n]
    kinds = {"failed": counts.failed, "missing" if answers else "absent": absent}
    why = [*others, *(say(f"left.{name}", n=n) for name, n in kinds.items() if n)]
    told: dict[str, Any] = {"measure": shown, "of": found.expected, "why": why, "things": _things(scores, label)}
    if math.isnan(value):
        return say("gate.no_value", **told)
    return say("gate.coverage", value=value, n=found.scored, share=found.share, least=wanted, **told)


def _with_method(measure: str, about: Column) -> str:
    """Name the method behind a measure of answers: a threshold made for one may be checked by another."""
    return f"{measure} [{about.method}]" if about.method else measure


def _surely(interval: Interval, rule: Threshold) -> Outcome:
    """Pass or fail when the whole interval does; one query alone decides nothing."""
    if interval.low is None or interval.high is None:
        return "inconclusive"
    worst, best = (interval.high, interval.low) if rule.below else (interval.low, interval.high)
    return "passed" if rule.is_reached(worst) else "inconclusive" if rule.is_reached(best) else "failed"


def _describe_interval(interval: Interval, sign: str, among: int) -> str:
    """An interval with its level, and for how many checks that is corrected."""
    told = {"level": f"{100 * interval.confidence_level:.3g}", "ends": ends(interval.low, interval.high, f"{sign}.4f")}
    return say("gate.interval_of_many", among=among, **told) if among > 1 else say("gate.interval", **told)


# Baselines ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    """What a comparison with a baseline found: differences of queries, above 0 where they are better."""

    values: Floats
    interval: Interval
    effective_n: float
    clusters: int | None
    detectable: float | None
    needed: int | None


def check_not_worse(scores: Scores, rule: NotWorse, base: FoundBaseline) -> RuleCheck:
    """Fail where a drop is shown, pass where one that matters is ruled out; see `NotWorse`."""
    name = _name_baseline(rule, base)
    if base.scores is None:
        return RuleCheck(name, rule.measure, "inconclusive", None, None, base.taken)
    label = scores.label_of(rule.measure)
    gap = _gap(scores, label, rule.min_coverage, rule.measure) or _gap_before(scores, label, rule, base)
    if gap is not None:
        value = scores[label]
        return RuleCheck(name, rule.measure, "failed", None if math.isnan(value) else value, None, gap)
    found = _change(scores, label, rule, base)
    outcome, reason = _decide(found, rule)
    message = _explain(found, rule, base, reason)
    return RuleCheck(
        name, rule.measure, outcome, found.interval.estimate, found.interval, message, detectable=found.detectable,
        needed=found.needed, power=_power(found, rule, base), among=rule.among,
    )  # fmt: skip


def _name_baseline(rule: NotWorse, base: FoundBaseline) -> str:
    key = "gate.rule_no_drop" if rule.margin is None else "gate.rule_not_worse"
    return say(key, measure=rule.measure, baseline=base.title, margin=rule.tolerance)


def _gap_before(scores: Scores, label: str, rule: NotWorse, base: FoundBaseline) -> Said | None:
    """Return a message if the baseline has too few values; one without the measure is refused elsewhere."""
    assert base.scores is not None
    twins = base.scores.definitions.items()
    twin = next((own for own, text in twins if text == scores.definitions[label]), None)
    gap = None if twin is None else _gap(base.scores, twin, rule.min_coverage, rule.measure)
    return None if gap is None else say("doubt.of_one", system=base.title, text=gap)


def _change(scores: Scores, label: str, rule: NotWorse, base: FoundBaseline) -> _Change:
    assert base.scores is not None
    before = replace(base.scores, name=say("{name} (baseline)", name=base.scores.name))
    data = align_systems([before, scores], [label])
    change = paired_differences(data.values[:, 0, 1], data.values[:, 0, 0]) * data.columns[0].direction
    reach = data.columns[0].reach(data.values[:, 0].ravel())
    alpha = rule.alpha / rule.among
    units: dict[str, Any] = {"weights": data.weights, "clusters": data.clusters}
    of = moments(change, **units)
    interval = guard_interval(change, reach, confidence_level=1 - 2 * alpha, **units)
    if interval.estimate is None:
        raise UsageError(
            say(
                "{measure}: no query has a value for both {system} and {baseline}",
                measure=rule.measure,
                system=scores.name,
                baseline=base.title,
            )
        )
    drop = detectable_drop(interval, of)
    needed = _count_needed(rule, design(change, **units), alpha, reach, of)
    return _Change(change, interval, of.effective_n, of.clusters, drop, needed)


def _count_needed(rule: NotWorse, plan: Design, alpha: float, reach: float | None, of: Moments) -> int | None:
    """How many queries show with 80% probability that a system which is no worse is not worse by the margin."""
    if not rule.tolerance or not of.effective_n:
        return None
    least = _least(rule.tolerance, alpha, reach, varied=bool(plan.deviation))
    least = None if least is None else math.ceil(least * of.n / of.effective_n)
    if not plan.deviation:
        return least
    told: dict[str, Any] = {"alpha": alpha, "alternative": "greater", "design_effect": plan.design_effect}
    found = sample_size(rule.tolerance, plan.deviation, **told).n
    return None if found is None else max(int(found), least or 0)


def _least(margin: float, alpha: float, reach: float | None, *, varied: bool) -> float | None:
    """How many queries without a loss bound it by the margin, at the risk of `guard_interval`; None if unknown."""
    if reach is None or margin >= reach:
        return None
    return math.log(min(2 * alpha, 0.5) if varied else alpha) / math.log1p(-margin / reach)


def _decide(found: _Change, rule: NotWorse) -> tuple[Outcome, str]:
    """The outcome, and the reason for it by its key."""
    interval, known = found.interval, found.values[~np.isnan(found.values)]
    if not (known < 0).any():
        return _decide_without_losses(found, rule, "none_worse" if known.any() else "unchanged")
    if interval.low is None or interval.high is None or interval.estimate is None:
        return "inconclusive", "alike" if interval.reason == NO_SPREAD else "alone"
    if interval.high < 0 and interval.estimate <= -rule.tolerance:
        return "failed", "drop"
    if too_few(found.effective_n):
        return "inconclusive", _few(found)
    if interval.low > -_drop_to_exclude(found, rule):
        return "passed", "no_drop" if rule.margin is None else "not_worse"
    return "inconclusive", "small_drop" if interval.high < 0 else "open" if rule.margin is None else "unclear"


def _decide_without_losses(found: _Change, rule: NotWorse, reason: str) -> tuple[Outcome, str]:
    """Pass where no query is worse; against a margin, only if so many would have shown a loss of that size."""
    low = found.interval.low
    if too_few(found.effective_n):
        return "inconclusive", _few(found)
    if rule.margin is not None and (low is None or low <= -rule.margin):
        return "inconclusive", f"{reason}_open"
    return "passed", reason if low is None or low >= 0 else f"{reason}_seen"


def _few(found: _Change) -> str:
    return "few" if found.clusters is None else "few_clusters"


def _drop_to_exclude(found: _Change, rule: NotWorse) -> float:
    """The drop that must be ruled out to pass: the margin that is given, else what so many queries can show."""
    return rule.margin if rule.margin is not None else max(found.detectable or 0.0, MARGIN)


def _explain(found: _Change, rule: NotWorse, base: FoundBaseline, reason: str) -> str:
    interval = found.interval
    told: dict[str, Any] = {"measure": rule.measure, "baseline": base.title, "n": interval.n, "margin": rule.tolerance}
    seen = {"unseen": -(interval.low or 0.0), "better": int((found.values > 0).sum()), "clusters": found.clusters}
    if reason.startswith("unchanged"):
        return say(f"gate.{reason}", **told, **seen)
    head = say("gate.differs", difference=interval.estimate, **told)
    if interval.low is not None:
        head = say("gate.differs_by", head=head, interval=_describe_interval(interval, "+", rule.among))
    return say(f"gate.because_{reason}", head=head, drop=_drop_to_exclude(found, rule), **told, **seen)


def _power(found: _Change, rule: NotWorse, base: FoundBaseline) -> str:
    """Say which drop so many queries catch, and how many the margin needs; nothing where neither is known."""
    n, short = found.interval.n, found.needed is not None and found.needed > found.interval.n
    told: dict[str, Any] = {"measure": rule.measure, "baseline": base.title, "n": n}
    if short:
        told |= {"needed": _two_digits(found.needed or 0), "margin": rule.tolerance}
    if found.detectable is None:
        return say("gate.needs", **told) if short else ""
    return say("gate.catches_and_needs" if short else "gate.catches", drop=found.detectable, **told)


def _two_digits(n: int) -> int:
    """A number of queries with two digits: the spread behind it is an estimate."""
    scale: int = 10 ** max(len(str(n)) - _DIGITS, 0)
    return -(-n // scale) * scale
