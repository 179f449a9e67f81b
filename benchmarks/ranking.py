"""Time assay beside other tools on 6,980 queries x 1,000 documents, each in a process of its own.

    make bench            installs the other tools into .venv-bench and runs this
    python benchmarks/ranking.py --repeat 5 --queries 6980 --depth 1000

Ratios within one run are what counts; absolute times depend on the machine. Medians of the repeats are shown.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MEASURES = {
    # ours, then the names in pytrec_eval, ir_measures and ranx
    "average_precision": ("map", "AP", "map"),
    "average_precision@100": ("map_cut_100", "AP@100", "map@100"),
    "ndcg@10": ("ndcg_cut_10", "nDCG@10", "ndcg@10"),
    "ndcg@100": ("ndcg_cut_100", "nDCG@100", "ndcg@100"),
    "ndcg@1000": ("ndcg_cut_1000", "nDCG@1000", "ndcg@1000"),
    "reciprocal_rank": ("recip_rank", "RR", "mrr"),
    "precision@5": ("P_5", "P@5", "precision@5"),
    "precision@10": ("P_10", "P@10", "precision@10"),
    "precision@20": ("P_20", "P@20", "precision@20"),
    "recall@10": ("recall_10", "R@10", "recall@10"),
    "recall@100": ("recall_100", "R@100", "recall@100"),
    "recall@1000": ("recall_1000", "R@1000", "recall@1000"),
    "hit_rate@1": ("success_1", "Success@1", "hit_rate@1"),
    "hit_rate@10": ("success_10", "Success@10", "hit_rate@10"),
    "r_precision": ("Rprec", "Rprec", "r-precision"),
}


def make_data(folder: Path, queries: int, depth: int) -> None:
    """Write a seeded run and judgments: about ten judged documents of each query retrieved, ten not."""
    import numpy as np

    rng = np.random.default_rng(20261115)
    collection = 8_841_823
    with (folder / "run.txt").open("w") as run, (folder / "qrels.txt").open("w") as qrels:
        for query in range(1000, 1000 + queries):
            docs = rng.choice(collection, depth, replace=False)
            scores = np.sort(rng.gamma(4, 4, depth))[::-1]
            run.write(
                "".join(
                    f"{query} Q0 {d} {i} {s:.6f} run\n" for i, (d, s) in enumerate(zip(docs, scores, strict=True), 1)
                )
            )
            hits = docs[np.unique((rng.beta(0.5, 3, 10) * depth).astype(int))]
            others = np.setdiff1d(rng.choice(collection, 10, replace=False), docs)
            judged = [(doc, rng.choice([0, 1, 1, 2, 3])) for doc in hits] + [
                (doc, rng.choice([0, 0, 1, 2])) for doc in others
            ]
            qrels.write("".join(f"{query} 0 {doc} {grade}\n" for doc, grade in judged))


# Workers: what each process does ------------------------------------------------------------------------------------


def plain_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments with a plain loop, as users of dict-based tools do."""
    found: dict[str, dict[str, int]] = {}
    with path.open() as file:
        for line in file:
            query, _, doc, grade = line.split()
            found.setdefault(query, {})[doc] = int(grade)
    return found


def plain_run(path: Path) -> dict[str, dict[str, float]]:
    """Read a run with a plain loop."""
    found: dict[str, dict[str, float]] = {}
    with path.open() as file:
        for line in file:
            query, _, doc, _, score, _ = line.split()
            found.setdefault(query, {})[doc] = float(score)
    return found


def polars_scan(folder: Path) -> dict[str, float]:
    import polars as pl

    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    schema = {name: pl.Float64 if name == "score" else pl.String for name in names}
    scan = pl.scan_csv(folder / "run.txt", separator=" ", has_header=False, schema=schema, quote_char=None)
    frame = scan.select("query_id", "doc_id", "score").collect(engine="streaming")
    return {"rows": float(len(frame))}


def pytrec(folder: Path) -> dict[str, float]:
    return pytrec_dicts(plain_qrels(folder / "qrels.txt"), plain_run(folder / "run.txt"))


def pytrec_dicts(qrels: Any, run: Any) -> dict[str, float]:
    import pytrec_eval

    wanted = {names[0] for names in MEASURES.values()}
    found = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run).values()
    return {ours: statistics.fmean(row[names[0]] for row in found) for ours, names in MEASURES.items()}


def ir_measures_files(folder: Path) -> dict[str, float]:
    ir_measures: Any = importlib.import_module("ir_measures")

    wanted = {ours: ir_measures.parse_measure(names[1]) for ours, names in MEASURES.items()}
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    run = ir_measures.read_trec_run(str(folder / "run.txt"))
    found = ir_measures.calc_aggregate(list(wanted.values()), qrels, run)
    return {ours: float(found[measure]) for ours, measure in wanted.items()}


def ranx_files(folder: Path) -> dict[str, float]:
    import ranx

    qrels = ranx.Qrels.from_file(str(folder / "qrels.txt"), kind="trec")
    run = ranx.Run.from_file(str(folder / "run.txt"), kind="trec")
    found = ranx.evaluate(qrels, run, [names[2] for names in MEASURES.values()], make_comparable=True)
    return {ours: float(found[names[2]]) for ours, names in MEASURES.items()}


def assay_dicts(qrels: Any, run: Any) -> dict[str, float]:
    import assay

    scores: assay.Scores = assay.evaluate(qrels, run, list(MEASURES))
    return scores.mean()


