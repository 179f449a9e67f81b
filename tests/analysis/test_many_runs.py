"""Many runs in one call: copies of the process find what one after the other would find."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.analysis.many_runs import FEW

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="only Linux lists the threads of a process"
)

JOB = """
import json, os, signal, sys
from assay.analysis.processes import map_in_processes

here, one = os.getpid(), ["shared"]

def job(number):
    copied = os.getpid() != here
    {fault}
    twice = (str(number), number)  # pickle keeps a memo of what occurs again
    return number, copied, one, os.getpid(), [twice, twice]

try:
    found = list(map_in_processes(job, range(12), 3, [one]))
finally:
    try:
        print(os.waitpid(-1, os.WNOHANG), "remains", file=sys.stderr)
    except ChildProcessError:
        print("no copy remains", file=sys.stderr)
assert all(twice == [(str(number), number)] * 2 for number, *_, twice in found)
print(json.dumps([[number, copied, shared is one, process] for number, copied, shared, process, _ in found]))
"""


def run_job(fault):
    done = subprocess.run(
        [sys.executable, "-c", JOB.format(fault=fault)], capture_output=True, text=True, timeout=60, check=False
    )
    return done, [tuple(row) for row in json.loads(done.stdout or "[]")]


def test_each_core_has_a_process_and_what_they_find_comes_in_order():
    _, rows = run_job("")
    assert [row[0] for row in rows] == list(range(12))
    assert all(copied and shared for _, copied, shared, _ in rows)
    assert len({process for *_, process in rows}) == 3


@pytest.mark.parametrize(
    ("fault", "gone"),
    [
        ("if number == 4 and copied: raise MemoryError", {4}),
        ("if number == 4 and copied: os.kill(os.getpid(), signal.SIGKILL)", {4, 7, 10}),
        ("if number == 7 and copied: os._exit(3)", {7, 10}),
    ],
)
def test_what_fails_in_a_copy_or_dies_with_it_is_done_here(fault, gone):
    _, rows = run_job(fault)
    assert [row[0] for row in rows] == list(range(12))
    assert {number for number, copied, *_ in rows if not copied} == gone


def test_errors_are_raised_as_they_are_and_no_copy_remains():
    done, _ = run_job("if number == 5: raise KeyError('five')")
    assert (done.returncode, done.stderr.strip().split("\n")[-1]) == (1, "KeyError: 'five'")
    assert done.stderr.startswith("no copy remains")


@pytest.fixture
def many(tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q in range(3) for d in range(8)))
    names = [f"run{number}.txt" for number in range(FEW + 2)]
    for number, name in enumerate(names):
        rows = [(q, (number * 5 + q + 3 * d) % 11, d) for q in range(3) for d in range(11)]
        (tmp_path / name).write_text("".join(f"q{q} Q0 d{doc} 1 {9 - d // 2} t\n" for q, doc, d in rows))
    return tmp_path, names


def program(folder, names, *more):
    command = [sys.executable, "-m", "assay", "evaluate", "qrels.txt", *names, "-m", "AP,nDCG@5,P@3", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_many_runs_have_the_scores_that_each_has_alone(many):
    folder, names = many
    done = program(folder, names, "--format", "json")
    systems = {one["name"]: one["metrics"] for one in json.loads(done.stdout)["systems"]}
    for name in names:
        alone = assay.evaluate(str(folder / "qrels.txt"), str(folder / name), "AP,nDCG@5,P@3")
        assert systems[name.removesuffix(".txt")] == alone.mean()


def test_a_fault_in_one_of_many_runs_is_named_with_its_line(many):
    folder, names = many
    with (folder / names[-1]).open("a") as file:
        file.write("q9 Q0 d1 1 high t\n")
    done = program(folder, names)
    assert (done.returncode, f"{names[-1]}:34" in done.stderr, "high" in done.stderr) == (2, True, True)
    assert "Traceback" not in done.stderr
