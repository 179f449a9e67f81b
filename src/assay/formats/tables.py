"""Judgments and runs as tables: CSV, TSV, JSON lines, Parquet, and pandas, Polars or Arrow frames."""

from __future__ import annotations

import re
from array import array
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from assay.data.judgments import Judgments
from assay.data.limits import HARMLESS, SPARSE, check_columns
from assay.data.run import Run
from assay.errors import InputError, excerpt
from assay.formats import columns
from assay.formats.cells import plain
from assay.formats.decoding import decode, refusal
from assay.formats.formulas import unguard_texts
from assay.formats.parquet import is_sound_file, read_parquet
from assay.formats.unpacking import looks_packed
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assay.data.source import Source
    from assay.formats.files import Input


_FEW_CELLS = 10_000_000  # of a table, which is small enough however empty it is
_TEXTS = {"query", "document", "chunk"}  # columns that hold texts in some files: an apostrophe there is the author's


def read_table(source: Input, kind: str) -> pl.DataFrame:
    """Read csv, tsv, jsonl or parquet into a frame as it is; ids and unknown columns stay text."""
    found = _read_table(source, kind)
    if not len(found):
        raise InputError(say("the file has no rows"), path=source.label, hint=say("expected at least one row"))
    return found


def _read_table(source: Input, kind: str) -> pl.DataFrame:
    if kind == "parquet":
        return read_parquet(source.data, source.label)
    if kind == "jsonl":
        return frame_of_records((record for _, record in read_jsonl(source)), source.label)
    separator = "\t" if kind == "tsv" else ","
    source.refuse_long_lines()
    text = source.text
    _check_header(text, separator, source.label)
    _check_cells(text, separator, source.label)
    rows = _plain_rows(text) if kind == "tsv" and '"' in text else None
    try:
        found = _read_csv(text, separator=separator)
    except pl.exceptions.PolarsError as error:
        if rows is None:
            raise _long_row_error(text, separator, source.label, first_line(error)) from None
    else:
        if rows is None or len(found) == rows:
            return unguard_texts(found, _ids(found))
    try:
        found = _read_csv(text, separator=separator, quote_char=None)
    except pl.exceptions.PolarsError as error:
        raise _long_row_error(text, separator, source.label, first_line(error)) from None
    return unguard_texts(found, _ids(found))


def _read_csv(text: str, **options: Any) -> pl.DataFrame:
    """Read a table of texts; with a byte order mark in front, Polars takes none for packed bytes."""
    data = text.encode()
    data = b"\xef\xbb\xbf" + data if looks_packed(data) else data
    return pl.read_csv(BytesIO(data), infer_schema=False, **options)


def open_parquet(source: Input, *, above: int = HARMLESS) -> pl.LazyFrame:
    """Scan a file of more bytes of which all parts fit together; any other is read at once, where it can do no harm."""
    if source.path is not None and source.size > above and is_sound_file(source.path, source.label):
        return pl.scan_parquet(source.path)
    return read_parquet(source.data, source.label).lazy()


def _ids(frame: pl.DataFrame) -> list[str]:
    """Columns of ids."""
    known = (columns.QUERY, columns.DOC, columns.CHUNK, columns.SUBTOPIC, columns.ColumnName("judge"))
    return [name for name in frame.columns if columns.has_any([name], *known) and columns.key_of(name) not in _TEXTS]


def _check_header(text: str, separator: str, label: str) -> None:
    """Refuse a header with two columns of the same name, which is ambiguous, or with very many columns."""
    import csv
    from collections import Counter

    header = text[: text.find("\n") + 1 or len(text)].rstrip("\r\n")
    check_columns(header.count(separator) + 1 if '"' not in header else 1, label)
    try:
        names = next(csv.reader([header], delimiter=separator), [])
    except csv.Error:  # no header that a table could have
        return
    check_columns(len(names), label)
    twice, times = next(iter(Counter(filter(None, names)).most_common(1)), ("", 0))
    if times > 1:
        raise InputError(
            say("column {name} appears twice in the header", name=excerpt(twice)),
            path=label,
            line=1,
            hint=say("remove or rename one"),
        )


