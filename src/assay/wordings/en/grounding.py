"""Texts in English: why answers have no value."""

from __future__ import annotations

TEXTS = {
    "reason.field": "{field}: {fault}",
    "reason.lacks": "the sample has no {field}",
    "reason.no_answer": "there is no answer",
    "reason.empty_answer": "the answer is empty",
    "reason.wordless": "the answer has no words",
    "reason.wordless_reference": "the reference has no words",
    "reason.wordless_contexts": "the contexts have no words",
    "reason.wordless_question": "the question has no words to search for",
    "reason.refuses": "the answer refuses",
    "reason.reference_refuses": "the reference refuses",
    "reason.claims_nothing": "the answer claims nothing",
    "reason.reference_claims_nothing": "the reference claims nothing",
    "reason.unknown_contexts": "the sample does not say which contexts were given",
    "reason.no_contexts": "there are no contexts",
    "reason.too_long": "too long: {statements:,} statements and {sentences:,} context sentences",
    "reason.needs_judge": "{criterion} needs a judge",
    "reason.embedding": "embedding: {reason}",
    "reason.segmenter": "Chinese text is split into words by {name}",
}
