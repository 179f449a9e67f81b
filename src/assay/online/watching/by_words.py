"""How far answers follow from their contexts by their words, for a random part of those of a window."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING

from assay.analysis.answers import answers
from assay.data.samples import Samples
from assay.measures.defaults import SERVED
from assay.online.watching.evaluations import describe_answers
from assay.online.watching.measuring import Judged
from assay.online.watching.signals import ratio_by_user
from assay.results.watch import WatchValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.served import Served

_MOST = 300  # answers of a window that are compared with their contexts, some milliseconds each
_MAPPING = {"answer": "answer", "contexts": "contexts"}


def judge_by_words(served: Sequence[Served], users: Sequence[str], level: float) -> Judged:
    """The means, and the values of the answers, which their ids choose: all alike, at most 300."""
    ready = [(one, user) for one, user in zip(served, users, strict=True) if one.answer and one.sample.contexts]
    chosen = sorted(ready, key=lambda pair: blake2b(pair[0].id.encode(), digest_size=8).digest())[:_MOST]
    if not chosen:
        return Judged()
    found = answers(Samples(tuple(one.sample for one, _ in chosen), _MAPPING), SERVED, method="words")
    values = []
    for label in SERVED:
        parts = [None if math.isnan(value) else (value, 1.0) for value in found.column(label).tolist()]
        if any(part is not None for part in parts):
            interval = ratio_by_user([user for _, user in chosen], parts, (0.0, 1.0), level)
            values.append(WatchValue(label, interval, len(served) - sum(part is not None for part in parts)))
    probability = len(chosen) / len(ready)
    said = describe_answers([one for one, _ in chosen], found, [probability] * len(chosen))
    return Judged(values, evaluations=tuple(said))
