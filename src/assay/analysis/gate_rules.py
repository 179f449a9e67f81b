"""The rules of a gate: thresholds and baselines as given in Python, as text, in a TOML file or by a protocol."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.data.scores import Scores
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.files import read_toml
from assay.measures import parse, split_measures
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.protocol import Protocol, Target
    from assay.measures import Measure

MARGIN = 0.01  # a drop below it fails no gate, unless a margin is given
ALPHA = 0.05
COVERAGE = "coverage"
Place = str | os.PathLike[str]
Signs = Literal["<=", "<", ">=", ">"]

_GOAL = re.compile(r"(?P<sign><=|>=|<|>|≤|≥|＜|＞)\s*+(?P<goal>[-+.\deE]++)\s*+\Z")
_SIGNS = {"≤": "<=", "≥": ">=", "＜": "<", "＞": ">"}
_TAKE = re.compile(r"newest|best(:[1-9]\d*)?")


@dataclass(frozen=True)
class Threshold:
    """The mean must be at least `at_least` (at most `at_most`); with `sure`, so must the end of its interval.

    At least the share `min_coverage` of what should have a value must have one (see `Scores.coverage`): all, unless a
    rule says `coverage>=0.98`. With a `slice`, it must hold for the queries with each value of that attribute, or with
    one ("language=zh"); the intervals are then corrected for their number, `among`.
    """

    measure: str
    at_least: float | None = None
    at_most: float | None = None
    strict: bool = False
    sure: bool = False
    alpha: float = ALPHA
    min_coverage: float | None = None
    slice: str = ""
    among: int = 1

    @property
    def below(self) -> bool:
        """Return whether small values are wanted."""
        return self.at_most is not None

    @property
    def goal(self) -> float:
        """The number that is to be reached; there is one in every rule that was collected."""
        found = self.at_most if self.at_most is not None else self.at_least
        return math.nan if found is None else found

    @property
    def sign(self) -> Signs:
        """The comparison sign: >, >=, < or <=."""
        if self.below:
            return "<" if self.strict else "<="
        return ">" if self.strict else ">="

    def is_reached(self, value: float) -> bool:
        """Return whether a value is good enough."""
        beyond = value < self.goal if self.below else value > self.goal
        return beyond or (value == self.goal and not self.strict)


@dataclass(frozen=True)
class NotWorse:
    """The mean must not be lower than the baseline's (higher, where lower is better).

    It fails when a drop is shown, and its estimate is no less than `margin`, 0.01 unless given. It passes when a drop
    of `margin` is ruled out; without one, of what so many queries catch with 80% probability, or when no query is
    worse. Fewer than ten queries pass nothing. `baseline` is scores, a result file, a folder of them, or several of
    these. Of a folder, `take` says which: the newest, or the best of the last ten ("best") or of any other number
    ("best:5"). `slice` and `min_coverage` are those of `Threshold`; the level is corrected for the number of slices,
    baselines, and results that the best could have been, `among`.
    """

    measure: str
    baseline: Scores | Place | Sequence[Scores | Place]
    margin: float | None = None
    alpha: float = ALPHA
    min_coverage: float | None = None
    take: str = "newest"
    slice: str = ""
    among: int = 1

    @property
    def tolerance(self) -> float:
        """The drop from which on the rule can fail; smaller ones never do."""
        return MARGIN if self.margin is None else self.margin


@dataclass(frozen=True)
class Targets:
    """The targets of the protocol, each a `Threshold`; `more` are its other fields."""

    more: Mapping[str, Any]


Rule = Threshold | NotWorse
GivenRules = Rule | Mapping[str, float] | Place | Sequence[Rule | Mapping[str, float] | Place]
_Baselines = Scores | Place | Sequence[Scores | Place] | None


def collect_rules(
    rules: GivenRules = (),
    *,
    at_most: Mapping[str, float] | None = None,
    targets: bool = False,
    not_worse_than: _Baselines = None,
    measures: Any = (),
    margin: float | None = None,
    alpha: float = ALPHA,
    sure: bool = False,
    min_coverage: float | None = None,
    slices: str | Sequence[str] = (),
    take: str = "newest",
) -> list[Rule | Targets]:
    """Put all rules together, those of files last; the parameters are those of `gate`."""
    common: dict[str, Any] = {"alpha": alpha, "min_coverage": min_coverage}
    given = _each(rules)
    found: list[Rule | Targets] = []
    for one in given:
        if isinstance(one, Mapping):
            found += [Threshold(name, at_least=value, sure=sure, **common) for name, value in one.items()]
        elif isinstance(one, (Threshold, NotWorse)):
            found.append(one)
        elif (read := read_rule(one)) is not None:
            found.append(replace(read, sure=sure, **common))
    found += [Threshold(name, at_most=value, sure=sure, **common) for name, value in (at_most or {}).items()]
    if targets:
        found.append(Targets({"sure": sure, **common}))
    if not (not_worse_than is None or (isinstance(not_worse_than, (list, tuple)) and not not_worse_than)):
        named = [str(one) for one in split_measures(measures)] or [""]
        found += [NotWorse(one, not_worse_than, margin, take=take, **common) for one in named]
    lost = {"margin": margin if not_worse_than is None else None, "min_coverage": None if found else min_coverage}
    found += [rule for one in given if _is_file(one) for rule in _from_file(os.fspath(one), lost)]  # type: ignore[arg-type]
    named_slices = (slices,) if isinstance(slices, str) else tuple(slices)
    whole = [one for one in found if not isinstance(one, Targets) and not one.slice and one.measure != COVERAGE]
    found += [replace(one, slice=name) for name in named_slices for one in whole]
    _check(found)
    return _settle_coverage(found)


def _is_file(one: object) -> bool:
    return isinstance(one, (str, os.PathLike)) and read_rule(one) is None


def read_rule(text: object) -> Threshold | None:
    """Read a rule such as "p95_ms<=300"; None where it is none.

    >>> read_rule("p95_ms<=300").at_most
    300.0
    """
    found = _GOAL.search(text) if isinstance(text, str) else None
    measure = str(text)[: found.start()].strip() if found else ""
    if found is None or not measure:
        return None
    try:
        goal = float(found["goal"])
    except ValueError:
        raise UsageError(say("rule {text!r:.60}: expected a number behind the sign", text=text)) from None
    sign = _SIGNS.get(found["sign"], found["sign"])
    strict = len(sign) == 1
    if sign.startswith("<"):
        return Threshold(measure, at_most=goal, strict=strict)
    return Threshold(measure, at_least=goal, strict=strict)


def _settle_coverage(rules: Sequence[Rule | Targets]) -> list[Rule | Targets]:
    """Give every rule the share that must have a value: its own, that of a rule about coverage, else all."""
    told = [r.at_least for r in rules if isinstance(r, Threshold) and r.measure == COVERAGE and r.at_least is not None]
    least = min(told) if told else 1.0
    return [
        Targets({**rule.more, "min_coverage": _else(rule.more.get("min_coverage"), least)})
        if isinstance(rule, Targets)
        else replace(rule, min_coverage=_else(rule.min_coverage, least))
        for rule in rules
    ]


def _else(own: float | None, other: float) -> float:
    return other if own is None else own


def _each(rules: GivenRules) -> Sequence[Rule | Mapping[str, float] | Place]:
    single = isinstance(rules, (Threshold, NotWorse, Mapping, str, os.PathLike))
    given: Any = [rules] if single else list(rules)  # type: ignore[arg-type]
    for one in given:
        if not isinstance(one, (Threshold, NotWorse, Mapping, str, os.PathLike)):
            raise UsageError(
                say(
                    'a rule is a Threshold, NotWorse, {{measure: least}}, a text such as "ndcg@10>=0.85" or a TOML '
                    "file, not {given!r:.60}",
                    given=one,
                )
            )
    return given  # type: ignore[no-any-return]


def _check(rules: Sequence[Rule | Targets]) -> None:
    for rule in rules:
        _check_shares(rule.more if isinstance(rule, Targets) else vars(rule))
        if isinstance(rule, NotWorse):
            _check_baseline(rule)
        elif isinstance(rule, Threshold) and not math.isfinite(rule.goal):
            raise UsageError(say("{measure}: there is no threshold to check against", measure=rule.measure))
    if not rules:
        raise UsageError(
            say(
                "the gate has no rule: give a threshold (--fail-under), a baseline (--not-worse-than), "
                "--targets or --rules"
            )
        )


def _check_shares(given: Mapping[str, Any]) -> None:
    alpha, share = given["alpha"], given["min_coverage"]
    if not 0 < alpha < 0.5:  # noqa: PLR2004
        raise UsageError(say("alpha = {alpha:g}: expected a number between 0 and 0.5", alpha=alpha))
    if share is not None and not 0 <= share <= 1:
        raise UsageError(say("min_coverage = {share:g}: expected a share between 0 and 1", share=share))


def _check_baseline(rule: NotWorse) -> None:
    if not 0 <= rule.tolerance < math.inf:
        raise UsageError(say("margin {margin:g}: expected a number, 0 or more", margin=rule.tolerance))
    if not _TAKE.fullmatch(rule.take):
        raise UsageError(say('take = {take!r:.40}: expected "newest", "best" or "best:5"', take=rule.take))


def measures_of_rules(
    rules: GivenRules, measures: Any = (), *, targets_of: Protocol | None = None
) -> list[str | Measure]:
    """List the measures that rules need, each once: `measures`, those that rules name, and those of a protocol.

    >>> measures_of_rules([Threshold("P@5", at_least=0.2), {"precision@5": 0.1, "map": 0.3}])
    ['precision@5', 'map']
    """
    named = [name for rule in _each(rules) for name in _measures_of(rule) if name != COVERAGE]
    own = [] if targets_of is None else list(targets_of.measures)
    return list({_text(name): name for name in [*own, *split_measures(measures), *named]}.values())


def _measures_of(rule: Rule | Mapping[str, float] | Place) -> list[str | Measure]:
    if isinstance(rule, (Threshold, NotWorse)):
        return [rule.measure]
    if isinstance(rule, Mapping):
        return list(rule)
    read = read_rule(rule)
    if read is not None:
        return [read.measure]
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
    """Files and folders of the baselines that a file of rules names, which are read from its folder."""
    if _is_file(place):
        named = [_names(entry.get("not_worse_than")) for entry in _entries(os.fspath(place))]
        return [str(Path(place).parent / name) for names in named for name in names]
    return []


def _names(given: object) -> list[str]:
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)]


def _from_file(place: str, lost: Mapping[str, float | None]) -> list[Rule]:
    """Read the rules of a file; `lost` are settings that would change none of them."""
    name = next((name for name, value in lost.items() if value is not None), None)
    if name is not None:
        raise UsageError(
            say("{name} does not apply to the rules of {place}: set it in that file", name=name, place=place)
        )
    return read_rules(read_toml(place), place)


def target_rules(targets: Sequence[Target], **more: Any) -> list[Threshold]:
    """Make rules of a protocol's targets; `more` goes into each `Threshold`."""
    return [
        Threshold(t.measure, at_most=t.target, strict=t.strict, **more)
        if t.below
        else Threshold(t.measure, at_least=t.target, strict=t.strict, **more)
        for t in targets
    ]


