"""Answers that come token by token: what is counted, when it came, and what is no stream."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from assay.analysis.bench import bench
from assay.errors import UsageError
from assay.formats.app_settings import AppSettings
from assay.llm.transport import LARGEST
from assay.serving.applications import app_target
from assay.serving.endpoints import read_parts
from assay.serving.records import CLOCK, CallFailed, Clock, Streamed
from assay.serving.streams import EventStream
from assay.testing import Answer, FakeLLM

BODY = {"model": "m", "messages": [{"role": "user", "content": "{query}"}]}
EVENTS = (
    b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    b': a comment\n\ndata: {"choices": [{"delta": {"content": "T"}}]}\r\n\r\n'
    b'data: {"choices": [{"delta": {"reasoning_content": "e"}}]}\n\n'
    b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": null}]}\n\n'
    b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
)
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 7}}\n\ndata: [DONE]\n\n'


def read(data: bytes, size: int) -> Streamed:
    """Feed a stream in pieces of so many bytes, one a second."""
    stream = EventStream()
    for at in range(0, len(data), size):
        stream.feed(data[at : at + size], at // size)
    return stream.finish()


@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
def test_tokens_are_found_wherever_a_piece_ends(size):
    ends = [EVENTS.index(part) + len(part) for part in (b'"T"}}]}\r\n', b'"a"}, "finish_reason": null}]}\n')]
    first, last = ((end - 1) // size for end in ends)
    assert read(EVENTS, size) == Streamed(first, last, 3, counted=False)
    assert read(EVENTS + USAGE, size) == Streamed(first, last, 7, counted=True)


def test_plain_completions_have_text():
    events = b'data: {"choices": [{"text": "a"}]}\ndata: {"choices": [{"text": "b", "finish_reason": "stop"}]}'
    assert read(events, 1000).tokens == 2


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b'{"choices": []}', "no stream"),
        (EVENTS[: EVENTS.index(b'data: {"choices": [{"delta": {}')], "cut off"),
        (b"data: [DONE]\n\n", "no tokens"),
        (b'data: {"error": {"message": "no memory"}}\n\n', "error event"),
        (b"data: {oops\n\n", "broken"),
    ],
)
def test_what_is_no_whole_stream_is_a_failed_call(data, kind):
    with pytest.raises(CallFailed) as caught:
        read(data, 1000)
    assert caught.value.kind == kind


def test_times_of_tokens_are_those_of_the_schedule():
    """First tokens after 0.2, 0.4 ... s and then one every 10, 20, 30 ms: known percentiles, by an injected clock."""
    moment, number = 100.0, -1
    waits = np.random.default_rng(0).uniform(0.1, 0.5, 400)
    gaps = np.random.default_rng(1).uniform(0.01, 0.05, 400)

    def sleep(seconds: float) -> None:
        nonlocal moment
        moment += seconds

    def target():
        nonlocal number
        number += 1
        sleep(waits[number])
        yield "a"
        for _ in range(9):
            sleep(gaps[number])
            yield "b"

    found = bench(target, runs=400, warmup=0, stream=True, clock=Clock(lambda: moment, sleep)).loads[0]
    stream = found.streaming
    for name, share in (("p50", 50), ("p95", 95), ("p99", 99)):
        assert getattr(stream.first_token_ms, name).estimate == pytest.approx(1000 * np.percentile(waits, share))
        assert getattr(stream.per_token_ms, name).estimate == pytest.approx(1000 * np.percentile(gaps, share))
        whole = 1000 * np.percentile(waits + 9 * gaps, share)
        assert getattr(found.latency_ms, name).estimate == pytest.approx(whole)
    assert stream.tokens == 4000
    assert stream.tokens_per_second == pytest.approx(4000 / (waits + 9 * gaps).sum())


def test_an_open_loop_counts_the_first_token_from_the_moment_a_call_was_due():
    moment = 0.0

    def sleep(seconds: float) -> None:
        nonlocal moment
        moment += seconds

    def target():
        sleep(1.0)
        yield "a"
        sleep(1.0)
        yield "b"

    found = bench(target, runs=3, rate=1.0, warmup=0, stream=True, clock=Clock(lambda: moment, sleep)).loads[0]
    assert found.streaming.first_token_ms.mean == pytest.approx(2000)  # 1, 2 and 3 seconds: two calls wait their turn
    assert found.streaming.per_token_ms.mean == pytest.approx(1000)


def test_a_coroutine_that_yields_is_a_stream_too():
    async def target():
        for item in "abc":
            yield item

    assert bench(target, runs=4, warmup=0, stream=True).loads[0].streaming.tokens == 12


def test_an_endpoint_is_asked_for_a_stream_and_its_tokens_are_counted():
    with FakeLLM(Answer(stream=[(0.0, "one"), (0.0, " two")])) as server:
        found = bench(f"{server.url}/chat/completions", bodies=[BODY], runs=3, warmup=0, stream=True, queries=["Why?"])
        load = found.loads[0]
        assert (load.count, load.streaming.tokens, load.streaming.counted) == (3, 6, True)
        sent = server.requests[0].body
        assert sent["stream"] is True and sent["messages"][0]["content"] == "Why?"
        server.answer = Answer(stream=[(0.0, "one"), (0.0, " two")], usage=None)
        plain = bench(f"{server.url}/chat/completions", runs=3, warmup=0, stream=True, queries=["Why?"])
        assert (plain.loads[0].streaming.tokens, plain.loads[0].streaming.counted) == (6, False)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(stream=[(0.0, "one"), (0.0, " two")], cut=1), "broken"),
        (Answer(body={"choices": []}), "no stream"),
        (Answer.error(503, "busy"), "status 503"),
        (Answer(stream=[]), "no tokens"),
    ],
)
def test_an_endpoint_whose_stream_fails_says_how(answer, kind):
    with FakeLLM(answer) as server:
        found = bench(f"{server.url}/chat/completions", runs=2, warmup=0, stream=True, queries=["Why?"])
    assert found.loads[0].errors == {kind: 2}


@pytest.mark.parametrize("target", [lambda: None, ["true"], "cmd:true"])
def test_what_answers_at_once_is_no_stream(target):
    with pytest.raises(UsageError, match="stream"):
        bench(target, runs=2, stream=True)


class Response:
    """An answer of a server that comes in parts of a kilobyte."""

    status_code, headers = 200, {"content-type": "text/event-stream"}

    def __init__(self, parts):
        self.parts, self.closed = parts, False

    def iter_raw(self):
        for number in range(self.parts):
            yield b'data: {"n": 1%06d, "thoughts": ["' % number + b"x" * 990 + b'"]}\n\n'
        yield b'data: {"answer": "Hot."}\n\n'

    def close(self):
        self.closed = True


def test_of_a_long_stream_no_more_is_kept_than_the_answer():
    app = app_target("http://127.0.0.1:1/ask", AppSettings.of({"stream": True}), timeout=60, headers={})
    response = Response(2000)
    app._read(Response(1), read_parts(Response(1), time.monotonic() + 60), CLOCK)  # what is loaded once
    tracemalloc.start()
    found = app._read(response, read_parts(response, time.monotonic() + 60), CLOCK)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tokens == 1
    assert response.closed
    assert peak < 1 << 20


def test_a_stream_without_end_is_a_failed_call():
    response = Response(2 * LARGEST // 1024)
    with pytest.raises(CallFailed) as caught:
        for _ in read_parts(response, time.monotonic() + 60):
            pass
    assert (caught.value.kind, response.closed) == ("too large", True)
