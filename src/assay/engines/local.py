"""The engine of this machine: Parquet folders of any size, whose queries are read some at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engines.batches import whole_groups
from assay.engines.engine import BLOCK, FILE, KEY, LINE, PLACE, Engine, Kernel, Rows, part_of
from assay.engines.headings import NUMBERS, Headings, Kind, What, check_key, find
from assay.errors import InputError, NoSuchFile, UsageError, cause
from assay.formats.files import is_there
from assay.formats.parquet import is_sound_file
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".parquet"
LINES = (".jsonl", ".ndjson")
LINES_IN_FOLDERS = (*LINES, ".json")  # as Spark writes them


FindColumns = Callable[[Mapping[str, Kind], str], Headings]  # of a table that has this name in messages


class LocalRows(Rows):
    """Rows that Polars reads."""

    def __init__(self, frame: pl.LazyFrame, headings: Headings, label: str, files: Sequence[Path] = ()) -> None:
        super().__init__(headings, label)
        self.frame, self.files = frame, files

    def with_system(self, system: str) -> LocalRows:
        """The same rows with the name of their system."""
        return LocalRows(
            self.frame.with_columns(pl.lit(system).alias("system")),
            self.headings.of_systems(),
            self.label,
            self.files,
        )

    def beside(self, other: Rows) -> LocalRows:
        """These rows and others of the same columns."""
        assert isinstance(other, LocalRows)
        columns = list(self.headings.chosen) or self.frame.collect_schema().names()
        frame = pl.concat([self.frame.select(columns), other.frame.select(columns)])
        files = [*self.files, *other.files] if self.files and other.files else []
        return LocalRows(frame, self.headings, self.label, files)

    @property
    def is_of_chunks(self) -> bool:
        """Return whether some row is a piece of its document."""
        if not self.has_chunks:
            return False
        pieces = self.frame.select((pl.col("chunk_id") != pl.col("doc_id")).any())
        return bool(self._read(pieces, streaming=True).item())

    def count(self) -> int:
        """Count the rows."""
        return int(self._read(self.frame.select(pl.len()), streaming=True).item())

    def systems(self) -> list[str]:
        """The names of all systems, in order."""
        found = self._read(self.frame.select(pl.col("system").unique()), streaming=True)
        return sorted(found["system"].drop_nulls().to_list())

    def collect(self) -> pl.DataFrame:
        """Read all rows."""
        return self._read(self.frame)

    def digest_input(self) -> str | None:
        """A hash of the names, sizes and times of all files."""
        if not self.files:
            return None
        facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in self.files]
        return sha256(repr(facts).encode()).hexdigest()

    def distinct(self, names: Sequence[str]) -> LocalRows:
        """The different rows of some columns."""
        return LocalRows(self.frame.select(names).unique(), self.headings, self.label)

    def map_rows(self, kernel: Kernel) -> LocalRows:
        """The rows that a kernel makes of all rows."""
        return LocalRows(kernel(self._read(self.frame)).lazy(), self.headings, self.label)

    def regroup(self, by: str, order: Sequence[str] = ()) -> LocalRows:
        """The same rows in the order of their groups, in memory."""
        rows = self._read(self.frame).sort(by, *order, maintain_order=True)
        return LocalRows(rows.lazy(), self.headings, self.label)

    def map_kept(self, kernel: Kernel, by: str) -> LocalRows:
        """The rows that a kernel makes of whole groups, some at a time."""
        found = [kernel(group) for group in whole_groups(self._read(self.frame).iter_slices(1 << 14), by)]
        rows = pl.concat(found) if found else pl.DataFrame(schema=dict.fromkeys(kernel.columns, pl.String))
        return LocalRows(rows.lazy(), self.headings, self.label)

    def release(self) -> None:
        """Nothing is kept beyond the frame."""

    def map_groups(
        self, kernel: Kernel, by: str = "query_id", part: int = 0, parts: int = 1, judged: Rows | None = None
    ) -> pl.DataFrame:
        """Read the groups of a part and hand them to the kernel at once."""
        frames = [self.frame] + ([judged.frame] if isinstance(judged, LocalRows) else [])
        rows = pl.concat(frames, how="diagonal") if judged is not None else frames[0]
        if parts > 1:
            keys = self._read(rows.select(pl.col(by).unique()), streaming=True)[by].drop_nulls()
            mine = [key for key in keys.to_list() if part_of(key, parts) == part]
            # A row without a key is in every part, to be refused there.
            rows = rows.filter(pl.col(by).is_in(mine) | pl.col(by).is_null())
        return kernel(self._read(rows).sort(by, maintain_order=True))

    def _read(self, frame: pl.LazyFrame, *, streaming: bool = False) -> pl.DataFrame:
        """Run a query over the rows; a file with damage that only reading it shows is refused."""
        try:
            return frame.collect(engine="streaming" if streaming else "auto")
        except _faults() as error:
            raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=self.label) from None


def _faults() -> tuple[type[BaseException], ...]:
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError


class LocalEngine(Engine):
    """Everything in this process."""

    name = "local"

    def names(self, data: Any) -> list[str]:
        """The names of the columns of a frame, or of the first file."""
        if isinstance(data, pl.DataFrame):
            return data.columns
        return list(_schema(parquet_files(os.fspath(data))[0]))

    def scan(self, data: Any, what: What, *, ordered: bool = False) -> LocalRows:
        """Find the rows of a Parquet file or of all such files in a folder, in the order of their names."""
        del ordered  # they always are
        frame, headings, label, files = _open(data, lambda kinds, label: find(kinds, label, what))
        return LocalRows(frame.select(_columns(headings)), headings, label, files)

    def scan_table(self, data: Any, key: str) -> LocalRows:
        """Find rows with all columns as they are, and an id."""
        frame, headings, label, files = _open(data, lambda kinds, label: check_key(kinds, key, label))
        return LocalRows(frame.with_columns(pl.col(key).cast(pl.String).alias(KEY)), headings, label, files)

    def schema(self, data: Any) -> pl.Schema:
        """The columns of a frame, or of the Parquet files of a folder, and their types."""
        return _open(data, lambda _, __: Headings({}))[0].collect_schema()

    def scan_columns(self, data: Any, names: Sequence[str]) -> LocalRows:
        """Find rows with some columns as they are; their place is their number."""
        frame, headings, label, files = _open(data, lambda _, __: Headings({}))
        return LocalRows(frame.select(*names, *_number()), headings, label, files)

    def scan_lines(self, data: Any, *, ordered: bool = False) -> LocalRows:
        """Find the lines of a file, or of all files of JSON lines in a folder."""
        label = os.fspath(data)
        files = _files(label, LINES_IN_FOLDERS)
        frame = pl.scan_lines(files, name=LINE)
        if ordered:
            frame = frame.with_columns(_number())
        return LocalRows(frame.filter(pl.col(LINE).str.strip_chars() != ""), Headings({}), label, files)


def _number() -> list[pl.Expr]:
    return [pl.lit("").alias(FILE), pl.lit(0, pl.Int64).alias(BLOCK), pl.int_range(pl.len()).alias(PLACE)]


def _open(data: Any, find_columns: FindColumns) -> tuple[pl.LazyFrame, Headings, str, list[Path]]:
    """A frame, its columns, a name for messages, and the files behind it if there are any."""
    if isinstance(data, pl.DataFrame):
        return data.lazy(), find_columns(_kinds(data.schema), say("frame")), say("frame"), []
    if not isinstance(data, (str, os.PathLike)):
        raise UsageError(say("the local engine reads Parquet files and folders, not {kind}", kind=type(data).__name__))
    label = os.fspath(data)
    files = parquet_files(label)
    headings = check_parts(files, find_columns)
    frame = pl.scan_parquet(files, missing_columns="raise", extra_columns="ignore", hive_partitioning=True)
    return frame, headings, label, files


def check_parts(files: Sequence[Path], find_columns: FindColumns) -> Headings:
    """Find the columns of files that belong together; one that is cut off, or has other columns, is refused by name."""
    headings: Headings | None = None
    first: dict[str, Kind] = {}
    for path in files:
        kinds = _kinds(_schema(path))
        found = find_columns(kinds, str(path))
        if headings is not None and (found != headings or (not headings.chosen and kinds != first)):
            raise InputError(
                say("the columns are not those of {other}", other=files[0].name),
                path=str(path),
                hint=say("every part of a folder needs the same columns"),
            )
        headings, first = found, kinds
    assert headings is not None
    return headings


def _schema(path: Path) -> Mapping[str, pl.DataType]:
    """The columns of a file; one that is cut off, empty or damaged is refused by its name."""
    try:
        if path.stat().st_size and is_sound_file(path, str(path)):
            return pl.scan_parquet(path, hive_partitioning=True).collect_schema()
    except _faults():
        pass
    raise InputError(say("the Parquet file is damaged"), path=str(path), hint=say("write the part again"))


def parquet_files(place: str) -> list[Path]:
    """The Parquet files of a folder and those below it, or the one that is named; marks and drafts are none."""
    found = _files(place, (SUFFIX,))
    if not found:
        raise InputError(say("the folder has no Parquet files"), path=place)
    return found


def _files(place: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder and those below it that end so, or the one that is named."""
    path = Path(place)
    if not path.exists():
        raise NoSuchFile(place)
    if path.is_file():
        return [path]
    return sorted(one for one in path.rglob("*") if one.suffix in suffixes and not _is_hidden(one.relative_to(path)))


