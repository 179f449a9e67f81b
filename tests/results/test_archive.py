"""Result files that earlier versions wrote are read, with the numbers they were written with."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import assay

ARCHIVE = Path(__file__).parents[1] / "archive" / "schema-1"
WITH_SYSTEMS = sorted(path.stem for path in ARCHIVE.glob("*.json") if json.loads(path.read_text()).get("systems"))
SHOWN = sorted({*WITH_SYSTEMS, "bench", "cost", "roi"})


def raw(name):
    return json.loads((ARCHIVE / f"{name}.json").read_text(encoding="utf-8"))


def test_the_archive_holds_a_file_of_every_command_that_writes_results():
    assert {path.stem for path in ARCHIVE.glob("*.json")} == {
        "answers", "bench", "calibrate", "compare", "cost", "diagnose", "evaluate", "experiment",
        "experiment-holdout", "gate", "pairs", "rerank", "roi", "sweep", "validate",
    }  # fmt: skip


@pytest.mark.parametrize("name", WITH_SYSTEMS)
def test_means_of_an_old_file_are_those_it_was_written_with(name):
    for system, scores in zip(raw(name)["systems"], assay.read_result(ARCHIVE / f"{name}.json"), strict=True):
        assert scores.name == system["name"]
        assert scores.mean() == pytest.approx(system["metrics"], abs=0, rel=1e-15)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_of_an_old_file_shows_its_means(call, name, lang):
    code, _, err = call("report", str(ARCHIVE / f"{name}.json"), "-o", "page.html", "--lang", lang)
    assert code == 0, err
    text = unescape(re.sub(r"<[^>]+>", " ", Path("page.html").read_text(encoding="utf-8")))
    for system in raw(name)["systems"]:
        assert system["name"] in text
        first = next(iter(system["metrics"].values()))
        assert f"{first:.4f}" in text


def test_an_old_comparison_still_feeds_a_return_on_investment(call):
    code, out, err = call(
        "roi", str(ARCHIVE / "rerank.json"), "--queries-per-day", "1000", "--cost-per-query", "0.001",
        "--revenue-per-query", "0.01", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    before, after = (system["metrics"]["ndcg@10"] for system in raw("rerank")["systems"])
    gain = (after - before) / before
    assert any(value == pytest.approx(gain) for value in numbers(json.loads(out)))


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize(("run", "expected"), [("ngrams.run", 0), ("shuffled.run", 1)])
def test_an_old_file_is_the_baseline_of_a_gate(call, run, expected):
    demo = Path(assay.__file__).parent / "demo" / "data"
    lines = (demo / "ngrams.run").read_text(encoding="utf-8").splitlines()
    turned = [" ".join([*line.split()[:4], str(-float(line.split()[4])), "ngrams"]) for line in lines]
    Path("ngrams.run").write_text("\n".join(lines), encoding="utf-8")
    Path("shuffled.run").write_text("\n".join(turned), encoding="utf-8")  # every list the other way round
    code, out, err = call(
        "gate", str(demo / "judgments.qrels"), f"ngrams={run}", "--protocol", "graded-012",
        "--not-worse-than", str(ARCHIVE / "evaluate.json"), "-m", "ndcg@10",
    )  # fmt: skip
    assert code == expected, out + err
