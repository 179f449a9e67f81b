"""trec_eval's measures, computed by ours, added up and printed as it does.

Version 10 is the default; version 9 differs in four things: scores are 32-bit floats, recall levels are rounded
otherwise, rbp and unj do not exist, and queries missing from the run are not printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.data.scores import GEOMETRIC_FLOOR
from assay.errors import InputError, excerpt
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.ranking import Ranking
    from assay.data.run import Run
    from assay.data.segments import Bools, Floats
    from assay.measures.trec import TrecColumn

_MISSING_Z = -1_000_000.0


@dataclass(frozen=True)
class Options:
    """trec_eval's options that shape the output."""

    per_query: bool = False
    complete: bool = False
    summary: bool = True
    version: int = 10
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None = None


def output(ranking: Ranking, columns: Sequence[TrecColumn], run_tag: str, options: Options) -> Iterator[str]:
    """Yield trec_eval's output line by line."""
    shared = ranking.judged & ranking.in_run
    if not shared.any() and not (options.complete and options.version >= 10):  # noqa: PLR2004
        raise InputError(
            say("the run and the judgments have no query in common"), hint=say("check that both use the same query ids")
        )
    absent = ranking.judged & ~ranking.in_run
    if options.version >= 10 and absent.any() and not options.complete:  # noqa: PLR2004
        first = ranking.query_ids[int(np.flatnonzero(absent)[0])]
        raise InputError(
            say(
                "query {query} is judged but not in the run ({n} in all): trec_eval 10 stops",
                query=excerpt(first),
                n=int(absent.sum()),
            ),
            hint=say("add -c to count them as 0, or --compat 9 to leave them out"),
        )
    counted = ranking.judged if options.complete else shared
    values = {column.name: _values(ranking, column) for column in columns if column.measure}
    if options.zscores is not None:
        values = {name: _z(ranking, name, column, options.zscores) for name, column in values.items()}
    if options.per_query:
        printed = counted if options.version >= 10 else shared  # noqa: PLR2004
        for row in np.flatnonzero(printed):
            yield from _query_lines(ranking, int(row), columns, values, z=options.zscores is not None)
    if options.summary:
        for column in columns:
            if column.trec.name == "runid":
                yield f"{column.name:<22}\tall\t{run_tag}"
            elif column.measure:
                total = _total(ranking, column, values[column.name], counted, options)
                yield _line(column, "all", total, z=options.zscores is not None)


def _values(ranking: Ranking, column: TrecColumn) -> Floats:
    assert column.measure is not None
    raw = np.nan_to_num(column.measure.compute(ranking), nan=0.0)
    if column.measure.spec.aggregate != "sum":
        raw[~ranking.in_run] = 0.0
    return raw


def _z(ranking: Ranking, name: str, column: Floats, zscores: Mapping[tuple[str, str], tuple[float, float]]) -> Floats:
    """Express values as deviations from a reference mean in standard deviations."""
    out = np.full(len(column), _MISSING_Z)
    for i, query in enumerate(ranking.query_ids):
        mean, deviation = zscores.get((query, name), (np.inf, 0.0))
        if deviation:
            out[i] = (column[i] - mean) / deviation
        elif column[i] == mean:
            out[i] = 0.0
    return out


def _query_lines(
    ranking: Ranking, row: int, columns: Sequence[TrecColumn], values: Mapping[str, Floats], *, z: bool
) -> Iterator[str]:
    query = ranking.query_ids[row]
    for column in columns:
        if column.trec.name == "relstring":
            yield f"{column.name:<22}\t{query}\t'{relevance_string(ranking, row, column.length)}'"
        elif column.measure and not column.trec.summary_only:
            yield _line(column, query, float(values[column.name][row]), z=z)


def _total(ranking: Ranking, column: TrecColumn, values: Floats, counted: Bools, options: Options) -> float:
    """Add up over queries from the first to the last, as trec_eval does; everywhere else sums are exact."""
    assert column.measure is not None
    kind, z = column.measure.spec.aggregate, options.zscores is not None
    if column.trec.total == "relevant" and options.complete:
        # trec_eval uses the judgments there and counts every grade above 0, at any level.
        return float((ranking.pool_grade > 0).sum())
    if z and column.trec.total == "queries":
        return float(counted.sum())
    if z and kind == "geometric":
        return 0.0
    if kind == "geometric":
        # Version 9 adds the queries that the run lacks at the end; version 10 has them in their places.
        late = counted & ~ranking.in_run if options.version < 10 else np.zeros_like(counted)  # noqa: PLR2004
        logs = [math.log(max(value, GEOMETRIC_FLOOR)) for value in values[counted & ~late].tolist()]
        total = _running_sum(logs) + int(late.sum()) * math.log(GEOMETRIC_FLOOR)
        return math.exp(total / int(counted.sum()))
    total = _running_sum(values[counted].tolist())
    return total if kind == "sum" else total / int(counted.sum())


def _running_sum(terms: Sequence[float]) -> float:
    """Add numbers one by one; `sum` would compensate for rounding."""
    total = 0.0
    for term in terms:
        total += term
    return total


def _line(column: TrecColumn, query: str, value: float, *, z: bool) -> str:
    if z:
        return f"Z{column.name:<22}\t{query}\t{value:6.4f}"
    shown = f"{int(value)}" if column.trec.kind == "long" else f"{value:6.4f}"
    return f"{column.name:<22}\t{query}\t{shown}"


def relevance_string(ranking: Ranking, row: int, length: int) -> str:
    """Show the grades of the first documents: 0-9, '>' above, '-' not in the pool, '.' pooled but not judged."""
    marks = ["-"] * min(length, int(ranking.retrieved[row]))
    mine = (ranking.query == row) & (ranking.rank <= length)
    for rank, grade in zip(ranking.rank[mine], ranking.grade[mine], strict=True):
        marks[rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(int(grade))  # noqa: PLR2004
    return "".join(marks)


def top(run: Run, depth: int, *, float32: bool) -> Run:
    """Leave the first documents of each query, before anything else is done with them: only these may not repeat."""
    score = pl.col("score").cast(pl.Float32) if float32 else pl.col("score")
    order = ["query_id", score, "doc_id"]
    ranked = run.frame.sort(order, descending=[False, True, True], maintain_order=True)
    return replace(run, rows=ranked.group_by("query_id", maintain_order=True).head(depth))
