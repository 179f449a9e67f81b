"""The client: many at once, one call for the same question, deadlines, callers that go away, threads, loops and forks."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time

import pytest

from assay.errors import UsageError
from assay.llm import Client, Limits, Patience, Reply, Request
from assay.llm.calls import rerank_call
from assay.testing import Answer, FakeLLM

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


def asked(count: int) -> list[Request]:
    return [Request.asking(f"question {i}") for i in range(count)]


def until(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def test_many_requests_give_one_reply_each_that_belongs_to_it():
    with FakeLLM(lambda received: received.text.upper()) as server, Client(server.url, "m") as client:
        replies = list(client.complete_many(asked(300)))
    assert sorted(number for number, _ in replies) == list(range(300))
    assert all(reply.text == f"QUESTION {number}" for number, reply in replies)


def test_requests_are_taken_as_they_are_needed():
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield Request.asking(f"question {taken}")

    with FakeLLM() as server, Client(server.url, "m") as client:
        replies = client.complete_many(endless())
        for _ in range(10):
            next(replies)
        replies.close()
    assert taken <= 2000


def test_the_same_question_at_the_same_time_is_one_call():
    with FakeLLM(Answer("yes", delay=0.2)) as server, Client(server.url, "m") as client:
        replies = [reply for _, reply in client.complete_many([Request.asking("same")] * 20)]
    assert len(server.requests) == 1
    assert {reply.text for reply in replies} == {"yes"}
    assert sorted(reply.shared for reply in replies) == [False] + [True] * 19
    assert sum(reply.calls for reply in replies) == 1


def test_repeats_and_prompt_versions_are_questions_of_their_own():
    same = [Request.asking("x"), Request.asking("x", repeat=1), Request.asking("x", prompt_version="2")]
    with FakeLLM() as server, Client(server.url, "m") as client:
        assert len(list(client.complete_many([*same, *same]))) == 6
    assert len(server.requests) == 3


def test_a_leader_without_time_does_not_fail_its_followers():
    with FakeLLM(Answer("late", delay=0.6)) as server, Client(server.url, "m") as client:
        client.complete(Request.asking("warm up"), deadline=0.001)
        found: dict[str, Reply] = {}

        def ask(name: str, deadline: float | None) -> None:
            found[name] = client.complete(Request.asking("same"), deadline=deadline)

        leader = threading.Thread(target=ask, args=("leader", 0.2))
        leader.start()
        until(lambda: any(received.text == "same" for received in server.requests))
        ask("follower", None)
        leader.join()
    assert (found["leader"].reason, found["leader"].calls) == ("deadline", 0)
    assert (found["follower"].text, found["follower"].shared) == ("late", True)
    assert sum(received.text == "same" for received in server.requests) == 1


def test_a_failed_leader_tells_its_followers_why():
    with FakeLLM(Answer.error(400, "no", delay=0)) as server, Client(server.url, "m") as client:
        server.answer = Answer(status=400, body={"error": {"message": "no"}}, delay=0.2)
        replies = [reply for _, reply in client.complete_many([Request.asking("same")] * 3)]
    assert [reply.reason for reply in replies] == ["request"] * 3
    assert all("no" in reply.message for reply in replies)
    assert len(server.requests) == 1


def test_the_deadline_of_a_run_ends_it_for_everybody():
    with FakeLLM(Answer(delay=5)) as server, Client(server.url, "m", patience=Patience(timeout=1)) as client:
        replies = dict(client.complete_many(asked(40), deadline=0.3))
    assert sorted(replies) == list(range(40))
    assert {reply.reason for reply in replies.values()} == {"deadline"}
    assert len(server.requests) <= Limits().start


def test_the_deadline_of_an_item_ends_its_attempts():
    patience = Patience(timeout=0.3, deadline=0.5, backoff=0.01)
    with FakeLLM(Answer(broken="stall")) as server, Client(server.url, "m", patience=patience) as client:
        reply = client.complete(Request.asking("x"))
    assert reply.reason in {"timeout", "deadline"}
    assert reply.calls <= 2


def test_an_answer_whose_caller_went_away_is_in_the_cache(tmp_path):
    with FakeLLM(Answer("paid", delay=0.3)) as server:
        with Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
            replies = client.complete_many(asked(8))
            threading.Thread(target=lambda: next(replies, None), daemon=True).start()
            until(lambda: len(server.requests) == 8)
        with Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
            again = [reply for _, reply in client.complete_many(asked(8))]
        assert [(reply.text, reply.cached, reply.calls) for reply in again] == [("paid", True, 0)] * 8
        assert len(server.requests) == 8


def test_a_caller_that_leaves_stops_what_is_not_sent():
    with (
        FakeLLM(Answer(delay=0.05)) as server,
        Client(server.url, "m", limits=Limits(concurrency=4, start=4)) as client,
    ):
        for number, _ in enumerate(client.complete_many(asked(400))):
            if number == 3:
                break
    assert len(server.requests) <= 40


def test_it_works_inside_a_running_event_loop():
    async def notebook(url: str) -> str:
        with Client(url, "m") as client:
            return client.complete(Request.asking("x")).text

    with FakeLLM("from a notebook") as server:
        assert asyncio.run(notebook(server.url)) == "from a notebook"


def test_many_threads_may_share_a_client():
    with FakeLLM(lambda received: received.text) as server, Client(server.url, "m") as client:
        found: list[bool] = []

        def ask(name: int) -> None:
            requests = [Request.asking(f"{name} {i}") for i in range(20)]
            found.extend(reply.text == f"{name} {i}" for i, reply in client.complete_many(requests))

        threads = [threading.Thread(target=ask, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [True] * 160


def test_a_closed_client_can_be_used_again_and_keeps_its_counts():
    with FakeLLM() as server:
        client = Client(server.url, "m")
        client.complete(Request.asking("a"))
        client.close()
        client.close()
        assert client.complete(Request.asking("b")).ok
        assert client.calls == 2
        client.close()


def test_closing_tells_those_who_still_wait():
    with FakeLLM(Answer(delay=0.3)) as server:
        client = Client(server.url, "m", limits=Limits(concurrency=1, start=1))
        replies = client.complete_many(asked(3))
        found: list[Reply] = []
        reader = threading.Thread(target=lambda: found.extend(reply for _, reply in replies))
        reader.start()
        until(lambda: len(server.requests) == 1)
        client.close()
        reader.join()
    assert sorted(reply.reason for reply in found) == ["", "cancelled", "cancelled"]


SCRIPT = """
import os, sys
from assay.llm import Client, Request
client = Client(sys.argv[1], "m", cache=sys.argv[2])
"""


def run_script(tmp_path, url: str, code: str) -> str:
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT + code, url, str(tmp_path / "cache.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_forked_child_can_go_on_with_the_client(tmp_path):
    code = """
