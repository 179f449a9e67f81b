from __future__ import annotations

import json

import pytest

from experiments import DOCUMENTS, GRADES, PLUGIN, QUERIES


@pytest.fixture
def place(tmp_path):
    def lines(rows):
        return "".join(json.dumps(row) + "\n" for row in rows)

    (tmp_path / "docs.jsonl").write_text(
        lines({"doc_id": k, "text": v} for k, v in DOCUMENTS.items()), encoding="utf-8"
    )
    (tmp_path / "queries.jsonl").write_text(
        lines({"query_id": k, "text": v} for k, v in QUERIES.items()), encoding="utf-8"
    )
    (tmp_path / "j.qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in GRADES.items() for d, g in docs.items()), encoding="utf-8"
    )
    (tmp_path / "own_stages.py").write_text(PLUGIN, encoding="utf-8")
    return tmp_path
