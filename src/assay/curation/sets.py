"""Evaluation sets: one folder with queries, documents, judgments, gold and labels, and where each came from.

`read_set` checks every file against its hash; `write_set` lets the whole folder appear at once, or nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UnknownName, UsageError, cause, excerpt
from assay.formats.documents import hash_of_text, read_documents, read_elsewhere, read_hashes
from assay.formats.files import Input, is_there, sync, write_atomically
from assay.formats.queries import Queries, read_queries
from assay.formats.reading import read_judgments
from assay.formats.set_folders import (
    FILE_NAMES,
    KINDS,
    MADE_BY,
    SCHEMA,
    UNKNOWN,
    Manifest,
    Role,
    SetFile,
    find_changes,
    hash_of,
    read_manifest,
    refuse_changes,
    version_of,
    write_manifest,
)
from assay.formats.tables import read_jsonl
from assay.formats.writing import write_judgments
from assay.messages import say
from assay.pipeline.gold import read_gold
from assay.results.result import utc_now

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.spans import GoldSpan

Row = Mapping[str, Any]  # a line of a JSON lines file: its columns are the user's
_HASH = 16  # digits of a source's hash that are kept


@dataclass(frozen=True)
class Provenance:
    """Where a file of a set came from: who or what made it, with which models, from what, and when (now, if empty)."""

    made_by: str = UNKNOWN
    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    made_at: str = ""

    def __post_init__(self) -> None:
        """Refuse makers that nobody knows."""
        if self.made_by not in KINDS:
            raise UnknownName(MADE_BY, self.made_by, KINDS, hint=say("expected one of {names}", names=list(KINDS)))


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """A set that was read: its folder, its manifest, and what its files hold, each read when it is first used."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """The hash over the contents that results name."""
        return self.manifest.version

    def has(self, role: Role) -> bool:
        """Return whether the set holds something."""
        return self.manifest.name_of(role) is not None

    def path(self, role: Role) -> Path:
        """The file that holds something."""
        name = self.manifest.name_of(role)
        if name is None:
            raise InputError(say("the set has no {role}", role=say(f"set.role.{role}")), path=str(self.folder))
        return self.folder / name

    @cached_property
    def queries(self) -> Queries:
        """Queries with their columns."""
        return read_queries(self.path("queries"))

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """Documents as {id: text}; those kept elsewhere are read there, and each is compared with its hash."""
        if self.has("documents"):
            return read_documents(self.path("documents"))
        self.path("hashes")
        if not self.manifest.documents_at:
            raise InputError(
                say("the set has only hashes of its documents, and does not say where they are"),
                path=str(self.folder),
                hint=say("give the documents: read_set(folder, documents=PLACE)"),
            )
        return read_elsewhere(self.folder / self.manifest.documents_at, self.hashes)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Hashes of the texts of documents, {id: hash}, where the set has those and not the texts."""
        return read_hashes(self.path("hashes"))

    @cached_property
    def judgments(self) -> Judgments | None:
        """Judgments of documents, if the set has some."""
        return read_judgments(self.path("judgments")) if self.has("judgments") else None

    @cached_property
    def spans(self) -> tuple[GoldSpan, ...]:
        """Gold spans, located in the documents."""
        return tuple(read_gold(self.path("gold"), self.documents)) if self.has("gold") else ()

    def rows(self, role: Role) -> tuple[Row, ...]:
        """The lines of a file as they are; none if the set lacks it."""
        if not self.has(role):
            return ()
        path = self.path(role)
        if path.suffix == ".jsonl":
            return tuple(row for _, row in read_jsonl(Input.at(path))) if path.stat().st_size else ()
        return tuple(read_queries(path).frame.to_dicts())


def read_set(folder: str | os.PathLike[str], *, documents: str | os.PathLike[str] | None = None) -> EvaluationSet:
    """Read an evaluation set and check all of its files; `documents` is where they are, if the set has only hashes.

    >>> import assay
    >>> made = assay.write_set("tea", queries=[{"query_id": "q", "text": "green tea"}], documents={"d": "Green tea."})
    >>> found = assay.read_set("tea")
    >>> found.version == made.version, found.documents["d"]
    (True, 'Green tea.')
    """
    manifest = read_manifest(folder)
    refuse_changes(folder, manifest, find_changes(folder, manifest))
    root = Path(folder)
    if documents is not None:
        manifest = replace(manifest, documents_at=os.path.relpath(documents, root))
    return EvaluationSet(root, manifest)


def write_set(
    folder: str | os.PathLike[str],
    *,
    queries: Iterable[Row],
    documents: Mapping[str, str] | None = None,
    judgments: Judgments | None = None,
    gold: Iterable[Row] = (),
    nuggets: Iterable[Row] = (),
    labels: Iterable[Row] = (),
    name: str = "",
    language: str = "",
    provenance: Provenance | Mapping[Role, Provenance] | None = None,
    documents_at: str | os.PathLike[str] | None = None,
    notes: Sequence[str] = (),
) -> EvaluationSet:
    """Write an evaluation set as a new folder: all of it appears at once, or nothing.

    Rows of queries have query_id, text and made_by (person, log, model, known_items), where the provenance does not say
    it for all of them; rows of gold have query_id, doc_id, start, end, text, grade. With `documents_at`, the
    documents stay where they are and the set has their hashes.

    >>> import assay
    >>> made = assay.write_set("tea", queries=[{"query_id": "q", "text": "green tea"}], documents={"d": "Green tea."})
    >>> sorted(made.manifest.files)
    ['documents.jsonl', 'queries.jsonl']
    """
    target = Path(os.path.realpath(folder))
    refuse_existing(folder)
    told = _provenances(provenance)
    contents: dict[Role, list[Row]] = {
        "queries": _check_queries(queries, told["queries"]), "gold": list(gold), "nuggets": list(nuggets),
        "labels": list(labels),
    }  # fmt: skip
    if documents is not None:
        contents["hashes" if documents_at is not None else "documents"] = [
            {"doc_id": doc, "sha256": hash_of_text(text), "characters": len(text)}
            if documents_at is not None
            else {"doc_id": doc, "text": text}
            for doc, text in documents.items()
        ]
    with DraftFolder(target) as draft:
        files: dict[str, SetFile] = {}
        for role, rows in contents.items():
            if rows:
                files |= write_file(draft, role, rows, told[role])
        if judgments is not None:
            files |= write_judged(draft, judgments, told["judgments"])
        manifest = Manifest(
            SCHEMA, name or target.name, version_of(files), files, language=language, made_at=utc_now(),
            documents_at="" if documents_at is None else os.path.relpath(os.path.realpath(documents_at), target),
            notes=tuple(map(str, notes)),
        )  # fmt: skip
        write_manifest(draft, manifest)
    return EvaluationSet(Path(folder), manifest)


