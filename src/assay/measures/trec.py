"""trec_eval's measures under their own names: how their parameters are read, and which of ours computes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import UnknownName, UsageError, excerpt
from assay.measures.grammar import parse
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.measures.registry import Measure

Kind = Literal["plain", "long", "cutoffs", "levels", "numbers", "pairs"]

_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class TrecMeasure:
    """One of trec_eval's measures: how its parameters are read and which of ours computes it.

    `total` says what its line for all queries counts, where that is not what its values add up to.
    """

    name: str
    definition: str
    kind: Kind = "plain"
    default: tuple[float, ...] = ()
    summary_only: bool = False
    since: int = 9
    total: Literal["", "queries", "relevant"] = ""


# In the order in which trec_eval prints them.
MEASURES = (
    TrecMeasure("runid", ""),
    TrecMeasure("num_q", "num_q", "long", summary_only=True, total="queries"),
    TrecMeasure("num_ret", "num_ret", "long"),
    TrecMeasure("num_rel", "num_rel", "long", total="relevant"),
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
SETS: dict[str, tuple[str, ...]] = {
    "official": (*_SHARED, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_SHARED, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(trec.name for trec in MEASURES),
}
_UNSUPPORTED = {"all_prefs", "prefs", "qrels_jg"}


@dataclass(frozen=True)
class TrecColumn:
    """One printed name and the measure behind it; runid and relstring have none."""

    name: str
    trec: TrecMeasure
    measure: Measure | None
    length: int = 0


def columns_of(
    asked: Sequence[str], *, version: int = 10, level: int | None = None, collection: int = 0
) -> list[TrecColumn]:
    """Resolve -m options to printed columns in trec_eval's order; without a `level`, thresholds are left open."""
    known = {trec.name: trec for trec in MEASURES if trec.since <= version}
    wanted: dict[str, str | None] = {}
    for option in asked or ["official"]:
        name, dot, params = option.partition(".")
        if name in _UNSUPPORTED:
            raise UsageError(
                say(
                    "the trec_eval measure {name} needs preference judgments, which are not supported",
                    name=excerpt(name),
                )
            )
        if dot and (not params or name in SETS):
            raise UsageError(
                say("the trec_eval measure {name} takes no parameters", name=name)
                if params
                else say("trec_eval measure {option}: parameters are missing after the dot", option=excerpt(option))
            )
        for single in [each for each in SETS[name] if each in known] if name in SETS else [name]:
            if single not in known:
                raise UnknownName(say("trec_eval measure"), single, [*known, *SETS])
            if wanted.get(single) is None:
                wanted[single] = params or None
    return [
        column
        for name, trec in known.items()
        if name in wanted
        for column in _columns(trec, wanted[name], version=version, level=level, collection=collection)
    ]


def _columns(
    trec: TrecMeasure, params: str | None, *, version: int, level: int | None, collection: int
) -> Iterator[TrecColumn]:
    shared: dict[str, Any] = {}
    if trec.name in {"iprec_at_recall", "11pt_avg"} and version < 10:  # noqa: PLR2004
        shared["rounding"] = "trec9"
    base = parse(trec.definition) if trec.definition else None
    if base is not None:
        if level is not None and "min_relevance" in base.spec.protocol_parameters(base.arguments):
            shared["min_relevance"] = level
        base = base(**shared)
    if trec.kind in {"plain", "long"}:
        if params:
            raise UsageError(say("the trec_eval measure {name} takes no parameters", name=trec.name))
        yield TrecColumn(trec.name, trec, base)
    elif trec.kind == "pairs":
        yield TrecColumn(trec.name + (f"_{params}" if params else ""), trec, _with_pairs(base, trec, params))
    elif trec.kind == "numbers":
        values = _numbers(trec.name, params) if params else list(trec.default)
        name = trec.name + (f"_{params}" if params else "")
        yield TrecColumn(name, trec, _with_numbers(base, trec, values, collection), int(values[0]))
    else:
        values = sorted(_numbers(trec.name, params)) if params else list(trec.default)
        if len(set(values)) < len(values):
            raise UsageError(
                say("trec_eval measure {name}.{params}: a cutoff appears twice", name=trec.name, params=params)
            )
        for value in values:
            yield _with_cutoff(base, trec, value)


def _with_cutoff(base: Measure | None, trec: TrecMeasure, value: float) -> TrecColumn:
    assert base is not None
    if trec.kind == "levels":
        field = "recall" if base.name == "interpolated_precision" else "multiple"
        return TrecColumn(f"{trec.name}_{value:3.2f}", trec, base(**{field: value}))
    return TrecColumn(f"{trec.name}_{int(value)}", trec, base @ int(value))


def _with_numbers(base: Measure | None, trec: TrecMeasure, values: list[float], collection: int) -> Measure | None:
    if base is None:
        return None
    if trec.name == "utility":
        if len(values) != len(trec.default):
            raise UsageError(say("the trec_eval measure utility takes four numbers: -m utility.1,-1,0,0"))
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
        raise UsageError(
            say("trec_eval measure {name}.{params}: cannot read the parameters", name=trec.name, params=params)
        ) from None


def _numbers(name: str, params: str) -> list[float]:
    try:
        found = [float(part) for part in params.split(",")]
    except ValueError:
        found = [math.nan]
    if not all(map(math.isfinite, found)):
        raise UsageError(
            say("trec_eval measure {name}.{params}: expected numbers separated by commas", name=name, params=params)
        )
    return found
