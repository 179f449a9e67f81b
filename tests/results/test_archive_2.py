"""Result files and caches of schema 2 that an earlier version wrote are read, shown, gated and compared."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest

import assay
from assay.formats.files import Input
from assay.formats.results import load_result
from assay.results.parts import all_parts

ARCHIVE = Path(__file__).parents[1] / "archive" / "schema-2"
NAMES = sorted(path.stem for path in ARCHIVE.glob("*.json"))
URL = "http://127.0.0.1:18433/v1"


def raw(name):
    return json.loads((ARCHIVE / f"{name}.json").read_text(encoding="utf-8"))


WITH_SYSTEMS = [name for name in NAMES if raw(name).get("systems")]
SEVERAL = [name for name in WITH_SYSTEMS if len(raw(name)["systems"]) > 1]


def test_the_archive_has_a_file_of_every_part():
    """Every part of the day on which it was written; parts that are added later add their files before a release."""
    assert {part for name in NAMES for part in raw(name) if part in all_parts()} >= {
        "ab_plan", "ab_test", "answers", "bench", "calibration", "check", "comparison", "comparison_plan", "cost", "diagnoses", "experiment",
        "explanation", "gates", "judging", "judging_plan", "reranker", "roi", "sweep", "validation",
        "click_judgments", "interleaved_lists", "interleaving", "log_metrics", "log_sample", "panel", "pool",
        "preferences", "proposal", "questions", "questions_plan", "replay", "sampled_scores", "set", "set_split", "slices",
    }  # fmt: skip
    assert {raw(name)["schema"] for name in NAMES} == {2}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_read_with_the_numbers_it_was_written_with(name):
    read = load_result(Input.at(ARCHIVE / f"{name}.json"))
    assert set(read.parts) == {part for part in raw(name) if part in all_parts()}
    for system, scores in zip(raw(name).get("systems", []), read.systems, strict=True):
        assert scores.name == system["name"]
        assert scores.mean() == pytest.approx(system["metrics"], abs=0, rel=1e-15)


@pytest.mark.parametrize(("suffix", "lang"), [("html", "en"), ("md", "zh")])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_a_file_shows_it_in_both_languages(call, name, suffix, lang):
    code, _, err = call("report", str(ARCHIVE / f"{name}.json"), "-o", f"page.{suffix}", "--lang", lang)
    assert code == 0, err
    text = unescape(re.sub(r"<[^>]+>", " ", Path(f"page.{suffix}").read_text(encoding="utf-8")))
    assert all(system["name"] in text for system in raw(name).get("systems", []))


@pytest.mark.parametrize("name", WITH_SYSTEMS)
def test_a_file_passes_a_gate_at_its_means_and_fails_above_them(call, name):
    measure = next(iter(raw(name)["systems"][0]["metrics"]))
    lowest = min(system["metrics"][measure] for system in raw(name)["systems"])
    for limit, passes in ((lowest, True), (lowest + 0.01, False)):
        words = ("--fail-under", f"{measure}={limit!r}", "--min-coverage", "0")
        code, out, err = call("gate", str(ARCHIVE / f"{name}.json"), *words)
        assert code == (0 if passes else 1), out + err


@pytest.mark.parametrize("name", SEVERAL)
def test_the_systems_of_a_file_are_compared(call, name):
    measure = next(iter(raw(name)["systems"][0]["metrics"]))
    code, out, err = call("compare", str(ARCHIVE / f"{name}.json"), "-m", measure, "--format", "json")
    assert code == 0, err
    assert [one["name"] for one in json.loads(out)["systems"]] == [one["name"] for one in raw(name)["systems"]]


@pytest.mark.parametrize("name", ["bench", "cost"])
def test_numbers_of_bench_and_cost_are_gated(call, name):
    rule = {"bench": "p95_ms<=1000", "cost": "cost_per_query<=1"}[name]
    assert call("gate", str(ARCHIVE / f"{name}.json"), "--rules", rule)[0] == 0


@pytest.fixture
def kept(tmp_path):
    shutil.copytree(ARCHIVE / "cache", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_answers_that_were_judged_are_not_judged_again(kept, call):
    judge = ("--method", "llm", "--judge", "m", "--url", URL, "--cache", "answers.sqlite", "-m", "faithfulness")
    code, _, err = call("answers", "samples.jsonl", *judge, "-o", "again.json")
    assert code == 0, err
    old, new = (json.loads((kept / name).read_text(encoding="utf-8")) for name in ("answers.json", "again.json"))
    assert [one["metrics"] for one in new["systems"]] == [one["metrics"] for one in old["systems"]]


def test_stages_that_were_done_are_not_done_again(kept):
    pytest.importorskip("bm25s")
    found = assay.run_experiment(kept / "experiment.toml", cache=kept / "stages")
    assert (found.done, found.damaged) == ({}, {})
    (scores,) = found.findings.systems
    (old,) = json.loads((kept / "experiment.json").read_text(encoding="utf-8"))["systems"]
    assert scores.mean() == pytest.approx(old["metrics"], abs=0, rel=1e-15)
