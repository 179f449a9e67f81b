"""The engine of this machine: Parquet folders of any size, whose queries are read some at a time."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engines.engine import Engine, Kernel, Rows, part_of
from assay.engines.headings import NUMBERS, Headings, Kind, What, find
from assay.errors import InputError, NoSuchFile, UsageError
from assay.formats.parquet import is_sound_file
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".parquet"


class LocalRows(Rows):
    """Rows that Polars reads."""

    def __init__(self, frame: pl.LazyFrame, headings: Headings, label: str, files: Sequence[Path] = ()) -> None:
        super().__init__(headings, label)
        self.frame, self.files = frame, files

    def named(self, system: str) -> LocalRows:
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
        columns = list(self.headings.chosen)
        frame = pl.concat([self.frame.select(columns), other.frame.select(columns)])
        files = [*self.files, *other.files] if self.files and other.files else []
        return LocalRows(frame, self.headings, self.label, files)

    @property
    def is_of_chunks(self) -> bool:
        """Return whether some row is a piece of its document."""
        if not self.has_chunks:
            return False
        pieces = self.frame.select((pl.col("chunk_id") != pl.col("doc_id")).any())
        return bool(pieces.collect(engine="streaming").item())

    def count(self) -> int:
        """Count the rows."""
        return int(self.frame.select(pl.len()).collect(engine="streaming").item())

    def systems(self) -> list[str]:
        """The names of all systems, in order."""
        found = self.frame.select(pl.col("system").unique()).collect(engine="streaming")
        return sorted(found["system"].drop_nulls().to_list())

    def collect(self) -> pl.DataFrame:
        """Read all rows."""
        return self.frame.collect()

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
        return LocalRows(kernel(self.frame.collect()).lazy(), self.headings, self.label)

    def map_groups(
        self, kernel: Kernel, by: str = "query_id", part: int = 0, parts: int = 1, judged: Rows | None = None
    ) -> pl.DataFrame:
        """Read the groups of a part and hand them to the kernel at once."""
        frames = [self.frame] + ([judged.frame] if isinstance(judged, LocalRows) else [])
        rows = pl.concat(frames, how="diagonal") if judged is not None else frames[0]
        if parts > 1:
            keys = rows.select(pl.col(by).unique()).collect(engine="streaming")[by].drop_nulls()
            mine = [key for key in keys.to_list() if part_of(key, parts) == part]
            # A row without a key is in every part, to be refused there.
            rows = rows.filter(pl.col(by).is_in(mine) | pl.col(by).is_null())
        return kernel(rows.collect().sort(by, maintain_order=True))


class LocalEngine(Engine):
    """Everything in this process."""

    name = "local"

    def names(self, data: Any) -> list[str]:
        """The names of the columns of the first file."""
        return list(pl.scan_parquet(parquet_files(os.fspath(data))[0], hive_partitioning=True).collect_schema())

    def scan(self, data: Any, what: What, *, ordered: bool = False) -> LocalRows:
        """Find the rows of a Parquet file or of all such files in a folder, in the order of their names."""
        del ordered  # they always are
        if isinstance(data, pl.DataFrame):
            kinds = {name: _kind(dtype) for name, dtype in data.schema.items()}
            found = find(kinds, say("frame"), what)
            return LocalRows(data.lazy().select(_columns(found)), found, say("frame"))
        if not isinstance(data, (str, os.PathLike)):
            raise UsageError(
                say("the local engine reads Parquet files and folders, not {kind}", kind=type(data).__name__)
            )
        label = os.fspath(data)
        files = parquet_files(label)
        headings: Headings | None = None
        for path in files:
            found = self._headings(path, what)
            if headings is not None and found != headings:
                raise InputError(
                    say("the columns are not those of {other}", other=files[0].name),
                    path=str(path),
                    hint=say("every part of a folder needs the same columns"),
                )
            headings = found
        assert headings is not None
        frame = pl.scan_parquet(files, missing_columns="raise", extra_columns="ignore", hive_partitioning=True)
        return LocalRows(frame.select(_columns(headings)), headings, label, files)

    @staticmethod
    def _headings(path: Path, what: What) -> Headings:
        if not is_sound_file(path, str(path)):
            raise InputError(say("the Parquet file is damaged"), path=str(path), hint=say("write the part again"))
        frame = pl.scan_parquet(path, hive_partitioning=True)
        kinds = {name: _kind(dtype) for name, dtype in frame.collect_schema().items()}
        return find(kinds, str(path), what)


def parquet_files(place: str) -> list[Path]:
    """The Parquet files of a folder and those below it, or the one that is named; marks and drafts are none."""
    path = Path(place)
    if not path.exists():
        raise NoSuchFile(place)
    if path.is_file():
        return [path]
    found = sorted(one for one in path.rglob(f"*{SUFFIX}") if not _is_hidden(one.relative_to(path)))
    if not found:
        raise InputError(say("the folder has no Parquet files"), path=place)
    return found


def is_parquet_folder(place: str) -> bool:
    """Return whether this is a folder that has Parquet files."""
    path = Path(place)
    return path.is_dir() and any(not _is_hidden(one.relative_to(path)) for one in path.rglob(f"*{SUFFIX}"))


def _is_hidden(path: Path) -> bool:
    return any(name.startswith((".", "_")) for name in path.parts)


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