def _check_cells(text: str, separator: str, label: str) -> None:
    """Refuse a table most of whose cells are not in the file: blank lines, or rows much shorter than the header."""
    if _lacks_cells(text, separator) and _lacks_cells(re.sub(r'"[^"]*+"', "", text), separator):
        raise InputError(
            say("most cells of its rows are missing"),
            path=label,
            hint=say("remove blank lines, and give every row as many fields as the header"),
        )


def _lacks_cells(text: str, separator: str) -> bool:
    rows, width = text.count("\n"), text.count(separator, 0, text.find("\n") + 1) + 1
    return rows * width > max(_FEW_CELLS, 2 * (rows + text.count(separator)))


def _plain_rows(text: str) -> int | None:
    """Rows of a file whose lines all have as many fields as its header: quotes in it may be literal."""
    lines = text.rstrip("\n").split("\n")
    width = lines[0].count("\t")
    return len(lines) - 1 if width and all(line.count("\t") == width for line in lines) else None


def read_two_columns(source: Input, kind: str, names: tuple[str, str]) -> pl.DataFrame:
    """Read a table of two columns without a header."""
    separator = "\t" if kind == "tsv" else ","
    source.refuse_long_lines()
    text = source.text
    try:
        return _read_csv(text, separator=separator, has_header=False, new_columns=list(names))
    except pl.exceptions.PolarsError as error:
        raise _long_row_error(text, separator, source.label, first_line(error)) from None


def _long_row_error(text: str, separator: str, label: str, reason: str) -> InputError:
    """Name the first line with more fields than the header."""
    lines = text.split("\n")
    width = lines[0].count(separator)
    for number, line in enumerate(lines[1:], 2):
        if line.count(separator) > width and '"' not in line:
            return InputError(
                say(
                    "{n} fields where the header has {expected}: {line}",
                    n=line.count(separator) + 1,
                    expected=width + 1,
                    line=excerpt(line),
                ),
                path=label,
                line=number,
                hint=say("quote fields that contain the separator"),
            )
    return InputError(say("cannot be read as a table: {reason}", reason=reason), path=label)


def first_line(error: BaseException) -> str:
    """First line of an error of a library."""
    return str(error).strip().partition("\n")[0]


def read_jsonl(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON lines file with their line numbers."""
    source.refuse_long_lines()
    for number, line in enumerate(_lines(source.text), 1):
        if not line.strip():
            continue
        try:
            record = decode(line)
        except ValueError as error:
            raise refusal(error, line, source.label, number) from None
        if not isinstance(record, dict):
            raise InputError(
                say("expected a JSON object, not {line}", line=excerpt(line)), path=source.label, line=number
            )
        yield number, record


def _lines(text: str) -> Iterator[str]:
    """Lines of a text one at a time: all of them at once take more memory than the text."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def frame_of_records(records: Iterable[dict[str, Any]], label: str) -> pl.DataFrame:
    """Make a frame of flat objects; values keep their types, ids become text later.

    Objects are taken apart as they come, so that only their values are in memory together.
    """
    count = 0
    found: dict[str, tuple[array[int], list[Any]]] = {}
    for record in records:
        for name, value in record.items():
            if (column := found.get(name)) is None:
                column = found[name] = (array("q"), [])
            column[0].append(count)
            column[1].append(value)
        count += 1
    if not count:
        raise InputError(say("the file has no rows"), path=label, hint=say("expected at least one row"))
    check_columns(len(found), label)
    filled = sum(len(values) for _, values in found.values())
    if len(found) * count > max(_FEW_CELLS, SPARSE.value * filled):
        raise SPARSE.refuse(say("{n} keys, of which hardly an object has more than a few", n=len(found)), label)
    return pl.DataFrame([_series(name, _fill(*found.pop(name), count), label) for name in list(found)])


def _fill(places: array[int], values: list[Any], count: int) -> list[Any]:
    """A column of values that have places in it."""
    if len(values) == count:
        return values
    column = [None] * count
    for place, value in zip(places, values, strict=True):
        column[place] = value
    return column


def frame_of_rows(rows: list[Any], schema: dict[str, Any], label: str) -> pl.DataFrame:
    """Make a frame of rows of ids and numbers."""
    try:
        return pl.DataFrame(rows, schema=schema, orient="row")
    except UnicodeEncodeError:
        why = say("half a surrogate pair, which is no character")
        raise InputError(say("the ids make no column: {reason}", reason=why), path=label) from None


def _series(name: str, values: list[Any], label: str) -> pl.Series:
    """Make a column of the values of a key; what no column can hold is refused."""
    try:
        return pl.Series(name, values, strict=False)
    except UnicodeEncodeError:
        why: str = say("half a surrogate pair, which is no character")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError, TypeError, ValueError) as error:
        why = first_line(error)
    raise InputError(say("the values of {name} make no column: {reason}", name=excerpt(name), reason=why), path=label)


