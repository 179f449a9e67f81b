"""Texts in English: embeddings."""

from __future__ import annotations

TEXTS = {
    "embeddings.folder": "embeddings: minilm from {folder}",
    "embeddings.asked": "embeddings: {name}, as asked",
    "embeddings.english": "embeddings: minilm, because the texts are English",
    "embeddings.no_minilm": "embeddings: wordllama, because the weights of minilm are not installed",
    "embeddings.chinese": "embeddings: wordllama, because the texts are Chinese",
    "embeddings.mixed": "embeddings: wordllama, because the texts are in several languages",
    "embeddings.other": "embeddings: wordllama, because no other model is known to fit",
    "embeddings.no_wordllama": "embeddings: minilm, because wordllama is not installed",
    "embeddings.not_finite": "the vector is not finite",
    "embeddings.no_vector": "no vector came back",
}
