"""What an evaluation set holds and what it lacks, and changes by hand that somebody accepts."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.curation.sets import EvaluationSet, Provenance, count_makers, describe, read_set
from assay.errors import InputError
from assay.formats.files import is_there
from assay.formats.set_folders import (
    FILE_NAMES,
    SCHEMA,
    UNKNOWN,
    Manifest,
    Role,
    SetFile,
    hash_of,
    is_set,
    read_manifest,
    version_of,
    write_manifest,
)
from assay.messages import Said, say
from assay.results.result import utc_now
from assay.results.sets import FileOfSet, Inclusion, SetDescription
from assay.text.words import language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assay.curation.sets import Row

_FEW_VALUES = 12  # of a column that is counted as a category
_OWN = {"query_id", "text", "reference", "made_by"}
_PROBABILITY = ("probability", "inclusion_probability")


def describe_set(
    folder: str | os.PathLike[str], *, accept: bool = False, documents: str | os.PathLike[str] | None = None
) -> SetDescription:
    """Describe an evaluation set: counts, languages, origin, judgments, gold, and what is missing to score with it.

    With `accept`, files that were changed by hand become a new version of the set, and a folder that has such files and
    no manifest becomes a set.

    >>> import assay
    >>> _ = assay.write_set("tea", queries=[{"query_id": "q", "text": "green tea"}], documents={"d": "Green tea."})
    >>> found = assay.describe_set("tea")
    >>> found.queries, found.documents, found.languages
    (1, 1, {'en': 1})
    """
    if accept:
        accept_changes(folder)
    return describe_contents(read_set(folder, documents=documents))


def describe_contents(found: EvaluationSet, notes: tuple[str, ...] = ()) -> SetDescription:
    """Describe a set that was read; `notes` say how it came about."""
    manifest = found.manifest
    rows = found.rows("queries")
    texts = found.queries.texts()
    ids = [str(one) for one in found.queries.frame["query_id"]]
    judgments = found.judgments
    judged = {} if judgments is None else judgments.by_query
    gold = {str(row.get("query_id")) for row in found.rows("gold")}
    relevant = {query for query, docs in judged.items() if any(grade > 0 for grade in docs.values())}
    scorable = sum(one in gold or one in relevant for one in ids)
    references = sum(bool(row.get("reference")) for row in rows)
    return SetDescription(
        name=manifest.name, version=manifest.version, language=manifest.language, made_at=manifest.made_at,
        files=tuple(_file(name, one) for name, one in manifest.files.items()),
        queries=len(ids), kinds=manifest.kinds(), documents=_count_documents(manifest),
        languages=dict(Counter(language(text) for text in texts.values()).most_common()),
        categories=_categories(rows),
        grades=_grades(judged),
        judged_queries=sum(one in judged for one in ids), judge="" if judgments is None else judgments.judge,
        spans=len(found.rows("gold")), gold_queries=sum(one in gold for one in ids), scorable=scorable,
        references=references, inclusion=tuple(_inclusion(found)),
        missing=tuple(_missing(manifest, len(ids), len(texts), scorable, references)),
        notes=(*notes, *manifest.notes), warnings=tuple(manifest.warnings()),
    )  # fmt: skip


def accept_changes(folder: str | os.PathLike[str]) -> Manifest:
    """Take the files of a folder as they are now: a new version of its set, or a set where there was none."""
    root = Path(folder)
    if not (is_there(root) and root.is_dir()):
        raise InputError(say("{path}: there is no such folder", path=os.fspath(folder)))
    before = (
        read_manifest(root) if is_set(root) else Manifest(SCHEMA, root.resolve().name, "", {}, made_at=utc_now())
    )  # fmt: skip
    names = [name for name in (*before.files, *FILE_NAMES) if (root / name).is_file()]
    files = {name: _take(root, name, before.files.get(name)) for name in dict.fromkeys(names)}
    if not any(one.role == "queries" for one in files.values()):
        raise InputError(
            say("this folder has no {name}, which every set needs", name="queries.jsonl"), path=os.fspath(folder)
        )
    after = replace(before, files=files, version=version_of(files))
    EvaluationSet(root, after).queries  # noqa: B018 - what cannot be read is not accepted
    if after != before:
        write_manifest(root, after)
    return after


def _take(root: Path, name: str, before: SetFile | None) -> SetFile:
    """What the manifest says of a file as it is now."""
    if before is not None and hash_of(root / name) == before.sha256:
        return before
    role = FILE_NAMES[name] if before is None else before.role
    now = Manifest(SCHEMA, "", "", {name: SetFile(role, "", 0)})
    makers = _count_rows(EvaluationSet(root, now), role, UNKNOWN if before is None else _only_maker(before))
    if before is None:
        return describe(root / name, role, makers, Provenance(made_at=utc_now()))
    changed = replace(before, sha256=hash_of(root / name), rows=sum(makers.values()), made_by=makers)
    return replace(changed, edited_at=utc_now())


def _only_maker(one: SetFile) -> str:
    return next(iter(one.made_by)) if len(one.made_by) == 1 else UNKNOWN


def _count_rows(found: EvaluationSet, role: Role, maker: str) -> Mapping[str, int]:
    if role == "judgments":
        return {maker: 0 if found.judgments is None else len(found.judgments)}
    return count_makers(found.rows(role), maker)


def _file(name: str, one: SetFile) -> FileOfSet:
    return FileOfSet(name, one.role, one.rows, one.made_at, dict(one.made_by), one.models, one.sources, one.edited_at)


def _count_documents(manifest: Manifest) -> int | None:
    name = manifest.name_of("documents") or manifest.name_of("hashes")
    return None if name is None else manifest.files[name].rows


def _categories(rows: tuple[Row, ...]) -> dict[str, dict[str, int]]:
    """Count the values of columns that have few: not those that differ from query to query."""
    found: dict[str, dict[str, int]] = {}
    for name in dict.fromkeys(name for row in rows for name in row if name not in _OWN):
        values = [row[name] for row in rows if row.get(name) is not None]
        if all(isinstance(value, (str, bool, int)) for value in values):
            counts = Counter(map(str, values))
            if 0 < len(counts) <= _FEW_VALUES and (len(counts) < len(values) or len(values) == 1):
                found[name] = dict(counts.most_common())
    return found


def _grades(judged: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    counts = Counter(grade for docs in judged.values() for grade in docs.values())
    return {f"{grade:g}": n for grade, n in sorted(counts.items(), reverse=True)}


def _inclusion(found: EvaluationSet) -> Iterator[Inclusion]:
    """Probabilities of having been drawn, in files of JSON lines."""
    for role in ("queries", "judgments", "labels"):
        if found.has(role) and found.path(role).suffix == ".jsonl":
            values = [value for row in found.rows(role) if (value := _probability(row)) is not None]
            if values:
                yield Inclusion(role, len(values), min(values), max(values))


def _probability(row: Row) -> float | None:
    given: Any = next((row[name] for name in _PROBABILITY if name in row), None)
    known = isinstance(given, (int, float)) and not isinstance(given, bool) and 0 < given <= 1
    return float(given) if known else None


def _missing(manifest: Manifest, queries: int, texts: int, scorable: int, references: int) -> Iterator[Said]:
    """Say what cannot be scored with the set, and for want of what."""
    if manifest.name_of("documents") is None and manifest.name_of("hashes") is None:
        yield say("set.lacks_documents")
    if texts < queries:
        yield say("set.lacks_texts", n=queries - texts)
    if not scorable:
        yield say("set.lacks_relevance")
    elif scorable < queries:
        yield say("set.lacks_gold", n=queries - scorable, of=queries)
    if references < queries:
        yield say("set.lacks_references", n=queries - references, of=queries)
