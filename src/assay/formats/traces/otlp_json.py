"""OTLP in JSON: what exporters send as `application/json` and the collector's file exporter writes, a line a request.

The lines are decoded into records of the fields that are read. Required fields and counts before decoding keep a small
text from becoming millions of objects; a span that is wrong is rejected alone, as far as that can be told apart.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay.data.limits import MEGABYTE
from assay.formats.traces import names
from assay.formats.traces.spans import REASONS, Attributes, Batch, SpanEvent, TraceSpan, Value, join, size_of_value
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Item = TypeVar("Item")

MOST_SPANS = 65_536  # of one request
_MOST_LISTS = 65_536  # of scopes and resources
_MOST_OBJECTS = 1_000_000  # of one request, braces in texts too
MOST_ITEMS = 10_000  # attributes or events of one span
_PATIENT = 4 * MEGABYTE  # bytes of a request whose spans are looked at one by one after a fault
MOST_VALUE = 4 * MEGABYTE  # bytes of one value that is a list or an object
_DEEPEST = 32
_MOST_NUMBER = 2**63
_HEX = re.compile(r"[0-9a-fA-F]+")
TRACE_DIGITS, SPAN_DIGITS = 32, 16
REMOTE = 0x300  # of the flags of a span: it is known that the parent is in another process
_BASE64 = {24: TRACE_DIGITS, 12: SPAN_DIGITS}

Whole = int | str


class _Struct(msgspec.Struct, gc=False):
    pass


class AnyValue(_Struct, rename="camel"):
    """A value of any type, of which one field is set."""

    string_value: str | None = None
    int_value: Whole | None = None
    double_value: float | str | None = None
    bool_value: bool | None = None
    array_value: msgspec.Raw = msgspec.Raw()
    kvlist_value: msgspec.Raw = msgspec.Raw()


class KeyValue(_Struct):
    """An attribute."""

    key: str
    value: AnyValue | None = None


class Event(_Struct, rename="camel"):
    """Something that happened during a span."""

    name: str
    time_unix_nano: Whole = 0
    attributes: list[KeyValue] = msgspec.field(default_factory=list)


class Status(_Struct):
    """How a span ended: code 2 is an error."""

    code: Whole = 0
    message: str = ""


class Span(_Struct, rename="camel"):
    """A span as it is sent."""

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    flags: int = 0
    name: str = ""
    start_time_unix_nano: Whole = 0
    end_time_unix_nano: Whole = 0
    attributes: list[KeyValue] = msgspec.field(default_factory=list)
    events: list[Event] = msgspec.field(default_factory=list)
    status: Status | None = None


class LogRecord(_Struct, rename="camel"):
    """A log record; only those that name a span are read."""

    trace_id: str = ""
    span_id: str = ""
    event_name: str = ""
    time_unix_nano: Whole = 0
    observed_time_unix_nano: Whole = 0
    body: AnyValue | None = None
    attributes: list[KeyValue] = msgspec.field(default_factory=list)


class Resource(_Struct):
    """Where spans come from."""

    attributes: list[KeyValue] = msgspec.field(default_factory=list)


class Spans(_Struct):
    """Spans of one library."""

    spans: list[Span]


class RawSpans(_Struct):
    """Spans of one library, each to be looked at by itself."""

    spans: list[msgspec.Raw]


class LogRecords(_Struct, rename="camel"):
    """Log records of one library."""

    log_records: list[LogRecord]


class ResourceSpans(_Struct, rename="camel"):
    """Spans of one process."""

    scope_spans: list[Spans]
    resource: Resource | None = None


class RawResourceSpans(_Struct, rename="camel"):
    """Spans of one process, each to be looked at by itself."""

    scope_spans: list[RawSpans]
    resource: Resource | None = None


class ResourceLogs(_Struct, rename="camel"):
    """Log records of one process."""

    scope_logs: list[LogRecords]
    resource: Resource | None = None


class ExportRequest(_Struct, rename="camel"):
    """What is sent at once, or one line of a file: spans, or log records."""

    resource_spans: list[ResourceSpans] = msgspec.field(default_factory=list)
    resource_logs: list[ResourceLogs] = msgspec.field(default_factory=list)


class RawRequest(_Struct, rename="camel"):
    """What is sent at once, each span to be looked at by itself."""

    resource_spans: list[RawResourceSpans]


class _AnyList(_Struct):
    values: list[AnyValue] = msgspec.field(default_factory=list)


class _AnyObject(_Struct):
    values: list[KeyValue] = msgspec.field(default_factory=list)


_decode = msgspec.json.Decoder(ExportRequest).decode
_decode_raw = msgspec.json.Decoder(RawRequest).decode
_decode_span = msgspec.json.Decoder(Span).decode
_decode_list = msgspec.json.Decoder(_AnyList).decode
_decode_object = msgspec.json.Decoder(_AnyObject).decode
_FAULTS = (msgspec.MsgspecError, RecursionError, ValueError)


class Unreadable(ValueError):
    """A request of which nothing can be read; `message` says why."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class TooMany(Unreadable):
    """A request that holds more than one may."""


