"""What one client may take of the server."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.limits import MEGABYTE


@dataclass(frozen=True)
class Limits:
    """Bytes of a request's body, seconds for its parts, connections at once, requests per second of each client.

    An exporter of traces sends batches of some megabytes; people send forms. `unpacked` is for bodies that are packed.
    """

    page_body: int = MEGABYTE
    machine_body: int = 16 * MEGABYTE
    unpacked: int = 64 * MEGABYTE
    head_seconds: float = 10
    body_seconds: float = 30
    send_seconds: float = 30
    connections: int = 256
    page_rate: float = 50
    page_burst: float = 200
    machine_rate: float = 2000
    machine_burst: float = 4000
    stop_seconds: int = 5
