"""Compare systems with a baseline slice by slice: where a change helps, and where it hurts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.analysis.comparable import align_systems
from assay.analysis.compare import baseline_first, change_rules, list_systems, weight_of
from assay.analysis.decision import decide, too_few
from assay.analysis.slicing import group_queries
from assay.data.scores import aggregate
from assay.errors import InputError, UnknownName, UsageError
from assay.formats.queries import Queries, read_queries
from assay.messages import say
from assay.results.slices import SliceComparison, SliceLift
from assay.stats.inputs import paired_differences
from assay.stats.intervals import difference_interval
from assay.stats.moments import moments
from assay.stats.multiplicity import adjust
from assay.stats.relative import relative_interval
from assay.stats.signflip import sign_flip

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from assay.analysis.comparable import AlignedScores
    from assay.data.scores import Scores
    from assay.data.segments import Floats
    from assay.results.comparison import Rules

_MOST = 30  # slices: with a test for each of more, there is no power left


def compare_slices(
    systems: Sequence[Scores] | Mapping[str, Scores],
    by: str,
    queries: Queries | Mapping[str, str] | str | os.PathLike[str],
    measures: Any = None,
    *,
    baseline: str | None = None,
    rules: Rules | None = None,
    **changes: Any,
) -> SliceComparison:
    """Compare systems with a baseline in every slice of the attribute `by` of the queries.

    `queries` is a table of queries or its file, or the value of each query by its id. Slices are the values of the
    attribute; a number with many values is cut into three ranges. The tests of all slices and systems on one measure
    are corrected together (with `family="all"` those of all measures); a slice with fewer than ten queries has no test
    and no verdict. Systems, measures and rules are those of `compare`.

    >>> import assay
    >>> judged = {f"q{i}": {"a": 1} for i in range(40)}
    >>> runs = {"old": {q: {"b": 2.0, "a": 1.0} for q in judged}, "new": {q: {"a": 1.0} for q in judged}}
    >>> language = {f"q{i}": "en" if i < 32 else "de" for i in range(40)}
    >>> found = assay.compare_slices(assay.evaluate(judged, runs, ["mrr"]), "language", language)
    >>> [(one.value, one.n, one.difference.estimate, one.too_few) for one in found.lifts]
    [('de', 8, 0.5, True), ('en', 32, 0.5, False)]
    """
    rules = change_rules(rules, changes)
    ordered = baseline_first(list_systems(systems), baseline)
    data = align_systems(ordered, measures)
    parts = _split(data, *_attributes(queries, by), by)
    cells = [cell for part in parts for cell in _cells(part, rules)]
    groups = [cells] if rules.family == "all" else [[c for c in cells if c.label == label] for label in data.labels]
    adjusted = {key: p for group in groups for key, p in _adjust(group, rules).items()}
    tests = max(sum(cell.pvalue is not None for cell in group) for group in groups) if rules.correction != "none" else 1
    held = sum(len(part.data.query_ids) for part in parts)
    return SliceComparison(
        attribute=by,
        baseline=data.names[0],
        systems=data.names,
        measures=data.labels,
        rules=rules,
        lifts=tuple(_lift(cell, rules, adjusted.get(cell.key), max(tests, 1)) for cell in cells),
        tests=max(tests, 1),
        lacking=len(data.query_ids) - held,
        weighted=data.weights is not None,
        clustered=data.clusters is not None,
        scores=tuple(ordered),
    )


@dataclass(frozen=True, eq=False)
class _SliceData:
    """The queries with one value of the attribute."""

    value: str
    data: AlignedScores


@dataclass(frozen=True, eq=False)
class _Cell:
    """One slice, measure and system, with the differences of its queries and their p; None where they are too few."""

    part: _SliceData
    measure: int
    system: int
    change: Floats
    pvalue: float | None

    @property
    def label(self) -> str:
        return self.part.data.labels[self.measure]

    @property
    def key(self) -> tuple[str, int, int]:
        return self.part.value, self.measure, self.system


def _attributes(
    queries: Queries | Mapping[str, str] | str | os.PathLike[str], by: str
) -> tuple[Queries, str | None]:  # fmt: skip
    """The table of queries, and the file it came from."""
    if isinstance(queries, Queries):
        return queries, None
    if isinstance(queries, Mapping):
        return Queries(pl.DataFrame({"query_id": list(queries), by: list(queries.values())})), None
    return read_queries(queries), os.fspath(queries)


def _split(data: AlignedScores, queries: Queries, place: str | None, by: str) -> list[_SliceData]:
    if by not in queries.attributes:
        raise UnknownName(say("attribute of queries"), by, queries.attributes)
    groups = group_queries(queries, by, data.query_ids)
    if not groups:
        raise InputError(
            say("none of the query ids in this file is judged"), path=place, hint=say("check that the ids are the same")
        )
    if len(groups) > _MOST:
        raise UsageError(
            say(
                "{attribute} has {n} values: a comparison by slice takes an attribute with at most {most}",
                attribute=by,
                n=len(groups),
                most=_MOST,
            )
        )
    return [_SliceData(value, _restrict(data, frozenset(ids))) for value, ids in groups.items()]


def _restrict(data: AlignedScores, queries: Collection[str]) -> AlignedScores:
    rows = np.array([query in queries for query in data.query_ids], dtype=bool)
    return replace(
        data,
        query_ids=[query for query in data.query_ids if query in queries],
        values=data.values[rows],
        weights=None if data.weights is None else data.weights[rows],
        clusters=None if data.clusters is None else data.clusters[rows],
    )


def _cells(part: _SliceData, rules: Rules) -> list[_Cell]:
    """Test every measure and system of a slice in one pass."""
    data = part.data
    places = [(i, j) for i in range(len(data.labels)) for j in range(1, len(data.names))]
    changes = np.stack([paired_differences(data.values[:, i, j], data.values[:, i, 0]) for i, j in places], axis=1)
    enough = [not too_few(_moments(change, data).effective_n) for change in changes.T]
    pvalues: list[float | None] = [None] * len(places)
    if any(enough):
        tested = sign_flip(
            changes, weights=data.weights, clusters=data.clusters, n_resamples=rules.n_resamples, rng=rules.seed
        ).pvalue.tolist()
        pvalues = [p if known else None for p, known in zip(tested, enough, strict=True)]
    return [
        _Cell(part, i, j, change, p) for (i, j), change, p in zip(places, list(changes.T), pvalues, strict=True)
    ]  # fmt: skip


def _moments(change: Floats, data: AlignedScores) -> Any:
    return moments(change, data.weights, clusters=data.clusters)


def _adjust(cells: Sequence[_Cell], rules: Rules) -> dict[tuple[str, int, int], float]:
    tested = {cell.key: cell.pvalue for cell in cells if cell.pvalue is not None}
    return dict(zip(tested, adjust(list(tested.values()), method=rules.correction).tolist(), strict=True))


def _lift(cell: _Cell, rules: Rules, adjusted: float | None, tests: int) -> SliceLift:
    data, change = cell.part.data, cell.change
    after, before = data.values[:, cell.measure, cell.system], data.values[:, cell.measure, 0]
    limits = data.columns[cell.measure].limits(data.values[:, cell.measure])
    reach = None if limits is None else limits[1] - limits[0]
    of: dict[str, Any] = {"weights": data.weights, "clusters": data.clusters}
    # What needs a test of its own beside p (that two are equivalent, say) is tested at the level of the first step.
    strict = replace(rules, alpha=rules.alpha / tests)
    shown = adjusted is not None and adjusted <= rules.alpha
    sign = float(data.signs()[cell.measure])
    verdict = decide(change, strict, adjusted=0.0 if shown else 1.0, sign=sign, reach=reach, **of)
    missed = verdict == "inconclusive" and cell.pvalue is not None and cell.pvalue <= rules.alpha
    level = rules.confidence_level
    return SliceLift(
        value=cell.part.value,
        system=data.names[cell.system],
        measure=cell.label,
        effective_n=_moments(change, data).effective_n,
        before=_mean(before, change, data.weights),
        after=_mean(after, change, data.weights),
        difference=difference_interval(
            change, reach=reach, method=rules.interval, confidence_level=level, n_resamples=rules.n_resamples,
            rng=rules.seed, **of,
        ),
        relative=relative_interval(after, before, bounds=limits, confidence_level=level, **of),
        pvalue=cell.pvalue,
        adjusted=adjusted,
        verdict=verdict,
        turned=missed and not shown,
        weight=weight_of(data),
    )  # fmt: skip


def _mean(values: Floats, change: Floats, weights: Floats | None) -> float | None:
    """The mean over the queries that have a difference."""
    known = ~np.isnan(change)
    return aggregate(values, known, "mean", weights) if known.any() else None