def decode_json(data: bytes, asked: Sequence[str] = ()) -> Batch:
    """Decode a request; what cannot be read of it is rejected span by span, else `Unreadable` is raised."""
    if data.count(b'"spans"') + data.count(b'"scopeSpans"') + data.count(b'"logRecords"') > _MOST_LISTS:
        raise TooMany(say("more than {n:,} lists of spans in one request", n=_MOST_LISTS))
    if data.count(b"{") > _MOST_OBJECTS:
        raise TooMany(say("more than {n:,} objects in one request", n=_MOST_OBJECTS))
    known = frozenset(asked)
    try:
        request = _decode(data)
    except _FAULTS as error:
        return _decode_one_by_one(data, known, error)
    count = sum(len(scope.spans) for one in request.resource_spans for scope in one.scope_spans)
    count += sum(len(scope.log_records) for one in request.resource_logs for scope in one.scope_logs)
    check_count(count)
    spans = (
        (span, one.resource) for one in request.resource_spans for scope in one.scope_spans for span in scope.spans
    )
    logs = (record for one in request.resource_logs for scope in one.scope_logs for record in scope.log_records)
    return join([collect(spans, lambda one: _span(*one, known)), collect(logs, lambda one: _event(one, known))])


def check_count(count: int) -> None:
    """Refuse a request of very many spans."""
    if count > MOST_SPANS:
        raise TooMany(say("more than {n:,} spans in one request", n=MOST_SPANS))


def _decode_one_by_one(data: bytes, known: frozenset[str], error: Exception) -> Batch:
    try:
        if len(data) > _PATIENT or isinstance(error, RecursionError):
            raise error
        request = _decode_raw(data)
    except _FAULTS as found:
        raise Unreadable(say("this is no OTLP request: {reason}", reason=_plain_reason(found))) from None
    spans = [
        (span, one.resource) for one in request.resource_spans for scope in one.scope_spans for span in scope.spans
    ]
    check_count(len(spans))
    return collect(spans, lambda one: _span(_decode_span(one[0]), one[1], known))


def collect(items: Iterable[Item], read: Callable[[Item], tuple[TraceSpan | SpanEvent | None, bool]]) -> Batch:
    """Read spans and events one after the other, and whether its ids were in base64; what cannot be read is counted."""
    spans: list[TraceSpan] = []
    events: list[SpanEvent] = []
    reasons: dict[str, None] = {}
    rejected = packed = 0
    for item in items:
        try:
            found, was_packed = read(item)
        except _FAULTS as error:
            rejected += 1
            if len(reasons) < REASONS:
                reasons[_plain_reason(error)] = None
            continue
        packed += was_packed
        if isinstance(found, TraceSpan):
            spans.append(found)
        elif found is not None:
            events.append(found)
    return Batch(tuple(spans), tuple(events), rejected, tuple(reasons), packed)


def _plain_reason(error: Exception) -> str:
    if isinstance(error, Unreadable):
        return error.message
    return say("read.too_deep") if isinstance(error, RecursionError) else str(error)[:200]


def _span(span: Span, where: Resource | None, asked: frozenset[str]) -> tuple[TraceSpan, bool]:
    trace, packed = read_id(span.trace_id, TRACE_DIGITS)
    own, _ = read_id(span.span_id, SPAN_DIGITS)
    parent = read_id(span.parent_span_id, SPAN_DIGITS)[0] if span.parent_span_id.strip("0") else ""
    events = tuple(
        SpanEvent(trace, own, one.name, _whole(one.time_unix_nano), _event_attributes(one.attributes, asked))
        for one in span.events
        if one.name in names.EVENTS
    )
    attributes = _attributes(span.attributes, asked)
    found = TraceSpan(
        trace,
        own,
        parent,
        span.name,
        _whole(span.start_time_unix_nano),
        _whole(span.end_time_unix_nano),
        error_of(span.status is not None and span.status.code in (2, "2", "STATUS_CODE_ERROR"),
                 span.status.message if span.status else "", attributes, events),
        _service(where),
        span.flags & REMOTE == REMOTE,
        attributes,
        events,
        size_of(attributes, events),
    )  # fmt: skip
    return found, packed


def error_of(failed: bool, message: str, attributes: Attributes, events: Sequence[SpanEvent]) -> str | None:  # noqa: FBT001 - positional and private to readers
    """What is known of an error: its message, its type, the exception that was recorded; None where there is none."""
    if not failed:
        return None
    thrown = next((one.attributes for one in events if one.name == names.EXCEPTION_EVENT), {})
    told = (message, attributes.get(names.ERROR), thrown.get("exception.message"), thrown.get("exception.type"))
    return next((one for one in told if isinstance(one, str) and one.strip()), "error")


