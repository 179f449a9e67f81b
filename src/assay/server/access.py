"""Who may come in: names that the server answers to, the token in its address, cookies, passwords and origins.

A page on this machine can be reached by every other page that its user has open, so being on loopback protects from
little. A Host that is not ours is a name that an attacker's DNS made point here; an Origin that is not ours is another
page writing; without the cookie it is another user of this machine.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORTEST = 12  # characters of a password
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_OWN_SITES = {"same-origin", "none"}


def _make_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Access:
    """Who may come in at an address; `names` are further names of the server, such as that of a proxy before it.

    With a password there is no token in the address: people are asked for it, and machines send it as a bearer token.
    """

    host: str = "127.0.0.1"
    port: int = 0
    password: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()
    token: str = field(default_factory=_make_secret, repr=False)
    session: str = field(default_factory=_make_secret, repr=False)

    def __post_init__(self) -> None:
        """Refuse to listen beyond this machine without a password, and short passwords."""
        if self.password is not None and len(self.password) < _SHORTEST:
            raise UsageError(say("the password has fewer than {least} characters", least=_SHORTEST))
        if not self.is_local and self.password is None:
            raise UsageError(
                say(
                    "{host} can be reached from other machines: choose a password, or listen on 127.0.0.1",
                    host=self.host,
                )
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the address."""
        return self.host == "localhost" or (is_literal(self.host) and ip_address(self.host).is_loopback)

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"http://{_write_host(self.host)}:{self.port}"

    @property
    def address(self) -> str:
        """What to open in a browser: with the token, or with the page that asks for the password."""
        return f"{self.origin}/login" if self.password is not None else f"{self.origin}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies know hosts but no ports, and two servers may run."""
        return f"assay-{self.port}"

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this server; an address in digits is no name that was made to point here."""
        name, port = _split(host)
        if host in self.names or name in self.names:
            return True
        if port != self.port:
            return False
        if not self.is_local and self.host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
            return name in _LOCAL or is_literal(name.strip("[]")) or name == socket.gethostname().lower()
        return name in _LOCAL if self.is_local else name == _write_host(self.host)

    def is_own_origin(self, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from a page of this server: its Origin is the address that it is sent to."""
        return headers.get("origin") in {f"{scheme}://{headers.get('host', '')}" for scheme in ("http", "https")}

    def is_foreign(self, headers: Mapping[str, str]) -> bool:
        """Whether a browser says that a page of somebody else sends this; programs say nothing about it."""
        other = "origin" in headers and not self.is_own_origin(headers)
        return other or headers.get("sec-fetch-site", "none") not in _OWN_SITES

    def knows(self, cookie: str | None) -> bool:
        """Whether this is the cookie that was given for the token or the password."""
        return _same(cookie, self.session)

    def opens(self, token: str | None) -> bool:
        """Whether this is the token of the address; with a password there is none."""
        return self.password is None and _same(token, self.token)

    def admits(self, password: str | None) -> bool:
        """Whether this is the password."""
        return self.password is not None and _same(password, self.password)

    def admits_machine(self, authorization: str | None) -> bool:
        """Whether a program may come in: on loopback every one does, where no password is set."""
        if self.password is None:
            return True
        scheme, _, told = (authorization or "").partition(" ")
        return scheme.lower() == "bearer" and self.admits(told.strip())


def _same(told: str | None, secret: str) -> bool:
    """Compare in a time that does not depend on how much is right."""
    return hmac.compare_digest((told or "").encode("utf-8", "replace"), secret.encode("utf-8", "replace"))


def is_literal(host: str) -> bool:
    """Whether a host is an address in digits."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, int]:
    """The name and the port of a Host header; browsers leave 80 out."""
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        return host, 80
    return name, int(port) if port.isdecimal() and port.isascii() and len(port) < 6 else -1  # noqa: PLR2004


def _write_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()
