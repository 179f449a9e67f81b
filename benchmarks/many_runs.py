"""Time many small runs in one call: 126 runs of 50 queries x 1,000 documents, beside pytrec_eval with a plain reader.

    python benchmarks/many_runs.py [--runs 126] [--repeat 5]

Memory is that of the largest process; assay has one for each core, and one that waits for them.

The data are seeded and like those of a TREC track: systems that agree in part rank the same candidates, and the first
documents of all of them were judged. Every tool is a process of its own, in turns. Processor time is what a busy
machine leaves comparable; the ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

QUERIES, DEPTH, POOL = 50, 1000, 100
MEASURES = {
    "map": "map", "ndcg": "ndcg", "ndcg@10": "ndcg_cut_10", "ndcg@100": "ndcg_cut_100", "ndcg@1000": "ndcg_cut_1000",
    "reciprocal_rank": "recip_rank", "precision@5": "P_5", "precision@10": "P_10", "precision@20": "P_20",
    "precision@100": "P_100", "recall@10": "recall_10", "recall@100": "recall_100", "recall@1000": "recall_1000",
    "r_precision": "Rprec", "bpref": "bpref",
}  # fmt: skip


def make_data(folder: Path, runs: int) -> None:
    """Write the runs of systems of different quality, and judgments of what any of them ranks high."""
    import numpy as np

    rng = np.random.default_rng(20261119)
    sources = np.array(["FBIS3", "FBIS4", "FR940104-0", "FT911", "FT934", "FT944", "LA010189", "LA123190"])
    candidates = 4 * DEPTH
    docs, signal, worth = [], [], []
    for _ in range(QUERIES):
        number = rng.choice(60_000, candidates, replace=False)
        docs.append([f"{source}-{n}" for source, n in zip(rng.choice(sources, candidates), number, strict=True)])
        worth.append(rng.exponential(1, candidates))
        signal.append(worth[-1] + rng.normal(0, 0.6, candidates))
    pools: list[set[int]] = [set() for _ in range(QUERIES)]
    for system in range(runs):
        noise, digits, scale = rng.uniform(0.3, 1.5), int(rng.integers(3, 8)), 10 ** rng.uniform(-1, 2)
        with (folder / f"system{system:03}.run").open("w") as file:
            for query in range(QUERIES):
                score = scale * (signal[query] + rng.normal(0, noise, candidates) + 5)
                order = np.argsort(-score, kind="stable")[:DEPTH]
                pools[query].update(order[:POOL].tolist())
                file.writelines(
                    f"{query + 601} Q0 {docs[query][doc]} {rank} {value:.{digits}f} system{system:03}\n"
                    for rank, (doc, value) in enumerate(zip(order.tolist(), score[order].tolist(), strict=True), 1)
                )
    with (folder / "qrels.txt").open("w") as file:
        for query in range(QUERIES):
            for doc in sorted(pools[query]):
                grade = int(worth[query][doc] > 4) + int(worth[query][doc] > 6)
                file.write(f"{query + 601} 0 {docs[query][doc]} {grade}\n")


# Workers: what each process does ------------------------------------------------------------------------------------


def pytrec_means(folder: Path) -> dict[str, dict[str, float]]:
    """Read with a plain loop, evaluate run by run, as a script with pytrec_eval does."""
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = {}
    with (folder / "qrels.txt").open() as file:
        for line in file:
            query, _, doc, grade = line.split()
            qrels.setdefault(query, {})[doc] = int(grade)
    evaluator, found = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values())), {}
    for place in sorted(folder.glob("*.run")):
        run: dict[str, dict[str, float]] = {}
        with place.open() as file:
            for line in file:
                query, _, doc, _, score, _ = line.split()
                run.setdefault(query, {})[doc] = float(score)
        rows = evaluator.evaluate(run).values()
        found[place.stem] = {ours: statistics.fmean(row[name] for row in rows) for ours, name in MEASURES.items()}
    return found


# The parent: processes, times, memory -------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What a process took, and what it printed."""

    seconds: float
    processor: float
    megabytes: float
    output: str


def measure(command: list[str]) -> Cost:
    """Run a command."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"failed: {' '.join(command)[:200]}")
        out.seek(0)
        return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read().decode())


def command_for(name: str, folder: Path, runs: int | None = None) -> list[str]:
    """The command of a tool; others than pytrec_eval are programs that speak as assay does."""
    if name == "pytrec_eval":
        return [sys.executable, __file__, "--worker", str(folder)]
    places = [str(place) for place in sorted(folder.glob("*.run"))[:runs]]
    return [name, "evaluate", str(folder / "qrels.txt"), *places, "-m", ",".join(MEASURES), "--format", "csv"]


def means(name: str, output: str) -> dict[str, dict[str, float]]:
    """The means that a tool printed, by system and measure."""
    if name == "pytrec_eval":
        found: dict[str, dict[str, float]] = json.loads(output)
        return found
    header, *rows = (line.split(",") for line in output.splitlines())
    return {row[0]: dict(zip(header[1:], map(float, row[1:]), strict=True)) for row in rows}


def main() -> None:
    """Make the data, let the tools take turns, print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = str(Path(sys.executable).with_name("assay"))
    parser.add_argument("--runs", type=int, default=126)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--program", nargs="*", default=[own], help="programs assay, the first one is compared with")
    parser.add_argument("--data", help="a folder with data of an earlier call, or where to leave them")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--make", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make_data(Path(options.make), options.runs)
        return
    if options.worker:
        print(json.dumps(pytrec_means(Path(options.worker))))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(options.data or place)
        if not (folder / "qrels.txt").exists():
            # In a process of its own: what this one holds in memory would count for those that it starts.
            made = [sys.executable, __file__, "--make", str(folder), "--runs", str(options.runs)]
            subprocess.run(made, check=True)
        compare(folder, [*options.program, "pytrec_eval"], options.repeat, options.runs)


def compare(folder: Path, names: list[str], repeat: int, runs: int) -> None:
    """Time whole processes in turns, in another order each time."""
    orders, costs = random.Random(1), {name: list[Cost]() for name in names}
    for _ in range(repeat):
        for name in orders.sample(names, len(names)):
            costs[name].append(measure(command_for(name, folder)))
    print(f"{runs} runs of {QUERIES} queries x {DEPTH:,} documents, {len(MEASURES)} measures, median of {repeat}\n")
    print("| tool | seconds | processor time | ratio | ratio of processor time | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    own = costs[names[0]]
    for name in names:
        middle = [statistics.median(getattr(each, field) for each in costs[name]) for field in Cost._fields[:3]]
        first = [statistics.median(getattr(each, field) for each in own) for field in Cost._fields[:2]]
        ratios = [theirs / ours for theirs, ours in zip(middle, first, strict=False)]
        print(f"| {name} | {middle[0]:.2f} | {middle[1]:.2f} | {ratios[0]:.2f} | {ratios[1]:.2f} | {middle[2]:.0f} |")
    ours, theirs = means(names[0], own[0].output), means("pytrec_eval", costs["pytrec_eval"][0].output)
    worst = max(abs(ours[run][label] - theirs[run][label]) for run in theirs for label in MEASURES)
    print(f"\nlargest difference over all means: {worst:.1e}")
    half = [measure(command_for(names[0], folder, runs // 2)).megabytes for _ in range(repeat)]
    whole = [one.megabytes for one in own]
    print(f"peak MB of half the runs and of all: {statistics.median(half):.0f}, {statistics.median(whole):.0f}")


if __name__ == "__main__":
    main()
