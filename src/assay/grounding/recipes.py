"""Other published recipes for faithfulness, exactly as written: plain word overlap, the sigmoid, containment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError
from assay.grounding.embedding import MIDPOINT, SLOPE, sigmoid
from assay.text import chinese
from assay.text.embeddings import choose_embedder, embed_all
from assay.text.products import cosines
from assay.text.segmentation import han_words
from assay.text.sentences import sentences
from assay.text.words import NOT, WEAK, form, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


def word_overlap(answer: str, contexts: Sequence[str]) -> float | None:
    """Share of the answer's words, stop words removed, that the contexts have; None for an answer without words."""
    said = _plain_words(answer)
    known = {word for context in contexts for word in _plain_words(context)}
    return sum(word in known for word in said) / len(said) if said else None


def _plain_words(text: str) -> list[str]:
    latin = [token.lower() for token in tokens(text) if form(token)[0] not in (WEAK, NOT)]
    return [*latin, *(word for word in han_words(text) if word not in chinese.STOP_WORDS)]


def sigmoid_of_similarity(
    answer: str, contexts: Sequence[str], *, embedder: Any = "auto", slope: float = SLOPE, midpoint: float = MIDPOINT
) -> float | None:
    """Mean over the answer's sentences of the highest cosine similarity with a context, through a sigmoid.

    With slope 1 and midpoint 0 this is the literal reading of a description that names no constants.
    """
    said = _sentence_texts(answer)
    if not said or not contexts:
        return None
    chosen = choose_embedder(embedder, [answer])
    vectors = embed_all(chosen.embedder, [*said, *contexts])
    if vectors.failures:
        raise InputError(next(iter(vectors.failures.values())))
    best = cosines(vectors.rows[: len(said)], vectors.rows[len(said) :]).max(axis=1)
    return sigmoid(float(np.mean(best, dtype=np.float64)), slope=slope, midpoint=midpoint)


def verbatim_share(answer: str, contexts: Sequence[str]) -> float | None:
    """Share of the answer's sentences that occur word for word in a context."""
    said = _sentence_texts(answer)
    return sum(any(text in context for context in contexts) for text in said) / len(said) if said else None


def _sentence_texts(text: str) -> list[str]:
    pieces = (text[start:end].strip() for start, end in sentences(text))
    return [piece for piece in pieces if piece]
