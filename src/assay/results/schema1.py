"""Files of schema 1, which are read for ever: their plain values laid out as this schema has them.

Schema 1 kept a measure as text. The properties of the measures when those files were written are kept here, even if the
measures change.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from assay.data.scores import Aggregate, Column, Parameter, Subject
from assay.errors import InputError
from assay.messages import say
from assay.results.codec import Plain, encode
from assay.results.recognition import recognise
from assay.stats.moments import NO_SPREAD
from assay.wordings.former import TITLES

_FORM = re.compile(r"(?P<name>\w+)(?:\((?P<arguments>.*)\))?(?:@(?P<k>[0-9]+))?", re.DOTALL)
_PAIR = re.compile(r"\s*(\w+)=('[^']*'|\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,]+)(?:,|$)")
_ANSWERS = frozenset(
    [
        "faithfulness",
        "hallucination_rate",
        "context_utilisation",
        "context_precision",
        "context_recall",
        "noise_sensitivity",
        "answer_relevance",
        "citation_precision",
        "citation_recall",
        "abstention",
        "right_refusals",
        "wrong_refusals",
        "correctness",
        "exact_match",
        "token_f1",
        "rouge_l",
    ]
)
_SPANS = frozenset({"span_recall", "span_precision"})
_LOWER = frozenset(["hallucination_rate", "noise_sensitivity", "wrong_refusals", "rbp_residual", "unjudged"])
_BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "alpha_ndcg": (0.0, 1.05),
    "infap": (0.0, 1.001),
    "utility": (None, None),
    **dict.fromkeys(
        ["dcg", "rbp", "hits", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret"], (0.0, None)
    ),
}  # fmt: skip
_SHARES = frozenset(
    [
        "precision",
        "recall",
        "f1",
        "hit_rate",
        "reciprocal_rank",
        "average_precision",
        "ndcg",
        "coverage",
        "r_precision",
        "bpref",
        "err",
        "geometric_bpref",
        "geometric_average_precision",
        "interpolated_precision",
        "eleven_point",
        "binary_g",
        "relative_precision",
        "set_precision",
        "set_recall",
        "set_f1",
        "set_average_precision",
        "set_relative_precision",
        "judged",
        "unjudged",
        "rbp_residual",
        "r_ndcg",
        "num_q",
        "alpha_dcg",
        "err_ia",
        "subtopic_recall",
        "g",
        "ndcg_rel",
    ]
)
_LEAST_QUERIES = 10
_ALPHA = 0.05
_LITERALS = {"true": True, "false": False}
# Fields of texts that were said in English and are messages now.
_SAID = frozenset(
    ["agreement", "basis", "calibration", "fallback", "message", "notes", "reason", "stage_reason", "stamp", "warnings"]
)


def column_of(label: str, definition: str, aggregate: Aggregate = "mean") -> Column:
    """Describe a measure by its definition; one that a user had registered is known by its name and cutoff only."""
    found = _FORM.fullmatch(definition)
    if found is None:
        return Column(label, definition, definition, bounds=(None, None), aggregate=aggregate)
    name, cut = found["name"], found["k"]
    parameters = _parameters(found["arguments"] or "")
    subject: Subject = "answers" if name in _ANSWERS else "spans" if name in _SPANS else "rankings"
    known = name in _SHARES or subject != "rankings"
    return Column(
        label,
        definition,
        name,
        k=None if cut is None else int(cut),
        parameters=parameters,
        method=str(parameters.get("method", "")) if subject == "answers" else "",
        subject=subject,
        bounds=_BOUNDS.get(name, (0.0, 1.0) if known else (None, None)),
        lower_is_better=name in _LOWER,
        aggregate=aggregate,
        over="run" if name == "coverage" else "judged",
    )


def _parameters(text: str) -> dict[str, Parameter]:
    """Parameters as they were printed; one that cannot be read stays a text."""
    found: dict[str, Parameter] = {}
    for name, written in _PAIR.findall(text):
        try:
            value = _LITERALS[written] if written in _LITERALS else ast.literal_eval(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = written
        found[name] = {f"{key:g}": float(gain) for key, gain in value.items()} if isinstance(value, dict) else value
    return found


# Files ----------------------------------------------------------------------------------------------------------------


def upgrade(plain: Plain, *, path: str | None = None) -> Plain:
    """Lay out the plain values of a file of schema 1 as schema 2; what is damaged stays so, for the codec to find."""
    try:
        return _upgrade(_with_messages(plain))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            say("the result file is damaged: {kind} {error}", kind=type(error).__name__, error=str(error)), path=path
        ) from None


def _upgrade(plain: Plain) -> Plain:
    judge = plain.get("judge", "")
    found = {**plain, "schema": 2, "systems": [_system(one, judge) for one in plain.get("systems", [])]}
    found |= {name: lay_out(plain) for name, lay_out in _PARTS.items() if plain.get(name)}
    found |= {"protocol": _protocol(plain["protocol"])} if plain.get("protocol") else {}
    found |= _economics(plain) if plain.get("economics") else {}
    found |= {"check": {"findings": plain["findings"]}} if "findings" in plain else {}
    if isinstance(plain.get("calibration"), str):  # how far the judge agrees; a calibration itself is a part
        found["calibrated"] = found.pop("calibration")
    return found


def _protocol(plain: Plain) -> Plain:
    return {"title_zh": TITLES.get(plain.get("title", ""), ""), **plain}


def _with_messages(plain: Any, *, said: bool = False) -> Any:
    """The same with the messages that its texts were."""
    if isinstance(plain, dict):
        return {
            name: _with_messages(one, said=name in _SAID or (said and isinstance(one, str)))
            for name, one in plain.items()
        }
    if isinstance(plain, list):
        return [_with_messages(one, said=said and isinstance(one, str)) for one in plain]
    return recognise(plain) if said and isinstance(plain, str) else plain


def _system(plain: Plain, judge: str) -> Plain:
    facts = {}
    for label, definition in plain["definitions"].items():
        known = encode(column_of(label, definition, plain["aggregates"].get(label, "mean")))
        facts[label] = {name: value for name, value in known.items() if name not in {"label", "definition"}}
    return {"judge": judge, **plain, "measures": facts}


def _comparison(plain: Plain) -> Plain:
    """A comparison with its lists and lifts; the first files did not hold the largest possible difference."""
    before = plain["comparison"]
    definitions = plain["systems"][0]["definitions"]
    weighted = before.get("weighted", False)
    return {
        **before,
        "means": {label: [interval(one) for one in found] for label, found in before["means"].items()},
        "contrasts": [_contrast(one, definitions.get(one["measure"], "")) for one in before["contrasts"]],
        "weight": before.get("weight") or (_weight(plain) if weighted else None),
        "likeness": plain.get("lists") or [],
        "lifts": [_lift(one) for one in plain.get("lifts") or []],
    }


def _sweep(plain: Plain) -> Plain:
    """A sweep, whose systems, measures and k were only in its curves."""
    before = plain["sweep"]
    curves = [{**one, "points": [interval(point) for point in one["points"]]} for one in before["curves"]]
    system = plain["systems"][0]
    return {
        **before,
        "curves": curves,
        "k": curves[0]["k"],
        "measures": list(dict.fromkeys(one["measure"] for one in curves)),
        "systems": list(dict.fromkeys(one["system"] for one in curves)),
        "queries": max(counts["queries"] for counts in system["counts"].values()),
        "confidence_level": curves[0]["points"][0]["confidence_level"],
    }


def _diagnoses(plain: Plain) -> list[Plain]:
    return [
        {
            **one,
            "targets": [_target(finding) for finding in one["findings"]],
            "slices": [{**part, "mean": interval(part["mean"])} for part in one["slices"]],
        }
        for one in plain["diagnoses"]
    ]


def _target(plain: Plain) -> Plain:
    """A target; files of schema 1 called a value that should be small and is not "low" too."""
    target = plain["target"]
    high = plain["status"] == "low" and target.get("below", False)
    advice = plain.get("advice") or ""
    if advice and advice == target.get("advice"):
        advice = say("text.either", en=advice, zh=target.get("advice_zh") or advice)
    return {**plain, "advice": advice, **({"status": "high"} if high else {})}


def _gates(plain: Plain) -> list[Plain]:
    return [
        {
            **one,
            "checks": [
                {
                    **check,
                    "name": recognise(check["name"]),
                    "interval": None if check["interval"] is None else interval(check["interval"]),
                }
                for check in one["checks"]
            ],
        }
        for one in plain["gates"]
    ]


def _contrast(plain: Plain, definition: str) -> Plain:
    low, high = column_of("", definition).bounds
    n = plain["difference"]["n"]
    effective = plain.get("effective_n", float(n))
    return {
        "too_few": effective < _LEAST_QUERIES * (1 - 1e-9),
        "reach": None if low is None or high is None else high - low,
        "limit": None,
        "pays": None,
        **plain,
        "effective_n": effective,
        "difference": interval(plain["difference"]),
        "relative": interval(plain["relative"]),
    }


def _weight(plain: Plain) -> Plain:
    """How uneven the weights of a comparison are, which the first files did not hold."""
    weights = {query: weight for query, weight in plain["per_query"]["weights"].items() if weight}
    total = sum(weights.values())
    heaviest = max(weights, key=lambda query: weights[query])
    squares = sum(weight * weight for weight in weights.values())
    return {"effective_queries": total * total / squares, "heaviest": heaviest, "share": weights[heaviest] / total}


def _lift(plain: Plain) -> Plain:
    """A lift; the first files said by the point estimate alone that it pays, which shows nothing."""
    pays = plain["pays"]
    return {**plain, "relative": interval(plain["relative"]), "pays": "open" if isinstance(pays, bool) else pays}


def interval(plain: Plain) -> Plain:
    """An interval; the first files gave values that do not vary one of width 0."""
    return {**plain, "low": None, "high": None} if plain.get("reason") == NO_SPREAD else plain


def _bench(plain: Plain) -> Plain:
    before = plain["bench"]
    level = before.get("confidence_level", 0.95)
    return {"target": "", "texts": "", **before, "loads": [_load(one, level) for one in before["loads"]]}


def _load(plain: Plain, level: float) -> Plain:
    unsaid: Plain = {"candidates": None, "rate": None, "seconds": 0.0, "histogram": None}
    times = {name: _latency(plain.get(name), plain["count"], level) for name in ("latency_ms", "service_ms")}
    return {**unsaid, "errors": {}, "examples": {}, **plain, **times}


def _latency(plain: Plain | None, n: int, level: float) -> Plain | None:
    """Percentiles of a load, which files of schema 1 have as a value and two ends."""
    if plain is None:
        return None
    named = {name: plain[name] for name in ("p50", "p95", "p99")}
    return {
        **plain,
        **{
            name: {
                "estimate": one["value"], "low": one["low"], "high": one["high"], "confidence_level": level,
                "method": "order statistics", "n": n,
            }
            for name, one in named.items()
        },
    }  # fmt: skip


def _economics(plain: Plain) -> Plain:
    """Costs and a return, which shared one name; the costs of a return were those of its one method."""
    before = plain["economics"]
    if before.get("roi") is None:
        return {"cost": {"documents_per_query": 0.0, "queries_per_day": 0.0, **before}}
    return {"roi": _roi(before["roi"], before)}


def _roi(plain: Plain, part: Plain) -> Plain:
    def band(name: str) -> Plain:
        low, high = plain.get(f"{name}_interval") or (None, None)
        return {"value": plain.get(name), "low": low, "high": high}

    cost = (part.get("costs") or [{}])[0]
    unsaid = {"queries_per_day": 0.0, "revenue_per_query": 0.0, "cost_per_query": None, "fixed_per_day": 0.0}
    return {
        **unsaid,
        "elasticity": 1.0,
        "outcome": "pays",
        "break_even_gain": None,
        **plain,
        "gain": plain.get("gain") or {"relative": {"value": None}},
        "revenue": plain.get("revenue_per_day") or {"value": None},
        "cost": plain.get("cost_per_day"),
        "net": plain.get("net_per_day") or {"value": None},
        "roi": {name: plain.get(name) for name in ("value", "low", "high")},
        "break_even_queries_per_day": band("break_even_queries_per_day"),
        "break_even_price": band("break_even_price"),
        "curve": plain.get("curve") or [],
        "method": cost.get("method", ""),
        "currency": part.get("currency", ""),
    }


def _experiment(plain: Plain) -> Plain:
    """An experiment; the first files did not say which measure decided, nor which way a mean differs."""
    before = plain["experiment"]
    combinations = before["combinations"]
    labels = list(dict.fromkeys(label for one in combinations for label in one.get("quality") or {}))
    winner = before.get("winner") or {"name": "", "holdout": None}
    base = next((one for one in combinations if one["name"] == before.get("baseline")), None)
    return {
        "combinations": [_row(one, base) for one in combinations],
        "measure": before.get("measure") or (labels[0] if labels else ""),
        "measures": labels,
        "baseline": before.get("baseline", ""),
        "winner": winner["name"],
        "holdout": None if winner.get("holdout") is None else _holdout(winner["holdout"]),
        "axes": before.get("axes") or {},
        "reference": before.get("reference"),
    }


def _row(plain: Plain, base: Plain | None) -> Plain:
    quality = plain.get("quality") or {}
    before = {} if base is None else base.get("quality") or {}
    unsaid = {"ms_p50": 0.0, "ms_p95": 0.0, "tokens": 0, "money": None}
    return {
        "cost_per_query": None,
        **plain,
        "reason": plain.get("reason") or "",
        "stages_chosen": plain.get("stages_chosen") or {},
        "quality": {label: _quality(label, one, before.get(label)) for label, one in quality.items()},
        "stages": [{**unsaid, **stage} for stage in plain.get("stages") or []],
    }


def _quality(label: str, plain: Plain, base: Plain | None) -> Plain:
    found: Plain = {name: plain[name] for name in ("pvalue", "verdict", "method") if name in plain}
    p, mean = plain.get("pvalue"), plain.get("mean")
    if "verdict" not in plain and base is not None and p is not None and mean is not None and p <= _ALPHA:
        higher = mean > (base.get("mean") or 0.0)
        found["verdict"] = "better" if higher != (label.partition("@")[0] in _LOWER) else "worse"
    return {**found, "mean": _flat(plain)}


def _holdout(plain: Plain) -> Plain:
    ends = {name: _flat(plain[name]) if plain.get(name) else None for name in ("winner", "baseline", "difference")}
    return {"pvalue": None, **plain, **ends}


def _flat(plain: Plain) -> Plain:
    """An interval of an experiment, which had its mean and ends alone."""
    return interval(
        {
            "estimate": plain.get("mean"), "low": plain.get("low"), "high": plain.get("high"), "confidence_level": 0.95,
            "method": "t", "n": 0, "reason": plain.get("reason") or "",
        }
    )  # fmt: skip


def _answers(plain: Plain) -> Plain:
    before = plain["answers"]
    return {**before, "samples": [_sample(one) for one in before.get("samples") or []]}


def _sample(plain: Plain) -> Plain:
    """A sample, whose fields were stored flat among the findings about it."""
    given = {name: plain.get(name) for name in ("question", "answer", "contexts")}
    answer = plain.get("answer") or ""
    return {
        "sample": {**given, "query_id": plain["query_id"]},
        "support": {
            "query_id": plain["query_id"],
            "method": plain.get("method") or "words",
            "status": plain.get("status") or "scored",
            "reason": plain.get("reason") or "",
            "statements": [_statement(one, answer) for one in plain.get("statements") or []],
            "notes": plain.get("notes") or [],
        },
        "stage": plain.get("stage"),
        "stage_reason": plain.get("stage_reason") or "",
        "cells": plain.get("scores") or {},
        "trail": plain.get("fallback") or [],
        "system": plain.get("system") or "",
    }


def _statement(plain: Plain, answer: str) -> Plain:
    """A statement; files of schema 1 had its evidence as a text and why it was lowered as another."""
    text, place = plain.get("evidence"), plain.get("context")
    known = None if text is None or place is None else {"context": place, "start": 0, "end": len(text), "text": text}
    return {
        "start": plain["start"],
        "end": plain["end"],
        "text": answer[plain["start"] : plain["end"]],
        "kind": plain.get("kind") or "claim",
        "weight": 1.0,
        "support": plain.get("support"),
        "evidence": known,
        "note": plain.get("reason") or "",
    }


_PARTS = {
    "answers": _answers,
    "comparison": _comparison,
    "sweep": _sweep,
    "diagnoses": _diagnoses,
    "gates": _gates,
    "bench": _bench,
    "experiment": _experiment,
}
