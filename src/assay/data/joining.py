"""Joining a run with judgments: the kernel that every evaluation of a file goes through.

Runs are walked in pieces that stay in the processor's cache, several at a time. Rows of a query are adjacent and
sorted in almost every real run, so that is verified and sorting happens only where it fails. Judged documents are found
by a 64-bit hash and the few hits confirmed by their text.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.data import segments
from assay.data.assembly import JudgedRows, assemble
from assay.data.rows import Rows, Unclean
from assay.data.run import Pieces
from assay.errors import InputError, Repeated, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    import polars as pl
    from numpy.typing import NDArray

    from assay.data.judgments import Judgments
    from assay.data.pool import Pool
    from assay.data.protocol import Ties
    from assay.data.ranking import Ranking
    from assay.data.run import Run
    from assay.data.segments import Ints
    from assay.data.texts import Words

_BLOCK = 1 << 17
_LOOK = 1 << 12
_SLOT_BITS = 17  # of the table of a piece: with two to four slots for a row, it stays in memory near the processor
_SHIFT = 11
_SALT = np.uint64(0xC2B2AE3D27D4EB4F)
_TABLES = threading.local()


def rank_run(
    judgments: Judgments,
    run: Run,
    *,
    ties: Ties = "docid",
    float32: bool = False,
    dedupe: bool = False,
    folded: bool = False,
) -> Ranking:
    """Join judgments with a run; `folded` frames carry minus the chunk's position as score."""
    join = _Join(judgments, run, ties, float32, dedupe, folded)
    parts = join.parts()
    run_queries = list(itertools.chain.from_iterable(part.queries for part in parts))
    index = {
        query: i for i, query in enumerate(sorted({*judgments.query_ids, *judgments.empty, *run_queries, *run.empty}))
    }
    number = np.fromiter((index[query] for query in run_queries), dtype=np.int64, count=len(run_queries))
    lengths = np.zeros(len(index), dtype=np.int64)
    retrieved = _join([part.retrieved for part in parts])
    lengths[number] = retrieved
    in_run = np.zeros(len(index), dtype=bool)
    in_run[number] = True
    in_run[[index[query] for query in run.empty]] = True
    hits, positions = _hits(parts, number)
    listed = None if positions is None else (np.repeat(number, retrieved), positions)
    return assemble(judgments, index, in_run, lengths, hits, listed=listed, expected=ties == "expected")


@dataclass(frozen=True)
class _Part:
    """What was found in some adjacent queries of a run: their lengths, and the judged rows in rank order.

    Of folded chunks, `positions` has the position of every row, judged or not.
    """

    queries: list[str]
    retrieved: Ints
    positions: Ints | None
    row: Ints
    segment: Ints
    pool: Ints
    rank: Ints
    tie_first: Ints
    tie_last: Ints


