"""Reading measures from text: our own grammar and the names of trec_eval, ir_measures, ranx and others."""

from __future__ import annotations

import ast
import math
import os
import re
import unicodedata
from typing import Any

from assay.errors import UnknownName, UsageError, excerpt
from assay.measures import chinese
from assay.measures.registry import REGISTRY, Measure, check_parameter
from assay.messages import say

_FORM = re.compile(r"^(?P<name>[^(@]++)(?:\((?P<args>.*)\))?\s*+(?:@\s*+(?P<cut>[^@]++))?$", re.DOTALL)
_TREC = re.compile(r"^(?P<name>.+?)(?P<mark>[_.])(?P<cut>[0-9][0-9.]*|[.][0-9]+)$")
_AT = re.compile(r"^(?P<name>.+)_at_(?P<cut>[0-9]+)$", re.IGNORECASE)  # MTEB
_LONGEST = 200  # signs of a name that may end in a cutoff: looking for one takes time with their square

# Other tools' names, in lower case, as definitions of ours. A trailing cutoff is added to them.
ALIASES: dict[str, str] = {
    "p": "precision",
    "r": "recall",
    "f": "f1",
    "f_measure": "f1",
    "success": "hit_rate",
    "hit": "hit_rate",
    "hitrate": "hit_rate",
    "rr": "reciprocal_rank",
    "mrr": "reciprocal_rank",
    "recip_rank": "reciprocal_rank",
    "ap": "average_precision",
    "map": "average_precision",
    "map_cut": "average_precision",
    "ndcg_cut": "ndcg",
    "ndcg_burges": "ndcg(gain='exp')",
    "dcg_burges": "dcg(gain='exp')",
    "mean_reciprocal_rank": "reciprocal_rank",
    "mean_average_precision": "average_precision",
    "accuracy": "hit_rate",
    "top_k_accuracy": "hit_rate",
    "r_cap": "recall(capped=true)",
    "recall_cap": "recall(capped=true)",
    "capped_recall": "recall(capped=true)",
    "rprec": "r_precision",
    "r_prec": "r_precision",
    "r-prec": "r_precision",
    "r-precision": "r_precision",
    "rprec_mult": "r_precision",
    "gm_map": "geometric_average_precision",
    "gmap": "geometric_average_precision",
    "gm_bpref": "geometric_bpref",
    "iprec": "interpolated_precision",
    "iprec_at_recall": "interpolated_precision",
    "11pt_avg": "eleven_point",
    "bing": "binary_g",
    "relative_p": "relative_precision",
    "set_relative_p": "set_relative_precision",
    "setp": "set_precision",
    "setrelp": "set_relative_precision",
    "set_p": "set_precision",
    "setr": "set_recall",
    "setf": "set_f1",
    "set_f": "set_f1",
    "setap": "set_average_precision",
    "set_map": "set_average_precision",
    "numq": "num_q",
    "numret": "num_ret",
    "numrel": "num_rel",
    "numrelret": "num_rel_ret",
    "rndcg": "r_ndcg",
    "unj": "unjudged(over='k')",
    "rbp_resid": "rbp_residual",
    "alpha-ndcg": "alpha_ndcg",
    "α_ndcg": "alpha_ndcg",
    "α_dcg": "alpha_dcg",
    "err-ia": "err_ia",
    "strecall": "subtopic_recall",
    "strec": "subtopic_recall",
    "groundedness": "faithfulness",
    "hallucination": "hallucination_rate",
    "context_utilization": "context_utilisation",
    "response_relevancy": "answer_relevance",
    "answer_relevancy": "answer_relevance",
    "em": "exact_match",
    "rougel": "rouge_l",
    "answer_correctness": "correctness",
    "click_through_rate": "ctr",
    "clickthrough_rate": "ctr",
    "sat_click": "satisfied_click",
    "good_abandonment": "abandonment(kind='good')",
    "bad_abandonment": "abandonment(kind='bad')",
    "no_results": "zero_results",
    "dwell_time": "dwell",
    "csat": "satisfaction",
    "latency": "query_latency",
    "latency_p50": "query_latency(p=50)",
    "latency_p95": "query_latency(p=95)",
    "latency_p99": "query_latency(p=99)",
    "tokens": "query_tokens",
    "cost": "query_cost",
    **chinese.aliases(),
}

