"""Gold answers as spans of text: where they are in a document, and how much of them chunks contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Start and end of a piece of text, in characters."""


class DocumentPart(Protocol):
    """A piece of a document, such as a chunk, that knows its position in the document."""

    @property
    def doc_id(self) -> str:
        """Id of the document."""

    @property
    def start(self) -> int:
        """Its first character."""

    @property
    def end(self) -> int:
        """The character behind its last one."""


class GoldSpan(NamedTuple):
    """A piece of a document that answers a query; `others` are the further places of a text that occurs several times.

    A span counts as found when any of its places is. Spans of the same `part` of an answer are alternatives; one
    without a part is a part of its own.
    """

    query_id: str
    doc_id: str
    start: int
    end: int
    grade: float = 1.0
    others: tuple[Span, ...] = ()
    part: str = ""

    @property
    def places(self) -> tuple[Span, ...]:
        """All places where it occurs; they have the same length."""
        return (self.start, self.end), *self.others


@dataclass(frozen=True)
class SpanCase:
    """One query as measures of spans see it: its gold spans, at least one, and the chunks retrieved, the best first."""

    spans: Sequence[GoldSpan]
    chunks: Sequence[DocumentPart]


def overlap(span: GoldSpan, chunk: DocumentPart) -> int:
    """Characters that a chunk shares with a span, at the place where it shares most."""
    if span.doc_id != chunk.doc_id:
        return 0
    return max(max(0, min(end, chunk.end) - max(start, chunk.start)) for start, end in span.places)


def count_covered(spans: Sequence[GoldSpan], chunks: Sequence[DocumentPart]) -> list[int]:
    """How many characters of each span some chunks hold together, at the place where they hold most."""
    found = []
    for span in spans:
        mine = [chunk for chunk in chunks if chunk.doc_id == span.doc_id]
        held = [_size_of_union((max(a, c.start), min(b, c.end)) for c in mine) for a, b in span.places]
        found.append(max(held))
    return found


class ChunkStart(NamedTuple):
    """The beginning of a chunk, as far as it is read."""

    doc_id: str
    start: int
    end: int


def cut_after(chunks: Sequence[DocumentPart], characters: int | None) -> Sequence[DocumentPart]:
    """The first chunks that have so many characters together, the last of them cut there; all of them without it."""
    if characters is None:
        return chunks
    found: list[DocumentPart] = []
    left = characters
    for chunk in chunks:
        if left <= 0:
            break
        found.append(ChunkStart(chunk.doc_id, chunk.start, min(chunk.end, chunk.start + left)))
        left -= chunk.end - chunk.start
    return found


def inside(chunk: DocumentPart, spans: Sequence[GoldSpan]) -> int:
    """How many characters of a chunk lie in some place of some span, each counted once."""
    places = [place for span in spans if span.doc_id == chunk.doc_id for place in span.places]
    return _size_of_union((max(start, chunk.start), min(end, chunk.end)) for start, end in places)


def _size_of_union(pieces: Iterable[Span]) -> int:
    """Characters of pieces that may overlap, each counted once; a piece that ends before it begins has none."""
    total, reached = 0, 0
    for start, end in sorted(pieces):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
