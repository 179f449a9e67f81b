"""One HTTP call: bytes out, bytes back, and what kind of failure it was if there are none."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

from assay.errors import UsageError, cause, clean
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from assay.llm.hosts import Address
    from assay.llm.keys import Key
    from assay.llm.policy import Kind

LARGEST = 32 << 20  # bytes of an answer
_CONNECTING = 10.0  # seconds


@dataclass(frozen=True)
class Exchange:
    """What came back from one call: status, headers and body, or the kind of failure.

    `arrivals` are the pieces in which the body came: how many bytes there were, and how many seconds had passed.
    """

    sent: float
    seconds: float = 0.0
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: Kind | None = None
    message: str = ""
    arrivals: tuple[tuple[int, float], ...] = ()


class Transport:
    """Calls to one server, each on a lane of its own.

    A lane is a connection pool of one. Searching one large pool costs more with every connection, and a lane on which a
    call failed can be thrown away whole.
    """

    def __init__(self, address: Address, key: Key | None, headers: Mapping[str, str]) -> None:
        import httpx2

        self._httpx = httpx2
        self._address = address
        self._verify: Any = httpx2.create_ssl_context() if address.scheme == "https" else False
        self._proxy = None if address.is_loopback else proxy_for(address)
        self._headers = _headers(address, key, headers)
        self._urls: dict[str, httpx2.URL] = {}
        self._free: list[httpx2.AsyncHTTPTransport] = []

    async def send(self, path: str, body: bytes | None, *, timeout: float) -> Exchange:  # noqa: ASYNC109 - part of the message
        """Post a body, or get without one, and read the whole answer within the timeout, or say how that failed."""
        lane = self._free.pop() if self._free else self._lane()
        sent = time.monotonic()  # reading certificates for a new lane is not what the server takes
        try:
            async with asyncio.timeout(timeout):
                response = await lane.handle_async_request(self._request(path, body, timeout))
                content, arrivals = await _content(response, sent)
        except BaseException as error:
            await _close(lane)
            if not isinstance(error, Exception):
                raise
            kind, message = self._kind(error)
            return Exchange(sent, time.monotonic() - sent, failure=kind, message=message)
        self._free.append(lane)
        seconds = time.monotonic() - sent
        return Exchange(sent, seconds, response.status_code, response.headers, content, arrivals=arrivals)

    def _request(self, path: str, body: bytes | None, timeout: float) -> httpx2.Request:
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = self._httpx.URL(self._address.url + path)
        waits = {"connect": min(timeout, _CONNECTING), "read": timeout, "write": timeout, "pool": None}
        if body is None:
            headers = [pair for pair in self._headers if pair[0] != b"content-type"]
            return self._httpx.Request("GET", url, headers=headers, extensions={"timeout": waits})
        headers = [*self._headers, (b"content-length", str(len(body)).encode())]
        return self._httpx.Request("POST", url, headers=headers, content=body, extensions={"timeout": waits})

    def _lane(self) -> httpx2.AsyncHTTPTransport:
        one = self._httpx.Limits(max_connections=1, max_keepalive_connections=1)
        try:
            return self._httpx.AsyncHTTPTransport(verify=self._verify, limits=one, proxy=self._proxy)
        except ImportError as error:
            raise UsageError(
                say("the proxy that the environment names cannot be used: {reason}", reason=cause(error))
            ) from None

    def _kind(self, error: Exception) -> tuple[Kind, str]:
        httpx = self._httpx
        if isinstance(error, httpx.ProxyError):
            return "unreachable", say("reply.proxy")
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            why = clean(cause(error)) if str(error) else say("reply.no_answer")
            return "unreachable", say("reply.no_connection", server=self._address.label, reason=why)
        if isinstance(error, (TimeoutError, httpx.TimeoutException)):
            return "slow", say("reply.slow")
        if isinstance(error, (httpx.DecodingError, _TooLarge)):
            packed = isinstance(error, httpx.DecodingError)
            return "garbage", say("reply.packed") if packed else say("reply.too_large", n=LARGEST >> 20)
        return "broken", say("reply.broken", kind=type(error).__name__)

    async def close(self) -> None:
        """Close all connections."""
        while self._free:
            await _close(self._free.pop())


class _TooLarge(Exception):
    """An answer without end."""


async def _content(response: httpx2.Response, sent: float) -> tuple[bytes, tuple[tuple[int, float], ...]]:
    parts, arrivals, size = [], [], 0
    stream: Any = response.aiter_bytes() if "content-encoding" in response.headers else response.stream
    async for part in stream:
        size += len(part)
        if size > LARGEST:
            raise _TooLarge
        parts.append(part)
        arrivals.append((size, time.monotonic() - sent))
    await response.aclose()
    return b"".join(parts), tuple(arrivals)


async def _close(lane: httpx2.AsyncHTTPTransport) -> None:
    with suppress(Exception):  # errors while closing a broken connection do not matter
        await lane.aclose()


def _headers(address: Address, key: Key | None, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    default = 443 if address.scheme == "https" else 80
    host = f"[{address.host}]" if ":" in address.host else address.host
    found = {
        "host": host if address.port == default else f"{host}:{address.port}",
        "content-type": "application/json",
        "accept": "application/json",
        "user-agent": "assay",
    }
    if key is not None:
        found["authorization"] = f"Bearer {key.reveal()}"
    found |= {name.lower(): value for name, value in more.items()}
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in found.items()]


def proxy_for(address: Address) -> str | None:
    """Find the proxy that the environment names for an address."""
    proxies = getproxies()
    return None if proxy_bypass(address.host) else proxies.get(address.scheme) or proxies.get("all")
