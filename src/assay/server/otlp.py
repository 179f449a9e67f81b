"""Endpoints for machines: traces and log records over OTLP/HTTP, and measures for Prometheus.

A request is acknowledged when its sink has taken what it held. Bodies are read and unpacked within limits on each and
on all of them together, and are decoded one at a time beside the loop that answers others.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from assay.data.limits import MEGABYTE
from assay.errors import AssayError
from assay.formats.traces.otlp_json import TooMany, Unreadable, decode_json
from assay.formats.traces.otlp_protobuf import decode_logs, decode_traces, load_messages
from assay.messages import say, tell
from assay.server.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from assay.formats.traces.spans import Batch
    from assay.messages import Lang

    Sink = Callable[[Batch], None]

PROTOBUF, JSON = "application/x-protobuf", "application/json"
_OK, _BAD, _TOO_LARGE, _UNSUPPORTED, _BUSY = 200, 400, 413, 415, 503
_INTERNAL = 13  # codes of google.rpc
_CODES = {_BAD: 3, _TOO_LARGE: 8, _UNSUPPORTED: 3, _BUSY: 14}
_HELD = 128 * MEGABYTE  # of bodies of all requests at once
_WAIT = 5.0
_MOST_PARTS = 64  # of a packed body: each of them costs as much as the bytes behind it
_PLAIN = {"", "identity"}


class Busy(Exception):
    """A sink takes nothing now: the sender is asked to come again in so many seconds."""

    def __init__(self, seconds: float = _WAIT) -> None:
        self.seconds = seconds
        super().__init__()


class _Refused(Exception):
    def __init__(self, status: int, told: str, wait: float | None = None) -> None:
        self.status, self.told, self.wait = status, told, wait
        super().__init__(told)


def trace_routes(
    sink: Sink, *, attributes: Sequence[str] = (), limits: Limits | None = None, lang: Lang = "en"
) -> list[Route]:
    """The endpoints /v1/traces and /v1/logs, which give what they receive to a sink.

    The sink is called in a thread of its own, never twice at once, and the sender is told that all is well when it
    returns. It raises `Busy` where it cannot take more now.
    """
    load_messages()
    receiver = Receiver(sink, tuple(attributes), limits or Limits(), lang)

    async def traces(request: Request) -> Response:
        return await receiver.answer(request, decode_traces)

    async def logs(request: Request) -> Response:
        return await receiver.answer(request, decode_logs)

    return [Route("/v1/traces", traces, methods=["POST"]), Route("/v1/logs", logs, methods=["POST"])]


def metrics_route(text: Callable[[], str]) -> Route:
    """The endpoint /metrics, which shows Prometheus the text that a function returns."""

    async def metrics(_: Request) -> Response:
        found = await asyncio.to_thread(text)
        return Response(found, media_type="text/plain; version=0.0.4")

    return Route("/metrics", metrics, methods=["GET"])


@dataclass
class Receiver:
    """Takes requests of OTLP/HTTP."""

    sink: Sink
    attributes: tuple[str, ...]
    limits: Limits
    lang: Lang = "en"
    held: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, request: Request, decode: Callable[[bytes, Sequence[str]], Batch]) -> Response:
        """Answer one request in the encoding that it has itself."""
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        try:
            packing = self._packing(request, kind)
            data = await self._read(request)
            async with self.turn:
                batch = await asyncio.to_thread(self._take, data, packing, decode if kind == PROTOBUF else decode_json)
        except _Refused as refused:
            return self._refuse(kind, refused)
        finally:
            self.held = max(0, self.held - request.scope.pop("assay.held", 0))
        return Response(_success(kind, batch, self.lang, request.url.path), _OK, media_type=kind)

    def _packing(self, request: Request, kind: str) -> str:
        if kind not in {PROTOBUF, JSON}:
            raise _Refused(_UNSUPPORTED, say("expected Content-Type application/x-protobuf or application/json"))
        packing = request.headers.get("content-encoding", "").strip().lower()
        if packing not in {*_PLAIN, "gzip"}:
            raise _Refused(_UNSUPPORTED, say("expected Content-Encoding gzip, or none"))
        return packing

    async def _read(self, request: Request) -> bytes:
        """The body; while too much of others is held, this one is asked to come again."""
        found = bytearray()
        async for piece in request.stream():
            found += piece
            self.held += len(piece)
            request.scope["assay.held"] = len(found)
            if self.held > _HELD:
                raise _Refused(_BUSY, say("too many requests: wait a second"), _WAIT)
        return bytes(found)

    def _take(self, data: bytes, packing: str, decode: Callable[[bytes, Sequence[str]], Batch]) -> Batch:
        """Unpack and decode a body, and give it to the sink."""
        try:
            plain = data if packing in _PLAIN else _unpack(data, self.limits.unpacked)
            batch = decode(plain, self.attributes)
            if batch.spans or batch.events:
                self.sink(batch)
        except TooMany as error:
            raise _Refused(_TOO_LARGE, error.message) from None
        except Unreadable as error:
            raise _Refused(_BAD, error.message) from None
        except Busy as error:
            raise _Refused(_BUSY, say("too many requests: wait a second"), error.seconds) from None
        except AssayError as error:
            raise _Refused(_BUSY, error.message, _WAIT) from None
        return batch

    def _refuse(self, kind: str, refused: _Refused) -> Response:
        """The answer to what is refused: a `google.rpc.Status` in the encoding of the request."""
        told, code = tell(refused.told, self.lang), _CODES.get(refused.status, _INTERNAL)
        heads = {} if refused.wait is None else {"retry-after": str(max(1, round(refused.wait)))}
        if refused.status in {_TOO_LARGE, _BUSY, _UNSUPPORTED}:
            heads["connection"] = "close"
        if kind == PROTOBUF:
            data = _field(1, code) + _field(2, told.encode())
            return Response(data, refused.status, heads, media_type=PROTOBUF)
        return Response(msgspec.json.encode({"code": code, "message": told}), refused.status, heads, media_type=JSON)


def _unpack(data: bytes, limit: int) -> bytes:
    """Unpack gzip, of which there may be several parts, and no more than the limit."""
    found = bytearray()
    for _ in range(_MOST_PARTS):
        if not data:
            break
        part = zlib.decompressobj(wbits=31)
        try:
            found += part.decompress(data, limit + 1 - len(found))
        except zlib.error:
            raise Unreadable(say("the body is no gzip")) from None
        if len(found) > limit:
            raise TooMany(say("the request unpacks to more than {n} MB", n=limit // MEGABYTE))
        if not part.eof:
            raise Unreadable(say("the body is no gzip"))
        data = part.unused_data
    else:
        raise TooMany(say("the body has more than {n} parts of gzip", n=_MOST_PARTS))
    return bytes(found)


def _success(kind: str, batch: Batch, lang: Lang, path: str) -> bytes:
    """The message that says that a request was taken, and how much of it was rejected."""
    told = "; ".join(tell(one, lang) for one in batch.reasons)
    if kind == JSON:
        name = "rejectedSpans" if path.endswith("traces") else "rejectedLogRecords"
        partial = {name: str(batch.rejected), "errorMessage": told}
        return msgspec.json.encode({"partialSuccess": partial} if batch.rejected else {})
    return _field(1, _field(1, batch.rejected) + _field(2, told.encode())) if batch.rejected else b""


def _field(number: int, value: int | bytes) -> bytes:
    """One field of a protobuf message: a number, or bytes with their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - the highest bit says that more follows
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))
