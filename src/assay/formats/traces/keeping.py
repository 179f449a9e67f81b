"""Keeping traces that were received: OTLP in JSON lines, one file a day, on the disk before the sender is told so."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.errors import InputError, UsageError, cause
from assay.formats.events.privacy import key_of_salt
from assay.formats.files import sync
from assay.formats.traces.otlp_json import REMOTE
from assay.formats.traces.privacy import hash_ids, redact_texts
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from assay.formats.traces.spans import Batch, SpanEvent, TraceSpan, Value

_NAME = re.compile(r"traces-(\d{4}-\d\d-\d\d)\.jsonl")
_PRIVATE = 0o600  # they hold what people asked
_ERROR = 2
_NEVER = datetime.max.replace(tzinfo=UTC)


def encode_lines(batch: Batch) -> bytes:
    """Write a batch as lines of OTLP in JSON, with the attributes that were kept of it."""
    found = []
    if batch.spans:
        services: dict[str | None, list[dict[str, Any]]] = {}
        for span in batch.spans:
            services.setdefault(span.service, []).append(_span(span))
        found.append({"resourceSpans": [
            {**_resource(name), "scopeSpans": [{"spans": spans}]} for name, spans in services.items()
        ]})  # fmt: skip
    if batch.events:
        found.append({"resourceLogs": [{"scopeLogs": [{"logRecords": [_record(one) for one in batch.events]}]}]})
    return b"".join(msgspec.json.encode(one) + b"\n" for one in found)


class TraceFolder:
    """A folder that takes batches of spans: `append` returns when they are on the disk.

    With a `salt`, ids of users and sessions are replaced before they are written, with `redact` personal data in texts;
    `expire` deletes the files of days that are longer ago than `keep_days`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        salt: str | None = None,
        redact: bool = False,
        keep_days: float | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if keep_days is not None and keep_days < 1:
            raise UsageError(say("traces are kept by whole days: expected at least 1"))
        if salt is not None:
            key_of_salt(salt)  # senders would be told of a short one, and nobody here
        self.folder = Path(folder)
        self.salt, self.redact, self.keep_days, self.clock = salt, redact, keep_days, clock
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._failure(self.folder, error) from None

    def append(self, batch: Batch) -> None:
        """Write a batch at the end of the file of today; after an error nothing of it stays."""
        if self.salt is not None:
            batch = hash_ids(batch, self.salt)
        lines = encode_lines(redact_texts(batch) if self.redact else batch)
        if not lines:
            return
        path = self.folder / f"traces-{self.clock():%Y-%m-%d}.jsonl"
        is_new = not path.exists()
        try:
            _append(path, lines)
        except OSError as error:
            raise self._failure(path, error) from None
        if is_new:
            sync(self.folder)
            self.expire()

    def expire(self, now: datetime | None = None) -> list[Path]:
        """Delete the files of days that ended more than `keep_days` ago, and say which."""
        if self.keep_days is None:
            return []
        last = (now or self.clock()) - timedelta(days=self.keep_days)
        found = [path for path in self.files if _end_of(path) < last]
        for path in found:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise self._failure(path, error) from None
        return found

    @property
    def files(self) -> list[Path]:
        """The files of days, from the first to the last."""
        return sorted(path for path in self.folder.iterdir() if _end_of(path) != _NEVER)

    def _failure(self, path: Path, error: OSError) -> InputError:
        return InputError(say("cannot be written: {reason}", reason=cause(error)), path=os.fspath(path))


def _append(path: Path, lines: bytes) -> None:
    """Append whole lines: after half a line of an earlier crash on a new one; after an error nothing of them stays."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), _PRIVATE)
    try:
        size = os.fstat(handle).st_size
        if size and _last_byte(handle) != b"\n":
            lines = b"\n" + lines
        try:
            written = 0
            while written < len(lines):
                written += os.write(handle, lines[written:])
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def _last_byte(handle: int) -> bytes:
    os.lseek(handle, -1, os.SEEK_END)
    return os.read(handle, 1)


def _end_of(path: Path) -> datetime:
    """When the day of a file ended; never, where its name is none of ours."""
    found = _NAME.fullmatch(path.name)
    try:
        day = datetime.fromisoformat(found[1]) if found else None
    except ValueError:
        day = None
    return _NEVER if day is None else day.replace(tzinfo=UTC) + timedelta(days=1)


def _resource(service: str | None) -> dict[str, Any]:
    return {} if service is None else {"resource": {"attributes": encode_attributes({"service.name": service})}}


def _span(span: TraceSpan) -> dict[str, Any]:
    found: dict[str, Any] = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.is_entry:
        found["flags"] = REMOTE
    found |= {
        "name": span.name,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": encode_attributes(span.attributes),
    }
    if span.events:
        found["events"] = [
            {"timeUnixNano": str(one.time_ns), "name": one.name, "attributes": encode_attributes(one.attributes)}
            for one in span.events
        ]
    if span.error is not None:
        found["status"] = {"code": _ERROR, "message": span.error}
    return found


def _record(event: SpanEvent) -> dict[str, Any]:
    attributes = {name: value for name, value in event.attributes.items() if name != "body"}
    found = {
        "traceId": event.trace_id,
        "spanId": event.span_id,
        "eventName": event.name,
        "timeUnixNano": str(event.time_ns),
        "attributes": encode_attributes(attributes),
    }
    return found if "body" not in event.attributes else {**found, "body": _any(event.attributes["body"])}


def encode_attributes(found: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Write attributes as OTLP has them in JSON."""
    return [{"key": name, "value": _any(value)} for name, value in found.items()]


def _any(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": _each(value)}}
    return {"kvlistValue": {"values": encode_attributes(value)}}


def _each(values: Iterable[Value]) -> list[dict[str, Any]]:
    return [_any(one) for one in values]
