"""Align the ranked lists of several runs in a matrix, so that fusing them is arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.data import segments
from assay.errors import InputError, Repeated, excerpt
from assay.formats.trec.reading import locate
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from assay.data.run import Run
    from assay.data.segments import Bools, Floats, Ints

Ties = Literal["docid", "given"]

_CELLS = 1 << 21
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class Overlay:
    """The aligned lists of some queries: one row per query and document, one column per run.

    `rank` and `score` are NaN where a run does not list the document. Rows are ordered by query and document id;
    documents are numbered in the order of their ids, so that numbers compare as ids do.
    """

    query: Ints
    doc: Ints
    rank: Floats
    score: Floats
    weights: Floats

    @cached_property
    def starts(self) -> Ints:
        """Row at which each query begins."""
        return np.flatnonzero(np.append(True, self.query[1:] != self.query[:-1]))

    @cached_property
    def candidates(self) -> Ints:
        """Number of documents that any run lists for the query, for each row."""
        return self._spread(np.diff(np.append(self.starts, len(self.query))))

    @cached_property
    def is_listed(self) -> Bools:
        """Mark the documents that a run lists."""
        return ~np.isnan(self.rank)

    @cached_property
    def sizes(self) -> Ints:
        """Length of the list that each cell belongs to."""
        return self._spread(np.add.reduceat(self.is_listed, self.starts, axis=0, dtype=np.int64))

    def lowest(self, values: Floats) -> Floats:
        """Smallest value of the list that each cell belongs to."""
        return self._spread(np.fmin.reduceat(values, self.starts, axis=0))

    def highest(self, values: Floats) -> Floats:
        """Largest value of the list that each cell belongs to."""
        return self._spread(np.fmax.reduceat(values, self.starts, axis=0))

    def total(self, values: Floats) -> Floats:
        """Sum of the list that each cell belongs to."""
        return self._spread(np.add.reduceat(np.nan_to_num(values), self.starts, axis=0))

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(per_query, np.diff(np.append(self.starts, len(self.query))), axis=0)


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of several runs as numbers: a row per listed document, ordered by query, run and rank.

    `present` says which query (row) each run (column) was asked; ids are in the order of their bytes.
    """

    names: tuple[str, ...]
    query_ids: pl.Series
    doc_ids: pl.Series
    frame: pl.DataFrame
    present: Bools

    def only(self, *, runs: Sequence[int] | None = None, queries: Bools | None = None) -> Lists:
        """Keep some of the runs, or the lists of some of the queries."""
        kept = self
        if queries is not None:
            mask = queries[kept.frame["query"].to_numpy()]
            kept = replace(kept, frame=kept.frame.filter(mask), present=kept.present & queries[:, None])
        if runs is not None:
            number = pl.col("run").replace_strict(list(runs), list(range(len(runs))), return_dtype=pl.Int64)
            frame = kept.frame.filter(pl.col("run").is_in(list(runs))).with_columns(number)
            names = tuple(kept.names[i] for i in runs)
            kept = replace(kept, names=names, frame=frame, present=kept.present[:, list(runs)])
        return kept

    def overlays(self) -> Iterator[Overlay]:
        """Yield the aligned lists, some queries at a time."""
        query, run, doc = (self.frame[name].to_numpy() for name in ("query", "run", "doc"))
        rank, score = (self.frame[name].to_numpy() for name in ("rank", "score"))
        for start, end in _blocks(query, max(1, _CELLS // len(self.names))):
            part = slice(start, end)
            pairs, row = np.unique(query[part] * len(self.doc_ids) + doc[part], return_inverse=True)
            cells = np.full((2, len(pairs), len(self.names)), np.nan)
            cells[0, row, run[part]] = rank[part]
            cells[1, row, run[part]] = score[part]
            which, what = np.divmod(pairs, len(self.doc_ids))
            yield Overlay(which, what, cells[0], cells[1], np.ones(len(self.names)))

    @property
    def is_asked(self) -> Bools:
        """Mark the queries that any run was asked."""
        return np.asarray(self.present.any(axis=1), dtype=bool)

    def gaps(self) -> list[str]:
        """Say which queries a run lacks that another one has."""
        found: list[str] = []
        for name, there in zip(self.names, self.present.T, strict=True):
            lost = self.query_ids.filter(~there & self.is_asked).to_list()
            if lost:
                some = [*lost[:_EXAMPLES], *(["..."] if len(lost) > _EXAMPLES else [])]
                found.append(say("fuse.missing", n=len(lost), name=name, some=some))
        return found


def lay_out(runs: Sequence[Run], *, ties: Ties = "docid", depth: int | None = None, dedupe: bool = False) -> Lists:
    """Order every list by falling score, ties by document id (descending, by bytes) or as given, and cut it."""
    empty = [pl.Series("query_id", run.empty, dtype=pl.String) for run in runs]
    whole = pl.concat([_check(run).with_columns(run=pl.lit(i, dtype=pl.Int64)) for i, run in enumerate(runs)])
    query_ids = pl.concat([whole["query_id"], *empty]).unique().sort()
    doc_ids = whole["doc_id"].unique().sort()
    numbers = {"query": _numbers(whole["query_id"], query_ids), "doc": _numbers(whole["doc_id"], doc_ids)}
    frame = whole.select("run", "score").with_columns(**numbers).select("query", "run", "doc", "score")
    by = ["query", "run", "score", *(["doc"] if ties == "docid" else [])]
    frame = frame.sort(by, descending=[False, False, True, True][: len(by)], maintain_order=True)
    frame = _once(frame, runs, (query_ids, doc_ids), dedupe=dedupe)
    rank = segments.ordinals((frame["query"] * len(runs) + frame["run"]).to_numpy())
    frame = frame.with_columns(rank=rank)
    if depth is not None:
        frame = frame.filter(pl.col("rank") <= depth)
    present = np.zeros((len(query_ids), len(runs)), dtype=bool)
    present[frame["query"].to_numpy(), frame["run"].to_numpy()] = True
    for i, queries in enumerate(empty):
        present[query_ids.is_in(queries.implode()).to_numpy(), i] = True
    lists = Lists(tuple(run.name for run in runs), query_ids, doc_ids, frame, present)
    _check_common(lists)
    return lists


def _check(run: Run) -> pl.DataFrame:
    """Refuse scores that are not numbers; adding 0 makes a negative zero equal to zero."""
    odd = run.frame.filter(~pl.col("score").is_finite() | pl.col("score").is_null())
    if len(odd):
        query, doc, score = odd.select("query_id", "doc_id", "score").row(0)
        raise InputError(
            say(
                "score {score} of query {query}, document {doc} is not finite",
                score=score,
                query=excerpt(query),
                doc=excerpt(doc),
            ),
            path=run.source.label if run.source else run.name,
            hint=say("remove the document or give it a finite score"),
        )
    return run.frame.select("query_id", "doc_id", pl.col("score") + 0.0)


def _numbers(column: pl.Series, ids: pl.Series) -> pl.Series:
    """Number ids by their place in the order of all ids."""
    table = pl.DataFrame({"id": ids, "number": np.arange(len(ids))})
    return pl.DataFrame({"id": column}).join(table, on="id", how="left", maintain_order="left")["number"]


def _once(frame: pl.DataFrame, runs: Sequence[Run], ids: tuple[pl.Series, pl.Series], *, dedupe: bool) -> pl.DataFrame:
    """Refuse a document listed twice for a query, or keep the one that ranks higher."""
    key = (frame["query"] * len(runs) + frame["run"]) * len(ids[1]) + frame["doc"]
    if key.n_unique() == len(key):
        return frame
    if dedupe:
        return frame.filter(key.is_first_distinct())
    query, run, doc, _ = frame.row(int(key.is_duplicated().arg_true()[0]))
    source = runs[run].source
    place = source.label if source else runs[run].name
    raise locate(source, Repeated(ids[0][query], ids[1][doc], "listed", path=place))


def _check_common(lists: Lists) -> None:
    """Refuse runs of which no two have a query in common: their ids cannot mean the same thing."""
    if not len(lists.frame):
        raise InputError(say("the runs list no documents"), hint=say("expected at least one"))
    if len(lists.names) > 1 and lists.present.sum(axis=1).max() == 1:
        first, second = (lists.query_ids[int(np.argmax(lists.present[:, i]))] for i in (0, 1))
        raise InputError(
            say(
                "no two runs have a query in common: {one} has {first}, {other} has {second}",
                one=lists.names[0],
                first=excerpt(first),
                other=lists.names[1],
                second=excerpt(second),
            ),
            hint=say("check that all runs use the same query ids"),
        )


def _blocks(query: Ints, size: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of about a size that end where a query ends."""
    if not len(query):
        return []
    ends = np.append(np.flatnonzero(query[1:] != query[:-1]) + 1, len(query))
    cuts = np.unique(ends[np.searchsorted(ends, np.arange(size, len(query) + size, size).clip(max=len(query)))])
    return list(zip(np.append(0, cuts[:-1]).tolist(), cuts.tolist(), strict=True))
