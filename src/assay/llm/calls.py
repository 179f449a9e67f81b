"""Calls of other kinds than chat: any JSON body and a function that reads the answer; among them, reranking."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import UsageError
from assay.llm import tokens, wire
from assay.llm.records import Reply, Usage, failure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.llm.policy import Kind
    from assay.llm.wire import Traits

Shape = Literal["jina", "cohere", "vllm", "dashscope", "tei"]
SHAPES: tuple[Shape, ...] = ("jina", "cohere", "vllm", "dashscope", "tei")
_TEI = re.compile(r"(?<![a-z])tei(?![a-z])|text-embeddings-inference")
_DASHSCOPE = "/services/rerank/text-rerank/text-rerank"


@dataclass(frozen=True)
class Call:
    """A body for a path of the server; `read` returns the value in the answer, or None if there is none.

    With `listed`, the server answers with a bare list, which is read as the `results` of an object.
    """

    path: str
    model: str
    payload: Mapping[str, Any]
    read_answer: Callable[[Mapping[str, Any]], Any]
    listed: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """What shapes the answer."""
        return {"path": self.path, "model": self.model, "payload": self.payload}

    @property
    def weight(self) -> float:
        """Tokens of the body, estimated."""
        return float(tokens.estimate(json.dumps(self.payload, ensure_ascii=False)))

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Bytes of the body."""
        return tokens.most(json.dumps(self.payload, ensure_ascii=False)), 0

    def body(self, traits: Traits) -> dict[str, Any]:
        """Write what is sent."""
        return {name: value for name, value in self.payload.items() if name not in traits.dropped}

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the answer."""
        del traits
        found, usage = self.read_answer(answer), usage_of(answer)
        if found is None:
            return "hollow", failure("empty", say("reply.lacks_data"), usage=usage or Usage())
        usage = usage or Usage(int(self.weight), estimated=True)
        return None, Reply("ok", data=found, usage=usage, model=str(answer.get("model") or ""))

    def repair(self, reply: Reply) -> Call:
        """Nothing to repair."""
        del reply
        return self

    def recall(self, reply: Reply) -> Reply | None:
        """Accept any cached reply."""
        return reply


def usage_of(answer: Mapping[str, Any]) -> Usage | None:
    """Read the token counts of a chat's or a reranker's answer."""
    known = wire.usage_of(answer)
    raw = answer.get("usage")
    if known is not None:
        return known
    meta = answer.get("meta")  # Cohere: {"billed_units": {"search_units": 1}, "tokens": {"input_tokens": 30}}
    counts = meta.get("tokens") if isinstance(meta, dict) else None
    total = raw.get("total_tokens") if isinstance(raw, dict) else None
    named = counts.get("input_tokens") if isinstance(counts, dict) else None
    found = next((one for one in (total, named) if _is_count(one)), None)
    return None if found is None else Usage(found)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def searches_of(answer: Mapping[str, Any]) -> float | None:
    """Searches that a server bills for an answer, as Cohere names them; None when it does not say."""
    meta = answer.get("meta")
    billed = meta.get("billed_units") if isinstance(meta, dict) else None
    found = billed.get("search_units") if isinstance(billed, dict) else None
    sensible = isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found < math.inf
    return float(found) if sensible else None  # type: ignore[arg-type]


def rerank_call(query: str, documents: Sequence[str], *, model: str, shape: Shape) -> Call:
    """Ask a reranker for a score of every document; Cohere's are beside the number of billed searches."""
    count = len(documents)
    if shape == "tei":  # raw scores: those between 0 and 1 are 1 for every good document
        body = {"query": query, "texts": list(documents), "raw_scores": True, "truncate": True}
        return Call("/rerank", model, body, lambda answer: _scores(answer, count), listed=True)
    flat = {"model": model, "query": query, "documents": list(documents), "top_n": count}
    if shape == "dashscope":
        inside = {"query": query, "documents": list(documents)}
        rest = {"top_n": count, "return_documents": False}
        outer = {"model": model, "input": inside, "parameters": rest}
        return Call(_DASHSCOPE, model, outer, lambda answer: _scores(answer.get("output"), count))
    if shape == "jina":
        flat["return_documents"] = False
    if shape == "cohere":
        return Call("/rerank", model, flat, lambda answer: _scores_and_bill(answer, count))
    return Call("/rerank", model, flat, lambda answer: _scores(answer, count))


def _scores_and_bill(answer: Mapping[str, Any], count: int) -> dict[str, Any] | None:
    scores = _scores(answer, count)
    return None if scores is None else {"scores": scores, "searches": searches_of(answer)}


def rerank_base(url: str, shape: str) -> tuple[str, Shape]:
    """The base URL of a reranker's address, and its API shape: as given, else guessed from the address."""
    if shape not in {"auto", *SHAPES}:
        raise UsageError(say("shape = {shape!r}: expected one of {shapes}", shape=shape, shapes=["auto", *SHAPES]))
    base = url.rstrip("/").removesuffix(_DASHSCOPE).removesuffix("/rerank")
    if shape == "auto" and _TEI.search(url.lower()):
        return base, "tei"
    for known in SHAPES:
        if shape == known or (shape == "auto" and known != "tei" and known in url.lower()):
            return base, known
    return base, "vllm"


def _scores(answer: Any, count: int) -> list[float] | None:
    """Scores in the order of the documents; None unless every document has exactly one finite score."""
    rows = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        return None
    found: dict[int, float] = {}
    for row in rows:
        place = row.get("index") if isinstance(row, dict) else None
        score = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
        if isinstance(place, bool) or not isinstance(place, int) or not isinstance(score, (int, float)):
            return None
        if not math.isfinite(score) or not 0 <= place < count:
            return None
        found[place] = float(score)
    return [found[place] for place in range(count)] if len(found) == count else None
