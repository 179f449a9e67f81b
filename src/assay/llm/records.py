"""Requests to a language model, and its replies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.errors import UsageError, clean, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

Status = Literal["ok", "failed"]
# Why a reply failed. The policy (see `policy`) says which kind of failure ends in which reason.
Reason = Literal[
    "",  # it did not fail
    "filtered",  # a content filter withheld prompt or answer
    "refused",  # the model declined
    "truncated",  # the answer was cut at max_tokens
    "empty",  # an answer without text
    "parse",  # no JSON that fits the schema, after one repair attempt
    "too_long",  # the prompt does not fit the model
    "request",  # the server does not accept the request
    "model",  # no such model or address
    "key",  # the key is wrong or not allowed
    "quota",  # the account has no money left
    "budget",  # the budget of this client is used up
    "throttled",  # too many requests, in spite of waiting
    "timeout",  # no complete answer in time
    "deadline",  # the run's or the item's time is over
    "network",  # no connection, or it broke
    "server",  # the server failed
    "garbage",  # an answer that is not of this protocol: HTML, cut JSON
    "cancelled",  # the caller went away before it was sent
    "error",  # a user's own function raised an error
]
REASONS = get_args(Reason)
Rung = Literal["", "json_schema", "json_object", "fenced"]
SEAL = "seal"  # the name under which a structured answer carries what binds it to its call
_HALF = re.compile("[\ud800-\udfff]")
_SHAPING = ("temperature", "max_tokens", "top_p", "seed", "stop", "schema", "logprobs", "thinking", "extra")


@dataclass(frozen=True)
class Request:
    """One question to a language model; everything that shapes the answer is in it.

    `messages` are dicts with role and content. `schema` asks for a JSON object of that shape; `logprobs` for the
    probabilities of that many alternatives per token; `repeat` numbers repeated questions, `prompt_version`
    versions of one prompt. `extra` goes into the body as it is. `spellings` are words that the answer may use in place
    of those that the schema lists.
    """

    messages: Sequence[Mapping[str, Any]]
    model: str = ""
    temperature: float | None = 0.0
    max_tokens: int | None = 1024
    top_p: float | None = None
    seed: int | None = None
    stop: Sequence[str] = ()
    schema: Mapping[str, Any] | None = None
    logprobs: int | None = None
    thinking: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    prompt_version: str = ""
    repeat: int = 0
    spellings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        messages = tuple(self.messages)
        if not messages or not all(isinstance(message, Mapping) for message in messages):
            raise UsageError(say('messages: expected a list such as [{{"role": "user", "content": "..."}}]'))
        for message in messages:
            if not isinstance(message.get("role"), str) or not isinstance(message.get("content"), (str, list, tuple)):
                raise UsageError(say("message {message}: expected role and content", message=excerpt(message)))
        if self.max_tokens is not None and self.max_tokens < 1:
            raise UsageError(
                say("max_tokens = {value}: expected a number of 1 or more, or None", value=self.max_tokens)
            )
        if self.schema is not None and self.schema.get("type") != "object":
            raise UsageError(say('schema: expected a JSON schema with "type": "object"'))
        if self.schema is not None and SEAL in self.schema.get("properties", {}):
            raise UsageError(say('schema: the name "{name}" is used by assay itself: choose another', name=SEAL))
        # One way to write the same request: its fingerprint must not depend on how it was put.
        object.__setattr__(self, "messages", tuple(dict(message) for message in messages))
        object.__setattr__(self, "stop", tuple(self.stop))
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    @classmethod
    def asking(cls, text: str, *, system: str = "", **options: Any) -> Request:
        """Make a request of a plain text."""
        before = [{"role": "system", "content": system}] if system else []
        return cls([*before, {"role": "user", "content": text}], **options)

    @property
    def contents(self) -> list[Any]:
        """Contents of the messages."""
        return [message["content"] for message in self.messages]

    def fingerprint(self, host: str, model: str) -> str:
        """SHA-256 of everything that shapes the answer: the key in the cache.

        The seal of a structured answer is not in it: it follows from the messages, which are. So the replies that were
        paid for before answers carried seals keep their keys, and `Chat.recall` decides which of them still count.
        """
        parts = {name: getattr(self, name) for name in _SHAPING}
        return digest({"host": host, "model": self.model or model, "messages": self.messages, **parts,
                       "prompt_version": self.prompt_version, "repeat": self.repeat})  # fmt: skip


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of a value written as JSON in one certain way."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="backslashreplace")).hexdigest()


@dataclass(frozen=True)
class Usage:
    """Tokens of a call; `estimated` when the server did not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Cost:
    """Money of a call: what it surely cost, and what calls without an answer may have cost on top of that."""

    amount: float = 0.0
    possible: float = 0.0
    currency: str = "USD"
    estimated: bool = False

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.amount + other.amount,
            self.possible + other.possible,
            self.currency,
            estimated=self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class TokenLogprob:
    """A token of the answer, its log probability, and the likeliest alternatives with theirs."""

    token: str
    logprob: float
    top: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """The outcome of a request: exactly one status, with a reason when it failed.

    `data` is the JSON object when a schema was given (or an embedding's vector), `rung` how it was asked for, `cost`
    the money of this run (None: the price is unknown; 0 for an answer from the cache), `calls` the HTTP calls made.
    `dropped` names parameters that the server does not accept; they were left out. `seal` is the word that bound `data`
    to the call (see `structured`). `span` is when it was sent first and when it was understood, on the clock of
    `time.monotonic`: what keeping it takes is not in it; it is empty where nothing was sent.
    """

    status: Status
    reason: Reason = ""
    message: str = ""
    text: str = ""
    reasoning: str = ""
    data: Any = None
    rung: Rung = ""
    repaired: bool = False
    finish_reason: str = ""
    model: str = ""
    logprobs: tuple[TokenLogprob, ...] | None = None
    dropped: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost: Cost | None = None
    calls: int = 0
    seconds: float = 0.0
    cached: bool = False
    shared: bool = False
    key: str = ""
    seal: str = ""
    span: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        # What a server calls things ends up in terminals and logs.
        for name in ("message", "model", "finish_reason"):
            text = getattr(self, name)
            if text:
                object.__setattr__(self, name, clean(text))

    @property
    def ok(self) -> bool:
        """Return whether there is an answer."""
        return self.status == "ok"


