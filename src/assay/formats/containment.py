"""Read files in a separate process, as reading them may loop, fill the memory or crash.

The child is `python -m assay.formats.containment MODULE:FUNCTION MEGABYTES`. It reads questions from its standard input
and writes answers to its standard output, each with its size before it; the function takes and returns bytes.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import IO

_HEAD = struct.Struct("<?Q")  # whether it went well, and the size of what follows
_GRACE = 5  # seconds after which a child ends itself if no parent waits for it


class Refused(Exception):
    """The child process failed: what the function raised, or how the process ended."""


class Stopped(Refused):
    """The child process exceeded its time limit."""


@dataclass
class Contained:
    """A function in a process of its own, started on first use, and again after it died."""

    function: str
    megabytes: int
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Hand over bytes and wait for the answer, as long as it may take."""
        child = self._child = self._child or self._start()
        assert child.stdin is not None and child.stdout is not None
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            child.kill()

        clock = threading.Timer(seconds, stop)
        clock.start()
        try:
            _send(child.stdin, question, seconds)
            well, answer = _receive(child.stdout)
        except (OSError, EOFError):
            code = self.close()
            raise (Stopped() if expired.is_set() else Refused(f"exit code {code}")) from None
        finally:
            clock.cancel()
        if not well:
            raise Refused(answer.decode("utf-8", "replace"))
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        from pathlib import Path

        # -P keeps the current folder off the path: a pypdf.py of a stranger's folder must not be run.
        here = str(Path(__file__).parents[2])
        run = f"import runpy, sys; sys.path.append({here!r}); runpy.run_module({__name__!r}, run_name='__main__')"
        return subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
            [sys.executable, "-P", "-c", run, self.function, str(self.megabytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> int | None:
        """End the child; its exit code."""
        child, self._child = self._child, None
        if child is None:
            return None
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()


@cache
def child_for(function: str, megabytes: int) -> Contained:
    """One process for all files of a kind: to start it takes longer than to read most of them."""
    child = Contained(function, megabytes)
    atexit.register(child.close)
    return child


def _send(pipe: IO[bytes], data: bytes, seconds: float = 0, *, well: bool = True) -> None:
    pipe.write(struct.pack("<d", seconds) + _HEAD.pack(well, len(data)))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[bool, bytes]:
    return _receive_in(pipe)[1:]


def _receive_in(pipe: IO[bytes]) -> tuple[float, bool, bytes]:
    seconds = struct.unpack("<d", _exactly(pipe, 8))[0]
    well, size = _HEAD.unpack(_exactly(pipe, _HEAD.size))
    return seconds, well, _exactly(pipe, size)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError
    return found


def _serve(function: str, megabytes: int) -> None:
    """Answer questions until there are no more; run as the child."""
    import signal
    from importlib import import_module

    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    module, _, name = function.partition(":")
    answer = getattr(import_module(module), name)
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not an answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            seconds, _, question = _receive_in(asked)
            if hasattr(signal, "alarm"):
                signal.alarm(int(seconds) + _GRACE)
            try:
                found, well = answer(question), True
            except BaseException as error:  # noqa: BLE001 - a panic of a library is no Exception
                found, well = f"{type(error).__name__}: {error}".partition("\n")[0].encode("utf-8", "replace"), False
            _send(told, found, well=well)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
