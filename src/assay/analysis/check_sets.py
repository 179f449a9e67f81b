"""What is wrong or doubtful in an evaluation set: files that changed, ids that lead nowhere, gold that moved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.curation.sets import EvaluationSet
from assay.errors import AssayError
from assay.formats.set_folders import find_changes, read_manifest
from assay.messages import Said, say
from assay.results.check import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assay.curation.sets import Row
    from assay.formats.set_folders import Role

_EXAMPLES = 3
_SHOWN = 40  # characters of a text that are shown


def check_set(folder: str) -> tuple[Said, list[Finding]]:
    """Look at the manifest, the files and how they fit together; return what the set holds, and what was found."""
    manifest = read_manifest(folder)
    changes = find_changes(folder, manifest)
    found = [
        *(
            _finding(folder, f"file_{kind}", names)
            for kind in ("missing", "changed", "new")
            if (names := [one.name for one in changes if one.kind == kind])
        )
    ]
    lost = {one.name for one in changes if one.kind == "missing"}
    whole = EvaluationSet(Path(folder), manifest)
    read: dict[str, Any] = {}
    for role, get in _READERS.items():
        name = manifest.name_of(role)
        if name is not None and name not in lost:
            try:
                read[role] = get(whole)
            except AssayError as error:
                found.append(
                    Finding(folder, say("check.unreadable"), 1, say("check.stops", why=error.message), error=True)
                )
    queries: Sequence[Row] | None = read.get("queries")
    documents: Mapping[str, str] | None = read.get("documents") or read.get("hashes")
    found += _queries(folder, queries or ())
    if documents is not None:
        found += check_documents(folder, documents)
    ids = None if queries is None else {str(row.get("query_id")) for row in queries}
    found += _unknown_queries(folder, read, ids)
    found += _unknown_documents(folder, read, documents)
    if documents is not None:
        found += _spans(folder, read.get("gold", ()), documents)
    found += _without_gold(folder, read, ids or set())
    found += [Finding(folder, say("check.own_warning"), 1, text) for text in manifest.warnings()]
    holds = say(
        "check.set", name=manifest.name, version=manifest.version, queries=len(queries or ()), n=len(documents or ())
    )
    return holds, found


def _rows(role: Role) -> Callable[[EvaluationSet], Any]:
    return lambda whole: whole.rows(role)


def _query_rows(whole: EvaluationSet) -> Sequence[Row]:
    """Rows of queries, whose reader refuses ids that are missing or occur twice."""
    return whole.queries.frame.to_dicts()


def _grades_by_query(whole: EvaluationSet) -> Mapping[str, Mapping[str, float]]:
    return {} if whole.judgments is None else whole.judgments.by_query


_READERS: dict[Role, Callable[[EvaluationSet], Any]] = {
    "queries": _query_rows, "documents": lambda whole: whole.documents, "hashes": lambda whole: whole.documents,
    "judgments": _grades_by_query, "gold": _rows("gold"), "nuggets": _rows("nuggets"), "labels": _rows("labels"),
}  # fmt: skip


def _finding(where: str, kind: str, examples: Sequence[str], count: int | None = None) -> Finding:
    n = len(examples) if count is None else count
    return Finding(
        where, say(f"check.set_{kind}"), n, say(f"check.set_{kind}_means", n=n),
        tuple(one[:200] for one in examples[:_EXAMPLES]), error=kind in _ERRORS,
    )  # fmt: skip


_ERRORS = {"file_missing", "file_changed", "no_query", "no_document", "gold_gone", "gold_moved"}


def _repeats(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Pairs of ids with the same text."""
    first: dict[str, str] = {}
    return [
        f"{known} = {name}"
        for name, text in pairs
        if text.strip() and (known := first.setdefault(" ".join(text.split()), name)) != name
    ]


def _queries(where: str, rows: Sequence[Row]) -> Iterator[Finding]:
    named = [(str(row.get("query_id")), str(row.get("text") or "")) for row in rows]
    empty = [query for query, text in named if not text.strip()]
    if empty:
        yield _finding(where, "no_text", empty)
    twice = _repeats(named)
    if twice:
        yield _finding(where, "same_query", twice)


