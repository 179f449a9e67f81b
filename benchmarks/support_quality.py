"""How far the methods of support agree with people, on labelled data.

    python benchmarks/support_quality.py ../shared/data                 words, beside plain word overlap
    python benchmarks/support_quality.py ../shared/data --embedder wordllama --embedder minilm

MTRAG: mean human faithfulness (>= 3 is positive). BEGIN: fully attributable or not. SummEdits: consistent or not.
XQuAD: true sentences and sentences with one change (edits.py). The tables are those of `assay validate`.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from edits import make_edits

from assay.analysis.validate import Method, validate
from assay.data.samples import Context, Sample, Samples
from assay.data.source import Source
from assay.formats.samples import read_samples
from assay.report.document import write
from assay.report.views import validation

if TYPE_CHECKING:
    from numpy.typing import NDArray

PUBLISHED = ("ragas_faithfulness", "bert_k_precision")
PAIR = ["samsum", "scitldr"]


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
    scores = {key: np.array([float(s.others["published"][key]) for s in samples]) for key in PUBLISHED}
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


def as_labelled(data: Labelled) -> Samples:
    """Samples with what people said, and published scores, in columns."""
    rows = []
    for i, sample in enumerate(data.samples):
        others = {"human": float(data.human[i]), "published": {key: float(v[i]) for key, v in data.published.items()}}
        rows.append(replace(sample, others=others))
    return Samples(tuple(rows), source=Source(data.name))


def show(data: Labelled, embedders: list[str], resamples: int) -> None:
    methods: list[Method] = ["words", "embedding", "overlap", "contains"]
    found = validate(
        as_labelled(data),
        methods if embedders else [name for name in methods if name != "embedding"],
        positive=data.positive,
        embedder=embedders,
        n_resamples=resamples,
    )
    print(write(validation.table(found), "markdown"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", action="append", default=[])
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    folder = options.folder
    sets = [mtrag(folder), begin(folder), *(summedits(folder, *names) for names in (["samsum"], ["scitldr"], PAIR))]
    for data in [*sets, xquad(folder, "en"), xquad(folder, "zh")]:
        show(data, options.embedder, options.resamples)


if __name__ == "__main__":
    main()
