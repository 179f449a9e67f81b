"""Rerankers of the pipeline as targets of `assay bench`: rerank:METHOD,KEY=VALUE,..."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.pipeline.rerankers import Reranker

PREFIX = "rerank:"


def stage_target(text: str) -> Callable[[str, Sequence[str]], object]:
    """Make a reranker of the pipeline; what it keeps of earlier texts is dropped before every call.

    Otherwise repeated texts would take no time, and the cache would be measured.
    """
    from assay.pipeline import language_models, rerankers  # they register their methods
    from assay.pipeline.stages import Setup, check, find

    del language_models, rerankers
    name, *rest = text.removeprefix(PREFIX).split(",")
    params = dict(map(_parameter, rest))
    check("rerank", name, params)
    made: Reranker | None = find("rerank", name).make(Setup(), **params)
    if made is None:
        raise UsageError(say("rerank:none does nothing: there is nothing to measure"))
    score, forget = made.score, getattr(made, "forget", None)
    if forget is None:
        return score

    def fresh(query: str, documents: Sequence[str]) -> object:
        forget()
        return score(query, documents)

    return fresh


def _parameter(text: str) -> tuple[str, Any]:
    """Read KEY=VALUE as a TOML file would; anything that is not a TOML value is a string."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(say("{text!r}: expected KEY=VALUE, as in rerank:embedding,embedder=minilm", text=text))
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key, value
