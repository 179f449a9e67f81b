"""Order hits after a reranker, with scores that give exactly that order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.messages import say, word
from assay.pipeline.records import Hits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.pipeline.measuring import Timed
    from assay.pipeline.records import Scored
    from assay.pipeline.rerankers import Reranker


def reorder(hits: Hits, scored: Scored | None, ms: float) -> Hits:
    """Put the scored hits first by falling score, equal ones as they were; then what was not scored, as it was.

    What has no score counts down from one below the lowest, so that scores never claim another order.
    """
    if scored is None:
        return Hits(hits.chunks, hits.scores, ms)
    known = [(i, score) for i, score in enumerate(scored.scores) if score is not None]
    order = sorted(known, key=lambda item: -item[1])
    rest = [i for i in range(len(hits.chunks)) if i >= len(scored.scores) or scored.scores[i] is None]
    low = min((score for _, score in known), default=0.0)
    scores = [*(score for _, score in order), *(low - 1 - place for place in range(len(rest)))]
    numbers = [hits.chunks[i] for i in (*(i for i, _ in order), *rest)]
    return Hits(
        tuple(numbers), tuple(scores), ms, scored.tokens, scored.money, dict(scored.faults),
        estimated=scored.estimated, money_estimated=scored.money_estimated, output_tokens=scored.output_tokens,
    )  # fmt: skip


def fresh_score(reranker: Reranker, query: str, texts: Sequence[str]) -> Scored:
    """Score texts without what a reranker keeps of earlier queries: else times would be those of its memory."""
    forget = getattr(reranker, "forget", None)
    if callable(forget):
        forget()
    return reranker.score(query, texts)


def apply_scores(hits: Hits, done: Timed[Scored]) -> Hits:
    """Hits in the order of a timed reranker, with its time and cost."""
    return replace(reorder(hits, done.found, done.ms), **done.spent(done.found), cached=done.account.cached)


def check_answered(found: Iterable[Scored | None]) -> None:
    """Raise an error if no call of a reranker succeeded: its list would just be the retriever's."""
    told = [scored for scored in found if scored is not None]
    faults = Counter[str]()
    for scored in told:
        faults.update(scored.faults)
    if faults and all(score is None for scored in told for score in scored.scores):
        counts = [say("call.count", reason=word("call", reason), n=count) for reason, count in faults.most_common()]
        raise InputError(say("no call of the reranker succeeded ({counts})", counts=counts))


def descending(scores: Sequence[float]) -> list[float]:
    """The same scores, with equal ones changed in their last digit, so that evaluation keeps their order."""
    found: list[float] = []
    for score in scores:
        found.append(min(score, math.nextafter(found[-1], -math.inf)) if found else score)
    return found
