"""Functions and objects in a client's place."""

from __future__ import annotations

import json

import pytest

from assay.errors import UsageError
from assay.llm import Cache, Client, Reply, Request, as_client
from assay.testing import seal_of

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


def sealed(messages, **said) -> str:
    """An answer as a model gives it that does as the messages say."""
    return json.dumps({"seal": seal_of(messages), **said})


def test_a_plain_function_works_in_the_clients_place():
    client = as_client(lambda messages: sealed(messages, score=len(messages[-1]["content"].split("\n")[0])))
    replies = dict(client.complete_many([Request.asking("x" * i, schema=SCHEMA) for i in range(1, 30)]))
    assert [replies[i].data["score"] for i in range(29)] == list(range(1, 30))


def test_a_function_is_told_the_schema_and_gets_one_repair_attempt():
    asked_for = []

    def function(messages):
        asked_for.append(messages)
        return "seven" if len(asked_for) == 1 else sealed(messages, score=7)

    reply = as_client(function).complete(Request.asking("x", schema=SCHEMA))
    assert (reply.data, reply.repaired, reply.calls) == ({"score": 7}, True, 2)
    assert '"score"' in asked_for[0][-1]["content"]


def test_a_function_whose_answer_does_not_carry_the_seal_of_its_call_has_not_answered():
    calls = []
    reply = as_client(lambda messages: calls.append(messages) or '{"score": 7}').complete(
        Request.asking("x", schema=SCHEMA)
    )
    assert (reply.reason, reply.data, len(calls)) == ("parse", None, 2)


def test_a_function_that_raises_becomes_a_reason():
    def broken(messages):
        raise ValueError("out of order")

    reply = as_client(broken).complete(Request.asking("x"))
    assert (reply.reason, reply.message) == ("error", "ValueError: out of order")
    assert as_client(lambda _: 7).complete(Request.asking("x")).reason == "error"
    assert as_client(lambda _: "seven").complete(Request.asking("x", schema=SCHEMA)).reason == "parse"


def test_an_object_with_complete_works_and_a_client_stays_itself():
    class Own:
        def complete(self, request):
            return Reply("ok", text=request.messages[0]["content"])

    assert [reply.text for _, reply in as_client(Own()).complete_many([Request.asking("a")])] == ["a"]
    client = Client("http://127.0.0.1:1/v1", "m")
    assert as_client(client) is client
    with pytest.raises(UsageError, match="neither"):
        as_client(3)


def test_a_function_with_a_cache_is_asked_once(tmp_path):
    calls = []

    def function(messages):
        calls.append(messages)
        return "yes"

    with Cache(tmp_path / "cache.sqlite") as cache:
        client = as_client(function, name="mine", cache=cache)
        assert [client.complete(Request.asking("x")).cached for _ in range(3)] == [False, True, True]
        other = as_client(function, name="other", cache=cache)
        assert not other.complete(Request.asking("x")).cached
        with pytest.raises(UsageError, match="name"):
            as_client(function, cache=cache)
    assert len(calls) == 2


def test_the_deadline_of_a_run_holds_for_functions_too():
    replies = dict(as_client(lambda _: "x", workers=2).complete_many(map(Request.asking, "abcdef"), deadline=-1.0))
    assert [replies[i].reason for i in range(6)] == ["deadline"] * 6


def test_progress_counts_the_calls_of_a_function():
    seen = []
    list(as_client(lambda _: "x").complete_many(list(map(Request.asking, "abc")), progress=seen.append))
    assert [(moment.done, moment.total, moment.calls) for moment in seen] == [(1, 3, 1), (2, 3, 2), (3, 3, 3)]
