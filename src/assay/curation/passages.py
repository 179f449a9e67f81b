"""Passages of documents: what questions are made from, with their places and their headings."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from assay.pipeline.terms import words
from assay.text.chinese import STOP_WORDS
from assay.text.sentences import sentences
from assay.text.words import has_han, is_strong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assay.data.spans import Span

LONGEST = 1000  # characters of a passage that paragraphs are joined or cut to
_TOGETHER = 600  # characters up to which short paragraphs are one passage
_HARD = 4000  # characters after which a text without any sentence end is cut
_HEADING = 90
_GAP = re.compile(r"\n[ \t\r]*\n\s*")
_MARKED = re.compile(r"#{1,6}[ \t]+([^\n]*?)[ \t#]*(?:\n|\Z)")
_ENDINGS = ".!?。！？；;：:，,…"
_LETTERS = 0.7
_SHORT, _LONG = 40, 100  # telling words


class Passage(NamedTuple):
    """A piece of a document with its text; `alone` says that it is all there is under its heading."""

    doc_id: str
    start: int
    end: int
    text: str
    heading: str = ""
    alone: bool = False


def passages_of(doc_id: str, text: str) -> Iterator[Passage]:
    """Cut a document at blank lines and headings: short paragraphs are joined, long ones cut between sentences."""
    for heading, blocks in _sections(text):
        spans = [span for joined in _join(blocks) for span in _split(text, *joined)]
        for start, end in spans:
            yield Passage(doc_id, start, end, text[start:end], heading, len(spans) == 1)


def _sections(text: str) -> Iterator[tuple[str, list[Span]]]:
    """Headings with the paragraphs below them; what comes before the first heading has none."""
    heading, blocks = "", list[tuple[int, int]]()
    for start, end, last in _blocks(text):
        title, begin = _find_heading(text, start, end, last=last)
        if title:
            if blocks:
                yield heading, blocks
            heading, blocks = title, []
        if begin < end:
            blocks.append((begin, end))
    if blocks:
        yield heading, blocks


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Paragraphs without the space around them, and whether each is the last."""
    at, places = 0, list[tuple[int, int]]()
    for gap in _GAP.finditer(text):
        places.append(_strip(text, at, gap.start()))
        at = gap.end()
    places.append(_strip(text, at, len(text)))
    places = [place for place in places if place[0] < place[1]]
    for number, (start, end) in enumerate(places, 1):
        yield start, end, number == len(places)


def _find_heading(text: str, start: int, end: int, *, last: bool) -> tuple[str, int]:
    """The heading that a paragraph is, or begins with, and where the rest of it begins."""
    marked = _MARKED.match(text, start, end)
    if marked is not None:
        return marked[1].strip(), _strip(text, marked.end(), end)[0]
    if not last and end - start <= _HEADING and "\n" not in text[start:end] and text[end - 1] not in _ENDINGS:
        return text[start:end], end
    return "", start


def _join(blocks: list[Span]) -> Iterator[Span]:
    """Neighbouring paragraphs that are short together, as one."""
    start, end = blocks[0]
    for begin, stop in blocks[1:]:
        if stop - start > _TOGETHER:
            yield start, end
            start = begin
        end = stop
    yield start, end


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """Pieces of at most `LONGEST` characters that end with a sentence; a longer sentence is a piece of its own."""
    if end - start <= LONGEST:
        yield start, end
        return
    begin = reached = start
    for first, behind in sentences(text[start:end]):
        if start + behind - begin > LONGEST and reached > begin:
            yield from _cut_hard(text, begin, reached)
            begin = start + first
        reached = start + behind
    yield from _cut_hard(text, begin, reached)


def _cut_hard(text: str, start: int, end: int) -> Iterator[Span]:
    for at in range(start, end, _HARD):
        piece = _strip(text, at, min(end, at + _HARD))
        if piece[0] < piece[1]:
            yield piece


def _strip(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))


def telling_words(text: str) -> Counter[str]:
    """Words of a text that say what it is about, in the form in which equal meanings are equal strings."""
    if not has_han(text):
        return Counter(filter(is_strong, words(text)))
    return Counter(word for word in words(text) if is_telling(word))


def is_telling(word: str) -> bool:
    """Return whether a form is of a word that says what a text is about: no function word, no single Han character."""
    return is_strong(word) and (word.isascii() or (len(word) > 1 and word not in STOP_WORDS))


def is_prose(text: str) -> bool:
    """Return whether a text is mostly letters: tables of numbers and code are not."""
    solid = "".join(text.split())
    return sum(map(str.isalpha, solid)) >= _LETTERS * len(solid)


def length_of(count: int) -> str:
    """The class of length of a passage with so many telling words."""
    return "short" if count < _SHORT else "long" if count >= _LONG else "medium"
