"""Ids that systems with documents of their own return, against those that are judged and those of the collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.pipeline.experiment import Collection
    from assay.pipeline.runner import Execution


def find_unknown(outcomes: Iterable[Execution], collection: Collection) -> list[str]:
    """Warn of returned ids that no judgment or document has: usually two spellings of the same ids."""
    documents = {document.id for document in collection.documents}
    judged = set() if collection.judgments is None else set(collection.judgments.frame["doc_id"].to_list())
    said: list[str] = []
    for outcome in outcomes:
        if not outcome.done or not _has_own_documents(outcome):
            continue
        name = outcome.combination.name
        returned = dict.fromkeys(chunk.doc_id for chunk in outcome.chunks)
        lost = [one for one in returned if documents and one not in documents]
        if lost:
            said.append(
                say("experiment.unknown_ids", name=name, n=len(lost), of=len(returned), example=excerpt(lost[0]))
            )
        if returned and judged and judged.isdisjoint(returned):
            first = {"example": excerpt(next(iter(returned))), "judged": excerpt(min(judged))}
            said.append(say("experiment.no_judged_ids", name=name, n=len(returned), **first))
        unnamed = sum(bool(one.contexts) for one in outcome.asked) - sum(bool(one.chunks) for one in outcome.hits)
        if outcome.asked and unnamed > 0:
            said.append(say("experiment.contexts_without_ids", name=name, n=unnamed))
    return said


def _has_own_documents(outcome: Execution) -> bool:
    choices = outcome.combination.choices
    return "app" in choices or outcome.engine
