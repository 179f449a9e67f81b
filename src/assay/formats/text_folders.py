"""Folders whose files are the documents: texts, Markdown, HTML and PDF, named by their path in the folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.formats.detect import is_result_file
from assay.formats.files import Input
from assay.formats.markup import text_of
from assay.formats.set_folders import is_set
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROPOSAL = "proposal.json"
_MANY = 3  # names shown as examples
_LINES = 20  # from which a file of judgments or of a run is told
_TREC = re.compile(r"\S+\s+\S+\s+\S+\s+(-?\d+|\d+\s+[-+.\deE]+(\s+\S+)?)")


def documents_in(folder: Path) -> dict[str, str]:
    """Read the documents of a folder as {path in it: text}; texts are kept unchanged."""
    known = find_texts(folder)
    if not known:
        some = sorted(path.name for path in folder.rglob("*") if path.is_file())[:_MANY]
        raise InputError(
            say("no documents among its files ({names})", names=some) if some else say("the folder has no files"),
            path=str(folder),
            hint=say("expected {suffixes} files", suffixes=list(_READERS)),
        )
    return {path.relative_to(folder).as_posix(): text_in(path) for path in known}


def find_texts(folder: Path) -> list[Path]:
    """Find the files of a folder that are documents.

    Hidden files and folders, what assay wrote (results, evaluation sets), and judgments and runs that end in .txt are
    none.
    """
    found = [path for path in walk(folder) if path.suffix.lower() in _READERS]
    return [path for path in found if not (path.suffix.lower() == ".txt" and is_trec(path))]


def walk(folder: Path) -> Iterator[Path]:
    """All files of a folder in the order of their paths, without hidden ones and without what assay wrote."""
    return iter(sorted(_files_below(folder)))


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not path.is_symlink() and not is_ours(path):
            yield from _files_below(path)


def is_ours(folder: Path) -> bool:
    """Return whether assay wrote a folder: a set, a result, or what `assay run FOLDER` proposed."""
    return is_set(folder) or (folder / PROPOSAL).is_file() or is_result_file(str(folder))


def is_trec(path: Path) -> bool:
    """Return whether a file holds judgments or a run in TREC's format, and no text."""
    try:
        with path.open("rb") as file:
            head = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return False
    lines = [line for line in head.split("\n")[:_LINES] if line.strip()]
    whole = lines if len(head) < 4096 or len(lines) == 1 else lines[:-1]  # noqa: PLR2004 - the last may be cut
    return bool(whole) and all(_TREC.fullmatch(line.strip()) for line in whole)


def is_text_file(path: Path) -> bool:
    """Return whether a file is one document: by its suffix, and no table of two columns."""
    return path.suffix.lower() in _READERS and not (path.suffix.lower() == ".txt" and _has_columns(path))


def _has_columns(path: Path) -> bool:
    with path.open("rb") as file:
        lines = [line for line in file.read(4096).split(b"\n")[:_LINES] if line.strip()]
    return bool(lines) and all(b"\t" in line.strip() for line in lines)


def text_in(path: Path) -> str:
    """Text of one file."""
    return _READERS[path.suffix.lower()](path)


def _plain(path: Path) -> str:
    return Input.at(path).text


def _html(path: Path) -> str:
    return text_of(Input.at(path).text)


def _pdf(path: Path) -> str:
    from assay.formats.pdf import read_pdf

    return read_pdf(path)


_READERS: dict[str, Callable[[Path], str]] = {
    ".txt": _plain, ".md": _plain, ".markdown": _plain, ".html": _html, ".htm": _html, ".pdf": _pdf,
}  # fmt: skip
SUFFIXES = tuple(_READERS)