FILE_WORKERS: dict[str, Callable[[Path], dict[str, float]]] = {
    "polars scan": polars_scan,
    "pytrec_eval": pytrec,
    "ir_measures": ir_measures_files,
    "ranx": ranx_files,
}
DICT_WORKERS = {"assay": assay_dicts, "pytrec_eval": pytrec_dicts}
NEEDS = {"pytrec_eval": "pytrec_eval", "ir_measures": "ir_measures", "ranx": "ranx"}


def work(kind: str, name: str, folder: Path) -> None:
    """Do one job in this process; print its values and, for dicts, the seconds of the evaluation alone."""
    if kind == "file":
        print(json.dumps({"values": FILE_WORKERS[name](folder)}))
        return
    qrels, run = plain_qrels(folder / "qrels.txt"), plain_run(folder / "run.txt")
    times = []
    values: dict[str, float] = {}
    for _ in range(3):
        start = time.perf_counter()
        values = DICT_WORKERS[name](qrels, run)
        times.append(time.perf_counter() - start)
    print(json.dumps({"values": values, "seconds": statistics.median(times)}))


# The parent: processes, times, memory -------------------------------------------------------------------------------


def measured(command: list[str]) -> tuple[float, float, str]:
    """Run a command; return seconds, peak megabytes and its output."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"failed: {' '.join(command)}")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, out.read().decode()


def command_for(name: str, folder: Path) -> list[str]:
    if name != "assay":
        return [sys.executable, __file__, "--worker", "file", name, str(folder)]
    flags = [word for measure in MEASURES for word in ("-m", measure)]
    program = str(Path(sys.executable).with_name("assay"))
    return [program, "evaluate", str(folder / "qrels.txt"), str(folder / "run.txt"), *flags, "--format", "csv"]


def values_of(name: str, output: str) -> dict[str, float]:
    if name != "assay":
        found: dict[str, float] = json.loads(output)["values"]
        return found
    header, row = (line.split(",") for line in output.splitlines()[:2])
    return dict(zip(header[1:], map(float, row[1:]), strict=True))


def from_files(names: list[str], folder: Path, repeat: int) -> None:
    """Time whole processes in turns, in another order each time: a slow minute or a heavy neighbour hits everybody."""
    orders = random.Random(1)
    times: dict[str, list[float]] = {name: [] for name in names}
    memory: dict[str, float] = {}
    values: dict[str, dict[str, float]] = {}
    for round_number in range(repeat + 1):
        for name in orders.sample(names, len(names)):
            seconds, megabytes, output = measured(command_for(name, folder))
            if round_number:  # the first round warms caches, ranx's compiler cache among them
                times[name].append(seconds)
            memory[name], values[name] = megabytes, values_of(name, output)
    own = statistics.median(times["assay"])
    print("\nfrom TREC files, whole process\n\n| tool | seconds | ratio to assay | peak MB |\n|---|---:|---:|---:|")
    for name in names:
        middle = statistics.median(times[name])
        print(f"| {name} | {middle:.2f} | {middle / own:.1f} | {memory[name]:.0f} |")
    for name in names:
        if name not in {"assay", "polars scan"}:
            worst = max(abs(values[name][key] - values["assay"][key]) for key in MEASURES)
            print(f"largest difference to {name} over {len(MEASURES)} means: {worst:.1e}")


def from_dicts(names: list[str], folder: Path) -> None:
    found = {}
    for name in names:
        output = measured([sys.executable, __file__, "--worker", "dict", name, str(folder)])[2]
        found[name] = json.loads(output)["seconds"]
    print("\nfrom dicts in memory, evaluation only\n\n| tool | seconds | ratio to assay |\n|---|---:|---:|")
    for name, seconds in found.items():
        print(f"| {name} | {seconds:.2f} | {seconds / found['assay']:.1f} |")


def start_up(repeat: int) -> None:
    program = str(Path(sys.executable).with_name("assay"))
    jobs = {
        "python -c 'pass'": [sys.executable, "-c", "pass"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import assay": [sys.executable, "-c", "import assay"],
        "import click": [sys.executable, "-c", "import click"],
        "assay --help": [program, "--help"],
    }
    print("\nstart-up\n\n| what | milliseconds |\n|---|---:|")
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeat * 4):
        for name, command in jobs.items():
            times[name].append(measured(command)[0])
    for name, found in times.items():
        print(f"| {name} | {1000 * statistics.median(found):.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["assay", "polars scan", "pytrec_eval", "ir_measures", "ranx"])
    parser.add_argument("--worker", nargs=3, metavar=("KIND", "NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker[0], options.worker[1], Path(options.worker[2]))
        return
    names = [name for name in options.only if name not in NEEDS or importlib.util.find_spec(NEEDS[name])]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_data(folder, options.queries, options.depth)
        print(f"{options.queries:,} queries x {options.depth:,} documents, median of {options.repeat}")
        from_files(names, folder, options.repeat)
        if "pytrec_eval" in names:
            from_dicts(["assay", "pytrec_eval"], folder)
        double = folder / "double"
        double.mkdir()
        make_data(double, 2 * options.queries, options.depth)
        one, two = ([measured(command_for("assay", f))[0] for _ in range(options.repeat)] for f in (folder, double))
        print(f"\ntwice the lines: {statistics.median(two) / statistics.median(one):.2f}x the time")
    start_up(options.repeat)


if __name__ == "__main__":
    main()
