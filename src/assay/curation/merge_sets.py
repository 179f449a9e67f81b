"""Merging sets: the same documents and queries once, contradictions by name, and where each query came from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from assay.curation.describe_sets import describe_contents
from assay.curation.sets import Provenance, read_set, refuse_existing, write_set
from assay.data.judgments import Judgments
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats.set_folders import UNKNOWN
from assay.messages import Said, say

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from assay.curation.sets import EvaluationSet, Row
    from assay.formats.set_folders import Role
    from assay.results.sets import SetDescription

ConflictRule = Literal["first", "rename"]
FROM = "from_set"  # the column of queries that names the set each is from
_LEAST = 2


@dataclass
class _Merged:
    """What was gathered so far; `again` counts what several sets have alike, `settled` what a rule decided."""

    rule: ConflictRule | None
    queries: dict[str, Row] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    grades: dict[str, dict[str, float]] = field(default_factory=dict)
    rows: dict[Role, list[Row]] = field(default_factory=lambda: {"gold": [], "nuggets": [], "labels": []})
    again: Counter[str] = field(default_factory=Counter)
    settled: Counter[str] = field(default_factory=Counter)


def merge_sets(
    folders: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    on_conflict: ConflictRule | None = None,
) -> SetDescription:
    """Merge sets into a new one, and describe it: what several sets have alike is kept once, and counted.

    An id that means different things, or a pair with different grades, is refused by name, unless `on_conflict` says
    what to do: "first" keeps what the first set says, "rename" puts the name of the set before such ids of later sets.
    Queries keep who made them (made_by), and get the name of their set (from_set).

    >>> import assay
    >>> for name in ("green", "black"):
    ...     _ = assay.write_set(name, queries=[{"query_id": name, "text": f"{name} tea"}], documents={"d": "Tea."})
    >>> found = assay.merge_sets(["green", "black"], "tea")
    >>> found.queries, found.documents
    (2, 1)
    """
    if on_conflict is not None and on_conflict not in get_args(ConflictRule):
        raise UnknownName("on_conflict", str(on_conflict), list(get_args(ConflictRule)))
    if len(folders) < _LEAST:
        raise UsageError(say("give two sets or more to merge"))
    refuse_existing(output)
    sets = [read_set(folder) for folder in folders]
    holding = [one for one in sets if one.has("documents") or one.has("hashes")]
    merged = _Merged(on_conflict)
    for one in sets:
        _add(merged, one)
    made = write_set(
        output, queries=merged.queries.values(), documents=merged.documents if holding else None,
        judgments=_judgments(merged, sets), gold=_once(merged, "gold"), nuggets=_once(merged, "nuggets"),
        labels=_once(merged, "labels"), language=_language(sets),
        provenance={role: _provenance(sets, role) for role in _ROLES},
        notes=tuple(dict.fromkeys(note for one in sets for note in one.manifest.notes)),
    )  # fmt: skip
    return describe_contents(made, tuple(_notes(merged)))


_ROLES: tuple[Role, ...] = ("queries", "documents", "judgments", "gold", "nuggets", "labels")


def _add(merged: _Merged, one: EvaluationSet) -> None:
    docs = _add_documents(merged, one) if one.has("documents") or one.has("hashes") else {}
    queries = _add_queries(merged, one)
    if one.judgments is not None:
        if one.judgments.groups != "none":
            raise InputError(say("judgments with subtopics cannot be merged"), path=str(one.folder))
        for query, judged in one.judgments.by_query.items():
            for doc, grade in judged.items():
                _grade(merged, one, (queries.get(query, query), docs.get(doc, doc)), grade)
    for role, rows in merged.rows.items():
        rows += [_rename(row, queries, docs) for row in one.rows(role)]


def _rename(row: Row, queries: Mapping[str, str], docs: Mapping[str, str]) -> Row:
    """A row with the new ids of its query and document, where they have some."""
    ids = {"query_id": queries, "doc_id": docs}
    new = {name: known[str(row[name])] for name, known in ids.items() if str(row.get(name)) in known}
    return {**row, **new}


def _add_documents(merged: _Merged, one: EvaluationSet) -> dict[str, str]:
    """Add documents; return new ids of those that had to be renamed."""
    renamed: dict[str, str] = {}
    for doc, text in one.documents.items():
        known = merged.documents.get(doc)
        if known is None:
            merged.documents[doc] = text
        elif known == text:
            merged.again["documents"] += 1
        else:
            what = say("document {id} has different texts in the sets", id=excerpt(doc))
            if _settle(merged, one, what, "documents") == "rename":
                renamed[doc] = f"{one.name}:{doc}"
                merged.documents[renamed[doc]] = text
    return renamed


def _add_queries(merged: _Merged, one: EvaluationSet) -> dict[str, str]:
    renamed: dict[str, str] = {}
    texts = {str(row.get("text")): query for query, row in merged.queries.items()}
    for row in one.rows("queries"):
        query, text = str(row["query_id"]), str(row.get("text"))
        known = merged.queries.get(query)
        if known is not None and str(known.get("text")) == text:
            merged.again["queries"] += 1
            merged.queries[query] = {**row, **{name: value for name, value in known.items() if value is not None}}
            continue
        if known is not None:
            what = say("query {id} has different texts in the sets", id=excerpt(query))
            if _settle(merged, one, what, "queries") == "first":
                continue
            renamed[query] = query = f"{one.name}:{query}"
        if text in texts:
            merged.again["texts"] += 1
        merged.queries[query] = {**row, "query_id": query, FROM: row.get(FROM) or one.name}
    return renamed


def _grade(merged: _Merged, one: EvaluationSet, pair: tuple[str, str], grade: float) -> None:
    query, doc = pair
    mine = merged.grades.setdefault(query, {})
    known = mine.setdefault(doc, grade)
    if known != grade:
        what = say(
            "query {query}, document {doc}: the sets have the grades {one:g} and {two:g}",
            query=excerpt(query),
            doc=excerpt(doc),
            one=known,
            two=grade,
        )
        if merged.rule != "first":
            raise InputError(what, path=str(one.folder), hint=say("keep the first set's with --on-conflict first"))
        merged.settled["grades"] += 1


def _settle(merged: _Merged, one: EvaluationSet, what: Said, kind: str) -> ConflictRule:
    """Decide by the rule; without one, refuse."""
    if merged.rule is None:
        raise InputError(
            what,
            path=str(one.folder),
            hint=say("keep the first set's with --on-conflict first, or both with --on-conflict rename"),
        )
    merged.settled[kind] += 1
    return merged.rule


def _once(merged: _Merged, role: Role) -> list[Row]:
    """Rows without those that are there already in every column."""
    found: dict[str, Row] = {}
    for row in merged.rows[role]:
        key = repr(sorted((name, repr(value)) for name, value in row.items()))
        if key in found:
            merged.again["rows"] += 1
        found.setdefault(key, row)
    return list(found.values())


def _judgments(merged: _Merged, sets: Sequence[EvaluationSet]) -> Judgments | None:
    if not merged.grades:
        return None
    judges = dict.fromkeys(one.judgments.judge for one in sets if one.judgments is not None and one.judgments.judge)
    found = Judgments.from_dict(merged.grades)  # type: ignore[arg-type]
    return Judgments(found.rows, judge=", ".join(judges))


def _language(sets: Sequence[EvaluationSet]) -> str:
    told = {one.manifest.language for one in sets}
    return told.pop() if len(told) == 1 else "mixed"


def _provenance(sets: Sequence[EvaluationSet], role: Role) -> Provenance:
    """Where a file came from: all models and sources of the sets that have one, and those sets."""
    files = [(one, one.manifest.files[name]) for one in sets if (name := one.manifest.name_of(role)) is not None]
    makers = {maker for _, file in files for maker in file.made_by}
    sources = [text for one, file in files for text in (*file.sources, one.manifest.label)]
    return Provenance(
        makers.pop() if len(makers) == 1 else UNKNOWN,
        tuple(dict.fromkeys(model for _, file in files for model in file.models)),
        tuple(dict.fromkeys(sources)),
        max((file.made_at for _, file in files), default=""),
    )


def _notes(merged: _Merged) -> list[Said]:
    told = [say(f"set.again_{kind}", n=n) for kind, n in merged.again.items()]
    return [*told, *(say(f"set.settled_{kind}_{merged.rule}", n=n) for kind, n in merged.settled.items())]
