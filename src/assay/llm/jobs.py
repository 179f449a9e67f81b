"""A chat or an embeddings request as the engine sees it: what to send, what it may cost, how to read the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import clean
from assay.llm import tokens, wire
from assay.llm.policy import finish_kind
from assay.llm.prompts import seal_for
from assay.llm.records import Reply, Request, Usage, failure
from assay.llm.structured import FoundObject, find_sealed, repairing, single_object
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.llm.hosts import Vendor
    from assay.llm.policy import Kind
    from assay.llm.wire import EmbeddingRequest, Traits


_SHOWN = 4  # bytes of an unfit answer that are shown to its model again, for each token that it may have
_UNLIMITED = 1024  # tokens, where an answer has no limit
_WHY = 300  # characters of what is wrong with it
_REPAIR = 300  # bytes of the words around that, and of the chat template around two more messages


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

    def body(self, traits: Traits) -> dict[str, Any] | None:
        """Write what is sent; None for a request without a body."""

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the answer: the kind of failure, if it is one, and what is known of the reply."""

    def repair(self, reply: Reply) -> Job:
        """Ask again, showing what was wrong with the answer."""

    def recall(self, reply: Reply) -> Reply | None:
        """Check a cached reply; None if the request has to be sent again."""


@dataclass(frozen=True)
class Chat:
    """A chat request; `repairs` is the one whose answer could not be used, if this one asks for it again."""

    request: Request
    model: str
    vendor: Vendor
    path: str = wire.CHAT
    repairs: Chat | None = None

    @cached_property
    def seal(self) -> str:
        """The word that ties a structured answer to this call; empty for plain text."""
        return "" if self.request.schema is None else seal_for(*tokens.texts(self.request.contents))

    @property
    def _user_texts(self) -> list[str]:
        """The texts that users gave to be judged, without system instructions, example answers and earlier answers."""
        messages = (self.repairs or self).request.messages
        return tokens.texts([message["content"] for message in messages if message["role"] == "user"])

    @property
    def weight(self) -> float:
        """Prompt tokens and half of the answer's bound: answers rarely use all of it; `usage` corrects the rest."""
        return tokens.estimate_prompt(self.request) + (self.request.max_tokens or 1024) / 2

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Bytes of the prompt, and max_tokens."""
        limit = self.request.max_tokens
        return None if limit is None else (tokens.most_prompt(self.request), limit)

    @property
    def all_bounds(self) -> list[tuple[int, int]] | None:
        """Bounds of every call that answers of full length lead to: a structured one may have to be asked for again."""
        bounds, limit = self.bounds, self.request.max_tokens
        if bounds is None or limit is None:
            return None
        again = (bounds[0] + _SHOWN * limit + 4 * _WHY + _REPAIR, limit)
        return [bounds, again] if self.request.schema is not None else [bounds]

    def body(self, traits: Traits) -> dict[str, Any]:
        """Write what is sent."""
        return wire.chat_body(self.request, self.model, vendor=self.vendor, traits=traits, seal=self.seal)

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Read the answer; a cut one never counts, even if it holds JSON: that may be a quotation."""
        said = wire.read_completion(answer)
        if said is None:
            return "hollow", failure("empty", say("reply.no_choices"), usage=wire.usage_of(answer) or Usage())
        schema, found, message = self.request.schema, FoundObject(None, ""), ""
        kind: Kind | None = "refused" if said.refusal else finish_kind(said.finish_reason)
        if kind is None and not said.text:
            kind = "empty"
        if kind is not None:
            message = said.refusal or _why(kind, said)
        elif schema is not None:
            spellings = self.request.spellings
            found = find_sealed(said.text, schema, self.seal, given=self._user_texts, spellings=spellings)
            kind, message = "unfit" if found.why else None, found.why
        return kind, Reply(
            "ok", message=message, text=said.text, reasoning=said.reasoning, data=found.data, model=said.model,
            finish_reason=said.finish_reason, rung=traits.rung if schema is not None else "", logprobs=said.logprobs,
            usage=said.usage or wire.guess_usage(self.request, said.reasoning + said.text),
            seal="" if found.data is None else self.seal,
        )  # fmt: skip

    def repair(self, reply: Reply) -> Chat:
        """Ask again, showing what was wrong with the answer."""
        limit = self.request.max_tokens or _UNLIMITED
        shown = reply.text.encode("utf-8", errors="replace")[: _SHOWN * limit].decode("utf-8", errors="ignore")
        messages = repairing(self.request.messages, shown, reply.message[:_WHY])
        return replace(self, request=replace(self.request, messages=messages), repairs=self.repairs or self)

    def recall(self, reply: Reply) -> Reply | None:
        """Accept a cached answer with its seal, or an older one without a seal if it holds a single object."""
        schema = self.request.schema
        if schema is None or not reply.ok or reply.seal or not reply.text:
            return reply
        found = single_object(reply.text, schema, given=self._user_texts, spellings=self.request.spellings)
        return None if found.why else replace(reply, data=found.data)


def _why(kind: Kind, said: wire.Completion) -> str:
    if kind == "empty":
        return say("reply.only_thought") if said.reasoning else say("reply.no_text")
    if kind == "truncated":
        return say("reply.cut")
    return say("reply.ended", reason=clean(said.finish_reason))


@dataclass(frozen=True)
class Embed:
    """An embeddings request."""

    request: EmbeddingRequest
    path: str = wire.EMBEDDINGS

    @property
    def model(self) -> str:
        """Whose vectors are wanted."""
        return self.request.model

    @property
    def weight(self) -> float:
        """Tokens of the texts."""
        return sum(map(tokens.estimate, self.request.texts))

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
            return "hollow", failure("empty", say("reply.no_vectors"), usage=usage or Usage())
        usage = usage or Usage(int(self.weight), estimated=True)
        return None, Reply("ok", data=vectors, usage=usage, model=str(answer.get("model") or ""))

    def repair(self, reply: Reply) -> Embed:
        """Nothing to repair in a vector."""
        del reply
        return self

    def recall(self, reply: Reply) -> Reply | None:
        """Nothing to doubt in a vector."""
        return reply
