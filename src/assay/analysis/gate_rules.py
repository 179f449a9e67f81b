"""The rules of a gate: thresholds and baselines as given in Python, in a TOML file or by the targets of a protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.comparable import labels_of
from assay.analysis.diagnose import choose_measure
from assay.analysis.stored import read_system
from assay.data.scores import Scores
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.detect import is_result_file
from assay.formats.files import read_toml
from assay.measures import parse, split_measures
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.data.protocol import Protocol, Target
    from assay.measures import Measure

MARGIN = 0.01
ALPHA = 0.05
Place = str | os.PathLike[str]


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
GivenRules = Rule | Mapping[str, float] | Place | Sequence[Rule | Mapping[str, float] | Place]


def collect_rules(
    scores: Scores,
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
) -> list[Rule]:
    """Put all rules for one system together, those of files last; the parameters are those of `gate`."""
    common: dict[str, Any] = {"alpha": alpha, "min_coverage": 1.0 if min_coverage is None else min_coverage}
    given = _each(rules)
    files = [one for one in given if isinstance(one, (str, os.PathLike))]
    found: list[Rule] = []
    for one in given:
        if isinstance(one, Mapping):
            found += [Threshold(name, at_least=value, sure=sure, **common) for name, value in one.items()]
        elif isinstance(one, (Threshold, NotWorse)):
            found.append(one)
    found += [Threshold(name, at_most=value, sure=sure, **common) for name, value in (at_most or {}).items()]
    if targets:
        found += target_rules(scores.protocol.targets, scores, sure=sure, **common)
        if not any(scores.find(target.measure) is not None for target in scores.protocol.targets):
            raise UsageError(
                say(
                    "protocol {protocol} has no target that {system} has a value for",
                    protocol=scores.protocol.name,
                    system=scores.name,
                )
            )
    if not_worse_than is not None:
        base = find_baseline(not_worse_than, scores, score)
        named = [label for one in split_measures(measures) for label in labels_of(scores, one)]
        named = named or [choose_measure(scores, None)]
        found += [NotWorse(one, base, MARGIN if margin is None else margin, **common) for one in named]
    lost = {"margin": margin if not_worse_than is None else None, "min_coverage": None if found else min_coverage}
    for place in files:
        found += _from_file(os.fspath(place), scores, score, lost)
    _check(found)
    return found


def _each(rules: GivenRules) -> Sequence[Rule | Mapping[str, float] | Place]:
    single = isinstance(rules, (Threshold, NotWorse, Mapping, str, os.PathLike))
    given: Any = [rules] if single else list(rules)  # type: ignore[arg-type]
    for one in given:
        if not isinstance(one, (Threshold, NotWorse, Mapping, str, os.PathLike)):
            raise UsageError(
                say("a rule is a Threshold, NotWorse, {{measure: least}} or a TOML file, not {given!r:.60}", given=one)
            )
    return given  # type: ignore[no-any-return]


def _check(rules: Sequence[Rule]) -> None:
    for rule in rules:
        if not 0 < rule.alpha < 0.5:  # noqa: PLR2004
            raise UsageError(say("alpha = {alpha:g}: expected a number between 0 and 0.5", alpha=rule.alpha))
        if not 0 <= rule.min_coverage <= 1:
            raise UsageError(say("min_coverage = {share:g}: expected a share between 0 and 1", share=rule.min_coverage))
    if not rules:
        raise UsageError(
            say(
                "the gate has no rule: give a threshold (--fail-under), a baseline (--not-worse-than), "
                "--targets or --rules"
            )
        )


def measures_of_rules(
    rules: GivenRules, measures: Any = (), *, targets_of: Protocol | None = None
) -> list[str | Measure]:
    """List the measures that rules need, each once: `measures`, those that rules name, and those of a protocol.

    >>> measures_of_rules([Threshold("P@5", at_least=0.2), {"precision@5": 0.1, "map": 0.3}])
    ['precision@5', 'map']
    """
    named = [name for rule in _each(rules) for name in _measures_of(rule)]
    own = [] if targets_of is None else list(targets_of.measures)
    return list({_text(name): name for name in [*own, *split_measures(measures), *named]}.values())


def _measures_of(rule: Rule | Mapping[str, float] | Place) -> list[str | Measure]:
    if isinstance(rule, (Threshold, NotWorse)):
        return [rule.measure]
    if isinstance(rule, Mapping):
        return list(rule)
    return [entry["measure"] for entry in _entries(os.fspath(rule)) if isinstance(entry.get("measure"), str)]


def _entries(place: str) -> list[dict[str, Any]]:
    rules = read_toml(place).get("rule")
    return [entry for entry in rules if isinstance(entry, dict)] if isinstance(rules, list) else []


def _text(measure: str | Measure) -> str:
    """One text for all names of a measure, so that it is not computed twice."""
    try:
        return parse(measure).text
    except UsageError:
        return str(measure)


def baselines_in(place: Place) -> list[str]:
    """Files of the baselines that a file of rules names, which are read from its folder."""
    names = [entry.get("not_worse_than") for entry in _entries(os.fspath(place))]
    return [str(Path(place).parent / name) for name in names if isinstance(name, str)]


def find_baseline(given: Scores | Place, scores: Scores, score: Callable[[str], Scores] | None = None) -> Scores:
    """The baseline of a system: scores, those of a result file (of several, the ones of its name), or a run's."""
    if isinstance(given, Scores):
        return given
    place = os.fspath(given)
    if is_result_file(place):
        return read_system(place, like=scores.name)
    if score is None:
        raise UsageError(
            say("{place} is not a result file: a result file needs another one as its baseline", place=place)
        )
    return score(place)


