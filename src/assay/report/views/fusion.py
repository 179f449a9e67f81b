"""What fusion looks like: the list of methods and normalisations, and what tuning found."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from assay.fusion.methods import METHODS, FusionMethod
from assay.fusion.normalisation import NORMS
from assay.messages import say, tell
from assay.report.blocks import Block, Lines
from assay.report.numbers import number
from assay.report.tables import Table
from assay.report.wrapping import wrap
from assay.wordings.reference import fusion_pages

if TYPE_CHECKING:
    from assay.analysis.tuning import Tuned
    from assay.fusion.normalisation import Norm
    from assay.messages import Lang, Said

_WIDTH = 110
_HEADS = re.compile(r"^(Formula|Odd cases|Reference|公式|特殊情况|参考文献)[:：]", re.MULTILINE)


def listing(lang: Lang = "en") -> str:
    """All methods and normalisations with formula, odd cases and reference."""
    intro = say(
        "s is a document's normalised score, r its rank, w the weight of a run; sums run over the n runs that list the"
        " document. Methods on scores use --norm min-max unless told otherwise."
    )
    lines = [*_wrap(tell(intro, lang), lang), "", tell(say("Methods"), lang)]
    lines += [line for method in METHODS.values() for line in _entry(method, lang)]
    lines += ["", tell(say("Normalisations (within one list)"), lang)]
    return "\n".join(lines + [line for norm in NORMS.values() for line in _entry(norm, lang)]) + "\n"


def _title(item: FusionMethod | Norm, summary: str) -> Said:
    if not isinstance(item, FusionMethod):
        return say("{name}: {summary}", name=item.name, summary=summary)
    words = [say("on ranks") if item.uses == "ranks" else say("on scores")]
    words += [say("{name} = {value:g}", name=name, value=default) for name, default in item.parameters.items()]
    words += [] if item.weights == "no" else [say("takes weights") if item.weights == "may" else say("needs weights")]
    return say("{name} ({traits}): {summary}", name=item.name, traits=words, summary=summary)


def _entry(item: FusionMethod | Norm, lang: Lang) -> list[str]:
    """Show one method: its name and summary, then each part of its documentation in its own lines."""
    kind = "method" if isinstance(item, FusionMethod) else "norm"
    text = item.text if lang == "en" else fusion_pages(lang)[f"{kind}:{item.name}"]
    summary, _, rest = text.partition("\n")
    parts = _HEADS.split(rest)
    colon = ": " if lang == "en" else "："
    said = [f"{head}{colon}{' '.join(body.split())}" for head, body in zip(parts[1::2], parts[2::2], strict=True)]
    lines = [f"  {tell(_title(item, summary), lang)}"]
    return [*lines, *(line for part in said for line in _wrap(part, lang, "      ", "        "))]


def _wrap(text: str, lang: Lang, first: str = "", further: str = "") -> list[str]:
    if lang == "en":
        return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=further)
    return wrap(text, _WIDTH, first, further)


def tuning(found: Tuned) -> list[Block]:
    """What was tuned beside equal weights and the best single run, held-out values first, and what was chosen."""
    rows = tuple(
        (trial.label, number(trial.held_out), number(trial.training))
        for trial in (found.tuned, found.equal, found.single)
    )
    headers = (say("tune.measure", measure=found.measure), say("tune.held_out"), say("tune.training"))
    return [Table(headers, rows), Lines(tuple(_sentences(found)))]


def _sentences(found: Tuned) -> list[str]:
    """Say what was chosen, on which queries, and which of the numbers is the result."""
    weights = [f"{name} {weight:g}" for name, weight in found.weights.items()]
    key = "tune.chosen_weights" if weights else "tune.chosen"
    sizes = {"held": len(found.held_out_ids), "chosen": len(found.training_ids), "tried": found.tried}
    lines: list[str] = [
        say(key, fusion=str(found.fusion), weights=weights),
        say("tune.result", protocol=str(found.protocol), **sizes),
    ]
    return [*lines, *([] if found.has_gain else [say("tune.no_gain")]), *found.notes]
