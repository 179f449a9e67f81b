"""Joining a run with judgments: the kernel that every evaluation of a file goes through.

Runs are walked in pieces that stay in the processor's cache, several at a time. Rows of a query are adjacent and
sorted in almost every real run, so that is verified and sorting happens only where it fails. Judged pairs are found by
a 64-bit hash of (query, document) and the few hits confirmed by their text.
"""

from __future__ import annotations

import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import segments
from assay.data.assembly import Hits, assemble, pool_starts
from assay.data.run import Unclean
from assay.errors import InputError, Repeated, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.judgments import Judgments
    from assay.data.ranking import Ranking, Ties
    from assay.data.run import Run
    from assay.data.segments import Floats, Ints

_BLOCK = 1 << 17
_LOOK = 1 << 12
_SLOT_BITS = 20  # for the rows of a piece, a few hundred thousand, four slots each, in memory near the processor
_SHIFT = 11
_Hashes = NDArray[np.uint64]
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
    retrieved = _joined([part.retrieved for part in parts])
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


def _joined(arrays: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _hits(parts: list[_Part], number: Ints) -> tuple[Hits, Ints | None]:
    """Put the judged rows of all parts together; of folded chunks, also the position of every row."""
    before = np.cumsum([0, *(len(part.queries) for part in parts)])
    segment = _joined([part.segment + first for part, first in zip(parts, before[:-1], strict=True)])
    rank = _joined([part.rank for part in parts])
    position, positions = rank, None
    each = [(part.positions, part.row) for part in parts if part.positions is not None]
    if each:
        position, positions = _joined([every[row] for every, row in each]), _joined([every for every, _ in each])
    pool = _joined([part.pool for part in parts])
    first, last = _joined([part.tie_first for part in parts]), _joined([part.tie_last for part in parts])
    return Hits(number[segment], rank, position, pool, first, last), positions


@dataclass(frozen=True)
class _Scan:
    """What one walk over rows found: where queries start, judged rows with their pairs, ties, rises, repeats.

    Rows of one query may stand `apart`, the higher ones after the lower.
    """

    starts: Ints
    rows: Ints
    pool: Ints
    tied: Ints
    rising: Ints
    suspects: Ints
    apart: bool


class _Keys:
    """Hashes of judged (query, document) pairs, found by the hash of their query."""

    def __init__(self, judgments: Judgments) -> None:
        self.seed = 0
        queries, self.pairs = hashes(judgments.pairs, self.seed)
        starts = np.append(pool_starts(judgments), len(self.pairs))
        order = np.argsort(queries[starts[:-1]])
        self.queries = queries[starts[:-1]][order]
        self.first, self.last = starts[:-1][order], starts[1:][order]

    def of_queries(self, queries: _Hashes) -> Ints:
        """Numbers of all judged pairs of the queries with these hashes."""
        if not len(self.queries):
            return np.zeros(0, np.int64)
        place = np.searchsorted(self.queries, queries)
        place[place == len(self.queries)] = 0
        place = place[self.queries[place] == queries]
        first, size = self.first[place], self.last[place] - self.first[place]
        return np.repeat(first, size) + segments.ordinals(np.repeat(np.arange(len(size)), size)) - 1


def hashes(frame: pl.DataFrame, seed: int) -> tuple[_Hashes, _Hashes]:
    """Hash the queries and the (query, document) pairs of a frame."""
    found = frame.select(pl.col("query_id").hash(seed), pl.col("doc_id").hash(seed + 1))
    query = found["query_id"].to_numpy()
    return query, query + found["doc_id"].to_numpy()


@dataclass(frozen=True)
class _Join:
    """The rules under which pieces of a run are joined with judgments."""

    judgments: Judgments
    run: Run
    ties: Ties
    float32: bool
    dedupe: bool
    folded: bool

    @cached_property
    def keys(self) -> _Keys:
        return _Keys(self.judgments)

    def parts(self) -> list[_Part]:
        """Join piece by piece; a run whose queries are not each in one place is put in order first."""
        rows = self.run.rows
        try:
            found = self._each(_slices(rows) if isinstance(rows, pl.DataFrame) else rows.loaders())
        except Unclean:
            found = self._each(_slices(self.run.frame))
        queries = [query for part in found for query in part.queries]
        if len(set(queries)) < len(queries):
            found = self._each(_slices(self.run.frame.sort("query_id", maintain_order=True)))
        return found

    def _each(self, loaders: Sequence[Callable[[], pl.DataFrame]]) -> list[_Part]:
        _ = self.keys  # made once, before there are threads
        # One more than there are cores: each waits now and then, for the interpreter or for the threads that parse.
        with ThreadPoolExecutor(max_workers=1 + min(4, os.cpu_count() or 1)) as workers:
            return list(workers.map(lambda load: self._part(load()), loaders))

    def _part(self, frame: pl.DataFrame) -> _Part:
        """Bring rows into rank order and find the judged ones."""
        frame, scan = self._in_order(frame)
        names = frame["query_id"].gather(scan.starts)
        find = _exact if len(scan.suspects) else _confirmed
        rows, pool, segment = find(self.judgments.pairs, frame, names, scan)
        start = scan.starts[segment]
        first, last = _tie_bounds(scan.tied, rows)
        rank = rows if self.ties == "given" else _by_docid(frame, rows, first, last)
        return _Part(
            queries=names.to_list(),
            retrieved=np.diff(np.append(scan.starts, len(frame))),
            positions=-frame["score"].to_numpy().astype(np.int64) if self.folded else None,
            row=rows,
            segment=segment,
            pool=pool,
            rank=rank - start + 1,
            tie_first=first - start + 1,
            tie_last=last - start + 1,
        )

    def _in_order(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, _Scan]:
        """Return the rows sorted by falling score without repeats, moving them only where they are not."""
        scan = self._scan(frame)
        if len(scan.rising) or scan.apart:
            score = pl.col("score").cast(pl.Float32) if self.float32 else pl.col("score")
            frame = frame.sort("query_id", score, descending=[False, True], maintain_order=True)
            scan = self._scan(frame)
        if len(scan.suspects):
            suspects = frame[np.unique(scan.suspects)]
            twice = suspects.filter(pl.struct("query_id", "doc_id").is_duplicated())
            if len(twice) and not self.dedupe:
                place = self.run.source.label if self.run.source else None
                raise Repeated(twice["query_id"][0], twice["doc_id"][0], "listed", path=place)
            if len(twice):
                frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
                scan = self._scan(frame)
        return frame, scan

    def _scan(self, frame: pl.DataFrame) -> _Scan:
        """Walk the rows once: where queries start, scores tie or rise, pairs repeat and judged documents stand."""
        query, key = hashes(frame, self.keys.seed)
        score = frame["score"].to_numpy()
        if not np.isfinite(score).all():
            _refuse_score(self.run, frame, score)
        if self.float32:
            score = score.astype(np.float32)
        new = query[1:] != query[:-1]
        starts = np.append(0, np.flatnonzero(new) + 1) if len(query) else np.zeros(0, np.int64)
        tied = np.flatnonzero((score[1:] == score[:-1]) & ~new)
        rising = np.flatnonzero((score[1:] > score[:-1]) & ~new)
        heads = query[starts]
        rows, pool, suspects = _match(key, self.keys.of_queries(heads), self.keys.pairs)
        return _Scan(starts, rows, pool, tied, rising, suspects, apart=len(set(heads.tolist())) < len(heads))


def _slices(frame: pl.DataFrame) -> list[Callable[[], pl.DataFrame]]:
    """Cut rows into blocks that fit the processor's cache and end where a query ends."""
    return [partial(frame.slice, start, end - start) for start, end in _blocks(frame["query_id"])]


def _match(key: _Hashes, wanted: Ints, pairs: _Hashes) -> tuple[Ints, Ints, Ints]:
    """Find judged pairs among the keys of a block, and rows whose keys are alike.

    Each row writes its number into the slot of a table that some bits of its key name. A row that reads back another
    number has lost the slot to a key like its own, or by chance: then it tries again with other bits of its key. Judged
    pairs look into the same slots. That takes a sixth of the time of sorting the keys.
    """
    bits = max(_SLOT_BITS, len(key).bit_length() + 1)
    table = _table(bits)
    row, own, needle = np.arange(len(key), dtype=np.int32), key, pairs[wanted]
    rows, pool, alike = [], [], []
    for shift in range(0, 64 - bits, _SHIFT):
        slot = _slots(own, shift, bits)
        table[slot] = row
        winner = table[slot]
        found = table[_slots(needle, shift, bits)]
        found[found >= len(key)] = 0  # left by a larger piece
        hit = key[found] == needle
        rows.append(found[hit])
        pool.append(wanted[hit])
        needle, wanted = needle[~hit], wanted[~hit]
        lost = np.flatnonzero(winner != row)
        row, own, winner = row[lost], own[lost], winner[lost]
        same = own == key[winner]
        alike += [row[same], winner[same]]
        row, own = row[~same], own[~same]
        if not len(row):
            break
    # Whoever never found a slot of its own is looked at by text, as are those with like keys.
    suspects = np.concatenate([*alike, row]).astype(np.int64)
    return np.concatenate(rows).astype(np.int64), np.concatenate(pool), suspects


def _table(bits: int) -> NDArray[np.int32]:
    """A table with a slot for every number of so many bits; each thread keeps one, with what was in it before."""
    kept: NDArray[np.int32] | None = getattr(_TABLES, "kept", None)
    if kept is None or len(kept) != 1 << bits:
        kept = _TABLES.kept = np.zeros(1 << bits, dtype=np.int32)
    return kept


def _slots(key: _Hashes, shift: int, bits: int) -> Ints:
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


def _refuse_score(run: Run, part: pl.DataFrame, score: Floats) -> None:
    row = int(np.flatnonzero(~np.isfinite(score))[0])
    raise InputError(
        f"score {score[row]} of query {excerpt(part['query_id'][row])}, document {excerpt(part['doc_id'][row])}"
        " is not finite",
        path=run.source.label if run.source else None,
        hint="remove the document or give it a finite score",
    )


def _confirmed(pairs: pl.DataFrame, frame: pl.DataFrame, names: pl.Series, scan: _Scan) -> tuple[Ints, Ints, Ints]:
    """Compare the text of the rows whose hashes matched; return rows in order with their pairs and segments."""
    order = np.argsort(scan.rows)
    rows, pool = scan.rows[order], scan.pool[order]
    segment = np.searchsorted(scan.starts, rows, side="right") - 1
    same_doc = frame["doc_id"].gather(rows) == pairs["doc_id"].gather(pool)
    same = (same_doc & (names.gather(segment) == pairs["query_id"].gather(pool))).to_numpy()
    return rows[same], pool[same], segment[same]


def _exact(pairs: pl.DataFrame, frame: pl.DataFrame, _names: pl.Series, scan: _Scan) -> tuple[Ints, Ints, Ints]:
    """Find judged rows by their text alone: needed only when two different pairs of a block have like hashes."""
    ids = ["query_id", "doc_id"]
    found = frame.select(ids).with_row_index("row").join(pairs.select(ids).with_row_index("pool"), on=ids).sort("row")
    rows = found["row"].to_numpy().astype(np.int64)
    return rows, found["pool"].to_numpy().astype(np.int64), np.searchsorted(scan.starts, rows, side="right") - 1


def _tie_bounds(tied: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """First and last row with the same score as each given row; `tied` rows equal the row after them."""
    if not len(tied):
        return rows, rows
    fresh = np.append(True, tied[1:] != tied[:-1] + 1)
    first = tied[fresh]
    last = np.append(tied[:-1][fresh[1:]], tied[-1]) + 1
    block = np.maximum(np.searchsorted(first, rows, side="right") - 1, 0)
    inside = (rows >= first[block]) & (rows <= last[block])
    return np.where(inside, first[block], rows), np.where(inside, last[block], rows)


def _by_docid(frame: pl.DataFrame, rows: Ints, first: Ints, last: Ints) -> Ints:
    """Place each row within its tie by document id, descending by bytes."""
    if not (last > first).any():
        return rows
    begin, which = np.unique(first[last > first], return_index=True)
    size = last[last > first][which] - begin + 1
    member = np.repeat(begin, size) + segments.ordinals(np.repeat(np.arange(len(begin)), size)) - 1
    order = (
        pl.DataFrame({"row": member, "tie": np.repeat(begin, size), "doc_id": frame["doc_id"].gather(member)})
        .sort(["tie", "doc_id"], descending=[False, True])["row"]
        .to_numpy()
    )
    back = np.argsort(order)
    placed = member[back]
    place = np.searchsorted(member, rows)
    place[place == len(member)] = 0
    return np.where(member[place] == rows, placed[place], rows)
