"""Whether a target keeps up with the calls it is offered, and from which rate on it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.messages import Said, say
from assay.results.bench import KEEPS_UP, Capacity, Pace
from assay.stats.intervals import TOO_FEW, Interval, proportion_interval
from assay.stats.slopes import slope_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.segments import Floats
    from assay.results.bench import Load
    from assay.serving.records import Timing

_BLOCKS = 20  # of calls that follow each other; their medians depend less on their neighbours than single calls do
# Queues swing slowly by themselves, which the interval of a slope ignores: as much as two and a half quartile
# ranges of the latency over the length of the load. With it at most 3 of 100 simulated loads are called wrongly, at up
# to 90 % of what a target bears and from 110 % on (tests/analysis/test_pace.py).
_SWING = 2.5
_WORST_FIRST = ("behind", "unclear", "kept")
_BEHIND = 1 / KEEPS_UP - 1  # growth from which less than that share of the calls is served


def judge_pace(timing: Timing, *, confidence_level: float = 0.95) -> Pace | None:
    """Decide whether a target keeps up, by failed calls and growing latency; None for a closed loop."""
    rate = timing.plan.rate
    if rate is None:
        return None
    due, ended = np.array(timing.due), np.array(timing.ended)
    growth = latency_growth(due, ended - due, confidence_level=confidence_level)
    found = [_by_failures(timing, rate, confidence_level), _by_growth(rate, growth)]
    worst = min(found, key=lambda one: _WORST_FIRST.index(one.decision))
    return replace(worst, growth=growth)


def _by_failures(timing: Timing, rate: float, confidence_level: float) -> Pace:
    failed = sum(timing.errors.values())
    share = proportion_interval(failed, len(timing.ended) + failed, confidence_level=confidence_level)
    if timing.not_started:
        return Pace("behind", say("pace.not_started", rate=rate, n=timing.not_started))
    if timing.hopeless or (share.low or 0.0) > 1 - KEEPS_UP:
        return Pace("behind", say("pace.errors", rate=rate, share=share.estimate))
    if failed and (share.high or 1.0) >= 1 - KEEPS_UP:
        return Pace("unclear", say("pace.errors_unclear", rate=rate, share=share.estimate))
    return Pace("kept", say("pace.kept", rate=rate))


def _by_growth(rate: float, growth: Interval) -> Pace:
    if growth.low is not None and growth.low > _BEHIND:
        return Pace("behind", say("bench.behind", rate=rate, served=rate_of_answers(rate, growth)))
    if growth.high is None or growth.high >= _BEHIND:
        return Pace("unclear", say("pace.unclear", rate=rate))
    return Pace("kept", say("pace.kept", rate=rate))


def rate_of_answers(rate: float, growth: Interval) -> float:
    """Calls a second that are served, where latency grows so fast."""
    return rate / (1 + max(growth.estimate or 0.0, 0.0))


def latency_growth(due: Floats, latency: Floats, *, confidence_level: float = 0.95) -> Interval:
    """Seconds that calls take longer with every second of a load, with room for the slow swings of a queue."""
    if len(due) < 2 or due[0] == due[-1]:  # noqa: PLR2004
        return Interval(None, None, None, confidence_level, "theil-sen", len(due), TOO_FEW)
    blocks = np.array_split(np.arange(len(due)), min(_BLOCKS, len(due)))
    middles = [float(due[block].mean()) for block in blocks], [float(np.median(latency[block])) for block in blocks]
    found = slope_interval(*middles, confidence_level=confidence_level)
    if found.estimate is None or found.low is None or found.high is None:
        return found
    low, high = np.percentile(latency - found.estimate * due, (25, 75))
    swing = _SWING * float(high - low) / float(due[-1] - due[0])
    return replace(found, low=found.low - swing, high=found.high + swing)


def find_capacity(loads: Sequence[Load]) -> tuple[Capacity, ...]:
    """Say up to which rate a target keeps up and from which on it does not, where several rates were tried."""
    groups: dict[tuple[int | None, int], list[Load]] = {}
    for load in loads:
        if load.rate is not None and load.pace is not None:
            groups.setdefault((load.candidates, load.threads), []).append(load)
    return tuple(_capacity(*key, sorted(group, key=_rate)) for key, group in groups.items() if len(group) > 1)


def _rate(load: Load) -> float:
    return load.rate or 0.0


def _capacity(candidates: int | None, threads: int, loads: Sequence[Load]) -> Capacity:
    decisions = [(_rate(load), load.pace.decision) for load in loads if load.pace is not None]
    behind = next((rate for rate, decision in decisions if decision == "behind"), None)
    below = [(rate, decision) for rate, decision in decisions if behind is None or rate < behind]
    kept = max((rate for rate, decision in below if decision == "kept"), default=None)
    return Capacity(candidates, threads, kept, behind, _reason(kept, behind, decisions[-1][0]))


def _reason(kept: float | None, behind: float | None, top: float) -> Said:
    if kept is not None and behind is not None:
        return say("capacity.between", kept=kept, behind=behind)
    if behind is not None:
        return say("capacity.never", behind=behind)
    if kept is None:
        return say("capacity.unclear")
    return say("capacity.all", kept=kept) if kept == top else say("capacity.at_least", kept=kept)
