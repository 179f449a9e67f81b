"""Spans of traces: one step of a request each, with the few attributes that Assay reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

# The value of an attribute: lists and objects are kept as they were sent.
if TYPE_CHECKING:
    Value = str | int | float | bool | list["Value"] | dict[str, "Value"]
else:
    Value = Any  # for codecs
Attributes = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened during a span: an event of it, or a log record that names it; `body` is an attribute."""

    trace_id: str
    span_id: str
    name: str
    time_ns: int = 0
    attributes: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One step of a request. Ids are lower-case hexadecimal digits; `parent_id` is empty where there is no parent.

    `is_entry` says that its parent is in another process, `service` is the name of the service it ran in, `size` about
    how many bytes it takes.
    """

    trace_id: str
    span_id: str
    parent_id: str = ""
    name: str = ""
    start_ns: int = 0
    end_ns: int = 0
    error: str | None = None
    service: str | None = None
    is_entry: bool = False
    attributes: Mapping[str, Value] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What one line of a file or one request held.

    So many were `rejected` because they could not be read, for the first few `reasons`; `base64` had ids in base64.
    """

    spans: tuple[TraceSpan, ...] = ()
    events: tuple[SpanEvent, ...] = ()
    rejected: int = 0
    reasons: tuple[str, ...] = ()
    base64: int = 0

    def __bool__(self) -> bool:
        return bool(self.spans or self.events or self.rejected)


def join(batches: list[Batch]) -> Batch:
    """Put batches together."""
    return Batch(
        tuple(span for one in batches for span in one.spans),
        tuple(event for one in batches for event in one.events),
        sum(one.rejected for one in batches),
        tuple(dict.fromkeys(text for one in batches for text in one.reasons))[:REASONS],
        sum(one.base64 for one in batches),
    )


def size_of_value(value: Value) -> int:
    """About how many bytes a value of an attribute takes in memory, with all that is in it."""
    if isinstance(value, str):
        return 2 * len(value)
    if isinstance(value, list):
        return sum(100 + size_of_value(one) for one in value)
    if isinstance(value, dict):
        return sum(150 + 2 * len(key) + size_of_value(one) for key, one in value.items())
    return 0


REASONS = 3  # of what was rejected that are told
