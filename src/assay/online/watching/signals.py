"""Measures of requests as they were served that event logs do not have: errors, answers, and what they rest on.

Each is a ratio of two sums over requests, with an interval by user.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.measures.defaults import ANSWERS, SERVED
from assay.results.watch import WatchValue
from assay.stats.arms import arm_of
from assay.stats.clustered import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.served import Served
    from assay.stats.intervals import Bounds, Interval

    Part = tuple[float, float]  # what a request adds to the numerator and to the denominator

_SHARE: Bounds = (0.0, 1.0)
_AMOUNT: Bounds = (0.0, math.inf)
_MILLION = 1e6


@dataclass(frozen=True)
class Signal:
    """One measure: what a request adds to it; None where a request does not say."""

    label: str
    definition: str
    bounds: Bounds
    part: Callable[[Served], Part | None]
    lower_is_better: bool = True


def _error(one: Served) -> Part:
    return float(one.error is not None), 1.0


def _no_answer(one: Served) -> Part | None:
    """Of requests that did not fail: without an answer, or with one that begins by refusing."""
    from assay.text.refusals import is_refusal
    from assay.text.sentences import sentences

    if one.error is not None or one.lacks.get("answer") not in {None, "no_output"}:
        return None
    answer = one.answer or ""
    first = next((answer[start:end] for start, end in sentences(answer)), "")
    return float(not first or is_refusal(first)), 1.0


def _length(one: Served) -> Part | None:
    return (float(len(one.answer)), 1.0) if one.answer else None


def _price(one: Served) -> Part | None:
    if one.cost is None or one.input_tokens is None:
        return None
    return one.cost * _MILLION, float(one.input_tokens + (one.output_tokens or 0))


def _of(name: str) -> Callable[[Served], Part | None]:
    def part(one: Served) -> Part | None:
        value = getattr(one, name)
        return None if value is None else (float(value), 1.0)

    return part


SIGNALS = {
    one.label: one
    for one in (
        Signal("error_rate", "requests that failed / requests", _SHARE, _error),
        Signal("no_answer", "requests without an answer or refused / requests that did not fail", _SHARE, _no_answer),
        Signal("answer_length", "characters of answers / answers", _AMOUNT, _length, lower_is_better=False),
        Signal("retrieval_ms", "milliseconds of retrieval / requests", _AMOUNT, _of("retrieval_ms")),
        Signal("first_token_ms", "milliseconds to the first token / requests", _AMOUNT, _of("first_token_ms")),
        Signal("cost_per_million_tokens", "cost x 1,000,000 / tokens", _AMOUNT, _price),
        *(Signal(label, label, _SHARE, lambda _: None, lower_is_better=False) for label in (*SERVED, *ANSWERS)),
    )
}  # fmt: skip


def measure_signals(served: Sequence[Served], level: float) -> list[WatchValue]:
    """The signals of a window's requests."""
    users = group_users(served)
    found = []
    for signal in SIGNALS.values():
        parts = [signal.part(one) for one in served]
        if any(part is not None for part in parts):
            interval = ratio_by_user(users, parts, signal.bounds, level)
            found.append(WatchValue(signal.label, interval, sum(part is None for part in parts)))
    return found


def group_users(served: Sequence[Served]) -> list[str]:
    """Whom each request belongs to: its user, or its session, or itself."""
    return [one.user or one.session or one.id for one in served]


def ratio_by_user(users: Sequence[str], parts: Sequence[Part | None], bounds: Bounds, level: float) -> Interval:
    """The sum of the first numbers over that of the second ones, of the requests that have them.

    Amounts without an upper bound have ends that count on their skew: a target may be on either side of them.
    """
    known = [(user, part) for user, part in zip(users, parts, strict=True) if part is not None]
    codes = np.unique([user for user, _ in known], return_inverse=True)[1]
    sums = [np.bincount(codes, weights=[part[i] for _, part in known]) for i in (0, 1)]
    arm = arm_of(*sums)
    cubes = None
    if not math.isfinite(bounds[1]) and arm.value is not None:
        cubes = float(((sums[0] - arm.value * sums[1]) ** 3).sum())
    return ratio_interval(arm, bounds=bounds, confidence_level=level, cubes=cubes)
