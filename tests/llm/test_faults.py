"""What servers do wrong, and the documented status in which each fault ends."""

from __future__ import annotations

import json

import pytest

from assay.llm import POLICY, REASONS, Client, Limits, Request
from assay.testing import Answer, FakeLLM
from faults import FAULTS, GOOD, IMPATIENT, QUICK, SCHEMA, error


@pytest.fixture(scope="module")
def server():
    with FakeLLM() as found:
        yield found


@pytest.mark.parametrize("name", list(FAULTS))
def test_every_fault_ends_in_its_documented_status(server, name):
    script, reason, calls = FAULTS[name]
    before = len(server.requests)
    server._script.clear()
    server.queue(*script)
    slow = "stalled" in name or "dripping" in name
    with Client(server.url, "m", patience=IMPATIENT if slow else QUICK) as client:
        reply = client.complete(Request.asking("Score this.", schema=SCHEMA))
    assert (reply.status, reply.reason, reply.calls) == ("failed" if reason else "ok", reason, calls)
    assert len(server.requests) - before == calls
    assert (reply.data == {"score": 7}) == (reason == "")
    assert reply.message if reason else not reply.message


def test_a_port_where_nobody_listens_is_a_network_failure():
    with FakeLLM() as server:
        url = server.url
    with Client(url, "m", patience=QUICK) as client:
        reply = client.complete(Request.asking("Score this."))
    assert (reply.reason, reply.calls) == ("network", POLICY["unreachable"].attempts)


def test_every_reason_of_the_policy_is_a_documented_one():
    assert {rule.reason for rule in POLICY.values()} <= set(REASONS)


@pytest.mark.parametrize("kind", [kind for kind, rule in POLICY.items() if rule.action == "stop"])
def test_what_concerns_everybody_stops_the_run_and_tells_the_rest_why(kind):
    status, code = {"key": (401, "invalid_api_key"), "quota": (429, "insufficient_quota"), "model": (404, "x")}[kind]
    with (
        FakeLLM(error(status, "no", code=code)) as server,
        Client(server.url, "m", limits=Limits(start=1, concurrency=1)) as client,
    ):
        replies = dict(client.complete_many([Request.asking(str(i)) for i in range(50)]))
        assert sorted(replies) == list(range(50))
        assert {reply.reason for reply in replies.values()} == {POLICY[kind].reason}
        assert len(server.requests) == 1
        assert sum(reply.calls for reply in replies.values()) == 1


def test_a_run_is_given_up_when_nothing_works():
    with FakeLLM(error(400, "no")) as server, Client(server.url, "m") as client:
        replies = [reply for _, reply in client.complete_many([Request.asking(str(i)) for i in range(500)])]
    assert [reply.reason for reply in replies] == ["request"] * 500
    assert 50 <= len(server.requests) <= 50 + Limits().concurrency


def test_what_a_server_refuses_is_remembered(tmp_path):
    def picky(received):
        body = received.body
        if "max_tokens" in body:
            return error(400, "Use 'max_completion_tokens' instead", param="max_tokens")
        if "temperature" in body:
            return error(400, "'temperature' does not support 0.0 with this model", param="temperature")
        if body["response_format"]["type"] == "json_schema":
            return error(400, "response_format json_schema is unavailable")
        return GOOD

    with FakeLLM(picky) as server, Client(server.url, "m") as client:
        first = client.complete(Request.asking("one", schema=SCHEMA))
        second = client.complete(Request.asking("two", schema=SCHEMA))
    assert (first.calls, second.calls) == (4, 1)
    assert second.dropped == ("temperature",)
    assert second.rung == "json_object"
    last = server.requests[-1].body
    assert last["max_completion_tokens"] == 1024
    assert {"max_tokens", "temperature"}.isdisjoint(last)


def test_a_server_that_ignores_the_schema_is_asked_in_words_from_then_on():
    def deaf(received):
        return GOOD if "JSON schema" in received.text else "I would say seven."

    with FakeLLM(deaf) as server, Client(server.url, "m") as client:
        first = client.complete(Request.asking("one", schema=SCHEMA))
        second = client.complete(Request.asking("two", schema=SCHEMA))
    assert (first.ok, first.repaired, first.calls) == (True, True, 2)
    assert (second.ok, second.repaired, second.calls, second.rung) == (True, False, 1, "json_object")


def test_a_refusal_in_the_middle_of_a_repair_is_learnt_from():
    """The server ignores the schema, and refuses JSON mode: what is left is to ask in words."""

    def odd(received):
        kind = received.body.get("response_format", {}).get("type")
        if kind == "json_object":
            return error(400, "json_object is not supported")
        return "seven" if kind == "json_schema" else GOOD

    with FakeLLM(odd) as server, Client(server.url, "m") as client:
        first = client.complete(Request.asking("one", schema=SCHEMA))
        second = client.complete(Request.asking("two", schema=SCHEMA))
    assert (first.ok, first.calls, first.rung) == (True, 3, "fenced")
    assert (second.ok, second.calls, second.rung) == (True, 1, "fenced")
    assert len(server.requests) == 4


def test_the_word_json_is_in_every_prompt_that_asks_for_it():
    """DashScope refuses JSON mode without it."""
    with FakeLLM(GOOD) as server, Client(server.url, "m") as client:
        client.complete(Request.asking("Score this.", schema=SCHEMA))
    assert "json" in server.requests[0].text.lower()


def test_paid_calls_without_usage_are_estimated_and_say_so():
    with FakeLLM(Answer("A fine answer.", usage=None)) as server, Client(server.url, "m") as client:
        reply = client.complete(Request.asking("x" * 400))
    assert reply.usage.estimated
    assert 80 <= reply.usage.prompt_tokens <= 130


def test_an_unsupported_parameter_does_not_hide_another_fault():
    """A 400 that names nothing we send is the item's outcome, not a reason to go on guessing."""
    with FakeLLM(error(400, "stop it, the seed of doubt")) as server, Client(server.url, "m") as client:
        reply = client.complete(Request.asking("a", seed=1, stop=["x"]))
    assert (reply.reason, reply.calls) == ("request", 1)
    assert json.loads(server.requests[0].raw)["seed"] == 1
