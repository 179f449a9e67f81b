"""A small experiment about tea: its data, its own stages, and how its file is written and run."""

from __future__ import annotations

import os
import subprocess
import sys
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


def cli(*arguments, cwd, **env):
    command = [sys.executable, "-m", "assay", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120, env={**os.environ, **env}
    )


def names(path, **options):
    return [one.name for one in load_experiment(path, **options).combinations]
