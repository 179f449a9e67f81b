"""Finished applications for questions: an address, an OpenAI-compatible chat among them, or a user's function."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from assay.data.samples import Context
from assay.errors import UsageError, clean, excerpt
from assay.formats.app_settings import AppSettings
from assay.formats.replies import QUERY_ID, QUESTION, read_reply
from assay.formats.reply_streams import BrokenStream, ReplyStream, StreamedReply
from assay.llm.hosts import OTHER
from assay.llm.policy import complaint_of, kind_of
from assay.llm.records import Reply, Usage, failure, mend_surrogates
from assay.messages import say
from assay.pipeline.asked import Asked
from assay.pipeline.own_apps import OwnApplication
from assay.pipeline.stages import load
from assay.pipeline.store import key_of
from assay.pipeline.web import WebAddress, WebCall, secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from assay.llm.policy import Kind
    from assay.llm.transport import Exchange
    from assay.pipeline.records import Query
    from assay.pipeline.stages import Setup

_STREAMS = ("text/event-stream", "application/x-ndjson", "application/jsonl", "application/json-lines", "text/plain")
_HTML = (b"<!doctype", b"<html", b"<head", b"<body")


class Application(Protocol):
    """Something finished that answers questions; `identity` is all that shapes its answers."""

    identity: dict[str, Any]
    name: str
    concurrency: int

    def ask(self, queries: Sequence[Query]) -> Iterator[tuple[int, Asked]]:
        """Ask questions, some at once; gives (number, outcome) as they come, exactly one for each."""

    def key_of(self, query: Query) -> str:
        """What makes the answer to a question another one."""


def make_application(place: str, settings: Mapping[str, Any], folder: Path) -> Application:
    """Make an application of an address, or of module:callable, which is imported from the folder too."""
    told = AppSettings.of(settings)
    if place.startswith(("http://", "https://")):
        return WebApplication(place, told)
    if ":" not in place:
        raise UsageError(say("{name} is no application: expected http://... or module:callable", name=excerpt(place)))
    return OwnApplication(load(place, folder), place, told.shape(), told)


def plugin_application(text: str, setup: Setup, params: Mapping[str, Any]) -> Application:
    """An application of an experiment: the address or module:callable that its table names."""
    return make_application(text, params, setup.folder)


class WebApplication:
    """An application behind an address."""

    def __init__(self, url: str, settings: AppSettings) -> None:
        secrets = {header: ("", secret(variable)) for header, variable in settings.header_env.items()}
        secrets |= {"authorization": ("Bearer", secret(settings.key_env))} if settings.key_env else {}
        self._address = WebAddress.of(url, settings.headers, secrets)
        self._shape, self._settings = settings.shape(url), settings
        self.concurrency = settings.concurrency
        self._get = settings.verb.upper() == "GET"
        if self._get and QUESTION not in url:
            raise UsageError(say("a request without a body needs {mark} in its address", mark=QUESTION))
        self.name = f"{self._address.base.partition('://')[2]}{self._address.path.partition('?')[0]}"
        paths = {one: getattr(self._shape, one) for one in ("answer", "contexts", "ids", "tokens", "money", "ms")}
        self.identity: dict[str, Any] = {
            "application": url, "get": self._get, "body": None if self._get else self._shape.template(),
            "paths": paths, "headers": dict(settings.headers), "release": settings.release,
        }  # fmt: skip

    def key_of(self, query: Query) -> str:
        """What makes the answer to a question another one: its id only where it is sent."""
        sent = QUERY_ID in self._address.path or self._shape.request("", "x") != self._shape.request("", "y")
        return key_of(self.identity, query.text, query.id if sent else "")

    def ask(self, queries: Sequence[Query]) -> Iterator[tuple[int, Asked]]:
        """Ask questions, some at once; gives (number, outcome) as they come, exactly one for each."""
        told = self._settings
        client = self._address.client(timeout=told.timeout, concurrency=told.concurrency, backoff=told.backoff)
        with client:
            calls = ((str(n), self._call(query)) for n, query in enumerate(queries))
            for number, reply in client.send(calls, ahead=2 * told.concurrency):
                yield number, self._outcome(reply)

    def _call(self, query: Query) -> WebCall:
        path = self._address.fill({QUESTION: query.text, QUERY_ID: query.id})
        return WebCall(path, None if self._get else self._shape.request(query.text, query.id), self.understand)

    def understand(self, exchange: Exchange) -> tuple[Kind | None, Reply]:
        """Read the answer to a request that succeeded: the kind of failure, if it is one, and the reply."""
        body = exchange.body
        content_type = str(exchange.headers.get("content-type", "")).lower()
        if content_type.startswith("text/html") or body.lstrip()[:9].lower().startswith(_HTML):
            return "garbage", failure("garbage", say("reply.html"))
        if content_type.startswith(_STREAMS) or body.startswith((b"data:", b"event:")):
            return self._stream(content_type, exchange)
        try:
            answer = mend_surrogates(json.loads(self._address.hide(body.decode("utf-8", errors="replace"))))
        except (ValueError, RecursionError):
            return "garbage", failure("garbage", say("reply.no_json"))
        said = read_reply(answer, self._shape)
        complaint = complaint_of(answer) if said.answer is None and said.contexts is None else None
        if complaint is not None:
            message = clean(complaint.message[:300]) or say("reply.no_explanation")
            return kind_of(exchange.status, complaint, OTHER), failure("server", message)
        return _judge(StreamedReply(said))

    def _stream(self, content_type: str, exchange: Exchange) -> tuple[Kind | None, Reply]:
        """Read a stream by the moments at which its parts came."""
        stream, before = ReplyStream(self._shape, content_type), 0
        try:
            for end, at in exchange.arrivals:
                stream.feed(exchange.body[before:end], at)
                before = end
            return _judge(stream.finish(exchange.seconds))
        except BrokenStream as error:
            kind: Kind = "broken" if str(error) == "cut off" else "server"
            return kind, failure("network", say("reply.stream", text=self._address.hide(str(error))))

    def _outcome(self, reply: Reply) -> Asked:
        """What a reply means for its question."""
        data = reply.data or {}
        rows, first = data.get("contexts"), data.get("first")
        text = self._address.hide(reply.text)
        return Asked(
            answer=None if not text or data.get("silent") else text,
            contexts=None if rows is None else tuple(Context(self._address.hide(one), name) for name, one in rows),
            reason=reply.reason, message=self._address.hide(reply.message), ms=1000 * reply.seconds,
            first_ms=None if first is None else 1000 * first, own_ms=data.get("ms"),
            tokens=reply.usage.prompt_tokens + reply.usage.completion_tokens,
            output_tokens=reply.usage.completion_tokens or None, money=data.get("money"), calls=reply.calls,
            day=datetime.now(tz=UTC).date().isoformat(),
        ).settle()  # fmt: skip


def _judge(found: StreamedReply) -> tuple[Kind | None, Reply]:
    """Whether what was read is an answer, and the reply that says so."""
    said = found.said
    usage = Usage(said.prompt_tokens, said.output_tokens)
    contexts = None if said.contexts is None else [[one.id, one.text] for one in said.contexts]
    data = {"contexts": contexts, "first": found.first, "money": said.money, "ms": said.ms}
    cause: Kind | None = {"refused": "refused", "truncated": "truncated"}.get(said.ended)  # type: ignore[assignment]
    if cause is not None:
        return cause, Reply("ok", text=said.answer or "", data=data, usage=usage)
    if said.answer is None and said.contexts is None:
        message = say("reply.lacks_answer", names=list(map(excerpt, said.keys[:8])))
        return "empty", failure("empty", message, data=data, usage=usage)
    if said.answer is not None and not said.answer.strip():
        return "empty", failure("empty", say("reply.no_text"), data=data, usage=usage)
    return None, Reply("ok", text=said.answer or "", data={**data, "silent": said.answer is None}, usage=usage)
