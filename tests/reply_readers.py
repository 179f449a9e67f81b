"""Readers of what servers and models reply, made into readers of files: each takes the place of a reply."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from assay.cli.applications import read_settings
from assay.curation.passages import Passage
from assay.curation.question_calls import Asker, Brief, read_passages, read_written
from assay.formats.app_settings import AppSettings, find_application
from assay.llm.records import Reply
from assay.llm.structured import single_object
from assay.llm.transport import Exchange
from assay.pipeline.applications import WebApplication
from assay.pipeline.elastic import read_hits
from assay.pipeline.templates import QUERY, fill, read_template
from assay.pipeline.web import WebAddress
from assay.pipeline.web_search import WebSearch, read_results
from assay.serving.applications import app_target
from assay.serving.records import CallFailed
from assay.serving.streams import EventStream

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://127.0.0.1:9/ask"
REPLY = {
    "answer": "Sencha wants 70 degrees.", "contexts": [{"id": "a", "text": "Sencha wants water of 70 degrees."}, "Tea."], "ids": ["a", "b"],
    "usage": {"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48}, "cost": 0.002, "latency_ms": 12.5, "error": None,
}  # fmt: skip
WRAPPED = {
    "data": {"result": {"text": "Tea."}, "sources": [{"metadata": {"source": "a.txt"}, "text": "x"}, "b"]},
    "total_cost": 1,
}
CHAT = {
    "id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Tea.", "refusal": None}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
}  # fmt: skip
EVENTS = b"".join(
    b"data: " + json.dumps(one).encode() + b"\n\n"
    for one in (
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Tea "}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"content": "is hot."}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}},
    )
) + b"data: [DONE]\n\n"  # fmt: skip
PIECES = [
    {"answer": "Tea "},
    {"token": "is hot."},
    {"contexts": ["Tea is hot."], "usage": {"input_tokens": 3}, "error": ""},
]
HITS = {
    "took": 2, "timed_out": False, "_shards": {"total": 2, "successful": 2, "failed": 0},
    "hits": {"total": {"value": 2}, "hits": [
        {"_index": "tea", "_id": "1", "_score": 2.5, "_source": {"content": "Tea.", "meta": {"doc": "a"}}},
        {"_index": "tea", "_id": "2", "_score": 1, "_source": {"content": "Rain.", "meta": {"doc": "b"}}},
    ]},
}  # fmt: skip
RESULTS = {"results": [{"id": "a", "text": "Tea.", "score": 2.5}, {"_id": 7, "title": "Rain"}, "c"]}
APP = """app = "http://127.0.0.1:9/ask"
asks = "query"
answer = "data.answer"
concurrency = 2
timeout = 1.5
headers = { x = "y" }
body = { query = "{question}", id = "{query_id}", k = 3 }
"""
PASSAGES = [Passage("a", 0, 4, "Tea is steamed right after picking."), Passage("b", 0, 5, "Rain feeds the terraces.")]
WRITTEN = {
    "question": "When is tea steamed?",
    "reference": "after picking",
    "evidence": ["Tea is steamed right after picking."],
}
VERDICTS = {"1": {"verdict": "yes", "quote": "Tea is steamed"}, "2": {"verdict": "no", "quote": ""}}
_PATHS = {
    "answer": "data.answer",
    "contexts": "data.sources",
    "ids": "ids",
    "tokens": "usage",
    "money": "cost",
    "ms": "latency_ms",
}


def _understand(app: WebApplication, body: bytes, content_type: str) -> object:
    middle = len(body) // 2
    arrivals = ((middle, 0.1), (len(body), 0.2))
    return app.understand(Exchange(0.0, 0.2, 200, {"content-type": content_type}, body, arrivals=arrivals))


def ask(place: Path) -> list[object]:
    """Read a reply of an application, by names and by paths."""
    apps = [WebApplication(URL, AppSettings.of(told)) for told in ({}, _PATHS, {"answer": "choices.0.message.content"})]
    return [_understand(app, place.read_bytes(), "application/json") for app in apps]


def ask_streaming(place: Path) -> list[object]:
    """Read a stream of an application, as every kind of stream."""
    apps = [WebApplication(URL, AppSettings.of({**told, "stream": True})) for told in ({}, {"answer": "answer"})]
    kinds = ("text/event-stream", "application/x-ndjson", "text/plain; charset=utf-8")
    return [_understand(app, place.read_bytes(), kind) for app in apps for kind in kinds]


def measure(place: Path) -> bool:
    """Read a reply and a stream as a measurement of speed does."""
    body, app = place.read_bytes(), app_target(URL, AppSettings.of({}), timeout=1.0, headers={})
    with suppress(CallFailed):
        app._check(body)
    for kind in ("text/event-stream", "text/plain"):
        with suppress(CallFailed):
            app._read_stream(iter([body[:9], body[9:]]), kind, _Still())
    stream = EventStream()
    with suppress(CallFailed):
        stream.feed(body, 0.1)
        stream.finish()
    return True


class _Still:
    def now(self) -> float:
        return 0.2


def search(place: Path) -> list[object]:
    """Read an answer of a search engine and of any search over HTTP."""
    address = WebAddress.of(URL, {}, {})
    paths = [{"results": one, "id": name, "text": "", "score": ""} for one, name in (("", ""), ("results", "id"))]
    readers = [partial(read_hits, "_id", "content"), partial(read_hits, "meta.doc", "content")]
    readers += [partial(lambda told, answer: read_results(answer, told), one) for one in paths]
    exchange = Exchange(0.0, 0.1, 200, {}, place.read_bytes())
    found = []
    for read in readers:
        one = WebSearch(address, None, None, read, 1.0)
        found.append(one._understand(exchange))
        one.close()
    return found


def app_file(place: Path) -> object:
    """Read the settings of an application, and write a request with them."""
    app, told, _ = find_application(str(place))
    return app, AppSettings.of(told).shape(app).request("tea", "q1")


def body_text(place: Path) -> object:
    """Read a body that was given as a text, on the command line and in a table."""
    text = place.read_bytes().decode("utf-8", "replace")
    told = read_settings([f"body={text}", f"timeout={text}"])
    return told, fill(read_template(text, "body"), {QUERY: "tea"})


def written_question(place: Path) -> object:
    """Read a question that a model wrote, as far as it fits what was asked for."""
    brief = Brief(tuple(PASSAGES[:1]), "fact", "short", "", (), "en", "en")
    request = Asker("en").write(brief)
    found = single_object(place.read_bytes().decode("utf-8", "replace"), request.schema, spellings=request.spellings)
    return True if found.data is None or found.why else read_written(Reply("ok", data=found.data))


def passage_verdicts(place: Path) -> object:
    """Read what a model says about passages, as far as it fits what was asked for."""
    (request,) = Asker("en").ask_passages("When is tea steamed?", PASSAGES)
    found = single_object(place.read_bytes().decode("utf-8", "replace"), request.schema, spellings=request.spellings)
    return True if found.data is None or found.why else read_passages([Reply("ok", data=found.data)], PASSAGES)
