"""Running the server: in the foreground until it is told to stop, or beside other work."""

from __future__ import annotations

import socket
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from assay.errors import InputError, MissingPackage, cause
from assay.messages import say
from assay.server.access import Access
from assay.server.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from starlette.routing import Route

    from assay.messages import Lang
    from assay.server.app import StaticFile

_BACKLOG = 1024
_START_SECONDS = 30


class WebServer:
    """A server that has its address and is not yet answering: `run` it, or use it as a context.

    >>> with WebServer(pages=[], port=0) as server:
    ...     server.origin.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        *,
        pages: Sequence[Route] = (),
        machines: Sequence[Route] = (),
        static: Mapping[str, StaticFile] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        password: str | None = None,
        names: Sequence[str] = (),
        limits: Limits | None = None,
        lang: Lang = "en",
    ) -> None:
        uvicorn = _load_uvicorn()
        from assay.server.app import make_app
        from assay.server.connections import BoundedConnection

        limits = limits or Limits()
        Access(host, port, password, tuple(names))  # before anything listens
        self.socket = _listen(host, port)
        self.access = Access(host, self.socket.getsockname()[1], password, tuple(names))
        app = make_app(self.access, pages=pages, machines=machines, static=static, limits=limits, lang=lang)
        config = uvicorn.Config(
            app,
            http=partial(BoundedConnection, limits=limits),
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=int(limits.head_seconds) or 1,
            timeout_graceful_shutdown=limits.stop_seconds,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def origin(self) -> str:
        """The address without a path: where machines send."""
        return self.access.origin

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.access.address

    @property
    def connections(self) -> Collection[object]:
        """The connections that are open now."""
        found: Collection[object] = self._server.server_state.connections
        return found

    def run(self) -> None:
        """Answer until SIGINT or SIGTERM, then let requests in progress end."""
        self._server.run(sockets=[self.socket])

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, name="assay-server", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let requests in progress end, close all connections, and return when that is done."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self.socket.close()


def _load_uvicorn() -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingPackage(say("the web server"), "uvicorn", "serve") from None
    return uvicorn


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(
            say("{host}:{port}: cannot listen there: {reason}", host=host, port=port, reason=cause(error)),
            hint=say("choose another --port"),
        ) from None
