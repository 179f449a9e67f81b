"""How far an answer is about the question, without a language model: by its words, or by its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.grounding.record import Grade
from assay.text import chinese
from assay.text.embeddings import choose_embedder, cosines, embed_all
from assay.text.segmentation import han_words
from assay.text.words import bag, is_strong

if TYPE_CHECKING:
    from assay.data.samples import Sample


def relevance_by_words(sample: Sample) -> Grade:
    """Share of the question's words, function words removed, that the answer has."""
    asked = _words(sample.question or "")
    if not asked:
        return Grade(None, "the question has no words to look for", "undefined")
    return Grade(len(asked & _words(sample.answer or "")) / len(asked))


def _words(text: str) -> set[str]:
    latin = {word for word in bag(text) if word and is_strong(word)}
    return latin | {word for word in han_words(text) if word not in chinese.STOP_WORDS}


def relevance_by_embedding(sample: Sample, embedder: Any) -> Grade:
    """Cosine similarity of question and answer, not below 0."""
    texts = [sample.question or "", sample.answer or ""]
    vectors = embed_all(choose_embedder(embedder, texts).embedder, texts)
    if vectors.failures:
        return Grade(None, f"embedding: {next(iter(vectors.failures.values()))}")
    return Grade(max(0.0, float(cosines(vectors.rows[:1], vectors.rows[1:])[0, 0])))
