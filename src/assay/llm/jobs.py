"""A chat or an embeddings request as the engine sees it: what to send, what it may cost, how to read the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from assay.llm import tokens, wire
from assay.llm.policy import finish_kind
from assay.llm.records import Reply, Request, Usage, failed
from assay.llm.structured import last_object, repairing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.llm.hosts import Vendor
    from assay.llm.policy import Kind
    from assay.llm.wire import Embedding, Traits


class Job(Protocol):
    """Something that can be sent."""

    @property
    def path(self) -> str:
        """Which part of the server it goes to."""

    @property
    def model(self) -> str:
        """Whose answer is wanted."""

    @property
    def weight(self) -> float:
        """Tokens it is expected to use."""

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Tokens of prompt and answer that it cannot exceed; None when the answer has no bound."""

    def body(self, traits: Traits) -> dict[str, Any]:
        """Write what is sent."""

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the answer: the kind of failure, if it is one, and what is known of the reply."""

    def repaired(self, reply: Reply) -> Job:
        """Ask again, showing what was wrong with the answer."""


@dataclass(frozen=True)
class Chat:
    """A chat request."""

    request: Request
    model: str
    vendor: Vendor
    path: str = wire.CHAT

    @property
    def weight(self) -> float:
        """Prompt tokens and half of the answer's bound: answers rarely use all of it; `usage` corrects the rest."""
        return tokens.estimated_prompt(self.request) + (self.request.max_tokens or 1024) / 2

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Bytes of the prompt, and max_tokens."""
        limit = self.request.max_tokens
        return None if limit is None else (tokens.most_prompt(self.request), limit)

    def body(self, traits: Traits) -> dict[str, Any]:
        """Write what is sent."""
        return wire.chat_body(self.request, self.model, vendor=self.vendor, traits=traits)

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the answer; a cut one never counts, even if it holds JSON: that may be a quotation."""
        said = wire.said(answer)
        if said is None:
            return "hollow", failed("empty", "the answer has no choices", usage=wire.usage_of(answer) or Usage())
        schema, data, message = self.request.schema, None, ""
        kind: Kind | None = "refused" if said.refusal else finish_kind(said.finish_reason)
        if kind is None and not said.text:
            kind = "empty"
        if kind is not None:
            message = said.refusal or _why(kind, said)
        elif schema is not None:
            data, message = last_object(said.text, schema)
            kind = "unfit" if data is None else None
        return kind, Reply(
            "ok", message=message, text=said.text, reasoning=said.reasoning, data=data, model=said.model,
            finish_reason=said.finish_reason, rung=traits.rung if schema is not None else "", logprobs=said.logprobs,
            usage=said.usage or wire.guessed_usage(self.request, said.reasoning + said.text),
        )  # fmt: skip

    def repaired(self, reply: Reply) -> Chat:
        """Ask again, showing what was wrong with the answer."""
        messages = repairing(self.request.messages, reply.text, reply.message)
        return replace(self, request=replace(self.request, messages=messages))


def _why(kind: Kind, said: wire.Said) -> str:
    if kind == "empty":
        return "the model only thought: allow more tokens or switch thinking off" if said.reasoning else "no text"
    if kind == "truncated":
        return "the answer was cut at max_tokens"
    return f"the answer ended with {said.finish_reason}"


@dataclass(frozen=True)
class Embed:
    """An embeddings request."""

    request: Embedding
    path: str = wire.EMBEDDINGS

    @property
    def model(self) -> str:
        """Whose vectors are wanted."""
        return self.request.model

    @property
    def weight(self) -> float:
        """Tokens of the texts."""
        return sum(map(tokens.estimated, self.request.texts))

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Bytes of the texts."""
        return sum(map(tokens.most, self.request.texts)) + 4 * len(self.request.texts), 0

    def body(self, traits: Traits) -> dict[str, Any]:
        """Write what is sent."""
        return wire.embedding_body(self.request, traits)

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the vectors, one for each text."""
        del traits
        vectors, usage = wire.vectors_of(answer, len(self.request.texts)), wire.usage_of(answer)
        if vectors is None:
            return "hollow", failed("empty", "the answer has not one vector for each text", usage=usage or Usage())
        usage = usage or Usage(int(self.weight), estimated=True)
        return None, Reply("ok", data=vectors, usage=usage, model=str(answer.get("model") or ""))

    def repaired(self, reply: Reply) -> Embed:
        """Nothing to repair in a vector."""
        del reply
        return self
