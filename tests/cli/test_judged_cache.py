"""What was paid for before is not paid for again: replies and stages that an earlier version kept are all found.

Nobody listens at the address that the kept requests name: whatever is not found would fail.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import assay
from assay.text.segmentation import segmenter

KEPT = Path(__file__).parents[1] / "archive" / "judged-cache"
EXPECTED = json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))
URL = "http://127.0.0.1:18432/v1"
PAID = ("--url", URL, "--cache", "cache/answers.sqlite")


@pytest.fixture
def kept(tmp_path, monkeypatch):
    shutil.copytree(KEPT, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    (tmp_path / "home" / "assay").mkdir(parents=True)
    shutil.copy(KEPT / "embeddings.sqlite", tmp_path / "home" / "assay" / "llm.sqlite")
    return tmp_path


def metrics(path):
    (system,) = json.loads(Path(path).read_text(encoding="utf-8"))["systems"]
    return system["metrics"]


@pytest.mark.parametrize("times", [1, 2])
def test_an_experiment_with_judged_answers_does_nothing_again(kept, times):
    if segmenter() != "rjieba":
        pytest.skip("the kept cache has the words of rjieba, which is not installed")
    for _ in range(times):  # as it was written, and as the first reading left it
        found = assay.run_experiment(kept / "experiment.toml", cache=kept / "cache")
        assert (found.done, found.damaged) == ({}, {})
        assert found.reused == {"chunk": 2, "search": 6, "rerank": 2, "generate": 4}
    for scores in found.findings.systems:
        assert scores.mean() == pytest.approx(EXPECTED["experiment"][scores.name], abs=0, rel=1e-15)
    assert {row.name for row in found.findings.combinations if not row.done} == {"whole + broken", "sentence + broken"}


def test_whoever_reads_the_result_of_an_experiment_is_told_of_its_uncalibrated_judge(kept, call):
    if segmenter() != "rjieba":
        pytest.skip("the kept cache has the words of rjieba, which is not installed")
    assert call("run", "experiment.toml", "--cache", "cache", "-o", "out")[0] == 1  # two combinations fail
    for words in (("compare", "out/result.json"), ("gate", "out/result.json", "--fail-under", "correctness=0")):
        assert "uncalibrated judge" in call(*words)[1]


def test_answers_that_were_judged_are_not_judged_again(kept, call):
    code, _, err = call("answers", "samples.jsonl", "--judge", "judge", *PAID, "-o", "answers.json")
    assert code == 0, err
    assert metrics("answers.json") == pytest.approx(EXPECTED["answers"], abs=0, rel=1e-15)


def test_texts_that_were_embedded_are_not_embedded_again(kept, call):
    embedder = ("--method", "embedding", "--embedder", f"vectors@{URL}")
    code, _, err = call("answers", "samples.jsonl", *embedder, "-m", "faithfulness", "-o", "answers.json")
    assert code == 0, err
    assert metrics("answers.json") == pytest.approx(
        EXPECTED["embeddings"], abs=1e-6
    )  # kept from when cosines were single


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--model", "judge"), "one judge"),
        (("--model", "judge", "--model", "second", "--repeats", "2", "--text-lang", "zh"), "two judges"),
    ],
)
def test_pairs_that_were_judged_are_not_judged_again(kept, call, words, expected):
    code, _, err = call("judge", "--pairs", "pairs.jsonl", *words, *PAID, "-o", "judged.jsonl")
    assert code == 0, err
    assert assay.read_judgments("judged.jsonl").to_dict() == EXPECTED[expected]


def test_a_question_that_was_not_kept_is_missed(kept, call):
    other = ("--model", "another", "--deadline", "1")
    assert call("judge", "--pairs", "pairs.jsonl", *other, *PAID, "-o", "judged.jsonl")[0] == 1
