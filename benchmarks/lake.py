"""Time Spark and the local engine on Parquet folders of 10 to 100 million rows, and see where the time goes.

    nice -n 15 python benchmarks/lake.py [--millions 10 30 100] [--repeat 1] [--price 0.05]

Data are seeded: 1,000 documents for each query, four of them judged, rows in no order in parts of 5 million; they are
deleted afterwards. Every measurement is a process of its own. Its processor time is that of all processes it starts:
this one, the Java machine and the Python workers, each by itself. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

DEPTH, JUDGED, PART = 1000, 4, 5_000_000
MEASURES = "ndcg@10,map,reciprocal_rank@10,recall@100"
MASTER = "local[2]"
STEPS = ("read", "shuffle", "python")


def make_data(folder: Path, millions: int) -> None:
    """Write a folder of runs, and judgments beside it."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(20261119)
    (folder / "run").mkdir(parents=True)
    queries = millions * 1_000_000 // DEPTH
    step = PART // DEPTH
    judged = []
    for number, first in enumerate(range(0, queries, step)):
        own = np.arange(first, min(first + step, queries))
        start = rng.integers(0, 8_000_000, len(own))
        docs = (start[:, None] + np.arange(DEPTH) * 7919) % 8_841_823  # as many documents as MS MARCO has passages
        scores = np.sort(rng.gamma(2, 3, docs.shape), axis=1)[:, ::-1].round(4)
        order = rng.permutation(docs.size)
        rows = {"query_id": np.repeat(own, DEPTH)[order], "doc_id": docs.ravel()[order], "score": scores.ravel()[order]}
        named = [pl.format("q{}", "query_id").alias("query_id"), pl.format("D{}", "doc_id").alias("doc_id"), "score"]
        pl.DataFrame(rows).select(named).write_parquet(folder / "run" / f"part-{number:05}.parquet")
        ranks = np.minimum(rng.geometric(0.02, (len(own), JUDGED)) + np.arange(JUDGED), DEPTH - 1)
        grades = rng.integers(0, 4, ranks.size)
        found = {"query_id": np.repeat(own, JUDGED), "doc_id": np.take_along_axis(docs, ranks, axis=1).ravel()}
        judged.append(pl.DataFrame(found).select(named[:2]).with_columns(grade=pl.Series(grades)))
    pl.concat(judged).unique(["query_id", "doc_id"], maintain_order=True).write_parquet(folder / "judged.parquet")


# Workers: what each process does ------------------------------------------------------------------------------------


def evaluate(folder: Path, name: str) -> dict[str, Any]:
    """Evaluate with an engine; how long it took to start, and all means."""
    from assay.analysis.evaluate_tables import evaluate_tables

    start = time.perf_counter()
    engine = engine_of(name)
    begun = time.perf_counter()
    found = evaluate_tables(str(folder / "judged.parquet"), str(folder / "run"), MEASURES, engine=engine)
    means = found.mean()  # type: ignore[union-attr]
    return {
        "start": begun - start,
        "work": time.perf_counter() - begun,
        "means": {k: v.hex() for k, v in means.items()},
    }


def engine_of(name: str) -> Any:
    """The engine of a name."""
    if name == "local":
        from assay.engines.local import LocalEngine

        return LocalEngine()
    from assay.engines import sessions
    from assay.engines.spark import SparkEngine

    return SparkEngine(sessions.start(master=MASTER))


def take_apart(folder: Path, step: str) -> dict[str, float]:
    """Let Spark read alone, or bring rows together as well, or hand them to Python as well, where nothing is done."""
    frame = engine_of("spark").scan(str(folder / "run"), "run").frame
    if step != "read":
        frame = frame.repartition("query_id").sortWithinPartitions("query_id")
    if step == "python":
        frame = frame.mapInArrow(_count, "n long")
    frame.write.format("noop").mode("overwrite").save()
    return {}


