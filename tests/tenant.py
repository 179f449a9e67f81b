"""A small tenant of the web server: pages that read and write, an endpoint for machines, a static file."""

from __future__ import annotations

import asyncio
import socket

from starlette.responses import PlainTextResponse
from starlette.routing import Route

from assay.errors import InputError
from assay.server.app import StaticFile
from assay.server.limits import Limits
from assay.server.running import WebServer

SHORT = Limits(
    page_body=1000, machine_body=5000, head_seconds=1.0, body_seconds=1.0, send_seconds=1.0, connections=20, stop_seconds=2,
)  # fmt: skip


def page(request):
    return PlainTextResponse(f"page {request.query_params.get('q', '')}")


async def write(request):
    return PlainTextResponse(f"wrote {len(await request.body())}")


async def slow(request):
    await asyncio.sleep(0.3)
    return PlainTextResponse("done")


def fail(request):
    raise InputError("no such thing")


def huge(request):
    return PlainTextResponse("x" * 50_000_000)


PAGES = [Route("/", page), Route("/write", write, methods=["POST"]), Route("/slow", slow), Route("/fail", fail), Route("/huge", huge)]  # fmt: skip
MACHINES = [Route("/v1/take", write, methods=["POST"])]
STATIC = {"typed.txt": StaticFile("assay.wordings", "__init__.py", "text/plain")}


def tenant(**options):
    return WebServer(pages=PAGES, machines=MACHINES, static=STATIC, **{"limits": SHORT, **options})


def connect(server, data=b""):
    """A raw connection on which something was said."""
    line = socket.create_connection(("127.0.0.1", server.access.port), timeout=10)
    line.sendall(data)
    return line


def listen(line):
    """All that the server says until it closes the connection, which is closed then."""
    found = b""
    with line:
        try:
            while piece := line.recv(65536):
                found += piece
        except ConnectionResetError:
            pass
    return found
