"""What a cache, a key and a table must never mix up: answers, hosts, embedders, prices, times, coverage."""

from __future__ import annotations

import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import assay
from assay.errors import InputError, UsageError
from assay.pipeline.chunkers import plugin_chunker
from assay.pipeline.external import Outside, as_search, plugin_retriever
from assay.pipeline.records import Chunk, Query
from assay.pipeline.rerankers import embedding, endpoint, plugin_reranker
from assay.pipeline.stages import Setup
from assay.pipeline.vectors import vectors
from assay.testing import Answer, FakeLLM

DOCUMENTS = {"a": "Green tea is steamed.", "b": "Green tea of the old station.", "c": "Black tea wants milk."}
QUERIES = {"q1": "green tea", "q2": "black tea"}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def experiment(folder, body, *, judged='judgments = "j.qrels"'):
    """Write a small experiment and give the path of its file."""
    (folder / "docs.jsonl").write_text(lines({"doc_id": k, "text": v} for k, v in DOCUMENTS.items()), encoding="utf-8")
    (folder / "q.jsonl").write_text(lines({"query_id": k, "text": v} for k, v in QUERIES.items()), encoding="utf-8")
    (folder / "j.qrels").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n", encoding="utf-8")
    path = folder / "e.toml"
    path.write_text(f'[data]\ndocuments = "docs.jsonl"\nqueries = "q.jsonl"\n{judged}\n{body}', encoding="utf-8")
    return path


def test_answers_made_from_the_order_of_a_failed_reranking_are_not_kept_for_the_right_order(tmp_path):
    broken = True

    def served(received):
        text = received.text
        if '"grade"' not in text:
            return f"station first: {text.find('station') < text.find('steamed')}"
        if broken and "station" in text:
            return Answer(body={"choices": []})
        return json.dumps({"grade": 9 if "station" in text else 1})

    body = '[rerank]\nmethod = "llm-pointwise"\n[generate]\nmethod = "llm"\n[llm]\nurl = "URL"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
    with FakeLLM(served) as server:
        path = experiment(tmp_path, body.replace("URL", server.url))
        assay.run_experiment(path)
        broken = False
        again = assay.run_experiment(path)
        assert assay.run_experiment(path).done == {}
    sample = next(iter(again.outcomes[0].samples))
    assert sample.contexts[0].text == DOCUMENTS["b"]
    assert sample.answer == "station first: True"


# Keys -------------------------------------------------------------------------------------------------------------


def keys_of(server):
    return {received.headers.get("authorization") for received in server.requests}


def test_the_key_of_the_language_model_goes_to_no_other_server(tmp_path, monkeypatch):
    secret, own = "-".join(["vendor", "secret"]), "-".join(["own", "secret"])
    monkeypatch.setenv("VENDOR_KEY", secret)
    monkeypatch.setenv("OWN_KEY", own)

    def served(received):
        if "text" in received.body:
            return Answer(body={"chunks": [received.body["text"]]})
        if "texts" in received.body:
            return Answer(body={"scores": [1.0 for _ in received.body["texts"]]})
        if "k" in received.body:
            return Answer(body={"results": []})
        rows = [{"index": i, "relevance_score": 1.0} for i in range(len(received.body["documents"]))]
        return Answer(body={"results": rows})

    with FakeLLM(served) as vendor, FakeLLM(served) as other:
        setup = Setup(tmp_path, llm={"url": vendor.url, "model": "m", "key_env": "VENDOR_KEY"})
        try:
            plugin_chunker(other.url, setup, {}).split(["text"])
            plugin_reranker(other.url, setup, {}).score("q", ["text"])
            plugin_retriever(other.url, setup, {}).search_in([], Query("q", "text"), 3)
            endpoint(setup, url=f"{other.url}/rerank", model="r").score("q", ["text"])
            assert keys_of(other) == {None}
            endpoint(setup, url=f"{other.url}/rerank", model="r", key_env="OWN_KEY").score("q", ["text"])
            assert keys_of(other) == {None, f"Bearer {own}"}
            plugin_reranker(vendor.url, setup, {}).score("q", ["text"])
            assert keys_of(vendor) == {f"Bearer {secret}"}
        finally:
            setup.close()
        with pytest.raises(UsageError, match="names a key but no url"):
            Setup(tmp_path, llm={"key_env": "VENDOR_KEY"}).client(other.url, "m")


