"""Time the same run of 10 million lines however it is written: clean, with other blanks and line ends, as Parquet.

    python benchmarks/written.py [--lines 1e7] [--repeat 5]

Every evaluation is a process of its own, in turns; their means must be equal. Ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lines import WAYS
from many_runs import Cost, measure

BOM = b"\xef\xbb\xbf"
NAMES = [*(f"{name}.run" for name in (*WAYS, "mark", "no-tag", "exponents")), "rows.parquet"]


def make(folder: Path, lines: float) -> None:
    """Write the judgments, and the run in every way."""
    script = [sys.executable, str(Path(__file__).with_name("lines.py")), str(lines), "--depth", "1000"]
    with (folder / "qrels.txt").open("wb") as file:
        subprocess.run([*script, "--judgments"], stdout=file, check=True)
    for way in WAYS:
        with (folder / f"{way}.run").open("wb") as file:
            subprocess.run([*script, "--written", way], stdout=file, check=True)
    clean = (folder / "clean.run").read_bytes()
    (folder / "mark.run").write_bytes(BOM + clean.removesuffix(b"\n"))
    (folder / "no-tag.run").write_bytes(clean.replace(b" run\n", b"\n"))
    (folder / "exponents.run").write_bytes(clean.replace(b" run\n", b"e0 run\n"))
    to_parquet(folder / "clean.run", folder / "rows.parquet")


def to_parquet(source: Path, target: Path) -> None:
    """Write query, document and score as Parquet."""
    import polars as pl

    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    schema = {name: pl.Float64 if name == "score" else pl.String for name in names}
    rows = pl.scan_csv(source, separator=" ", has_header=False, schema=schema, quote_char=None)
    rows.select("query_id", "doc_id", "score").sink_parquet(target)


def main() -> None:
    """Make the files, evaluate them in turns, print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=float, default=1e7)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.lines)
        return
    program, orders = str(Path(sys.executable).with_name("assay")), random.Random(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        # In a process of its own: what this one holds in memory would count for those that it starts.
        subprocess.run([sys.executable, __file__, "--make", place, "--lines", str(options.lines)], check=True)
        runs = [folder / name for name in NAMES]
        costs: dict[Path, list[Cost]] = {run: [] for run in runs}
        for _ in range(options.repeat):
            for run in orders.sample(runs, len(runs)):
                command = [program, "evaluate", str(folder / "qrels.txt"), str(run), "-m", "map,ndcg@10,recall@100"]
                costs[run].append(measure([*command, "--format", "csv"]))
    print(f"{options.lines:,.0f} lines, median of {options.repeat}\n")
    print("| written | seconds | ratio to clean | processor time | peak MB |\n|---|---:|---:|---:|---:|")
    first = statistics.median(cost.seconds for cost in costs[runs[0]])
    for run, found in costs.items():
        seconds, processor, memory = (
            statistics.median(getattr(cost, name) for cost in found) for name in Cost._fields[:3]
        )
        print(f"| {run.stem} | {seconds:.2f} | {seconds / first:.2f} | {processor:.2f} | {memory:.0f} |")
    means = {cost.output.splitlines()[1].partition(",")[2] for found in costs.values() for cost in found}
    print(f"\nmeans are equal: {len(means) == 1}")


if __name__ == "__main__":
    main()
