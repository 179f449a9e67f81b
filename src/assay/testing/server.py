"""A local server that speaks OpenAI's protocol and answers as a test instructs, faults included."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Self

from assay.testing.answers import Answer, Received

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Script = Callable[[Received], Answer | str]

_PHRASES = {200: "OK", 301: "Moved Permanently", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required",
            403: "Forbidden", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error",
            503: "Service Unavailable"}  # fmt: skip


class FakeLLM:
    """A fake language model server on a free port of 127.0.0.1, for tests of its clients.

    Give it a text, an `Answer`, a list of them for the first requests, or a function of the request:

    >>> from assay.testing import Answer, FakeLLM
    >>> from assay.llm import Client, Patience, Request
    >>> script = [Answer.error(503), Answer("It is 4.", usage={"prompt_tokens": 9, "completion_tokens": 4})]
    >>> with FakeLLM(script) as server, Client(server.url, "m", patience=Patience(backoff=0.01)) as client:
    ...     reply = client.complete(Request.asking("What is 2 + 2?"))
    ...     reply.text, reply.calls, reply.usage.completion_tokens, server.requests[0].text
    ('It is 4.', 2, 4, 'What is 2 + 2?')

    `requests` holds what arrived, with times, `most_in_flight` how many waited for their answers at once. After the
    list comes `answer`, which is "OK" by default. Embeddings are unit vectors made from the texts. It runs
    on a thread; `python -m assay.testing` runs one by itself.
    """

    def __init__(self, answer: str | Answer | Iterable[Answer | str] | Script = "OK", *, port: int = 0) -> None:
        self.answer: str | Answer | Script = "OK"
        self._script: deque[Answer | str] = deque()
        if isinstance(answer, (str, Answer)) or callable(answer):
            self.answer = answer
        else:
            self._script.extend(answer)
        self.most_in_flight = 0
        self._flying = 0
        self._port = port
        self._received: list[Received] = []
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """The base URL that a client needs."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> tuple[Received, ...]:
        """What arrived so far."""
        return tuple(self._received)

    def queue(self, *answers: Answer | str) -> None:
        """Add to the list of what is said next."""
        self._script.extend(answers)

    def start(self) -> Self:
        """Start serving."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="fake-llm", daemon=True)
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        """Stop serving and close all open connections."""
        if self._loop is not None and self._stopped is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
            self._thread = None
            self._ready.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # On the thread ----------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        talks: set[asyncio.Task[None]] = set()
        transports: list[asyncio.WriteTransport] = []

        def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            transports.append(writer.transport)
            task = asyncio.ensure_future(self._talk(reader, writer))
            talks.add(task)
            task.add_done_callback(talks.discard)

        server = await asyncio.start_server(met, "127.0.0.1", self._port, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        await _stop_accepting(server, self._loop)
        server.close()
        for task in list(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        for transport in transports:
            transport.abort()  # one that still has something to send would stay open
        await asyncio.sleep(0)  # the loop closes them in its next turn

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                received = await self._next(reader)
                answer = self._choose(received)
                self._flying += 1
                self.most_in_flight = max(self.most_in_flight, self._flying)
                try:
                    await asyncio.sleep(answer.delay)
                finally:
                    self._flying -= 1
                if not await _say(writer, answer, received):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
            return
        finally:
            writer.close()

    async def _next(self, reader: asyncio.StreamReader) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        received = Received(len(self._received), time.monotonic(), head[0].split(" ")[1], headers, raw)
        self._received.append(received)
        return received

    def _choose(self, received: Received) -> Answer:
        said: Answer | str | Script = self._script.popleft() if self._script else self.answer
        if not isinstance(said, (str, Answer)):
            said = said(received)
        return Answer(said) if isinstance(said, str) else said


async def _stop_accepting(server: asyncio.Server, loop: asyncio.AbstractEventLoop) -> None:
    """Accept no more, and wait until what was accepted has its transport: a closed server leaves it open for good."""
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    for _ in range(3):  # the task of a connection, its transport, its first call
        await asyncio.sleep(0)


async def _say(writer: asyncio.StreamWriter, answer: Answer, received: Received) -> bool:
    """Do what the answer says; returns whether the connection is still good."""
    if answer.broken:
        return await _break(writer, answer.broken)
    if received.body.get("stream") and answer.status == 200 and answer.body is None:  # noqa: PLR2004
        return await _stream(writer, answer, received)
    content = answer.content(received)
    headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **answer.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Status')}\r\n{lines}\r\n".encode("latin-1"))
    sent = content if answer.cut is None else content[: answer.cut]
    if answer.drip:
        for byte in sent:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(answer.drip)
    else:
        writer.write(sent)
    await writer.drain()
    return answer.cut is None


async def _stream(writer: asyncio.StreamWriter, answer: Answer, received: Received) -> bool:
    """Send events one by one; `cut` is after how many of them the connection closes."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for wait, event in answer.events(received)[: answer.cut]:
        await asyncio.sleep(wait)
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        await writer.drain()
    if answer.cut is None:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return answer.cut is None


async def _break(writer: asyncio.StreamWriter, how: str) -> bool:
    if how == "stall":
        await asyncio.Event().wait()
    if how == "reset":
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort() if how == "reset" else writer.close()
    return False
