"""Read files in a separate process, as reading them may loop, fill the memory or crash.

The child is `python -m assay.formats.containment MODULE:FUNCTION MEGABYTES`. It reads questions from its standard input
and writes answers to its standard output, each with its size before it; the function takes and returns bytes.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = struct.Struct("<?Q")  # whether it went well, and the size of what follows
_PATIENCE = 3  # how much longer than it may compute a child may take, on a machine with other work


class Refused(Exception):
    """The child process gave no answer: what its function raised."""


class Stopped(Refused):
    """The child process exceeded its time limit."""


class OutOfMemory(Refused):
    """The function needed more memory than the child process may have."""


class Died(Refused):
    """The child process ended without an answer: by a signal, of which this is the name, or with an exit code."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(_name_of_signal(-code) if code is not None and code < 0 else f"exit code {code}")


def _name_of_signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


@dataclass
class Contained:
    """A function in a process of its own, started on first use, and again after it died."""

    function: str
    megabytes: int
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Hand over bytes and wait for the answer, for which the child may compute so many seconds."""
        child = self._child = self._child or self._start()
        assert child.stdin is not None and child.stdout is not None
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            child.kill()

        clock = threading.Timer(_PATIENCE * seconds, stop)
        clock.start()
        try:
            _send(child.stdin, question, seconds)
            well, answer = _receive(child.stdout)
        except (OSError, EOFError):
            code = self.close()
            died = Died(code)
            raise (Stopped() if expired.is_set() or str(died) == "SIGPROF" else died) from None
        finally:
            clock.cancel()
        if not well:
            told = answer.decode("utf-8", "replace")
            raise (OutOfMemory if told.startswith(MemoryError.__name__) else Refused)(told)
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
    _bound(megabytes)
    asked, told = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not an answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            seconds, _, question = _receive_in(asked)
            _bound_time(seconds)
            try:
                found, well = _load(function)(question), True
            except BaseException as error:  # noqa: BLE001 - a panic of a library is no Exception
                name = MemoryError.__name__ if _lacks_memory(error) else type(error).__name__
                found, well = f"{name}: {error}".partition("\n")[0].encode("utf-8", "replace"), False
            _send(told, found, well=well)


def _lacks_memory(error: BaseException) -> bool:
    """Return whether an error comes of a lack of memory, also where there was none left for its exception."""
    if isinstance(error, SystemError):
        return "without exception set" in str(error)
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


@cache
def _load(function: str) -> Callable[[bytes], bytes]:
    from importlib import import_module

    module, _, name = function.partition(":")
    found: Callable[[bytes], bytes] = getattr(import_module(module), name)
    return found


def _bound(megabytes: int) -> None:
    """Limit the memory of this process, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bound_time(seconds: float) -> None:
    """Let this process compute for so many seconds more, even if nobody waits for it any longer."""
    with contextlib.suppress(AttributeError, ValueError, OSError):  # Windows has no such clock
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
