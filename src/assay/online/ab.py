"""A/B tests: every measure with its lift, and one decision for each treatment with all of its reasons.

A test is invalid if users were not assigned in the planned shares. Otherwise it is decided by its primary measure, its
guardrails, its size and its length; no winner is named before the planned end, unless the test is sequential.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from assay.errors import UnknownName, UsageError
from assay.messages import say
from assay.online.guardrails import check_guardrail, read_guardrail
from assay.online.readiness import find_waits
from assay.online.responses import check_responses, doubt_responses
from assay.online.trial_reading import read_trial
from assay.results.ab_test import (
    ABTest,
    Guardrail,
    MeasureTest,
    ResponseCheck,
    TrialDay,
    TrialRules,
    TrialVerdict,
)
from assay.stats.arms import Arm, Lift, lift, share_lift
from assay.stats.multiplicity import adjust
from assay.stats.trials import confidence_sequence, sample_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.engines.engine import Engine
    from assay.formats.trials import TrialData
    from assay.results.ab_test import LiftOutcome, Role, TrialDecision
    from assay.stats.intervals import Interval

_ROUNDING = 1e-6
_LOW = re.compile(
    r"(^|_)(ms|latency|seconds|errors?|failures?|cost|abandon\w*|bounces?|zero_results?|延迟|错误)(_|$|/)"
)


def ab_test(
    users: Any,
    measures: Sequence[str] | str = (),
    *,
    control: str | None = None,
    guardrails: Sequence[str | Guardrail] = (),
    lower_is_better: Iterable[str] = (),
    days: int | None = None,
    cuped: bool = True,
    timezone: str = "UTC",
    experiment: str | None = None,
    rules: TrialRules | None = None,
    engine: str | Engine | None = None,
    **changes: Any,
) -> ABTest:
    """Decide an A/B test from an event log, from one row per user or from sums per arm: a file, or a frame.

    The first measure is the primary one, which decides; the others are secondary. Those of a log are click measures
    (`any_click`, `ctr@10`), those of users are columns. A guardrail is a text such as
    `latency_ms<=+5%` or `revenue>=-2%`: what may not get worse by more than this. The control is the variant called so,
    unless another is named. `days` says how many full days the test ran, where the file does not. Rules may be given
    one by one: `ab_test(users, "clicks", planned=20_000, sequential=True)`. An `engine` reduces
    an event log to its users where it is: in Parquet, in tables or in frames of Spark.

    >>> import assay, polars as pl
    >>> users = pl.DataFrame({"variant": ["control", "new"] * 500, "bought": [0, 0, 0, 1] * 250})
    >>> found = assay.ab_test(users, "bought", days=14)
    >>> found.decision, found.test("bought").lift.absolute.estimate
    ('ship', 0.5)
    """
    rules = _rules(rules, changes)
    held = [one if isinstance(one, Guardrail) else read_guardrail(one) for one in guardrails]
    given = [measures] if isinstance(measures, str) else list(measures)
    named = [name.strip() for text in given for name in text.split(",")]
    wanted = list(dict.fromkeys([*named, *(one.measure for one in held)])) if named else []
    data = read_trial(users, wanted, cuped=cuped, timezone=timezone, experiment=experiment, engine=engine)
    base = _control(data, control)
    treatments = tuple(name for name in data.variants if name != base)
    if not treatments:
        raise UsageError(say("there is one variant only, {name!r}: nothing to compare it with", name=base))
    watched = {one.measure: one for one in held}
    if named and named[0] in watched:
        raise UsageError(
            say(
                "{name} is both the measure that decides and a guardrail: name another one first with -m", name=named[0]
            )
        )
    primary = next((name for name in data.measures if name not in watched), None)
    if primary is None:
        raise UsageError(say("every measure is a guardrail: name the one that decides with -m"))
    lower = _find_lower(data.measures, [*lower_is_better, *data.lower], held)
    design = _Design(base, treatments, primary, watched, lower, rules)
    users_by = data.users()
    ratio = sample_ratio(list(users_by.values()), _shares(rules, data.variants))
    tests, daily = _tests(data, design), _days(data, design)
    known = data.full_days if data.full_days is not None else _calendar_days(data.days)
    full = days if days is not None else known
    smallest = {name: _smallest(data, name) for name in data.measures}
    context = _Context(
        rules,
        mismatch=ratio.pvalue < rules.ratio_alpha,
        crossed=data.crossed > rules.most_crossed,
        users=sum(users_by.values()),
        smallest=smallest,
        days=full,
    )
    responses = check_responses(data.answers, base, treatments, rules.alpha)
    tests = _hold_back(doubt_responses(tests, responses), context)
    verdicts = tuple(
        _decide(one, [test for test in tests if test.treatment == one], context, responses) for one in treatments
    )
    return ABTest(
        control=base,
        treatments=treatments,
        rules=rules,
        users=users_by,
        ratio=ratio,
        tests=tests,
        verdicts=verdicts,
        days=daily,
        full_days=full,
        responses=responses,
        warnings=_warnings(data, rules, daily, tests, full, control=control),
    )


def _smallest(data: TrialData, measure: str) -> int:
    """The users of the smallest arm that a measure rests on: those who rated, say."""
    return min(int(arm.effective_n + _ROUNDING) for arm in data.arms(measure).values())


def _find_lower(measures: Sequence[str], named: Iterable[str], held: Sequence[Guardrail]) -> frozenset[str]:
    """Measures of which less is better: those named, those of such guardrails, and those whose names say so.

    The output marks them, and says what is taken to be better the higher it is.
    """
    asked = list(named)
    for name in asked:
        if name not in measures:
            raise UnknownName(say("measure"), name, measures)
    usual = [name for name in measures if _LOW.search(name.casefold())]
    high = {one.measure for one in held if not one.lower_is_better}
    low = {one.measure for one in held if one.lower_is_better}
    return frozenset((*asked, *low, *(name for name in usual if name not in high)))


def _calendar_days(days: Sequence[str]) -> int | None:
    """Days from the first to the last, both counted; None where the file has none."""
    if not days:
        return None
    return (date.fromisoformat(days[-1]) - date.fromisoformat(days[0])).days + 1


def _rules(rules: TrialRules | None, changes: dict[str, Any]) -> TrialRules:
    known = {entry.name for entry in fields(TrialRules)}
    for name in changes:
        if name not in known:
            raise UnknownName(say("rule"), name, known)
    return replace(rules or TrialRules(), **changes)


def _control(data: TrialData, given: Any) -> str:
    if given is not None:
        named = str(given)
        if named not in data.variants:
            raise UnknownName(
                say("variant"), named, data.variants, hint=say("the variants are {names}", names=list(data.variants))
            )
        return named
    usual = [name for name in data.variants if name.casefold() in {"control", "baseline", "对照", "对照组"}]
    if len(usual) == 1:
        return usual[0]
    raise UsageError(say("which variant is the control? Name it with --control: {names}", names=list(data.variants)))


def _shares(rules: TrialRules, variants: Sequence[str]) -> list[float] | None:
    if not rules.shares:
        return None
    for name in (*rules.shares, *variants):
        if name not in rules.shares or name not in variants:
            raise UnknownName(say("variant of the planned shares"), name, variants)
    return [rules.shares[name] for name in variants]


# Measures -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Design:
    """The arms that are compared, and the measures."""

    control: str
    treatments: tuple[str, ...]
    primary: str
    guardrails: Mapping[str, Guardrail]
    lower: frozenset[str]
    rules: TrialRules

    def role(self, measure: str) -> Role:
        if measure in self.guardrails:
            return "guardrail"
        return "primary" if measure == self.primary else "secondary"


def _tests(data: TrialData, design: _Design) -> tuple[MeasureTest, ...]:
    """Every measure of every treatment; the primary ones are one family, the secondary ones another.

    Guardrails are not corrected: all of them must hold, so that no lucky one can be picked.
    """
    found = [
        MeasureTest(measure, treatment, design.role(measure), measure in design.lower, one, "inconclusive")
        for measure in data.measures
        for treatment, one in _lifts(data, design, measure).items()
    ]
    for role in ("primary", "secondary"):
        family = [i for i, test in enumerate(found) if test.role == role]
        for i, test in zip(family, _correct([found[i] for i in family], design.rules), strict=True):
            found[i] = test
    return tuple(
        check_guardrail(test, design.guardrails[test.measure], design.rules) if test.role == "guardrail" else test
        for test in found
    )


def _lifts(data: TrialData, design: _Design, measure: str, until: str | None = None) -> dict[str, Lift]:
    arms = data.arms(measure, until)
    share = measure in data.shares
    return {
        one: measure_lift(arms[design.control], arms[one], 1 - design.rules.alpha, share=share)
        for one in design.treatments
        if design.control in arms and one in arms
    }


def measure_lift(control: Arm, treatment: Arm, confidence_level: float, *, share: bool) -> Lift:
    """The lift of one measure: of a share of users by Newcombe, else by the delta method."""
    if share:
        counts = [(round(arm.n * arm.means[0]), arm.n) for arm in (control, treatment)]
        return share_lift(counts[0], counts[1], confidence_level=confidence_level)
    return lift(control, treatment, confidence_level=confidence_level)


def _correct(family: Sequence[MeasureTest], rules: TrialRules) -> list[MeasureTest]:
    """Correct the p of a family and decide each; a sequential test has wider intervals instead."""
    if not family:
        return []
    pvalues = [1.0 if test.lift.pvalue is None else test.lift.pvalue for test in family]
    adjusted = adjust(pvalues, method=rules.correction).tolist()
    return [_decide_lift(test, p, rules, len(family)) for test, p in zip(family, adjusted, strict=True)]


def _decide_lift(test: MeasureTest, adjusted: float, rules: TrialRules, tests: int) -> MeasureTest:
    found = test.lift
    if found.pvalue is None or not found.absolute.estimate:
        return test
    if rules.sequential:
        always = _hold_always(found, rules, 1 - rules.alpha / tests)
        shown = always.excludes(0.0)
    else:  # a share's z test and its interval may disagree: both must show it
        always, shown = None, adjusted <= rules.alpha and found.absolute.excludes(0.0)
    better = (found.absolute.estimate > 0) != test.lower_is_better
    outcome: LiftOutcome = "inconclusive" if not shown else "better" if better else "worse"
    return replace(test, adjusted=adjusted, always=always, outcome=outcome)


def _hold_always(found: Lift, rules: TrialRules, level: float) -> Interval:
    estimate, error = found.absolute.estimate, found.standard_error
    assert estimate is not None and error is not None
    return confidence_sequence(estimate, error, n=sum(found.n), confidence_level=level, tuning=rules.tuning)


# Days -----------------------------------------------------------------------------------------------------------------


def _days(data: TrialData, design: _Design) -> tuple[TrialDay, ...]:
    shares = _shares(design.rules, data.variants)
    found = []
    for day in data.days:
        users = data.users(day)
        made = _lifts(data, design, design.primary, until=day)
        lifts = {one: _by_day(found, design) for one, found in made.items()}
        found.append(TrialDay(day, users, sample_ratio(list(users.values()), shares).pvalue, lifts))
    return tuple(found)


def _by_day(found: Lift, design: _Design) -> Interval:
    """The lift up to a day, with the interval that holds at every look where the test is sequential."""
    if not design.rules.sequential or found.pvalue is None or found.absolute.estimate is None:
        return found.absolute
    return _hold_always(found, design.rules, 1 - design.rules.alpha / len(design.treatments))


# The decision ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Context:
    """What holds for all treatments: whether users came in as planned, how many, and for how long."""

    rules: TrialRules
    mismatch: bool
    crossed: bool
    users: int
    smallest: Mapping[str, int]
    days: int | None

    def waits(self, measure: str) -> list[str]:
        """Why it is too early to decide by a measure."""
        found, least = find_waits(self.rules, users=self.users, days=self.days), self.rules.least_users
        if self.smallest[measure] < least:
            found.append(say("ab.few", measure=measure, users=self.smallest[measure], least=least))
        return [*found]


def _hold_back(tests: tuple[MeasureTest, ...], context: _Context) -> tuple[MeasureTest, ...]:
    """Say nothing of better or worse while a test of fixed size is too young for a verdict."""

    def waits(one: MeasureTest) -> bool:
        few = context.smallest[one.measure] < context.rules.least_users
        return one.role != "guardrail" and (few or (not context.rules.sequential and bool(context.waits(one.measure))))

    return tuple(replace(one, outcome="waiting") if waits(one) else one for one in tests)


def _decide(
    treatment: str, tests: Sequence[MeasureTest], context: _Context, responses: Sequence[ResponseCheck]
) -> TrialVerdict:
    if context.mismatch:
        return TrialVerdict(treatment, "invalid", (say("ab.mismatch"),))
    if context.crossed:
        return TrialVerdict(treatment, "invalid", (say("ab.crossed", most=context.rules.most_crossed),))
    primary = next(test for test in tests if test.role == "primary")
    broken = [test.measure for test in tests if test.outcome == "broken"]
    undecided = [test.measure for test in tests if test.outcome == "open"]
    guards = [say("ab.guardrail_broken", measure=name) for name in broken]
    guards += [say("ab.guardrail_open", measure=name) for name in undecided]
    waits, harmful = context.waits(primary.measure), primary.outcome == "worse" or bool(broken)
    if waits and not (context.rules.sequential and harmful):
        return TrialVerdict(treatment, "keep_running", (*waits, *guards))
    doubts = [
        say("ab.responses_differ", measure=primary.measure)
        for one in responses
        if one.differs and (one.measure, one.treatment) == (primary.measure, treatment)
    ]
    reasons = (say(f"ab.primary_{primary.outcome}", measure=primary.measure), *doubts, *guards)
    better = primary.outcome == "better" and not undecided
    open_ended = context.rules.sequential and not harmful
    decision: TrialDecision = (
        "do_not_ship" if harmful else "ship" if better else "keep_running" if open_ended else "do_not_ship"
    )
    return TrialVerdict(treatment, decision, reasons)


def _warnings(
    data: TrialData,
    rules: TrialRules,
    daily: Sequence[TrialDay],
    tests: Sequence[MeasureTest],
    days: int | None,
    *,
    control: str | None,
) -> tuple[str, ...]:
    found = [*data.notes]
    if control is None:
        found.append(say("ab.control_by_name", name=_control(data, None)))
    if rules.planned is None and not rules.sequential:
        found.append(say("ab.unplanned"))
    if days is None:
        found.append(say("ab.no_days", least=rules.least_days))
    odd = [one.day for one in daily if one.ratio_pvalue < rules.ratio_alpha / max(len(daily), 1)]
    if odd:
        found.append(say("ab.odd_days", days=odd))
    high = [
        test for test in tests
        if abs(test.lift.relative.estimate or 0.0) > rules.suspicious and test.outcome == "better"
    ]  # fmt: skip
    found += [say("ab.suspicious", measure=test.measure, lift=test.lift.relative.estimate) for test in high]
    found += [say("ab.corrected", measure=name) for name in data.corrected]
    found += [say("ab.not_corrected", measure=name) for name in data.uncorrected]
    plain = [name for name in data.measures if not any(t.lower_is_better for t in tests if t.measure == name)]
    found += [say("ab.higher", measures=plain)] if plain and not data.declared else []
    return tuple(found)
