"""A user's function as an application: question in; a text, an object, or pieces of either out."""

from __future__ import annotations

import asyncio
import inspect
import json
import queue
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError, clean
from assay.formats.replies import read_reply
from assay.formats.reply_streams import ReplyStream, StreamedReply
from assay.messages import say
from assay.pipeline.asked import Asked
from assay.pipeline.sources import source_digest
from assay.pipeline.store import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.formats.app_settings import AppSettings
    from assay.formats.replies import Shape
    from assay.pipeline.records import Query

_FIELDS = (
    "answer", "response", "contexts", "documents", "source_documents", "source_nodes", "node", "metadata", "meta",
    "page_content", "content", "text", "id", "id_", "node_id", "doc_id",
)  # fmt: skip
_METHODS = ("invoke", "query", "ask", "run")  # LangChain, LlamaIndex, and what others call it


class OwnApplication:
    """A function, a coroutine function, one that yields, or an object with a method of a known name."""

    def __init__(self, thing: Any, place: str, shape: Shape, settings: AppSettings) -> None:
        call = thing if inspect.isroutine(thing) else None
        call = call or next((found for one in _METHODS if callable(found := getattr(thing, one, None))), thing)
        if not callable(call) or inspect.isclass(call):
            raise UsageError(say("{name} cannot be called with a question", name=place))
        self._call: Callable[[str], Any] = call
        self._shape, self._settings = shape, settings
        self.name, self.concurrency = place.rpartition(":")[2], settings.concurrency
        self.identity: dict[str, Any] = {
            "application": place, "source": source_digest(thing, place), "release": settings.release,
            "paths": [shape.answer, shape.contexts, shape.ids, shape.tokens, shape.money, shape.ms],
        }  # fmt: skip

    def key_of(self, query: Query) -> str:
        """What makes the answer to a question another one."""
        return key_of(self.identity, query.text)

    def ask(self, queries: Sequence[Query]) -> Iterator[tuple[int, Asked]]:
        """Ask questions, some at once; a call that takes too long is left alone, and its place taken by the next."""
        waiting = deque(enumerate(queries))
        done: queue.SimpleQueue[tuple[int, Asked]] = queue.SimpleQueue()
        out: dict[int, float] = {}
        limit = self._settings.timeout
        while waiting or out:
            while waiting and len(out) < self._settings.concurrency:
                number, query = waiting.popleft()
                out[number] = time.monotonic()
                threading.Thread(target=self._answer, args=(number, query.text, done), daemon=True).start()
            try:
                number, found = done.get(timeout=max(0.001, min(out.values()) + limit - time.monotonic()))
            except queue.Empty:
                for number in [one for one, begun in out.items() if time.monotonic() - begun >= limit]:
                    del out[number]
                    yield number, Asked(reason="timeout", message=say("load.no_answer", seconds=limit), ms=1000 * limit)
                continue
            if number in out:
                del out[number]
                yield number, found

    def _answer(self, number: int, question: str, done: queue.SimpleQueue[tuple[int, Asked]]) -> None:
        begun = time.perf_counter()
        try:
            found = self._read(self._call(question), begun)
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises is the outcome of its question
            text = clean(f"{type(error).__name__}: {error}"[:300])
            found = Asked(reason="error", message=text, ms=1000 * (time.perf_counter() - begun))
        done.put((number, found))

    def _read(self, given: Any, begun: float) -> Asked:
        """Wait for what a call gives: at once, later, or in pieces."""
        if inspect.isawaitable(given):
            given = asyncio.run(_await(given))
        if inspect.isasyncgen(given):
            found = asyncio.run(self._gather_async(given, begun))
        elif inspect.isgenerator(given):
            found = self._gather(given, begun)
        else:
            found = StreamedReply(read_reply(_plain(given), self._shape))
        return self._outcome(found, time.perf_counter() - begun)

    def _gather(self, pieces: Iterator[Any], begun: float) -> StreamedReply:
        stream = ReplyStream(self._shape)
        for piece in pieces:
            stream.feed(_line(piece), time.perf_counter() - begun)
        return stream.finish(time.perf_counter() - begun)

    async def _gather_async(self, pieces: Any, begun: float) -> StreamedReply:
        stream = ReplyStream(self._shape)
        async for piece in pieces:
            stream.feed(_line(piece), time.perf_counter() - begun)
        return stream.finish(time.perf_counter() - begun)

    def _outcome(self, found: StreamedReply, seconds: float) -> Asked:
        said = found.said
        empty = (said.answer is None and said.contexts is None) or (said.answer is not None and not said.answer.strip())
        return Asked(
            said.answer, said.contexts, "empty" if empty else said.ended, ms=1000 * seconds,
            message=say("reply.lacks_answer", names=list(said.keys[:8])) if empty else "",
            first_ms=None if found.first is None else 1000 * found.first, own_ms=said.ms,
            tokens=said.prompt_tokens + said.output_tokens, output_tokens=said.output_tokens or None,
            money=said.money, day=datetime.now(tz=UTC).date().isoformat(),
        ).settle()  # fmt: skip


async def _await(given: Any) -> Any:
    return await given


def _line(piece: Any) -> bytes:
    """A piece as a line of JSON."""
    return json.dumps(_plain(piece), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _plain(given: Any) -> Any:
    """A reply as JSON would have it: objects of frameworks by those of their fields that matter here."""
    if isinstance(given, (str, int, float)) or given is None:
        return given
    if isinstance(given, dict):
        return {str(name): _plain(value) for name, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [_plain(one) for one in given]
    dump = getattr(given, "model_dump", None)
    if callable(dump):
        return _plain(dump())
    return {name: _plain(getattr(given, name)) for name in _FIELDS if getattr(given, name, None) is not None}
