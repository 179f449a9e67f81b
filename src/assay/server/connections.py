"""How long a client may hold a connection: for the head of a request, for reading the answer, and how many there are.

A client that opens hundreds of connections and says nothing on them must not keep others out. Beyond the limit the
connection that has been waiting longest without a request is closed for each new one.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from assay.server.limits import Limits


class BoundedConnection(H11Protocol):
    """One connection of uvicorn's, with deadlines and a limit on their number."""

    def __init__(self, *args: Any, limits: Limits, **named: Any) -> None:
        super().__init__(*args, **named)
        self.limits = limits
        self.waiting: asyncio.TimerHandle | None = None
        self.stalled: asyncio.TimerHandle | None = None
        self.since = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; beyond the limit, close the connection that waits longest."""
        super().connection_made(transport)
        line = transport.get_extra_info("socket")
        if line is not None:  # or the head of an answer waits 40 ms to be confirmed before its body is sent
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.since = self.loop.time()
        self._wait()
        others: list[BoundedConnection] = [one for one in self.connections if isinstance(one, BoundedConnection)]
        if len(others) > self.limits.connections:
            min((one for one in others if one.is_idle), key=lambda one: one.since).drop()

    def data_received(self, data: bytes) -> None:
        """Take what came; the head of a request has one deadline, however slowly its bytes come."""
        super().data_received(data)
        if self.is_idle:
            self._wait()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request on the same connection."""
        self.since = self.loop.time()
        super().on_response_complete()
        if not self.is_idle:  # the next request was here already
            self._stop_waiting()

    def pause_writing(self) -> None:
        """Give a client that does not read its answer some time, and no more."""
        super().pause_writing()
        if self.stalled is None:
            self.stalled = self.loop.call_later(self.limits.send_seconds, self.drop)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        super().resume_writing()
        if self.stalled is not None:
            self.stalled.cancel()
            self.stalled = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._stop_waiting()
        if self.stalled is not None:
            self.stalled.cancel()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection at once."""
        self.connections.discard(self)
        if self.transport is not None:
            self.transport.abort()

    def _wait(self) -> None:
        if self.waiting is None and not self.transport.is_closing():
            self.waiting = self.loop.call_later(self.limits.head_seconds, self.drop)

    def _stop_waiting(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
