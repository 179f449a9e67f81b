"""The protocol: a request as the body of an HTTP call, and the parts of an answer's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.llm import tokens
from assay.llm.records import Request, Rung, TokenLogprob, Usage
from assay.llm.structured import add_instructions, add_seal, response_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.llm.hosts import Vendor

CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Traits:
    """What a model on a host does not accept, learnt from its refusals and kept for the next call."""

    rung: Rung = "json_schema"
    dropped: frozenset[str] = field(default_factory=frozenset)
    max_tokens: str = "max_tokens"
    no_thinking: bool = False


@dataclass(frozen=True)
class EmbeddingRequest:
    """Texts to be turned into vectors."""

    texts: tuple[str, ...]
    model: str
    dimensions: int | None = None


def chat_body(request: Request, model: str, *, vendor: Vendor, traits: Traits, seal: str) -> dict[str, Any]:
    """Write the body of a chat call; `seal` binds a structured answer to it."""
    body: dict[str, Any] = {"model": request.model or model, "messages": request.messages}
    if request.schema is not None:
        schema = add_seal(request.schema, seal)
        body["messages"] = add_instructions(request.messages, schema, traits.rung, seal)
        body["response_format"] = response_format(schema, traits.rung)
    body["temperature"] = request.temperature
    body[traits.max_tokens] = request.max_tokens
    body["top_p"], body["seed"], body["stop"] = request.top_p, request.seed, list(request.stop) or None
    if request.logprobs is not None:
        body["logprobs"], body["top_logprobs"] = True, min(request.logprobs, vendor.top_logprobs)
    body |= _thinking(vendor, wanted=False if traits.no_thinking else request.thinking)
    body |= request.extra
    return {name: value for name, value in body.items() if value is not None and name not in traits.dropped}


def _thinking(vendor: Vendor, *, wanted: bool | None) -> dict[str, Any]:
    if wanted is None or vendor.thinking == "none":
        return {}
    if vendor.thinking == "thinking":
        return {"thinking": {"type": "enabled" if wanted else "disabled"}}
    return {"enable_thinking": wanted} if vendor.thinking == "enable_thinking" else {
        "chat_template_kwargs": {"enable_thinking": wanted}
    }  # fmt: skip


def embedding_body(request: EmbeddingRequest, traits: Traits) -> dict[str, Any]:
    """Write the body of an embeddings call."""
    body = {"model": request.model, "input": list(request.texts), "dimensions": request.dimensions}
    return {name: value for name, value in body.items() if value is not None and name not in traits.dropped}


def encode(body: Mapping[str, Any]) -> bytes:
    """Write a body as bytes; half surrogate pairs, which no server takes, become question marks."""
    return _ENCODER.encode(body).encode("utf-8", errors="replace")


@dataclass(frozen=True)
class Completion:
    """The parts of a chat answer that matter."""

    text: str
    reasoning: str
    refusal: str
    finish_reason: str
    model: str
    usage: Usage | None
    logprobs: tuple[TokenLogprob, ...] | None


def read_completion(answer: Mapping[str, Any]) -> Completion | None:
    """Read a chat answer; None when there is no choice in it."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    inline, text = split_thinking(_text(message.get("content")))
    thoughts = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    return Completion(
        text=text,
        reasoning=thoughts or inline,
        refusal=_text(message.get("refusal")),
        finish_reason=str(choice.get("finish_reason") or ""),
        model=str(answer.get("model") or ""),
        usage=usage_of(answer),
        logprobs=_logprobs(choice.get("logprobs")),
    )


def _text(content: Any) -> str:
    if isinstance(content, list):  # some servers answer in parts
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def split_thinking(text: str) -> tuple[str, str]:
    """Separate a model's thinking from its answer; thinking that never ends leaves no answer.

    Some servers drop the opening mark. Then everything before the closing one is thinking, unless it holds a brace: a
    closing mark inside a JSON answer is a quotation.
    """
    bare = text.lstrip()
    if bare.startswith("<think>"):
        thought, _, rest = bare.removeprefix("<think>").partition("</think>")
        return thought.strip(), rest.strip()
    thought, mark, rest = text.partition("</think>")
    return (thought.strip(), rest.strip()) if mark and "{" not in thought else ("", text)


def usage_of(answer: Mapping[str, Any]) -> Usage | None:
    """Read the token counts; None when the server does not give them or they make no sense."""
    raw = answer.get("usage")
    if not isinstance(raw, dict) or not _count(raw.get("prompt_tokens")):
        return None
    prompt = raw["prompt_tokens"]
    completion = raw.get("completion_tokens", 0)
    if not _count(completion):
        return None
    return Usage(
        prompt,
        completion,
        min(
            _detail(raw, "prompt_tokens_details", "cached_tokens") or _count_or_0(raw.get("prompt_cache_hit_tokens")),
            prompt,
        ),
        _detail(raw, "completion_tokens_details", "reasoning_tokens"),
    )


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _count_or_0(value: Any) -> int:
    return value if _count(value) else 0


def _detail(raw: Mapping[str, Any], group: str, name: str) -> int:
    details = raw.get(group)
    return _count_or_0(details.get(name)) if isinstance(details, dict) else 0


def guess_usage(request: Request, text: str) -> Usage:
    """Estimate the tokens of a call whose server does not count."""
    return Usage(tokens.estimate_prompt(request), tokens.estimate(text), estimated=True)


def _logprobs(raw: Any) -> tuple[TokenLogprob, ...] | None:
    rows = raw.get("content") if isinstance(raw, dict) else None
    if not isinstance(rows, list):
        return None
    try:
        return tuple(
            TokenLogprob(
                str(row["token"]),
                float(row["logprob"]),
                {str(other["token"]): float(other["logprob"]) for other in row.get("top_logprobs") or ()},
            )
            for row in rows
        )
    except (KeyError, TypeError, ValueError):
        return None


def vectors_of(answer: Mapping[str, Any], count: int) -> list[list[float]] | None:
    """Read the vectors of an embeddings answer in the order of the texts; None unless there is one for each."""
    rows = answer.get("data")
    if not isinstance(rows, list) or len(rows) != count:
        return None
    found: list[list[float] | None] = [None] * count
    for place, row in enumerate(rows):
        vector = row.get("embedding") if isinstance(row, dict) else None
        index = row.get("index", place) if isinstance(row, dict) else place
        if not isinstance(vector, list) or not vector or not _count(index) or index >= count:
            return None
        if not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in vector):
            return None
        found[index] = [float(x) for x in vector]
    return None if any(vector is None for vector in found) else [vector for vector in found if vector is not None]
