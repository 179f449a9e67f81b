"""Panels on the command line: several judges in one server, their money, their repeats, their faults."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

import assay
from assay.testing import Answer, FakeLLM
from commands import run_assay

PRICES = {"a": 10.0, "b": 100.0, "lost": 1.0}


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"query_id": f"q{i // 5}", "doc_id": f"d{i}", "query": f"query {i // 5}", "document": f"text {i}."}
        for i in range(30)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prices.toml").write_text(
        "".join(
            f'[[price]]\nhost = "127.0.0.1"\nmodel = "{model}"\ninput = {price}\noutput = {price}\ndate = 2026-11-01\n'
            for model, price in PRICES.items()
        )
    )
    return tmp_path


def judges(request) -> Answer | str:
    """`a` always says the same of a text, `b` another grade each time, `lost` nothing of every third text."""
    model, number = request.body["model"], int(re.search(r"text (\d+)", request.text)[1])
    usage = {"prompt_tokens": 500, "completion_tokens": 20}
    grade = number % 4 if model == "a" else random.Random(request.number).randrange(4)
    if model == "lost" and number % 3 == 0:
        return Answer("no idea", usage=usage)
    return Answer(json.dumps({"reason": "so", "grade": grade}), usage=usage)


def ask(server: FakeLLM, folder, *words) -> subprocess.CompletedProcess[str]:
    fixed = [
        "judge",
        "--pairs",
        "pairs.jsonl",
        "--url",
        server.url,
        "--cache",
        str(folder / "kept"),
        "--prices",
        "prices.toml",
    ]
    return run_assay(*fixed, *words, cwd=folder)


def asked(server: FakeLLM) -> Counter[str]:
    return Counter(request.body["model"] for request in server.requests)


def test_a_panel_is_written_printed_and_kept_in_a_result(folder):
    with FakeLLM(judges) as server:
        words = [
            "--judge",
            "a",
            "--judge",
            "b",
            "--repeats",
            "3",
            "-o",
            "j.qrels",
            "--details",
            "d.jsonl",
            "--report",
            "p.html",
        ]
        done = ask(server, folder, *words, "--format", "json")
        assert (done.returncode, asked(server)) == (0, {"a": 90, "b": 90}), done.stderr
    panel = json.loads(done.stdout)["panel"]
    assert next(one["flips"]["estimate"] for one in panel["judges"]) == 0.0
    assert panel["judges"][1]["flips"]["estimate"] > 0.5
    assert (panel["pairs"], panel["graded"], panel["repeats"]) == (30, 30, 3)
    rows = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
    assert len({(row["doc_id"], row["judge"], row["repeat"]) for row in rows}) == len(rows) == 180
    assert {row["grade"] for row in rows if row["judge"] == "a" and row["doc_id"] == "d7"} == {3.0}
    assert "a + b (relevance-en-1+" in assay.read_judgments(folder / "j.qrels").judge
    assert "Krippendorff" in (folder / "p.html").read_text()


def test_cost_and_tokens_are_those_of_all_answers_also_when_they_are_cached(folder):
    with FakeLLM(judges) as server:
        words = ["--judge", "a", "--judge", "b", "-o", "j.qrels", "--format", "json"]
        first, again = (json.loads(ask(server, folder, *words).stdout)["panel"]["judges"] for _ in range(2))
    assert first == again
    assert [one["tokens"] for one in again] == [30 * 520] * 2
    assert [one["cost"] for one in again] == pytest.approx([30 * 520 * 10 / 1e6, 30 * 520 * 100 / 1e6])


def test_a_dry_run_counts_all_judges_and_repeats_and_sends_nothing(folder):
    with FakeLLM(judges) as server:
        words = ["--judge", "a", "--judge", "b"]
        done = ask(server, folder, *words, "--repeats", "2", "--dry-run")
        assert "30 pairs for a: 60 calls, 0 more are in the cache" in done.stdout
        assert "All 2 judges together: 120 calls" in done.stdout
        assert not server.requests
        ask(server, folder, *words, "--repeats", "2", "-o", "j.qrels")
        done = ask(server, folder, *words, "--repeats", "3", "--dry-run")
        assert "30 pairs for b: 30 calls, 60 more are in the cache" in done.stdout
        assert "All 2 judges together: 60 calls" in done.stdout


def test_repeats_are_calls_of_their_own_and_kept_as_such(folder):
    with FakeLLM(judges) as server:
        for repeats, total in ((2, 60), (3, 90), (3, 90), (2, 90)):
            ask(
                server,
                folder,
                "--judge",
                "b",
                "--repeats",
                str(repeats),
                "-o",
                "j.qrels",
                "--details",
                f"{repeats}.jsonl",
            )
            assert len(server.requests) == total
    two, three = ([json.loads(line) for line in (folder / f"{n}.jsonl").read_text().splitlines()] for n in (2, 3))
    grades = {(row["doc_id"], row["repeat"]): row["grade"] for row in three}
    assert {(row["doc_id"], row["repeat"]): row["grade"] for row in two}.items() < grades.items()


def test_the_single_answer_in_the_cache_is_the_first_of_repeats_at_its_temperature(folder):
    with FakeLLM(judges) as server:
        ask(server, folder, "--judge", "a", "-o", "j.qrels")
        assert len(server.requests) == 30
        ask(server, folder, "--judge", "a", "--repeats", "2", "--temperature", "0", "-o", "j.qrels")
        assert len(server.requests) == 60
        assert {request.body["temperature"] for request in server.requests} == {0.0}
        ask(server, folder, "--judge", "a", "--repeats", "2", "-o", "j.qrels")
        assert len(server.requests) == 120
        assert server.requests[-1].body["temperature"] == 1.0


def test_the_budget_is_that_of_all_judges_together(folder):
    each = {"a": 520 * 10 / 1e6, "b": 520 * 100 / 1e6}
    with FakeLLM(judges) as server:
        words = ["--judge", "a", "--judge", "b", "-o", "j.qrels", "--format", "json", "--jobs", "4"]
        done = ask(server, folder, *words, "--max-cost", "1.0")
        sent = asked(server)
        assert sent["a"] == 30  # half of the money would do for it, and the rest is b's
        assert 0.5 < sum(each[model] * n for model, n in sent.items()) <= 1.0
        panel = json.loads(done.stdout)["panel"]
        assert panel["judges"][1]["failures"] == {"budget": 30 - sent["b"]}
        assert (panel["graded"], panel["by_all"]) == (30, sent["b"])
        done = ask(server, folder, *words, "--max-cost", "5")
        assert (done.returncode, asked(server)) == (0, {"a": 30, "b": 30})


def test_a_judge_that_fails_leaves_its_pairs_to_the_others(folder):
    with FakeLLM(judges) as server:
        done = ask(server, folder, "--judge", "a", "--judge", "lost", "--judge", "b", "-o", "j.qrels")
    assert done.returncode == 0
    assert "lost left 10 pairs to the other judges" in done.stdout
    assert "30 of 30 pairs have a grade of the panel, 20 of them from every judge." in done.stdout


def test_judges_may_be_at_other_addresses(folder):
    with FakeLLM(judges) as one, FakeLLM(judges) as two:
        done = ask(one, folder, "--judge", "a", "--judge", f"a@{two.url}", "-o", "j.qrels")
        assert (len(one.requests), len(two.requests)) == (30, 30)
    assert "2 judges on 30 pairs: Krippendorff's alpha 1.00" in done.stdout


def test_what_has_no_effect_or_lacks_something_is_refused_before_anything_is_paid(folder):
    with FakeLLM(judges) as server:
        for words, told in (
            (["--combine", "calibrated"], "need people's labels"),
            (["-m", "ndcg@10"], "measures are computed for runs"),
            (["--labels", "missing.qrels"], "missing.qrels"),
        ):
            done = ask(server, folder, "--judge", "a", "-o", "j.qrels", *words)
            assert (done.returncode, told in done.stderr) == (2, True), done.stderr
        assert not server.requests


def test_a_panel_that_is_killed_goes_on_where_it_stopped_and_pays_nothing_twice(folder):
    def slow(request) -> Answer:
        model, number = request.body["model"], int(re.search(r"text (\d+)", request.text)[1])
        return Answer(json.dumps({"reason": "so", "grade": (number + len(model)) % 4}), delay=0.05)

    words = ["--judge", "a", "--judge", "b", "--repeats", "2", "--jobs", "4", "-o", "j.qrels", "--details", "d.jsonl"]
    with FakeLLM(slow) as server:
        fixed = ["judge", "--pairs", "pairs.jsonl", "--url", server.url, "--cache", str(folder / "kept")]
        command = [sys.executable, "-m", "assay", *fixed, *words]
        for least in (20, 80):
            running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = time.monotonic() + 60
            while len(server.requests) < least and time.monotonic() < end:
                time.sleep(0.01)
            running.send_signal(signal.SIGKILL)
            running.wait()
            assert not (folder / "j.qrels").exists()
        done = run_assay(*fixed, *words, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert 120 <= len(server.requests) <= 120 + 2 * 4  # those under way when it was killed
    rows = [json.loads(line) for line in (folder / "d.jsonl").read_text().splitlines()]
    assert all(row["grade"] == (int(row["doc_id"][1:]) + 1) % 4 for row in rows)
    assert len(rows) == 120
