"""Reading lines one by one: what no other reader can prove to read right, and every fault with its line."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from assay.errors import InputError, excerpt
from assay.formats.files import decode
from assay.formats.trec.scan import (
    BLANKS,
    BOM,
    FIELD,
    QRELS,
    RUN,
    RUN_LINE,
    Layout,
    count_ends,
    fields_read,
    scan,
    schema_of,
    tidy,
)
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable

_SLICE = 1 << 20  # characters that are split into fields at a time


def read_some(data: bytes, label: str, layout: Layout, line: Callable[[], int], *, finite: bool = True) -> pl.DataFrame:
    """Read whole lines, tidied up, with Polars; or line by line, for which `line` finds the number of the first."""
    even = tidy(data)
    # Polars would drop a byte order mark at the beginning, wherever that is in the file.
    alike = bool(even) and not even.startswith(BOM) and count_ends(even, " ", layout) == 0
    frame = scan(BytesIO(even), " ", layout, finite=finite) if alike else None
    if frame is not None:
        return frame
    first = line()
    return read_lines(decode(data, label, first), label, layout, first=first, finite=finite)


def read_lines(text: str, label: str, layout: Layout, *, first: int = 1, finite: bool = True) -> pl.DataFrame:
    """Read lines, of which the `first` has a number; an error names the file by its `label`, and the line.

    Some are read at a time, so that memory does not grow with what is thrown away.
    """
    start, line = 0, first
    found = [pl.DataFrame(schema=schema_of(layout)).select(fields_read(layout))]
    while start <= len(text):
        end = text.find("\n", start + _SLICE)
        end = len(text) if end < 0 else end
        rows = text[start:end].split("\n")
        lines = _split(rows, line)
        if len(lines):
            if first == len(found) == 1:
                _refuse_other_kind(label, layout, lines["parts"])
            found.append(_read_lines(label, layout, lines, finite=finite))
        start, line = end + 1, line + len(rows)
    return pl.concat(found)


def _split(rows: list[str], first: int) -> pl.DataFrame:
    """Lines with their numbers and fields, without comments and blank lines."""
    lines = pl.DataFrame({"text": rows}).with_row_index("line", offset=first)
    lines = lines.with_columns(parts=pl.col("text").str.extract_all(FIELD))
    return lines.filter(~pl.col("parts").list.first().str.starts_with("#"))  # null, and left out, on a blank line


def _read_lines(label: str, layout: Layout, lines: pl.DataFrame, *, finite: bool) -> pl.DataFrame:
    """Fields of lines, if all of them are right; else the first that is not is named."""
    parts = lines["parts"]
    _check_sizes(label, layout, lines)
    columns = {name: parts.list.get(i, null_on_oob=True) for i, name in enumerate(layout.fields)}
    if layout.most is None:
        _check_ranks(label, lines.with_columns(rank=columns[layout.fields[3]]), len(layout.fields))
    number = columns[layout.number].cast(pl.Float64, strict=False)
    wrong = lines.filter(number.is_null())
    if len(wrong):
        value = columns[layout.number].filter(number.is_null())[0]
        raise InputError(
            say("{number} {value} is not a number", number=layout.number, value=excerpt(value)),
            path=label,
            line=wrong["line"][0],
            hint=_foreign_blank(wrong["text"][0]) or say("expected: {line}", line=layout.expected),
        )
    odd = lines.filter(~number.is_finite())
    if finite and len(odd):
        value = columns[layout.number].filter(~number.is_finite())[0]
        raise InputError(
            say("{number} {value} is not finite", number=layout.number, value=excerpt(value)),
            path=label,
            line=odd["line"][0],
            hint=say("remove the line or give it a finite number"),
        )
    columns[layout.number] = number
    return pl.DataFrame({name: columns[name] for name in fields_read(layout)})


def _check_sizes(label: str, layout: Layout, lines: pl.DataFrame) -> None:
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
        path=label,
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


def _check_ranks(label: str, lines: pl.DataFrame, fields: int) -> None:
    """Refuse a longer line whose rank is not a number: a space inside an id shifts all fields after it.

    Otherwise ranks are ignored, as in trec_eval.
    """
    shifted = pl.col("rank").cast(pl.Float64, strict=False).is_null()
    wrong = lines.filter((pl.col("parts").list.len() > fields) & shifted)
    if len(wrong):
        raise InputError(
            say("the rank is {value}, not a number", value=excerpt(wrong["rank"][0])),
            path=label,
            line=wrong["line"][0],
            hint=say("expected: {line}; ids must not contain blanks", line=RUN_LINE),
        )


def _refuse_other_kind(label: str, layout: Layout, parts: pl.Series) -> None:
    """Refuse a run in place of judgments, or the reverse, by its first line: the arguments are easily swapped."""
    first = parts[0].to_list()
    looks_like_run = len(first) >= RUN.least and first[1].upper() == "Q0"
    if layout.number == "grade" and looks_like_run:
        raise InputError(
            say("this is a run, not judgments"), path=label, hint=say("the judgments come first, then the runs")
        )
    if layout.number == "score" and len(first) == QRELS.least and not looks_like_run:
        raise InputError(
            say("{n} fields: this looks like judgments, not a run", n=len(first)),
            path=label,
            line=1,
            hint=say("a line of a run is {line}; the judgments come first, then the runs", line=layout.expected),
        )
