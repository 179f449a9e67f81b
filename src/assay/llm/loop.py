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
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
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

    def stop(self) -> None:
        """End the loop and its thread."""
        self.soon(self._loop.stop)
        self._thread.join()
