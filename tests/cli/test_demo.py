"""The demo fits one screen, says what its result files say, and `--verbose` holds the rest."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from assay.analysis.demonstration import DemoSteps, run_demo
from assay.demo import Bundle
from assay.demo.log import simulate_log
from assay.report.renderers import terminal
from assay.report.views import demo
from commands import run_assay

LINES, COLUMNS = 45, 100
CLOSING = 10  # lines after the screen: the A/B test with three commands, the page, the results, what to run next
COMMAND = re.compile(r"^  (\S*assay .+)$", re.MULTILINE)
LANGS = pytest.mark.parametrize("lang", ["en", "zh"])


@pytest.fixture(scope="module")
def found(demo_run):
    """What the demo found, from its cache."""
    names = (
        tuple(row["name"] for row in results(demo_run.folder, f"{part}/result.json")["experiment"]["combinations"])
        for part in ("ladder", "chunking")
    )
    return run_demo(Bundle(demo_run.folder / "tea"), DemoSteps(*names))


@pytest.fixture
def screen(found):
    """The screen in a language, as wide as asked."""
    return lambda lang, columns=COLUMNS: terminal.write(demo.screen(found), lang, columns=columns)


def width(line: str) -> int:
    """Columns of a line: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def numbers(text: str) -> list[str]:
    """Numbers with four digits behind the point: means, intervals and p-values."""
    return re.findall(r"\d\.\d{4}", text)


def results(folder, name):
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_what_the_demo_prints_fits_one_screen(demo_run):
    lines = demo_run.printed.splitlines()
    assert len(lines) <= LINES
    assert max(width(line) for line in lines if not COMMAND.match(line)) <= COLUMNS


@LANGS
def test_the_screen_fits_in_both_languages_and_on_a_narrow_terminal(found, screen, lang):
    about = terminal.write(demo.about(Bundle(found.ladder.experiment.folder)), lang)
    assert len(about.splitlines()) + 1 + len(screen(lang).splitlines()) + 1 + CLOSING <= LINES
    for columns in (80, COLUMNS):
        assert max(map(width, screen(lang, columns).splitlines())) <= columns
    assert numbers(screen(lang, 80)) == numbers(screen(lang, 120)) == numbers(screen("en"))


@LANGS
def test_the_screen_says_what_the_result_files_say(demo_run, screen, lang):
    rows = {line.split("  ")[0]: line for line in screen(lang).splitlines()}
    for row in results(demo_run.folder, "ladder/result.json")["experiment"]["combinations"]:
        quality = row["quality"]["ndcg@10"]
        mean, p = quality["mean"], quality["pvalue"]
        told = [mean["estimate"], mean["low"], mean["high"], *([] if p is None else [p])]
        assert numbers(rows[row["name"]]) == [f"{value:.4f}" for value in told]
        assert f"{row['latency_ms']['p95']:,.1f}" in rows[row["name"]].split()
        assert rows[row["name"]].endswith("*") == row["pareto"]
    for row in results(demo_run.folder, "chunking/result.json")["experiment"]["combinations"]:
        labels = ("precision@5", "recall@5", "faithfulness")
        means = [f"{row['quality'][label]['mean']['estimate']:.4f}" for label in labels]
        assert numbers(rows[row["name"]])[:3] == means
        built = row["index"]["build_seconds"]
        assert float(rows[row["name"]].split()[-1]) == pytest.approx(built, rel=0.01)
    stages = [one["stage"] for one in results(demo_run.folder, "answers.json")["answers"]["samples"]]
    for stage in set(stages) - {"fine"}:
        assert re.search(rf"^{stages.count(stage)} ", screen(lang), re.MULTILINE), stage


def test_the_decision_follows_from_the_evidence(demo_run, screen):
    rows = results(demo_run.folder, "ladder/result.json")["experiment"]["combinations"]
    best = max((row["quality"]["ndcg@10"] | {"name": row["name"]} for row in rows), key=lambda q: q["mean"]["estimate"])
    shown = best["verdict"] == "better"
    text = " ".join(screen("en").split())
    assert (f"Take {best['name']}: " if shown else "Keep bm25: ") in text
    assert ("not shown to be better than bm25" in text) == (not shown)


