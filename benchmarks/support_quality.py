"""How far the methods of support agree with people, on labelled data.

    python benchmarks/support_quality.py ../shared/data                 words, beside plain word overlap
    python benchmarks/support_quality.py ../shared/data --embedder wordllama --embedder minilm

MTRAG: mean human faithfulness (>= 3 is positive). BEGIN: fully attributable or not. SummEdits: consistent or not.
XQuAD: true sentences and sentences with one change (edits.py). Rows without a score (refusals, courtesies) are left out
for all methods alike, and counted. Intervals are percentiles of 1,000 bootstrap samples.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from edits import make_edits
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from assay.data.samples import Context, Sample
from assay.formats.samples import read_samples
from assay.support.methods import support_of
from assay.support.recipes import contained, word_overlap

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PUBLISHED = {"ragas_faithfulness": "RAGAS judge (published)", "bert_k_precision": "BERT K-precision (published)"}


class Labelled(NamedTuple):
    """A data set: samples, what people said, from which value on they meant yes, and scores published for the rows."""

    name: str
    samples: list[Sample]
    human: NDArray[np.float64]
    positive: float
    published: dict[str, NDArray[np.float64]]


def mtrag(folder: Path) -> Labelled:
    samples = list(read_samples(folder / "mtrag" / "dev.jsonl"))
    human = np.array([np.mean(sample.others["human"]["faithfulness"]) for sample in samples])
    scores = {label: np.array([float(s.others["published"][key]) for s in samples]) for key, label in PUBLISHED.items()}
    return Labelled("MTRAG", samples, human, 3.0, scores)


def begin(folder: Path) -> Labelled:
    with (folder / "begin" / "begin_dev_wow.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    samples = [Sample(str(i), r["message"], r["response"], (Context(r["knowledge"]),)) for i, r in enumerate(rows)]
    return Labelled("BEGIN", samples, np.array([r["begin_label"].startswith("Fully") for r in rows]), 0.5, {})


def summedits(folder: Path, *names: str) -> Labelled:
    rows = [row for name in names for row in json.loads((folder / "summedits" / f"{name}.json").read_text("utf-8"))]
    samples = [Sample(str(i), None, row["summary"], (Context(row["doc"]),)) for i, row in enumerate(rows)]
    label = f"SummEdits {names[0]}" if len(names) == 1 else "SummEdits, both"
    return Labelled(label, samples, np.array([row["label"] for row in rows]), 0.5, {})


def xquad(folder: Path, lang: Any) -> Labelled:
    edits = make_edits(folder / "xquad", lang)
    samples = [Sample(str(i), None, edit.sentence, (Context(edit.passage),)) for i, edit in enumerate(edits)]
    return Labelled(f"XQuAD edits, {lang}", samples, np.array([edit.is_true for edit in edits]), 0.5, {})


def scores_of(samples: list[Sample], method: str, embedder: Any) -> NDArray[np.float64]:
    """One value per sample, NaN where there is none."""
    found = support_of(samples, "words" if method == "words" else "embedding", embedder=embedder)
    return np.array([np.nan if record.value is None else record.value for record in found])


def recipe(samples: list[Sample], compute: Callable[[str, list[str]], float | None]) -> NDArray[np.float64]:
    """Values of a recipe; what it leaves undefined counts as 0."""
    return np.array([compute(s.answer or "", [c.text for c in s.contexts or ()]) or 0.0 for s in samples])


def agreement(values: NDArray[Any], human: NDArray[Any], positive: float) -> tuple[float, float, float]:
    """Spearman, AUROC and the balanced accuracy at the best threshold."""
    labels = human >= positive
    order = np.argsort(-values, kind="stable")
    hits, misses = np.cumsum(labels[order]) / labels.sum(), np.cumsum(~labels[order]) / (~labels).sum()
    last = np.append(values[order][1:] != values[order][:-1], True)
    return (
        float(spearmanr(values, human).statistic),
        float(roc_auc_score(labels, values)),
        float(((hits + 1 - misses) / 2)[last].max()),
    )


def interval(values: NDArray[Any], human: NDArray[Any], positive: float, which: int) -> tuple[float, float]:
    rng = np.random.default_rng(20261116)
    found: list[float] = []
    while len(found) < 1000:
        rows = rng.integers(0, len(values), len(values))
        if 0 < (human[rows] >= positive).sum() < len(rows):
            found.append(agreement(values[rows], human[rows], positive)[which])
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def show(data: Labelled, methods: dict[str, Any]) -> None:
    columns = {name: scores_of(data.samples, name, embedder) for name, embedder in methods.items()}
    kept = np.all([~np.isnan(values) for values in columns.values()], axis=0)
    columns["plain word overlap"] = recipe(data.samples, word_overlap)
    columns["contains"] = recipe(data.samples, contained)
    columns |= data.published
    print(f"\n{data.name}: {kept.sum()} of {len(kept)} rows have a score")
    print(f"{'':30} {'Spearman':>8} {'AUROC':>7} {'95 %':>13} {'bal. acc.':>9}")
    for name, values in columns.items():
        rho, auroc, accuracy = agreement(values[kept], data.human[kept], data.positive)
        low, high = interval(values[kept], data.human[kept], data.positive, 1)
        print(f"{name:30} {rho:8.3f} {auroc:7.3f}   {low:.3f}-{high:.3f} {accuracy:9.3f}")
    if not kept.all():
        filled = np.where(np.isnan(columns["words"]), columns["plain word overlap"], columns["words"])
        rho, auroc, _ = agreement(filled, data.human, data.positive)
        plain = agreement(columns["plain word overlap"], data.human, data.positive)
        print(
            f"all {len(kept)} rows, overlap where there is no score: words {rho:.3f} / {auroc:.3f}, plain word overlap"
            f" {plain[0]:.3f} / {plain[1]:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", action="append", default=[])
    options = parser.parse_args()
    methods = {"words": None, **{f"embedding, {Path(name).name}": name for name in options.embedder}}
    folder = options.folder
    show(mtrag(folder), methods)
    show(begin(folder), methods)
    for names in (["samsum"], ["scitldr"], ["samsum", "scitldr"]):
        show(summedits(folder, *names), methods)
    for lang in ("en", "zh"):
        show(xquad(folder, lang), methods)


if __name__ == "__main__":
    main()
