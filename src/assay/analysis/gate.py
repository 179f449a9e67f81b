"""A gate: targets and "not worse than the baseline" as a decision for continuous integration."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.analysis.comparable import labels_of
from assay.analysis.diagnose import choose_measure
from assay.analysis.gate_baselines import count_rivals, find_baselines, measure_in_common
from assay.analysis.gate_checks import check_not_worse, check_threshold
from assay.analysis.gate_numbers import check_number, find_subjects
from assay.analysis.gate_rules import (
    ALPHA,
    COVERAGE,
    GivenRules,
    NotWorse,
    Place,
    Rule,
    Targets,
    Threshold,
    collect_rules,
    target_rules,
)
from assay.analysis.gate_slices import SliceOf, restrict, split_queries
from assay.data.record import Record
from assay.data.scores import Scores
from assay.errors import UsageError
from assay.messages import say
from assay.results.gate import Baseline, Gate, Outcome, RuleCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from assay.analysis.gate_baselines import FoundBaseline
    from assay.analysis.gate_numbers import Subject
    from assay.formats.queries import Queries

_WORST_FIRST: tuple[Outcome, ...] = ("failed", "inconclusive")


def gate(
    scores: Scores | Record | Place,
    rules: GivenRules = (),
    *,
    at_most: Mapping[str, float] | None = None,
    targets: bool = False,
    not_worse_than: Scores | Place | Sequence[Scores | Place] | None = None,
    measures: Any = (),
    margin: float | None = None,
    alpha: float = ALPHA,
    sure: bool = False,
    min_coverage: float | None = None,
    slices: str | Sequence[str] = (),
    queries: Queries | Place | None = None,
    take: str = "newest",
    score: Callable[[str], Scores] | None = None,
) -> Gate:
    """Check one system's scores, or a result (also of a bench or a cost) or its file, against rules.

    `rules` are `Threshold` and `NotWorse`, {measure: least mean}, texts such as "p95_ms<=300", a TOML file of rules, or
    a list of any of these; `at_most` has the largest means. `targets` checks those of the protocol. `not_worse_than` is
    a baseline (scores, a result file, a folder of earlier results of which `take` chooses one) or several, compared on
    `measures` (the primary one unless named); `NotWorse` says how it is decided. `slices` are attributes of `queries`
    (a table or its file) for each of whose values all rules must hold as well. `score` evaluates a baseline that is
    named by the file of its run. `sure`, `alpha` and `min_coverage` (see `Threshold`) are those of all rules but
    `Threshold`, `NotWorse` and the rules of a file, which have their own.

    >>> import assay
    >>> scores = assay.evaluate({"q": {"d1": 1}}, {"q": {"d2": 2.0, "d1": 1.0}}, ["reciprocal_rank"])
    >>> assay.gate(scores, {"reciprocal_rank": 0.4}).passed
    True
    """
    found = gate_result(
        scores, rules, at_most=at_most, targets=targets, not_worse_than=not_worse_than, measures=measures,
        margin=margin, alpha=alpha, sure=sure, min_coverage=min_coverage, slices=slices, queries=queries, take=take,
        score=score,
    )  # fmt: skip
    if len(found) > 1:
        place = os.fspath(scores) if isinstance(scores, (str, os.PathLike)) else say("the result")
        raise UsageError(say("{place} holds {n} systems: use assay.gate_result(...)", place=place, n=len(found)))
    return found[0]


def gate_result(
    results: Scores | Record | Place | Sequence[Scores | Record | Place],
    rules: GivenRules = (),
    *,
    name: str | None = None,
    queries: Queries | Place | None = None,
    score: Callable[[str], Scores] | None = None,
    **more: Any,
) -> list[Gate]:
    """Check everything in results or their files against rules: systems, loads of a bench, methods of a cost.

    Of a bench there are p50_ms, p95_ms, p99_ms, mean_ms, throughput, errors, error_rate and coverage (the share of
    calls that worked); of a cost cost_per_query, cost_per_1000, cost_per_day and cost_per_million_tokens; systems of an
    experiment have times and costs beside their scores. Of several results, a rule is checked on those that have its
    number. `more` are the parameters of `gate`.

    >>> import assay
    >>> costs = assay.cost({"own": {"per_query": 0.002}}, queries_per_day=1000)
    >>> [(str(one.system), one.outcome) for one in assay.gate_result(costs, "cost_per_day<=1")]
    [('no reranking', 'passed'), ('own', 'failed')]
    """
    listed = [results] if isinstance(results, (Scores, Record, str, os.PathLike)) else list(results)
    subjects = [subject for one in listed for subject in find_subjects(one, name=name)]
    asked = collect_rules(rules, **more)
    if all(subject.scores is None for subject in subjects) and not all(isinstance(one, Threshold) for one in asked):
        raise UsageError(say("gate.thresholds_only"))
    own = {subject.kind: [rule for rule in asked if _concerns(rule, subject.kind, subjects)] for subject in subjects}
    return [_decide(subject, own[subject.kind], queries, score) for subject in subjects if own[subject.kind]]


def _concerns(rule: Rule | Targets, kind: str, subjects: Sequence[Subject]) -> bool:
    """Return whether a rule applies to this kind: one that has its number, else the first, to report the error."""
    if not isinstance(rule, Threshold):
        return kind == "system"
    knowing = {subject.kind for subject in subjects if subject.knows(rule.measure) or _tells_coverage(rule, subject)}
    return kind in knowing if knowing else kind == subjects[0].kind


def _tells_coverage(rule: Threshold, subject: Subject) -> bool:
    return rule.measure == COVERAGE and subject.scores is not None


def _decide(
    subject: Subject,
    rules: Sequence[Rule | Targets],
    queries: Queries | Place | None,
    score: Callable[[str], Scores] | None,
) -> Gate:
    checks: list[RuleCheck] = []
    bases: dict[str, Baseline] = {}
    for rule in _settle(subject, rules):
        if isinstance(rule, Threshold):
            checks += _check_threshold(subject, rule, queries)
        else:
            assert subject.scores is not None
            found = find_baselines(rule, subject.scores, score, subject.place)
            checks += _check_baselines(subject.scores, rule, found, queries)
            bases |= {base.title: _describe(base) for base in found if base.scores is not None}
    outcomes = {check.outcome for check in checks}
    worst: Outcome = next((one for one in _WORST_FIRST if one in outcomes), "passed")
    own = () if subject.scores is None else (subject.scores,)
    warnings = tuple(text for scores in own for text in scores.warnings)
    return Gate(subject.name, worst, tuple(checks), warnings, tuple(bases.values()), own)


def _describe(base: FoundBaseline) -> Baseline:
    assert base.scores is not None
    return Baseline(base.title, base.taken, base.scores.warnings)


def _settle(subject: Subject, rules: Sequence[Rule | Targets]) -> Iterator[Rule]:
    """The rules for one system: with its protocol's targets, and one measure per rule."""
    for rule in rules:
        if isinstance(rule, Targets):
            yield from _targets(subject, rule)
        elif isinstance(rule, NotWorse):
            assert subject.scores is not None
            yield from (replace(rule, measure=one) for one in _measures(subject.scores, rule))
        else:
            yield rule