# Who is who -------------------------------------------------------------------------------------------------------


def identities(setup, asked):
    semantic = setup.embedder(asked)
    (part,) = vectors(setup, embedder=asked).parts
    return json.dumps([dict(semantic.identity), part.identity, embedding(setup, embedder=asked).identity])


def test_embedders_of_one_name_are_told_apart_by_source_weights_and_host(tmp_path):
    text = "def embed(texts):\n    return [[1.0, 2.0] for _ in texts]\n"
    (tmp_path / "first_embedder.py").write_text(text, encoding="utf-8")
    (tmp_path / "second_embedder.py").write_text(text.replace("2.0", "3.0"), encoding="utf-8")
    setup = Setup(tmp_path)
    first = identities(setup, "first_embedder:embed")
    assert first != identities(setup, "second_embedder:embed")
    assert first == identities(setup, "first_embedder:embed")
    (tmp_path / "first_embedder.py").write_text(text + "# edited\n", encoding="utf-8")
    assert first != identities(setup, "first_embedder:embed")
    with FakeLLM() as one, FakeLLM() as two:
        assert identities(setup, f"m@{one.url}") != identities(setup, f"m@{two.url}")
        setup.close()


def test_weights_in_two_folders_are_told_apart_by_what_they_hold(tmp_path):
    from assay.text.weights import find_minilm

    source = find_minilm()
    if source is None:
        pytest.skip("needs the weights of minilm (assay models get minilm)")
    for name in ("one", "two", "three"):
        shutil.copytree(source, tmp_path / name)
    with (tmp_path / "three" / "config.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    setup = Setup(tmp_path)
    assert identities(setup, "one") == identities(setup, "two")
    assert identities(setup, "one") != identities(setup, "three")


def test_an_edit_of_the_module_that_configures_a_retriever_of_another_package_is_noticed(tmp_path):
    (tmp_path / "some_framework.py").write_text(
        "class Retriever:\n    def __init__(self, k):\n        self.k = k\n    def invoke(self, query):\n        return []\n",
        encoding="utf-8",
    )
    mine = tmp_path / "my_retriever.py"
    mine.write_text("from some_framework import Retriever\nmade = Retriever(3)\n", encoding="utf-8")
    setup = Setup(tmp_path)
    sys.path.insert(0, str(tmp_path))
    try:
        before = plugin_retriever("my_retriever:made", setup, {}).identity
        mine.write_text("from some_framework import Retriever\nmade = Retriever(5)\n", encoding="utf-8")
        edited = plugin_retriever("my_retriever:made", setup, {}).identity
        assert edited != before
        (tmp_path / "some_framework.py").write_text("# another release\n", encoding="utf-8")
        assert plugin_retriever("my_retriever:made", setup, {}).identity not in (before, edited)
    finally:
        sys.path.remove(str(tmp_path))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), np.float32("nan")])
def test_a_retriever_with_scores_that_are_no_numbers_is_refused(score):
    chunks = [Chunk("d0", "d0", "tea", 0, 3), Chunk("d1", "d1", "milk", 0, 4)]
    for found in ([("d0", 1.0), ("d1", score)], [SimpleNamespace(id="d0", score=score)]):
        search = Outside(as_search(lambda query, k, found=found: found, "x:y", {}), {})
        with pytest.raises(InputError, match="expected a finite number"):
            search.search_in(chunks, Query("q", "t"), 5)
    exact = Outside(as_search(lambda query, k: [("d0", np.float32(0.5)), ("d1", np.float32(0.75))], "x:y", {}), {})
    assert exact.search_in(chunks, Query("q", "t"), 5) == ([1, 0], [0.75, 0.5])
