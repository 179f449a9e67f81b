"""Reading traces from files: OTLP in JSON lines, plain or gzip, one file, several, or folders, also while they grow."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.data.events import EventFault
from assay.data.served import as_log, as_samples
from assay.errors import AssayError, InputError
from assay.formats.events.slices import slices_of
from assay.formats.files import Input, is_there
from assay.formats.growing import Position, read_new_lines
from assay.formats.traces.open_traces import OpenTraces
from assay.formats.traces.otlp_json import Unreadable, decode_json
from assay.formats.traces.privacy import hash_ids, redact_texts
from assay.formats.traces.spans import Batch, join
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.data.events import Events
    from assay.data.samples import Samples
    from assay.data.served import Served
    from assay.data.source import Source

    Places = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

SUFFIXES = (".jsonl", ".json", ".ndjson")
_SIGNS = (b'"resourceSpans"', b'"resourceLogs"')
_LOOK = 1 << 16
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_NEVER = 10**18  # traces that wait


@dataclass(frozen=True)
class Traces:
    """Requests in the order of their times; `counts` says what became of all spans, `faults` what was odd."""

    requests: tuple[Served, ...]
    sources: tuple[Source, ...] = ()
    faults: tuple[EventFault, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Served]:
        return iter(self.requests)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd, as sentences."""
        return tuple(one.sentence for one in self.faults)

    @property
    def samples(self) -> Samples:
        """The requests as samples, for measures of answers."""
        return as_samples(self.requests, self.sources[0] if len(self.sources) == 1 else None, self.notes)

    def log(self, attributes: Sequence[str] = ()) -> Events:
        """The requests as an event log, for measures of logs, with these attributes as columns."""
        made = as_log(self.requests, attributes)
        return replace(made, sources=self.sources, faults=self.faults, notes=self.notes)


def read_traces(
    places: Places, *, attributes: Sequence[str] = (), salt: str | None = None, redact: bool = False
) -> Traces:
    r"""Read the requests of traces that were written by OpenTelemetry's collector, or received by Assay.

    A file has one OTLP request per line, in JSON, plain or gzip; folders are read with all their files. `attributes`
    are kept under their names. With a `salt`, ids of users and sessions are replaced by keyed hashes of them; `redact`
    takes personal data out of texts.

    >>> import assay
    >>> from pathlib import Path
    >>> span = '{"traceId": "%032x", "spanId": "%016x", "name": "ask", "attributes": [%s]}' % (1, 1, ", ".join(
    ...     '{"key": "%s", "value": {"stringValue": "%s"}}' % pair for pair in [
    ...         ("openinference.span.kind", "CHAIN"), ("input.value", "When?"), ("output.value", "In 1889.")]))
    >>> _ = Path("traces.jsonl").write_text('{"resourceSpans": [{"scopeSpans": [{"spans": [' + span + "]}]}]}")
    >>> [(one.question, one.answer) for one in assay.read_traces("traces.jsonl")]
    [('When?', 'In 1889.')]
    """
    named = [places] if isinstance(places, (str, os.PathLike)) else list(places)
    inputs = [Input.at(place) for one in named for place in files_of(one)]
    waiting = OpenTraces(most=_NEVER, most_bytes=_NEVER, attributes=tuple(attributes))
    faults: list[Batch] = []
    for source in inputs:
        for batch in _batches_of(source, attributes):
            faults.append(Batch(rejected=batch.rejected, reasons=batch.reasons, base64=batch.base64))
            if salt is not None:
                batch = hash_ids(batch, salt)  # noqa: PLW2901
            waiting.add(redact_texts(batch) if redact else batch)
    found = waiting.take_all()
    told = join(faults)
    if not found:
        raise _nothing(inputs, told, waiting)
    return Traces(
        tuple(sorted(found, key=lambda one: (one.time or _EARLIEST, one.id))),
        tuple(one.source for one in inputs),
        _faults_of(told, waiting.counts),
        waiting.counts,
    )


_EARLIEST = datetime.min.replace(tzinfo=UTC)


