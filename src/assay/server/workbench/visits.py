"""One request: who asks, in which language, and what a form says. Texts of people travel as bytes in base64."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from assay.errors import UsageError
from assay.messages import say
from assay.wordings import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from assay.messages import Lang

_MOST_FIELDS = 20
_DIGITS = 6  # of a number in an address
# A page of ours with its state; two slashes in front would be another host.
_NEXT = re.compile(r"(/|/[a-z]+(/[0-9a-f]{16}){0,2}(/[a-z]+)?)(\?[\x21-\x7e]*)?")
_SAVE = re.compile(r"/(save|undo)$")  # what only a form asks for
_KEY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Visit:
    """A request of somebody: `by` is empty as long as there is no name; `form` is what was sent."""

    request: Request
    lang: Lang
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def by(self) -> str:
        """The name that this browser gave."""
        raw = self.request.cookies.get(cookie_name("name", self.request), "")
        try:
            return base64.urlsafe_b64decode(raw.encode()).decode("utf-8")
        except (ValueError, binascii.Error):
            return ""

    @property
    def badge(self) -> str:
        """The name as forms carry it, which were made for the person who has it."""
        return write_name(self.by)

    @property
    def author(self) -> str:
        """Who filled in a form; another page of this browser may have changed the name since the form was shown."""
        if not self.by or self.form.get("by") != self.badge:
            raise UsageError(say("this page was shown to somebody else: open it again"))
        return self.by

    @property
    def path(self) -> str:
        """Where the visitor is."""
        return self.request.url.path

    @property
    def here(self) -> str:
        """The address of this page with its state, to come back to; of what a form was sent to, the page with it."""
        if self.request.method != "GET":
            return _SAVE.sub("/results", self.path)
        asked = self.request.url.query
        return f"{self.path}?{asked}" if asked else self.path

    def key(self, name: str = "key") -> str:
        """A key in the address."""
        return str(self.request.path_params[name])

    def asked(self, name: str) -> str:
        """A parameter of the address, or nothing."""
        return self.request.query_params.get(name, "")

    def number(self, name: str, most: int) -> int:
        """A number of the address between 1 and `most`; 1 for anything else that is too small or no number."""
        told = self.asked(name)
        return min(max(int(told), 1), most) if told.isdecimal() and len(told) <= _DIGITS else 1

    @property
    def once(self) -> str:
        """The key under which this form is kept once, however often it is sent."""
        told = self.form.get("once", "")
        if not _KEY.fullmatch(told):
            raise UsageError(say("the form is not complete: open the page again"))
        return told

    @property
    def next(self) -> str:
        """A page of ours that the form names; the first one for anything else."""
        told = self.form.get("next", "")
        return told if _NEXT.fullmatch(told) else "/"


def make_once() -> str:
    """A key for a form."""
    return secrets.token_hex(16)


def cookie_name(what: str, request: Request) -> str:
    """The name of a cookie of ours: cookies know hosts but no ports, and two servers may run."""
    return f"assay-{what}-{request.url.port}"


def write_name(name: str) -> str:
    """A name as a cookie holds it."""
    return base64.urlsafe_b64encode(name.encode("utf-8", "replace")).decode()


def language_of(request: Request, default: Lang) -> Lang:
    """The language that this browser chose."""
    told = request.cookies.get(cookie_name("lang", request), "")
    return next((one for one in ("en", "zh") if one == told and one in LANGUAGES), default)


async def read_form(request: Request) -> dict[str, str]:
    """What a form sent, each field once."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        found = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in found.items()}
