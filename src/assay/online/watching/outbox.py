"""Sending evaluations: to a file of OTLP in JSON lines, or to a server that takes OTLP over HTTP.

A file is added to, and each line is in it once: after a kill, what is at its end already is not written again. To a
server lines are sent at least once: one whose answer was not seen is sent again, and its records have the same
`log.record.uid`. What cannot be sent waits, and is tried again later.
"""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from assay.errors import InputError, UsageError, cause
from assay.formats.files import sync, write_atomically
from assay.formats.traces.evaluations import count_evaluations
from assay.llm.hosts import Address
from assay.llm.transport import Transport
from assay.messages import say
from assay.online.watching.evaluations import list_waiting
from assay.results.watch import SentEvaluations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.llm.transport import Exchange

_PATH = "/v1/logs"
_HEADERS = ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_TIMEOUT = 10.0
_WRONG = {400, 413, 415, 422}  # this request is at fault: it is not sent again
_FIRST, _LONGEST = 5.0, 300.0  # seconds between attempts
_TAIL = 1 << 20


class Unsent(Exception):
    """What could not be sent now, and why; it is tried again."""


@dataclass
class Outbox:
    """Sends what waits in a folder; it counts what was sent since it was made."""

    place: str
    sent: int = 0
    refused: int = 0
    problem: str = ""
    clock: Callable[[], float] = time.monotonic
    _pause: float = 0.0
    _next: float = 0.0
    _target: FileTarget | ServerTarget = field(init=False)

    def __post_init__(self) -> None:
        is_server = self.place.startswith(("http://", "https://"))
        self._target = ServerTarget.at(self.place) if is_server else FileTarget(Path(self.place))

    def send(self, folder: Path, through: int | None, *, now: bool = False) -> None:
        """Send what waits of the windows that are closed; after a failure only when some time has passed, or `now`."""
        if not now and self.clock() < self._next:
            return
        try:
            for path in list_waiting(folder, through):
                self._send(path)
        except Unsent as error:
            self.problem = error.args[0]
            self._pause = min(max(2 * self._pause, _FIRST), _LONGEST)
            self._next = self.clock() + self._pause
        else:
            self.problem, self._pause, self._next = "", 0.0, 0.0

    def tell(self, folder: Path, through: int | None) -> SentEvaluations:
        """What was sent, and what waits."""
        waiting = sum(count_evaluations(line) for path in list_waiting(folder, through) for line in _lines_of(path))
        return SentEvaluations(self._target.name, self.sent, waiting, self.refused, self.problem)

    def _send(self, path: Path) -> None:
        lines = _lines_of(path)
        while lines:
            n, refused = self._target.send(lines)
            self.sent += sum(map(count_evaluations, lines[:n])) - refused
            self.refused += refused
            lines = lines[n:]
            if lines:
                write_atomically(path, b"".join(lines))
        path.unlink()


@dataclass(frozen=True)
class FileTarget:
    """A file to which lines are added, each once."""

    path: Path

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.path)

    def send(self, lines: Sequence[bytes]) -> tuple[int, int]:
        """Add lines that are not at the end of the file yet; how many are done with, and how many were refused."""
        try:
            is_new = not self.path.exists()
            with self.path.open("a+b") as file:
                file.seek(0, os.SEEK_END)
                size = file.tell()
                file.seek(max(0, size - max(_TAIL, sum(map(len, lines)))))
                file.write(_missing(lines, file.read()))
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync(self.path.parent)
        except OSError as error:
            raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=self.name) from None
        return len(lines), 0


def _missing(lines: Sequence[bytes], tail: bytes) -> bytes:
    """What is left to write of lines, of which a process that was killed may have written some and a part of one."""
    begun = tail.rpartition(b"\n")[2]
    for n in range(len(lines), -1, -1):
        last = lines[n] if n < len(lines) else b""
        if last.startswith(begun) and tail.endswith(b"".join(lines[:n]) + begun):
            return last[len(begun) :] + b"".join(lines[n + 1 :])
    return (b"\n" if begun else b"") + b"".join(lines)


@dataclass(frozen=True)
class ServerTarget:
    """A server that takes OTLP over HTTP, in JSON."""

    address: Address
    headers: Mapping[str, str]

    @classmethod
    def at(cls, url: str) -> ServerTarget:
        """The server of an address such as http://127.0.0.1:4318; headers are those of OpenTelemetry's variables."""
        try:
            address = Address.of(url.rstrip("/").removesuffix(_PATH))
        except UsageError:
            raise UsageError(
                say(
                    "evaluations cannot be sent there: expected an address like {example}, and keys in {name}",
                    example="http://127.0.0.1:4318",
                    name=_HEADERS[-1],
                )
            ) from None
        return cls(address, read_headers(next((os.environ[name] for name in _HEADERS if name in os.environ), "")))

    @property
    def name(self) -> str:
        """What it is called."""
        return self.address.url + _PATH

    def send(self, lines: Sequence[bytes]) -> tuple[int, int]:
        """Send the first line; how many are done with, and how many of its evaluations were refused."""
        with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
            reply = pool.submit(asyncio.run, self._post(lines[0])).result()
        if 200 <= reply.status < 300:  # noqa: PLR2004
            return 1, _count_rejected(reply.body)
        if reply.status in _WRONG:
            return 1, count_evaluations(lines[0])
        raise Unsent(reply.message or say("it answered {status}", status=reply.status))

    async def _post(self, body: bytes) -> Exchange:
        transport = Transport(self.address, None, self.headers)
        try:
            return await transport.send(_PATH, body, timeout=_TIMEOUT)
        finally:
            await transport.close()


def read_headers(text: str) -> dict[str, str]:
    """Headers as OpenTelemetry's variables have them: name=value, separated by commas, values percent-encoded.

    >>> read_headers("authorization=Basic%20abc,x-project=shop")
    {'authorization': 'Basic abc', 'x-project': 'shop'}
    """
    found = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, sign, value = part.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not sign or not name or not f"{name}{value}".isascii() or not f"{name}{value}".isprintable():
            raise UsageError(say("{name}: expected name=value, separated by commas", name=_HEADERS[-1]))
        found[name] = value
    return found


class _Partial(msgspec.Struct):
    rejectedLogRecords: int = 0  # noqa: N815 - a name of OTLP


class _Taken(msgspec.Struct):
    partialSuccess: _Partial | None = None  # noqa: N815 - likewise


def _count_rejected(body: bytes) -> int:
    """How many records a server says that it did not take."""
    try:
        found = msgspec.json.decode(body, type=_Taken, strict=False).partialSuccess
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return 0
    return 0 if found is None else max(0, found.rejectedLogRecords)


def _lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)
