"""Write the golden files of tests/golden/trec_eval with pytrec-eval-terrier (trec_eval 9) as the independent source.

Run it only when the input should change: python tools/make_trec_golden.py
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytrec_eval

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "trec_eval"
QUERIES, POOL, DEPTH = 12, 40, 25
SEED = 20261115


def inputs() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Make judgments with negative grades and a run with ties, missing and unjudged queries and documents."""
    rng = random.Random(SEED)  # noqa: S311
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(1, QUERIES + 1):
        query = f"t{number:02d}"
        docs = [f"doc{i:03d}" for i in range(POOL)]
        if number != QUERIES:
            qrels[query] = {doc: rng.choice([-1, 0, 0, 0, 1, 1, 2, 3]) for doc in rng.sample(docs, 24)}
        if number != 3:  # noqa: PLR2004
            run[query] = {doc: round(rng.gauss(0, 1), 1) for doc in rng.sample(docs, DEPTH)}
    return qrels, run


def aggregated(name: str, values: list[float]) -> float:
    """Combine per-query values as trec_eval does."""
    if name.startswith("num_"):
        return math.fsum(values)
    if name.startswith("gm_"):
        return math.exp(math.fsum(values) / len(values))
    return math.fsum(values) / len(values)


def lines(per_query: dict[str, dict[str, float]], names: list[str]) -> list[str]:
    """Lay out values as trec_eval -q prints them."""
    out = []
    for query in sorted(per_query):
        shown = [name for name in names if not name.startswith(("gm_", "num_q"))]
        out += [line(name, query, per_query[query][name]) for name in shown]
    total = {name: aggregated(name, [row[name] for row in per_query.values()]) for name in names}
    return out + [line(name, "all", value) for name, value in total.items()]


def line(name: str, query: str, value: float) -> str:
    """Format one line."""
    shown = str(int(value)) if name.startswith("num_") else f"{value:6.4f}"
    return f"{name:<22}\t{query}\t{shown}"


def main() -> None:
    """Write inputs, options and expected outputs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    qrels, run = inputs()
    (FOLDER / "judgments.qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items())
    )
    (FOLDER / "system.run").write_text(
        "".join(f"{q} Q0 {d} {i} {s} golden\n" for q, docs in run.items() for i, (d, s) in enumerate(docs.items(), 1))
    )
    cases = {
        "map_bpref": (
            ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"],
            1,
        ),
        "level2": (["map", "bpref", "recip_rank", "infAP"], 2),
        "cuts": (["P.5,10", "recall.5,10", "ndcg_cut.5,10", "map_cut.5,10", "success.1,5"], 1),
        "oddities": (
            ["infAP", "gm_bpref", "binG", "G", "ndcg", "ndcg_rel", "Rndcg", "set_P", "set_recall", "set_map"],
            1,
        ),
    }
    for name, (measures, level) in cases.items():
        found = pytrec_eval.RelevanceEvaluator(qrels, set(measures), relevance_level=level).evaluate(run)
        order = [
            key for measure in measures for key in sorted(next(iter(found.values())), key=natural) if fits(key, measure)
        ]
        flags = " ".join(f"-m {measure}" for measure in measures)
        (FOLDER / f"{name}.options").write_text(f"--compat 9 -q -l {level} {flags}\n")
        (FOLDER / f"{name}.expected").write_text("\n".join(lines(found, order)) + "\n")


def fits(key: str, measure: str) -> bool:
    """Tell whether a printed name belongs to a measure."""
    base = measure.partition(".")[0]
    return key == base or ("." in measure and key.rpartition("_")[0] == base)


def natural(key: str) -> tuple[str, int]:
    """Sort cutoffs as numbers."""
    base, _, cut = key.rpartition("_")
    return (base, int(cut)) if cut.isdigit() else (key, 0)


if __name__ == "__main__":
    main()
