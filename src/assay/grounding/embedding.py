"""The method `embedding`: how near the nearest context sentence is in meaning, less where the words say otherwise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from assay.grounding.claims import ConversationWords
from assay.grounding.preparing import Match, prepare, record, record_unjudged
from assay.grounding.record import Grade
from assay.grounding.words import lower_support
from assay.messages import say
from assay.text.embeddings import choose_embedder, embed_all
from assay.text.products import cosines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from assay.data.samples import Sample
    from assay.grounding.preparing import Prepared
    from assay.results.support import Support
    from assay.text.embeddings import Embedder

SLOPE, MIDPOINT = 10.0, 0.5
_TOGETHER = 64  # samples whose texts go to the embedder in one call


def by_embedding(samples: Sequence[Sample], embedder: Any = "auto") -> list[Support]:
    """Judge answers by the meaning of their sentences."""
    ready = [prepare(sample) for sample in samples]
    chosen = choose_embedder(embedder, (sample.answer for sample in samples if sample.answer))
    found: list[Support] = []
    for start in range(0, len(ready), _TOGETHER):
        found += _judge(ready[start : start + _TOGETHER], chosen.embedder, chosen.note)
    return found


def _judge(ready: Sequence[Prepared], embedder: Embedder, note: str) -> Iterator[Support]:
    texts = [_texts(one) if one.status == "scored" else [] for one in ready]
    place = {text: i for i, text in enumerate(dict.fromkeys(text for part in texts for text in part))}
    vectors = embed_all(embedder, list(place))
    for one, own in zip(ready, texts, strict=True):
        places = [place[text] for text in own]
        failed = [vectors.failures[i] for i in places if i in vectors.failures]
        if one.status != "scored":
            yield record_unjudged(one, "embedding")
        elif failed:
            yield record_unjudged(
                one._replace(status="failed", reason=say("reason.embedding", reason=failed[0])), "embedding"
            )
        else:
            yield record(one, "embedding", _matches(one, vectors.rows[places]), (note,))


def _texts(ready: Prepared) -> list[str]:
    """Claims, then the sentences of the contexts."""
    claims = [part.claim.text for part in ready.parts if part.kind == "claim"]
    return [*claims, *map(ready.contexts.text_of, range(len(ready.contexts.rows)))]


def _matches(ready: Prepared, rows: NDArray[np.float32]) -> list[Match | None]:
    count = sum(part.kind == "claim" for part in ready.parts)
    if count == len(rows):
        return [Match(0.0, None, ()) if part.kind == "claim" else None for part in ready.parts]
    likeness = cosines(rows[:count], rows[count:])
    best = iter(zip(likeness.argmax(axis=1).tolist(), likeness.max(axis=1).tolist(), strict=True))
    given = ConversationWords(ready.sample)
    found: list[Match | None] = []
    for part in ready.parts:
        if part.kind == "claim":
            row, value = next(best)
            found.append(lower_support(part.claim, ready.contexts, row, given, sigmoid(value)))
        else:
            found.append(None)
    return found


def sigmoid(x: float, *, slope: float = SLOPE, midpoint: float = MIDPOINT) -> float:
    """1 / (1 + exp(-slope (x - midpoint))), for any x."""
    power = -slope * (x - midpoint)
    return 1 / (1 + math.exp(power)) if power < 0 else math.exp(-power) / (1 + math.exp(-power))


def relevance_by_embedding(sample: Sample, embedder: Any) -> Grade:
    """Cosine similarity of question and answer, not below 0."""
    texts = [sample.question or "", sample.answer or ""]
    vectors = embed_all(choose_embedder(embedder, texts).embedder, texts)
    if vectors.failures:
        return Grade(None, say("reason.embedding", reason=next(iter(vectors.failures.values()))))
    return Grade(max(0.0, float(cosines(vectors.rows[:1], vectors.rows[1:])[0, 0])))
