"""Commands as targets: one process a call."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from assay.errors import UsageError, cause, excerpt
from assay.messages import say
from assay.serving.records import CLOCK, CallFailed, Clock, Passing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_QUERY = "{query}"
_GLANCE = 0.05  # seconds between two looks for calls that take too long
_TAIL = 400  # bytes of what a failing command said last


@dataclass(frozen=True)
class Command:
    """A program and its arguments, started without a shell; `{query}` in an argument becomes the query.

    With candidates, the query and its documents come on standard input as one JSON object.
    """

    words: tuple[str, ...]
    timeout: float = 30.0
    with_candidates: bool = False
    is_async: bool = False

    @classmethod
    def of(cls, words: str | Sequence[str], *, timeout: float, with_candidates: bool = False) -> Command:
        """Check that the program exists."""
        try:
            split = tuple(shlex.split(words) if isinstance(words, str) else words)
        except ValueError as error:
            raise UsageError(say("the command cannot be read: {reason}", reason=cause(error))) from None
        if not split:
            raise UsageError(say("the command is empty"))
        if shutil.which(split[0]) is None:
            raise UsageError(say("command not found: {name}", name=excerpt(split[0])))
        return cls(split, timeout, with_candidates)

    @property
    def label(self) -> str:
        """The command as it would be typed."""
        return shlex.join(self.words)

    @property
    def takes(self) -> Passing:
        """What a call hands over."""
        if self.with_candidates:
            return "candidates"
        return "query" if any(_QUERY in word for word in self.words) else "nothing"

    def prepare(self, texts: Sequence[tuple[str, Sequence[str]]]) -> Sequence[tuple[tuple[str, ...], bytes]]:
        """Lay out the arguments and the standard input of each call."""
        if self.takes == "nothing":
            return [(self.words, b"")]
        found = []
        for query, documents in texts:
            body = {"query": query, "documents": list(documents)}
            given = json.dumps(body, ensure_ascii=False).encode() if self.with_candidates else b""
            found.append((tuple(word.replace(_QUERY, query) for word in self.words), given))
        return found

    @contextmanager
    def open(self, clock: Clock = CLOCK) -> Iterator[Callable[[tuple[tuple[str, ...], bytes]], None]]:  # noqa: ARG002
        """Start processes one after the other, with a watch on those that take too long."""
        watch = _Watch(self.timeout)
        try:
            with tempfile.TemporaryFile() as said:
                yield lambda prepared: _call(prepared, said, watch)
        finally:
            watch.close()


def _call(prepared: tuple[tuple[str, ...], bytes], said: IO[bytes], watch: _Watch) -> None:
    words, given = prepared
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
            words, stdin=subprocess.PIPE if given else subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
            start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise CallFailed("not started", cause(error)) from None
    watch.process = process, time.monotonic() + watch.timeout
    try:
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin as pipe:  # a command need not read what it is given
                pipe.write(given)
        code = process.wait()  # without a timeout, which would look only every few milliseconds
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        watch.process = None
    if code:
        raise _failure(code, said, watch, process)


def _failure(code: int, said: IO[bytes], watch: _Watch, process: subprocess.Popen[bytes]) -> CallFailed:
    size = os.fstat(said.fileno()).st_size
    said.seek(max(0, size - _TAIL))
    lines = said.read().decode("utf-8", errors="replace").strip().splitlines()
    said.seek(0)
    said.truncate()
    if watch.killed is process:
        return CallFailed("timeout", say("load.no_end", seconds=watch.timeout))
    kind = f"exit {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
    return CallFailed(kind, lines[-1] if lines else "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # what it started ends with it


class _Watch:
    """Ends a process that takes too long, from a thread of its own so that waiting for it costs nothing."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.process: tuple[subprocess.Popen[bytes], float] | None = None
        self.killed: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(min(_GLANCE, self.timeout / 4)):
            current = self.process
            if current is not None and time.monotonic() > current[1] and current[0].returncode is None:
                self.killed = current[0]
                _kill(current[0])

    def close(self) -> None:
        """End the watch."""
        self._over.set()
        self._thread.join()
