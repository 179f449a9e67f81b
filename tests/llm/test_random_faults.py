"""Many judgments against a server that fails at random: one status each, few calls, nothing paid twice."""

from __future__ import annotations

import json
import random
from collections import Counter

from assay.llm import Client, Limits, Patience, Reply, Request
from assay.testing import Answer, FakeLLM

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
# Faults that pass, and outcomes that stay with the item.
PASSING = [
    Answer.error(500),
    Answer.error(503, headers={"Retry-After": "0.01"}),
    Answer.error(429, headers={"Retry-After": "0.02"}),
    Answer(body="<html>502</html>"),
    Answer(body='{"choices": [{"mess'),
    Answer(body={"error": {"message": "upstream"}}),
    Answer(body={"choices": []}),
    Answer(broken="reset"),
    Answer(broken="close"),
    Answer('{"score": 1}', cut=9),
]
STAYING = [
    Answer.error(400, "no", code="data_inspection_failed"),
    Answer(None, refusal="no"),
    Answer("cut", finish_reason="length"),
]


def test_every_item_has_one_status_and_no_key_is_paid_twice(tmp_path, stress):
    count = 10_000 if stress else 600
    rng = random.Random(20261116)
    paid: Counter[str] = Counter()
    stays: dict[str, Answer] = {}

    def answer(received) -> Answer:
        item = received.text.split("\n")[0]
        luck = rng.random()
        if item in stays or luck < 0.03:
            return stays.setdefault(item, rng.choice(STAYING))
        if luck < 0.20:
            return rng.choice(PASSING)
        paid[item] += 1
        return Answer(json.dumps({"score": int(item.split()[1]) % 11}))

    patience = Patience(timeout=30, backoff=0.005, longest_wait=0.05)
    requests = [Request.asking(f"item {i}\nAs JSON.", schema=SCHEMA) for i in range(count)]
    limits = Limits(concurrency=64)
    replies: dict[int, Reply] = {}
    with (
        FakeLLM(answer) as server,
        Client(server.url, "m", patience=patience, cache=tmp_path / "c", limits=limits) as client,
    ):
        for number, reply in client.complete_many(requests):
            assert number not in replies
            replies[number] = reply
        calls = len(server.requests)
        assert client.calls == calls
        again = dict(client.complete_many(requests))
    assert sorted(replies) == list(range(count))
    failed = {i: reply.reason for i, reply in replies.items() if not reply.ok}
    assert set(failed.values()) <= {"filtered", "refused", "truncated"}
    assert set(failed) == {int(item.split()[1]) for item in stays}
    assert all(reply.data == {"score": i % 11} for i, reply in replies.items() if reply.ok)
    assert max(paid.values()) == 1
    assert calls <= 1.35 * count
    assert len(server.requests) == calls, "the second run called again"
    assert {i: reply.reason for i, reply in again.items()} == {i: reply.reason for i, reply in replies.items()}