def _measures(scores: Scores, rule: NotWorse) -> list[str]:
    """The measures that a rule asks for, as it calls them: the one named, all of a list, or the primary one.

    Where the baselines lack the primary one, it is the only one that they have.
    """
    if not rule.measure:
        primary = choose_measure(scores, None)
        return [*(measure_in_common(rule.baseline, primary) or (primary,))]
    labels = labels_of(scores, rule.measure)
    return [rule.measure] if len(labels) == 1 else labels


def _targets(subject: Subject, asked: Targets) -> list[Threshold]:
    assert subject.scores is not None
    protocol = subject.scores.protocol
    found = [rule for rule in target_rules(protocol.targets, **asked.more) if subject.knows(rule.measure)]
    if not found:
        raise UsageError(
            say(
                "protocol {protocol} has no target that {system} has a value for",
                protocol=protocol.name,
                system=subject.name,
            )
        )
    return found


def _check_threshold(subject: Subject, rule: Threshold, queries: Queries | Place | None) -> list[RuleCheck]:
    scores = subject.scores
    measured = scores is not None and (scores.find(rule.measure) is not None or _tells_coverage(rule, subject))
    if scores is None or (not measured and subject.number(rule.measure) is not None):
        return [] if rule.slice else [check_number(subject, rule)]
    if not rule.slice:
        return [check_threshold(scores, rule)]
    parts = split_queries(rule.slice, queries, scores)
    each = replace(rule, among=rule.among * len(parts))
    return [_of_slice(part, check_threshold(restrict(scores, part.queries), each)) for part in parts]


def _check_baselines(
    scores: Scores, rule: NotWorse, found: Sequence[FoundBaseline], queries: Queries | Place | None
) -> list[RuleCheck]:
    """Compare a system with each baseline on each slice; the level is corrected for the number of comparisons."""
    among = rule.among * count_rivals(found, scores.label_of(rule.measure))
    if not rule.slice:
        return [check_not_worse(scores, replace(rule, among=among), base) for base in found]
    parts = split_queries(rule.slice, queries, scores)
    each = replace(rule, among=among * len(parts))
    return [
        _of_slice(part, check_not_worse(restrict(scores, part.queries), each, _restrict(base, part)))
        for part in parts
        for base in found
    ]


def _restrict(base: FoundBaseline, part: SliceOf) -> FoundBaseline:
    return base if base.scores is None else replace(base, scores=restrict(base.scores, part.queries))


def _of_slice(part: SliceOf, check: RuleCheck) -> RuleCheck:
    """The same check, named after the slice."""
    name, message, power = (
        say("gate.of_slice", text=text, slice=part.name) if text else ""
        for text in (check.name, check.message, check.power)
    )
    return replace(check, slice=part.name, name=name, message=message, power=power)
