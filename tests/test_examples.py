"""Every example is short and runs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import assay

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(path for path in EXAMPLES.iterdir() if path.is_file())


@pytest.fixture(autouse=True)
def models():
    pytest.importorskip("bm25s")
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama is not installed")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_has_at_most_forty_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 40


def test_the_ladder_runs_without_its_last_step(tmp_path):
    found = assay.run_experiment(EXAMPLES / "ladder.toml", only=["bm25", "vectors", "hybrid"], cache=tmp_path).findings
    values = {scores.name: scores["ndcg@10"] for scores in found.systems}
    assert values["bm25"] > values["vectors"] > 0.4
    assert all(row.done for row in found.rows)


def test_the_chunking_example_compares_five_ways_to_cut_by_every_measure(tmp_path):
    found = assay.run_experiment(EXAMPLES / "chunking.toml", cache=tmp_path).findings
    assert [row.name for row in found.rows] == ["whole", "fixed", "sentence", "recursive", "semantic"]
    chunks = {row.name: row.index.chunks for row in found.rows}
    assert min(chunks["fixed"], chunks["sentence"], chunks["recursive"]) > chunks["whole"] == 155
    cuts = [f"{name}@{k}" for name in ("precision", "recall") for k in (1, 3, 5, 10)]
    assert found.measures == (*cuts, "reciprocal_rank", "faithfulness", "hallucination_rate", "context_utilisation")
    assert all(row.quality["faithfulness"].mean.estimate > 0.8 for row in found.rows)
    assert {row.quality["faithfulness"].method for row in found.rows} == {"embedding"}
    assert all(row.latency_ms["mean"] > 0 for row in found.rows)


@pytest.mark.parametrize("name", ["ladder.toml", "chunking.toml"])
def test_an_example_and_the_demo_of_its_name_are_one_experiment(name):
    demo = Path(assay.__file__).parent / "demo" / "data"
    mine, theirs = (tomllib.loads((folder / name).read_text(encoding="utf-8")) for folder in (EXAMPLES, demo))
    assert {key: (EXAMPLES / place).resolve() for key, place in mine.pop("data").items()} == {
        key: (demo / place).resolve() for key, place in theirs.pop("data").items()
    }
    assert mine == theirs


def test_the_ablation_prints_a_table_of_variants(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "ablation.py"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["variant", "description", "ndcg@10", "map@10", "p@1", "verdict"]
    assert [line.split()[0] for line in lines[1:]] == ["hybrid", "bm25", "vectors"]


def test_the_gate_passes_on_itself_and_fails_on_a_better_baseline(tmp_path):
    program = tmp_path / "bin" / "assay"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    command = ["sh", str(EXAMPLES / "gate.sh"), "out"]
    assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "out" / "gate.xml").is_file()
    baseline = tmp_path / "out" / "baseline.json"
    values = baseline.read_text(encoding="utf-8")
    import json

    plain = json.loads(values)
    columns = plain["per_query"]["values"]["bm25"]
    columns["ndcg@10"] = [min(1.0, value + 0.2) for value in columns["ndcg@10"]]
    baseline.write_text(json.dumps(plain), encoding="utf-8")
    assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 1