def failure(reason: Reason, message: str, **known: Any) -> Reply:
    """Make a reply that failed."""
    return Reply("failed", reason, message, **known)


def mend_surrogates(value: Any) -> Any:
    """Replace half surrogate pairs in a text, or in the texts of a JSON value: no file can hold them."""
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value) if not value.isascii() else value
    if isinstance(value, dict):
        return type(value)((mend_surrogates(name), mend_surrogates(part)) for name, part in value.items())
    return [mend_surrogates(part) for part in value] if isinstance(value, list) else value


# What a reply was made by, as opposed to what it says, is not kept in the cache.
_PASSING = ("cost", "calls", "seconds", "cached", "shared", "key", "span")


def to_json(reply: Reply) -> str:
    """Write a reply for the cache."""
    plain = {name: value for name, value in vars(reply).items() if name not in _PASSING}
    plain["usage"] = vars(reply.usage)
    if not reply.seal:
        del plain["seal"]  # earlier versions do not know it
    if reply.logprobs is not None:
        plain["logprobs"] = [vars(token) for token in reply.logprobs]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which no file can hold
        return json.dumps(plain, separators=(",", ":"))
    return text


# What caches keep as plain English becomes a message again, so that it can be translated: current texts, and
# those of earlier versions.
_KEPT = ("no_object", "no_seal", "several", "name_twice", "copied", "no_text", "cut", "only_thought")
_EARLIER = {
    "no text": "reply.no_text",
    "the answer was cut at max_tokens": "reply.cut",
    "the model only thought: allow more tokens or switch thinking off": "reply.only_thought",
}


@lru_cache(maxsize=1)
def _keys_by_text() -> dict[str, str]:
    return {**_EARLIER, **{str(say(f"reply.{name}")): f"reply.{name}" for name in _KEPT}}


def _say_again(text: Any) -> Any:
    key = _keys_by_text().get(text) if isinstance(text, str) and text else None
    return text if key is None else say(key)


def from_json(text: str, key: str) -> Reply | None:
    """Read a reply of the cache; None when it cannot be read."""
    try:
        plain = json.loads(text)
        if "\\ud" in text:  # an escaped half of a surrogate pair, which earlier versions kept
            plain = mend_surrogates(plain)
        plain["usage"] = Usage(**plain["usage"])
        plain["dropped"] = tuple(plain["dropped"])
        plain["message"] = _say_again(plain["message"])
        if plain["logprobs"] is not None:
            plain["logprobs"] = tuple(TokenLogprob(**token) for token in plain["logprobs"])
        return Reply(**plain, cost=Cost(), cached=True, key=key)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
