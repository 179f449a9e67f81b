"""What files of schema 1 do not say of their measures, and what was true of them when those files were written.

Schema 1 kept a measure as text. Its files are read for ever, so the facts are kept here as they were, whatever becomes
of the measures since.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from assay.data.scores import Column

if TYPE_CHECKING:
    from assay.data.scores import Aggregate, Parameter, Subject

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
_LITERALS = {"true": True, "false": False}


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
