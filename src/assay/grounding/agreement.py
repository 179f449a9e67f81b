"""How far each method agrees with people, in one sentence beside its numbers; docs/validation.md has the rest.

The figures are those that `assay calibrate` prints for public labelled data; a test computes them again. The order in
which methods are tried depends on them and is defined here for that reason: better figures may change it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from assay.messages import say

if TYPE_CHECKING:
    from assay.messages import Said
    from assay.results.support import Method


@dataclass(frozen=True, slots=True)
class Figures:
    """Agreement with people: Spearman and AUROC on MTRAG, AUROC on BEGIN and on SummEdits."""

    rho: float
    mtrag: float
    begin: float | None = None
    summedits: float | None = None


FIGURES: dict[str, Figures] = {
    "words": Figures(0.69, 0.96, 0.97, 0.63),
    "embedding (wordllama)": Figures(0.60, 0.92, 0.84, 0.58),
    "embedding (minilm)": Figures(0.59, 0.91, 0.85, 0.61),
    "overlap": Figures(0.66, 0.96, 0.93, 0.49),
    "contains": Figures(0.21, 0.58, 0.56, 0.50),
    "llm": Figures(0.58, 0.90),
}

# The method that judges first, and its fallbacks; a judge is used only if the user names one. By every figure above,
# words agree better with people than either kind of embeddings, and they are the fastest. S4 has embeddings first.
ORDERS: dict[str, tuple[Method, ...]] = {
    "auto": ("llm", "words", "embedding"),
    "s4": ("llm", "embedding", "words"),
}


def describe_agreement(method: str, embedder: str = "") -> Said | None:
    """Describe how far a method agrees with people and what it misses; None for a method without validation.

    Embeddings are validated one by one: name the embedder, or write it into the method as in `embedding (minilm)`.
    """
    name = f"{method} ({embedder})" if embedder and method == "embedding" else method
    found = FIGURES.get(name)
    if found is None:
        return None
    figures = say("standing.published" if found.begin is None else "standing.figures", **asdict(found))
    return say("standing.method", name=name, figures=figures, blind=say(f"standing.{name.partition(' ')[0]}"))
