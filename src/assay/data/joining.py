"""Joining a run's frame with judgments: the kernel that every evaluation of a file goes through.

Frames are walked in blocks that stay in the processor's cache. Rows of a query are adjacent and sorted in almost every
real run, so that is verified and sorting happens only where it fails. Judged pairs are found by a 64-bit hash of
(query, document) and the few hits confirmed by their text.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import segments
from assay.data.assembly import Hits, assemble, pool_starts
from assay.errors import InputError, Repeated, excerpt

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.ranking import Ranking, Ties
    from assay.data.run import Run
    from assay.data.segments import Floats, Ints

_BLOCK = 1 << 17
_LOOK = 1 << 12
_ROW_BITS = 16
_Hashes = NDArray[np.uint64]


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
    frame, run_queries, retrieved, rows = _walk(judgments, run, ties=ties, float32=float32, dedupe=dedupe)
    index = {
        query: i for i, query in enumerate(sorted({*judgments.query_ids, *judgments.empty, *run_queries, *run.empty}))
    }
    positions = -frame["score"].to_numpy().astype(np.int64) if folded else None
    number = np.fromiter((index[query] for query in run_queries), dtype=np.int64, count=len(run_queries))
    lengths = np.zeros(len(index), dtype=np.int64)
    lengths[number] = retrieved
    in_run = np.zeros(len(index), dtype=bool)
    in_run[number] = True
    in_run[[index[query] for query in run.empty]] = True
    hits = Hits(
        query=number[rows.segment],
        rank=rows.rank,
        position=rows.rank if positions is None else positions[rows.hit],
        pool=rows.pool,
        tie_first=rows.tie_first,
        tie_last=rows.tie_last,
    )
    listed = None if positions is None else (np.repeat(number, retrieved), positions)
    return assemble(judgments, index, in_run, lengths, hits, listed=listed, expected=ties == "expected")


@dataclass(frozen=True)
class _Rows:
    """Hits as rows of a run frame in rank order, with what is known of each."""

    hit: Ints
    segment: Ints
    pool: Ints
    rank: Ints
    tie_first: Ints
    tie_last: Ints


@dataclass(frozen=True)
class _Scan:
    """What one walk over a frame found: rows, and for rows that may hold a judged pair the number of that pair."""

    starts: Ints
    rows: Ints
    pool: Ints
    tied: Ints
    rising: Ints
    suspects: Ints


class _Keys:
    """Hashes of judged (query, document) pairs, found by the hash of their query."""

    def __init__(self, judgments: Judgments) -> None:
        self.seed = 0
        self.pairs = hash_pairs(judgments.pairs, self.seed)
        queries = pl.Series(judgments.query_ids, dtype=pl.String).hash(self.seed).to_numpy()
        order = np.argsort(queries)
        self.queries = queries[order]
        starts = np.array([*pool_starts(judgments), len(self.pairs)])
        self.first, self.last = starts[:-1][order], starts[1:][order]

    def of_queries(self, queries: _Hashes) -> Ints:
        """Numbers of all judged pairs of the queries with these hashes."""
        place = np.searchsorted(self.queries, queries)
        place[place == len(self.queries)] = 0
        place = place[self.queries[place] == queries]
        first, size = self.first[place], self.last[place] - self.first[place]
        return np.repeat(first, size) + segments.ordinals(np.repeat(np.arange(len(size)), size)) - 1


def hash_pairs(frame: pl.DataFrame, seed: int) -> _Hashes:
    """Hash the (query, document) pairs of a frame."""
    query = frame["query_id"].hash(seed).to_numpy()
    doc = frame["doc_id"].hash(seed + 1).to_numpy()
    return query + doc  # type: ignore[no-any-return]


def _walk(
    judgments: Judgments, run: Run, *, ties: Ties, float32: bool, dedupe: bool
) -> tuple[pl.DataFrame, list[str], Ints, _Rows]:
    """Bring the run's rows into rank order and find the judged ones."""
    frame, scan = _in_order(run, _Keys(judgments), float32=float32, dedupe=dedupe)
    run_queries = frame["query_id"].gather(scan.starts).to_list()
    rows = _exact(judgments.pairs, frame) if len(scan.suspects) else _confirmed(judgments.pairs, frame, scan)
    segment = np.searchsorted(scan.starts, rows[0], side="right") - 1
    start = scan.starts[segment]
    first, last = _tie_bounds(scan.tied, rows[0])
    rank = rows[0] if ties == "given" else _by_docid(frame, rows[0], first, last)
    found = _Rows(rows[0], segment, rows[1], rank - start + 1, first - start + 1, last - start + 1)
    return frame, run_queries, np.diff(np.append(scan.starts, len(frame))), found


