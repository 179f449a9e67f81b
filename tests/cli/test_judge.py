"""`assay judge`: what is refused before it is paid for, and who is asked."""

from __future__ import annotations

import json

from commands import run_assay


def test_what_cannot_be_written_is_refused_before_anything_is_paid(tmp_path):
    from assay.testing import FakeLLM

    (tmp_path / "pairs.jsonl").write_text(
        json.dumps({"query_id": "q 1", "doc_id": "d", "query": "x", "document": "y"}) + "\n"
    )
    with FakeLLM("{}") as server:
        for place in ("j.json", "j.foo", "nowhere/j.qrels", "j.qrels"):
            done = run_assay(
                "judge",
                "--pairs",
                "pairs.jsonl",
                "--url",
                server.url,
                "--model",
                "m",
                "--no-cache",
                "-o",
                place,
                cwd=tmp_path,
            )
            assert done.returncode == 2, done.stderr
        assert not server.requests


def test_one_model_on_two_servers_is_two_judges(tmp_path):
    from assay.testing import FakeLLM

    (tmp_path / "pairs.jsonl").write_text(
        json.dumps({"query_id": "q", "doc_id": "d", "query": "x", "document": "y"}) + "\n"
    )
    answer = json.dumps({"reason": "", "grade": 1})
    with FakeLLM(answer) as one, FakeLLM(answer) as two:
        words = ["--model", f"m@{one.url}", "--model", f"m@{two.url}", "--no-cache", "-o", "j.qrels"]
        assert run_assay("judge", "--pairs", "pairs.jsonl", *words, cwd=tmp_path).returncode == 0
        assert (len(one.requests), len(two.requests)) == (1, 1)
