"""The kernel that evaluates whole queries wherever they are: in this process, or in workers of a cluster.

It takes all rows of some queries together, of one run or several, and returns one row for each system and query.
For queries that have nothing in common, the rows of A and B together are the rows of A and the rows of B.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.analysis.joining import join
from assay.analysis.query_rows import QueryRows, depths_of, make_rows
from assay.data.judgments import Judgments
from assay.data.pool import Pool
from assay.data.run import Run
from assay.errors import InputError, excerpt
from assay.lazy import pl
from assay.measures import REGISTRY
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.settings import Settings
    from assay.measures.registry import Spec


@dataclass(frozen=True)
class EvaluateQueries:
    """Evaluates the queries of a frame with query_id, doc_id, score and, where there are some, chunk_id and system.

    `systems` names all runs, as one that has nothing for a judged query has a row all the same. Judgments come with
    the kernel, or else as rows of the frame that have a grade. `own` are measures that users declared.
    """

    settings: Settings
    systems: tuple[str, ...]
    judged: pl.DataFrame | None
    groups: Literal["none", "subtopics", "gold"] = "none"
    empty: tuple[str, ...] = ()
    chunks: Mapping[str, str] | str | None = None
    dedupe: bool = False
    own: Mapping[str, Spec] = field(default_factory=dict)

    @classmethod
    def of(
        cls, settings: Settings, systems: tuple[str, ...], judgments: Judgments | None, **options: Any
    ) -> EvaluateQueries:
        """Take what is asked for, with the judgments if they travel with it."""
        specs = {one.name: one.spec for one in settings.measures.values()}
        own = {name: replace(spec) for name, spec in specs.items() if not spec.function.__module__.startswith("assay.")}
        if judgments is None:
            return cls(settings, systems, None, own=own, **options)
        return cls(settings, systems, judgments.frame, judgments.groups, judgments.empty, own=own, **options)

    @cached_property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns that it returns."""
        found = {"system": "string", "query_id": "string", "judged": "boolean", "in_run": "boolean"}
        found["retrieved"] = "long"
        for k in depths_of(self.settings):
            found |= {f"shown:{k or ''}": "long", f"known:{k or ''}": "long"}
        for label in self.settings.measures:
            found |= {f"value:{label}": "double", f"status:{label}": "byte", f"tied:{label}": "boolean"}
        return found

    @cached_property
    def judgments(self) -> Judgments:
        """The judgments that came with it."""
        assert self.judged is not None
        return Judgments(self.judged, groups=self.groups, empty=self.empty)

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Evaluate the queries of some rows."""
        REGISTRY.update(self.own)
        refuse_blanks(rows)
        if self.judged is None:
            judgments = _judgments_among(rows, self.groups)
            rows = rows.filter(pl.col("grade").is_null())
        else:
            judgments = pick(self.judgments, rows["query_id"].unique().to_list())
        runs: dict[Any, pl.DataFrame] = {self.systems[:1]: rows}
        if "system" in rows.columns:
            runs = {**rows.partition_by("system", as_dict=True, maintain_order=True)}
        return pl.concat([self.evaluate(name, runs.get((name,), rows.clear()), judgments) for name in self.systems])

    def evaluate(self, name: str, rows: pl.DataFrame, judgments: Judgments) -> pl.DataFrame:
        """Evaluate the rows of one system."""
        ids = [one for one in ("query_id", "doc_id", "chunk_id") if one in rows.columns]
        run = Run(rows.select(*ids, "score"), name)
        ranking = join(judgments, run, self.settings.protocol, chunks=self.chunks, dedupe=self.dedupe)
        return self._lay_out(name, make_rows(ranking, self.settings))

    def evaluate_absent(self, name: str, queries: Sequence[str]) -> pl.DataFrame:
        """Evaluate judged queries for which a system has no rows at all."""
        rows = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64})
        return self.evaluate(name, rows, pick(self.judgments, queries))

    def _lay_out(self, name: str, rows: QueryRows) -> pl.DataFrame:
        found: dict[str, Any] = {
            "system": pl.Series([name] * len(rows.query_ids), dtype=pl.String),
            "query_id": pl.Series(rows.query_ids, dtype=pl.String),
            "judged": rows.judged,
            "in_run": rows.in_run,
            "retrieved": rows.retrieved,
        }
        for k in rows.shown:
            found |= {f"shown:{k or ''}": rows.shown[k], f"known:{k or ''}": rows.known[k]}
        for i, label in enumerate(self.settings.measures):
            found[f"value:{label}"] = rows.values[:, i]
            found[f"status:{label}"] = rows.status[:, i].astype(np.int8)
            found[f"tied:{label}"] = rows.tied[:, i]
        return pl.DataFrame(found)


def rows_of(frame: pl.DataFrame, settings: Settings) -> QueryRows:
    """Read the rows of one system again, in the order of their queries."""
    frame = frame.sort("query_id")
    labels = list(settings.measures)

    def cells(kind: str, dtype: Any) -> Any:
        return np.stack([frame[f"{kind}:{label}"].to_numpy().astype(dtype) for label in labels], axis=1)

    depths = depths_of(settings)
    return QueryRows(
        query_ids=frame["query_id"].to_list(),
        judged=frame["judged"].to_numpy(),
        in_run=frame["in_run"].to_numpy(),
        retrieved=frame["retrieved"].to_numpy(),
        values=cells("value", np.float64),
        status=cells("status", np.uint8),
        tied=cells("tied", bool),
        shown={k: frame[f"shown:{k or ''}"].to_numpy() for k in depths},
        known={k: frame[f"known:{k or ''}"].to_numpy() for k in depths},
    )


def pick(judgments: Judgments, queries: Sequence[str]) -> Judgments:
    """The judgments of some queries."""
    wanted = set(queries)
    empty = tuple(query for query in judgments.empty if query in wanted)
    if judgments.groups != "none":
        rows = judgments.frame.filter(pl.col("query_id").is_in(list(wanted)))
        return Judgments(rows, groups=judgments.groups, empty=empty)
    pool = judgments.pool
    known = sorted(wanted.intersection(pool.spans))
    numbers, _ = pool.of_queries(known)
    sizes = np.array([pool.spans[query][1] - pool.spans[query][0] for query in known], np.int64)
    return Judgments(Pool(known, sizes, pool.docs.take(numbers), pool.grade[numbers]), empty=empty)


def _judgments_among(rows: pl.DataFrame, groups: Literal["none", "subtopics", "gold"]) -> Judgments:
    """The rows that have a grade."""
    graded = rows.filter(pl.col("grade").is_not_null())
    if not len(graded):
        return Judgments(Pool([], np.zeros(0, np.int64), [], np.zeros(0)))
    return Judgments.of(graded, groups=groups)


def refuse_blanks(rows: pl.DataFrame) -> None:
    """Refuse a row without an id, a score or a grade; one with a grade belongs to no system."""
    graded = pl.col("grade").is_not_null() if "grade" in rows.columns else pl.lit(value=False)

    def is_blank(name: str) -> pl.Expr:
        return pl.col(name).is_null() | (pl.col(name) == "")

    lacks = [is_blank(name) for name in ("query_id", "doc_id")]
    own = [is_blank(name) for name in ("chunk_id", "system") if name in rows.columns]
    if "score" in rows.columns:
        lacks.append(~graded & pl.any_horizontal(pl.col("score").is_null(), *own))
    else:
        lacks.append(~graded)
    odd = rows.filter(pl.any_horizontal(lacks))
    if len(odd):
        row = {name: value for name, value in odd.row(0, named=True).items() if value is not None}
        raise InputError(
            say("a row has no id or no score: {row}", row=excerpt(row)),
            hint=say("every row needs query, document and a number"),
        )
