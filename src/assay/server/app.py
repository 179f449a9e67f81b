"""The application: routes of tenants behind one guard, which looks at every request before any of them does.

In this order: the Host, how often this client asks, how much it says it will send, whether a page of somebody else
sends it, and who it is. Every answer, refusals too, has the headers that keep a browser from running or leaking things.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from assay.errors import AssayError
from assay.messages import say, tell
from assay.server.bodies import CLOSE, Body, check_length
from assay.server.limits import Limits
from assay.server.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from assay.messages import Lang
    from assay.server.access import Access

SAFE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # "no-referrer" would turn the Origin of our own forms into "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_READING = {"GET", "HEAD"}
_SEE_OTHER, _BAD, _UNKNOWN, _FORBIDDEN, _ABSENT, _MISDIRECTED, _TOO_MANY = 303, 400, 401, 403, 404, 421, 429
_MOST_FIELDS = 4


@dataclass(frozen=True)
class StaticFile:
    """A file of a package that browsers may have, such as a style sheet, with its type."""

    package: str
    name: str
    kind: str


def make_app(
    access: Access,
    *,
    pages: Sequence[Route] = (),
    machines: Sequence[Route] = (),
    static: Mapping[str, StaticFile] | None = None,
    limits: Limits | None = None,
    lang: Lang = "en",
) -> ASGIApp:
    """Put pages for people, endpoints for machines and static files behind the guard.

    Pages ask for the cookie, and for their own Origin on every write; machines for a bearer token where a password is
    set. Static files are served under /static/ by their names in the table, and by no other.
    """
    limits = limits or Limits()
    table = {name: _load(one) for name, one in (static or {}).items()}

    def send_static(request: Request) -> Response:
        found = table.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        data, kind, tag = found
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    def refuse(_: Request, error: Exception) -> Response:
        assert isinstance(error, AssayError)
        return PlainTextResponse(tell(error.message, lang), _BAD)

    app = Starlette(
        routes=[*machines, Route("/static/{name}", send_static), *pages], exception_handlers={AssayError: refuse}
    )
    app.router.redirect_slashes = False  # who is sent elsewhere would learn what is there
    return Guard(app, access, limits, frozenset(one.path for one in machines), lang, has_pages=bool(pages or table))


def _load(one: StaticFile) -> tuple[bytes, str, str]:
    data = files(one.package).joinpath(one.name).read_bytes()
    return data, one.kind, f'"{sha256(data).hexdigest()[:32]}"'


@dataclass
class Guard:
    """Looks at every request; `machines` are the paths of endpoints for programs."""

    app: ASGIApp
    access: Access
    limits: Limits
    machines: frozenset[str]
    lang: Lang = "en"
    has_pages: bool = True
    pages_rate: Rate = field(init=False)
    machines_rate: Rate = field(init=False)
    guesses: Rate = field(init=False)

    def __post_init__(self) -> None:
        self.pages_rate = Rate(self.limits.page_rate, self.limits.page_burst)
        self.machines_rate = Rate(self.limits.machine_rate, self.limits.machine_burst)
        self.guesses = Rate(0.1, 10)  # of the password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        machine = scope["path"] in self.machines
        limit = self.limits.machine_body if machine else self.limits.page_body
        body = Body(receive, limit, self.limits.body_seconds, self.lang)
        request, send = Request(scope, body), _with_safe_headers(send, private=not machine)
        try:
            self._check(request, limit, machine=machine)
            answer = None if machine else await self._sign_in(request)
        except HTTPException as error:
            await body.skip()
            answer = PlainTextResponse(error.detail, error.status_code, {**CLOSE, **(error.headers or {})})
        await (answer or self.app)(scope, body, send)

    def _check(self, request: Request, limit: int, *, machine: bool) -> None:
        headers, access = request.headers, self.access
        if not access.answers_to(headers.get("host", "").lower()):
            raise self._refuse(_MISDIRECTED, say("this server is not known by that name"))
        client = request.client.host if request.client else ""
        if not (self.machines_rate if machine else self.pages_rate).allows(client):
            raise self._refuse(_TOO_MANY, say("too many requests: wait a second"), {"retry-after": "1"})
        check_length(headers.get("content-length"), limit, self.lang)
        if not (machine or self.has_pages):
            raise self._refuse(_ABSENT, say("nothing is here: this server answers at {paths:and}",
                                            paths=sorted(self.machines)))  # fmt: skip
        if access.is_foreign(headers) if machine else _is_forged(request, access):
            raise self._refuse(_FORBIDDEN, say("this request comes from a page of another server"))
        if machine:
            self._check_bearer(headers.get("authorization"), client)

    def _check_bearer(self, told: str | None, client: str) -> None:
        """Let programs in that send the password; a client that tried many others is not heard for a while."""
        if self.access.password is not None and self.guesses.is_spent(client):
            raise self._refuse(_TOO_MANY, say("too many wrong passwords: wait a minute"), {"retry-after": "60"})
        if not self.access.admits_machine(told):
            if told is not None:
                self.guesses.allows(client)
            raise self._refuse(_UNKNOWN, say("send the password as a bearer token"), {"www-authenticate": "Bearer"})

    async def _sign_in(self, request: Request) -> Response | None:
        """Let in who has the cookie; give it to who has the token or the password."""
        access, query = self.access, request.query_params
        if access.password is not None and request.url.path == "/login":
            return await self._ask_password(request)
        if request.method in _READING and access.opens(query.get("token")):
            rest = urlencode([(key, text) for key, text in parse_qsl(request.url.query) if key != "token"])
            return self._welcome(_safe_path(request.url.path) + ("?" + rest if rest else ""))
        if access.knows(request.cookies.get(access.cookie)):
            return None
        if access.password is not None and request.method in _READING:
            return RedirectResponse("/login", _SEE_OTHER)
        raise self._refuse(_UNKNOWN, say("open the address that the terminal shows: its token lets you in"))

    async def _ask_password(self, request: Request) -> Response:
        if request.method in _READING:
            return self._login_page()
        client = request.client.host if request.client else ""
        if not self.guesses.allows(client):
            raise self._refuse(_TOO_MANY, say("too many wrong passwords: wait a minute"), {"retry-after": "60"})
        form = (await request.body()).decode("utf-8", "replace")
        try:
            told = parse_qs(form, max_num_fields=_MOST_FIELDS).get("password", [""])[0]
        except ValueError:
            told = ""
        if self.access.admits(told):
            return self._welcome("/")
        return self._login_page(say("this is not the password"), _UNKNOWN)

    def _login_page(self, told: str = "", status: int = 200) -> Response:
        ask, go = (escape(tell(text, self.lang)) for text in (say("Password"), say("Sign in")))
        page = (
            f'<!DOCTYPE html><html lang="{self.lang}"><meta charset="utf-8"><title>Assay</title><h1>Assay</h1>'
            f"<p>{escape(tell(told, self.lang))}</p><form method=post action=/login><label>{ask} "
            f"<input type=password name=password autofocus autocomplete=current-password></label> "
            f"<button>{go}</button></form>"
        )
        return HTMLResponse(page, status)

    def _welcome(self, path: str) -> Response:
        found = RedirectResponse(path, _SEE_OTHER)
        found.set_cookie(self.access.cookie, self.access.session, path="/", httponly=True, samesite="strict")
        return found

    def _refuse(self, status: int, told: str, headers: Mapping[str, str] | None = None) -> HTTPException:
        return HTTPException(status, tell(told, self.lang), dict(headers or {}))


def _is_forged(request: Request, access: Access) -> bool:
    """Whether a write comes from anywhere but a page of this server."""
    return request.method not in _READING and not access.is_own_origin(request.headers)


def _safe_path(path: str) -> str:
    """A path of this server: two slashes in front would be another host."""
    return "/" + path.lstrip("/\\")


def _with_safe_headers(send: Send, *, private: bool) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            for name, text in SAFE_HEADERS.items():
                headers.setdefault(name, text)
            if private:
                headers.setdefault("cache-control", "no-store")
        await send(message)

    return add


__all__ = ["SAFE_HEADERS", "Guard", "StaticFile", "make_app"]