def frame_from(data: Any) -> pl.DataFrame | None:
    """Take a Polars, pandas or Arrow frame; None for anything else."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        try:
            found = pl.from_dataframe(data) if not hasattr(data, "schema") else pl.from_arrow(data)
        except ImportError:  # pandas hands over Arrow only where pyarrow is installed
            return _frame_of_columns(data)
        return found if isinstance(found, pl.DataFrame) else found.to_frame()
    return _frame_of_columns(data) if hasattr(data, "to_dict") and hasattr(data, "columns") else None


def _frame_of_columns(data: Any) -> pl.DataFrame:
    """Copy a frame of pandas value by value."""
    values = {str(name): [plain(value) for value in data[name]] for name in data.columns}
    return pl.DataFrame({name: pl.Series(name, column, strict=False) for name, column in values.items()})


def judgments_of(frame: pl.DataFrame, source: Source | None, *, subtopics: bool, dedupe: bool) -> Judgments:
    """Interpret a frame's columns as judgments."""
    picked, notes = pick_judgments(frame, source, subtopics=subtopics)
    groups: Literal["subtopics", "none"] = "subtopics" if subtopics else "none"
    return Judgments.of(picked, source=source, groups=groups, notes=notes, dedupe=dedupe, judge=_judges(frame))


def judgments_of_gold(frame: pl.DataFrame, source: Source) -> Judgments:
    """Judgments of the documents that hold gold spans: the highest grade of a span in each, 1 where none is given."""
    grade = columns.find(frame.columns, columns.GRADE, path=source.label)
    if grade is None:
        frame = frame.with_columns(pl.lit(1.0).alias("grade"))
    elif frame.schema[grade].is_numeric() or frame.schema[grade] in {pl.Null, pl.String}:
        frame = frame.with_columns(pl.col(grade).fill_null("1" if frame.schema[grade] == pl.String else 1))
    picked, _ = pick_judgments(frame, source, subtopics=False)
    best = picked.filter(pl.col("grade") > 0).group_by("query_id", "doc_id").agg(pl.col("grade").max())
    return Judgments.of(best, source=source)


def _judges(frame: pl.DataFrame) -> str:
    """Name the language models that made the grades, where a column `judge` does."""
    if "judge" not in frame.columns or not is_plain(frame["judge"]):
        return ""
    return ", ".join(frame["judge"].drop_nulls().cast(pl.String).unique().sort())


