"""OTLP in protobuf: what exporters send as `application/x-protobuf`.

The lists of spans are walked here, and each span is decoded by itself: what a small body may become in memory is known
before it does, and a span that is wrong is rejected alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.data.limits import MEGABYTE
from assay.errors import MissingPackage
from assay.formats.traces import names
from assay.formats.traces.otlp_json import (
    MOST_ITEMS,
    REMOTE,
    SPAN_DIGITS,
    TRACE_DIGITS,
    TooMany,
    Unreadable,
    check_count,
    collect,
    error_of,
    size_of,
)  # fmt: skip
from assay.formats.traces.spans import Batch, SpanEvent, TraceSpan, Value
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MOST_LISTS = 65_536
_MOST_BYTES = 4 * MEGABYTE  # of one span
_ERROR = 2
_BYTES, _FIXED64, _VARINT, _FIXED32 = 2, 1, 0, 5
_MOST_VARINT = 10
# Numbers of fields: of a request and of its lists the inner list, of a list the resource.
_LIST, _RESOURCE = 1, 1
_INNER = 2


def decode_traces(data: bytes, asked: Sequence[str] = ()) -> Batch:
    """Decode a request of spans; `Unreadable` is raised where it is none."""
    known = frozenset(asked)
    span = load_messages().Span
    found = _inner_messages(data)
    return collect(found, lambda one: (_span(_parse(span, one[0]), one[1], known), False))


def decode_logs(data: bytes, asked: Sequence[str] = ()) -> Batch:
    """Decode a request of log records; those that name no span are left out."""
    known = frozenset(asked)
    record = load_messages().LogRecord
    return collect(_inner_messages(data), lambda one: (_event(_parse(record, one[0]), known), False))


@dataclass(frozen=True)
class Messages:
    """The classes of messages that the package of OpenTelemetry has."""

    Span: Any
    LogRecord: Any
    Resource: Any
    DecodeError: type[Exception]


@cache
def load_messages() -> Messages:
    """Import what decodes messages; it is said how to install it where it is not there."""
    try:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
        from opentelemetry.proto.resource.v1.resource_pb2 import Resource
        from opentelemetry.proto.trace.v1.trace_pb2 import Span
    except ImportError:
        raise MissingPackage(say("OTLP in protobuf"), "opentelemetry-proto", "serve") from None
    return Messages(Span, LogRecord, Resource, DecodeError)


def _parse(message: Any, data: bytes) -> Any:
    """One message; a large one would take a hundred times its size, if it were made of empty lists."""
    if len(data) > _MOST_BYTES:
        raise Unreadable(say("a span of more than {n} MB", n=_MOST_BYTES // MEGABYTE))
    try:
        return message.FromString(data)
    except load_messages().DecodeError:
        raise Unreadable(say("this is no OTLP request")) from None


def _inner_messages(data: bytes) -> list[tuple[bytes, str | None]]:
    """The spans or log records of a request, each with the name of its service, which is in the list around it."""
    found: list[tuple[bytes, str | None]] = []
    lists = 0
    for number, resource_list in _fields(data):
        if number != _LIST:
            continue
        service, start = None, len(found)
        for inner, scope_list in _fields(resource_list):
            lists += 1
            if lists > _MOST_LISTS:
                raise TooMany(say("more than {n:,} lists of spans in one request", n=_MOST_LISTS))
            if inner == _RESOURCE:
                service = _service(scope_list)
            elif inner == _INNER:
                found += _of_scope(scope_list)
                check_count(len(found))
        if service is not None:
            found[start:] = [(one, service) for one, _ in found[start:]]
    return found


def _of_scope(data: bytes) -> list[tuple[bytes, None]]:
    """The spans or log records of one library."""
    found: list[tuple[bytes, None]] = []
    for place, one in _fields(data):
        if place == _INNER:
            found.append((one, None))
            check_count(len(found))
    return found


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that are bytes, with their numbers; all others are skipped over."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _BYTES:
            size, at = _varint(data, at)
            if at + size > end:
                raise Unreadable(say("this is no OTLP request: it ends too early"))
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind == _VARINT:
            _, at = _varint(data, at)
        elif kind in {_FIXED64, _FIXED32}:
            at += 8 if kind == _FIXED64 else 4
        else:
            raise Unreadable(say("this is no OTLP request"))
    if at > end:
        raise Unreadable(say("this is no OTLP request: it ends too early"))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    found = 0
    for i in range(_MOST_VARINT):
        if at + i >= len(data):
            raise Unreadable(say("this is no OTLP request: it ends too early"))
        byte = data[at + i]
        found |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
            return found, at + i + 1
    raise Unreadable(say("this is no OTLP request"))


def _service(data: bytes) -> str | None:
    found = _parse(load_messages().Resource, data)
    return next((one.value.string_value or None for one in found.attributes if one.key == names.SERVICE), None)


def _span(span: Any, service: str | None, asked: frozenset[str]) -> TraceSpan:
    if max(len(span.attributes), len(span.events)) > MOST_ITEMS:
        raise Unreadable(say("more than {n:,} attributes or events of one span", n=MOST_ITEMS))
    trace, own = _id(span.trace_id, TRACE_DIGITS), _id(span.span_id, SPAN_DIGITS)
    events = tuple(
        SpanEvent(trace, own, one.name, one.time_unix_nano, _pick(one.attributes, names.is_read_of_event, asked))
        for one in span.events
        if one.name in names.EVENTS
    )
    attributes = _pick(span.attributes, names.is_read, asked)
    return TraceSpan(
        trace,
        own,
        _id(span.parent_span_id, SPAN_DIGITS) if any(span.parent_span_id) else "",
        span.name,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        error_of(span.status.code == _ERROR, span.status.message, attributes, events),
        service,
        span.flags & REMOTE == REMOTE,
        attributes,
        events,
        size_of(attributes, events),
    )


def _event(record: Any, asked: frozenset[str]) -> SpanEvent | None:
    if not any(record.trace_id) or not any(record.span_id):
        return None
    attributes = _pick(record.attributes, names.is_read_of_event, asked)
    name = record.event_name or str(attributes.get("event.name", ""))
    if name not in names.EVENTS:
        return None
    body = _value(record.body)
    if body is not None:
        attributes = {**attributes, "body": body}
    time = record.time_unix_nano or record.observed_time_unix_nano
    return SpanEvent(_id(record.trace_id, TRACE_DIGITS), _id(record.span_id, SPAN_DIGITS), name, time, attributes)


def _id(found: bytes, digits: int) -> str:
    text = found.hex()
    if len(text) != digits or not any(found):
        raise Unreadable(say("an id of a span has {digits} hexadecimal digits that are not all 0", digits=digits))
    return text


def _pick(found: Any, is_read: Callable[[str, frozenset[str]], bool], asked: frozenset[str]) -> dict[str, Value]:
    return {one.key: value for one in found if is_read(one.key, asked) and (value := _value(one.value)) is not None}


def _value(value: Any) -> Value | None:
    """A plain value; None where there is none, or a number that is none. Nesting is limited by protobuf itself."""
    kind = value.WhichOneof("value")
    if kind == "double_value":
        return value.double_value if math.isfinite(value.double_value) else None
    if kind in {"string_value", "bool_value", "int_value"}:
        return getattr(value, kind)  # type: ignore[no-any-return]
    if kind == "array_value":
        return [inner for one in value.array_value.values if (inner := _value(one)) is not None]
    if kind == "kvlist_value":
        return {one.key: inner for one in value.kvlist_value.values if (inner := _value(one.value)) is not None}
    return None
