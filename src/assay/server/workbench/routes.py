"""Addresses and what answers them: a handler is called with the desk and the visit, and errors become pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from assay.errors import AssayError
from assay.server.workbench.rendering import show_error
from assay.server.workbench.visits import Visit, language_of, read_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from assay.server.workbench.desk import Desk

    Handler = Callable[[Desk, Visit], Response]


def reading(path: str, desk: Desk, handler: Handler) -> Route:
    """A page that shows."""

    def answer(request: Request) -> Response:
        return _call(desk, handler, Visit(request, language_of(request, desk.lang)))

    return Route(path, answer, methods=["GET"])


def writing(path: str, desk: Desk, handler: Handler) -> Route:
    """A form that changes something."""

    async def answer(request: Request) -> Response:
        visit = Visit(request, language_of(request, desk.lang), await read_form(request))
        return await run_in_threadpool(_call, desk, handler, visit)

    return Route(path, answer, methods=["POST"])


def _call(desk: Desk, handler: Handler, visit: Visit) -> Response:
    try:
        return handler(desk, visit)
    except AssayError as error:
        return show_error(visit, error)
