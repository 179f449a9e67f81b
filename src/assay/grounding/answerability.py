"""Whether the contexts hold what the question asks for, as far as the sample lets us know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assay.formats.columns import ANSWERABLE, has_any
from assay.grounding.preparing import sample_for
from assay.grounding.record import Blank
from assay.grounding.words import by_words
from assay.results.support import PARTLY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.samples import Sample

ENOUGH = PARTLY  # support from which something counts as said
_NO = {"false", "no", "0", "0.0", "unanswerable", "not answerable", "none", "否", "不可回答"}
_KINDS = {"kind", "category"}
_YES = {"true", "yes", "1", "1.0", "answerable", "full", "partial", "是", "可回答"}


class Answerability(NamedTuple):
    """Whether the contexts hold the answer (None if unknown), and what that is based on.

    `unanswerable` says that the question itself has no answer, so that better retrieval could not have found one.
    """

    holds: bool | None
    by: str
    unanswerable: bool = False


def find_answerability(sample: Sample) -> Answerability:
    """Decide whether the contexts hold the answer: by a column `answerable`, gold ids, else the reference's words.

    Without contexts there is no answer in them, even if the question is marked answerable.
    """
    told = read_answerable(sample)
    if told is not None and not (told and sample.contexts == ()):
        return Answerability(told, "answerable", unanswerable=not told)
    if sample.gold_ids is not None:
        found = _by_gold(sample)
        if found is not None:
            return Answerability(found, "gold_ids", unanswerable=not sample.gold_ids)
    if sample.contexts is not None and not sample.contexts:
        return Answerability(holds=False, by="contexts")
    return _by_reference(sample)


def read_answerable(sample: Sample) -> bool | None:
    """Read a column `answerable` as True or False; None for any other value, such as an empty one."""
    return says_answerable(sample.others)


def says_answerable(columns: Mapping[str, object]) -> bool | None:
    """Whether a row says that its question has an answer: in a column `answerable`, or as its kind or category."""
    for name, value in columns.items():
        text = "" if value is None else str(value).strip().lower()
        if has_any([name], ANSWERABLE) and text in _NO | _YES:
            return text in _YES
        if name.strip().lower() in _KINDS and text == "unanswerable":
            return False
    return None


def _by_gold(sample: Sample) -> bool | None:
    if not sample.gold_ids:
        return False
    ids = ids_of_contexts(sample)
    return None if ids is None else any(not ids.isdisjoint(group) for group in sample.gold_ids)


def ids_of_contexts(sample: Sample) -> set[str] | None:
    """Ids of the contexts; None if the sample does not have them."""
    if sample.context_ids is not None:
        return set(sample.context_ids)
    named = [context.id for context in sample.contexts or () if context.id]
    return set(named) if sample.contexts is not None and len(named) == len(sample.contexts) else None


def _by_reference(sample: Sample) -> Answerability:
    ready = sample_for(sample, "reference")
    if isinstance(ready, Blank):
        return Answerability(None, "")
    support = by_words(ready)
    if support.status == "abstained":
        return Answerability(holds=False, by="reference", unanswerable=True)  # the reference is a refusal
    if support.status != "scored" or support.value is None:
        return Answerability(None, "")
    return Answerability(support.value >= ENOUGH, "reference")
