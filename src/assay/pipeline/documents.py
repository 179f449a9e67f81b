"""Documents from a folder of files, or from one file or BEIR folder."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError, MissingPackage
from assay.formats.documents import read_documents
from assay.formats.files import Input
from assay.messages import say
from assay.pipeline.records import Document

if TYPE_CHECKING:
    import os

_SILENT = {"script", "style", "template", "noscript", "title"}  # not head, which many pages never close
_BLOCKS = {
    "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article",
    "header", "footer", "pre", "blockquote", "dd", "dt", "figure", "hr", "main", "nav", "aside",
}  # fmt: skip
_MANY = 3  # names shown as examples


def read_collection(place: str | os.PathLike[str]) -> list[Document]:
    """Read documents: a folder of .txt, .md, .html and .pdf files, a BEIR folder, JSON lines, CSV, TSV or Parquet.

    Files of a folder are named by their path in it; texts are stripped of nothing.
    """
    path = Path(place)
    if path.is_dir() and not (path / "corpus.jsonl").is_file():
        found = _folder(path)
    elif path.suffix.lower() in _READERS and path.is_file():
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
    parser = _Text()
    parser.feed(Input.at(path).text)
    parser.close()
    return parser.text()


class _Text(HTMLParser):
    """The text that a reader sees; blocks end lines."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._silent = 0 if tag == "body" else self._silent + (tag in _SILENT)
        if tag in _BLOCKS:
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))
        if tag in _BLOCKS:
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._parts.append(data)

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._parts).split("\n"))
        return "\n".join(line for line in lines if line)


def _pdf(path: Path) -> str:
    try:
        import pypdf
    except ImportError:
        raise MissingPackage(say("reading {path}", path=str(path)), "pypdf", "pipeline") from None
    import logging

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it reports every odd object of every file
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(path).pages]
    except Exception as error:  # noqa: BLE001 - damaged files make pypdf raise nearly anything
        raise InputError(
            say("the PDF cannot be read: {kind}: {error}", kind=type(error).__name__, error=str(error)), path=str(path)
        ) from None
    text = "\n\n".join(page.strip() for page in pages if page.strip())
    if not text:
        raise InputError(
            say("the PDF has no text"),
            path=str(path),
            hint=say("if it is a scan, recognise its text first, or remove the file"),
        )
    return text


_READERS = {".txt": _plain, ".md": _plain, ".markdown": _plain, ".html": _html, ".htm": _html, ".pdf": _pdf}