# What ir_measures has and this has not, in lower case: measures over subtopics, and models of when readers stop.
_OVER_SUBTOPICS = {"ap_ia", "map_ia", "p_ia", "nerr_ia", "nrbp", "nnrbp"}
_STOPPING = {"inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11"}
_SETS = {"official", "set", "all_trec"}  # of trec_eval

_PARAMETERS = {"rel": "min_relevance", "max_rel": "max_grade", "gains": "gain"}
_FRACTIONS = {"interpolated_precision": "recall", "r_precision": "multiple"}
_IN_THE_TOP = {
    "set_precision": "precision",
    "set_recall": "recall",
    "set_f1": "f1",
    "set_average_precision": "average_precision",
    "set_relative_precision": "relative_precision",
}


def parse(text: str | Measure | os.PathLike[str]) -> Measure:
    """Read a measure such as ndcg(gain='exp')@10, nDCG@10, ndcg_cut_10, ndcg_at_10, P(rel=2)@5, MAP@10 or tone.md.

    >>> import assay
    >>> str(assay.parse("P(rel=2)@5"))
    'precision(min_relevance=2)@5'
    >>> assay.parse("ndcg_cut_10") == assay.ndcg @ 10
    True
    """
    text = as_text(text)
    if isinstance(text, Measure):
        return text
    if is_rubric(text):
        from assay.measures.judged import read_rubric  # it declares measures, which are read here

        return read_rubric(text)
    if not isinstance(text, str):
        raise UsageError(
            say("a measure is text such as 'ndcg@10' or a decorated function, not {kind}", kind=type(text).__name__)
        )
    form = _FORM.match(unicodedata.normalize("NFKC", text).strip())  # 召回率＠５ is 召回率@5
    if form is None:
        raise UsageError(say("cannot read the measure {text}; write it like ndcg(gain='exp')@10", text=excerpt(text)))
    written = form["name"].strip()
    base, cut = _resolve_name(written, form["cut"])
    given = _arguments(text, form["args"]) if form["args"] else {}
    if "cutoff" in given and "cutoff" not in base.spec.parameters:
        if cut is not None:
            raise UsageError(say("{text} has two cutoffs: keep one", text=excerpt(text)))
        cut = str(given.pop("cutoff"))
    base, given = _as_in_ir_measures(written, base, given)
    measure = base(**_translate_parameters(base, given))
    return measure if cut is None else _cut(measure, cut, text, written)


def is_rubric(text: object) -> bool:
    """Return whether what is asked for is a rubric: a file that ends in .md."""
    return isinstance(text, (str, os.PathLike)) and os.fspath(text).strip().lower().endswith(".md")


def as_text(measure: Any) -> Any:
    """A measure of ir_measures as the text that it prints; anything else as it is."""
    return str(measure) if type(measure).__module__.partition(".")[0] == "ir_measures" else measure


def _resolve_name(name: str, cut: str | None) -> tuple[Measure, str | None]:
    """Resolve a name, ours or an alias, with a cutoff of MTEB or trec_eval behind it."""
    known = _look_up(name, cut)
    if known is not None or cut is not None or len(name) > _LONGEST:
        form = None
    else:
        form = _AT.match(name) or _TREC.match(name)
        known = _look_up(form["name"], form["cut"]) if form else None
    if known is None:
        if name.lower() in _SETS:
            raise UsageError(say("{name} stands for several measures: name one here", name=excerpt(name)))
        if n := _count_listed(name):
            raise UsageError(say("{name} stands for {n} measures: name one here", name=excerpt(name), n=n))
        several = "," in name or "," in (cut or "")
        hint = say("repeat -m for each measure") if several else _likely(name) or say("see: assay help measures")
        raise UnknownName(say("measure"), name, [*REGISTRY, *ALIASES], hint=hint)
    if form is None or form.re is _AT:
        return known, cut if form is None else form["cut"]
    if known.name in {"rbp", "rbp_residual"}:
        return known(p=_persistence(name, form["mark"], form["cut"])), None
    if form["name"].lower() == "set_f":
        return known(beta=_number(name, form["cut"]) ** 0.5), None  # trec_eval takes beta squared
    return known, form["cut"]


