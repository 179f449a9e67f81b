"""A function of many items in copies of this process, one for each core.

Threads of one interpreter wait for each other between any two operations on arrays, and on lists of a thousand
documents each operation is short. Copies share what was read before, and send back what they find.
"""

from __future__ import annotations

import os
import pickle
import signal
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

Item = TypeVar("Item")
Found = TypeVar("Found")
_MOST = 8


def map_in_processes(
    function: Callable[[Item], Found], items: Sequence[Item], processes: int, shared: Sequence[object]
) -> Iterator[Found]:
    """What a function makes of each item, in their order; what it refers to of `shared` is not copied.

    Where it fails in a copy, or a copy ends early, it is called here: so errors are raised as they are.
    """
    processes = min(processes, _MOST, len(items))
    with ExitStack() as stack:
        files = [_start(function, items[first::processes], shared, stack) for first in range(processes)]
        for number, item in enumerate(items):
            found: tuple[Found] | None = _next(files[number % processes], shared)
            yield function(item) if found is None else found[0]


def _start(
    function: Callable[[Item], Found], items: Sequence[Item], shared: Sequence[object], stack: ExitStack
) -> BinaryIO:
    """Copy this process, and return what the copy writes; it ends with the stack at the latest."""
    source, target = os.pipe()
    process = os.fork()
    if not process:
        os.close(source)
        _work(function, items, os.fdopen(target, "wb"), shared)
    os.close(target)
    stack.callback(_end, process)
    return stack.enter_context(os.fdopen(source, "rb"))


def _work(
    function: Callable[[Item], Found], items: Sequence[Item], file: BinaryIO, shared: Sequence[object]
) -> NoReturn:
    """Send what the function makes of each item, in a tuple, and None where it fails; never return."""
    try:
        for item in items:
            try:
                found = (function(item),)
            except Exception:  # noqa: BLE001 - who reads this calls the function again, and sees for itself
                found = None
            _Writer(file, shared).dump(found)
            file.flush()
    finally:
        os._exit(0)  # without what this process had still to write, or to do when it ends


def _end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


class _Writer(pickle.Pickler):
    """Writes objects; those that are shared by their numbers."""

    def __init__(self, file: BinaryIO, shared: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.numbers = {id(one): number for number, one in enumerate(shared)}

    def persistent_id(self, obj: object) -> int | None:
        """The number of a shared object."""
        return self.numbers.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Reads one object that this process wrote in another place."""

    def __init__(self, file: BinaryIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self.shared = shared

    def persistent_load(self, pid: int) -> object:
        """The shared object of a number."""
        return self.shared[pid]


def _next(file: BinaryIO, shared: Sequence[object]) -> Any:
    """What a copy sent next, by a new reader, as each keeps what it has read; None when the copy has ended."""
    try:
        return _Unpickler(file, shared).load()
    except (EOFError, pickle.UnpicklingError):
        return None
