"""Cases for engines: random judgments and runs of many shapes, and every measure of rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assay.measures import REGISTRY
from strategies import random_pair

if TYPE_CHECKING:
    import random

    from assay.data.judgments import Judgments

_LEAST = {"err": "(max_grade=6)@10"}


def _spell(name: str) -> str:
    spec = REGISTRY[name]
    return name + _LEAST.get(name, "" if spec.cutoff == "none" else "@10")


_RANKED = sorted(
    name for name, spec in REGISTRY.items()
    if spec.of == "rankings" and not spec.needs_subtopics and spec.function.__module__.startswith("assay.")
)  # fmt: skip
MEASURES = {
    "docid": [
        *map(_spell, _RANKED),
        "ndcg(gain='exp')@5",
        "average_precision(gain='graded', max_grade=6)",
        "ndcg(judged_only=true)@3",
    ],
    "given": [*map(_spell, _RANKED)],
    "expected": [_spell(name) for name in _RANKED if REGISTRY[name].expected or REGISTRY[name].order_free],
}
SUBTOPICS = [
    _spell(name)
    for name, spec in REGISTRY.items()
    if spec.needs_subtopics and spec.function.__module__.startswith("assay.")
]
RULES = [
    {},
    {"ties": "given"},
    {"ties": "expected"},
    {"missing": "skip", "undefined": "skip", "min_relevance": 2},
    {"ignore_same_id": True},
]


def random_rows(rng: random.Random, cases: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Several random cases as one: queries are named after the case."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for case in range(cases):
        judged, listed = random_pair(rng)
        qrels |= {f"{case}/{query}": docs for query, docs in judged.items()}
        run |= {f"{case}/{query}": docs for query, docs in listed.items()}
    shared = set(qrels) & set(run)
    return (qrels, run) if shared else random_rows(rng, cases)


def rows_of_run(run: dict[str, dict[str, float]]) -> pl.DataFrame:
    """A run as rows."""
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row")


def judged_rows(judgments: Judgments) -> pl.DataFrame:
    """Judgments as rows with a grade."""
    return judgments.frame.with_columns(pl.lit(None, pl.Float64).alias("score"))
