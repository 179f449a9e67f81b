"""Reading measures from text: our own grammar and the names of trec_eval, ir_measures, ranx and others."""

from __future__ import annotations

import ast
import math
import os
import re
from typing import Any

from assay.errors import UnknownName, UsageError, excerpt
from assay.measures.registry import REGISTRY, Measure, check_parameter

_FORM = re.compile(r"^(?P<name>[^(@]+?)\s*(?:\((?P<args>.*)\))?\s*(?:@\s*(?P<cut>[^@]+))?$", re.DOTALL)
_TREC = re.compile(r"^(?P<name>.+?)(?P<mark>[_.])(?P<cut>[0-9][0-9.]*|[.][0-9]+)$")
_AT = re.compile(r"^(?P<name>.+)_at_(?P<cut>[0-9]+)$", re.IGNORECASE)  # MTEB

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
    "精确率": "precision",
    "查准率": "precision",
    "召回率": "recall",
    "查全率": "recall",
    "命中率": "hit_rate",
    "倒数排名": "reciprocal_rank",
    "平均倒数排名": "reciprocal_rank",
    "平均精度": "average_precision",
    "平均精度均值": "average_precision",
    "覆盖率": "coverage",
    "归一化折损累计增益": "ndcg",
    "折损累计增益": "dcg",
    "忠实度": "faithfulness",
    "幻觉率": "hallucination_rate",
    "上下文利用率": "context_utilisation",
    "上下文精确率": "context_precision",
    "上下文召回率": "context_recall",
    "噪声敏感度": "noise_sensitivity",
    "答案相关性": "answer_relevance",
    "精确匹配": "exact_match",
    "正确性": "correctness",
}

