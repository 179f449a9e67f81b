"""The judge against a real, small language model over HTTP: it proves plumbing, not quality."""

from __future__ import annotations

import json

import pytest

import assay
from commands import run_assay
from conftest import STRESS


def test_a_real_model_judges_over_http(real_model, tmp_path):
    rows = [
        {
            "query_id": "q",
            "doc_id": "a",
            "query": "how hot should water for sencha be",
            "document": "Sencha wants water of 70 degrees.",
        },
        {"query_id": "r", "doc_id": "c", "query": "绿茶用多少度的水", "document": "绿茶宜用八十度左右的水冲泡。"},
    ]
    (tmp_path / "pairs.jsonl").write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    words = ["judge", "--pairs", "pairs.jsonl", "--url", real_model, "--model", "smollm2", "--scale", "0-2",
               "--weighted", "--cache", "cache.sqlite", "-o", "judged.qrels", "--details", "details.jsonl"]  # fmt: skip
    done = run_assay(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    details = [json.loads(line) for line in (tmp_path / "details.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["status"] for row in details] == ["scored"] * 2
    assert all(0 <= row["grade"] <= 2 for row in details)
    assert any(row["weighted"] for row in details)
    assert assay.read_judgments(tmp_path / "judged.qrels").judge.startswith("smollm2 (relevance-en-1+")
    again = run_assay(*words, cwd=tmp_path)
    assert "0 calls, 2 answers from the cache" in again.stderr


@pytest.mark.skipif(
    not STRESS, reason="runs in make stress: a real model takes its time, and judges grades in make test"
)
def test_a_real_model_reranks_over_http(real_model):
    texts = {"a": "The train leaves at noon.", "b": "Sencha wants water of 70 degrees."}
    found = assay.evaluate_reranker(
        {"method": "llm-pointwise", "url": real_model, "model": "smollm2"},
        {"q": "how hot should water for sencha be"},
        {"q": texts},
        {"q": {"b": 1}},
    )
    assert found.faults == {}
    assert set(found.run.frame["doc_id"]) == {"a", "b"}
    assert found.tokens > 100
    assert found.latency_ms["p50"] > 0
