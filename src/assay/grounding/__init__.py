"""Grounding: how far the statements of an answer follow from its contexts, and how far each method is to be trusted.

    preparing    a sample before and after judging: its statements, its status, the record of the outcome
    claims       what a statement claims: words and numbers with their weights
    contexts     the contexts as sentences with their words
    coverage     how much of a statement the contexts say ...
    conflicts    ... and where they say otherwise
    words        the method `words`, which rests on the two above
    embedding    the method `embedding`
    recipes      other descriptions of faithfulness, exactly as written
    matrix       support of each statement by each context
    citations    marks such as [1] in an answer
    holding      whether the contexts hold what was asked for
    case         all of this for one sample, as measures see it
    record       what is found out, as records
    agreement    how far each method agrees with people, and the order of methods that follows from it

The method `llm` is in `assay.judge`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assay.errors import UnknownName
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.data.samples import Sample
    from assay.results.support import Support

METHODS = ("words", "embedding")


def support_of(
    samples: Iterable[Sample], method: Literal["words", "embedding"] = "words", *, embedder: Any = "auto"
) -> list[Support]:
    """Judge how far answers follow from their contexts: one record per sample, in their order."""
    if method not in METHODS:
        raise UnknownName(say("method"), method, METHODS, hint=say("the methods are {methods}", methods=list(METHODS)))
    if method == "words":
        from assay.grounding.words import by_words

        return [by_words(sample) for sample in samples]
    from assay.grounding.embedding import by_embedding

    return by_embedding(list(samples), embedder)
