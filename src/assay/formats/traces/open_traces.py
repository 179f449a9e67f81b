"""Traces whose spans come late, in several batches, twice, or in any order: each is given out once, when complete.

A trace is complete when the span that began it has ended and no more spans are to be expected: when the time of events,
which moves on with the spans that come, is `settle` seconds later. What never gets its root is given out after
`patience` seconds. Both the number of open traces and their memory are bounded; what the bounds cost is counted.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from assay.data.limits import MEGABYTE
from assay.data.served import Served  # noqa: TC001 - a codec reads the types of records
from assay.errors import InputError
from assay.formats.traces.assembling import assemble
from assay.formats.traces.spans import SpanEvent, TraceSpan, size_of_value
from assay.formats.traces.steps import Steps
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from assay.formats.traces.spans import Batch

_SECOND = 10**9
_REMEMBERED = 50_000  # traces that were given out, by which late spans are known
_AHEAD = 300 * _SECOND  # how far clocks of other machines may be ahead of ours
_FORM = 1  # of the stored state


@dataclass
class OpenTrace:
    """The spans of one trace so far."""

    spans: dict[str, TraceSpan] = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    size: int = 0
    last_ns: int = 0
    root_end_ns: int = 0


@dataclass
class OpenTraces:
    """Traces that are not complete yet.

    `counts` says what became of all spans: spans, events, repeated (a span that was there already), repeated_events (a
    log record that was), late (of a trace that was given out), surplus (beyond `most_spans` of one trace), ahead (from
    the future: they do not move the time); and of traces: traces, crowded (given out early for room), rootless, others
    (no request: nothing was asked of a model or a search).
    """

    settle: float = 10.0
    patience: float = 60.0
    most: int = 20_000
    most_bytes: int = 256 * MEGABYTE
    most_spans: int = 1_000
    attributes: tuple[str, ...] = ()
    clock: Callable[[], int] = time.time_ns
    counts: Counter[str] = field(default_factory=Counter)
    traces: OrderedDict[str, OpenTrace] = field(default_factory=OrderedDict)
    done: OrderedDict[str, None] = field(default_factory=OrderedDict)
    size: int = 0
    time_ns: int = 0
    ready: list[Served] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.traces)

    @property
    def horizon(self) -> int:
        """The latest time that a clock of another machine may show now."""
        return self.clock() + _AHEAD

    def add(self, batch: Batch) -> None:
        """Take spans and log records; what is complete is given out by `take`."""
        horizon = self.horizon
        for span in batch.spans:
            self.counts["spans"] += 1
            if (trace := self._trace(span.trace_id)) is not None:
                self._add_span(trace, span, horizon)
            self._move_on(span.end_ns, horizon)
        for event in batch.events:
            self.counts["events"] += 1
            if (trace := self._trace(event.trace_id)) is not None:
                self._add_event(trace, event, horizon)
        while len(self.traces) > self.most or self.size > self.most_bytes:
            self.counts["crowded"] += 1
            self.ready += self._give_out([next(iter(self.traces))])

    def take(self, now: datetime | None = None, *, until_ns: int | None = None) -> list[Served]:
        """Give out the requests that are complete.

        `now` moves the time on where no spans come; `until_ns` holds it back where other spans are further behind.
        """
        if now is not None:
            self.time_ns = max(self.time_ns, int(now.timestamp() * _SECOND))
        reached = self.time_ns if until_ns is None else min(self.time_ns, until_ns)
        settled, waited = reached - self.settle * _SECOND, reached - self.patience * _SECOND
        found = [
            name
            for name, trace in self.traces.items()
            if (trace.root_end_ns and max(trace.root_end_ns, trace.last_ns) <= settled) or trace.last_ns <= waited
        ]
        return [*self._take_ready(), *self._give_out(found)]

    def take_all(self) -> list[Served]:
        """Give out all requests, complete or not: nothing more comes."""
        return [*self._take_ready(), *self._give_out(list(self.traces))]

    def _take_ready(self) -> list[Served]:
        found, self.ready = self.ready, []
        return found

    def _trace(self, name: str) -> OpenTrace | None:
        """The open trace of a span; None where it was given out."""
        if name in self.done:
            self.counts["late"] += 1
            return None
        if name not in self.traces:
            self.traces[name] = OpenTrace()
        return self.traces[name]

    def _add_span(self, trace: OpenTrace, span: TraceSpan, horizon: int) -> None:
        known = trace.spans.get(span.span_id)
        if known is None and len(trace.spans) >= self.most_spans:
            self.counts["surplus"] += 1
            return
        self.counts["repeated"] += known is not None
        trace.spans[span.span_id] = span
        end = min(span.end_ns, horizon) or max(self.time_ns, 1)
        trace.last_ns = max(trace.last_ns, end)
        if not span.parent_id:
            trace.root_end_ns = max(trace.root_end_ns, end)
        self._grow(trace, span.size - (known.size if known is not None else 0))

    def _add_event(self, trace: OpenTrace, event: SpanEvent, horizon: int) -> None:
        if len(trace.events) >= self.most_spans:
            self.counts["surplus"] += 1
            return
        if event.time_ns and event in trace.events:  # senders that saw no answer send a batch again
            self.counts["repeated_events"] += 1
            return
        trace.events.append(event)
        trace.last_ns = max(trace.last_ns, min(event.time_ns, horizon) or self.time_ns)
        self._grow(trace, 500 + sum(map(size_of_value, event.attributes.values())))

    def _grow(self, trace: OpenTrace, size: int) -> None:
        trace.size += size
        self.size += size

    def _move_on(self, end_ns: int, horizon: int) -> None:
        if end_ns > horizon:
            self.counts["ahead"] += 1
        else:
            self.time_ns = max(self.time_ns, end_ns)

    def _give_out(self, found: Iterable[str]) -> Iterator[Served]:
        for name in found:
            trace = self.traces.pop(name)
            self.size -= trace.size
            self._remember(name)
            if not trace.spans or not Steps(list(trace.spans.values())).is_request:
                self.counts["others"] += 1
                continue
            self.counts["traces"] += 1
            served = assemble(trace.spans.values(), trace.events, self.attributes)
            self.counts["rootless"] += "root" in served.lacks
            yield served

    def _remember(self, name: str) -> None:
        self.done[name] = None
        if len(self.done) > _REMEMBERED:
            self.done.popitem(last=False)

    def to_bytes(self) -> bytes:
        """The whole state, to be stored together with the position of the files that were read."""
        state = _State(_FORM, list(self.traces.items()), list(self.done), dict(self.counts), self.time_ns, self.ready)
        return msgspec.msgpack.encode(state)

    @classmethod
    def from_bytes(cls, data: bytes, **settings: Any) -> OpenTraces:
        """The state that was stored, with settings as for a new one."""
        try:
            state = msgspec.msgpack.decode(data, type=_State)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise InputError(say("the stored state of open traces is damaged")) from None
        if state.form != _FORM:
            raise InputError(say("the stored state of open traces is of another version of Assay"))
        found = cls(**settings)
        found.traces = OrderedDict(state.traces)
        found.done = OrderedDict.fromkeys(state.done)
        found.counts = Counter(state.counts)
        found.time_ns, found.ready = state.time_ns, list(state.ready)
        found.size = sum(trace.size for trace in found.traces.values())
        return found


class _State(msgspec.Struct):
    form: int
    traces: list[tuple[str, OpenTrace]]
    done: list[str]
    counts: dict[str, int]
    time_ns: int
    ready: list[Served]
