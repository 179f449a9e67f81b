"""Column names that users already have, and what they mean here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import InputError, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

QUERY = ("query_id", "qid", "q_id", "query-id", "queryid", "query", "topic", "topic_id", "question_id")
DOC = ("doc_id", "docid", "doc-id", "docno", "doc", "document", "document_id", "corpus-id", "corpus_id", "pid", "did")
GRADE = ("grade", "relevance", "rel", "label", "judgment", "judgement", "rating", "relevance_score", "score")
SCORE = ("score", "similarity", "sim", "relevance_score", "retrieval_score")
RANK = ("rank", "position", "pos")
CHUNK = ("chunk_id", "chunk", "chunkid", "passage_id")
SUBTOPIC = ("subtopic", "subtopic_id", "aspect", "intent", "iteration", "iter")
SYSTEM = ("system", "variant", "name", "run")
DESCRIPTION = ("description", "label", "text", "what")
WEIGHT = ("weight", "traffic", "count", "frequency", "volume")


def find(names: Sequence[str], known: Sequence[str], *, path: str, needed: str = "") -> str | None:
    """Find the column that means the first of `known`: that name itself, else the only alias present."""
    lower = {name.lower().strip(): name for name in names}
    if known[0] in lower:
        return lower[known[0]]
    found = [lower[name] for name in known if name in lower]
    if len(found) > 1:
        raise InputError(
            f"columns {' and '.join(map(excerpt, found))} could both be {known[0]}",
            path=path,
            hint=f"rename one to {known[0]}",
        )
    if not found and needed:
        raise InputError(
            f"no column for {known[0]} among {list_names(names)}",
            path=path,
            hint=f"{needed} need {known[0]}; also accepted: {', '.join(known[1:5])}",
        )
    return found[0] if found else None


def notes(used: dict[str, str | None]) -> tuple[str, ...]:
    """Say which columns were read under another name."""
    return tuple(f"column {excerpt(name)} is read as {field}" for field, name in used.items() if name and name != field)


def list_names(names: Iterable[str]) -> str:
    """Show the names of columns, the first eight of many."""
    shown = list(names)
    return ", ".join(map(excerpt, shown[:8])) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")  # noqa: PLR2004
