"""Texts turned into vectors."""

from __future__ import annotations

from assay.llm import Client, Patience
from assay.testing import Answer, FakeLLM, vector


def test_embeddings_come_in_order_and_each_text_is_cached(tmp_path):
    texts = [f"text {i}" for i in range(25)]
    with FakeLLM() as server, Client(server.url, "e", cache=tmp_path / "cache.sqlite") as client:
        first = client.embed(texts, batch=10)
        assert len(server.requests) == 3
        again = client.embed(["new", *reversed(texts), "new"], dimensions=None)
        assert [received.inputs for received in server.requests[3:]] == [["new"]]
    assert [reply.data for reply in first] == [vector(text) for text in texts]
    assert [reply.data for reply in again[1:-1]] == [vector(text) for text in reversed(texts)]
    assert again[0].data == again[-1].data == vector("new")
    assert sum(reply.calls for reply in first) == 3


def test_embeddings_out_of_order_are_sorted_and_missing_ones_are_failures():
    def shuffled(received):
        rows = [{"index": i, "embedding": vector(text)} for i, text in enumerate(received.inputs)]
        return Answer(body={"data": rows[::-1]})

    with FakeLLM(shuffled) as server, Client(server.url, "e", patience=Patience(backoff=0.001)) as client:
        assert [reply.data for reply in client.embed(["a", "b"])] == [vector("a"), vector("b")]
        server.answer = Answer(body={"data": []})
        assert [reply.reason for reply in client.embed(["a", "c"])] == ["empty", "empty"]


def test_a_text_that_spoils_its_batch_does_not_spoil_the_others():
    def strict(received):
        return Answer.error(400, "input length") if "too long" in received.inputs else Answer()

    with FakeLLM(strict) as server, Client(server.url, "e") as client:
        replies = client.embed([f"text {i}" for i in range(12)] + ["too long"], batch=5)
    assert [reply.reason for reply in replies] == [""] * 12 + ["too_long"]
    assert [len(received.inputs) for received in server.requests].count(1) == 3