print(client.complete(Request.asking("parent")).text, flush=True)
child = os.fork()
if child == 0:
    print(client.complete(Request.asking("child")).text, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(client.complete(Request.asking("parent again")).text, flush=True)
"""
    with FakeLLM(lambda received: received.text) as server:
        assert run_script(tmp_path, server.url, code) == "parent\nchild\nparent again\n"


def test_a_program_that_just_ends_loses_no_answer_that_is_under_way(tmp_path):
    code = """
import threading, time
replies = client.complete_many([Request.asking("slow")])
threading.Thread(target=next, args=(replies,), daemon=True).start()
while not client.calls:
    time.sleep(0.01)
"""
    with FakeLLM(Answer("kept", delay=0.5)) as server:
        run_script(tmp_path, server.url, code)
        with Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
            assert client.complete(Request.asking("slow")).cached
    assert len(server.requests) == 1


def test_progress_counts_everything_that_happens(tmp_path):
    def answer(received):
        return Answer(None, refusal="no") if received.text == "question 3" else "yes"

    seen = []
    with FakeLLM(answer) as server, Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
        client.complete(Request.asking("question 0"))
        list(client.complete_many(asked(10), progress=seen.append))
    last = seen[-1]
    assert [moment.done for moment in seen] == list(range(1, 11))
    assert (last.total, last.ok, last.failed, last.cached, last.calls) == (10, 9, 1, 1, 9)
    assert last.failures == {"refused": 1}
    assert (last.seconds_left, last.unpriced) == (0.0, 9)


def test_no_more_requests_are_in_flight_than_allowed():
    with (
        FakeLLM(Answer(delay=0.03)) as server,
        Client(server.url, "m", limits=Limits(concurrency=6, start=2)) as client,
    ):
        assert len(list(client.complete_many(asked(60)))) == 60
    assert 3 <= server.most_in_flight <= 6


def test_logprobs_come_through_and_the_cache_keeps_them(tmp_path):
    said = Answer("7", logprobs=[("7", -0.1, {"7": -0.1, "8": -2.5})])
    with FakeLLM(said) as server, Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
        request = Request.asking("score", logprobs=20)
        fresh, cached = client.complete(request), client.complete(request)
    assert server.requests[0].body["top_logprobs"] == 20
    assert cached.cached
    assert fresh.logprobs == cached.logprobs
    assert dict(cached.logprobs[0].top) == {"7": -0.1, "8": -2.5}


def test_answers_from_the_cache_need_no_thread_and_no_http_library(tmp_path):
    code = """
if len(sys.argv) == 3:
    reply = client.complete(Request.asking("x"))
    print(reply.cached, "httpx2" in sys.modules)
"""
    with FakeLLM() as server:
        assert run_script(tmp_path, server.url, code) == "False True\n"
        assert run_script(tmp_path, server.url, code) == "True False\n"


def test_what_came_from_the_cache_says_the_same(tmp_path):
    said = Answer("<think>hm</think>" + '{"score": 3}', usage={"prompt_tokens": 11, "completion_tokens": 5})
    with FakeLLM(said) as server, Client(server.url, "m", cache=tmp_path / "cache.sqlite") as client:
        request = Request.asking("score", schema=SCHEMA)
        fresh, cached = client.complete(request), client.complete(request)
    for part in ("status", "text", "reasoning", "data", "rung", "finish_reason", "usage", "key", "model"):
        assert getattr(fresh, part) == getattr(cached, part)
    assert (cached.calls, cached.cost.amount, fresh.reasoning) == (0, 0.0, "hm")


def test_outcomes_that_were_paid_for_are_cached_and_passing_failures_are_not(tmp_path):
    cut = Answer("cut off", finish_reason="length")
    with (
        FakeLLM(cut) as server,
        Client(server.url, "m", cache=tmp_path / "c", patience=Patience(backoff=0.001)) as client,
    ):
        assert [client.complete(Request.asking("x")).reason for _ in range(2)] == ["truncated"] * 2
        assert len(server.requests) == 1
        server.answer = Answer(status=500, body="")
        assert [client.complete(Request.asking("y")).calls for _ in range(2)] == [5, 5]


def test_requests_that_make_no_sense_are_refused():
    for messages in ([], "text", [{"role": "user"}], [{"content": "x"}], ["text"]):
        with pytest.raises(UsageError, match="expected"):
            Request(messages)
    with pytest.raises(UsageError, match="max_tokens"):
        Request.asking("x", max_tokens=0)
    with pytest.raises(UsageError, match="schema"):
        Request.asking("x", schema={"type": "array"})


@pytest.mark.parametrize(
    "url", ["localhost:1", "ftp://h/v1", "http://", "https://u:p@h/v1", "https://h/v1?key=1", "http://h:x/"]
)
def test_addresses_that_make_no_sense_are_refused(url):
    with pytest.raises(UsageError, match="base URL"):
        Client(url, "m")


def test_text_that_no_file_can_hold_is_no_obstacle(tmp_path):
    half = "half a pair: \ud83d"
    answer = Answer(body=b'{"choices": [{"message": {"content": "also half \\ud83d"}, "finish_reason": "stop"}]}')
    with FakeLLM(answer) as server, Client(server.url, "m", cache=tmp_path / "c") as client:
        fresh, cached = client.complete(Request.asking(half)), client.complete(Request.asking(half))
    assert fresh.text == cached.text == "also half \N{REPLACEMENT CHARACTER}"
    assert cached.cached


@pytest.mark.parametrize(
    ("more", "model"),
    [
        ('"why": "x\\ud800"', "m"),  # an escape inside the JSON of the text
        ('"why": "x\ud800"', "m"),  # an escape of the answer around it
        ('"why\\udfff": 1', "m"),
        ('"why": "x"', "m\ud800"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_wherever_a_server_puts_it(tmp_path, more, model):
    def answer(received):
        content = f'{{"seal": "{received.seal}", "score": 1, {more}}}'
        return Answer(body=json.dumps({"choices": [{"message": {"content": content}}], "model": model}))

    request = Request.asking("x", schema=SCHEMA)
    with FakeLLM(answer) as server, Client(server.url, "m", cache=tmp_path / "c") as client:
        replies = [client.complete(request), client.complete(request)]
    for reply in replies:
        assert reply.ok
        for part in (reply.text, reply.model, json.dumps(reply.data, ensure_ascii=False)):
            part.encode()


HOSTILE = "\x1b]0;pwn\x07 \x9b2J \u202eevil\r\nassay: all is well \x00\x7f"


@pytest.mark.parametrize("path", ["chat", "embeddings", "rerank"])
@pytest.mark.parametrize(
    "answer",
    [
        Answer.error(400, HOSTILE),
        Answer.error(401, HOSTILE),
        Answer(status=400, body={"detail": HOSTILE}),
        Answer(body={"error": HOSTILE}),
        Answer(None, refusal=HOSTILE),
        Answer("", finish_reason="content_filter" + HOSTILE),
        Answer(
            "x", body={"model": HOSTILE, "choices": [{"message": {"content": "x"}}], "data": [{"embedding": [1.0]}]}
        ),
    ],
)
def test_what_a_server_says_cannot_steer_a_terminal_or_a_log(path, answer, caplog):
    with FakeLLM(answer) as server, Client(server.url, "m", patience=Patience(backoff=0.001)) as client:
        if path == "chat":
            reply = client.complete(Request.asking("x"))
        elif path == "embeddings":
            (reply,) = client.embed(["x"])
        else:
            (reply,) = client.call_many([rerank_call("q", ["d"], model="m", shape="jina")])
    for text in (reply.message, reply.model, reply.finish_reason, caplog.text):
        assert all(sign.isprintable() for sign in text), text


def test_a_forgotten_client_leaves_no_thread_behind():
    with FakeLLM() as server:
        client = Client(server.url, "m")
        assert client.complete(Request.asking("x")).ok
        assert any(thread.name == "assay-llm" for thread in threading.enumerate())
        del client
        gc.collect()
        until(lambda: all(thread.name != "assay-llm" for thread in threading.enumerate()))
