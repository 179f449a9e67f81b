"""Documents from a folder of files, or from one file or BEIR folder."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError, excerpt
from assay.formats.documents import read_documents
from assay.formats.files import Input, is_there
from assay.formats.markup import text_of
from assay.formats.set_folders import is_set, locate, need, read_manifest
from assay.formats.tables import read_jsonl
from assay.messages import say
from assay.pipeline.records import Document

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_MANY = 3  # names shown as examples


def read_collection(place: str | os.PathLike[str]) -> list[Document]:
    """Read documents: a folder of .txt, .md, .html and .pdf files, a BEIR folder, JSON lines, CSV, TSV or Parquet.

    Files of a folder are named by their path in it; texts are kept unchanged.
    """
    if is_set(place):
        return read_set_documents(place)
    path = Path(place)
    there = is_there(path)
    if there and path.is_dir() and not (path / "corpus.jsonl").is_file():
        found = _folder(path)
    elif there and path.suffix.lower() in _READERS and path.is_file():
        found = [Document(path.name, _READERS[path.suffix.lower()](path))]
    else:
        found = [Document(*item) for item in read_documents(place).items()]
    if not any(document.text.strip() for document in found):
        raise InputError(say("no document has text"), path=str(place), hint=say("expected at least one"))
    return found


def read_set_documents(folder: str | os.PathLike[str]) -> list[Document]:
    """Read the documents of an evaluation set; those kept elsewhere are read there, and compared with their hashes."""
    path = locate(folder, "documents")
    if path is not None:
        return [Document(*item) for item in read_documents(path).items()]
    hashes = read_hashes(need(folder, "hashes"))
    where = read_manifest(folder).documents_at
    if not where:
        raise InputError(
            say("the set has only hashes of its documents, and does not say where they are"),
            path=str(folder),
            hint=say("give the documents themselves"),
        )
    return read_elsewhere(Path(folder) / where, hashes)


def read_hashes(path: Path) -> dict[str, str]:
    """Read the hashes of documents, {id: hash}."""
    return {str(row.get("doc_id")): str(row.get("sha256")) for _, row in read_jsonl(Input.at(path))}


def read_elsewhere(place: str | os.PathLike[str], hashes: Mapping[str, str]) -> list[Document]:
    """Read documents that a set has only hashes of; one that is missing or has another text is refused by name."""
    texts = {one.id: one.text for one in read_collection(place)}
    lost = [doc for doc in hashes if doc not in texts]
    other = [doc for doc, known in hashes.items() if doc in texts and hash_of_text(texts[doc]) != known]
    if lost:
        what = say(
            "{n:,} {n:document|documents} of the set {n:is|are} not here, such as {example}",
            n=len(lost),
            example=excerpt(lost[0]),
        )
        raise InputError(what, path=str(place))
    if other:
        what = say(
            "{n:,} {n:document has|documents have} another text than the set was made with, such as {example}",
            n=len(other),
            example=excerpt(other[0]),
        )
        raise InputError(what, path=str(place))
    return [Document(doc, texts[doc]) for doc in hashes]


def hash_of_text(text: str) -> str:
    """The hash of a document's text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folder(folder: Path) -> list[Document]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    known = [path for path in files if path.suffix.lower() in _READERS]
    if not known:
        some = [path.name for path in files[:_MANY]]
        raise InputError(
            say("no documents among its files ({names})", names=some) if some else say("the folder has no files"),
            path=str(folder),
            hint=say("expected {suffixes} files", suffixes=list(_READERS)),
        )
    return [Document(path.relative_to(folder).as_posix(), _READERS[path.suffix.lower()](path)) for path in known]


def _plain(path: Path) -> str:
    return Input.at(path).text


def _html(path: Path) -> str:
    return text_of(Input.at(path).text)


def _pdf(path: Path) -> str:
    from assay.formats.pdf import read_pdf

    return read_pdf(path)


_READERS = {".txt": _plain, ".md": _plain, ".markdown": _plain, ".html": _html, ".htm": _html, ".pdf": _pdf}
