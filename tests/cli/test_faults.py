"""Disks that fail and processes that are killed: an old file or a new one, never a torn one, and nothing is paid twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from assay.cli import COMMANDS as NAMES
from assay.cli import app
from assay.cli.places import OUTPUT
from assay.testing import Answer, FakeLLM
from failing_disk import COMMANDS, FRESH, OLD
from net.making import judge_by_texts

HERE = Path(__file__).parents[1]


def is_whole(name, text, new):
    """Say whether an output is what the command writes; dates and times in it may differ."""
    if name.endswith(".json"):
        return json.loads(text)["schema"] == json.loads(new)["schema"]
    ends = {".html": "</html>", ".xml": "</testsuites>"}.get(Path(name).suffix)
    return text == new if ends is None else text.rstrip().endswith(ends)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_fails_at_any_operation_leaves_the_old_file_or_the_new_one(tmp_path, stress, command):
    done = subprocess.run(
        [sys.executable, HERE / "failing_disk.py", tmp_path / "work", command, "every" if stress else "some"],
        capture_output=True, text=True, check=False, env={**os.environ, "ASSAY_CACHE": str(tmp_path / "cache.sqlite")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fine, *found = json.loads(done.stdout)
    assert fine["code"] == 0, fine["told"]
    assert OLD not in fine["left"].values()
    assert any(one["code"] == 2 for one in found)
    for one in found:
        assert one["code"] in ({0, 1, 2} if command == "check" else {0, 2}), one  # what cannot be read is a finding
        assert not one["drafts"], one
        for name, text in one["left"].items():
            if text is None and name in FRESH and one["code"]:
                continue
            assert text is not None and ((text == OLD and one["code"]) or is_whole(name, text, fine["left"][name])), one
        if one["code"] == 2:
            last = [line for line in one["told"].splitlines() if line.startswith("assay: ")]
            assert len(last) == 1 and "Traceback" not in one["told"], one


def find_writers(command: click.Command, path: str) -> dict[str, set[str]]:
    """Commands that write files, with the options and arguments that name them."""
    if isinstance(command, click.Group):
        found = [find_writers(inner, f"{path} {name}") for name, inner in command.commands.items()]
        return {path: names for one in found for path, names in one.items()}
    names = {param.opts[-1] for param in command.params if param.type is OUTPUT}
    return {path: names} if names else {}


def test_every_command_that_writes_a_file_meets_a_disk_that_fails():
    """All but the demo, which writes what run, diagnose, answers and report write, and takes half a minute."""
    tree = {name: app.get_command(click.Context(app), name) for name in NAMES if name != "demo"}
    for path, names in [one for name, command in tree.items() for one in find_writers(command, name).items()]:
        used = [word for words, _ in COMMANDS.values() if " ".join(words).startswith(path) for word in words]
        assert used, path
        assert {name for name in names if name.startswith("-")} <= set(used) | {"--output"}, path


def reply(request):
    """Verdicts by the texts alone, after a while."""
    return Answer(judge_by_texts(request), delay=0.02)


SAMPLES = 30


def test_killing_answers_with_a_judge_and_running_it_again_changes_nothing(tmp_path, stress):
    """At most the calls in flight are paid again, and the bytes are those of a run that nobody killed."""
    draw = random.Random(3)
    rows = [
        {"id": str(i), "question": f"When {i}?", "answer": f"In {1800 + i}.", "contexts": [f"It opened in {1800 + i}."]}
        for i in range(SAMPLES)
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def command(server, cache):
        return [
            sys.executable, "-m", "assay", "answers", "s.jsonl", "--method", "llm", "--judge", "m", "--url", server.url, "--jobs", "4",
            "--cache", str(cache), "-o", "out.json", "--per-sample", "each.jsonl", "-q",
        ]  # fmt: skip

    def finish(server, cache):
        done = subprocess.run(command(server, cache), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        result = json.loads((tmp_path / "out.json").read_text())
        kept = {key: result[key] for key in ("systems", "per_query") if key in result}
        return done.returncode, kept, (tmp_path / "each.jsonl").read_bytes()

    with FakeLLM(reply) as server:
        wanted, calls = finish(server, tmp_path / "whole.sqlite"), len(server.requests)
    assert calls >= SAMPLES
    for number in range(60 if stress else 2):
        for name in ("out.json", "each.jsonl"):
            (tmp_path / name).unlink(missing_ok=True)
        cache = tmp_path / f"{number}.sqlite"
        with FakeLLM(reply) as server:
            with subprocess.Popen(
                command(server, cache), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as running:
                after, end = draw.randrange(calls), time.monotonic() + 20
                while len(server.requests) < after and time.monotonic() < end and running.poll() is None:
                    time.sleep(0.002)
                time.sleep(draw.uniform(0, 0.02))
                running.send_signal(signal.SIGKILL)
            assert finish(server, cache) == wanted, number
            assert len(server.requests) <= calls + 4, number
