"""A folder of work with what the later rooms of the workbench show: a watch, a set, an experiment, judges."""

from __future__ import annotations

import assay
from online.test_watch_traces import SETTINGS, hours
from otlp import write
from workbench_desk import make_folder


def make_rooms(folder):
    """A small folder of work, and beside its results a watch of traces and an evaluation set."""
    make_folder(folder, pairs=6)
    logs = folder.parent / f"{folder.name}-logs"
    logs.mkdir()
    watch(folder, logs)
    assay.write_set(folder / "tea", queries=[{"query_id": "q1", "text": "green tea"}], documents={"d": "Green tea."})
    return folder


def watch(folder, logs, n: int = 3):
    """Watch so many hours of traces, of which the second and third fail."""
    spans = [one for request in hours(n, each=10, failing={1, 2}) for one in request]
    return assay.watch_log(write(logs / "traces.jsonl", *spans), **SETTINGS, state=folder / "watch", bad=folder / "bad.jsonl")  # fmt: skip
