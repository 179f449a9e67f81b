"""Tokenizers of models, from the package `tokenizers`."""

from __future__ import annotations

from typing import Any

from assay.errors import InputError, UsageError


def load_tokenizer(path: str) -> Any:
    """Load a tokenizer.json."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UsageError("embeddings need the package tokenizers: pip install 'assay-eval[text]'") from None
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001  # the package raises plain Exception
        raise InputError(f"not a readable tokenizer: {str(error)[:120]}", path=path) from None
