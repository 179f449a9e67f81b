"""Tests by interleaving: which system's documents people click, and one decision for each system."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import UnknownName
from assay.formats.events.reading import open_log
from assay.messages import Said, say
from assay.online.readiness import find_waits
from assay.online.team_clicks import count_team_clicks
from assay.results.ab_test import TrialRules, TrialVerdict
from assay.results.interleaving import InterleavingTest, Preference
from assay.stats.arms import arm_of, user_deviation
from assay.stats.clustered import ratio_interval
from assay.stats.multiplicity import adjust
from assay.stats.signflip import sign_flip
from assay.stats.trials import confidence_sequence, sample_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import Events
    from assay.formats.events.reading import Places
    from assay.online.team_clicks import TeamClicks
    from assay.results.ab_test import LiftOutcome, TrialDecision
    from assay.stats.inputs import Ints
    from assay.stats.intervals import Interval

_USUAL = ("control", "baseline", "对照", "对照组")
_HALF = 0.5


def interleaving_test(
    events: Events | Places,
    *,
    control: str | None = None,
    days: int | None = None,
    experiment: str | None = None,
    rules: TrialRules | None = None,
    **changes: Any,
) -> InterleavingTest:
    """Decide a test by interleaving from an event log whose requests name the team of each result.

    Every system is compared with the control: the one called so, else the first by name. A request is won by the
    system with more clicked documents; the preference is the share of wins among requests that one of the two won.
    Its interval takes users as independent of each other, not their requests; p is that of flipping the sign of each
    user's wins less losses. Rules are those of `ab_test`, together or one by one.

    >>> import assay, polars as pl
    >>> teams = '{"method": "team-draft", "teams": {"a": "old", "b": "new"}}'
    >>> rows = [{"query_id": str(i), "user": f"u{i}", "action": "query", "teams": teams} for i in range(100)]
    >>> rows += [{"query_id": str(i), "action": "click", "doc_id": "b" if i % 4 else "a"} for i in range(100)]
    >>> log = pl.DataFrame(rows, infer_schema_length=None)
    >>> found = assay.interleaving_test(assay.Events.of(log), control="old", days=14)
    >>> found.decision, found.test("new").preference.estimate
    ('ship', 0.75)
    """
    rules = _rules(rules, changes)
    log = open_log(events)
    counted = count_team_clicks(log, experiment)
    base = _control(counted.teams, control)
    treatments = tuple(name for name in counted.teams if name != base)
    tests = _correct([_prefer(counted, base, one, rules) for one in treatments], rules)
    ratio = max((sample_ratio(counts) for counts in counted.first), key=lambda one: one.pvalue)
    full = counted.full_days if days is None else days
    users = len(np.unique(counted.cluster))
    early = find_waits(rules, users=users, days=full)
    waits = {one.treatment: [*early, *_few(one, rules)] for one in tests}
    mismatch = ratio.pvalue < rules.ratio_alpha and "balanced" not in counted.methods
    tests = [_hold_back(one, rules, waits[one.treatment]) for one in tests]
    return InterleavingTest(
        control=base,
        treatments=treatments,
        rules=rules,
        tests=tuple(tests),
        verdicts=tuple(_decide(one, base, rules, waits[one.treatment], mismatch=mismatch) for one in tests),
        methods=counted.methods,
        requests=len(counted.clicks),
        users=users,
        contested=counted.contested / counted.places if counted.places else 0.0,
        ratio=ratio,
        unit=counted.unit,
        full_days=full,
        warnings=(*log.remarks, *_warnings(counted, rules, base, full, named=control is not None)),
    )


def _rules(rules: TrialRules | None, changes: dict[str, Any]) -> TrialRules:
    known = {entry.name for entry in fields(TrialRules)}
    for name in changes:
        if name not in known:
            raise UnknownName(say("rule"), name, known)
    return replace(rules or TrialRules(), **changes)


def _control(teams: Sequence[str], given: str | None) -> str:
    if given is None:
        return next((name for name in teams if name.casefold() in _USUAL), teams[0])
    if given not in teams:
        raise UnknownName(say("team"), given, teams)
    return given


def _prefer(counted: TeamClicks, control: str, treatment: str, rules: TrialRules) -> Preference:
    """Wins and losses by user, and what they say."""
    old, new = (counted.clicks[:, counted.teams.index(name)] for name in (control, treatment))
    wins, losses = (_by_user(counted, better) for better in (new > old, new < old))
    decided = wins + losses > 0
    arm = arm_of(wins[decided], (wins + losses)[decided])
    found = ratio_interval(arm, bounds=(0.0, 1.0), confidence_level=1 - rules.alpha)
    pvalue = float(sign_flip((wins - losses)[decided][:, None]).pvalue[0]) if decided.any() else None
    n = int(decided.sum())
    always = _hold_always(found.estimate, user_deviation(arm) if n > 1 else None, n, rules, len(counted.teams) - 1)
    won, lost = int(wins.sum()), int(losses.sum())
    ties = len(counted.clicks) - won - lost
    return Preference(treatment, found, pvalue, won, ties, lost, n, "inconclusive", always=always)


def _by_user(counted: TeamClicks, which: np.ndarray[Any, np.dtype[np.bool_]]) -> Ints:
    return np.bincount(counted.cluster, weights=which).astype(np.int64)


def _hold_always(
    estimate: float | None, deviation: float | None, n: int, rules: TrialRules, tests: int
) -> Interval | None:
    if not rules.sequential or estimate is None or not deviation:
        return None
    level = 1 - rules.alpha / tests
    return confidence_sequence(
        estimate, deviation / math.sqrt(n), n=n, confidence_level=level, tuning=rules.tuning
    )  # fmt: skip


def _correct(family: list[Preference], rules: TrialRules) -> list[Preference]:
    """Correct the p of all systems, and say which are preferred; a sequential test has wider intervals instead."""
    adjusted = adjust([1.0 if one.pvalue is None else one.pvalue for one in family], method=rules.correction).tolist()
    return [
        replace(one, adjusted=None if one.pvalue is None else p, outcome=_outcome(one, p, rules))
        for one, p in zip(family, adjusted, strict=True)
    ]


def _few(one: Preference, rules: TrialRules) -> list[Said]:
    return [] if one.users >= rules.least_users else [say("interleaving.few", users=one.users, least=rules.least_users)]


def _outcome(one: Preference, adjusted: float, rules: TrialRules) -> LiftOutcome:
    if rules.sequential:
        shown = one.always is not None and one.always.excludes(_HALF)
    else:
        shown = adjusted <= rules.alpha and one.preference.excludes(_HALF)
    if not shown or one.preference.estimate is None:
        return "inconclusive"
    return "better" if one.preference.estimate > _HALF else "worse"


def _hold_back(one: Preference, rules: TrialRules, waits: Sequence[str]) -> Preference:
    """Say nothing of better or worse while a test of fixed size is too young for a verdict."""
    young = bool(waits) and (not rules.sequential or one.users < rules.least_users)
    return replace(one, outcome="waiting") if young else one


def _decide(one: Preference, control: str, rules: TrialRules, waits: Sequence[str], *, mismatch: bool) -> TrialVerdict:
    if mismatch:
        return TrialVerdict(one.treatment, "invalid", (say("interleaving.mismatch"),))
    if waits and not (rules.sequential and one.outcome == "worse"):
        return TrialVerdict(one.treatment, "keep_running", tuple(waits))
    decision: TrialDecision = "ship" if one.outcome == "better" else "do_not_ship"
    if rules.sequential and one.outcome == "inconclusive":
        decision = "keep_running"
    return TrialVerdict(one.treatment, decision, (say(f"interleaving.{one.outcome}", control=control),))


def _warnings(counted: TeamClicks, rules: TrialRules, control: str, days: int | None, *, named: bool) -> list[Said]:
    found = [] if named else [say("interleaving.control", name=control)]
    if "balanced" in counted.methods:
        found.append(say("interleaving.was_balanced"))
    share = counted.contested / counted.places if counted.places else 0.0
    if share < InterleavingTest.enough_contested:
        found.append(say("interleaving.few_contested", share=share, least=InterleavingTest.enough_contested))
    if rules.planned is None and not rules.sequential:
        found.append(say("ab.unplanned"))
    if days is None:
        found.append(say("ab.no_days", least=rules.least_days))
    if counted.unit != "user":
        found.append(say(f"log.cluster_{counted.unit}"))
    if counted.nobody:
        found.append(say("ab.log_nobody", n=counted.nobody))
    if counted.outside:
        found.append(say("interleaving.outside", n=counted.outside))
    return found
