"""What the pipeline adds to the libraries under it, over 50,000 short documents, BM25 and vectors; and its memory.

    python benchmarks/pipeline.py [--documents 50000] [--memory 5000 100]
    python benchmarks/pipeline.py --only-memory --memory 50000 1000

Memory is the peak of a whole `assay run`, a process for each retriever, over so many documents of 125 words and so many
queries; then again with the cache of the first run, but without its lists, so that the index is checked and loaded.

BM25 is compared with bare bm25s given the same words, exact vector search with the bare matrix product. Both sides of a
ratio are timed in turns within one run, and the fastest turn of each counts: the rest is other people's work. Set
OPENBLAS_NUM_THREADS=1 on a shared machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bm25s
import numpy as np

from assay.pipeline.bm25 import Bm25
from assay.pipeline.vectors import Exact

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, QUERIES, K, TURNS = 256, 200, 100, 5
CUMULATED = np.cumsum(1 / np.arange(1, 50_001)) / np.sum(1 / np.arange(1, 50_001))


def words(rng: np.random.Generator, count: int, size: int) -> list[list[str]]:
    """Texts of words with frequencies as in natural language: Zipf's law over a vocabulary of 50,000."""
    drawn = np.searchsorted(CUMULATED, rng.random((count, size)))
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


SYLLABLES = [first + second for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u")]
RETRIEVERS = {
    "bm25": 'method = "bm25"',
    "vectors, wordllama": 'method = "vectors"\nembedder = "wordllama"',
    "vectors, usearch": 'method = "vectors"\nembedder = "wordllama"\nsearch = "usearch"',
    "hybrid, wordllama": 'method = "hybrid"\nembedder = "wordllama"',
}


def spoken(word: str) -> str:
    """A word of syllables for a word with a number: vocabularies of models know pieces of it."""
    number, found = int(word[1:]), ""
    while number or not found:
        number, rest = divmod(number, len(SYLLABLES))
        found += SYLLABLES[rest]
    return found


def peak_of(command: list[str]) -> tuple[float, float]:
    """Run a command; its peak memory in megabytes and its seconds."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        said = child.stderr.read() if child.stderr else ""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(said)
    return usage.ru_maxrss / 1024, time.perf_counter() - start


def show_memory(documents: int, queries: int) -> None:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, key, count, size in (("d.jsonl", "doc_id", documents, 125), ("q.jsonl", "query_id", queries, 6)):
            with (folder / file).open("w", encoding="utf-8") as out:
                for number in range(count):  # one at a time: the system counts the memory of a parent as its children's
                    text = " ".join(map(spoken, words(rng, 1, size)[0]))
                    out.write(json.dumps({key: f"{key[0]}{number}", "text": text}) + "\n")
        judged = "".join(f"q{i} 0 d{rng.integers(documents)} 1\n" for i in range(queries))
        (folder / "j.qrels").write_text(judged, encoding="utf-8")
        for label, table in RETRIEVERS.items():
            toml = folder / "e.toml"
            data = '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
            toml.write_text(f'{data}[retrieve]\n{table}\n[evaluate]\nmeasures = ["ndcg@10"]\n', encoding="utf-8")
            command = [sys.executable, "-m", "assay", "run", str(toml), "--brief", "--cache", str(folder / "cache")]
            first, seconds = peak_of(command)
            shutil.rmtree(folder / "cache" / "search")
            again, less = peak_of(command)
            title = f"{label}, {documents:,} x {queries:,}"
            print(
                f"{title:<40} built {first:7.0f} MB {seconds:6.1f} s   loaded {again:7.0f} MB {less:6.1f} s", flush=True
            )
            shutil.rmtree(folder / "cache")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--memory", type=int, nargs=2, default=(5000, 100), metavar=("DOCUMENTS", "QUERIES"))
    parser.add_argument("--only-memory", action="store_true")
    asked = parser.parse_args()
    if not asked.only_memory:
        show_times(asked.documents)
    show_memory(*asked.memory)


def show_times(count: int) -> None:
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
