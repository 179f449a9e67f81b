"""How others see an experiment while it runs, and after its process was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import assay
from assay.formats.run_progress import PROGRESS, this_process, write_run_progress
from assay.pipeline.following import RunFollower
from assay.results.run_progress import CombinationProgress, RunProgress, StageProgress
from assay.stats.intervals import Interval
from experiments import PLUGIN, QUERIES, short_experiment

BODY = '#data\n[retrieve]\nmethod = ["bm25", "vectors"]\nembedder = "mine:vectors"\n[[rerank]]\nmethod = "none"\n[[rerank]]\nname = "mine"\nmethod = "mine:length"\n'


def make(folder, body=BODY, plugin=PLUGIN):
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(plugin)
    return short_experiment(folder, body)


def run_of(*combinations, **values):
    now = datetime.now(UTC).isoformat()
    found = RunProgress("tea", "running", now, now, this_process(), combinations, queries=4)
    return replace(found, **values)


def mean(value):
    return Interval(value, value - 0.1, value + 0.1, 0.95, "t", 4)


def test_a_run_shows_what_is_done_what_waits_and_what_runs(tmp_path):
    """Seen from the function that shows a bar, before the second of four combinations; the rest is in the result."""
    place, seen = make(tmp_path / "e"), []

    class Spy(RunFollower):
        def at(self, stage):
            super().at(stage)
            seen.append((stage, self.now()))

    import assay.analysis.experiment_runner as runner

    original, runner.RunFollower = runner.RunFollower, Spy
    try:
        found = assay.run_experiment(place, progress=tmp_path / "out")
    finally:
        runner.RunFollower = original
    reranking = [now for stage, now in seen if stage == "rerank" and now.combinations[1].state == "running"]
    states = [one.state for one in reranking[0].combinations]
    assert states == ["done", "running", "waiting", "waiting"]
    assert reranking[0].combinations[1].stage == "rerank"
    stages = {one.stage: (one.done, one.total) for one in reranking[0].combinations[1].stages}
    assert stages["retrieve"] == (2, 2)
    assert stages["rerank"] == (0, 2)
    end = assay.read_run_progress(tmp_path / "out")
    assert (end.state, end.count("done"), end.share) == ("finished", 4, 1.0)
    rows = {row.name: row for row in found.findings.combinations}
    for one in end.combinations:
        row = rows[one.name]
        assert one.mean == row.quality[found.findings.measure].mean
        assert one.ms_p95 == row.latency_ms["p95"]
        assert one.on_front == row.pareto
    again = assay.run_experiment(place, progress=tmp_path / "out")
    work = Counter()
    for one in assay.read_run_progress(tmp_path / "out").combinations:
        for stage in one.stages:
            work["made"] += stage.made
            work["reused"] += stage.reused
    assert work["made"] == sum(again.done.values()) == 0
    assert work["reused"] == 4 + 2 + 1  # searches, rerankings, and chunks once


def test_scores_and_conclusions_are_the_same_whether_anybody_looks_or_not(tmp_path):
    place = make(tmp_path / "e")
    alone, watched = (assay.run_experiment(place, progress=one) for one in (None, tmp_path / "out"))
    drop = {"latency_ms": {}, "stages": (), "index": None, "timed": True}
    rows = [[replace(row, **drop) for row in one.findings.combinations] for one in (alone, watched)]
    assert rows[0] == rows[1]
    assert alone.findings.warnings == watched.findings.warnings
    assert not (tmp_path / "e" / "e-results").exists()


def test_a_run_that_fails_or_is_stopped_says_so(tmp_path):
    with pytest.raises(KeyboardInterrupt), RunFollower(tmp_path, "tea"):
        raise KeyboardInterrupt
    assert assay.read_run_progress(tmp_path).state == "interrupted"
    body = '#data\n[[rerank]]\nmethod = "mine:breaks"\nname = "<b>broken</b>"\n'
    with pytest.raises(assay.UsageError, match="every combination failed"):
        assay.run_experiment(make(tmp_path / "e", body), progress=tmp_path)
    found = assay.read_run_progress(tmp_path)
    assert (found.state, found.count("failed")) == ("failed", 1)
    assert "every combination failed" in found.reason
    assert "no more" in found.combinations[0].reason


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
def test_a_killed_run_is_interrupted_at_once_and_a_living_one_runs(tmp_path):
    """However fresh its last sign is, and whoever has its number since."""
    place = make(tmp_path / "e", plugin=PLUGIN.replace('"SLOWNESS", "0"', '"SLOWNESS", "60"'))
    command = [sys.executable, "-m", "assay", "run", str(place), "-o", str(tmp_path / "out"), "-q"]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if (tmp_path / "out" / PROGRESS).exists():
                found = assay.read_run_progress(tmp_path / "out")
                if any(one.stage == "rerank" for one in found.combinations):
                    break
            time.sleep(0.05)
        assert found.state == "running"
        process.send_signal(signal.SIGKILL)
    found = assay.read_run_progress(tmp_path / "out")
    assert (found.state, found.count("running"), found.count("interrupted")) == ("interrupted", 0, 1)
    another = replace(found.process, number=os.getpid())
    write_run_progress(tmp_path / PROGRESS, replace(found, state="running", process=another))
    assert assay.read_run_progress(tmp_path).state == "interrupted"


@pytest.mark.parametrize(
    ("age", "state"), [(5, "running"), (59, "running"), (61, "interrupted"), (-3600, "interrupted")]
)
def test_of_another_machine_the_last_sign_decides(tmp_path, age, state):
    now = datetime.now(UTC)
    process = replace(this_process(), place="another machine")
    sign = (now - timedelta(seconds=age)).isoformat()
    write_run_progress(tmp_path / PROGRESS, run_of(CombinationProgress("a"), process=process, updated=sign))
    assert assay.read_run_progress(tmp_path, now=now).state == state


def test_readers_never_see_half_of_it(tmp_path):
    """While it is replaced as fast as possible, and for every beginning of the file that a failing disk may leave."""
    follow, stop = RunFollower(tmp_path, "tea"), threading.Event()
    follow.write()

    def write():
        while not stop.is_set():
            follow.write()

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(100):
        assert assay.read_run_progress(tmp_path).name == "tea"
    stop.set()
    writer.join()
    whole = (tmp_path / PROGRESS).read_bytes()
    for end in range(0, len(whole), 7):
        (tmp_path / PROGRESS).write_bytes(whole[:end])
        with pytest.raises(assay.InputError):
            assay.read_run_progress(tmp_path)


def test_a_folder_that_takes_nothing_does_not_stop_a_run(tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert assay.run_experiment(make(tmp_path / "e"), progress=tmp_path / "file" / "out").findings.done


def test_money_counts_calls_that_were_made_now():
    """Not what the cache of stages or that of replies had; where a price is not known, neither is the sum."""
    follow = RunFollower("unused", "tea")
    combination = type("C", (), {"name": "a", "axes": {}})()
    follow.plan([combination], len(QUERIES), baseline="a")
    follow.begin(combination, ["generate"])
    follow.note_work("generate", [{"money": 0.25, "cached": False}, {"money": 9.0, "cached": True}])
    follow.note_work("generate", None)
    follow.note_work("fuse", [{"money": 7.0}])
    assert follow.now().spent == 0.25
    assert follow.now().combinations[0].stages == (StageProgress("generate", 0, 4, made=1, reused=1),)
    follow.note_work("search", [{"money": None}])
    assert (follow.now().spent, follow.now().unpriced) == (0.25, 1)
    follow.enter("unanswerable")
    follow.note_work("app", {"money": 0.5, "cached": False})
    assert follow.now().spent == 0.75


def test_the_front_so_far_is_what_no_other_beats():
    """By numbers alone, with an oracle of a line; unknown numbers beat nothing and are not beaten."""
    rows = [("a", 0.5, 10.0, 0.0), ("b", 0.6, 20.0, 0.0), ("c", 0.5, 20.0, 0.0), ("d", 0.4, 5.0, 1.0), ("e", 0.1, None, 0.0)]  # fmt: skip
    made = [CombinationProgress(n, "done", mean=mean(q), ms_p95=ms, cost_per_query=c) for n, q, ms, c in rows]
    known = [row for row in rows if row[2] is not None]
    beaten = {x[0] for x in known for y in known if (y[1] >= x[1] and y[2] <= x[2] and y[3] <= x[3]) and y[1:] != x[1:]}
    found = run_of(*made, CombinationProgress("f"))
    assert found.front() == {row[0] for row in rows} - beaten == {"a", "b", "d", "e"}
    assert replace(found, lower=True).front() == {"a", "d", "e"}
