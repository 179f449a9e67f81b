"""In a notebook, a record that ends a cell shows its table."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

SETUP = """
import assay
judged = {f"q{i}": {"a": 1, "b": 0} for i in range(20)}
runs = {"one": {q: {"b": 2.0, "a": 1.0} for q in judged}, "two": {q: {"a": 2.0, "b": 1.0} for q in judged}}
scores = [assay.evaluate(judged, run, ["ndcg@10", "map"], name=name) for name, run in runs.items()]
rows = [{"id": "1", "question": "When?", "answer": "In 1889.", "contexts": ["It opened in 1889."]}]
"""
CELLS = {
    "scores": ("scores[0]", "one"),
    "comparison": ("assay.compare(scores)", "0.6309"),
    "sweep": ("assay.sweep(judged, runs, [1, 2])", "k = 2"),
    "diagnosis": ("assay.diagnose(judged, runs['one'])", "recall@5"),
    "gate": ("assay.gate(scores[0], [assay.Threshold('map', at_least=0.4)])", "passed"),
    "answers": ("assay.answers(rows, ['faithfulness'], method='words')", "faithfulness"),
    "costs": ("assay.cost([assay.PricedMethod('x', price=1.0, tokens=10)])", "no reranking"),
    "roi": ("assay.roi(0.2, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01)", "+20.00%"),
    "bench": ("assay.bench(lambda: None, runs=20, warmup=0)", "P95"),
}


@pytest.fixture(scope="module")
def shown():
    """The HTML of every cell, from a real kernel."""
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *(code for code, _ in CELLS.values()))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs[-1].data if cell.outputs else {} for cell in notebook.cells[1:]]
    return {name: data.get("text/html", "") for name, data in zip(CELLS, outputs, strict=True)}


@pytest.mark.parametrize("name", CELLS)
def test_a_record_shows_its_table(shown, name):
    assert "<table>" in shown[name]
    assert CELLS[name][1] in shown[name]
    assert "<script" not in shown[name]
