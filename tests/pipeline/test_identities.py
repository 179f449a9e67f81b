"""Who is who in an experiment: hosts and their keys, embedders, weights, and code that was edited."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from assay.errors import UsageError
from assay.pipeline.chunkers import plugin_chunker
from assay.pipeline.external import plugin_retriever
from assay.pipeline.records import Query
from assay.pipeline.rerankers import embedding, endpoint, plugin_reranker
from assay.pipeline.stages import Setup
from assay.pipeline.vectors import vectors
from assay.testing import Answer, FakeLLM


def keys_of(server):
    return {received.headers.get("authorization") for received in server.requests}


def test_the_key_of_the_language_model_goes_to_no_other_server(tmp_path, monkeypatch):
    secret, own = (f"{whose}-secret" for whose in ("vendor", "own"))
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
        pytest.skip("needs the weights of minilm (assay env models get minilm)")
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