def _join(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _hits(parts: list[_Part], number: Ints) -> tuple[JudgedRows, Ints | None]:
    """Put the judged rows of all parts together; of folded chunks, also the position of every row."""
    before = np.cumsum([0, *(len(part.queries) for part in parts)])
    segment = _join([part.segment + first for part, first in zip(parts, before[:-1], strict=True)])
    rank = _join([part.rank for part in parts])
    position, positions = rank, None
    each = [(part.positions, part.row) for part in parts if part.positions is not None]
    if each:
        position, positions = _join([every[row] for every, row in each]), _join([every for every, _ in each])
    pool = _join([part.pool for part in parts])
    first, last = _join([part.tie_first for part in parts]), _join([part.tie_last for part in parts])
    return JudgedRows(number[segment], rank, position, pool, first, last), positions


@dataclass(frozen=True)
class _Join:
    """The rules under which pieces of a run are joined with judgments."""

    judgments: Judgments
    run: Run
    ties: Ties
    float32: bool
    dedupe: bool
    folded: bool

    def parts(self) -> list[_Part]:
        """Join piece by piece; a run whose queries are not each in one place is put in order first."""
        rows = self.run.rows
        try:
            found = self._each(rows.loaders() if isinstance(rows, Pieces) else _slices(rows))
        except Unclean:
            found = self._each(_slices(self.run.frame))
        queries = [query for part in found for query in part.queries]
        if not queries and isinstance(rows, Pieces):
            _ = self.run.frame  # who reads all of it says that there are no rows
        if len(set(queries)) < len(queries):
            found = self._each(_slices(self.run.frame.sort("query_id", maintain_order=True)))
        return found

    def _each(self, loaders: Iterable[Callable[[], Rows]]) -> list[_Part]:
        """Read and join pieces in their order, a few at a time: what is unpacked meanwhile must not pile up."""
        _ = self.judgments.pool.hashes  # made once, before there are threads
        loaders = iter(loaders)
        few = list(itertools.islice(loaders, 2))
        if len(few) < 2:  # noqa: PLR2004 - a single piece needs no other thread
            return [self._part(load()) for load in few]
        loaders = itertools.chain(few, loaders)
        threads = min(4, os.cpu_count() or 1)
        found: list[_Part] = []
        waiting: deque[Future[_Part]] = deque()
        with ThreadPoolExecutor(max_workers=threads) as workers:
            for load in loaders:
                waiting.append(workers.submit(lambda load: self._part(load()), load))
                if len(waiting) > 2 * threads:
                    found.append(waiting.popleft().result())
            return [*found, *(part.result() for part in waiting)]

    def _part(self, rows: Rows) -> _Part:
        """Bring rows into rank order and find the judged ones."""
        rows = self._rank(rows)
        found, pool, suspects = self._find_judged(rows)
        if len(suspects):
            rows = self._without_repeats(rows, suspects)
            found, pool, suspects = self._find_judged(rows)
        if len(suspects):
            found, pool = _by_text(rows, self.judgments.pool)
        blocks = _tie_blocks(_tied(rows), found)
        rank = found
        if self.ties != "given" and len(blocks.hits):
            rank = found.copy()
            rank[blocks.hits] = _by_docid(rows, found, blocks)
            order = blocks.hits[np.argsort(rank[blocks.hits])]  # a hit stays among those that it is tied with
            for values in (rank, found, pool):
                values[blocks.hits] = values[order]
        segment = np.repeat(np.arange(len(rows.starts)), _counts(found, rows.starts))
        start = rows.starts[segment]
        first, last = blocks.bounds(rank)
        return _Part(
            queries=rows.names,
            retrieved=rows.sizes,
            positions=-rows.score.astype(np.int64) if self.folded else None,
            row=found,
            segment=segment,
            pool=pool,
            rank=rank - start + 1,
            tie_first=first - start + 1,
            tie_last=last - start + 1,
        )

    def _rank(self, rows: Rows) -> Rows:
        """Return the rows by falling score, moving them only where they are not."""
        if not np.isfinite(rows.score).all():
            _refuse_score(self.run, rows)
        if self.float32:
            rows = replace(rows, score=rows.score.astype(np.float32))
        rising = rows.score[1:] > rows.score[:-1]
        rising[rows.starts[1:] - 1] = False
        return rows.by_rank() if rows.is_scattered or rising.any() else rows

    def _find_judged(self, rows: Rows) -> tuple[Ints, Ints, Ints]:
        """Find judged rows with their numbers in the pool, by hashes; and the rows among which text must decide."""
        judged = self.judgments.pool
        wanted, place = judged.of_queries(rows.names)
        salt = (np.arange(1, len(rows.starts) + 1, dtype=np.uint64)) * _SALT
        key = rows.docs.hashes()
        key += np.repeat(salt, rows.sizes)
        found, needle, suspects = _match(key, judged.hashes[wanted] + salt[place])
        pool = wanted[needle]
        same = rows.docs.match(found, judged.docs, pool)  # and so does the query: no two have the same salt
        if not same.all():
            found, pool = found[same], pool[same]
        order = np.argsort(found)
        return found[order], pool[order], suspects

    def _without_repeats(self, rows: Rows, suspects: Ints) -> Rows:
        """Keep the first of those that are the same document of the same query, or refuse them."""
        suspects = np.unique(suspects)
        segment, docs = rows.segment(suspects), rows.docs.take(suspects)
        order, fresh = docs.order(segment)
        again = ~fresh
        if again.any() and not self.dedupe:
            twice = int(suspects[order[np.flatnonzero(again) - 1]].min())
            query = rows.names[int(rows.segment(np.array([twice]))[0])]
            place = self.run.source.label if self.run.source else None
            raise Repeated(query, rows.docs[twice], "listed", path=place)
        kept = np.ones(len(rows), dtype=bool)
        kept[suspects[order[again]]] = False
        return rows.take(kept)


def _slices(frame: pl.DataFrame) -> list[Callable[[], Rows]]:
    """Cut rows into blocks that fit the processor's cache and end where a query ends."""
    return [
        lambda start=start, end=end: Rows.of(frame.slice(start, end - start))  # type: ignore[misc]
        for start, end in _blocks(frame["query_id"])
    ]


def _match(key: Words, needle: Words) -> tuple[Ints, Ints, Ints]:
    """Find needles among the keys of a block: rows and numbers of needles; and rows whose keys are alike.

    Each row writes its number into the slot of a table that some bits of its key name. A row that reads back another
    number has lost the slot to a key like its own, or by chance: then it tries again with other bits of its key.
    Needles look into the same slots. That takes a sixth of the time of sorting the keys.
    """
    bits = max(_SLOT_BITS, len(key).bit_length() + 1)
    table = _table(bits)
    row, own, wanted, sought = np.arange(len(key), dtype=np.int32), key, np.arange(len(needle)), needle
    rows, hits, alike = [], [], []
    for shift in range(0, 64 - bits, _SHIFT):
        slot = _slots(own, shift, bits)
        table[slot] = row
        winner = table[slot]
        found = np.minimum(table[_slots(sought, shift, bits)], len(key) - 1)  # a larger piece leaves larger numbers
        hit = key[found] == sought
        which = np.flatnonzero(hit)
        rows.append(found[which])
        hits.append(wanted[which])
        lost = np.flatnonzero(winner != row)
        if not len(lost):
            row = row[lost]
            break
        left = np.flatnonzero(~hit)
        wanted, sought = wanted[left], sought[left]
        row, own, winner = row[lost], own[lost], winner[lost]
        same = own == key[winner]
        if same.any():
            alike += [row[same], winner[same]]
            row, own = row[~same], own[~same]
            if not len(row):
                break
    # Rows that never found a slot of their own are compared by text, as are those with equal keys.
    suspects = np.concatenate([*alike, row]).astype(np.int64)
    return np.concatenate(rows).astype(np.int64), np.concatenate(hits), suspects


def _table(bits: int) -> NDArray[np.int32]:
    """A table with a slot for every number of so many bits; each thread keeps one, with what was in it before."""
    kept: NDArray[np.int32] | None = getattr(_TABLES, "kept", None)
    if kept is None or len(kept) < 1 << bits:
        kept = _TABLES.kept = np.zeros(1 << bits, dtype=np.int32)
    return kept[: 1 << bits]


def _slots(key: Words, shift: int, bits: int) -> Ints:
    return ((key >> np.uint64(shift)) & np.uint64((1 << bits) - 1)).view(np.int64)


def _blocks(query: pl.Series) -> list[tuple[int, int]]:
    """Cut the rows into blocks that fit the processor's cache and end where a query ends."""
    ends = [0]
    while ends[-1] < len(query):
        end = ends[-1] + _BLOCK
        while end < len(query):
            fresh = (query.slice(end, _LOOK) != query[end - 1]).arg_true()
            if len(fresh):
                end += int(fresh[0])
                break
            end += _LOOK
        ends.append(min(end, len(query)))
    return list(itertools.pairwise(ends))


def _refuse_score(run: Run, rows: Rows) -> None:
    row = int(np.flatnonzero(~np.isfinite(rows.score))[0])
    query = rows.names[int(rows.segment(np.array([row]))[0])]
    raise InputError(
        say(
            "the score {score} of document {doc} for query {query} is not a finite number",
            score=rows.score[row],
            doc=excerpt(rows.docs[row]),
            query=excerpt(query),
        ),
        path=run.source.label if run.source else None,
        hint=say("remove the document or give it a finite score"),
    )


def _by_text(rows: Rows, pool: Pool) -> tuple[Ints, Ints]:
    """Find judged rows by their text alone: needed only where different documents of a block have like hashes."""
    each = np.repeat(np.arange(len(rows.starts)), rows.sizes)
    row_of = {key: row for row, key in enumerate(zip(each.tolist(), rows.docs.to_list(), strict=True))}
    wanted, place = pool.of_queries(rows.names)
    row = [row_of.get(key, -1) for key in zip(place.tolist(), pool.docs.take(wanted).to_list(), strict=True)]
    found = np.array(row, np.int64)
    order = np.argsort(found)[np.count_nonzero(found < 0) :]
    return found[order], wanted[order]


def _tied(rows: Rows) -> Ints:
    """Rows with the score of the row after them."""
    same = rows.score[1:] == rows.score[:-1]
    same[rows.starts[1:] - 1] = False
    return np.flatnonzero(same)


@dataclass(frozen=True)
class _TieBlocks:
    """Ties with judged rows: the first and the last row of each, and the numbers of the hits in it, one after another.

    Hits are numbered in the order of rows; `size` says how many each tie has.
    """

    first: Ints
    last: Ints
    hits: Ints
    size: Ints

    def bounds(self, rank: Ints) -> tuple[Ints, Ints]:
        """First and last rank that each hit shares; its own where there is no tie."""
        if not len(self.hits):
            return rank, rank
        first, last = rank.copy(), rank.copy()
        first[self.hits], last[self.hits] = np.repeat(self.first, self.size), np.repeat(self.last, self.size)
        return first, last


def _tie_blocks(tied: Ints, found: Ints) -> _TieBlocks:
    """Find the judged rows in ties; `tied` rows equal the row after them."""
    fresh = segments.changes(tied - np.arange(len(tied)))
    first, last = tied[fresh], tied[np.append(fresh[1:], True)[: len(fresh)]] + 1
    begin, end = np.searchsorted(found, first), np.searchsorted(found, last, side="right")
    some = np.flatnonzero(end > begin)
    size = (end - begin)[some]
    hits = np.repeat(begin[some] - (np.cumsum(size) - size), size) + np.arange(size.sum())
    return _TieBlocks(first[some], last[some], hits, size)


def _by_docid(rows: Rows, found: Ints, blocks: _TieBlocks) -> Ints:
    """Place each judged row within its tie by document id, descending by bytes."""
    size = blocks.last - blocks.first + 1
    which = np.repeat(np.arange(len(size)), size)
    before = np.cumsum(size) - size
    member = (blocks.first - before)[which] + np.arange(len(which))
    order, _ = rows.docs.take(member).order(which, falling=True)
    placed = np.empty_like(member)
    placed[order] = member
    own: Ints = placed[found[blocks.hits] + np.repeat(before - blocks.first, blocks.size)]
    return own


def _counts(rows: Ints, starts: Ints) -> Ints:
    """How many of some rows, given in their order, follow each start."""
    return np.diff(np.append(np.searchsorted(rows, starts), len(rows)))
