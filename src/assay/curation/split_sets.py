"""Splitting a set so that a query keeps its part whatever is added: a hash of its id and a seed decides."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assay.curation.sets import DraftFolder, Provenance, count_makers, describe, read_set, refuse_existing, write_file
from assay.errors import InputError, UnknownName, UsageError, cause, excerpt
from assay.formats.files import Input, file_name, write_atomically
from assay.formats.set_folders import SCHEMA, UNKNOWN, Manifest, version_of, write_manifest
from assay.messages import say
from assay.results.result import utc_now
from assay.results.sets import PartOfSet, SetSplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.curation.sets import EvaluationSet, Row
    from assay.formats.set_folders import SetFile

DOCUMENTS = "documents"  # what queries share that are kept together, where that is no column
_BITS = 64
_ROUNDING = 1e-6  # by which shares may miss 1


@dataclass(frozen=True)
class _Plan:
    """Which part each query belongs to, the names of all parts in order, and how many units were placed."""

    part_of: Mapping[str, str]
    names: Sequence[str]
    units: int


def split_set(
    folder: str | os.PathLike[str], output: str | os.PathLike[str], parts: Mapping[str, float] | None = None, *,
    by: str | None = None, together: str | None = None, seed: int = 0,
) -> SetSplit:  # fmt: skip
    """Split a set into others, folders in a new folder: `parts` gives the share of each, as {"dev": 0.3, "test": 0.7}.

    A hash of the query's id and the seed decides, so queries that are added later move no other. Queries with the same
    value of the column `together`, or that share documents ("documents"), are in the same part. `by` counts queries by
    a column too; without `parts`, each of its values is a part.

    >>> import assay
    >>> rows = [{"query_id": f"q{i}", "text": f"tea {i}"} for i in range(50)]
    >>> _ = assay.write_set("tea", queries=rows, documents={"d": "Green tea."})
    >>> found = assay.split_set("tea", "halves", {"dev": 0.5, "test": 0.5})
    >>> [one.name for one in found.parts], found.queries
    (['dev', 'test'], 50)
    """
    refuse_existing(output)
    source = read_set(folder)
    rows = source.rows("queries")
    strata = _column(rows, by) if by is not None else {}
    if parts is None and by is None:
        raise UsageError(say("say how to split: shares of parts, or a column whose values are the parts"))
    plan = _by_share(source, rows, parts, together, seed) if parts is not None else _by_value(strata)
    counts = Counter(plan.part_of.values())
    empty = next((name for name in plan.names if not counts[name]), None)
    if empty is not None:
        raise UsageError(
            say("part {name} would have no query: give it a larger share, or another seed", name=excerpt(empty))
        )
    made = []
    with DraftFolder(Path(os.path.realpath(output))) as draft:
        for name in plan.names:
            kept = {query for query, part in plan.part_of.items() if part == name}
            version = _write_part(source, draft / name, kept)
            told = Counter(strata[query] for query in kept) if by is not None and parts is not None else {}
            share = None if parts is None else parts[name]
            made.append(PartOfSet(name, version, len(kept), share, dict(sorted(told.items()))))
    return SetSplit(source.name, source.version, tuple(made), by or "", together or "", plan.units, seed)


def _column(rows: Sequence[Row], name: str) -> dict[str, str]:
    """The value of a column by query; a query that lacks it has the value "-"."""
    if not any(name in row for row in rows):
        known = dict.fromkeys(key for row in rows for key in row if key not in {"query_id", "text"})
        raise UnknownName(say("column"), name, list(known))
    return {str(row["query_id"]): "-" if row.get(name) is None else str(row[name]) for row in rows}


def _by_value(values: Mapping[str, str]) -> _Plan:
    names = {value: file_name(value) for value in sorted(set(values.values()))}
    return _Plan({query: names[value] for query, value in values.items()}, list(names.values()), len(values))


def _by_share(
    source: EvaluationSet, rows: Sequence[Row], parts: Mapping[str, float], together: str | None, seed: int
) -> _Plan:
    _check_parts(parts)
    ids = [str(row["query_id"]) for row in rows]
    if together is None:
        units = {query: query for query in ids}
    elif together == DOCUMENTS and not any(together in row for row in rows):
        units = _share_documents(source, ids)
    else:
        units = {query: query if unit == "-" else unit for query, unit in _column(rows, together).items()}
    places = {unit: _choose(unit, parts, seed) for unit in dict.fromkeys(units.values())}
    return _Plan({query: places[unit] for query, unit in units.items()}, list(parts), len(places))


def _check_parts(parts: Mapping[str, float]) -> None:
    for name, share in parts.items():
        if not name or file_name(name) != name:
            raise UsageError(
                say("{name} cannot be the name of a folder: use letters, digits, - and _", name=excerpt(name))
            )
        if not (math.isfinite(share) and share > 0):
            raise UsageError(say("the share of {name} is {share}: expected a number above 0", name=name, share=share))
    if abs(math.fsum(parts.values()) - 1) > _ROUNDING:
        raise UsageError(say("the shares add up to {total:g}, not to 1", total=math.fsum(parts.values())))


def _choose(unit: str, parts: Mapping[str, float], seed: int) -> str:
    """The part into whose stretch of 0..1 the hash of a unit falls."""
    digest = sha256(f"{seed}\n{unit}".encode("utf-8", "surrogatepass")).digest()
    place, reached = int.from_bytes(digest[: _BITS // 8]) / 2**_BITS, 0.0
    for name, share in parts.items():
        reached += share
        if place < reached:
            return name
    return list(parts)[-1]


def _share_documents(source: EvaluationSet, ids: Iterable[str]) -> dict[str, str]:
    """Join queries that share gold or relevant documents, over any number of steps; the first document names them."""
    held: dict[str, set[str]] = {query: set() for query in ids}
    pairs = [(str(row.get("query_id")), str(row.get("doc_id"))) for row in source.rows("gold")]
    if source.judgments is not None:
        judged = source.judgments.by_query.items()
        pairs += [(query, doc) for query, docs in judged for doc, grade in docs.items() if grade > 0]
    for query, doc in pairs:
        if query in held:
            held[query].add(doc)
    root: dict[str, str] = {}

    def find(doc: str) -> str:
        while root.setdefault(doc, doc) != doc:
            root[doc] = root[root[doc]]
            doc = root[doc]
        return doc

    for docs in held.values():
        first, *others = sorted(docs) or [""]
        for doc in others:
            one, two = sorted((find(first), find(doc)))
            root[two] = one
    return {query: find(min(docs)) if docs else query for query, docs in held.items()}


def _write_part(source: EvaluationSet, folder: Path, kept: set[str]) -> str:
    """Write the set of some queries, with all documents; return its version."""
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(folder.name)) from None
    files: dict[str, SetFile] = {}
    for name, before in source.manifest.files.items():
        maker = next(iter(before.made_by)) if len(before.made_by) == 1 else UNKNOWN
        told = Provenance(maker, before.models, (*before.sources, source.manifest.label), before.made_at)
        if before.role in {"documents", "hashes"}:
            write_atomically(folder / name, Input.at(source.path(before.role)).data)
            files[name] = describe(folder / name, before.role, before.made_by, told)
        elif before.role == "judgments" and not name.endswith(".jsonl"):
            files |= _write_lines(source, folder, name, kept, told)
        else:
            chosen = [row for row in source.rows(before.role) if str(row.get("query_id", "")) in kept | {""}]
            if chosen:
                files |= _write_rows(folder, name, before, chosen, told)
    where = source.manifest.documents_at
    if where:
        where = os.path.relpath(os.path.realpath(source.folder / where), folder)
    manifest = Manifest(
        SCHEMA,
        f"{source.name}-{folder.name}",
        version_of(files),
        files,
        language=source.manifest.language,
        made_at=utc_now(),
        documents_at=where,
        notes=source.manifest.notes,
    )
    write_manifest(folder, manifest)
    return manifest.version


def _write_rows(folder: Path, name: str, before: SetFile, rows: list[Row], told: Provenance) -> dict[str, SetFile]:
    if before.role != "judgments":
        return write_file(folder, before.role, rows, told)
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_atomically(folder / name, text.encode("utf-8", "surrogatepass"))
    return {name: describe(folder / name, before.role, count_makers(rows, told.made_by), told)}


def _write_lines(
    source: EvaluationSet, folder: Path, name: str, kept: set[str], told: Provenance
) -> dict[str, SetFile]:  # fmt: skip
    """Write the lines of TREC's judgments that are about some queries, with the comments before them."""
    lines = Input.at(source.path("judgments")).text.splitlines()
    chosen = [line for line in lines if line.startswith("#") or (line.split() or [""])[0] in kept]
    n = sum(not line.startswith("#") for line in chosen)
    if not n:
        return {}
    write_atomically(folder / name, "".join(f"{line}\n" for line in chosen))
    return {name: describe(folder / name, "judgments", {told.made_by: n}, told)}
