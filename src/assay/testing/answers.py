"""What a fake server was asked and what it says."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LETTERS_A_TOKEN = 4
_DIMENSIONS = 8
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Received:
    """A request as it arrived: its number, the time (time.monotonic), path, headers and body."""

    number: int
    at: float
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        """The JSON of the body; nothing if it is not an object."""
        try:
            value = json.loads(self.raw)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def text(self) -> str:
        """All text of the messages, or of the input."""
        body = self.body
        if "messages" in body:
            return "\n".join(str(message.get("content", "")) for message in body["messages"])
        return "\n".join(self.inputs)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema that the answer must fit, from `response_format` or from the end of the prompt."""
        asked = self.body.get("response_format") or {}
        if "json_schema" in asked:
            found = asked["json_schema"].get("schema")
        else:
            try:
                found = json.loads(self.text.rpartition("\n")[2])
            except ValueError:
                found = None
        return found if isinstance(found, dict) else {}

    @property
    def seal(self) -> str:
        """The word that a structured answer to this very request has to carry as its entry "seal"."""
        asked = self.schema.get("properties", {}).get("seal", {})
        return str(asked.get("const", "")) if isinstance(asked, dict) else ""

    @property
    def inputs(self) -> list[str]:
        """Texts of an embeddings request."""
        value = self.body.get("input", [])
        return [value] if isinstance(value, str) else [str(text) for text in value]


@dataclass(frozen=True)
class Answer:
    """What the server does about a request: by default, a well-formed answer with this text.

    status, headers, body: an answer of another kind; `body` is sent as it is (text, bytes, or JSON data).
    delay: seconds before anything is sent. drip: seconds between single bytes of the body.
    cut: only so many bytes of the body are sent, then the connection closes, though the header promised them all.
    broken: "reset" breaks the connection off instead of answering, "close" closes it, "stall" never answers.
    usage: token counts, or None to leave them out; by default a token is four letters.
    stream: pieces of the text with the seconds before each; a request that asks for a stream gets events. Without it,
    such a request gets the text in pieces of four letters, all at once.
    logprobs: (token, log probability, {alternative: log probability}) of each token.
    sealed: where the request asks for JSON with a seal, the one object of the text gets it, as from a model that
    follows instructions; objects that the text quotes from the prompt are left alone. A text with several objects is
    sent as it is; so is every text if this is False.
    """

    text: str | None = "OK"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    broken: Literal["", "reset", "close", "stall"] = ""
    reasoning: str | None = None
    refusal: str | None = None
    finish_reason: str | None = "stop"
    usage: Mapping[str, Any] | Literal["counted"] | None = "counted"
    logprobs: Sequence[tuple[str, float, Mapping[str, float]]] | None = None
    sealed: bool = True
    stream: Sequence[tuple[float, str]] | None = None

    @classmethod
    def error(cls, status: int, message: str = "", **known: Any) -> Answer:
        """An error as OpenAI writes it; code, type and param may be given, and headers."""
        headers = known.pop("headers", {})
        return cls(status=status, headers=headers, body={"error": {"message": message, **known}})

    def content(self, received: Received) -> bytes:
        """Bytes of the body."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        data = self.body if self.body is not None else self._body(received)
        return json.dumps(data, ensure_ascii=False).encode()

    def events(self, received: Received) -> list[tuple[float, bytes]]:
        """Events of a stream, each with the seconds before it, as OpenAI's protocol has them."""
        text = self.text or ""
        whole = [(0.0, text[at : at + _LETTERS_A_TOKEN]) for at in range(0, len(text), _LETTERS_A_TOKEN)]
        pieces = whole if self.stream is None else self.stream
        found = [(wait, _event(received, [_choice({"content": piece})])) for wait, piece in pieces]
        found.append((0.0, _event(received, [_choice({}, self.finish_reason)])))
        asked = received.body.get("stream_options") or {}
        if self.usage is not None and asked.get("include_usage"):
            counted = _usage(received.text, "") | {"completion_tokens": len(pieces)}
            found.append((0.0, _event(received, [], dict(counted if self.usage == "counted" else self.usage))))
        return [*found, (0.0, b"data: [DONE]\n\n")]

    def _body(self, received: Received) -> dict[str, Any]:
        return embeddings(received) if received.path.endswith("/embeddings") else self._completion(received)

    def _completion(self, received: Received) -> dict[str, Any]:
        said = with_seal(self.text, received) if self.sealed and self.text else self.text
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.refusal is not None:
            message["refusal"] = self.refusal
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason, "logprobs": self._logprobs()}
        made: dict[str, Any] = {
            "id": f"fake-{received.number}",
            "object": "chat.completion",
            "model": received.body.get("model", ""),
            "choices": [choice],
        }
        if self.usage is not None:
            counted = _usage(received.text, (self.reasoning or "") + (self.text or ""))
            made["usage"] = counted if self.usage == "counted" else dict(self.usage)
        return made

    def _logprobs(self) -> dict[str, Any] | None:
        if self.logprobs is None:
            return None
        rows = [
            {"token": token, "logprob": value, "top_logprobs": [{"token": t, "logprob": v} for t, v in top.items()]}
            for token, value, top in self.logprobs
        ]
        return {"content": rows}


def _choice(delta: Mapping[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}


def _event(received: Received, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
    body = {"id": f"fake-{received.number}", "object": "chat.completion.chunk", "choices": choices, "usage": usage}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


def seal_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The word that a structured answer to these messages has to carry, for functions that replace a judge."""
    found = re.search(r'"seal": "(\w+)"', str(messages[-1]["content"]))
    return found[1] if found else ""


def with_seal(text: str, received: Received) -> str:
    """Write the seal of a request into the one JSON object of a text that is not quoted from the prompt.

    A model's thinking does not count.
    """
    seal, places, end = received.seal, [], text.rfind("</think>") + 1
    while seal and (start := text.find("{", end)) >= 0:
        try:
            _, end = _DECODER.raw_decode(text, start)
            places += [(start, end)] if text[start:end] not in received.text else []
        except ValueError:
            end = start + 1
    if len(places) != 1 or seal in text[slice(*places[0])]:
        return text
    start, end = places[0]
    rest = text[start + 1 : end].lstrip()
    return f'{text[:start]}{{"seal": "{seal}"{"" if rest == "}" else ", "}{rest}{text[end:]}'


def _usage(prompt: str, answer: str) -> dict[str, int]:
    asked, said = math.ceil(len(prompt) / _LETTERS_A_TOKEN), math.ceil(len(answer) / _LETTERS_A_TOKEN)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def embeddings(received: Received) -> dict[str, Any]:
    """Unit vectors made from a hash of each text: equal texts have equal vectors."""
    texts = received.inputs
    size = received.body.get("dimensions") or _DIMENSIONS
    rows = [{"object": "embedding", "index": i, "embedding": vector(text, size)} for i, text in enumerate(texts)]
    return {
        "object": "list",
        "data": rows,
        "model": received.body.get("model", ""),
        "usage": _usage("".join(texts), "") | {"completion_tokens": 0},
    }


def vector(text: str, size: int = _DIMENSIONS) -> list[float]:
    """A unit vector made from a hash of the text."""
    raw = hashlib.shake_256(text.encode("utf-8", errors="replace")).digest(2 * size)
    values = [int.from_bytes(raw[2 * i : 2 * i + 2], "big") / 32767.5 - 1 for i in range(size)]
    length = math.sqrt(math.fsum(x * x for x in values)) or 1.0
    return [x / length for x in values]
