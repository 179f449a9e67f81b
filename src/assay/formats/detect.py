"""Finding out what an input file is, from its suffix and its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import InputError, UsageError
from assay.formats import columns
from assay.formats.decoding import peek
from assay.messages import say

if TYPE_CHECKING:
    from os import PathLike

    from assay.formats.files import Input

InputFormat = Literal["trec", "json", "jsonl", "csv", "tsv", "parquet", "beir"]
FORMATS: tuple[str, ...] = get_args(InputFormat)

_BY_SUFFIX = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
MANIFEST = "assay-result.json"  # makes a folder a result; without the parts that it names, it is none
_PARQUET = b"PAR1"
_BOM = b"\xef\xbb\xbf"


def format_of(source: Input, asked: str | None = None) -> str:
    """Return the format of an input: the one asked for, else by suffix, else by content."""
    if asked is not None:
        if asked not in FORMATS:
            raise UsageError(
                say("input format {asked!r}: expected one of {formats}", asked=asked, formats=list(FORMATS))
            )
        return asked
    if source.path is not None and source.path.is_dir():
        if not (source.path / "qrels").is_dir():
            raise InputError(
                say("this folder has no qrels folder inside"),
                path=source.label,
                hint=say("give a file or a BEIR folder"),
            )
        return "beir"
    if source.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[source.suffix]
    return _by_content(source)


def _by_content(source: Input) -> str:
    head = source.head.removeprefix(_BOM)
    if head.startswith(_PARQUET):
        return "parquet"
    if head.lstrip()[:1] in (b"{", b"["):
        return "jsonl" if _is_jsonl(head) else "json"
    first = head.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r").lower()
    for separator, kind in (("\t", "tsv"), (",", "csv")):
        names = {name.strip().strip('"') for name in first.split(separator)}
        who, what = (columns.QUERY, columns.CHUNK), (columns.DOC, columns.WEIGHT)
        if len(names) > 1 and columns.has_any(names, *who) and columns.has_any(names, *what):
            return kind
    return "trec"


def _is_jsonl(head: bytes) -> bool:
    line = head.lstrip().split(b"\n", 1)[0]
    try:
        return isinstance(peek(line), dict) and b"\n" in head.strip()
    except ValueError:
        return False


def is_result(source: Input) -> bool:
    """Return whether this is a result file, by its schema number, which cannot be a grade."""
    if not source.head.lstrip().startswith(b"{") or b'"schema"' not in source.data:
        return False
    try:
        data = peek(source.text)
    except (ValueError, InputError):
        return False
    return isinstance(data, dict) and isinstance(data.get("schema"), int)


def is_result_file(place: str) -> bool:
    """Return whether a path is a result: a file, or a folder that an experiment or an engine wrote.

    Standard input never is.
    """
    from assay.formats.files import Input, is_there, result_in

    if place == "-" or not is_there(place):
        return False
    if is_score_folder(place):
        return True
    place = result_in(place)
    return Path(place).is_file() and is_result(Input.at(place))


def is_records(source: Input, kind: str) -> bool:
    """Return whether a file holds self-contained records, and not judgments or a run."""
    if kind not in {"json", "jsonl"}:
        return False
    from assay.formats.records import are_lists, looks_like_records

    text = source.text
    try:
        data = peek(text.lstrip().split("\n", 1)[0] if kind == "jsonl" else text)
    except ValueError:
        return False
    if isinstance(data, list):
        return bool(data) and (not isinstance(data[0], dict) or looks_like_records(set(data[0])))
    if not isinstance(data, dict):
        return False
    return looks_like_records(set(data)) or are_lists(data)


def is_score_folder(place: str | PathLike[str]) -> bool:
    """Return whether a folder is a result: it has a manifest."""
    return (Path(place) / MANIFEST).is_file()
