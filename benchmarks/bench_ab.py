"""Time and memory of `ab analyse`: 5 million rows of users beside a bare Polars query, and 10 million events.

    python benchmarks/bench_ab.py [--users 5000000] [--queries 1020000] [--rounds 3]

The bare query reads the same columns of the same Parquet file and groups them by variant and day, with the means,
squares and products that the same measures need. Both run in processes of their own, in turns; their imports are done
before the clock starts.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import polars as pl
import scipy.stats  # noqa: F401 - not part of what is timed
from bench_log_metrics import write_log

import assay

COLUMNS = ("clicks", "impressions", "clicks_before", "impressions_before", "bought", "latency_ms")
GIGABYTE = 2**20  # in the kernel's kilobytes


def write_users(place: Path, users: int) -> None:
    """One row per user: counts with what the same users did before, a share, and times."""
    rng = np.random.default_rng(0)
    habit = rng.gamma(2.0, 1.0, users)
    day = np.datetime64("2026-03-01") + rng.integers(0, 14, users).astype("timedelta64[D]")
    pl.DataFrame({
        "user_id": np.char.add("u", np.arange(users).astype(str)),
        "variant": np.where(rng.random(users) < 0.5, "old", "new"),
        "day": day.astype(str),
        "clicks": rng.poisson(habit),
        "impressions": 5 + rng.poisson(5 * habit),
        "clicks_before": rng.poisson(habit),
        "impressions_before": 5 + rng.poisson(5 * habit),
        "bought": rng.integers(0, 2, users),
        "latency_ms": rng.gamma(20.0, 10.0, users),
    }).write_parquet(place)  # fmt: skip


def bare(place: str) -> None:
    """The same sums in Polars alone, without a look at the users."""
    pairs = combinations_with_replacement(COLUMNS, 2)
    pl.scan_parquet(place).group_by("variant", "day").agg(
        pl.len(),
        *(pl.col(name).mean().alias(f"mean {name}") for name in COLUMNS),
        *((pl.col(a).cast(pl.Float64) * pl.col(b)).mean().alias(f"{a} {b}") for a, b in pairs),
    ).collect(engine="streaming")


def users(place: str) -> None:
    """The decision from one row per user."""
    found = assay.ab_test(
        place, ["clicks/impressions", "clicks", "bought"], control="old", guardrails=["latency_ms<=+5%"]
    )
    assert found.decision != "invalid"


def events(place: str) -> None:
    """The decision from an event log."""
    assay.ab_test(assay.read_events(place), ["any_click", "ctr@5"], control="a")


TASKS = {"bare": bare, "users": users, "events": events}


def run_apart(task: str, place: Path) -> tuple[float, float]:
    """Seconds and gigabytes of a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, str(place)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def run_here(task: str, place: str) -> None:
    assay.ab_test(pl.DataFrame({"variant": ["old", "new"] * 50, "clicks": range(100)}), control="old")
    start = time.perf_counter()
    TASKS[task](place)
    seconds = time.perf_counter() - start
    # The kernel's own record of this process: getrusage counts what the parent used before it started this one.
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    print(seconds, int(peak[1]) / GIGABYTE if peak else float("nan"))


def compare_tasks(place: Path, tasks: list[str], rounds: int) -> dict[str, float]:
    """Run tasks in turns; print medians, return seconds."""
    runs = [{task: run_apart(task, place) for task in tasks} for _ in range(rounds)]
    found = {}
    for task in tasks:
        seconds, peak = (statistics.median(run[task][i] for run in runs) for i in (0, 1))
        print(f"{task:<8} {seconds:7.2f} s {peak:6.2f} GB")
        found[task] = seconds
    return found


def main() -> None:
    """Write users and events into a temporary folder, and time what reads them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=5_000_000)
    parser.add_argument("--queries", type=int, default=1_020_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", nargs=2)
    asked = parser.parse_args()
    if asked.task:
        run_here(*asked.task)
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "users.parquet"
        if asked.users:
            write_users(place, asked.users)
            found = compare_tasks(place, ["bare", "users"], asked.rounds)
            print(f"{asked.users:,} users: {found['users'] / found['bare']:.2f} x Polars")
            place.unlink()
        if asked.queries:
            log = Path(folder) / "events.parquet"
            write_log(log, asked.queries)
            print(f"{pl.scan_parquet(log).select(pl.len()).collect().item():,} events:")
            compare_tasks(log, ["events"], asked.rounds)


if __name__ == "__main__":
    main()
