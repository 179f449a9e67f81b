"""Reading measures from text: our own grammar and the names of trec_eval, ir_measures, ranx and others."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from assay.errors import UnknownName, UsageError, excerpt
from assay.measures.registry import REGISTRY, Measure

_FORM = re.compile(r"^(?P<name>[^(@]+?)\s*(?:\((?P<args>.*)\))?\s*(?:@\s*(?P<cut>[^@]+))?$", re.DOTALL)
_TREC = re.compile(r"^(?P<name>.+?)[_.](?P<cut>[0-9][0-9.]*|[.][0-9]+)$")

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
    "r_cap": "recall(capped=true)",
    "recall_cap": "recall(capped=true)",
    "rprec": "r_precision",
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
}

_PARAMETERS = {"rel": "min_relevance", "max_rel": "max_grade", "gains": "gain"}
_FRACTIONS = {"interpolated_precision": "recall", "r_precision": "multiple"}


def parse(text: str | Measure) -> Measure:
    """Read a measure such as ndcg(gain='exp')@10, nDCG@10, ndcg_cut_10, P(rel=2)@5 or MAP@10."""
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise UsageError(f"a measure is text such as 'ndcg@10' or a decorated function, not {type(text).__name__}")
    form = _FORM.match(text.strip())
    if form is None:
        raise UsageError(f"cannot read the measure {excerpt(text)}; write it like ndcg(gain='exp')@10")
    base, cut = _named(form["name"].strip(), form["cut"])
    measure = base(**_arguments(text, form["args"], base.name)) if form["args"] else base
    return measure if cut is None else _cut(measure, cut, text)


def _named(name: str, cut: str | None) -> tuple[Measure, str | None]:
    """Resolve a name, ours or an alias, with trec_eval's cutoff behind an underscore or a dot."""
    known = _known(name)
    if known is None and cut is None:
        form = _TREC.match(name)
        known = _known(form["name"]) if form else None
        cut = form["cut"] if form and known else None
    if known is None:
        hint = "repeat -m for each measure" if "," in name or "," in (cut or "") else "see: assay measures"
        raise UnknownName("measure", name, [*REGISTRY, *ALIASES], hint=hint)
    return known, cut


def _known(name: str) -> Measure | None:
    lower = name.lower()
    if lower in REGISTRY:
        return Measure(lower)
    return parse(ALIASES[lower]) if lower in ALIASES else None


def _cut(measure: Measure, cut: str, text: str) -> Measure:
    try:
        number = float(cut)
    except ValueError:
        more = "; repeat -m for each measure" if "," in cut else ""
        raise UsageError(f"the cutoff of {excerpt(text)} must be a number, not {excerpt(cut)}{more}") from None
    if not math.isfinite(number):
        raise UsageError(f"the cutoff of {excerpt(text)} must be a finite number")
    if measure.name in _FRACTIONS:
        return measure(**{_FRACTIONS[measure.name]: number})
    if number != int(number):
        raise UsageError(f"the cutoff of {excerpt(text)} must be a whole number from 1 on")
    return measure @ int(number)


def _arguments(text: str, source: str, name: str) -> dict[str, Any]:
    """Read `gain='exp', capped=true` as keyword arguments with literal values."""
    wrong = UsageError(f"cannot read the parameters of {excerpt(text)}; write them like {name}(min_relevance=2)")
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
        name = _PARAMETERS.get(keyword.arg, keyword.arg)
        if name in values:
            raise UsageError(f"parameter {name} stands twice in {excerpt(text)}")
        values[name] = _value(keyword.value, wrong)
    return {"gain": {"log2": "linear", "exp-log2": "exp"}[values.pop("dcg")], **values} if _is_dcg(values) else values


def _is_dcg(values: dict[str, Any]) -> bool:
    """Tell whether ir_measures' dcg='exp-log2' (or 'log2') names the gain."""
    return values.get("dcg") in {"log2", "exp-log2"}


def _value(node: ast.expr, wrong: UsageError) -> Any:
    if isinstance(node, ast.Name):
        words = {"true": True, "false": False, "none": None}
        return words.get(node.id.lower(), node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise wrong from None
