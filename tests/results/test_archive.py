"""Result files that earlier versions wrote are read, with the numbers they were written with."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path

import pytest

import assay

ARCHIVE = Path(__file__).parents[1] / "archive" / "schema-1"
WITH_SYSTEMS = sorted(path.stem for path in ARCHIVE.glob("*.json") if json.loads(path.read_text()).get("systems"))
SEVERAL = sorted(
    name for name in WITH_SYSTEMS if len(json.loads((ARCHIVE / f"{name}.json").read_text())["systems"]) > 1
)
SHOWN = sorted(
    {*WITH_SYSTEMS, *(path.stem for kind in ("bench", "cost", "roi") for path in ARCHIVE.glob(f"{kind}*.json"))}
)
DEMO = Path(assay.__file__).parent / "demo" / "data"


def raw(name):
    return json.loads((ARCHIVE / f"{name}.json").read_text(encoding="utf-8"))


def test_the_archive_holds_a_file_of_every_command_that_writes_results():
    assert {path.stem for path in ARCHIVE.glob("*.json")} == {
        "answers", "answers-embedding", "answers-judged", "answers-systems", "bench", "bench-open", "bench-threads",
        "calibrate", "calibrate-votes", "check", "compare", "compare-labelled", "compare-lifts", "cost", "cost-machine",
        "diagnose", "diagnose-measured", "evaluate", "evaluate-records", "evaluate-skipped", "evaluate-weighted",
        "experiment", "experiment-holdout", "experiment-judged", "experiment-spans", "experiment-variants",
        "gate", "gate-inconclusive", "gate-rules", "pairs", "rerank", "roi", "roi-gain", "sweep", "validate", "validate-plain",
    }  # fmt: skip


@pytest.mark.parametrize("name", WITH_SYSTEMS)
def test_means_of_an_old_file_are_those_it_was_written_with(name):
    for system, scores in zip(raw(name)["systems"], assay.read_result(ARCHIVE / f"{name}.json"), strict=True):
        assert scores.name == system["name"]
        means = {label: math.nan if mean is None else mean for label, mean in system["metrics"].items()}
        assert scores.mean() == pytest.approx(means, abs=0, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize(("suffix", "lang"), [("html", "en"), ("md", "zh")])
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_of_an_old_file_shows_its_means(call, name, suffix, lang):
    code, _, err = call("report", str(ARCHIVE / f"{name}.json"), "-o", f"page.{suffix}", "--lang", lang)
    assert code == 0, err
    text = unescape(re.sub(r"<[^>]+>", " ", Path(f"page.{suffix}").read_text(encoding="utf-8"))).replace("\\_", "_")
    for system in raw(name)["systems"]:
        assert system["name"] in text
        assert f"{system['metrics'][measure_of_all(name)]:.4f}" in text


def measure_of_all(name):
    """The first measure that has a value of every query for every system, else the first: others are compared over fewer."""
    data = raw(name)
    columns = data["per_query"]["values"]
    labels = list(data["systems"][0]["metrics"])
    return next((label for label in labels if not any(None in columns[system][label] for system in columns)), labels[0])


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
    lines = (DEMO / "ngrams.run").read_text(encoding="utf-8").splitlines()
    turned = [" ".join([*line.split()[:4], str(-float(line.split()[4])), "ngrams"]) for line in lines]
    Path("ngrams.run").write_text("\n".join(lines), encoding="utf-8")
    Path("shuffled.run").write_text("\n".join(turned), encoding="utf-8")  # every list the other way round
    code, out, err = call(
        "gate", str(DEMO / "judgments.qrels"), f"ngrams={run}", "--protocol", "graded-012",
        "--not-worse-than", str(ARCHIVE / "evaluate.json"), "-m", "ndcg@10",
    )  # fmt: skip
    assert code == expected, out + err


@pytest.mark.parametrize("name", WITH_SYSTEMS)
def test_an_old_file_passes_a_gate_at_its_means_and_fails_above_them(call, name):
    (first, *others) = raw(name)["systems"]
    measure, value = next((label, mean) for label, mean in first["metrics"].items() if mean is not None)
    lowest = min([value, *(system["metrics"][measure] for system in others)])
    for limit, passes in ((lowest, True), (lowest + 0.01, False)):
        code, out, err = call(
            "gate", str(ARCHIVE / f"{name}.json"), "--fail-under", f"{measure}={limit!r}", "--min-coverage", "0"
        )
        assert code == (0 if passes else 1), out + err


@pytest.mark.parametrize("name", sorted(set(SEVERAL) - {"evaluate-skipped"}))
def test_the_systems_of_an_old_file_are_compared(call, name):
    measure = measure_of_all(name)
    code, out, err = call("compare", str(ARCHIVE / f"{name}.json"), "-m", measure, "--format", "json")
    assert code == 0, err
    means = [system["metrics"][measure] for system in raw(name)["systems"]]
    found = list(numbers(json.loads(out)))
    assert all(any(value == pytest.approx(mean) for value in found) for mean in means)


def test_systems_of_an_old_file_that_skip_different_queries_are_not_compared(call):
    assert call("compare", str(ARCHIVE / "evaluate-skipped.json"))[0] == 2


@pytest.mark.parametrize("name", WITH_SYSTEMS)
def test_an_old_file_is_diagnosed(call, name):
    code, out, err = call("diagnose", str(ARCHIVE / f"{name}.json"), "--format", "json")
    assert code == 0, err
    assert json.loads(out)["diagnoses"]


@pytest.mark.parametrize(("name", "threads"), [("bench", 1), ("bench-threads", 2)])
def test_an_old_bench_gives_the_throughput_of_a_machine(call, name, threads):
    load = next(load for load in raw(name)["bench"]["loads"] if load["threads"] == threads)
    documents = load["candidates"] or 50
    code, out, err = call(
        "cost", "--method", f"own,machine=3.6,bench={ARCHIVE / f'{name}.json'},threads={threads}",
        "--documents-per-query", str(documents), "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    per_query = 3.6 / 3600 / load["throughput_qps"]
    assert any(value == pytest.approx(per_query) for value in numbers(json.loads(out)))


@pytest.mark.parametrize(("name", "method"), [("cost", "cross-encoder"), ("cost-machine", "own")])
def test_old_costs_feed_a_return_on_investment(call, name, method):
    code, out, err = call(
        "roi", "--gain", "0.2", "--costs", str(ARCHIVE / f"{name}.json"), "--method", method,
        "--revenue-per-query", "0.01", "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    per_day = next(row["per_day"] for row in raw(name)["economics"]["costs"] if row["method"] == method)
    assert any(value == pytest.approx(per_day) for value in numbers(json.loads(out)))


def test_an_old_calibration_lifts_the_stamp_of_its_own_judge_only(call):
    run = str(DEMO / "bm25.run")
    calibration = ("--calibration", str(ARCHIVE / "calibrate-votes.json"))
    code, _, err = call("evaluate", str(ARCHIVE / "judged.jsonl"), run, "-m", "ndcg@10", *calibration)
    assert code == 0, err
    assert call("evaluate", str(ARCHIVE / "judged.qrels"), run, "-m", "ndcg@10", *calibration)[0] == 2


def test_old_verdicts_show_how_much_a_judge_differs_from_itself(call):
    code, out, err = call(
        "calibrate", str(ARCHIVE / "judged.jsonl"), str(DEMO / "judgments.qrels"),
        "--votes", str(ARCHIVE / "judged-details.jsonl"), "--format", "json",
    )  # fmt: skip
    assert code == 0, err
    old, new = raw("calibrate-votes")["calibration"], json.loads(out)["calibration"]
    assert new["kappa"] == {**old["kappa"], "interval": {**old["kappa"]["interval"], "near": []}}
    assert (new["pairs"], new["exact"]) == (old["pairs"], old["exact"])


def test_training_queries_that_were_written_down_are_used_again(call):
    split = dict(line.split("\t") for line in (ARCHIVE / "split.tsv").read_text(encoding="utf-8").splitlines()[1:])
    code, _, err = call(
        "fuse", str(DEMO / "bm25.run"), str(DEMO / "ngrams.run"), "--tune", str(DEMO / "judgments.qrels"),
        "--train-queries", str(ARCHIVE / "split.tsv"), "--write-split", "again.tsv", "-o", "fused.run",
    )  # fmt: skip
    assert code == 0, err
    again = dict(line.split("\t") for line in Path("again.tsv").read_text(encoding="utf-8").splitlines()[1:])
    assert again == split


def test_lists_and_answers_that_an_old_experiment_wrote_are_evaluated(call):
    documents = assay.read_run(ARCHIVE / "experiment-run.jsonl").to_dict()
    assert set(documents) == {"q01", "q02", "q08", "q11", "q31", "q35"}
    found = assay.answers(ARCHIVE / "experiment-samples.jsonl", ["token_f1"])
    expected = next(system["metrics"]["token_f1"] for system in raw("experiment-judged")["systems"])
    assert found["token_f1"] == pytest.approx(expected)
