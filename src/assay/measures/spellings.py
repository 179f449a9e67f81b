"""Read texts that name several measures: lists of them, or several in one name."""

from __future__ import annotations

import os
import re
from typing import Any

from assay.errors import UsageError, excerpt
from assay.measures.grammar import as_text, is_rubric, parse
from assay.measures.registry import Measure
from assay.measures.trec import MEASURES, SETS, columns_of
from assay.messages import say

_NAMES = {trec.name.lower(): trec.name for trec in MEASURES} | {name: name for name in SETS}
_NUMBER = re.compile(r"\s*[-+]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)\s*(?:=.*)?")  # continues a list such as P.5,10


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
        raise UsageError(say("{text} is a text, not a number: assay trec_eval prints it", text=excerpt(text)))
    return found


def split_measures(measures: Any) -> list[str | Measure]:
    """Take one measure or several, each a value or a text; a text may be a list with commas, as in ndcg@10, map."""
    one = as_text(measures)
    if isinstance(one, (str, Measure, os.PathLike)):
        return _split(one)
    try:
        several = [as_text(each) for each in one]
    except TypeError:
        raise UsageError(
            say("a measure is a text such as 'ndcg@10', or a list of them, not {given}", given=excerpt(one))
        ) from None
    return [part for each in several for part in _split(each)]


def _split(text: Any) -> list[str | Measure]:
    """Split at commas outside brackets; a number after a comma continues the list before it."""
    if isinstance(text, os.PathLike):
        return [os.fspath(text)]
    if not isinstance(text, str):
        return [parse(text)]
    if is_rubric(text) and os.path.isfile(text):  # noqa: PTH113 - its name may have commas
        return [text]
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in re.split(r"([(){}\[\],（），、])", text):
        depth += (piece in {"(", "{", "[", "（"}) - (piece in {")", "}", "]", "）"})
        if piece in {",", "，", "、"} and depth <= 0:
            parts.append([])
        else:
            parts[-1].append(piece)
    found: list[list[str]] = []
    for part in map("".join, parts):
        if found and _NUMBER.fullmatch(part):
            found[-1].append(part.strip())
        elif part.strip():
            found.append([part.strip()])
    return [",".join(one) for one in found]
