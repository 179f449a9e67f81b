"""Texts in English: stages of pipelines."""

from __future__ import annotations

TEXTS = {
    "generate.no_words": "the chunks contain none of the question's words",
}