def pick_judgments(
    frame: pl.DataFrame, source: Source | None, *, subtopics: bool
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Pick the columns of judgments, and say which were read under another name."""
    label = source.label if source else "frame"
    names = frame.columns
    query = columns.find(names, columns.QUERY, path=label, needed=say("judgments"))
    doc = columns.find(names, columns.DOC, path=label, needed=say("judgments"))
    grade = columns.find(names, columns.GRADE, path=label, needed=say("judgments"))
    if grade == "score" and columns.find(names, columns.RANK, path=label):
        raise InputError(
            say("columns score and rank make a run, not judgments"),
            path=label,
            hint=say('if these are judgments, name the column of grades "grade"'),
        )
    part = columns.find(names, columns.SUBTOPIC, path=label, needed=say("subtopic measures")) if subtopics else None
    assert query and doc and grade
    frame = _without_blanks(frame, grade)
    chosen = {"query_id": query, "doc_id": doc, "grade": grade, **({"subtopic": part} if part else {})}
    picked = frame.select(
        *(_text(frame, name, label).alias(field) for field, name in chosen.items() if field != "grade"),
        numbers(frame, grade, label).alias("grade"),
        *([_inclusion(frame, label)] if "inclusion" in names and not subtopics else []),
    )
    return picked, columns.notes(dict(chosen))


def _without_blanks(frame: pl.DataFrame, grade: str) -> pl.DataFrame:
    """In a list of what to judge, a blank grade means not judged yet: of a sample, such a row still counts as drawn."""
    if not {"inclusion", "priority"} & set(frame.columns) or not is_plain(frame[grade]):
        return frame
    text = pl.col(grade).cast(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(text != "").then(text).alias(grade))
    return (
        frame.with_columns(pl.col(grade).fill_null("-1")) if "inclusion" in frame.columns else frame.drop_nulls(grade)
    )


def _inclusion(frame: pl.DataFrame, label: str) -> pl.Series:
    """The probability with which each document was drawn."""
    found = numbers(frame, "inclusion", label)
    odd = (found <= 0) | (found > 1)
    if odd.any():
        row = int(odd.arg_true()[0])
        raise InputError(
            say("row {row}: inclusion {value:g} is not a probability", row=row + 1, value=found[row]),
            path=label,
            hint=say("expected a number above 0 and at most 1"),
        )
    return found.alias("inclusion")


def run_of(frame: pl.DataFrame, source: Source | None, name: str) -> Run:
    """Interpret a frame's columns as a run; without scores, ranks decide."""
    label = source.label if source else "frame"
    names = frame.columns
    query = columns.find(names, columns.QUERY, path=label, needed=say("runs"))
    chunk = columns.find(names, columns.CHUNK, path=label)
    doc = columns.find(names, columns.DOC, path=label, needed="" if chunk else say("runs"))
    score = columns.find(names, columns.SCORE, path=label)
    rank = columns.find(names, columns.RANK, path=label)
    if score is None and rank is None:
        columns.find(names, columns.SCORE, path=label, needed=say("runs"))
    value = numbers(frame, score, label) if score else -numbers(frame, rank or "", label)
    assert query
    used = {"query_id": query, "doc_id": doc or chunk, "score": score, "rank": None if score else rank}
    ids = [_text(frame, query, label).alias("query_id"), _text(frame, doc or chunk or "", label).alias("doc_id")]
    if chunk and doc:
        ids.append(_text(frame, chunk, label).alias("chunk_id"))
    picked = frame.select(*ids, value.alias("score"))
    return Run(picked, name, source, notes=columns.notes(used))


def _text(frame: pl.DataFrame, name: str, label: str) -> pl.Series:
    """Read ids as text; whole numbers that a library turned into floats read as whole numbers."""
    column = frame[name]
    if column.dtype.is_float() and (column.drop_nulls() == column.drop_nulls().round()).all():
        column = column.cast(pl.Int64, strict=False)
    column = text_column(frame.with_columns(column), name, label)
    if column.null_count() or (column == "").any():
        row = int((column.is_null() | (column == "")).arg_true()[0])
        raise InputError(
            say("row {row} has no {name}", row=row + 1, name=name),
            path=label,
            hint=say("every row needs query, document and a number"),
        )
    return column


def text_column(frame: pl.DataFrame, name: str, label: str) -> pl.Series:
    """Read a column of plain values as text."""
    column = _plain_column(frame, name, label)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            say("column {name} cannot be read as text: {reason}", name=excerpt(name), reason=first_line(error)),
            path=label,
        ) from None


def is_plain(column: pl.Series) -> bool:
    """Return whether a column holds neither lists nor objects nor bytes."""
    return not column.dtype.is_nested() and column.dtype not in (pl.Object, pl.Binary)


def _plain_column(frame: pl.DataFrame, name: str, label: str) -> pl.Series:
    """A column that holds neither lists nor objects."""
    column = frame[name]
    if not is_plain(column):
        raise InputError(
            say("column {name} holds lists, objects or bytes", name=excerpt(name)),
            path=label,
            hint=say("expected one text or number in every row"),
        )
    return column


def numbers(frame: pl.DataFrame, name: str, label: str) -> pl.Series:
    """Read a column of finite numbers."""
    column = _plain_column(frame, name, label)
    try:
        found = column.cast(pl.Float64, strict=False)
    except pl.exceptions.PolarsError:
        found = pl.Series(name, [None] * len(column), pl.Float64)
    bad = found.is_null() | ~found.is_finite()
    if bad.any():
        row = int(bad.arg_true()[0])
        raise InputError(
            say("row {row}: {name} {value} is not a finite number", row=row + 1, name=name, value=excerpt(column[row])),
            path=label,
            hint=say("every row needs a number as {name}", name=name),
        )
    return found
