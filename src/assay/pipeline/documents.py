"""Documents from a folder of files, or from one file or BEIR folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.formats.documents import read_documents
from assay.formats.files import Input, is_there
from assay.formats.markup import text_of
from assay.messages import say
from assay.pipeline.records import Document

if TYPE_CHECKING:
    import os

_MANY = 3  # names shown as examples


def read_collection(place: str | os.PathLike[str]) -> list[Document]:
    """Read documents: a folder of .txt, .md, .html and .pdf files, a BEIR folder, JSON lines, CSV, TSV or Parquet.

    Files of a folder are named by their path in it; texts are kept unchanged.
    """
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