def _count(batches: Any) -> Any:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], ["n"])


# The parent: processes, times, memory -------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a process and all that it started took: seconds, those of processors by kind, and what it printed."""

    seconds: float
    here: float
    java: float
    workers: float
    megabytes: float
    output: dict[str, Any]

    @property
    def processor(self) -> float:
        """The processor time of all."""
        return self.here + self.java + self.workers


def measure(*words: str) -> Cost:
    """Run a worker in a session of its own, and look at the processes of that session until it ends."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            [sys.executable, __file__, "--worker", *words],
            stdout=out,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        seen: dict[int, tuple[str, float]] = {}
        most = 0.0
        while child.poll() is None:
            most = max(most, watch(child.pid, seen))
            time.sleep(0.2)
        seconds = time.perf_counter() - start
        if child.returncode:
            raise SystemExit(f"failed: {' '.join(words)}")
        out.seek(0)
        told = json.loads(out.read().decode().splitlines()[-1])
    java = sum(taken for kind, taken in seen.values() if kind == "java")
    here = seen[child.pid][1]
    return Cost(seconds, here, java, sum(taken for _, taken in seen.values()) - java - here, most, told)


def watch(session: int, seen: dict[int, tuple[str, float]]) -> float:
    """Note the processor time of every process of a session; their memory together, in MB."""
    tick, page, held = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"), 0
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it may be gone
            name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            if int(fields[3]) == session:
                seen[int(place.name)] = name, (int(fields[11]) + int(fields[12])) / tick
                held += int(fields[21]) * page
    return held / 2**20


def main() -> None:
    """Make data of each size, let the engines take turns, print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--price", type=float, default=0.05, help="of an hour of one core")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        name, place = options.worker
        print(json.dumps(take_apart(Path(place), name) if name in STEPS else evaluate(Path(place), name)))
        return
    print(f"{MASTER}, 1,000 documents for each query, {MEASURES}; median of {options.repeat}\n")
    print("| million rows | engine | seconds | without its start | processor time | Java | Python workers | peak MB |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|")
    last: dict[str, Cost] = {}
    for millions in options.millions:
        with tempfile.TemporaryDirectory() as place:
            make_data(Path(place), millions)
            last = compare(Path(place), millions, options.repeat)
            if millions == options.millions[0]:
                print_apart(Path(place), last["spark"])
    for name, cost in last.items():
        price = cost.processor / 3600 * options.price * 1000 / options.millions[-1]
        print(f"one billion rows at {options.price} an hour of a core, {name}: {price:.2f}")


def compare(folder: Path, millions: int, repeat: int) -> dict[str, Cost]:
    """Time both engines in turns; their means must be the same bits."""
    costs: dict[str, list[Cost]] = {"local": [], "spark": []}
    for _ in range(repeat):
        for name, found in costs.items():
            found.append(measure(name, str(folder)))
    middle = {name: sorted(found, key=lambda one: one.processor)[len(found) // 2] for name, found in costs.items()}
    for name, one in middle.items():
        work = statistics.median(cost.output["work"] for cost in costs[name])
        times = f"{one.seconds:.0f} | {work:.0f} | {one.processor:.0f} | {one.java:.0f} | {one.workers:.0f}"
        print(f"| {millions} | {name} | {times} | {one.megabytes:,.0f} |", flush=True)
    if len({json.dumps(cost.output["means"]) for found in costs.values() for cost in found}) > 1:
        raise SystemExit("the engines do not give the same bits")
    return middle


def print_apart(folder: Path, whole: Cost) -> None:
    """Say what each step of Spark adds to the processor time of the one before; the first one starts it, too."""
    before = 0.0
    for name, cost in [*((step, measure(step, str(folder))) for step in STEPS), ("kernel", whole)]:
        print(f"  {name}: {cost.processor - before:+.1f} s of processor time", flush=True)
        before = cost.processor


if __name__ == "__main__":
    main()