def _in_order(run: Run, keys: _Keys, *, float32: bool, dedupe: bool) -> tuple[pl.DataFrame, _Scan]:
    """Return the rows grouped by query and sorted by falling score, moving them only where they are not."""
    frame = run.frame
    scan = _scan(run, frame, keys, float32=float32)
    queries = frame["query_id"].gather(scan.starts)
    if queries.n_unique() < len(queries):
        frame = frame.sort("query_id", maintain_order=True)
        scan = _scan(run, frame, keys, float32=float32)
    if len(scan.rising):
        segment = np.unique(np.searchsorted(scan.starts, scan.rising, side="right") - 1)
        bad = frame["query_id"].gather(scan.starts[segment]).implode()
        is_bad = pl.col("query_id").is_in(bad)
        score = pl.col("score").cast(pl.Float32) if float32 else pl.col("score")
        mended = frame.filter(is_bad).sort("query_id", score, descending=[False, True], maintain_order=True)
        frame = pl.concat([frame.filter(~is_bad), mended])
        scan = _scan(run, frame, keys, float32=float32)
    if len(scan.suspects):
        suspects = frame[scan.suspects]
        twice = suspects.filter(pl.struct("query_id", "doc_id").is_duplicated())
        if len(twice) and not dedupe:
            place = run.source.label if run.source else None
            raise Repeated(twice["query_id"][0], twice["doc_id"][0], "listed", path=place)
        if len(twice):
            frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
            scan = _scan(run, frame, keys, float32=float32)
    return frame, scan


def _scan(run: Run, frame: pl.DataFrame, keys: _Keys, *, float32: bool) -> _Scan:
    """Walk the rows once: where queries start, scores tie or rise, pairs repeat and judged documents stand."""

    def walk(block: tuple[int, int]) -> tuple[Ints, ...]:
        offset, part = block[0], frame.slice(block[0], block[1] - block[0])
        query = part["query_id"].hash(keys.seed).to_numpy()
        score = part["score"].to_numpy()
        if not np.isfinite(score).all():
            _refuse_score(run, part, score)
        if float32:
            score = score.astype(np.float32)
        new = query[1:] != query[:-1]
        start = np.append(0, np.flatnonzero(new) + 1)
        tied = np.flatnonzero((score[1:] == score[:-1]) & ~new)
        rising = np.flatnonzero((score[1:] > score[:-1]) & ~new)
        key = query + part["doc_id"].hash(keys.seed + 1).to_numpy()
        rows, pool, suspects = _match(key, keys.of_queries(query[start]), keys.pairs)
        return start + offset, rows + offset, pool, tied + offset, rising + offset, suspects + offset

    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as workers:
        parts = list(workers.map(walk, _blocks(frame["query_id"])))
    nothing = np.zeros(0, np.int64)
    return _Scan(*(np.concatenate([nothing, *(part[i] for part in parts)]) for i in range(6)))


def _match(key: _Hashes, wanted: Ints, pairs: _Hashes) -> tuple[Ints, Ints, Ints]:
    """Find judged pairs among the keys of a block, and rows whose keys are alike.

    The low bits of each key are replaced by its row, so that one sort serves both: the neighbours of a key tell
    whether it repeats, and a judged pair's row is read off the key that was found.
    """
    low = np.uint64((1 << max(_ROW_BITS, len(key).bit_length())) - 1)
    mixed = key & ~low
    mixed |= np.arange(len(key), dtype=np.uint64)
    mixed.sort()
    alike = np.flatnonzero((mixed[1:] ^ mixed[:-1]) <= low)
    suspects = np.unique(np.concatenate([mixed[alike], mixed[alike + 1]]) & low).astype(np.int64)
    needle = pairs[wanted] & ~low
    place = np.searchsorted(mixed, needle)
    place[place == len(mixed)] = 0
    same = (mixed[place] ^ needle) <= low
    return (mixed[place[same]] & low).astype(np.int64), wanted[same], suspects


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


def _confirmed(pairs: pl.DataFrame, frame: pl.DataFrame, scan: _Scan) -> tuple[Ints, Ints]:
    """Compare the text of the rows whose hashes matched; return rows in order with their pairs."""
    order = np.argsort(scan.rows)
    rows, pool = scan.rows[order], scan.pool[order]
    found, meant = frame.select("query_id", "doc_id")[rows], pairs.select("query_id", "doc_id")[pool]
    same = ((found["query_id"] == meant["query_id"]) & (found["doc_id"] == meant["doc_id"])).to_numpy()
    return rows[same], pool[same]


def _exact(pairs: pl.DataFrame, frame: pl.DataFrame) -> tuple[Ints, Ints]:
    """Find judged rows by their text alone: needed only when two different pairs of a block have like hashes."""
    ids = ["query_id", "doc_id"]
    found = frame.select(ids).with_row_index("row").join(pairs.select(ids).with_row_index("pool"), on=ids).sort("row")
    return found["row"].to_numpy().astype(np.int64), found["pool"].to_numpy().astype(np.int64)


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
