"""The fake server, seen by a client that is not ours."""

from __future__ import annotations

import doctest
import gc
import http.client
import json
import math
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import assay.llm
import assay.testing.server
from assay.llm import Client, Request
from assay.testing import Answer, FakeLLM, vector


def post(url: str, body: dict, path: str = "/chat/completions", timeout: float = 5):
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"Content-Type": "application/json", "X-A": "b"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.loads(response.read())


ASK = {"model": "m", "messages": [{"role": "user", "content": "12345678"}]}


def test_an_answer_is_as_openai_writes_it():
    with FakeLLM("four") as server:
        answer = post(server.url, ASK)
    choice = answer["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"], answer["model"]) == ("four", "stop", "m")
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}


def test_a_script_is_followed_and_then_the_standing_answer():
    with FakeLLM(["one", Answer("two")]) as server:
        server.answer = lambda received: f"number {received.number}"
        said = [post(server.url, ASK)["choices"][0]["message"]["content"] for _ in range(4)]
        server.queue("queued")
        said.append(post(server.url, ASK)["choices"][0]["message"]["content"])
    assert said == ["one", "two", "number 2", "number 3", "queued"]


def test_what_arrived_is_recorded():
    with FakeLLM() as server:
        post(server.url, ASK)
        post(server.url, ASK)
        first, second = server.requests
    assert (first.path, first.headers["x-a"], first.body, first.text) == ("/v1/chat/completions", "b", ASK, "12345678")
    assert (first.number, second.number) == (0, 1)
    assert first.at <= second.at


def test_errors_have_their_status_headers_and_body():
    with FakeLLM(Answer.error(429, "slow down", code="limit", headers={"Retry-After": "3"})) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server.url, ASK)
        error = caught.value
        assert (error.code, error.headers["Retry-After"]) == (429, "3")
        assert json.loads(error.read()) == {"error": {"message": "slow down", "code": "limit"}}
        error.close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(broken="reset"), ConnectionResetError),
        (Answer(broken="close"), http.client.RemoteDisconnected),
        (Answer(cut=10), http.client.IncompleteRead),
        (Answer(broken="stall"), TimeoutError),
        (Answer(delay=5), TimeoutError),
        (Answer(body="<html>"), json.JSONDecodeError),
    ],
)
def test_faults_are_what_they_are_called(answer, expected):
    with FakeLLM(answer) as server, pytest.raises((expected, urllib.error.URLError)) as caught:
        post(server.url, ASK, timeout=0.5)
    error = caught.value
    assert isinstance(error, expected) or isinstance(error.reason, expected)


def test_all_parts_of_an_answer_can_be_set():
    said = Answer(
        None,
        reasoning="hm",
        refusal="no",
        finish_reason="length",
        usage=None,
        logprobs=[("a", -1.0, {"a": -1.0, "b": -2.0})],
    )
    with FakeLLM(said) as server:
        answer = post(server.url, ASK)
    message = answer["choices"][0]["message"]
    assert message == {"role": "assistant", "content": None, "reasoning_content": "hm", "refusal": "no"}
    assert answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"][1] == {"token": "b", "logprob": -2.0}
    assert "usage" not in answer


def test_a_dripping_answer_arrives_whole():
    with FakeLLM(Answer("slow", drip=0.0005)) as server:
        assert post(server.url, ASK)["choices"][0]["message"]["content"] == "slow"


def test_embeddings_are_unit_vectors_that_equal_texts_share():
    with FakeLLM() as server:
        answer = post(server.url, {"model": "e", "input": ["a", "b", "a"], "dimensions": 16}, "/embeddings")
    first, second, third = (row["embedding"] for row in answer["data"])
    assert first == third == vector("a", 16)
    assert first != second
    assert math.hypot(*first) == pytest.approx(1.0)
    assert len(first) == 16


def test_it_runs_in_a_process_of_its_own():
    command = [sys.executable, "-m", "assay.testing", "--text", "apart"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert post(url, ASK)["choices"][0]["message"]["content"] == "apart"
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("module", [assay.testing.server, assay.llm])
def test_the_examples_in_the_docstrings_are_true(module):
    found = doctest.testmod(module)
    assert found.attempted > 2
    assert found.failed == 0


def test_the_one_object_of_a_text_gets_the_seal_that_the_request_asks_for():
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
    asked = Request.asking('Judge {"score": 9}.', schema=schema)
    cases = {
        '{"score": 7}': {"score": 7},
        'Well: ```json\n{"score": 7}\n```': {"score": 7},
        'It says {"score": 9}, I say {"score": 7}': {"score": 7},
        '{"score": 9}': None,
        '{"score": 7} {"score": 8}': None,
        "{}": None,
    }
    for text, data in cases.items():
        with FakeLLM(text) as server, Client(server.url, "m") as client:
            reply = client.complete(asked)
            assert (reply.data if reply.ok else None) == data, text
            assert server.requests[0].seal in (reply.text if data else server.requests[0].text)
    with FakeLLM(Answer('{"score": 7}', sealed=False)) as server, Client(server.url, "m") as client:
        assert client.complete(asked).reason == "parse"


def test_connections_that_arrive_while_it_stops_are_closed(monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: unraisable.append(event.exc_value))
    for _ in range(20):
        clients = [socket.socket() for _ in range(6)]
        with FakeLLM() as server:
            port = int(server.url.split(":")[2].partition("/")[0])
            for client in clients:
                client.settimeout(0)
                client.connect_ex(("127.0.0.1", port))
        for client in clients:
            client.close()
    gc.collect()
    assert unraisable == []
