"""Draw passages of a collection by stratum, in one pass and in bounded memory.

A passage belongs to a source (the first folder of its document's id) and to a class of length. Its priority is a hash
of the seed and its text, so that the same passages are drawn on every machine and in whatever order documents come.
Strata take turns in proportion to the square root of their size: a large one gives more, a small one is not lost. A
larger number with the same seed only adds passages.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from assay.curation.passages import Passage, is_prose, length_of, passages_of, telling_words
from assay.errors import InputError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.curation.collection import Opener, ProgressCallback

Stratum = tuple[str, ...]
_SOURCES = 50  # further sources are one stratum
_OTHERS = "..."
_VOCABULARY = 2_000_000  # words that are counted at the same time
_LEAST = 4  # different telling words that a passage needs
_TOLD = 4096  # documents after which progress is reported


class Drawn(NamedTuple):
    """A passage that was drawn, with its hash and its stratum."""

    digest: int
    passage: Passage
    stratum: Stratum


@dataclass
class Frequencies:
    """In how many passages each word is; above two million words, those seen once so far are forgotten."""

    counts: Counter[str] = field(default_factory=Counter)
    passages: int = 0
    most: int = _VOCABULARY

    def add(self, words: Counter[str]) -> None:
        """Count the words of a passage."""
        self.counts.update(words.keys())
        self.passages += 1
        if len(self.counts) > self.most:
            self.counts = Counter({word: n for word, n in self.counts.items() if n > 1})

    def of(self, word: str) -> int:
        """Passages with a word, at least the one that it was found in."""
        return max(1, self.counts[word])


@dataclass(frozen=True)
class Survey:
    """A collection after one pass: its words, the sizes of its strata, and the passages to try, in their order.

    A stratum is a source and a class of length, and a topic where passages were grouped by one.
    """

    documents: int
    frequencies: Frequencies
    sizes: dict[Stratum, int]
    unfit: int
    order: tuple[Drawn, ...]


def digest_of(text: str, seed: int = 0) -> int:
    """A number that only a seed and a text decide, the same on every machine."""
    raw = f"{seed}\x00{text}".encode("utf-8", errors="surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")


def survey(documents: Opener, most: int, seed: int, tell: ProgressCallback) -> Survey:
    """Read a collection once: count its words, and draw up to `most` passages that questions can be made from."""
    words, sizes, heaps = Frequencies(), Counter[Stratum](), dict[Stratum, _Heap]()
    read = unfit = 0
    sources: set[str] = set()
    for read, (doc, text) in enumerate(documents(), 1):
        for passage in passages_of(doc, text):
            found = telling_words(passage.text)
            words.add(found)
            if len(found) < _LEAST or not is_prose(passage.text):
                unfit += 1
                continue
            stratum = _source(doc, sources), length_of(found.total())
            sizes[stratum] += 1
            heaps.setdefault(stratum, _Heap(most)).offer(digest_of(passage.text, seed), passage)
        if read % _TOLD == 0:
            tell(say("questions.reading"), read, read)
    if not sizes:
        raise InputError(
            say("no passage of the documents has enough words for a question"),
            hint=say("scanned pages have to be turned into text first"),
        )
    drawn = {stratum: heap.in_order() for stratum, heap in heaps.items()}
    return Survey(read, words, dict(sizes), unfit, tuple(_take_turns(drawn, sizes, most)))


def divide_by_topic(found: Survey, topics: Sequence[str]) -> Survey:
    """Divide the strata of the passages that were drawn by a topic of each, and let the new strata take turns.

    Of strata of which not every passage was drawn, topics have the shares that they have among those that were.
    """
    drawn: dict[Stratum, list[tuple[int, Passage]]] = {}
    for one, topic in zip(found.order, topics, strict=True):
        drawn.setdefault((*one.stratum, topic), []).append((one.digest, one.passage))
    sizes = dict[Stratum, int]()
    for stratum, size in found.sizes.items():
        within = {name: len(mine) for name, mine in sorted(drawn.items()) if name[:-1] == stratum}
        sizes |= _share_out(size, within) if within else {(*stratum, ""): size}
    ordered = {stratum: sorted(mine) for stratum, mine in drawn.items()}
    return replace(found, sizes=sizes, order=tuple(_take_turns(ordered, sizes, len(found.order))))


def _share_out(size: int, counts: Mapping[Stratum, int]) -> dict[Stratum, int]:
    """Whole numbers that add up to a size, in proportion to counts."""
    total, reached, given, found = sum(counts.values()), 0, 0, dict[Stratum, int]()
    for stratum, count in counts.items():
        reached += count
        found[stratum] = max(count, size * reached // total - given)
        given += found[stratum]
    return found


def _source(doc_id: str, known: set[str]) -> str:
    """The folder that a document is in; of very many folders, those after the first fifty are one."""
    name = doc_id.partition("/")[0] if "/" in doc_id else ""
    if name not in known and len(known) >= _SOURCES:
        return _OTHERS
    known.add(name)
    return name


class _Heap:
    """The passages of the lowest hashes, each text once."""

    def __init__(self, most: int) -> None:
        self._most, self._heap, self._inside = most, list[tuple[int, Passage]](), set[int]()

    def offer(self, digest: int, passage: Passage) -> None:
        if digest in self._inside or (len(self._heap) >= self._most and -digest <= self._heap[0][0]):
            return
        self._inside.add(digest)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (-digest, passage))
        else:
            self._inside.discard(-heapq.heappushpop(self._heap, (-digest, passage))[0])

    def in_order(self) -> list[tuple[int, Passage]]:
        return sorted((-negative, passage) for negative, passage in self._heap)


def _take_turns(
    drawn: Mapping[Stratum, Sequence[tuple[int, Passage]]], sizes: Mapping[Stratum, int], most: int
) -> Iterator[Drawn]:
    """Passages of all strata, each stratum evenly spread in proportion to the square root of its size."""
    turns = [
        ((rank + 0.5) / sqrt(sizes[stratum]), digest, passage, stratum)
        for stratum, mine in drawn.items()
        for rank, (digest, passage) in enumerate(mine)
    ]
    seen: set[int] = set()
    for _, digest, passage, stratum in heapq.nsmallest(most, turns, key=lambda turn: turn[:2]):
        if digest not in seen:  # a copy in another stratum
            seen.add(digest)
            yield Drawn(digest, passage, stratum)