def check_documents(where: str, documents: Mapping[str, str]) -> Iterator[Finding]:
    """Say what makes a collection poor: a single document, or several with the same text."""
    if len(documents) == 1:
        yield _finding(where, "one_document", list(documents))
    twice = _repeats(documents.items())
    if twice:
        yield _finding(where, "same_document", twice)


def _unknown_queries(where: str, read: Mapping[str, Any], ids: set[str] | None) -> Iterator[Finding]:
    """Judgments, gold, nuggets and labels of queries that the set does not have."""
    if ids is None:
        return
    named = [
        str(row["query_id"])
        for role in ("gold", "nuggets", "labels")
        for row in read.get(role, ())
        if "query_id" in row
    ]
    odd = dict.fromkeys(query for query in (*read.get("judgments", {}), *named) if query not in ids)
    if odd:
        yield _finding(where, "no_query", list(odd))


def _unknown_documents(where: str, read: Mapping[str, Any], documents: Mapping[str, str] | None) -> Iterator[Finding]:
    """Judged documents and documents of gold that the set does not have, as after other chunks were made."""
    if documents is None:
        return
    judged = [(query, doc) for query, docs in read.get("judgments", {}).items() for doc in docs]
    gold = [(str(row.get("query_id")), str(row.get("doc_id"))) for row in read.get("gold", ())]
    odd = [f"{query} {doc}" for query, doc in dict.fromkeys((*judged, *gold)) if doc not in documents]
    if odd:
        yield _finding(where, "no_document", odd)


def _spans(where: str, rows: Sequence[Row], documents: Mapping[str, str]) -> Iterator[Finding]:
    """Gold whose text is no longer where it was: gone from its document, or at another place; or at several."""
    found: dict[str, list[str]] = {}
    for row in rows:
        whole = documents.get(str(row.get("doc_id")))
        text, start, end = row.get("text"), row.get("start"), row.get("end")
        if whole is None:
            continue
        kind = _fault(whole, "" if text is None else str(text), start, end, located=row.get("occurrence") is not None)
        if kind:
            told = str(text) if text else f"{start}-{end}"
            found.setdefault(kind, []).append(f"{row.get('query_id')} {row.get('doc_id')}: {told[:_SHOWN]}")
    for kind, examples in found.items():
        yield _finding(where, kind, examples)


def _fault(whole: str, text: str, start: Any, end: Any, *, located: bool) -> str:
    """What is wrong with a span, or nothing."""
    if start is None and not text:
        return "gold_gone"
    if start is None:
        return "gold_gone" if text not in whole else "gold_several" if whole.count(text) > 1 and not located else ""
    if type(start) is not int or not (end is None or type(end) is int):
        return "gold_gone"
    stop = start + len(text) if end is None else end
    if not 0 <= start < stop <= len(whole):
        return "gold_moved" if text and text in whole else "gold_gone"
    if text and whole[start:stop] != text:
        return "gold_moved" if text in whole else "gold_gone"
    return ""


def _without_gold(where: str, read: Mapping[str, Any], ids: set[str]) -> Iterator[Finding]:
    """Queries that nothing is relevant to; a set without judgments and gold has none at all."""
    if not {"judgments", "gold"} & read.keys():
        return
    relevant = {query for query, docs in read.get("judgments", {}).items() if any(grade > 0 for grade in docs.values())}
    relevant |= {str(row.get("query_id")) for row in read.get("gold", ())}
    bare = sorted(ids - relevant)
    if bare:
        yield _finding(where, "no_gold", bare)
    repeated = Counter(
        (row.get("query_id"), row.get("doc_id"), row.get("start"), str(row.get("text"))) for row in _plain(read)
    )
    twice = [f"{key[0]} {key[1]}" for key, n in repeated.items() if n > 1]
    if twice:
        yield _finding(where, "same_gold", twice)


def _plain(read: Mapping[str, Any]) -> list[Row]:
    """Rows of gold whose ids and places are plain values."""
    names = ("query_id", "doc_id", "start")
    return [row for row in read.get("gold", ()) if not any(isinstance(row.get(name), (list, dict)) for name in names)]
