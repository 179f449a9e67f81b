"""How a log is watched: windows, lateness, measures, targets and the budget of false alarms."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assay.analysis.protocols import load_protocol
from assay.data.protocol import Protocol, Target
from assay.errors import AssayError, UsageError
from assay.measures import parse, split_measures
from assay.measures.defaults import EVENTS
from assay.messages import say
from assay.online.watching.signals import SIGNALS
from assay.stats.alarms import plan_alarms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.measures import Measure
    from assay.stats.alarms import AlarmRule

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_YEAR = 365.25 * _UNITS["d"]
_SHORTEST = 1.0


def read_duration(text: str) -> float:
    """Seconds of a duration such as 30s, 10m, 1h, 1d or 2w.

    >>> read_duration("1.5h")
    5400.0
    """
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(say("{text!r} is no duration: write it like 30s, 10m, 1h, 1d or 2w", text=text))
    return float(found[1]) * _UNITS[found[2]]


CANARY = "canary_rbo"
_ASPECTS = ("query_length", "language", "top_score", "score_gap", "source")  # what may drift
_LEAST_BASELINE = 7  # windows


def label_drift(aspect: str) -> str:
    """The name of the measure of one thing that may drift."""
    return f"psi({aspect})"


@dataclass(frozen=True)
class WatchSettings:
    """How a log is watched; durations are in seconds.

    `drift` are the targets of what may drift from the first windows, as many as `baseline` says; `canary` are the texts
    of queries whose lists should stay as they were.
    """

    width: float
    lateness: float
    measures: tuple[Measure, ...]
    targets: Mapping[str, Target]
    unwatched: tuple[str, ...]
    rule: AlarmRule
    protocol: str = ""
    drift: Mapping[str, Target] = field(default_factory=dict)
    baseline: int = _LEAST_BASELINE
    canary: frozenset[str] = frozenset()

    @property
    def lasting(self) -> dict[str, Any]:
        """What a state on disk was made with, and cannot be changed afterwards."""
        return {
            "window": self.width,
            "lateness": self.lateness,
            "level": round(self.rule.level, 12),
            "measures": sorted(one.label for one in self.measures),
            "baseline": self.baseline,
            "canary": sorted(self.canary),
        }


def plan_watch(
    *,
    protocol: str | Protocol | None = None,
    measures: Sequence[str | Measure] | str = (),
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    window: str | float = "1h",
    lateness: str | float = "10m",
    false_alarms: float = 1.0,
    in_a_row: int | None = None,
    drift: float = 0.25,
    baseline: int | None = None,
    canary: Sequence[str] = (),
    canary_overlap: float = 0.9,
) -> WatchSettings:
    """Check what was asked for, and set the rule of alarms so that its budget holds.

    The budget is the number of false alarms in a year, for each measure that has a target.
    """
    width = read_duration(window) if isinstance(window, str) else float(window)
    late = read_duration(lateness) if isinstance(lateness, str) else float(lateness)
    if width < _SHORTEST or late < 0:
        raise UsageError(say("a window lasts at least a second, and lateness is not below 0"))
    rules = load_protocol(protocol) if isinstance(protocol, str) else protocol
    given = {**_own(at_least, below=False), **_own(at_most, below=True)}
    targets, unwatched = _split_targets(rules, given)
    asked = [parse(one) for one in split_measures(measures)] or [parse(one) for one in EVENTS]
    for one in asked:
        one.check_subject("events")
    labels = {one.label for one in asked}
    extra = [parse(label) for label in targets if label not in labels and label not in SIGNALS]
    if not 0 <= drift < math.inf:
        raise UsageError(say("a target for the stability index is a number from 0 on"))
    drifts = {label_drift(one): Target(label_drift(one), drift, below=True) for one in _ASPECTS if drift > 0}
    lists = {CANARY: Target(CANARY, canary_overlap)} if canary else {}
    return WatchSettings(
        width, late, (*asked, *extra), targets, unwatched,
        plan_alarms(_YEAR / width, false_alarms=false_alarms, run=in_a_row), "" if rules is None else str(rules),
        {**drifts, **lists}, baseline or max(_LEAST_BASELINE, round(_UNITS["d"] / width)),
        frozenset(text.strip() for text in canary),
    )  # fmt: skip


def _own(given: Mapping[str, float] | None, *, below: bool) -> dict[str, Target]:
    """Targets of the user's own, by the label of their measure."""
    found = {}
    for name, value in (given or {}).items():
        label = name if name in SIGNALS else _label_of(parse(name))
        found[label] = Target(label, value, below=below)
    return found


def _label_of(measure: Measure) -> str:
    """The label of a measure that a log or its traces have; others are refused."""
    if measure.label not in SIGNALS:
        measure.check_subject("events")
    return measure.label


def _split_targets(protocol: Protocol | None, own: Mapping[str, Target]) -> tuple[dict[str, Target], tuple[str, ...]]:
    """Targets by the label of a measure of logs, and the names of those that no log can be held against."""
    targets: dict[str, Target] = {}
    unwatched = []
    for one in protocol.targets if protocol is not None else ():
        measure = _event_measure(one.measure)
        label = one.measure if one.measure in SIGNALS else None if measure is None else measure.label
        if label is None:
            unwatched.append(one.measure)
        else:
            targets[label] = replace(one, measure=label)
    return {**targets, **own}, tuple(unwatched)


def _event_measure(name: str) -> Measure | None:
    """The measure of event logs that a name means; None where it is one of something else."""
    try:
        found = parse(name)
        found.check_subject("events")
    except AssayError:
        return None
    return found
