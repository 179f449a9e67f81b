"""Measures of requests as they were served that event logs do not have: errors, answers, and what they rest on.

Each is a ratio of two sums over requests, with an interval by user; those by words are means over a random part of the
answers of a window, as many as take little time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from assay.data.samples import Samples
from assay.measures.defaults import ANSWERS, SERVED
from assay.results.watch import WatchValue
from assay.stats.arms import arm_of
from assay.stats.clustered import ratio_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.data.served import Served
    from assay.stats.intervals import Bounds, Interval

    Part = tuple[float, float]  # what a request adds to the numerator and to the denominator

_SHARE: Bounds = (0.0, 1.0)
_AMOUNT: Bounds = (0.0, math.inf)
_MILLION = 1e6
_BY_WORDS = 300  # answers of a window that are compared with their contexts, some milliseconds each


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
            interval = _ratio(users, parts, signal.bounds, level)
            found.append(WatchValue(signal.label, interval, sum(part is None for part in parts)))
    return [*found, *_measure_words(served, users, level)]


def group_users(served: Sequence[Served]) -> list[str]:
    """Whom each request belongs to: its user, or its session, or itself."""
    return [one.user or one.session or one.id for one in served]


def _ratio(users: Sequence[str], parts: Sequence[Part | None], bounds: Bounds, level: float) -> Interval:
    known = [(user, part) for user, part in zip(users, parts, strict=True) if part is not None]
    codes = np.unique([user for user, _ in known], return_inverse=True)[1]
    sums = [np.bincount(codes, weights=[part[i] for _, part in known]) for i in (0, 1)]
    return ratio_interval(arm_of(*sums), bounds=bounds, confidence_level=level)


def _measure_words(served: Sequence[Served], users: Sequence[str], level: float) -> Iterator[WatchValue]:
    """How far answers follow from their contexts by their words, for a random part of them that their ids choose."""
    from assay.analysis.answers import answers

    ready = [(one, user) for one, user in zip(served, users, strict=True) if one.answer and one.sample.contexts]
    chosen = sorted(ready, key=lambda pair: blake2b(pair[0].id.encode(), digest_size=8).digest())[:_BY_WORDS]
    if not chosen:
        return
    rows = tuple(one.sample for one, _ in chosen)
    found = answers(Samples(rows, {"answer": "answer", "contexts": "contexts"}), SERVED, method="words")
    for label in SERVED:
        values = found.column(label)
        parts = [None if math.isnan(value) else (value, 1.0) for value in values.tolist()]
        if any(part is not None for part in parts):
            interval = _ratio([user for _, user in chosen], parts, _SHARE, level)
            yield WatchValue(label, interval, len(served) - sum(part is not None for part in parts))