# What other tools have and this one has not, in lower case: why, and what comes closest. {k} is the cutoff, with its @.
_ABSENT: dict[str, str] = {
    "hole": "BEIR's Hole counts the documents that are judged for no query at all; unjudged(over='k'){k} counts those"
    " that are not judged for their own query",
    "compat": "compatibility (ir_measures) is not offered; assay.rbo compares two rankings",
    **{
        name.lower(): f"ir_measures' {name} is not offered; there are alpha_ndcg, alpha_dcg, err_ia and subtopic_recall"
        for name in ("AP_IA", "MAP_IA", "P_IA", "nERR_IA", "NRBP", "nNRBP")
    },
    **{
        name.lower(): f"ir_measures' {name} is not offered; rbp and err come closest"
        for name in ("INST", "INSQ", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11")
    },
}
_AMBIGUOUS = {
    "Accuracy": "Accuracy{k} is hit_rate{k} in BEIR and sentence-transformers and another measure in ir_measures:"
    " write hit_rate{k}",
}
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
        raise UsageError(f"a measure is text such as 'ndcg@10' or a decorated function, not {type(text).__name__}")
    form = _FORM.match(text.strip())
    if form is None:
        raise UsageError(f"cannot read the measure {excerpt(text)}; write it like ndcg(gain='exp')@10")
    written = form["name"].strip()
    base, cut = _named(written, form["cut"])
    given = _arguments(text, form["args"]) if form["args"] else {}
    if "cutoff" in given and "cutoff" not in base.spec.parameters:
        if cut is not None:
            raise UsageError(f"the cutoff stands twice in {excerpt(text)}")
        cut = str(given.pop("cutoff"))
    base, given = _as_in_ir_measures(written, base, given)
    measure = base(**_in_our_words(base, given))
    return measure if cut is None else _cut(measure, cut, text, written)


def is_rubric(text: object) -> bool:
    """Say whether what is asked for is a rubric: a file that ends in .md."""
    return isinstance(text, (str, os.PathLike)) and os.fspath(text).strip().lower().endswith(".md")


def as_text(measure: Any) -> Any:
    """A measure of ir_measures as the text that it prints; anything else as it is."""
    return str(measure) if type(measure).__module__.partition(".")[0] == "ir_measures" else measure


def _named(name: str, cut: str | None) -> tuple[Measure, str | None]:
    """Resolve a name, ours or an alias, with a cutoff of MTEB or trec_eval behind it."""
    known = _known(name, cut)
    if known is not None or cut is not None:
        form = None
    else:
        form = _AT.match(name) or _TREC.match(name)
        known = _known(form["name"], form["cut"]) if form else None
    if known is None:
        several = "several" if name.lower() in _SETS else _listed(name)
        if several:
            raise UsageError(f"{excerpt(name)} asks for {several} measures where one is expected")
        hint = "repeat -m for each measure" if "," in name or "," in (cut or "") else "see: assay measures"
        raise UnknownName("measure", name, [*REGISTRY, *ALIASES], hint=hint)
    if form is None or form.re is _AT:
        return known, cut if form is None else form["cut"]
    if known.name in {"rbp", "rbp_residual"}:
        return known(p=_persistence(name, form["mark"], form["cut"])), None
    if form["name"].lower() == "set_f":
        return known(beta=_number(name, form["cut"]) ** 0.5), None  # trec_eval takes beta squared
    return known, form["cut"]


def _listed(name: str) -> str:
    """How many measures a list of trec_eval, such as P.5,10,20, asks for; nothing for what is none."""
    base, _, params = name.partition(".")
    return str(params.count(",") + 1) if "," in params and _known(base, None) is not None else ""


def _persistence(name: str, mark: str, digits: str) -> float:
    """Read what follows the dot of ranx's rbp.95; it was never a cutoff."""
    if mark != ".":
        raise UsageError(f"{excerpt(name)}: write rbp(p=0.95) for a persistence, rbp@95 for a cutoff")
    return _number(name, digits if "." in digits else f"0.{digits}")


def _number(name: str, digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        raise UsageError(f"cannot read the number in {excerpt(name)}") from None


def _known(name: str, cut: str | None) -> Measure | None:
    k = "" if cut is None else f"@{cut}"
    lower = name.lower()
    if name in _AMBIGUOUS and lower not in REGISTRY:
        raise UsageError(_AMBIGUOUS[name].format(k=k))
    if lower in REGISTRY:
        return Measure(lower)
    if lower in _ABSENT:
        raise UsageError(f"{name}{k}: {_ABSENT[lower].format(k=k)}")
    return parse(ALIASES[lower]) if lower in ALIASES else None


def _as_in_ir_measures(written: str, base: Measure, given: dict[str, Any]) -> tuple[Measure, dict[str, Any]]:
    """Give parameters the meaning they have in ir_measures where it is not ours."""
    name, rest = written.lower(), dict(given)
    if name == "numret" and "rel" in rest:
        return Measure("num_rel_ret"), rest
    if name in {"setp", "set_p"} and isinstance(rest.get("relative"), bool):
        return (Measure("set_relative_precision") if rest.pop("relative") else base), rest
    if name == "setf" and "beta" in rest:  # handed on to trec_eval, which takes beta squared
        beta = check_parameter(base.spec, "beta", rest["beta"])
        if beta < 0:
            raise UsageError(f"{written}(beta={beta:g}): beta must not be below 0")
        rest["beta"] = beta**0.5
    if base.spec.needs_subtopics and "rel" in rest and rest.pop("rel") != 1:
        raise UsageError(
            f"{written}(rel={given['rel']}): {base.name} counts every grade above 0 and has no threshold;"
            f" leave rel out, and the lower grades out of the judgments"
        )
    return base, rest


def _in_our_words(base: Measure, given: dict[str, Any]) -> dict[str, Any]:
    """Translate other tools' names of parameters; errors speak of the names that were written."""
    values: dict[str, Any] = {}
    for written, value in given.items():
        name = _PARAMETERS.get(written, written)
        if name in values:
            raise UsageError(f"{base.name}: {written} stands twice among the parameters")
        check_parameter(base.spec, name, value, written)
        values[name] = value
    return values


def _cut(measure: Measure, cut: str, text: str, written: str) -> Measure:
    try:
        number = float(cut)
    except ValueError:
        more = "; repeat -m for each measure" if "," in cut else ""
        raise UsageError(f"the cutoff of {excerpt(text)} must be a whole number, not {excerpt(cut)}{more}") from None
    if not math.isfinite(number):
        raise UsageError(f"the cutoff of {excerpt(text)} must be a finite number")
    if measure.name in _FRACTIONS and (measure.name != "r_precision" or written.lower().startswith("rprec_mult")):
        return measure(**{_FRACTIONS[measure.name]: number})
    if number != int(number):
        raise UsageError(f"the cutoff of {excerpt(text)} must be a whole number from 1 on")
    if measure.spec.cutoff == "none":
        top = _IN_THE_TOP.get(measure.name)
        more = f", or {top}@{int(number)} for the first {int(number)} documents" if top else ""
        raise UsageError(f"{written} takes no cutoff: write {written}{more}")
    return measure @ int(number)


def _arguments(text: str, source: str) -> dict[str, Any]:
    """Read `gain='exp', capped=true` as keyword arguments with literal values, under the names that were written."""
    wrong = UsageError(f"cannot read the parameters of {excerpt(text)}; write them like ndcg(gain='exp')")
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
            raise UsageError(f"parameter {keyword.arg} stands twice in {excerpt(text)}")
        values[keyword.arg] = _value(keyword.value, wrong)
    return {"gain": {"log2": "linear", "exp-log2": "exp"}[values.pop("dcg")], **values} if _is_dcg(values) else values


def _is_dcg(values: dict[str, Any]) -> bool:
    """Tell whether ir_measures' dcg='exp-log2' (or 'log2') names the gain."""
    return isinstance(values.get("dcg"), str) and values["dcg"] in {"log2", "exp-log2"}


def _value(node: ast.expr, wrong: UsageError) -> Any:
    if isinstance(node, ast.Name):
        words = {"true": True, "false": False, "none": None}
        return words.get(node.id.lower(), node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise wrong from None
