"""Joining a run with judgments: the kernel that every evaluation goes through.

Frames are walked in slices that stay in the processor's cache. Rows of a query are adjacent and sorted in almost
every real run, so that is verified and sorting happens only where it fails. Judged pairs are found by a 64-bit hash
of (query, document) and the few hits confirmed by their text. Mappings are joined key by key on the smaller side.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data import segments
from assay.data.ranking import Ranking, Subtopics, Ties
from assay.errors import InputError, UsageError, excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.segments import Bools, Floats, Ints

_BLOCK = 1 << 16
_LOOK = 1 << 12
_Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class _Hits:
    """Judged documents found in a run, one row each, in no particular order."""

    query: Ints
    rank: Ints
    position: Ints
    pool: Ints
    tie_first: Ints
    tie_last: Ints


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
    index = {query: i for i, query in enumerate(sorted({*judgments.query_ids, *run_queries, *run.empty}))}
    positions = -frame["score"].to_numpy().astype(np.int64) if folded else None
    number = np.fromiter((index[query] for query in run_queries), dtype=np.int64, count=len(run_queries))
    lengths = np.zeros(len(index), dtype=np.int64)
    lengths[number] = retrieved
    in_run = np.zeros(len(index), dtype=bool)
    in_run[number] = True
    in_run[[index[query] for query in run.empty]] = True
    hits = _Hits(
        query=number[rows.segment],
        rank=rows.rank,
        position=rows.rank if positions is None else positions[rows.hit],
        pool=rows.pool,
        tie_first=rows.tie_first,
        tie_last=rows.tie_last,
    )
    listed = None if positions is None else (np.repeat(number, retrieved), positions)
    return _assemble(judgments, index, in_run, lengths, hits, listed=listed, expected=ties == "expected")


def rank_mapping(
    judgments: Judgments, run: Mapping[str, Mapping[str, float]], *, ties: Ties = "docid", float32: bool = False
) -> Ranking:
    """Join judgments with {query: {document: score}} without copying the run."""
    index = {query: i for i, query in enumerate(sorted({*judgments.query_ids, *run}))}
    lengths = np.zeros(len(index), dtype=np.int64)
    in_run = np.zeros(len(index), dtype=bool)
    found: list[tuple[Ints, ...]] = []
    kind: type[np.floating] = np.float32 if float32 else np.float64
    for query, docs in run.items():
        number = index[query]
        in_run[number], lengths[number] = True, len(docs)
        judged = judgments.rows_by_query.get(query)
        scores = _sorted_scores(query, docs, kind)
        names = list(judged.keys() & docs.keys()) if judged else []
        if not judged or not names:
            continue
        mine: NDArray[Any] = np.fromiter((docs[name] for name in names), dtype=kind, count=len(names))
        last = len(scores) - np.searchsorted(scores, mine, side="left")
        first = len(scores) - np.searchsorted(scores, mine, side="right") + 1
        rank = first if (first == last).all() else _ranks_in_ties(docs, names, mine, first, kind, given=ties == "given")
        found.append((np.full(len(names), number), rank, np.array([judged[name] for name in names]), first, last))
    columns = [np.concatenate(part) for part in zip(*found, strict=True)] if found else [np.zeros(0, np.int64)] * 5
    numbers, ranks, pool, firsts, lasts = columns
    hits = _Hits(numbers, ranks, ranks, pool, firsts, lasts)
    return _assemble(judgments, index, in_run, lengths, hits, listed=None, expected=ties == "expected")


def _sorted_scores(query: str, docs: Mapping[str, float], kind: type[np.floating]) -> Floats:
    try:
        scores = np.fromiter(docs.values(), dtype=kind, count=len(docs))
    except (TypeError, ValueError):
        doc, score = next((d, s) for d, s in docs.items() if not _is_number(s))
        raise InputError(
            f"score {excerpt(score)} of query {excerpt(query)}, document {excerpt(doc)} is not a number"
        ) from None
    scores.sort()
    if len(scores) and not np.isfinite(scores[0] + scores[-1]):
        doc, score = next((d, s) for d, s in docs.items() if not np.isfinite(s))
        raise InputError(
            f"score {score} of query {excerpt(query)}, document {excerpt(doc)} is not finite",
            hint="remove the document or give it a finite score",
        )
    return scores


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _ranks_in_ties(
    docs: Mapping[str, float],
    names: list[str],
    mine: NDArray[Any],
    first: Ints,
    kind: type[np.floating],
    *,
    given: bool,
) -> Ints:
    """Break ties of one query's hits by document id, descending, or by the order given."""
    by_score: dict[float, list[str]] = {float(score): [] for score in mine}
    for doc, score in docs.items():
        tied = by_score.get(float(kind(score)))
        if tied is not None:
            tied.append(doc)
    if not given:
        for tied in by_score.values():
            tied.sort(reverse=True)
    place = {doc: i for tied in by_score.values() for i, doc in enumerate(tied)}
    return first + np.array([place[name] for name in names], dtype=np.int64)


