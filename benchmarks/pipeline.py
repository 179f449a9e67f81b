"""What the pipeline adds to the libraries under it: an index of 50,000 short documents, BM25 and vectors.

    python benchmarks/pipeline.py [--documents 50000]

BM25 is compared with bare bm25s given the same words, exact vector search with the bare matrix product. Both sides of a
ratio are timed in turns within one run, and the fastest turn of each counts: the rest is other people's work. Set
OPENBLAS_NUM_THREADS=1 on a shared machine.
"""

from __future__ import annotations

import argparse
import gc
import time
from typing import TYPE_CHECKING, Any

import bm25s
import numpy as np

from assay.pipeline.bm25 import Bm25
from assay.pipeline.vectors import Exact

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, QUERIES, K, TURNS = 256, 200, 100, 5


def words(rng: np.random.Generator, count: int, size: int) -> list[list[str]]:
    """Texts of words with frequencies as in natural language: Zipf's law over a vocabulary of 50,000."""
    weights = 1 / np.arange(1, 50_001)
    drawn = rng.choice(50_000, size=(count, size), p=weights / weights.sum())
    return [[f"w{number}" for number in row] for row in drawn]


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Fastest seconds of each call."""
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(TURNS):
        for name, call in calls.items():
            gc.collect()
            start = time.perf_counter()
            call()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def bare_build(tokens: list[list[str]]) -> bm25s.BM25:
    model = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    model.index(tokens, show_progress=False)
    return model


def show(title: str, seconds: dict[str, float]) -> None:
    ours, bare = seconds["assay"], seconds["bare"]
    print(f"{title:<28} assay {ours:8.3f} s   bare {bare:8.3f} s   ratio {ours / bare:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=50_000)
    count = parser.parse_args().documents
    rng = np.random.default_rng(0)
    tokens, asked = words(rng, count, 40), words(rng, QUERIES, 6)
    show("BM25 build", in_turns({"assay": lambda: Bm25().build_tokens(tokens), "bare": lambda: bare_build(tokens)}))
    index, model = Bm25().build_tokens(tokens), bare_build(tokens)
    show(
        f"BM25, {QUERIES} queries",
        in_turns({
            "assay": lambda: [index.search_tokens(query, K) for query in asked],
            "bare": lambda: [model.retrieve([query], k=K, show_progress=False) for query in asked],
        }),
    )  # fmt: skip
    rows = rng.normal(size=(count, WIDTH)).astype(np.float32)
    queries = rng.normal(size=(QUERIES, WIDTH)).astype(np.float32)
    exact = Exact(rows, None)  # type: ignore[arg-type] # vectors are given, nothing is embedded
    show(
        f"vectors, {QUERIES} in one batch",
        in_turns({"assay": lambda: exact.search_vectors(queries, K), "bare": lambda: queries @ rows.T}),
    )
    show(
        f"vectors, {QUERIES} one by one",
        in_turns({
            "assay": lambda: [exact.search_vectors(query[None], K) for query in queries],
            "bare": lambda: [query[None] @ rows.T for query in queries],
        }),
    )  # fmt: skip


if __name__ == "__main__":
    main()
