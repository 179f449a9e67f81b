"""Read TREC judgments (qrels) and runs: fields between any number of spaces, comments, either line end.

A clean file is scanned by Polars; anything else is read line by line. Runs that are evaluated are read in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from assay.data.judgments import Judgments
from assay.data.run import Pieces
from assay.errors import InputError, Repeated, excerpt
from assay.formats.files import Input
from assay.formats.trec.by_line import read_lines, read_some
from assay.formats.trec.pieces import loaders, separator_of
from assay.formats.trec.scan import BOM, QRELS, RUN, Layout, any_uneven, fields_of, scan
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from assay.data.rows import Rows
    from assay.data.source import Source

_SLICE = 1 << 23  # bytes
_PIECE = 1 << 18  # bytes
JUDGE_LINE = "# judge: "


def judge_of(source: Input) -> str:
    """The language models that made the judgments, if comments name them; there may be several in joined files."""
    if JUDGE_LINE.strip().encode() not in source.data:
        return ""
    lines = [line.strip() for line in source.text.split("\n") if line.startswith(JUDGE_LINE.strip())]
    return ", ".join(dict.fromkeys(line.removeprefix(JUDGE_LINE.strip()).strip() for line in lines))


@dataclass(frozen=True)
class RunPieces(Pieces):
    """Rows of a run file: read piece by piece, or all at once."""

    source: Input

    def whole(self) -> pl.DataFrame:
        """Read all rows; there must be some."""
        return read_trec(self.source, RUN)

    def loaders(self) -> Iterable[Callable[[], Rows]]:
        """Functions that read one piece each."""
        return loaders(self.source)


def read_trec(source: Input, layout: Layout, *, finite: bool = True) -> pl.DataFrame:
    """Read a file into its named fields (fields starting with _ are left out); only `finite` numbers pass."""
    source.refuse_long_lines()
    separator = separator_of(source.head, layout)
    place = BytesIO(source.data) if source.is_packed else source.path
    assert place is not None
    clean = separator is not None and not any_uneven(source, separator, layout)
    frame = scan(place, separator, layout, finite=finite) if clean and separator is not None else None
    if frame is None:
        frame = pl.concat([read_lines("", source.label, layout), *_slices(source, layout, finite=finite)])
    if not len(frame):
        raise InputError(say("the file has no rows, only comments or blank lines"), path=source.label)
    return frame


def _slices(source: Input, layout: Layout, *, finite: bool) -> Iterator[pl.DataFrame]:
    """Read some whole lines at a time."""
    if b"\0" in source.head:
        _ = source.text  # says that this is no text, if it is none
    at, line = len(BOM) if source.head.startswith(BOM) else 0, 1
    while at < source.size:
        size = _SLICE
        while not (end := (data := source.part(at, at + size)).rfind(b"\n") + 1) and at + size < source.size:
            size *= 2
        data = data[: end or None]
        yield read_some(data, source.label, layout, lambda: line, finite=finite)  # noqa: B023 - asked for at once
        at, line = at + len(data), line + data.count(b"\n")


def locate(source: Source | None, error: Repeated) -> Repeated:
    """Add the numbers of the lines that hold the repeated document, where the input is a TREC file."""
    if source is None or source.path is None or not source.path.is_file():
        return error
    lines = []
    for number, line in enumerate(_lines_of(Input.at(source.path, source.encoding)), 1):
        fields = line.removeprefix(BOM).split(None, 3) if number == 1 else line.split(None, 3)
        if len(fields) > 2 and fields[0] == error.query.encode() and fields[2] == error.doc.encode():  # noqa: PLR2004
            lines.append(number)
            if len(lines) == 2:  # noqa: PLR2004
                break
    return Repeated(error.query, error.doc, error.verb, path=source.label, lines=lines)


def _lines_of(file: Input) -> Iterator[bytes]:
    """The lines of a file one by one, as a large one that is packed does not fit into memory as a whole."""
    if not file.is_stream:
        yield from BytesIO(file.data)
        return
    rest = b""
    for block in file.stream(_PIECE):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield rest


def read_whole_grades(place: str) -> Judgments:
    """Read judgments as trec_eval does: fractions of grades are cut off."""
    source = Input.at(place)
    whole = pl.when(pl.col("grade") < 0).then(pl.col("grade").ceil()).otherwise(pl.col("grade").floor())
    frame = read_trec(source, QRELS).with_columns(whole.alias("grade"))
    try:
        return Judgments.of(frame, source=source.source)
    except Repeated as error:
        raise locate(source.source, error) from None


def last_tag(place: str) -> str:
    """Read the tag of a run's last line, which trec_eval prints as runid."""
    tail = Input.at(place).data[-(1 << 16) :].decode("utf-8", "replace")
    lines = [fields for fields in map(fields_of, tail.split("\n")) if fields and not fields[0].startswith("#")]
    return lines[-1][5] if lines and len(lines[-1]) >= len(RUN.fields) else ""


def read_zscores(place: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Read lines of query, measure, mean and standard deviation."""
    source = Input.at(place)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        fields = fields_of(line)
        if not fields:
            continue
        try:
            query, name, mean, deviation = fields
            found[query, name] = (float(mean), float(deviation))
        except ValueError:
            raise InputError(
                say("cannot read {line}", line=excerpt(line)),
                path=source.label,
                line=number,
                hint=say("expected: query measure mean deviation"),
            ) from None
    return found
