"""Real Spark: worker processes on a local cluster, and a Connect server; every bit is that of the local engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import STRESS

if os.environ.get("ASSAY_SPARK") != "1":
    pytest.skip("needs Spark and Java: make test-spark installs the one and runs these", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
from jobs import FAILING, LOST, OTHERS, SHORT
from servers import connect_server

CLUSTER = "local-cluster[2,1,1024]"
CASES = 250 if STRESS else 8  # random ones in each of eight groups
SECONDS = 3000


def run_jobs(where, folder, *names):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("jobs.py"), where, folder, str(CASES), *names],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def parts_of(folder):
    """The numbers of the parts, and the hashes of their bytes."""
    return sorted((path.name.split("-")[1], path.name.split("-")[-1]) for path in folder.glob("part-*"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Inputs, and what the local engine makes of them."""
    place = tmp_path_factory.mktemp("spark")
    run_jobs("local", place)
    return place


@pytest.fixture(scope="module", params=["cluster", "connect"])
def kind(request, folder):
    """Where the same was evaluated once more."""
    if request.param == "cluster":
        run_jobs(CLUSTER, folder)
    else:
        with connect_server(folder) as address:
            run_jobs(address, folder)
    return request.param


def test_tables_means_counts_and_warnings_are_those_of_the_local_engine(folder, kind):
    here, there = read(folder, "here"), read(folder, kind)
    assert there.keys() == (here.keys() - {*FAILING, LOST} if STRESS else {*SHORT[kind], *OTHERS[kind]})
    for name, systems in there.items():
        assert systems == here[name], name
    told = [text.replace(str(folder), "") for text in here["faults"]]
    assert told == [
        "/cut/part-1.parquet: not a Parquet file: its first and last bytes are not PAR1",
        "/lacks/part-9.parquet: the columns are not those of part-0.parquet (every part of a folder needs the same columns)",
        "/samples_lack/part-1.parquet: the columns are not those of part-0.parquet (every part of a folder needs the same columns)",
    ]  # fmt: skip
    kept = [name for name in there if (folder / f"here_{name}").is_dir()]
    assert kept
    for name in kept:
        assert parts_of(folder / f"here_{name}") == parts_of(folder / f"{kind}_{name}") != []


def test_a_task_that_fails_and_an_executor_that_is_killed_change_nothing(folder):
    run_jobs(CLUSTER, folder, "failing")
    here, there = read(folder, "here"), read(folder, "cluster_failing")
    for name in FAILING:
        assert len(list((folder / f"marks_{name}").iterdir())) >= (2 if name == "fails_twice" else 1)
        assert there[name] == here[name]
    assert len(list((folder / f"marks_{LOST}").iterdir())) == 1
    assert there[LOST] == here[LOST]
