"""An application for questions as a target: a call works when its reply has an answer."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from assay.errors import UsageError, cause, excerpt
from assay.formats.replies import QUESTION, read_reply
from assay.formats.reply_streams import BrokenStream, ReplyStream
from assay.messages import say
from assay.serving.endpoints import Endpoint, Secret, read_parts, secret_from
from assay.serving.functions import Function
from assay.serving.records import CLOCK, CallFailed, Clock, Streamed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import httpx2

    from assay.formats.app_settings import AppSettings
    from assay.formats.replies import Shape
    from assay.serving.records import LoadTarget, Passing

_FAILED = 300


def app_target(place: str, settings: AppSettings, *, timeout: float, headers: Mapping[str, Secret | str]) -> LoadTarget:
    """A target of an application's address, or of module:callable."""
    if not place.startswith(("http://", "https://")):
        return Function.at(place, passing="query", stream=settings.stream)
    secrets: dict[str, Secret | str] = {name: secret_from(value) for name, value in settings.header_env.items()}
    if settings.key_env:
        secrets["Authorization"] = Secret(secret_from(settings.key_env).key, "Bearer")
    verb = settings.verb.upper()
    endpoint = Endpoint(place, verb, (), {**settings.headers, **secrets, **headers}, timeout, stream=settings.stream)
    if verb == "GET" and QUESTION not in place:
        raise UsageError(say("a request without a body needs {mark} in its address", mark=QUESTION))
    return AppTarget(endpoint, settings.shape(place))


@dataclass(frozen=True)
class AppTarget:
    """An address that is asked questions, with the shape of its requests and replies."""

    endpoint: Endpoint
    shape: Shape
    takes: Passing = "query"
    is_async: bool = False

    @property
    def label(self) -> str:
        """Method and address."""
        return self.endpoint.label

    def prepare(self, texts: Sequence[tuple[str, Sequence[str]]]) -> Sequence[httpx2.Request]:
        """Write the request of each question."""
        found: list[httpx2.Request] = []
        for question, _ in texts:
            url = self.endpoint.url.replace(QUESTION, quote(question, safe=""))
            body = None if self.endpoint.method == "GET" else self.shape.request(question)
            found.extend(replace(self.endpoint, url=url, bodies=() if body is None else (body,), stream=False).plain())
        return found

    @contextmanager
    def open(self, clock: Clock = CLOCK) -> Iterator[Callable[[httpx2.Request], Streamed | None]]:
        """Keep one connection for a worker."""
        with self.endpoint.connect() as transport:
            yield lambda request: self._ask(transport, request, clock)

    def _ask(self, transport: Any, request: httpx2.Request, clock: Clock) -> Streamed | None:
        import httpx2

        end = time.monotonic() + self.endpoint.timeout
        try:
            response = transport.handle_request(request)
            with closing(read_parts(response, end)) as parts:
                return self._read(response, parts, clock)
        except httpx2.TimeoutException:
            raise CallFailed("timeout", say("load.not_complete", seconds=self.endpoint.timeout)) from None
        except httpx2.ConnectError as error:
            raise CallFailed("no connection", cause(error)) from None
        except httpx2.HTTPError as error:
            raise CallFailed("broken", say("reply.broken", kind=type(error).__name__)) from None

    def _read(self, response: httpx2.Response, parts: Iterator[bytes], clock: Clock) -> Streamed | None:
        """Read what came back; of a stream no more is kept than its answer."""
        content_type = str(response.headers.get("content-type", "")).lower()
        if response.status_code >= _FAILED:
            body = b"".join(parts).decode("utf-8", "replace")
            raise CallFailed(f"status {response.status_code}", self.endpoint.hide(excerpt(body)))
        if self.endpoint.stream:
            return self._read_stream(parts, content_type, clock)
        if "json" in content_type and "x-ndjson" not in content_type:
            self._check(b"".join(parts))
        else:
            self._read_stream(parts, content_type, clock)
        return None

    def _check(self, body: bytes) -> None:
        """Refuse a reply without an answer: it would be counted as a fast one."""
        try:
            said = read_reply(json.loads(body), self.shape)
        except (ValueError, RecursionError):
            raise CallFailed("no answer", say("reply.no_json")) from None
        if (said.answer is None and not said.contexts) or (said.answer is not None and not said.answer.strip()):
            raise CallFailed("no answer", say("reply.lacks_answer", names=list(said.keys[:8])))

    def _read_stream(self, parts: Iterator[bytes], content_type: str, clock: Clock) -> Streamed:
        if content_type.startswith("text/html"):
            raise CallFailed("no answer", say("reply.html"))
        stream = ReplyStream(self.shape, content_type)
        try:
            for part in parts:
                stream.feed(part, clock.now())
            found = stream.finish(clock.now())
        except BrokenStream as error:
            cut = str(error) == "cut off"
            raise CallFailed(
                "cut off" if cut else "error event", "" if cut else self.endpoint.hide(str(error))
            ) from None
        if found.first is None or found.last is None:
            raise CallFailed("no tokens")
        named = found.said.output_tokens
        return Streamed(found.first, found.last, named or found.pieces, counted=bool(named))
