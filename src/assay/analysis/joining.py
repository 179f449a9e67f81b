"""Joining a run with judgments under the rules of a protocol: ties, precision, folding, repeats."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.data.folding import fold_run
from assay.data.joining import rank_run
from assay.data.mappings import rank_mapping
from assay.data.run import Run
from assay.errors import Repeated
from assay.formats.trec.reading import locate
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.ranking import Ranking


def join(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    protocol: Protocol,
    *,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
) -> Ranking:
    """Join whole queries of a run with their judgments, if any of them have some."""
    float32 = protocol.scores == "float32"
    if protocol.fold is not None and (chunks is not None or (isinstance(run, Run) and run.has_chunks)):
        folded = prepare_run(run, protocol, chunks)
        return rank_run(judgments, folded, ties="given", folded=protocol.fold == "after")
    if protocol.ignore_same_id:
        run = _without_same_ids(run)
    if not isinstance(run, Run):
        return rank_mapping(judgments, run, ties=protocol.ties, float32=float32)
    try:
        return rank_run(judgments, run, ties=protocol.ties, float32=float32, dedupe=dedupe)
    except Repeated as error:
        found = locate(run.source, error)
        raise (found.with_hint(_fold_hint()) if run.has_chunks else found) from None


def prepare_run(
    run: Run | Mapping[str, Mapping[str, float]],
    protocol: Protocol,
    chunks: Mapping[str, str] | str | None = None,
    *,
    dedupe: bool = False,
) -> Run:
    """The lists that are evaluated: chunks folded to documents where the protocol says so, repeats left out."""
    whole = run if isinstance(run, Run) else Run.from_dict(run)  # type: ignore[arg-type]
    if dedupe:
        frame = whole.frame.sort("score", descending=True, maintain_order=True)
        kept = frame.unique(
            [name for name in ("query_id", "chunk_id", "doc_id") if name in frame.columns], keep="first"
        )
        ids = ["query_id", "doc_id", "score"]
        whole = replace(
            whole,
            rows=whole.frame.join(kept.select(ids), on=ids, how="semi").unique(ids, keep="first", maintain_order=True),
        )
    if protocol.fold is None or not (chunks is not None or whole.has_chunks):
        return whole.without_same_ids() if protocol.ignore_same_id else whole
    float32 = protocol.scores == "float32"
    return fold_run(whole, chunks, ties=protocol.ties, float32=float32, ignore_same_id=protocol.ignore_same_id)


def _without_same_ids(
    run: Run | Mapping[str, Mapping[str, float]],
) -> Run | Mapping[str, Mapping[str, float]]:
    """Leave out documents that have the id of their query."""
    if isinstance(run, Run):
        return run.without_same_ids()
    return {query: {doc: score for doc, score in docs.items() if doc != query} for query, docs in run.items()}


def _fold_hint() -> str:
    return say("these are chunks: fold them to documents with --fold before (or --fold after: cut at k, then fold)")
