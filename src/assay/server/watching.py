"""The endpoint of a watch: traces come in over OTLP/HTTP, and what was found goes out to Prometheus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from assay.errors import UsageError
from assay.formats.monitoring import prometheus_text
from assay.formats.traces.keeping import TraceFolder
from assay.messages import say
from assay.server.otlp import metrics_route, trace_routes
from assay.server.running import WebServer

if TYPE_CHECKING:
    from pathlib import Path

    from assay.messages import Lang
    from assay.results.watch import Watch

_LARGEST = 65_535


@dataclass
class WatchEndpoint:
    """A server that keeps the traces it receives in a folder, before it acknowledges them; use it as a context."""

    folder: TraceFolder
    server: WebServer
    text: list[str]

    @classmethod
    def at(
        cls, address: str, folder: Path, *, salt: str | None = None, redact: bool = False,
        keep_days: float | None = None, lang: Lang = "en",
    ) -> Self:  # fmt: skip
        """Listen at [HOST:]PORT; ids of users are hashed with a salt, and personal data is taken out of texts."""
        host, port = read_address(address)
        kept, text = TraceFolder(folder, salt=salt, redact=redact, keep_days=keep_days), [""]
        routes = [*trace_routes(kept.append, lang=lang), metrics_route(lambda: text[0])]
        return cls(kept, WebServer(machines=routes, host=host, port=port, lang=lang), text)

    @property
    def origin(self) -> str:
        """Where traces are sent."""
        return self.server.origin

    def show(self, found: Watch) -> None:
        """Let Prometheus read what was found."""
        self.text[0] = prometheus_text(found)

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()


def read_address(text: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT or PORT; this machine alone unless a host is named.

    >>> read_address("4318"), read_address("[::1]:4318")
    (('127.0.0.1', 4318), ('::1', 4318))
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) <= _LARGEST):
        raise UsageError(say("{text!r}: expected a port, or HOST:PORT", text=text))
    return host.strip("[]") or "127.0.0.1", int(port)
