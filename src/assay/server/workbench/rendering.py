"""Pages from templates: every value is escaped, every word comes from the two languages, nothing is inline."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from assay.errors import AssayError, MissingPackage, UnknownName
from assay.messages import say, tell
from assay.server.app import StaticFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from assay.messages import Lang
    from assay.server.workbench.visits import Visit

STATIC = {
    "style.css": StaticFile("assay.report.design", "style.css", "text/css"),
    "workbench.css": StaticFile("assay.server.workbench", "static/workbench.css", "text/css"),
    "workbench.js": StaticFile("assay.server.workbench", "static/workbench.js", "text/javascript"),
}
ROOMS = (
    ("/", "history"), ("/experiments", "experiments"), ("/label", "label"), ("/rate", "rate"), ("/pairs", "pairs"),
    ("/nuggets", "nuggets"), ("/judges", "judges"), ("/production", "production"),
)  # fmt: skip
_SEE_OTHER, _BAD, _UNKNOWN = 303, 400, 404
_UNSENT = re.compile("[\ud800-\udfff\0]")  # what no page can hold
_PLAIN = {int, str}  # what is equal is written alike
_KEPT = 4096  # words with their values that are put together once


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingPackage(say("the workbench"), "jinja2", "serve") from None
    loader = jinja2.PackageLoader("assay.server.workbench", "templates")
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


@cache
def _version() -> str:
    return version("assay-eval")


@lru_cache(maxsize=_KEPT)
def _word(key: str, lang: Lang, values: tuple[tuple[str, Any], ...]) -> str:
    return tell(say(f"workbench.{key}", **dict(values)), lang)


@cache
def _words(lang: Lang) -> Callable[..., str]:
    """What templates ask for words, by their keys."""

    def word(key: str, **inner: Any) -> str:
        if all(type(value) in _PLAIN for value in inner.values()):
            return _word(key, lang, tuple(inner.items()))
        return tell(say(f"workbench.{key}", **inner), lang)

    return word


@cache
def _piece(name: str) -> Any:
    return _environment().get_template(f"{name}.html").module.write


def fill(name: str, lang: Lang, **values: Any) -> Markup:
    """Fill in the piece of a page that a template defines: text to put into pages as it is."""
    found: Markup = _piece(name)(t=_words(lang), **values)
    return found


def show(visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
    """Render a page in the language of a visit."""
    text = _environment().get_template(f"{template}.html").render(
        t=_words(visit.lang), tell=lambda text: tell(text, visit.lang), lang=visit.lang, by=visit.by, path=visit.path,
        badge=visit.badge, here=visit.here, now=f"{datetime.now(UTC):%Y-%m-%d %H:%M}", rooms=ROOMS,
        html_lang="zh-CN" if visit.lang == "zh" else "en", version=_version(), **values,
    )  # fmt: skip
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b"\0"
    return HTMLResponse(data if b"\0" not in data else _UNSENT.sub("\N{REPLACEMENT CHARACTER}", text), status)


def show_error(visit: Visit, error: AssayError) -> Response:
    """A page that says what is wrong, with the cure."""
    status = _UNKNOWN if isinstance(error, UnknownName) else _BAD
    return show(visit, "error", status, message=error.message)


def go_to(path: str) -> Response:
    """Send the visitor to another page of ours, after a form."""
    return RedirectResponse(path, _SEE_OTHER)


def send_file(name: str, data: bytes, kind: str) -> Response:
    """A file to keep; its name is made of letters, digits and dots."""
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "-" for sign in name)
    return Response(data, media_type=kind, headers={"content-disposition": f'attachment; filename="{plain}"'})


def number(value: float | None, lang: Lang = "en", form: str = ".3f") -> str:
    """A number as pages show it; a dash where there is none."""
    del lang
    return "\N{EN DASH}" if value is None else format(value, form)