def size_of(attributes: Attributes, events: Sequence[SpanEvent]) -> int:
    """About how many bytes a span takes in memory."""
    values = sum(map(size_of_value, attributes.values()))
    inner = sum(400 + size_of(one.attributes, ()) for one in events)
    return 500 + 150 * len(attributes) + values + inner


def _event(record: LogRecord, asked: frozenset[str]) -> tuple[SpanEvent | None, bool]:
    if not record.trace_id.strip("0") or not record.span_id.strip("0"):
        return None, False  # a line of a log that belongs to no request
    attributes = _event_attributes(record.attributes, asked)
    name = record.event_name or str(attributes.get("event.name", ""))
    if name not in names.EVENTS:
        return None, False  # a line of a log that tells no conversation
    trace, packed = read_id(record.trace_id, TRACE_DIGITS)
    own, _ = read_id(record.span_id, SPAN_DIGITS)
    time = _whole(record.time_unix_nano) or _whole(record.observed_time_unix_nano)
    body = _value(record.body) if record.body is not None else None
    attributes = attributes if body is None else {**attributes, "body": body}
    return SpanEvent(trace, own, name, time, attributes), packed


def read_id(text: str, digits: int) -> tuple[str, bool]:
    """An id in lower-case hexadecimal digits, and whether it was in base64, as protobuf's own JSON would have it."""
    if len(text) == digits and _HEX.fullmatch(text):
        if text.strip("0"):
            return text.lower(), False
    elif _BASE64.get(len(text)) == digits:
        try:
            found = b64decode(text, validate=True).hex()
        except ValueError:
            found = ""
        if len(found) == digits and found.strip("0"):
            return found, True
    raise Unreadable(say("an id of a span has {digits} hexadecimal digits that are not all 0", digits=digits))


def _whole(value: Whole) -> int:
    """A number of nanoseconds, which is a text in JSON."""
    if isinstance(value, str):
        if not (value.isascii() and value.isdecimal() and len(value) < 21):  # noqa: PLR2004 - digits of 64 bits
            raise Unreadable(say("a time is no whole number of nanoseconds"))
        value = int(value)
    if not 0 <= value < 2 * _MOST_NUMBER:
        raise Unreadable(say("a time is no whole number of nanoseconds"))
    return value


def _service(where: Resource | None) -> str | None:
    for one in where.attributes if where is not None else ():
        if one.key == names.SERVICE and one.value is not None:
            return one.value.string_value or None
    return None


def _attributes(found: Sequence[KeyValue], asked: frozenset[str]) -> dict[str, Value]:
    return {
        one.key: value
        for one in found
        if names.is_read(one.key, asked) and one.value is not None and (value := _value(one.value)) is not None
    }


def _event_attributes(found: Sequence[KeyValue], asked: frozenset[str]) -> dict[str, Value]:
    return {
        one.key: value
        for one in found
        if names.is_read_of_event(one.key, asked) and one.value is not None and (value := _value(one.value)) is not None
    }


def _value(value: AnyValue, depth: int = 0) -> Value | None:
    """A plain value; None where there is none, or a number that is none."""
    if value.string_value is not None:
        return value.string_value
    if value.bool_value is not None:
        return value.bool_value
    if value.int_value is not None:
        return _integer(value.int_value)
    if value.double_value is not None:
        return _finite(value.double_value)
    return _read_nested(value, depth)


def _read_nested(value: AnyValue, depth: int) -> Value | None:
    if depth > _DEEPEST:
        raise Unreadable(say("read.too_deep"))
    for raw in (value.array_value, value.kvlist_value):
        if len(bytes(raw)) > MOST_VALUE:
            raise Unreadable(say("a list or an object in an attribute is too large"))
    if bytes(value.array_value):
        found = (_value(one, depth + 1) for one in _decode_list(value.array_value).values)
        return [one for one in found if one is not None]
    if bytes(value.kvlist_value):
        pairs = _decode_object(value.kvlist_value).values
        return {one.key: inner for one in pairs if one.value and (inner := _value(one.value, depth + 1)) is not None}
    return None


def _integer(value: Whole) -> int:
    if isinstance(value, str):
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):  # noqa: PLR2004 - digits of 64 bits
            raise Unreadable(say("an attribute is no whole number"))
        value = int(value)
    if not -_MOST_NUMBER <= value < _MOST_NUMBER:
        raise Unreadable(say("an attribute is no whole number"))
    return value


def _finite(value: Any) -> float | None:
    try:
        found = float(value)
    except ValueError:
        raise Unreadable(say("an attribute is no number")) from None
    return found if math.isfinite(found) else None
