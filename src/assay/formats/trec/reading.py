"""Read TREC judgments (qrels) and runs: fields between any number of spaces, comments, either line end.

A clean file is parsed by numpy or scanned by Polars; anything else goes through a slower reader that knows the number
of every line.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from assay.data.judgments import Judgments
from assay.data.run import Pieces
from assay.errors import InputError, Repeated, excerpt
from assay.formats.files import Input
from assay.formats.trec.pieces import loaders, separator_of
from assay.formats.trec.scan import (
    BLANKS,
    FIELD,
    QRELS,
    RUN,
    RUN_LINE,
    Layout,
    any_uneven,
    fields_of,
    fields_read,
    scan,
)
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assay.data.rows import Rows
    from assay.data.source import Source

JUDGE_LINE = "# judge: "
_SLICE = 1 << 20  # characters that are split into fields at a time


def judge_of(source: Input) -> str:
    """The language models that made the judgments, if comments name them; there may be several in joined files."""
    if JUDGE_LINE.strip().encode() not in source.data:
        return ""
    lines = [line.strip() for line in source.text.split("\n") if line.startswith(JUDGE_LINE.strip())]
    return ", ".join(dict.fromkeys(line.removeprefix(JUDGE_LINE.strip()).strip() for line in lines))


@dataclass(frozen=True)
class RunPieces(Pieces):
    """Rows of a run file: read piece by piece while the file is clean, else all at once, line by line."""

    source: Input

    def whole(self) -> pl.DataFrame:
        """Read all rows; an error names its line."""
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
    clean = separator is not None and not any_uneven(source, separator)
    frame = scan(place, separator, layout, finite=finite) if clean and separator is not None else None
    return _by_line(source, layout, finite=finite) if frame is None else frame


def _by_line(source: Input, layout: Layout, *, finite: bool) -> pl.DataFrame:
    """Read line by line, some at a time so that memory does not grow with what is thrown away; name what is wrong."""
    text, start, line = source.text, 0, 1
    found: list[pl.DataFrame] = []
    while start <= len(text):
        end = text.find("\n", start + _SLICE)
        end = len(text) if end < 0 else end
        rows = text[start:end].split("\n")
        lines = _split(rows, line)
        if len(lines):
            if not found:
                _refuse_other_kind(source, layout, lines["parts"])
            found.append(_read_lines(source, layout, lines, finite=finite))
        start, line = end + 1, line + len(rows)
    if not found:
        raise InputError(say("the file has no rows, only comments or blank lines"), path=source.label)
    return pl.concat(found)


def _split(rows: list[str], first: int) -> pl.DataFrame:
    """Lines with their numbers and fields, without comments and blank lines."""
    lines = pl.DataFrame({"text": rows}).with_row_index("line", offset=first)
    lines = lines.with_columns(parts=pl.col("text").str.extract_all(FIELD))
    return lines.filter(~pl.col("parts").list.first().str.starts_with("#"))  # null, and left out, on a blank line


def _read_lines(source: Input, layout: Layout, lines: pl.DataFrame, *, finite: bool) -> pl.DataFrame:
    """Fields of lines, if all of them are right; else the first that is not is named."""
    parts = lines["parts"]
    _check_sizes(source, layout, lines)
    columns = {name: parts.list.get(i, null_on_oob=True) for i, name in enumerate(layout.fields)}
    if layout.most is None:
        _check_ranks(source, lines.with_columns(rank=columns[layout.fields[3]]), len(layout.fields))
    number = columns[layout.number].cast(pl.Float64, strict=False)
    wrong = lines.filter(number.is_null())
    if len(wrong):
        value = columns[layout.number].filter(number.is_null())[0]
        raise InputError(
            say("{number} {value} is not a number", number=layout.number, value=excerpt(value)),
            path=source.label,
            line=wrong["line"][0],
            hint=_foreign_blank(wrong["text"][0]) or say("expected: {line}", line=layout.expected),
        )
    odd = lines.filter(~number.is_finite())
    if finite and len(odd):
        value = columns[layout.number].filter(~number.is_finite())[0]
        raise InputError(
            say("{number} {value} is not finite", number=layout.number, value=excerpt(value)),
            path=source.label,
            line=odd["line"][0],
            hint=say("remove the line or give it a finite number"),
        )
    columns[layout.number] = number
    return pl.DataFrame({name: columns[name] for name in fields_read(layout)})


def _check_sizes(source: Input, layout: Layout, lines: pl.DataFrame) -> None:
    """Refuse a line with too few fields, or with more than it can have."""
    size = pl.col("parts").list.len()
    wrong = lines.filter((size < layout.least) | (size > layout.most if layout.most else pl.lit(value=False)))
    if not len(wrong):
        return
    text, found = wrong["text"][0], len(wrong["parts"][0])
    kind = say("a run") if layout.number == "score" else say("judgments")
    told = {"n": found, "kind": kind, "line": excerpt(text.strip(BLANKS))}
    raise InputError(
        say("{n} {n:field|fields} where a line of {kind} needs {expected}: {line}", expected=layout.least, **told)
        if found < layout.least
        else say("{n} {n:field|fields} where a line of {kind} has {expected}: {line}", expected=layout.most, **told),
        path=source.label,
        line=wrong["line"][0],
        hint=_foreign_blank(text) or say("expected: {line}", line=layout.expected),
    )


def _foreign_blank(text: str) -> str:
    """Name a character that looks like a space but is not a separator; empty if there is none."""
    from unicodedata import name

    sign = next((sign for sign in text if sign.isspace() and sign not in BLANKS), None)
    if sign is None:
        return ""
    return say(
        "the line contains U+{code:04X} ({name}), which does not separate fields",
        code=ord(sign),
        name=name(sign, "") or say("a control character"),
    )


def _check_ranks(source: Input, lines: pl.DataFrame, fields: int) -> None:
    """Refuse a longer line whose rank is not a number: a space inside an id shifts all fields after it.

    Otherwise ranks are ignored, as in trec_eval.
    """
    shifted = pl.col("rank").cast(pl.Float64, strict=False).is_null()
    wrong = lines.filter((pl.col("parts").list.len() > fields) & shifted)
    if len(wrong):
        raise InputError(
            say("the rank is {value}, not a number", value=excerpt(wrong["rank"][0])),
            path=source.label,
            line=wrong["line"][0],
            hint=say("expected: {line}; ids must not contain blanks", line=RUN_LINE),
        )


def _refuse_other_kind(source: Input, layout: Layout, parts: pl.Series) -> None:
    """Refuse a run in place of judgments, or the reverse, by its first line: the arguments are easily swapped."""
    first = parts[0].to_list()
    looks_like_run = len(first) >= RUN.least and first[1].upper() == "Q0"
    if layout.number == "grade" and looks_like_run:
        raise InputError(
            say("this is a run, not judgments"), path=source.label, hint=say("the judgments come first, then the runs")
        )
    if layout.number == "score" and len(first) == QRELS.least and not looks_like_run:
        raise InputError(
            say("{n} fields: this looks like judgments, not a run", n=len(first)),
            path=source.label,
            line=1,
            hint=say("a line of a run is {line}; the judgments come first, then the runs", line=layout.expected),
        )


def locate(source: Source | None, error: Repeated) -> Repeated:
    """Add the numbers of the lines that hold the repeated document, where the input is a TREC file."""
    if source is None or source.path is None or not source.path.is_file():
        return error
    lines = []
    for number, line in enumerate(Input.at(source.path, source.encoding).data.split(b"\n"), 1):
        fields = line.split(None, 3)
        if len(fields) > 2 and fields[0] == error.query.encode() and fields[2] == error.doc.encode():  # noqa: PLR2004
            lines.append(number)
    return Repeated(error.query, error.doc, error.verb, path=source.label, lines=lines[:2])


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