# Frames -----------------------------------------------------------------------------------------------------------


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
    """What one walk over a frame found."""

    starts: Ints
    candidates: Ints
    tied: Ints
    rising: Ints
    twice: bool


class _Keys:
    """Hashes of judged (query, document) pairs, searched by a bitmap first."""

    def __init__(self, pairs: pl.DataFrame) -> None:
        for seed in range(8):
            self.seed = seed
            keys = hash_pairs(pairs, seed)
            self.order = np.argsort(keys)
            self.sorted = keys[self.order]
            if not (self.sorted[1:] == self.sorted[:-1]).any():
                break
        bits = min(26, max(12, int(len(keys) * 16).bit_length()))
        self.shift = np.uint64(64 - bits)
        self.bitmap = np.zeros(1 << bits, dtype=bool)
        self.bitmap[self.sorted >> self.shift] = True

    def matching(self, keys: _Hashes) -> tuple[Ints, Ints]:
        """Rows whose key belongs to a judged pair, and that pair's number."""
        rows = np.flatnonzero(self.bitmap[keys >> self.shift])
        place = np.searchsorted(self.sorted, keys[rows])
        place[place == len(self.sorted)] = 0
        same = self.sorted[place] == keys[rows]
        return rows[same], self.order[place[same]]


def hash_pairs(frame: pl.DataFrame, seed: int) -> _Hashes:
    """Hash the (query, document) pairs of a frame."""
    query = frame["query_id"].hash(seed).to_numpy()
    doc = frame["doc_id"].hash(seed + 1).to_numpy()
    return query + doc  # type: ignore[no-any-return]


def _walk(
    judgments: Judgments, run: Run, *, ties: Ties, float32: bool, dedupe: bool
) -> tuple[pl.DataFrame, list[str], Ints, _Rows]:
    """Bring the run's rows into rank order and find the judged ones."""
    keys = _Keys(judgments.pairs)
    frame, scan = _in_order(run, keys, float32=float32, dedupe=dedupe)
    run_queries = frame["query_id"].gather(scan.starts).to_list()
    rows = _confirmed(judgments.pairs, frame, scan.candidates, keys)
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
        mended = frame.filter(is_bad).sort(["query_id", "score"], descending=[False, True], maintain_order=True)
        frame = pl.concat([frame.filter(~is_bad), mended])
        scan = _scan(run, frame, keys, float32=float32)
    if scan.twice:
        twice = frame.filter(pl.struct("query_id", "doc_id").is_duplicated())
        if len(twice) and not dedupe:
            raise InputError(
                f"document {excerpt(twice['doc_id'][0])} is listed twice for query {excerpt(twice['query_id'][0])}",
                path=run.source.label if run.source else None,
                hint="remove one of the lines, or use --dedupe to keep the first",
            )
        if len(twice):
            frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
            scan = _scan(run, frame, keys, float32=float32)
    return frame, scan


