"""Time and memory of known items on a generated collection: both must grow no faster than the text.

python benchmarks/known_items.py [PASSAGES ...]

Passages have 30 to 90 words of a vocabulary of a million, drawn by Zipf's law. They are written as JSON lines into a
temporary folder, and each size is read in a process of its own, whose time and highest resident memory are printed.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (100_000, 300_000, 1_000_000)
WORDS = 1_000_000


def word(number: int) -> str:
    """A made-up word for a number: common words are short ones."""
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[letter] + "aeiou"[number % 5]
    return letters


def write(n: int, place: Path) -> None:
    chance = random.Random(5)
    with place.open("w", encoding="utf-8") as file:
        for number in range(n):
            size = chance.randint(30, 90)
            words = [word(int(WORDS ** chance.random())) for _ in range(size)]
            text = f"{' '.join(words[: size // 2])}. {' '.join(words[size // 2 :])}."
            file.write(json.dumps({"doc_id": f"folder{number % 7}/{number}", "text": text}) + "\n")


def measure(place: Path) -> None:
    import assay

    start, used = time.perf_counter(), time.process_time()
    found = assay.make_questions(place, 200)
    seconds, worked = time.perf_counter() - start, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = place.stat().st_size / 2**20
    print(
        f"{found.passages:>9,} passages, {size:5.0f} MB of text: {len(found.questions)} queries, {seconds:6.1f} s "
        f"({worked:6.1f} s of processor time), {memory:5.0f} MB of memory",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(Path(sys.argv[2]))
    else:
        for count in map(int, sys.argv[1:] or SIZES):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "documents.jsonl"
                write(count, file)
                subprocess.run([sys.executable, __file__, "--one", str(file)], check=True)
