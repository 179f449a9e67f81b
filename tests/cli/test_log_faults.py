"""Faults of event logs at the command line: `ab analyse` and `log metrics` count and say each, and none moves a mean silently."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta

import pytest

from commands import run_assay

START = datetime(2026, 10, 5, 8, tzinfo=UTC)


def make_lines(users=120):
    """A clean log: two requests of every user, one of which is clicked; the variant is that of even and odd users."""
    rows = []
    for i in range(users):
        for j in range(2):
            time = START + timedelta(days=i // 2 % 8, minutes=i, hours=j)
            of = {"query_id": f"q{i}-{j}", "client_id": f"u{i}"}
            about = {"experiment": {"id": "x", "variant": ("old", "new")[i % 2]}, "latency_ms": 20 + i % 7}
            rows.append({**of, "timestamp": time.isoformat(), "user_query": "tea", "query_response_hit_ids": ["a", "b"],
                         "query_attributes": about})  # fmt: skip
            if (i + j) % 3:
                rows.append({**of, "timestamp": (time + timedelta(seconds=9)).isoformat(), "action_name": "click",
                             "event_attributes": {"object": {"object_id": "a"}, "position": {"ordinal": 1}}})  # fmt: skip
    return [json.dumps(row) for row in rows]


def change(line, **values):
    return json.dumps({**json.loads(line), **values})


def cut_last(lines):
    return [*lines, lines[-1][: len(lines[-1]) // 2]]


def repeat_batch(lines):
    return [*lines, *lines[40:80]]


def shuffle_days(lines):
    moved = list(lines)
    random.Random(1).shuffle(moved)
    return moved


def skew_clocks(lines):
    """A click of a browser whose clock is an hour behind, and one from the year 2099."""
    clicks = [line for line in lines if "click" in line]
    early = (START - timedelta(hours=1)).isoformat()
    return [
        *lines,
        change(clicks[0], timestamp=early, action_name="hover"),
        change(clicks[1], timestamp="2099-01-01T00:00:00Z"),
    ]


def add_bot(lines):
    """A user whose browser says that it is a program, in one variant."""
    of = {"client_id": "crawler", "agent": "Googlebot/2.1"}
    return [*lines, *(change(lines[0], **of, query_id=f"bot{i}", timestamp=(START + timedelta(seconds=i)).isoformat())
                      for i in range(600))]  # fmt: skip


def spell_otherwise(lines):
    return [line.replace('"new"', '"New "') if i % 5 == 0 else line for i, line in enumerate(lines)]


@pytest.fixture
def write(tmp_path):
    def write_log(lines, end="\n"):
        (tmp_path / "log.ndjson").write_text("\n".join(lines) + end, encoding="utf-8")
        return tmp_path

    return write_log


def ask(folder, command, *more):
    words = {"ab": ("ab", "analyse", "log.ndjson", "-m", "any_click", "--control", "old"),
             "log": ("log", "metrics", "log.ndjson", "-m", "any_click", "--by", "variant")}[command]  # fmt: skip
    return run_assay(*words, *more, cwd=folder)


def numbers(done):
    """The lines of the table of measures."""
    return [line for line in done.stdout.splitlines() if re.match(r"((old|new) .*)?any_click ", line)]


@pytest.mark.parametrize("command", ["ab", "log"])
@pytest.mark.parametrize(("fault", "said"), [
    (cut_last, "1 last line is cut off: set aside"), (repeat_batch, r"\d+ (rows|requests|events|lines).*(again|repeat|merged|same)"),
    (shuffle_days, ""), (skew_clocks, "1 row is from .* the future: set aside\n- 1 event is more than a minute earlier"),
])  # fmt: skip
def test_a_fault_is_counted_and_moves_no_number(fault, said, command, write):
    clean = ask(write(make_lines()), command)
    assert clean.returncode == 0, clean.stderr
    faulty = fault(make_lines())
    done = ask(write(faulty, end="" if fault is cut_last else "\n"), command)
    assert done.returncode == 0, done.stderr
    assert numbers(done) == numbers(clean) != []
    assert re.search(said, done.stdout), done.stdout
    assert not said or not re.search(said, clean.stdout)


@pytest.mark.parametrize(("command", "drop"), [("ab", ("--drop-bots",)), ("log", ("--drop-bots",))])
def test_a_bot_is_counted_and_can_be_left_out(command, drop, write):
    clean = ask(write(make_lines()), command)
    folder = write(add_bot(make_lines()))
    kept, dropped = ask(folder, command), ask(folder, command, *drop)
    assert re.search(r"1 user.*program|programs|bot", kept.stdout), kept.stdout
    assert numbers(dropped) == numbers(clean)
    assert re.search(r"program|bot", ask(folder, "log").stdout)


def test_other_spellings_of_a_variant_are_refused_by_the_test_and_said_by_the_metrics(write):
    folder = write(spell_otherwise(make_lines()))
    done = ask(folder, "ab")
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert "look like the same" in done.stderr
    assert ask(folder, "ab", "--fold-variants").returncode == 0
    assert "New" in ask(folder, "log").stdout


@pytest.mark.parametrize("words", [
    ("ab", "analyse", "log.ndjson", "-m", "any_click"),  # which is the control?
    ("ab", "analyse", "log.ndjson", "-m", "nothing", "--control", "old"),
    ("ab", "analyse", "log.ndjson", "-m", "any_click", "--control", "older"),
    ("ab", "analyse", "none.ndjson", "-m", "any_click"), ("ab", "plan", "log.ndjson", "--lift", "0.1"),
    ("ab", "plan", "log.ndjson", "-m", "any_click"), ("log", "metrics", "log.ndjson", "--by", "nobody"),
    ("log", "metrics", "log.ndjson", "--timezone", "Mars"), ("log", "metrics", "none.ndjson"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_exit_2(words, write):
    done = run_assay(*words, cwd=write(make_lines(users=20)))
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1), done.stderr


def test_a_plan_reads_a_log(write):
    done = run_assay("ab", "plan", "log.ndjson", "-m", "any_click", "--lift", "0.1", cwd=write(make_lines()))
    assert (done.returncode, "any_click" in done.stdout) == (0, True)