def has_lines(place: str) -> bool:
    """Return whether this is a file of JSON lines, or a folder that has such files and no Parquet."""
    path = Path(place)
    if "://" in place or not (is_there(place) and path.is_dir()):
        return path.suffix in LINES
    return bool(_files(place, LINES_IN_FOLDERS)) and not is_parquet_folder(place)


def is_parquet_folder(place: str) -> bool:
    """Return whether this is a folder that has Parquet files."""
    path = Path(place)
    return (
        is_there(place)
        and path.is_dir()
        and any(not _is_hidden(one.relative_to(path)) for one in path.rglob(f"*{SUFFIX}"))
    )


def _is_hidden(path: Path) -> bool:
    return any(name.startswith((".", "_")) for name in path.parts)


def _kinds(schema: Mapping[str, pl.DataType]) -> dict[str, Kind]:
    return {name: _kind(dtype) for name, dtype in schema.items()}


def _kind(dtype: pl.DataType) -> Kind:
    if dtype.is_integer():
        return "whole"
    if dtype.is_numeric():
        return "number"
    return "text" if dtype in {pl.String, pl.Categorical} or isinstance(dtype, pl.Enum) else "other"


def _columns(headings: Headings) -> list[pl.Expr]:
    """The columns under our names, ids as text, numbers as floats of 64 bits."""
    found = []
    for name, given in headings.chosen.items():
        column = pl.col(given).cast(pl.Float64 if name in NUMBERS else pl.String)
        found.append((-column if headings.ranks and name == "score" else column).alias(name))
    return found