class NewTraces(NamedTuple):
    """What was added to a file, as one batch; `restarted` says that the file is another one or was cut."""

    batch: Batch
    position: Position
    restarted: bool = False


def read_new_traces(
    place: str | os.PathLike[str],
    position: Position | None = None,
    attributes: Sequence[str] = (),
    *,
    ended: bool = False,
) -> NewTraces:
    """Read what was added to a file of traces since a position, as one batch; lines that are no OTLP are counted.

    `ended` says that nothing more will be added, so that a last line counts that has no end.
    """
    new = read_new_lines(place, position, ended=ended)
    batches = [decode_line(line, attributes) for line in new.data.split(b"\n") if line.strip()]
    return NewTraces(join(batches), new.position, new.restarted)


def read_whole_traces(place: str | os.PathLike[str]) -> Iterator[Batch]:
    """Read a file that does not grow, such as a packed one."""
    return _batches_of(Input.at(place), ())


def decode_line(line: bytes, attributes: Sequence[str] = ()) -> Batch:
    """What one line holds; a line of which nothing can be read counts as one that was rejected."""
    try:
        return decode_json(line, attributes)
    except Unreadable as error:
        return Batch(rejected=1, reasons=(error.message,))


def is_traces(place: str | os.PathLike[str]) -> bool:
    """Return whether a file, or the first file of a folder, holds traces, from its first bytes."""
    try:
        first = next(iter(files_of(place)), place)
        return looks_like_traces(Input.at(first).head)
    except (AssayError, OSError):
        return False


def looks_like_traces(head: bytes) -> bool:
    """Return whether bytes begin like OTLP in JSON."""
    start = head.lstrip(_BLANKS)[:_LOOK]
    return start.startswith(b"{") and start[1:].lstrip().startswith(_SIGNS)


def files_of(place: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """A file, or the files of a folder and its folders whose suffix is known, in the order of their names."""
    if not is_there(place) or not Path(place).is_dir():
        return [place]
    found = [
        one
        for one in sorted(Path(place).rglob("*"))
        if one.name.lower().removesuffix(".gz").endswith(SUFFIXES) and one.name[0] not in "._" and one.is_file()
    ]
    if not found:
        raise InputError(
            say("this folder has no traces"),
            path=os.fspath(place),
            hint=say("expected files that end in {suffixes:or}", suffixes=list(SUFFIXES)),
        )
    return list(found)


def _batches_of(source: Input, attributes: Sequence[str]) -> Iterator[Batch]:
    """The batches of a file: of its lines, or of one object that was written over several lines."""
    if source.suffix == ".json" and source.head.count(b"\n") > 0 and not _is_line(source.head):
        yield decode_line(source.data, attributes)
        return
    for _, data in slices_of(source):
        for line in data.split(b"\n"):
            if line.strip(_BLANKS):
                yield decode_line(line.strip(_BLANKS), attributes)


def _is_line(head: bytes) -> bool:
    """Whether the first line closes what it opens."""
    line = head.lstrip(_BLANKS).split(b"\n", 1)[0].rstrip()
    return line.count(b"{") == line.count(b"}") and line.endswith(b"}")


def _faults_of(told: Batch, counts: Counter[str]) -> tuple[EventFault, ...]:
    found = [EventFault("other_ids", told.base64)] if told.base64 else []
    if told.rejected:
        found.append(EventFault("unreadable_spans", told.rejected, values={"reasons": list(told.reasons)}))
    kinds = {"rootless": "rootless", "repeated": "repeated_spans", "surplus": "surplus_spans", "others": "no_requests"}
    return (*found, *(EventFault(kind, counts[name]) for name, kind in kinds.items() if counts[name]))


def _nothing(inputs: Sequence[Input], told: Batch, waiting: OpenTraces) -> InputError:
    reason: str = told.reasons[0] if told.reasons else say("no line of this file holds spans")
    others = waiting.counts["others"]
    return InputError(
        say("none of {n} {n:trace|traces} asks a model or searches", n=others) if others else reason,
        path=", ".join(one.label for one in inputs[:3]),
        hint=say("expected OTLP in JSON, a request per line, with spans of the GenAI conventions or of OpenInference"),
    )
