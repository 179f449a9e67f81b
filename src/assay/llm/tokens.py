"""How many tokens a text has, without its tokenizer: an estimate, and a number that is never too small."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.llm.records import Request

_LETTERS_A_TOKEN = 4.0  # of English text
_TOKENS_A_SIGN = 0.75  # of Chinese text: between Qwen's tokenizer (0.65) and older ones (1)
_AROUND_A_MESSAGE = 8  # marks of the chat template
_INSTRUCTIONS = 400  # bytes that are added to ask for JSON with its seal


def estimate(text: str) -> int:
    """Estimate the tokens of a text; English and Chinese within a fifth or so."""
    size = len(text)
    signs = (len(text.encode("utf-8", errors="replace")) - size) / 2  # a Chinese character has three bytes
    return math.ceil(max(size - signs, 0) / _LETTERS_A_TOKEN + signs * _TOKENS_A_SIGN)


def most(text: str) -> int:
    """Give a number of tokens that the text cannot exceed: byte-level tokenizers give every token at least a byte."""
    return len(text.encode("utf-8", errors="replace"))


def estimate_prompt(request: Request) -> int:
    """Estimate the tokens of a whole request."""
    return sum(estimate(part) + _AROUND_A_MESSAGE for part in _parts(request))


def most_prompt(request: Request) -> int:
    """Give a number of prompt tokens that the request cannot exceed, instructions about JSON and its seal included."""
    return sum(most(part) + _AROUND_A_MESSAGE for part in _parts(request)) + _INSTRUCTIONS


def texts(contents: Sequence[Any]) -> list[str]:
    """Contents of messages as texts; those in parts are written as JSON."""
    return [content if isinstance(content, str) else _flat(content) for content in contents]


def _parts(request: Request) -> list[str]:
    found = texts(request.contents)
    return [*found, _flat(request.schema)] if request.schema is not None else found


def _flat(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
