"""trec_eval's measures under their own names, computed by ours and printed as it prints them.

Version 10 is the default; version 9 differs in four things: scores are 32-bit floats, recall levels are rounded
otherwise, rbp and unj do not exist, and queries missing from the run are not printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.data.scores import aggregate
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.measures import Measure, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.ranking import Ranking
    from assay.data.segments import Bools, Floats

Kind = Literal["plain", "long", "cutoffs", "levels", "numbers", "pairs"]

_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_MISSING_Z = -1_000_000.0


@dataclass(frozen=True)
class TrecMeasure:
    """One of trec_eval's measures: how its parameters are read and which of ours computes it."""

    name: str
    definition: str
    kind: Kind = "plain"
    default: tuple[float, ...] = ()
    summary_only: bool = False
    since: int = 9


# In the order in which trec_eval prints them.
MEASURES = (
    TrecMeasure("runid", ""),
    TrecMeasure("num_q", "num_q", "long", summary_only=True),
    TrecMeasure("num_ret", "num_ret", "long"),
    TrecMeasure("num_rel", "num_rel", "long"),
    TrecMeasure("num_rel_ret", "num_rel_ret", "long"),
    TrecMeasure("map", "average_precision"),
    TrecMeasure("gm_map", "geometric_average_precision", summary_only=True),
    TrecMeasure("Rprec", "r_precision"),
    TrecMeasure("bpref", "bpref"),
    TrecMeasure("recip_rank", "reciprocal_rank"),
    TrecMeasure("iprec_at_recall", "interpolated_precision", "levels", _LEVELS),
    TrecMeasure("P", "precision", "cutoffs", _DEPTHS),
    TrecMeasure("relstring", "", "numbers", (10,)),
    TrecMeasure("recall", "recall", "cutoffs", _DEPTHS),
    TrecMeasure("infAP", "infap"),
    TrecMeasure("gm_bpref", "geometric_bpref", summary_only=True),
    TrecMeasure("Rprec_mult", "r_precision", "levels", (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)),
    TrecMeasure("utility", "utility", "numbers", (1, -1, 0, 0)),
    TrecMeasure("11pt_avg", "eleven_point", "numbers", _LEVELS),
    TrecMeasure("binG", "binary_g"),
    TrecMeasure("G", "g", "pairs"),
    TrecMeasure("ndcg", "ndcg", "pairs"),
    TrecMeasure("ndcg_rel", "ndcg_rel", "pairs"),
    TrecMeasure("Rndcg", "r_ndcg", "pairs"),
    TrecMeasure("ndcg_cut", "ndcg", "cutoffs", _DEPTHS),
    TrecMeasure("map_cut", "average_precision", "cutoffs", _DEPTHS),
    TrecMeasure("relative_P", "relative_precision", "cutoffs", _DEPTHS),
    TrecMeasure("success", "hit_rate", "cutoffs", (1, 5, 10)),
    TrecMeasure("set_P", "set_precision"),
    TrecMeasure("set_relative_P", "set_relative_precision"),
    TrecMeasure("set_recall", "set_recall"),
    TrecMeasure("set_map", "set_average_precision"),
    TrecMeasure("set_F", "set_f1", "numbers", (1,)),
    TrecMeasure("num_nonrel_judged_ret", "num_nonrel_judged_ret", "long"),
    TrecMeasure("rbp", "rbp(p=0.9, gain='topic')", "pairs", since=10),
    TrecMeasure("rbp_resid", "rbp_residual(p=0.9, tail='trec')", "pairs", since=10),
    TrecMeasure("unj", "unjudged(over='k')", "cutoffs", (5, 10, 20), since=10),
)
_SHARED = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_OFFICIAL = (*_SHARED, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P")
_SETS = (*_SHARED, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F")
_UNSUPPORTED = {"all_prefs", "prefs", "qrels_jg"}


@dataclass(frozen=True)
class Column:
    """One printed name and the measure behind it; runid and relstring have none."""

    name: str
    trec: TrecMeasure
    measure: Measure | None
    length: int = 0


def columns_of(asked: Sequence[str], *, version: int, level: int = 1, collection: int = 0) -> list[Column]:
    """Resolve -m options to printed columns in trec_eval's order."""
    known = {trec.name: trec for trec in MEASURES if trec.since <= version}
    wanted: dict[str, str | None] = {}
    for option in asked or ["official"]:
        name, dot, params = option.partition(".")
        if name in _UNSUPPORTED:
            raise UsageError(f"trec_eval measures {excerpt(name)} need preference judgments, which are not supported")
        nick = {"official": _OFFICIAL, "set": _SETS, "all_trec": tuple(known)}.get(name)
        for single in nick or (name,):
            if single not in known:
                raise UnknownName("trec_eval measure", single, [*known, "official", "set", "all_trec"])
            if dot and not params:
                raise UsageError(f"trec_eval measure {excerpt(option)}: parameters are missing after the dot")
            if wanted.get(single) is None:
                wanted[single] = params or None
    return [
        column
        for name, trec in known.items()
        if name in wanted
        for column in _columns(trec, wanted[name], version=version, level=level, collection=collection)
    ]


def _columns(trec: TrecMeasure, params: str | None, *, version: int, level: int, collection: int) -> Iterator[Column]:
    shared: dict[str, Any] = {"min_relevance": level}
    if trec.name in {"iprec_at_recall", "11pt_avg"}:
        shared["rounding"] = "nearest" if version >= 10 else "trec9"  # noqa: PLR2004
    base = parse(trec.definition) if trec.definition else None
    if base is not None:
        shared = {key: value for key, value in shared.items() if key in base.spec.parameters}
        if base.name in {"ndcg", "dcg"}:
            shared.pop("min_relevance", None)
        base = base(**shared)
    if trec.kind in {"plain", "long"}:
        if params:
            raise UsageError(f"trec_eval measure {trec.name} takes no parameters")
        yield Column(trec.name, trec, base)
    elif trec.kind == "pairs":
        yield Column(trec.name + (f"_{params}" if params else ""), trec, _with_pairs(base, trec, params))
    elif trec.kind == "numbers":
        values = _numbers(trec.name, params) if params else list(trec.default)
        name = trec.name + (f"_{params}" if params else "")
        yield Column(name, trec, _with_numbers(base, trec, values, collection), int(values[0]))
    else:
        values = sorted(_numbers(trec.name, params)) if params else list(trec.default)
        if len(set(values)) < len(values):
            raise UsageError(f"trec_eval measure {trec.name}.{params}: the same cutoff twice")
        for value in values:
            yield _with_cutoff(base, trec, value)


def _with_cutoff(base: Measure | None, trec: TrecMeasure, value: float) -> Column:
    assert base is not None
    if trec.kind == "levels":
        field = "recall" if base.name == "interpolated_precision" else "multiple"
        return Column(f"{trec.name}_{value:3.2f}", trec, base(**{field: value}))
    return Column(f"{trec.name}_{int(value)}", trec, base @ int(value))


def _with_numbers(base: Measure | None, trec: TrecMeasure, values: list[float], collection: int) -> Measure | None:
    if base is None:
        return None
    if trec.name == "utility":
        if len(values) != len(trec.default):
            raise UsageError("trec_eval measure utility takes four numbers: -m utility.1,-1,0,0")
        return base(**dict(zip("abcd", values, strict=True)), collection_size=collection)
    if trec.name == "set_F":
        return base(beta=values[0] ** 0.5)  # trec_eval takes beta squared
    return base(points=tuple(values))


def _with_pairs(base: Measure | None, trec: TrecMeasure, params: str | None) -> Measure | None:
    """Read 1=3,2=9 as a table of gains, and p=.8 as persistence."""
    if params is None or base is None:
        return base
    try:
        pairs = {key: float(value) for key, value in (part.split("=") for part in params.split(","))}
        if trec.name.startswith("rbp"):
            return base(p=pairs.pop("p"))
        return base(gain={int(key): value for key, value in pairs.items()})
    except (ValueError, KeyError):
        raise UsageError(f"trec_eval measure {trec.name}.{params}: cannot read the parameters") from None


def _numbers(name: str, params: str) -> list[float]:
    try:
        found = [float(part) for part in params.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise UsageError(f"trec_eval measure {name}.{params}: expected numbers between commas")
    return found


@dataclass(frozen=True)
class Options:
    """trec_eval's options that shape the output."""

    per_query: bool = False
    complete: bool = False
    summary: bool = True
    version: int = 10
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None = None


def output(ranking: Ranking, columns: Sequence[Column], run_tag: str, options: Options) -> Iterator[str]:
    """Yield trec_eval's output line by line."""
    shared = ranking.judged & ranking.in_run
    if not shared.any():
        raise InputError(
            "the run and the judgments have no query in common", hint="check that both use the same query ids"
        )
    absent = ranking.judged & ~ranking.in_run
    if options.version >= 10 and absent.any() and not options.complete:  # noqa: PLR2004
        first = ranking.query_ids[int(np.flatnonzero(absent)[0])]
        raise InputError(
            f"query {excerpt(first)} is judged but not in the run ({int(absent.sum())} in all): trec_eval 10 stops",
            hint="add -c to count them as 0, or --compat 9 to leave them out",
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
            yield from _summary_line(column, values, counted, run_tag, z=options.zscores is not None)


def _values(ranking: Ranking, column: Column) -> Floats:
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
    ranking: Ranking, row: int, columns: Sequence[Column], values: Mapping[str, Floats], *, z: bool
) -> Iterator[str]:
    query = ranking.query_ids[row]
    for column in columns:
        if column.trec.name == "relstring":
            yield f"{column.name:<22}\t{query}\t'{relevance_string(ranking, row, column.length)}'"
        elif column.measure and not column.trec.summary_only:
            yield _line(column, query, float(values[column.name][row]), z=z)


def _summary_line(
    column: Column, values: Mapping[str, Floats], counted: Bools, run_tag: str, *, z: bool
) -> Iterator[str]:
    if column.trec.name == "runid":
        yield f"{column.name:<22}\tall\t{run_tag}"
    elif column.measure:
        kind = column.measure.spec.aggregate
        if z and column.name == "num_q":
            total = float(counted.sum())
        elif z and kind == "geometric":
            total = 0.0
        else:
            total = aggregate(values[column.name], counted, kind)
        yield _line(column, "all", total, z=z)


def _line(column: Column, query: str, value: float, *, z: bool) -> str:
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
