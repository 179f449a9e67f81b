"""Time and memory of known items on a generated collection.

python benchmarks/known_items.py [PASSAGES ...]

Passages have 30 to 90 words of a vocabulary of a million, drawn by Zipf's law; none is kept but those drawn. Each
size is run in a process of its own, whose highest resident memory is printed.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (10_000, 100_000, 1_000_000)
WORDS = 1_000_000


def documents(n: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(5)
    for number in range(n):
        size = chance.randint(30, 90)
        words = [f"w{int(WORDS ** chance.random())}" for _ in range(size)]
        yield f"folder{number % 7}/{number}", f"{' '.join(words[: size // 2])}. {' '.join(words[size // 2 :])}."


def measure(n: int) -> None:
    import assay

    start, spent = time.perf_counter(), 0.0
    for _ in documents(n):
        pass
    spent = time.perf_counter() - start
    start = time.perf_counter()
    found = assay.make_questions(lambda: documents(n), 200)
    seconds = time.perf_counter() - start - 2 * spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n:>9,} passages: {len(found.questions)} queries, {seconds:6.1f} s, {memory:5.0f} MB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
    else:
        for size in map(int, sys.argv[1:] or SIZES):
            subprocess.run([sys.executable, __file__, "--one", str(size)], check=True)
