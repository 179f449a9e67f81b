"""Fuse a few small runs with ranx and keep what it says: `python tools/make_fusion_golden.py` (extra: bench).

Left out is condorcet, whose order there changes from one process to the next (docs/differences.md).
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from ranx import Run, fuse

PLACE = Path(__file__).parents[1] / "tests" / "golden" / "ranx_fusion.json"
WEIGHTS = [0.5, 0.3, 0.2]
Jobs = dict[str, tuple[str, dict[str, Any]]]
RANKS: Jobs = {
    "rrf": ("rrf", {}),
    "rrf k=10": ("rrf", {"k": 10}),
    "isr": ("isr", {}),
    "log_isr": ("log_isr", {}),
    "log_isr nu=0.01": ("logn_isr", {"sigma": 0.01}),
    "rbc phi=0.9": ("rbc", {"phi": 0.9}),
    "borda": ("bordafuse", {}),
    "borda weights": ("w_bordafuse", {"weights": WEIGHTS}),
}
SCORES: Jobs = {
    "combsum": ("sum", {}),
    "combmnz": ("mnz", {}),
    "combanz": ("anz", {}),
    "combmax": ("max", {}),
    "combmin": ("min", {}),
    "combmed": ("med", {}),
    "weighted weights": ("wsum", {"weights": WEIGHTS}),
}
NORMS = {
    "none": None,
    "min-max": "min-max",
    "max": "max",
    "sum": "sum",
    "z": "zmuv",
    "rank": "rank",
    "borda": "borda",
}


def small_runs() -> list[dict[str, dict[str, float]]]:
    """Three runs of three queries with no two equal scores in a list."""
    rng = random.Random(7)  # noqa: S311
    found = []
    for _ in range(3):
        run = {}
        for query in ("q1", "q2", "q3"):
            docs = rng.sample([f"d{i}" for i in range(9)], rng.randint(3, 7))
            run[query] = {
                doc: score / 16 for doc, score in zip(docs, rng.sample(range(1, 400), len(docs)), strict=True)
            }
        found.append(run)
    return found


def main() -> None:
    """Write the file."""
    runs = small_runs()
    jobs: list[tuple[str, str | None, str, dict[str, Any]]] = [(name, None, *job) for name, job in RANKS.items()]
    jobs += [(f"{name} norm={norm}", theirs, *job) for name, job in SCORES.items() for norm, theirs in NORMS.items()]
    fused = {}
    for name, norm, method, params in jobs:
        result = fuse([Run(run) for run in runs], norm=norm, method=method, params=dict(params)).to_dict()
        fused[name] = {query: {doc: float(score) for doc, score in docs.items()} for query, docs in result.items()}
    data = {"made with": "ranx 0.3.21", "weights": WEIGHTS, "runs": runs, "fused": fused}
    lines = ",\n".join(f'"{name}": {json.dumps(docs, sort_keys=True)}' for name, docs in fused.items())
    head = json.dumps({key: value for key, value in data.items() if key != "fused"})
    PLACE.write_text(f'{head[:-1]},\n"fused": {{\n{lines}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