def _likely(name: str) -> str:
    """The correct spelling of a measure whose cutoff is written without an @, such as ndcg10 or recall-at-5."""
    if len(name) > _LONGEST:
        return ""
    form = re.fullmatch(r"([^\W\d][\w-]*?)[-_ ]?(?:at)?[-_ ]?(\d+)", name.strip(), re.IGNORECASE)
    return say("write {name}", name=f"{form[1]}@{form[2]}") if form and _look_up(form[1], form[2]) is not None else ""


def _count_listed(name: str) -> int:
    """How many measures a list of trec_eval, such as P.5,10,20, asks for; 0 for what is not such a list."""
    base, _, params = name.partition(".")
    return params.count(",") + 1 if "," in params and _look_up(base, None) is not None else 0


def _persistence(name: str, mark: str, digits: str) -> float:
    """Read what follows the dot of ranx's rbp.95; it was never a cutoff."""
    if mark != ".":
        raise UsageError(say("{name}: write rbp(p=0.95) for a persistence, rbp@95 for a cutoff", name=excerpt(name)))
    return _number(name, digits if "." in digits else f"0.{digits}")


def _number(name: str, digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        raise UsageError(say("cannot read the number in {name}", name=excerpt(name))) from None


def _look_up(name: str, cut: str | None) -> Measure | None:
    k = "" if cut is None else f"@{cut}"
    lower = name.lower() if name.isascii() else chinese.alias_of(name)
    if lower in chinese.AMBIGUOUS:
        raise UsageError(_which(name, chinese.AMBIGUOUS[lower], k))
    if lower in REGISTRY:
        return Measure(lower)
    why = _why_refused(name, k)
    if why:
        raise UsageError(why)
    return parse(ALIASES[lower]) if lower in ALIASES else None


def _which(name: str, measures: tuple[str, ...], k: str) -> str:
    """Return a hint that lists the possible meanings of an ambiguous word."""
    cuts = {one: "" if REGISTRY[one].cutoff == "none" else k for one in measures}
    names = [say("{name} ({other})", name=one + cut, other=chinese.NAMES[one] + cut) for one, cut in cuts.items()]
    return say("{name} can mean several measures: write {names:or}", name=f"{name}{k}", names=names)


def _why_refused(name: str, k: str) -> str:
    """Why a name of other tools is none here, and what comes closest; `k` is the cutoff with its @."""
    lower = name.lower()
    if name == "Accuracy":
        return say(
            "Accuracy{k} is hit_rate{k} in BEIR and sentence-transformers, and another measure in ir_measures: "
            "write hit_rate{k}",
            k=k,
        )
    if lower == "hole":
        return say(
            "{name}: BEIR's Hole counts documents that are judged for no query at all; unjudged(over='k'){k} counts "
            "those that are not judged for their own query",
            name=f"{name}{k}",
            k=k,
        )
    if lower == "compat":
        return say(
            "{name}: compatibility (of ir_measures) is not available; assay.rbo compares two rankings",
            name=f"{name}{k}",
        )
    if lower in _OVER_SUBTOPICS:
        return say(
            "{name} (of ir_measures) is not available; use alpha_ndcg, alpha_dcg, err_ia or subtopic_recall",
            name=f"{name}{k}",
        )
    if lower in _STOPPING:
        return say("{name} (of ir_measures) is not available; rbp and err come closest", name=f"{name}{k}")
    return ""


def _as_in_ir_measures(written: str, base: Measure, given: dict[str, Any]) -> tuple[Measure, dict[str, Any]]:
    """Give parameters the meaning they have in ir_measures where it is not ours."""
    name, rest = written.lower(), dict(given)
    if name == "numret" and "rel" in rest:
        return Measure("num_rel_ret"), rest
    if name in {"setp", "set_p"} and isinstance(rest.get("relative"), bool):
        return (Measure("set_relative_precision") if rest.pop("relative") else base), rest
    if name == "setf" and "beta" in rest:  # passed to trec_eval, which takes beta squared
        beta = check_parameter(base.spec, "beta", rest["beta"])
        if beta < 0:
            raise UsageError(say("{written}(beta={beta:g}): beta must be 0 or more", written=written, beta=beta))
        rest["beta"] = beta**0.5
    if base.spec.needs_subtopics and "rel" in rest and rest.pop("rel") != 1:
        raise UsageError(
            say(
                "{written}(rel={rel}): {name} counts every grade above 0 and has no threshold; leave out rel, and "
                "remove the lower grades from the judgments",
                written=written,
                rel=given["rel"],
                name=base.name,
            )
        )
    return base, rest


def _translate_parameters(base: Measure, given: dict[str, Any]) -> dict[str, Any]:
    """Translate other tools' names of parameters; errors use the names that the user wrote."""
    values: dict[str, Any] = {}
    for written, value in given.items():
        name = _PARAMETERS.get(written, written)
        if name in values:
            raise UsageError(say("{measure}: the parameter {name} is given twice", measure=base.name, name=written))
        check_parameter(base.spec, name, value, written)
        values[name] = value
    return values


def _cut(measure: Measure, cut: str, text: str, written: str) -> Measure:
    try:
        number = float(cut)
    except ValueError:
        values = {"text": excerpt(text), "cutoff": excerpt(cut)}
        raise UsageError(
            say("the cutoff of {text} must be a whole number, not {cutoff}; repeat -m for each measure", **values)
            if "," in cut
            else say("the cutoff of {text} must be a whole number, not {cutoff}", **values)
        ) from None
    if not math.isfinite(number):
        raise UsageError(say("the cutoff of {text} must be a finite number", text=excerpt(text)))
    if measure.name in _FRACTIONS and (measure.name != "r_precision" or written.lower().startswith("rprec_mult")):
        return measure(**{_FRACTIONS[measure.name]: number})
    if number != int(number):
        raise UsageError(say("the cutoff of {text} must be a whole number, 1 or more", text=excerpt(text)))
    if measure.spec.cutoff == "none":
        top = _IN_THE_TOP.get(measure.name)
        k = int(number)
        raise UsageError(
            say(
                "{name} takes no cutoff: write {name}, or {top}@{k} for the first {k} documents",
                name=written,
                top=top,
                k=k,
            )
            if top
            else say("{name} takes no cutoff: write {name}", name=written)
        )
    return measure @ int(number)


def _arguments(text: str, source: str) -> dict[str, Any]:
    """Read `gain='exp', capped=true` as keyword arguments with literal values, under the names that were written."""
    wrong = UsageError(
        say("cannot read the parameters of {text}; write them like ndcg(gain='exp')", text=excerpt(text))
    )
    try:
        call = ast.parse(f"f({source})", mode="eval").body
    except (SyntaxError, ValueError):
        raise wrong from None
    if not isinstance(call, ast.Call) or call.args:
        raise wrong
    values: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise wrong
        if keyword.arg in values:
            raise UsageError(say("the parameter {name} appears twice in {text}", name=keyword.arg, text=excerpt(text)))
        values[keyword.arg] = _value(keyword.value, wrong)
    return {"gain": {"log2": "linear", "exp-log2": "exp"}[values.pop("dcg")], **values} if _is_dcg(values) else values


def _is_dcg(values: dict[str, Any]) -> bool:
    """Return whether ir_measures' dcg='exp-log2' (or 'log2') names the gain."""
    return isinstance(values.get("dcg"), str) and values["dcg"] in {"log2", "exp-log2"}


def _value(node: ast.expr, wrong: UsageError) -> Any:
    if isinstance(node, ast.Name):
        words = {"true": True, "false": False, "none": None}
        return words.get(node.id.lower(), node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise wrong from None
