"""Requests to servers that are not language models: addresses with secrets, calls that read their own replies."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from assay.errors import UsageError
from assay.llm import Client, Limits, Patience, tokens
from assay.llm.hosts import Address
from assay.llm.keys import Key
from assay.llm.records import failure
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.llm import Reply
    from assay.llm.policy import Kind
    from assay.llm.transport import Exchange
    from assay.llm.wire import Traits

    Read = Callable[[Exchange], tuple[Kind | None, Reply]]


@dataclass(frozen=True)
class WebCall:
    """A request as the engine of `llm` sends it; `understand` reads a reply that is not of OpenAI's protocol."""

    path: str
    payload: Any
    understand: Read
    model: str = "server"

    @property
    def weight(self) -> float:
        """Tokens of the body, estimated."""
        return float(tokens.estimate(json.dumps(self.payload, ensure_ascii=False)))

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Nobody knows what a server uses."""
        return None

    def body(self, traits: Traits) -> dict[str, Any] | None:
        """Write what is sent; nothing for a plain GET."""
        del traits
        return self.payload  # type: ignore[no-any-return]

    def read(self, answer: Mapping[str, Any], traits: Traits) -> tuple[Kind | None, Reply]:
        """Nothing is read here: `understand` does that."""
        del answer, traits
        return "garbage", failure("garbage", say("reply.no_json"))

    def repair(self, reply: Reply) -> WebCall:
        """Nothing to repair."""
        del reply
        return self

    def recall(self, reply: Reply) -> Reply | None:
        """Nothing to doubt."""
        return reply


@dataclass(frozen=True)
class WebAddress:
    """Where a server is and what goes into every request; `secrets` are headers that come from the environment."""

    base: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, tuple[str, Key]] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str], secrets: Mapping[str, tuple[str, Key]]) -> WebAddress:
        """Read an address; a secret is not sent unencrypted beyond a private network."""
        try:
            parts = urlsplit(url)
            fine = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            fine = False
        if not fine or parts.username is not None or parts.password is not None:
            raise UsageError(say("the address must be http://HOST:PORT/PATH, without a user or a password"))
        base = f"{parts.scheme}://{parts.netloc}"
        if secrets and parts.scheme == "http" and not Address.of(base).is_private:
            raise UsageError(say("the key would be sent unencrypted to {host}: use https", host=parts.hostname))
        return cls(base, parts.path + (f"?{parts.query}" if parts.query else ""), headers, secrets)

    def fill(self, marks: Mapping[str, str]) -> str:
        """The path with marks replaced by texts."""
        path = self.path
        for mark, text in marks.items():
            path = path.replace(mark, quote(text, safe=""))
        return path

    def client(self, *, timeout: float, concurrency: int = 1, backoff: float = 0.5) -> Client:
        """A client that knows no key but the address's own secrets."""
        headers = {"accept": "application/json, text/event-stream, */*", **self.headers}
        headers |= {name: f"{word} {key.reveal()}".strip() for name, (word, key) in self.secrets.items()}
        limits = Limits(concurrency=concurrency, start=concurrency)
        patience = Patience(timeout=timeout, deadline=6 * timeout + 60, backoff=backoff)
        return Client(self.base, "server", headers=headers, limits=limits, patience=patience, keyless=True)

    def hide(self, text: str) -> str:
        """Remove the secrets from a text that came from outside."""
        for _, key in self.secrets.values():
            text = key.hide(text)
        return text


def secret(variable: str) -> Key:
    """Read a secret from the environment."""
    if variable not in os.environ:
        raise UsageError(say("the environment variable {name} is not set", name=variable))
    return Key(os.environ[variable], source=say("the environment variable {name}", name=variable))
