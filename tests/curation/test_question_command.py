"""`assay set questions` with a model: dry run, budget, resume after a kill, bad input, and a real small model."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from pypdf import PdfWriter

import assay
from assay.llm import Client, Patience
from assay.testing import FakeLLM
from commands import run_assay as run
from conftest import STRESS
from question_writer import english, reply

pytest.importorskip("bm25s")

PRICES = 'price = [{ host = "127.0.0.1", model = "m", date = 2026-01-01, input = 1.0, output = 4.0 }]'


@pytest.fixture
def place(tmp_path):
    """A folder with documents and prices."""
    rows = [{"doc_id": name, "text": text} for name, text in english(30).items()]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


def words(server, *more):
    return (
        "set",
        "questions",
        "docs.jsonl",
        "-n",
        "6",
        "--judge",
        "m",
        "--url",
        server.url,
        "--cache",
        "cache.sqlite",
        *more,
    )


def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(place):
    with FakeLLM(reply) as server:
        done = run(*words(server, "--dry-run", "--prices", "prices.toml", "-o", "made"), cwd=place)
        assert server.requests == ()
    assert done.returncode == 0, done.stderr
    assert "writing questions" in done.stdout
    assert "--max-cost" in done.stdout
    assert not (place / "made").exists()
    with FakeLLM(reply) as server:
        done = run(*words(server, "--dry-run", "--prices", "prices.toml", "--lang", "zh"), cwd=place)
    assert "编写问题" in done.stdout


def test_a_set_is_written_with_the_counts_of_every_filter_printed(place):
    with FakeLLM(reply) as server:
        done = run(*words(server, "-o", "made"), cwd=place)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    assert "questions tried 6" in printed
    assert printed.count("fell:") == 14
    assert "questions kept 6" in printed
    rows = [json.loads(line) for line in (place / "made" / "queries.jsonl").read_text().splitlines()]
    assert {row["made_by"] for row in rows} == {"model"}
    (place / "e.toml").write_text(
        '[data]\ndocuments = "docs.jsonl"\nqueries = "made"\ngold = "made"\n[retrieve]\nmethod = "bm25"\n'
    )
    done = run("run", "e.toml", "-o", "results", cwd=place)
    assert done.returncode == 0, done.stderr


def test_a_budget_that_is_used_up_keeps_what_there_is_and_the_next_run_goes_on(place):
    with FakeLLM(reply) as server:
        whole = run(*words(server, "-o", "whole", "--cache", "other.sqlite"), cwd=place)
        assert whole.returncode == 0
        calls = len(server.requests)
    with FakeLLM(reply) as server:
        port = server.url
        done = run(*words(server, "--prices", "prices.toml", "--max-cost", "0.012", "-o", "first"), cwd=place)
        assert done.returncode == 1
        assert "ended early" in " ".join(done.stdout.split())
        first = len(server.requests)
        assert 0 < first < calls
        done = run(*words(server, "--prices", "prices.toml", "--max-cost", "1", "-o", "second"), cwd=place)
        assert done.returncode == 0, (done.stderr, port)
        assert len(server.requests) == calls
    assert (place / "second" / "queries.jsonl").read_bytes() == (place / "whole" / "queries.jsonl").read_bytes()


def test_killed_at_any_moment_the_same_command_gives_the_same_set_and_pays_nothing_twice(place, stress):
    """What is in flight at the kill, at most as many calls as may be under way, is all that can be lost."""
    draw, jobs = random.Random(5), 4

    def command(server, cache, out):
        return [sys.executable, "-m", "assay", *words(server, "--jobs", str(jobs), "--cache", cache, "-o", out)]

    def made(out):
        return [(place / out / name).read_bytes() for name in ("queries.jsonl", "gold.jsonl")]

    env = {**os.environ, "ASSAY_LANG": "en"}
    with FakeLLM(reply) as server:
        subprocess.run(command(server, "whole.sqlite", "whole"), cwd=place, env=env, check=True, capture_output=True)
        calls, wanted = len(server.requests), made("whole")
    for number in range(30 if stress else 1):
        with FakeLLM(reply) as server:
            once = command(server, f"{number}.sqlite", f"out{number}")
            with subprocess.Popen(
                once, cwd=place, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as running:
                after, end = draw.randrange(1, calls), time.monotonic() + 60
                while len(server.requests) < after and time.monotonic() < end and running.poll() is None:
                    time.sleep(0.002)
                time.sleep(draw.uniform(0, 0.02))
                running.send_signal(signal.SIGKILL)
            if not (place / f"out{number}").exists():
                done = subprocess.run(once, cwd=place, env=env, check=False, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
            assert made(f"out{number}") == wanted
            assert len(server.requests) <= calls + jobs


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["empty", "scanned", "blank"])
def test_documents_without_text_are_refused_in_one_line_before_anything_is_paid(tmp_path, kind):
    folder = tmp_path / "docs"
    folder.mkdir()
    if kind == "scanned":
        writer = PdfWriter()
        writer.add_blank_page(100, 100)
        writer.write(folder / "page.pdf")
    if kind == "blank":
        (folder / "a.txt").write_text(" \n")
    with FakeLLM(reply) as server:
        done = run("set", "questions", "docs", "--judge", "m", "--url", server.url, cwd=tmp_path)
        assert server.requests == ()
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--max-cost", "1"), "--max-cost has no effect without a judge"),
        (("--style", "short"), "--style"),
        (("--judge", "m"), "--url"),
        (("--judge", "m", "--url", "http://127.0.0.1:9/v1", "--categories", "fact"), "--categories"),
        (("--judge", "m", "--url", "http://127.0.0.1:9/v1", "--categories", "facts=1"), "facts"),
        (("--judge", "m", "--url", "http://127.0.0.1:9/v1", "--style-seeds", "none.jsonl"), "none.jsonl"),
    ],
)
def test_options_that_cannot_work_are_refused_in_one_line(place, more, told):
    done = run("set", "questions", "docs.jsonl", *more, cwd=place)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert told in done.stderr


def test_documents_that_are_the_same_give_one_question_whose_gold_is_all_of_them(tmp_path):
    text = next(iter(english(1).values()))
    rows = [{"doc_id": f"{i}", "text": text} for i in range(5)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeLLM(reply) as server:
        done = run(
            "set", "questions", "docs.jsonl", "-n", "4", "--judge", "m", "--url", server.url, "--categories", "fact=1",
            "-o", "made", cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "only 1 of 4 questions" in " ".join(done.stdout.split())
    gold = [json.loads(line) for line in (tmp_path / "made" / "gold.jsonl").read_text().splitlines()]
    assert {row["doc_id"] for row in gold} == {"0", "1", "2", "3", "4"}


def test_gold_that_is_no_longer_in_its_document_is_refused_with_the_place(place):
    with FakeLLM(reply) as server:
        assert run(*words(server, "-o", "made"), cwd=place).returncode == 0
    rows = [json.loads(line) for line in (place / "docs.jsonl").read_text().splitlines()]
    (place / "docs.jsonl").write_text(
        "".join(json.dumps({**row, "text": f"New. {row['text']}"}) + "\n" for row in rows)
    )
    (place / "e.toml").write_text(
        '[data]\ndocuments = "docs.jsonl"\nqueries = "made"\ngold = "made"\n[retrieve]\nmethod = "bm25"\n'
    )
    done = run("run", "e.toml", "-o", "results", cwd=place)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "gold.jsonl" in done.stderr
    assert "at position" in done.stderr


# A real model ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not STRESS, reason="runs in make stress: a real model takes minutes")
def test_with_a_real_small_model_the_work_ends_and_counts_add_up(real_model, tmp_path):
    """It proves plumbing: a model of this size writes few questions that pass."""
    documents = {
        "tea": "Sencha is steamed for about a minute right after picking, which keeps the leaves green. Its water should have seventy degrees.",
        "coffee": "Espresso is pressed through fine grounds with nine bars. A shot takes about thirty seconds.",
        "cocoa": "Cocoa beans ferment under banana leaves for five days before they are dried in the sun.",
    }
    with Client(real_model, "smollm2", cache=tmp_path / "c.sqlite", patience=Patience(timeout=250)) as client:
        found = assay.make_questions(documents, 1, judge=client, categories={"fact": 1.0}, allow_known=True)
        assert found.drawn == len(found.questions) + sum(one.fell for one in found.filters) > 0
        assert found.bill is not None
        assert found.bill.calls >= found.drawn
        assert not found.stopped
        for one in found.questions:
            for span in one.gold:
                assert documents[span.doc_id][span.start : span.end] == span.text
        before = client.calls
        again = assay.make_questions(documents, 1, judge=client, categories={"fact": 1.0}, allow_known=True)
        assert again.questions == found.questions
        assert client.calls == before