def _from_file(
    place: str, scores: Scores, score: Callable[[str], Scores] | None, lost: Mapping[str, float | None]
) -> list[Rule]:
    """Read the rules of a file; `lost` are settings that would change none of them."""
    name = next((name for name, value in lost.items() if value is not None), None)
    if name is not None:
        raise UsageError(
            say("{name} does not apply to the rules of {place}: set it in that file", name=name, place=place)
        )
    folder = Path(place).parent
    return read_rules(read_toml(place), place, lambda name: find_baseline(folder / name, scores, score))


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
    """Check the rules of a TOML file; `baseline` reads the scores that a rule compares with."""
    entries = raw.get("rule") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            say("there are no rules"),
            path=place,
            hint=say('expected [[rule]] with measure = "ndcg@10", at_least = 0.85'),
        )
    try:
        return [_rule(entry, baseline) for entry in entries]
    except UsageError as error:
        raise InputError(error.message, path=place) from None


def _rule(entry: Mapping[str, Any], baseline: Callable[[str], Scores]) -> Rule:
    for key, value in entry.items():
        if key not in _KEYS:
            raise UnknownName(say("key of a rule"), key, _KEYS)
        wanted: tuple[type, ...] = (str,) if key in {"measure", "not_worse_than"} else (int, float)
        wanted = (bool,) if key in {"strict", "sure"} else wanted
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            kind = say("a text") if str in wanted else say("true or false") if bool in wanted else say("a number")
            raise UsageError(say("rule: {key} = {value!r}: expected {kind}", key=key, value=value, kind=kind))
    kinds = [key for key in ("at_least", "at_most", "not_worse_than") if key in entry]
    if "measure" not in entry or len(kinds) != 1:
        raise UsageError(say("a rule needs a measure and one of at_least, at_most and not_worse_than"))
    rest = {key: value for key, value in entry.items() if key != "not_worse_than"}
    known = {one.name for one in fields(NotWorse if kinds == ["not_worse_than"] else Threshold)}
    for key in rest:
        if key not in known:
            raise UsageError(say("rule: {key} does not go with {other}", key=key, other=kinds[0]))
    if kinds == ["not_worse_than"]:
        return NotWorse(baseline=baseline(entry["not_worse_than"]), **rest)
    return Threshold(**rest)
