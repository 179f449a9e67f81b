"""Searches in engines that have their own documents: what they gave for a query, kept and numbered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.errors import InputError
from assay.messages import say
from assay.pipeline.records import Chunk, Hits
from assay.pipeline.store import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.pipeline.records import Query
    from assay.pipeline.store import Store


class Item(NamedTuple):
    """One result: the id that the engine gives it, the document that it is of, its text if it has one, its score."""

    id: str
    doc_id: str
    text: str
    score: float


@dataclass(frozen=True)
class Listing:
    """The results of one query, the best first, and the time of the search; `reason` says why there are none."""

    items: tuple[Item, ...] = ()
    ms: float = 0.0
    reason: str = ""
    tokens: int = 0
    money: float | None = 0.0
    cached: bool = False

    def to_json(self) -> dict[str, Any]:
        """Copy to plain values."""
        return {**vars(self), "items": [list(item) for item in self.items]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Listing:
        """Read what `to_json` wrote; anything else is a ValueError, TypeError or KeyError."""
        found = cls(**{**plain, "items": tuple(Item(*row) for row in plain["items"])})
        if not all(isinstance(part, str) for item in found.items for part in item[:3]) or not found.ms >= 0:
            raise ValueError("not the results of a search")
        return found


@dataclass(frozen=True, eq=False)
class SearchEngine:
    """An engine that is asked: all that shapes its results, and the search; it has no index of ours."""

    identity: dict[str, Any]
    find: Callable[[Query, int], Listing]
    parts: tuple[Any, ...] = ()


@dataclass(frozen=True)
class FoundBlock:
    """The results of some queries, in their order, under a key that changes with them."""

    key: str
    listings: tuple[Listing, ...]

    def hits(self) -> list[Hits]:
        """Ranked chunks of every query, numbered through the block."""
        found, start = [], 0
        for one in self.listings:
            numbers = tuple(range(start, start + len(one.items)))
            start += len(numbers)
            scores = tuple(item.score for item in one.items)
            found.append(Hits(numbers, scores, one.ms, one.tokens, one.money, cached=one.cached, reason=one.reason))
        return found

    def chunks(self, texts: Mapping[str, str]) -> list[Chunk]:
        """The results as chunks; the text of one that has none is its document's, if that is known."""
        found = []
        for item in (item for one in self.listings for item in one.items):
            whole = texts.get(item.doc_id, "")
            text = item.text or whole
            start = max(0, whole.find(text))
            found.append(Chunk(item.id, item.doc_id, text, start, start + len(text)))
        return found


def search_block(engine: SearchEngine, block: Sequence[Query], k: int, store: Store, number: int) -> FoundBlock:
    """Search for some queries, or take what an earlier run of the same round found."""
    key = key_of("listing", engine.identity, k, number, [list(query) for query in block])

    def compute() -> tuple[list[Any], bool]:
        rows = [engine.find(query, k) for query in block]
        return [row.to_json() for row in rows], not any(row.reason for row in rows)

    def read(plain: Any) -> list[Listing]:
        found = [Listing.from_json(row) for row in plain]
        if len(found) != len(block):
            raise ValueError("results of other queries")
        return found

    found = store.values("search", key, compute, read)
    return FoundBlock(key_of(key, [[list(item) for item in one.items] for one in found]), tuple(found))


def shift(hits: Sequence[Hits], by: int) -> list[Hits]:
    """The same hits, numbered after others."""
    return [replace(one, chunks=tuple(number + by for number in one.chunks)) for one in hits]


def in_order(items: Sequence[Item], k: int) -> tuple[Item, ...]:
    """The first k of some results, each once, in their order; scores that say another order count down instead."""
    first: dict[str, Item] = {}
    for item in items:
        first.setdefault(item.id, item)
    kept = list(first.values())[:k]
    scores = [item.score for item in kept]
    if all(first >= second for first, second in pairwise(scores)):
        return tuple(kept)
    return tuple(item._replace(score=float(len(kept) - place)) for place, item in enumerate(kept))


def need_texts(chunks: Sequence[Chunk], stage: str) -> None:
    """Refuse to rerank, or to answer from, results without texts."""
    empty = next((chunk.id for chunk in chunks if not chunk.text), None)
    if empty is not None:
        raise InputError(
            say("the engine gave no text for {id}, which {stage} needs", id=empty, stage=stage),
            hint=say("name the field or the column with the text: text = NAME"),
        )
