"""HTTP endpoints as targets: one request a call, over a connection that each worker keeps."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from assay.errors import InputError, UsageError, cause
from assay.formats.decoding import peek, refusal
from assay.llm.hosts import Address
from assay.llm.keys import Key
from assay.llm.transport import LARGEST, proxy_for
from assay.messages import say
from assay.serving.records import CLOCK, CallFailed, Clock, Passing, Streamed
from assay.serving.streams import EventStream

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    import httpx2

_QUERY, _DOCUMENTS, _COUNT = "{query}", "{documents}", "{count}"
_FAILED = 300  # statuses from here on are failures; redirections are not followed, as they would be timed too
_EXCERPT = 120
RERANK = {"query": _QUERY, "documents": _DOCUMENTS}
CHAT = {"messages": [{"role": "user", "content": _QUERY}]}
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}  # the number of tokens comes last


@dataclass(frozen=True)
class Secret:
    """The value of a header that must not be shown: a word such as Bearer, and a key."""

    key: Key
    scheme: str = ""

    def reveal(self) -> str:
        """Give the value itself, for a request."""
        return f"{self.scheme} {self.key.reveal()}" if self.scheme else self.key.reveal()


def secret_from(variable: str) -> Secret:
    """Read the value of a header from the environment; a first word such as Bearer is not part of the key."""
    if variable not in os.environ:
        raise UsageError(say("the environment variable {name} is not set", name=variable))
    scheme, _, key = os.environ[variable].strip().rpartition(" ")
    return Secret(Key(key, source=say("the environment variable {name}", name=variable)), scheme)


@dataclass(frozen=True)
class Endpoint:
    """An address with a method, bodies and headers.

    In the texts of a body, `{query}` becomes the query; a text that is `{documents}` or `{count}` alone becomes the
    list of candidates or their number. With `stream`, a body asks for the answer as events of OpenAI's protocol.
    """

    url: str
    method: str
    bodies: tuple[Any, ...] = ()
    headers: Mapping[str, Secret | str] = field(default_factory=dict)
    timeout: float = 30.0
    is_async: bool = False
    stream: bool = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            fine = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            fine = False
        if not fine:
            raise UsageError(say("the address cannot be read: expected http://HOST:PORT/PATH"))
        if parts.username is not None or parts.password is not None:
            raise UsageError(say("the address must not contain a user or a password: use --header-env"))
        secret = any(isinstance(value, Secret) for value in self.headers.values())
        if secret and parts.scheme == "http" and not self._address.is_private:
            raise UsageError(say("the key would be sent unencrypted to {host}: use https", host=parts.hostname))

    @property
    def _address(self) -> Address:
        return Address.of(self.url.partition("?")[0].partition("#")[0])

    @property
    def label(self) -> str:
        """Method and address; what follows a question mark may be a secret."""
        return f"{self.method} {self.url.partition('?')[0]}" + ("?..." if "?" in self.url else "")

    @property
    def takes(self) -> Passing:
        """What a call hands over."""
        written = json.dumps(self.bodies)
        if _DOCUMENTS in written:
            return "candidates"
        return "query" if _QUERY in written or _QUERY in self.url else "nothing"

    def prepare(self, texts: Sequence[tuple[str, Sequence[str]]]) -> Sequence[httpx2.Request]:
        """Write the request of each call."""
        if self.takes == "nothing":
            return self.plain()
        found = []
        for number, (query, documents) in enumerate(texts):
            body = self.bodies[number % len(self.bodies)] if self.bodies else None
            url = self.url.replace(_QUERY, quote(query, safe=""))
            found.append(self._request(url, _fill(body, query, documents)))
        return found

    def _request(self, url: str, body: Any) -> httpx2.Request:
        import httpx2

        asked = _STREAM | body if self.stream and isinstance(body, dict) else body
        content = None if body is None else json.dumps(asked, ensure_ascii=False).encode()
        headers = {"user-agent": "assay", "accept": "*/*"}
        if content is not None:
            headers["content-type"] = "application/json"
        for name, value in self.headers.items():
            headers[name.lower()] = value.reveal() if isinstance(value, Secret) else value
        waits = dict.fromkeys(("connect", "read", "write", "pool"), self.timeout)
        try:
            return httpx2.Request(self.method, url, headers=headers, content=content, extensions={"timeout": waits})
        except (httpx2.InvalidURL, UnicodeEncodeError):
            raise UsageError(say("{label}: the address or a header cannot be sent", label=self.label)) from None

    def plain(self) -> Sequence[httpx2.Request]:
        """Requests of the bodies as they are, or one without a body."""
        return [self._request(self.url, body) for body in self.bodies or (None,)]

    @contextmanager
    def open(self, clock: Clock = CLOCK) -> Iterator[Callable[[httpx2.Request], Streamed | None]]:
        """Keep one connection for a worker."""
        with self.connect() as transport:
            yield lambda request: self._send(transport, request, clock)

    @contextmanager
    def connect(self) -> Iterator[httpx2.HTTPTransport]:
        """Open one connection."""
        import httpx2

        address = self._address
        verify: Any = httpx2.create_ssl_context() if address.scheme == "https" else False
        proxy = None if address.is_loopback else proxy_for(address)
        one = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
        with httpx2.HTTPTransport(verify=verify, limits=one, proxy=proxy) as transport:
            yield transport

    def _send(self, transport: httpx2.HTTPTransport, request: httpx2.Request, clock: Clock) -> Streamed | None:
        import httpx2

        end = time.monotonic() + self.timeout
        try:
            response = transport.handle_request(request)
            if response.status_code < _FAILED and self.stream:
                return self._events(response, end, clock)
            content = b"".join(read_parts(response, end))
        except httpx2.TimeoutException:
            raise CallFailed("timeout", say("load.not_complete", seconds=self.timeout)) from None
        except httpx2.ConnectError as error:
            raise CallFailed("no connection", cause(error)) from None
        except httpx2.HTTPError as error:
            raise CallFailed("broken", say("reply.broken", kind=type(error).__name__)) from None
        if response.status_code >= _FAILED:
            said = self.hide(content[:_EXCERPT].decode("utf-8", errors="replace"))
            raise CallFailed(f"status {response.status_code}", said)
        return None

    def _events(self, response: httpx2.Response, end: float, clock: Clock) -> Streamed:
        """Read the events of an answer, and note when their tokens came."""
        stream = EventStream()
        try:
            with closing(read_parts(response, end)) as parts:
                for part in parts:
                    stream.feed(part, clock.now())
            return stream.finish()
        except CallFailed as error:
            raise CallFailed(error.kind, self.hide(error.message)) from None

    def hide(self, text: str) -> str:
        """Remove keys from what a server says."""
        for value in self.headers.values():
            text = value.key.hide(text) if isinstance(value, Secret) else text
        return text


def read_parts(response: httpx2.Response, end: float) -> Generator[bytes, None, None]:
    """Read an answer to its end, as it comes; one that never ends is too late or too large."""
    import httpx2

    size = 0
    try:
        for part in response.iter_raw():
            size += len(part)
            if size > LARGEST:
                raise CallFailed("too large", say("reply.too_large", n=LARGEST >> 20))
            yield part
            if time.monotonic() > end:
                raise httpx2.ReadTimeout("too late")
    finally:
        response.close()


def _fill(part: Any, query: str, documents: Sequence[str]) -> Any:
    """Put a query and its candidates into a body."""
    if isinstance(part, str):
        if part in {_DOCUMENTS, _COUNT}:
            return list(documents) if part == _DOCUMENTS else len(documents)
        return part.replace(_QUERY, query)
    if isinstance(part, list):
        return [_fill(one, query, documents) for one in part]
    if isinstance(part, dict):
        return {name: _fill(one, query, documents) for name, one in part.items()}
    return part


def read_bodies(text: str, place: str) -> tuple[Any, ...]:
    """Read bodies: one JSON value, or one a line."""
    try:
        return (peek(text),)
    except ValueError as error:
        whole = refusal(error, text, place)
    found: list[Any] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found += [peek(line)] if line.strip() else []
        except ValueError as error:
            raise (refusal(error, line, place, number) if found else whole) from None
    if not found:
        raise InputError(say("the file has no JSON"), path=place)
    return tuple(found)
