"""An event loop on a thread of its own, so that notebooks, other loops and plain scripts can all wait for it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class LoopThread:
    """Runs coroutines and callbacks for other threads until it is stopped."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(_cleared())
        self._loop.close()

    def soon(self, action: Callable[..., object], *arguments: object) -> bool:
        """Call a function on the loop; False when it has ended."""
        try:
            self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            return False
        return True

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop and wait for its result here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call a function on the loop after a while."""
        self.soon(self._loop.call_later, seconds, action)

    def stop(self, last: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do one last thing, then end the loop and its thread."""

        async def end() -> None:
            try:
                await last()
            finally:
                self._loop.stop()

        if self.soon(lambda: self._loop.create_task(end())) and threading.current_thread() is not self._thread:
            self._thread.join()


async def _cleared() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()
