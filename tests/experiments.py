"""A small experiment about tea: its data, its own stages, and how its file is written and run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from assay.pipeline.experiment import load_experiment

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = {
    "a": "Sencha wants water of 70 degrees. It is a green tea from Japan.",
    "b": "Black tea is oxidised and wants boiling water. Milk goes well with it.",
    "c": "Oolong lies between green and black. It is rolled by hand.",
    "d": "Trains leave at noon. The station is old.",
}
QUERIES = {"q1": "how hot for sencha", "q2": "milk with black tea", "q3": "when do trains leave", "q4": "rolled oolong"}
GRADES = {"q1": {"a": 2, "b": 0}, "q2": {"b": 1}, "q3": {"d": 1}, "q4": {"c": 2, "a": 0}}
PLUGIN = """
import os, time
def length(query, texts):
    time.sleep(float(os.environ.get("SLOWNESS", "0")))
    return [float(len(set(query.split()) & set(text.lower().split()))) for text in texts]
def other(query, texts):
    return [-float(len(text)) for text in texts]
def breaks(query, texts):
    raise RuntimeError("no more")
def vectors(texts):
    return [[text.lower().count(sign) + 0.01 for sign in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
"""


DATA = '[data]\ndocuments = "docs.jsonl"\nqueries = "queries.jsonl"\njudgments = "j.qrels"\n'


def write(place: Path, body: str, data: str = DATA) -> Path:
    path = place / "e.toml"
    path.write_text(body.partition("#data")[0] + data + body.partition("#data")[2], encoding="utf-8")
    return path


def names(path, **options):
    return [one.name for one in load_experiment(path, **options).combinations]


def lines(rows):
    """The text of a JSONL file with these rows."""
    return "".join(json.dumps(row) + "\n" for row in rows)


SHORT_DOCUMENTS = {"a": "Green tea is steamed.", "b": "Green tea of the old station.", "c": "Black tea wants milk."}
SHORT_QUERIES = {"q1": "green tea", "q2": "black tea"}


def short_experiment(folder, body, *, judged='judgments = "j.qrels"'):
    """Write an experiment with three documents and two queries; give the path of its file."""
    (folder / "docs.jsonl").write_text(
        lines({"doc_id": k, "text": v} for k, v in SHORT_DOCUMENTS.items()), encoding="utf-8"
    )
    (folder / "q.jsonl").write_text(
        lines({"query_id": k, "text": v} for k, v in SHORT_QUERIES.items()), encoding="utf-8"
    )
    (folder / "j.qrels").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n", encoding="utf-8")
    path = folder / "e.toml"
    path.write_text(f'[data]\ndocuments = "docs.jsonl"\nqueries = "q.jsonl"\n{judged}\n{body}', encoding="utf-8")
    return path
