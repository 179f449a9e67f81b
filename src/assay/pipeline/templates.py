"""Templates of requests: JSON with marks such as {query}, and the vector of a query where a template wants one."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UsageError, excerpt
from assay.formats.decoding import decode
from assay.messages import say
from assay.pipeline.measuring import time_work
from assay.pipeline.stages import identity_of
from assay.text.embeddings import embed_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.pipeline.measuring import Account
    from assay.pipeline.stages import Setup
    from assay.text.embeddings import Embedder

QUERY, COUNT, VECTOR, QUERY_ID = "{query}", "{k}", "{embedding}", "{query_id}"
_MARKS = re.compile(r"\{(?:query|k|embedding|query_id)\}")


def fill(part: Any, values: Mapping[str, Any]) -> Any:
    """Put values into the texts of a JSON value: a text that is a mark alone becomes the value itself."""
    if isinstance(part, str):
        if part in values:
            return values[part]
        return _MARKS.sub(lambda found: str(values.get(found[0], found[0])), part)
    if isinstance(part, list):
        return [fill(one, values) for one in part]
    if isinstance(part, dict):
        return {name: fill(one, values) for name, one in part.items()}
    return part


def read_template(given: Any, name: str) -> Any:
    """A template as a table of a TOML file, or as a text of JSON."""
    if not isinstance(given, str):
        return given
    try:
        return decode(given)
    except ValueError:
        raise UsageError(say("{name} is not JSON: {text}", name=name, text=excerpt(given))) from None


def holds(template: Any, mark: str) -> bool:
    """Return whether a template has a mark in it."""
    return mark in (template if isinstance(template, str) else json.dumps(template, ensure_ascii=False))


class QueryVectors:
    """Vectors of queries for engines that search by them; the time and the cost of making one are told."""

    def __init__(self, setup: Setup, embedder: str) -> None:
        self._embedder: Embedder = setup.embedder(embedder)
        self.identity = identity_of(self._embedder)
        self._warm = False

    def embed(self, text: str) -> tuple[list[float], float, Account]:
        """The vector of a query, the milliseconds that took, and what it cost."""
        if not self._warm and not getattr(self._embedder, "prices", None):
            embed_all(self._embedder, [text])  # loading a model is not what a query takes
        self._warm = True
        done = time_work(lambda: embed_all(self._embedder, [text]))
        if done.found.failures:
            reason = next(iter(done.found.failures.values()))
            raise InputError(say("the query got no vector: {reason}", reason=reason))
        return [float(x) for x in done.found.rows[0]], done.ms, done.account


def vectors_for(setup: Setup, embedder: str, *, wanted: bool, mark: str) -> QueryVectors | None:
    """What embeds queries, where a template wants that; an embedder must then be named."""
    if wanted and not embedder:
        raise UsageError(say("{mark} needs an embedder: embedder = NAME, the one that the documents have", mark=mark))
    return QueryVectors(setup, embedder) if wanted else None


def as_float(value: Any, default: float) -> float:
    """A score, or the default for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return default
    return default if math.isnan(found) else found


def names_of(found: Sequence[Any]) -> list[str]:
    """Some names for a message."""
    return [excerpt(str(one)) for one in list(found)[:8]]
