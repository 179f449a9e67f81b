"""Who somebody is and which language they read: kept by their browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curation.labels import LONGEST_NAME
from assay.errors import UsageError
from assay.messages import say
from assay.server.workbench.rendering import go_to
from assay.server.workbench.routes import writing
from assay.server.workbench.visits import cookie_name, write_name

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.routing import Route

    from assay.server.workbench.desk import Desk
    from assay.server.workbench.visits import Visit

_YEAR = 365 * 24 * 3600


def routes(desk: Desk) -> list[Route]:
    """The addresses of these forms."""
    return [writing("/name", desk, keep_name), writing("/language", desk, keep_language)]


def keep_name(desk: Desk, visit: Visit) -> Response:
    """Remember the name under which labels are kept."""
    del desk
    name = " ".join(visit.form.get("name", "").split())
    if not name or len(name) > LONGEST_NAME:
        raise UsageError(say("a name has between 1 and {most} characters", most=LONGEST_NAME))
    return _with_cookie(visit, "name", write_name(name))


def keep_language(desk: Desk, visit: Visit) -> Response:
    """Remember the language."""
    del desk
    return _with_cookie(visit, "lang", "zh" if visit.form.get("lang") == "zh" else "en")


def _with_cookie(visit: Visit, what: str, value: str) -> Response:
    found = go_to(visit.next)
    found.set_cookie(
        cookie_name(what, visit.request), value, max_age=_YEAR, path="/", httponly=True, samesite="strict"
    )  # fmt: skip
    return found
