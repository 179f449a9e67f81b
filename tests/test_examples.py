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
import oracles
from assay.pipeline.experiment import load_experiment

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


def from_demo(name, demo_run, **options):
    """What an example finds when the stages are those that the demo ran: one experiment, so that none runs again."""
    done = assay.run_experiment(EXAMPLES / name, cache=demo_run.cache, **options)
    assert done.done == {}
    return done.findings


def test_the_ladder_runs_without_its_last_step(demo_run):
    found = from_demo("ladder.toml", demo_run, only=["bm25", "vectors", "hybrid"])
    values = {scores.name: scores["ndcg@10"] for scores in found.systems}
    assert values["bm25"] > values["vectors"] > 0.4
    assert all(row.done for row in found.combinations)


def test_the_chunking_example_compares_five_ways_to_cut_by_every_measure(demo_run):
    found = from_demo("chunking.toml", demo_run)
    assert [row.name for row in found.combinations] == ["whole", "fixed", "sentence", "recursive", "semantic"]
    chunks = {row.name: row.index.chunks for row in found.combinations}
    assert min(chunks["fixed"], chunks["sentence"], chunks["recursive"]) > chunks["whole"] == 155
    cuts = [f"{name}@{k}" for name in ("precision", "recall") for k in (1, 3, 5, 10)]
    assert found.measures == (*cuts, "reciprocal_rank", "faithfulness", "hallucination_rate", "context_utilisation")
    assert all(row.quality["faithfulness"].mean.estimate > 0.8 for row in found.combinations)
    assert {row.quality["faithfulness"].method for row in found.combinations} == {"embedding"}
    assert all(row.latency_ms["mean"] > 0 for row in found.combinations)


S1 = {
    "retrieved": (0.9044, 0.5357, 0.9279),
    "reranked, profile + query": (0.9070, 0.5435, 0.9203),
    "reranked, query only": (0.8272, 0.5110, 0.8154),
    "no_long": (0.9022, 0.5380, 0.9235),
    "no_sequential": (0.9129, 0.5439, 0.9384),
    "no_working": (0.9045, 0.5396, 0.9302),
}
S3 = {"BM25": 0.65, "vectors": 0.72, "hybrid": 0.78, "hybrid + rerank": 0.87}


def test_the_ablation_of_query_texts_is_the_table_of_its_source_from_one_command(tmp_path):
    done = assay.run_experiment(EXAMPLES / "ablation.toml", cache=tmp_path)
    found = done.findings
    assert found.measures == ("ndcg@10", "map@10", "p@1")
    assert found.baseline == "full + rerank"
    assert set(found.labels) == {row.name for row in found.combinations}
    columns = ("ndcg@10", "map@10", "p@1")
    assert found.reference.figures == {name: dict(zip(columns, row, strict=True)) for name, row in S1.items()}
    grades: dict[str, dict[str, float]] = {}
    for query, doc, grade in done.collection.judgments.frame.select("query_id", "doc_id", "grade").iter_rows():
        grades.setdefault(query, {})[doc] = grade
    for outcome, scores in zip(done.outcomes, found.systems, strict=True):
        lists: dict[str, list[str]] = {query: [] for query in scores.query_ids}
        for query, doc in outcome.run.frame.select("query_id", "doc_id").iter_rows():
            lists[query].append(doc)
        ndcg = [oracles.ndcg(lists[query], grades[query], 10, "exp") for query in scores.query_ids]
        assert scores["ndcg@10"] == pytest.approx(sum(ndcg) / len(ndcg))
        first = [grades[query].get((lists[query] or [""])[0], 0) > 0 for query in scores.query_ids]
        assert scores["p@1"] == pytest.approx(sum(first) / len(first))
    texts = {outcome.combination.name: outcome.queries[0].text for outcome in done.outcomes}
    assert texts["query only + rerank"] == "sencha temperature"
    assert len(set(texts.values())) == 5, "full asks the same with and without the reranker"


def test_the_ladder_carries_the_published_figures_of_its_source():
    reference = load_experiment(EXAMPLES / "ladder.toml").reference
    assert {name: row["ndcg@10"] for name, row in reference.figures.items()} == S3
    gains = [f"{100 * (value / S3['BM25'] - 1):+.1f} %" for value in list(S3.values())[1:]]
    assert [row["gain"] for row in reference.figures.values()] == ["-", *gains]


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
