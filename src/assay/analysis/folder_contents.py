"""What a folder holds: documents, queries, judgments and whatever else the house reads, and what cannot be read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.check_files import check_files, identify
from assay.errors import AssayError, InputError
from assay.formats.detect import is_result_file
from assay.formats.documents import find_table, read_documents
from assay.formats.set_folders import is_set, read_manifest
from assay.formats.text_folders import SUFFIXES, find_texts, is_text_file, text_in, walk
from assay.messages import say
from assay.results.proposal import FoundFile, Unread
from assay.text.words import language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DATA = {
    ".jsonl",
    ".ndjson",
    ".json",
    ".csv",
    ".tsv",
    ".parquet",
    ".txt",
    ".toml",
    ".qrels",
    ".run",
    ".trec",
    ".gz",
}
_ROLES = ("queries", "judgments", "gold")


@dataclass(frozen=True)
class Contents:
    """What was found: documents with their place, the place of queries, judgments and gold, and all files by kind.

    `copied` says that documents are files of a folder, some of which may not be readable. `others` counts the files
    that nothing here reads by their suffix.
    """

    documents: Mapping[str, str]
    documents_at: Path
    roles: Mapping[str, Path]
    files: tuple[FoundFile, ...] = ()
    unread: tuple[Unread, ...] = ()
    copied: bool = False
    suffixes: Mapping[str, int] = field(default_factory=dict)
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_labels(self) -> bool:
        """Return whether there are queries, and judgments or gold of them."""
        return "queries" in self.roles and bool({"judgments", "gold"} & self.roles.keys())

    @property
    def languages(self) -> dict[str, int]:
        """How many documents are in each language."""
        return dict(Counter(language(text[:4000]) for text in self.documents.values() if text.strip()))

    @property
    def digest(self) -> str:
        """Hash of all documents with their ids."""
        found = sha256()
        for doc, text in sorted(self.documents.items()):
            found.update(f"{len(doc)} {len(text)} {doc}{text}".encode("utf-8", "surrogatepass"))
        return found.hexdigest()


def look_into(place: Path, tell: Callable[[str, int, int], object]) -> Contents:
    """Find out what a folder or a file of documents holds; nothing in it is changed."""
    if is_result_file(str(place)):
        raise InputError(
            say("this folder holds results, not documents"),
            path=str(place),
            hint=say("show them with: assay report {place}", place=str(place)),
        )
    if place.is_file():
        return _with_documents([(place, _read_whole(place))], {}, (), ())
    if is_set(place):
        return _set(place)
    tell(say("proposal.looking"), 0, 0)
    texts = find_texts(place)
    files, unread = _identify(place, {*texts})
    roles = _roles(place, files)
    collections = [(path, _read_whole(path)) for path in _tables(place, files)]
    read, lost = _read_texts(place, texts, tell)
    collections += [(root, _below(root, read)) for root in _roots(place, read)]
    if not any(found for _, found in collections):
        raise _nothing(place, (*unread, *lost))
    found = _with_documents(collections, roles, files, (*unread, *lost))
    return replace(found, others=_count_others(place))


def _count_others(place: Path) -> dict[str, int]:
    """Files of kinds that are not read, such as those of word processors, by suffix."""
    known = {*_DATA, *SUFFIXES}
    found = Counter(suffix for path in walk(place) if (suffix := path.suffix.lower()) not in known)
    return dict(sorted(found.items(), key=lambda one: (-one[1], not one[0], one[0])))


def _read_whole(path: Path) -> dict[str, str]:
    return read_documents(path)


def _set(place: Path) -> Contents:
    manifest = read_manifest(place)
    roles = {role: place for role in _ROLES if any(one.role == role for one in manifest.files.values())}
    files = tuple(FoundFile(name, f"check.kind_{one.role}", "", one.role) for name, one in manifest.files.items())
    return Contents(read_documents(place), place, roles, files)


def _identify(place: Path, texts: set[Path]) -> tuple[tuple[FoundFile, ...], tuple[Unread, ...]]:
    """The kind of every file that is no document, as `assay check` tells it; what it cannot read is set aside."""
    files: list[FoundFile] = []
    unread: list[Unread] = []
    for path in walk(place):
        if path in texts or path.suffix.lower() not in _DATA:
            continue
        name = path.relative_to(place).as_posix()
        try:
            kind = identify(str(path))
            seen = check_files([path])
            files.append(FoundFile(name, kind, seen.files[0].holds if seen.files else ""))
        except AssayError as error:
            unread.append(Unread(name, _reason(error, path)))
    if (place / "qrels").is_dir():  # BEIR
        files.append(FoundFile("qrels", "judgments"))
    return tuple(files), tuple(unread)


def _roles(place: Path, files: Iterable[FoundFile]) -> dict[str, Path]:
    """The first file of each kind that an experiment takes."""
    found: dict[str, Path] = {}
    for one in files:
        if one.kind in _ROLES and one.kind not in found and not one.place.startswith("qrels/"):
            found[one.kind] = place if one.place == "qrels" else place / one.place
    return found


def _tables(place: Path, files: Iterable[FoundFile]) -> list[Path]:
    named = find_table(place, "corpus", "documents")
    return [named] if named is not None else [place / one.place for one in files if one.kind == "documents"]


def _read_texts(
    place: Path, texts: list[Path], tell: Callable[[str, int, int], object]
) -> tuple[dict[Path, str], tuple[Unread, ...]]:
    """Read every file that is a document; one that cannot be read is set aside with the reason."""
    read: dict[Path, str] = {}
    lost: list[Unread] = []
    for number, path in enumerate(texts, 1):
        if not is_text_file(path):
            continue
        try:
            read[path] = text_in(path)
        except AssayError as error:
            lost.append(Unread(path.relative_to(place).as_posix(), _reason(error, path)))
        if number % 100 == 0:
            tell(say("proposal.looking"), number, len(texts))
    return read, tuple(lost)


def _reason(error: AssayError, path: Path) -> str:
    """What an error says, without the file that is named beside it."""
    line = error.line if isinstance(error, InputError) else None
    return error.message.removeprefix(f"{path}: " if line is None else f"{path}:{line}: ")


def _roots(place: Path, read: Mapping[Path, str]) -> list[Path]:
    """Folders whose texts may be the documents: the whole, and each folder directly in it that has some."""
    below = {place / path.relative_to(place).parts[0] for path in read if len(path.relative_to(place).parts) > 1}
    return [place, *sorted(below)] if read else []


def _below(root: Path, read: Mapping[Path, str]) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): text for path, text in read.items() if path.is_relative_to(root)}


def _nothing(place: Path, unread: tuple[Unread, ...]) -> InputError:
    if unread:
        first = unread[0]
        return InputError(
            say("no file of this folder could be read; {name}: {reason}", name=first.place, reason=first.reason),
            path=str(place),
        )
    return InputError(
        say("there are no documents in this folder"),
        path=str(place),
        hint=say("expected .txt, .md, .html or .pdf files, or a table of documents (.jsonl, .csv, .parquet)"),
    )


def _with_documents(
    collections: list[tuple[Path, dict[str, str]]],
    roles: Mapping[str, Path],
    files: tuple[FoundFile, ...],
    unread: tuple[Unread, ...],
) -> Contents:
    """Take the collection that has most of the judged documents, of equal ones that with most text."""
    judged = _find_judged_queries(roles)
    at, texts = max(
        collections, key=lambda one: (len(judged & one[1].keys()), sum(map(len, one[1].values())))
    )  # fmt: skip
    if not any(text.strip() for text in texts.values()):
        raise InputError(say("no document has text"), path=str(at))
    copied = at.is_dir()
    used = {path.name: role for role, path in roles.items()} | ({} if copied else {at.name: "documents"})
    marked = tuple(replace(one, used_as=used.get(Path(one.place).name, "")) for one in files)
    suffixes = Counter(Path(doc).suffix.lower().lstrip(".") for doc in texts) if copied else Counter[str]()
    return Contents(texts, at, roles, marked, unread, copied, dict(suffixes.most_common()))


def _find_judged_queries(roles: Mapping[str, Path]) -> set[str]:
    from assay.formats.reading import read_judgments
    from assay.pipeline.gold import read_gold_column

    if "judgments" in roles:
        return set(read_judgments(roles["judgments"]).frame["doc_id"].to_list())
    return {str(doc) for _, doc in read_gold_column(roles["gold"], "doc_id")} if "gold" in roles else set()
