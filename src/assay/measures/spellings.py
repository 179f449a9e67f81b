"""One text may ask for several measures: the lists and sets of trec_eval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import UsageError, excerpt
from assay.measures.grammar import is_rubric, parse
from assay.measures.trec import MEASURES, SETS, columns_of

if TYPE_CHECKING:
    from assay.measures.registry import Measure

_NAMES = {trec.name.lower(): trec.name for trec in MEASURES} | {name: name for name in SETS}


def expand(text: str | Measure) -> tuple[Measure, ...]:
    """Read what one text asks for: one measure, or several as in P.5,10,20, ndcg_cut.10,20, official or all_trec."""
    plain = isinstance(text, str) and not is_rubric(text)
    name, dot, params = str(text).strip().partition(".") if plain else ("", "", "")
    known = _NAMES.get(name.lower())
    if known is None or not (known in SETS or "," in params or "=" in params or known == "relstring"):
        return (parse(text),)
    columns = columns_of([f"{known}{dot}{params}"])
    found = tuple(dict.fromkeys(column.measure for column in columns if column.measure is not None))
    if not found:
        raise UsageError(f"{excerpt(text)} is text, not a number: print it with assay trec_eval")
    return found