def _scan(run: Run, frame: pl.DataFrame, keys: _Keys, *, float32: bool) -> _Scan:
    """Walk the rows once: where queries start, scores tie or rise, pairs repeat and judged documents stand."""

    def walk(block: tuple[int, int]) -> tuple[Ints, Ints, Ints, Ints, bool]:
        offset, part = block[0], frame.slice(block[0], block[1] - block[0]).rechunk()
        query = part["query_id"].hash(keys.seed).to_numpy()
        key = query + part["doc_id"].hash(keys.seed + 1).to_numpy()
        score = part["score"].to_numpy()
        if not np.isfinite(score).all():
            _refuse_score(run, part, score)
        if float32:
            score = score.astype(np.float32)
        new = query[1:] != query[:-1]
        start = np.append(0, np.flatnonzero(new) + 1) + offset
        tied = np.flatnonzero((score[1:] == score[:-1]) & ~new) + offset
        rising = np.flatnonzero((score[1:] > score[:-1]) & ~new) + offset
        candidates = keys.matching(key)[0] + offset
        key.sort()
        return start, candidates, tied, rising, bool((key[1:] == key[:-1]).any())

    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        parts = list(pool.map(walk, _blocks(frame["query_id"])))
    nothing = np.zeros(0, np.int64)
    starts, candidates, tied, rising = (np.concatenate([nothing, *(part[i] for part in parts)]) for i in range(4))
    return _Scan(starts, candidates, tied, rising, twice=any(part[4] for part in parts))


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


def _confirmed(pairs: pl.DataFrame, frame: pl.DataFrame, rows: Ints, keys: _Keys) -> tuple[Ints, Ints]:
    """Compare the text of the rows whose hashes matched."""
    found = frame.select("query_id", "doc_id")[rows]
    same_rows, pool = keys.matching(hash_pairs(found, keys.seed)) if len(rows) else (rows, rows)
    rows, found = rows[same_rows], found[same_rows]
    meant = pairs.select("query_id", "doc_id")[pool]
    same = ((found["query_id"] == meant["query_id"]) & (found["doc_id"] == meant["doc_id"])).to_numpy()
    return rows[same], pool[same]


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


# Assembly ---------------------------------------------------------------------------------------------------------


def _pool_starts(judgments: Judgments) -> list[int]:
    counts = judgments.pairs.group_by("query_id", maintain_order=True).len()["len"].to_numpy()
    return np.cumsum(np.append(0, counts))[:-1].tolist()  # type: ignore[no-any-return]


def _assemble(
    judgments: Judgments,
    index: dict[str, int],
    in_run: Bools,
    retrieved: Ints,
    hits: _Hits,
    *,
    listed: tuple[Ints, Ints] | None,
    expected: bool,
) -> Ranking:
    number = np.fromiter((index[query] for query in judgments.query_ids), dtype=np.int64)
    sizes = np.diff(np.append(_pool_starts(judgments), len(judgments.pairs)))
    judged = np.zeros(len(index), dtype=bool)
    judged[number] = True
    pool_grade = judgments.pairs["grade"].to_numpy()
    order = np.lexsort((hits.rank, hits.query))
    if expected and listed is not None:
        raise UsageError("ties='expected' does not work with folded chunks: use ties='docid' or 'given'")
    return Ranking(
        query_ids=list(index),
        judged=judged,
        in_run=in_run,
        retrieved=retrieved,
        query=hits.query[order],
        rank=hits.rank[order],
        position=hits.position[order],
        grade=pool_grade[hits.pool[order]],
        tie_first=hits.tie_first[order],
        tie_last=hits.tie_last[order],
        pool_of_hit=hits.pool[order],
        pool_query=np.repeat(number, sizes),
        pool_grade=pool_grade,
        listed_query=None if listed is None else listed[0],
        listed_position=None if listed is None else listed[1],
        subtopics=_subtopics(judgments),
        expected=expected,
    )


def _subtopics(judgments: Judgments) -> Subtopics | None:
    """Number the relevant (document, subtopic) rows; subtopics of different queries are different."""
    if judgments.groups == "none":
        return None
    rows = judgments.frame.filter(pl.col("grade") > 0)
    pair = judgments.pairs.select("query_id", "doc_id").with_row_index("pool")
    rows = rows.join(pair, on=["query_id", "doc_id"], how="left", maintain_order="left")
    number = rows.select(pl.struct("query_id", "subtopic").rank("dense") - 1).to_series()
    return Subtopics(
        rows["pool"].to_numpy().astype(np.int64), number.to_numpy().astype(np.int64), judgments.groups == "gold"
    )