@LANGS
def test_verbose_and_the_page_hold_all_that_the_screen_says_and_more(demo_run, found, screen, lang):
    full = terminal.write(demo.table(found), lang)
    page = (demo_run.folder / "report.html").read_text(encoding="utf-8")
    assert set(numbers(screen(lang))) <= set(numbers(full))
    assert set(numbers(screen(lang))) <= set(numbers(page))
    for part in ("map@10", "hallucination_rate", "context_recall", "reciprocal_rank", "troubleshooting", "0.87"):
        assert part in full
        assert part not in screen(lang)


def test_commands_that_the_demo_prints_run_as_they_are(demo_run, tmp_path):
    shutil.copytree(demo_run.folder, tmp_path / "demo")
    commands = [shlex.split(line) for line in COMMAND.findall(demo_run.printed)]
    assert len(commands) == 4
    for program, *words in commands:
        assert program.endswith("assay")
        assert not any(word.startswith("/") for word in words)
        done = run_assay(*words, cwd=tmp_path, ASSAY_MODELS=str(tmp_path / "none"))
        assert done.returncode == 0, (words, done.stderr)


def test_the_guide_to_a_decision_runs_as_it_is_written(demo_run, tmp_path):
    shutil.copytree(demo_run.folder, tmp_path / "assay-demo")
    guide = (Path(__file__).parents[2] / "docs" / "guide-decision.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ assay (.+)$", guide, re.MULTILINE)
    assert len(commands) == 8
    for line in commands:
        done = run_assay(*shlex.split(line), cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)


def test_files_that_the_demo_names_are_there(demo_run):
    assert f"{demo_run.folder.name}/report.html" in demo_run.printed
    for name in ("ladder/result.json", "chunking/result.json", "answers.json", "log.jsonl", "ab.json"):
        assert name in demo_run.printed and (demo_run.folder / name).is_file()


def test_the_demo_ends_with_the_decision_of_a_simulated_test_whose_lift_is_known(demo_run):
    sim = simulate_log(Bundle(demo_run.folder / "tea"))
    found = results(demo_run.folder, "ab.json")["ab_test"]
    (relative,) = [one["lift"]["relative"] for one in found["tests"] if one["measure"] == "any_click"]
    assert relative["low"] <= sim.lift <= relative["high"]
    text = " ".join(demo_run.printed.split())
    assert "simulated" in text and f"the true lift is {sim.lift:+.1%}" in text
    assert "+14.1%. Ship 'bm25'." in text


def test_clicks_of_the_simulated_log_are_as_frequent_as_its_model_says(demo_run):
    sim = simulate_log(Bundle(demo_run.folder / "tea"))
    asked, clicked = {}, set()
    for line in (demo_run.folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "user_query" in row:
            asked[row["query_id"]] = row["query_attributes"]["experiment"]["variant"]
        elif row["action_name"] == "click":
            clicked.add(row["query_id"])
    for name in ("ngrams", "bm25"):
        hits = [query in clicked for query, variant in asked.items() if variant == name]
        error = (sim.share(name) * (1 - sim.share(name)) / len(hits)) ** 0.5
        assert sum(hits) / len(hits) == pytest.approx(sim.share(name), abs=4 * error)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run_assay("demo", "-o", tmp_path / "file" / "below")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_packages_the_runs_are_compared_and_the_command_that_installs_stays_on_one_line(tmp_path):
    code = "import sys; sys.modules['bm25s'] = None; sys.argv = ['assay', 'demo']; from assay.cli import main; main()"
    words = [sys.executable, "-c", code]
    narrow = {**os.environ, "COLUMNS": "60"}
    done = subprocess.run(words, cwd=tmp_path, env=narrow, capture_output=True, text=True, check=True)
    assert any("Left out: " in line and line.endswith("[pipeline,text]'") for line in done.stdout.splitlines())
    assert "ngrams" in done.stdout
    assert [shlex.split(line)[1] for line in COMMAND.findall(done.stdout)] == ["diagnose"]
