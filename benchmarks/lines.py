"""Write the lines of a seeded run of any size, or its judgments, to standard output: nothing is kept in a file.

    python benchmarks/lines.py 1e8 --judgments > qrels.txt
    python benchmarks/lines.py 1e8 | assay evaluate qrels.txt - -m map,ndcg@10

A block of a million lines is made once; from block to block, digits of its query ids and of its document ids change.
`--written` says how: with two blanks for one, carriage returns, or blanks and tabs mixed and blanks behind some lines.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK, COLLECTION, JUDGED = 1_000_000, 8_841_823, 10
QUERY, PREFIX = "q00000000", "d000"  # numbers of a query and of the block take the place of zeros
WAYS = {
    "clean": ([" "], ["\n"]),
    "crlf": ([" "], ["\r\n"]),
    "doubled": (["  "], ["\n"]),
    "mixed": ([" ", " ", "  ", "\t", " \t"], ["\n", " \n", "\t\n"]),
}


class Block(NamedTuple):
    """Lines as bytes, where each begins, and which query of the block it belongs to."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    query: NDArray[np.int64]

    def take(self, number: int, prefix: int) -> memoryview:
        """The lines of the block of this number: other queries, and other documents, whose ids begin at `prefix`."""
        before, queries = max(number - 1, 0), np.arange(self.query[-1] + 1)
        for place in range(8):
            digit, last = (each * len(queries) + queries for each in (number, before))
            digit, last = digit // 10**place % 10, last // 10**place % 10
            if not number or (digit != last).any():
                self.text[self.start + 8 - place] = (digit + ord("0"))[self.query]
        for place in range(3):
            if number // 10**place % 10 != before // 10**place % 10:
                self.text[self.start + prefix + 3 - place] = number // 10**place % 10 + ord("0")
        return self.text.data


def make_block(depth: int, kind: str) -> tuple[Block, Block]:
    """Make the lines of some queries, and their judgments."""
    rng, blanks = np.random.default_rng(20261119), np.random.default_rng(7)
    between, ends = WAYS[kind]
    run: list[tuple[int, str]] = []
    judged: list[tuple[int, str]] = []
    for query in range(max(1, BLOCK // depth)):
        docs = rng.choice(COLLECTION, depth, replace=False)
        scores = np.sort(rng.gamma(4, 4, depth))[::-1]
        hits = np.unique((rng.beta(0.5, 3, JUDGED) * depth).astype(int))
        grades = rng.integers(0, 3, len(hits)).tolist()
        judged += [(query, f"{QUERY} 0 {PREFIX}{doc} {grade}\n") for doc, grade in zip(docs[hits], grades, strict=True)]
        rows = zip(docs, scores, blanks.choice(between, (depth, 3)), blanks.choice(ends, depth), strict=True)
        run += [
            (query, f"{QUERY} Q0 {PREFIX}{doc}{one}{rank}{two}{score:.6f}{three}run{end}")
            for rank, (doc, score, (one, two, three), end) in enumerate(rows, 1)
        ]
    return _as_bytes(run), _as_bytes(judged)


def _as_bytes(lines: list[tuple[int, str]]) -> Block:
    sizes = np.array([len(line) for _, line in lines])
    text = np.frombuffer("".join(line for _, line in lines).encode(), np.uint8).copy()
    return Block(text, np.cumsum(sizes) - sizes, np.array([query for query, _ in lines]))


def main() -> None:
    """Write whole blocks to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=float)
    parser.add_argument("--depth", type=int, default=10_000, help="documents of a query")
    parser.add_argument("--written", choices=WAYS, default="clean")
    parser.add_argument("--judgments", action="store_true")
    options = parser.parse_args()
    run, judged = make_block(options.depth, options.written)
    block, prefix = (judged, len(f"{QUERY} 0 ")) if options.judgments else (run, len(f"{QUERY} Q0 "))
    for number in range(max(1, round(options.lines / len(run.start)))):
        sys.stdout.buffer.write(block.take(number, prefix))


if __name__ == "__main__":
    main()