_KINDS: dict[str, tuple[type, ...]] = {
    "measure": (str,), "at_least": (int, float), "at_most": (int, float), "strict": (bool,), "sure": (bool,),
    "not_worse_than": (str, list), "margin": (int, float), "alpha": (int, float), "min_coverage": (int, float),
    "take": (str,), "slice": (str,),
}  # fmt: skip


def read_rules(raw: Any, place: str) -> list[Rule]:
    """Check the rules of a TOML file; baselines are read from its folder when they are needed."""
    entries = raw.get("rule") if isinstance(raw, dict) else None
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            say("there are no rules"),
            path=place,
            hint=say('expected [[rule]] with measure = "ndcg@10", at_least = 0.85'),
        )
    try:
        return [_rule(entry, Path(place).parent) for entry in entries]
    except UsageError as error:
        raise InputError(error.message, path=place) from None


def _rule(entry: Mapping[str, Any], folder: Path) -> Rule:
    for key, value in entry.items():
        if key not in _KINDS:
            raise UnknownName(say("key of a rule"), key, _KINDS)
        wanted = _KINDS[key]
        texts = not isinstance(value, list) or (value and all(isinstance(one, str) for one in value))
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted) or not texts:
            kind = say("a text") if str in wanted else say("true or false") if bool in wanted else say("a number")
            raise UsageError(say("rule: {key} = {value!r}: expected {kind}", key=key, value=value, kind=kind))
    kinds = [key for key in ("at_least", "at_most", "not_worse_than") if key in entry]
    if "measure" not in entry or len(kinds) != 1:
        raise UsageError(say("a rule needs a measure and one of at_least, at_most and not_worse_than"))
    rest = {key: value for key, value in entry.items() if key != "not_worse_than"}
    shape = NotWorse if kinds == ["not_worse_than"] else Threshold
    strange = next((key for key in rest if key not in shape.__dataclass_fields__), None)
    if strange is not None:
        raise UsageError(say("{key} has no effect on a rule with {kind}", key=strange, kind=kinds[0]))
    if shape is Threshold:
        return Threshold(**rest)
    return NotWorse(baseline=[str(folder / name) for name in _names(entry["not_worse_than"])], **rest)