def refuse_existing(folder: str | os.PathLike[str]) -> None:
    """Refuse a place where something is already; a set is never written over another."""
    if is_there(folder) and not (Path(folder).is_dir() and not any(Path(folder).iterdir())):
        raise UsageError(say("{folder} is there already: choose another folder for the set", folder=os.fspath(folder)))
    if not Path(os.path.realpath(folder)).parent.is_dir():
        raise UsageError(say("{path}: there is no such folder", path=str(Path(os.path.realpath(folder)).parent)))


class DraftFolder:
    """A folder beside the target, which takes its place when all is written, and is removed if anything fails."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Path:
        try:
            self.place = Path(tempfile.mkdtemp(prefix=f".{self.target.name[:60]}.", dir=self.target.parent))
        except OSError as error:
            raise _unwritten(error, self.target) from None
        return self.place

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if kind is None:
                mask = os.umask(0)
                os.umask(mask)
                self.place.chmod(0o777 & ~mask)
                self.place.rename(self.target)  # refused if a folder with files has appeared there
                sync(self.target.parent)
        except OSError as failed:
            raise _unwritten(failed, self.target) from None
        finally:
            if self.place.exists():
                rmtree(self.place, ignore_errors=True)


def _unwritten(error: OSError, place: Path) -> InputError:
    return InputError(say("cannot be written: {reason}", reason=cause(error)), path=str(place))


def _provenances(told: Provenance | Mapping[Role, Provenance] | None) -> dict[Role, Provenance]:
    roles = dict.fromkeys(FILE_NAMES.values(), told if isinstance(told, Provenance) else Provenance())
    return {**roles, **(told if isinstance(told, Mapping) else {})}


def _check_queries(rows: Iterable[Row], told: Provenance) -> list[Row]:
    """Queries with ids of their own and a maker; rows that name no maker are by the one of the file."""
    found: list[Row] = [{**row, MADE_BY: row.get(MADE_BY) or told.made_by} for row in rows]
    if not found:
        raise UsageError(say("a set needs at least one query"))
    seen: set[str] = set()
    for row in found:
        query = row.get("query_id")
        if query is None or str(query) in seen:
            raise UsageError(
                say("two queries have the id {id}", id=excerpt(query))
                if query is not None
                else say("every query needs a query_id")
            )
        seen.add(str(query))
        if row[MADE_BY] not in KINDS:
            raise UnknownName(MADE_BY, str(row[MADE_BY]), KINDS, hint=say("expected one of {names}", names=list(KINDS)))
    return found


def write_file(folder: Path, role: Role, rows: Sequence[Row], told: Provenance) -> dict[str, SetFile]:
    """Write rows as JSON lines under the name of their role, and describe the file for the manifest."""
    name = next(name for name, one in FILE_NAMES.items() if one == role)
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
    text = "".join(lines)
    try:
        write_atomically(folder / name, text.encode())
    except UnicodeEncodeError:  # half a surrogate pair
        write_atomically(folder / name, "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode())
    return {name: describe(folder / name, role, count_makers(rows, told.made_by), told)}


def write_judged(folder: Path, judgments: Judgments, told: Provenance) -> dict[str, SetFile]:
    """Write judgments as qrels, or as JSON lines where ids have blanks."""
    ids = judgments.frame.select("query_id", "doc_id")
    odd = any(len(one.split()) != 1 or one.startswith("#") for row in ids.iter_rows() for one in row)
    path = folder / ("judgments.jsonl" if odd else "judgments.qrels")
    write_judgments(judgments, path)
    maker, models = (
        ("model", (judgments.judge,)) if judgments.judge and not told.models else (told.made_by, told.models)
    )
    return {path.name: describe(path, "judgments", {maker: len(judgments)}, replace(told, models=models))}


def count_makers(rows: Sequence[Row], maker: str) -> dict[str, int]:
    """How many rows each maker made; rows that name none are by the maker of the file."""
    return dict(Counter(str(row.get(MADE_BY) or maker) for row in rows))


def describe(path: Path, role: Role, made_by: Mapping[str, int], told: Provenance) -> SetFile:
    """What the manifest says of a file."""
    return SetFile(
        role, hash_of(path), sum(made_by.values()), told.made_at or utc_now(), made_by, told.models, told.sources
    )  # fmt: skip


def source_of(place: str | os.PathLike[str]) -> str:
    """Name a file as what something was made from: its path as others may see it, and the beginning of its hash."""
    from assay.data.source import Source

    found = Source(os.fspath(place), Path(place))
    return f"{found.portable} {found.sha256[:_HASH]}" if found.sha256 else found.portable
