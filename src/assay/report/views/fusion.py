"""What fusion looks like: the list of methods and normalisations, and what tuning found."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from assay.errors import clean
from assay.fusion.methods import METHODS
from assay.fusion.normalisation import NORMS
from assay.report.tables import Table, terminal
from assay.report.views.scores import number

if TYPE_CHECKING:
    from assay.analysis.tuning import Tuned
    from assay.fusion.methods import FusionMethod
    from assay.fusion.normalisation import Norm

_WIDTH = 110
_HEADS = re.compile(r"^(Formula|Odd cases|Reference):", re.MULTILINE)


def listing() -> str:
    """All methods and normalisations with formula, odd cases and reference."""
    intro = (
        "s is a document's normalised score, r its rank, w the weight of a run; sums run over the n runs that list the"
        " document. Methods on scores use --norm min-max unless told otherwise."
    )
    lines = [*textwrap.wrap(intro, _WIDTH), "", "Methods"]
    lines += [line for method in METHODS.values() for line in _entry(method, _takes(method))]
    lines += ["", "Normalisations (within one list)"]
    return "\n".join(lines + [line for norm in NORMS.values() for line in _entry(norm, "")]) + "\n"


def _takes(method: FusionMethod) -> str:
    words = [f"on {method.uses}"]
    words += [f"{name} = {default:g}" for name, default in method.parameters.items()]
    words += {"no": [], "may": ["takes weights"], "must": ["needs weights"]}[method.weights]
    return f" ({', '.join(words)})"


def _entry(item: FusionMethod | Norm, takes: str) -> list[str]:
    """Show one method: its name and summary, then each part of its documentation in its own lines."""
    summary, _, rest = item.text.partition("\n")
    parts = _HEADS.split(rest)
    said = [f"{head}: {' '.join(body.split())}" for head, body in zip(parts[1::2], parts[2::2], strict=True)]
    lines = [f"  {item.name}{takes}: {summary}"]
    for text in said:
        lines += textwrap.wrap(text, _WIDTH, initial_indent="      ", subsequent_indent="        ")
    return lines


def tuning(found: Tuned) -> str:
    """Table of what was tuned beside equal weights and the best single run, held-out values first."""
    rows = tuple(
        (trial.label, number(trial.held_out), number(trial.training))
        for trial in (found.tuned, found.equal, found.single)
    )
    return terminal(Table((f"{found.measure} of", "held out", "training"), rows))


def sentences(found: Tuned) -> list[str]:
    """Say what was chosen, on which queries, and which of the numbers is the result."""
    weights = ", ".join(f"{clean(name)} {weight:g}" for name, weight in found.weights.items())
    train, test = len(found.training_ids), len(found.held_out_ids)
    gain = found.tuned.held_out - max(found.equal.held_out, found.single.held_out)
    lines = [f"chosen: {found.fusion}{f', weights {weights}' if weights else ''}"]
    lines.append(
        f"the result is the value over {_queries(test)} held out, protocol {found.protocol};"
        f" {_queries(train)} served to choose among {found.tried} settings, and their value is no result"
    )
    if gain <= 0:
        lines.append("tuning gained nothing on held-out queries: prefer the plainer way")
    return [*lines, *map(clean, found.notes)]


def _queries(size: int) -> str:
    return "1 query" if size == 1 else f"{size:,} queries"
