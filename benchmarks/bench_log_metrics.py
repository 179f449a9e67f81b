"""Time and memory of `log metrics` by day and variant on 10 million events, against a bare Polars query.

    python benchmarks/bench_log_metrics.py [QUERIES]

The bare query has the same joins and group-bys for the same counts: requests, impressions and clicks, joined by query,
then one row per user, day and variant, then one per day and variant. `all` adds what the bare query does not have:
reworded requests, bad abandonment, returns to the list and a percentile of the latency.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

SHOWN, QUERIES = 8, 1_020_000
MEASURES = "ctr@5,any_click,clicks,zero_results,satisfied_click,first_click_rr,dwell"
ALL = f"{MEASURES},reformulation,abandonment(kind='bad'),pogo,query_latency(p=95)"


def write_log(place: Path, queries: int) -> None:
    """A log of 8 impressions for each request and a click on every twelfth of them."""
    rng = np.random.default_rng(0)
    users = rng.integers(0, max(queries // 5, 2), queries)
    start = np.datetime64("2026-03-01T00:00:00", "us")
    own = {
        "query_id": np.char.add("q", np.arange(queries).astype(str)),
        "user": np.char.add("u", users.astype(str)),
        "time": start + rng.integers(0, 14 * 86400 * 10**6, queries).astype("timedelta64[us]"),
        "variant": np.where(users % 2 == 0, "a", "b"),
        "session": np.char.add("s", (users * 3 + rng.integers(0, 3, queries)).astype(str)),
    }
    asked = {
        "result_count": rng.integers(0, 20, queries),
        "text": np.char.add("words of a query ", rng.integers(0, 50_000, queries).astype(str)),
        "latency_ms": rng.lognormal(5, 1, queries),
    }
    requests = pl.DataFrame({**own, **asked}).with_columns(action=pl.lit("query"))
    of, place_of = np.repeat(np.arange(queries), SHOWN), np.tile(np.arange(1, SHOWN + 1), queries)
    ids = np.char.add("d", rng.integers(0, 100_000, len(of)).astype(str))
    shown = {name: column[of] for name, column in own.items()} | {"doc_id": ids, "position": place_of.astype(np.int32)}
    impressions = pl.DataFrame(shown).with_columns(action=pl.lit("impression"))
    hit = rng.random(len(of)) < 0.3 / place_of
    clicks = impressions.filter(pl.Series(hit)).with_columns(
        pl.lit("click").alias("action"), pl.Series("dwell_ms", rng.exponential(40_000, int(hit.sum())))
    )
    log = pl.concat([requests, impressions, clicks], how="diagonal").with_columns(
        pl.col("time").dt.replace_time_zone("UTC")
    )
    log.sort("time").write_parquet(place)


def bare(place: str) -> None:
    """The same counts in Polars alone."""
    log = pl.scan_parquet(place)
    rows = {
        name: log.filter(pl.col("action") == name).group_by("query_id") for name in ("query", "impression", "click")
    }
    near = pl.col("position") <= 5
    joined = (
        rows["query"]
        .agg(pl.col("user", "time", "variant", "result_count").first())
        .join(rows["impression"].agg(shown=near.sum()), on="query_id", how="left")
        .join(
            rows["click"].agg(
                n=pl.len(), near=pl.col("doc_id").filter(near).n_unique(), dwell=pl.col("dwell_ms").sum(),
                long=(pl.col("dwell_ms") >= 30_000).sum(), first=pl.col("position").sort_by("time").first(),
            ),
            on="query_id", how="left",
        )
    )  # fmt: skip
    sums = pl.col("shown", "n", "near", "dwell", "long", "first")
    day = pl.col("time").dt.date().alias("day")
    users = joined.group_by("user", "variant", day).agg(sums.sum(), zero=(pl.col("result_count") == 0).sum())
    users.group_by("day", "variant").agg(sums.sum(), (sums**2).sum().name.suffix("2")).collect(engine="streaming")


def ours(place: str, measures: str = MEASURES) -> None:
    """The measures with their intervals."""
    from assay.data.events import Events
    from assay.online.log_metrics import log_metrics

    log_metrics(Events.of(pl.scan_parquet(place)), measures, by="day,variant")


def everything(place: str) -> None:
    """The same with the measures that need the order of requests and clicks, and a percentile."""
    ours(place, ALL)


def main() -> None:
    """Write a log, run both in processes of their own, and print the ratio."""
    if len(sys.argv) == 3:
        start = time.perf_counter()
        {"bare": bare, "ours": ours, "all": everything}[sys.argv[1]](sys.argv[2])
        taken = time.perf_counter() - start
        # The kernel's own record of this process: getrusage counts what the parent used before it started this one.
        peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
        print(taken, int(peak[1]) / 2**20 if peak else float("nan"))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "events.parquet"
        write_log(place, int(sys.argv[1]) if len(sys.argv) > 1 else QUERIES)
        found = {}
        for name in ("bare", "ours", "all"):
            runs = [
                subprocess.run([sys.executable, __file__, name, str(place)], capture_output=True, text=True, check=True)
                for _ in range(2)
            ]
            found[name] = min(tuple(map(float, run.stdout.split())) for run in runs)
            print(f"{name}: {found[name][0]:.2f} s, {found[name][1]:.2f} GB")
        for name in ("ours", "all"):
            print(f"{name} / bare: {found[name][0] / found['bare'][0]:.2f}")


if __name__ == "__main__":
    main()
