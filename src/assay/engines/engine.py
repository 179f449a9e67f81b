"""What an engine is: it finds rows, and maps whole groups of them, such as those of a query."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from assay.engines.headings import Headings, What


KEY, LINE = "assay key", "line"  # columns of rows that are taken as they are
# Where such a row is: its file, the block of the file, its place in the block; null where rows have no order.
FILE, BLOCK, PLACE = "assay file", "assay block", "assay place"


class Kernel(Protocol):
    """Takes all rows of some groups together, and returns rows that no other group has changed."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Names and types of the columns that it returns."""

    def __call__(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Map the rows of whole groups."""


class Rows(ABC):
    """Rows where an engine found them, under our names of columns."""

    def __init__(self, headings: Headings, label: str) -> None:
        self.headings, self.label = headings, label

    @property
    def has_systems(self) -> bool:
        """Return whether the rows are of several systems, which a column names."""
        return "system" in self.headings.chosen

    @property
    def has_chunks(self) -> bool:
        """Return whether rows name a chunk besides its document."""
        return "chunk_id" in self.headings.chosen

    @property
    @abstractmethod
    def is_of_chunks(self) -> bool:
        """Return whether some row is a piece of its document, which has to be folded before documents are counted."""

    @abstractmethod
    def count(self) -> int:
        """Count the rows."""

    @abstractmethod
    def systems(self) -> list[str]:
        """The names of all systems, in order."""

    @abstractmethod
    def with_system(self, system: str) -> Rows:
        """The same rows with the name of their system."""

    @abstractmethod
    def beside(self, other: Rows) -> Rows:
        """These rows and others of the same columns."""

    @abstractmethod
    def collect(self) -> pl.DataFrame:
        """Bring all rows to this process."""

    @abstractmethod
    def digest_input(self) -> str | None:
        """What changes when the rows may have changed; None where nothing tells."""

    @abstractmethod
    def distinct(self, names: Sequence[str]) -> Rows:
        """The different rows of some columns."""

    @abstractmethod
    def map_rows(self, kernel: Kernel) -> Rows:
        """The rows that a kernel makes of any batch of rows; it must not fail."""

    @abstractmethod
    def regroup(self, by: str, order: Sequence[str] = ()) -> Rows:
        """The same rows, kept for several passes: all of a group of the column `by` together, and in an order."""

    @abstractmethod
    def map_kept(self, kernel: Kernel, by: str) -> Rows:
        """The rows that a kernel makes of whole groups of rows that were brought together by `regroup`."""

    @abstractmethod
    def release(self) -> None:
        """Let go of rows that `regroup` kept."""

    @abstractmethod
    def map_groups(
        self, kernel: Kernel, by: str = "query_id", part: int = 0, parts: int = 1, judged: Rows | None = None
    ) -> pl.DataFrame:
        """Hand all rows of each group of a part to the kernel together, with its judged rows if there are any.

        A group is what has the same value in the column `by`: a query, a document, a sample.
        """


class Engine(ABC):
    """Where the work is done."""

    name: str

    @abstractmethod
    def scan(self, data: Any, what: What, *, ordered: bool = False) -> Rows:
        """Find the rows of a run or of judgments; `ordered` ones keep the order in which they were given."""

    @abstractmethod
    def names(self, data: Any) -> list[str]:
        """The names of the columns, as they are."""

    @abstractmethod
    def scan_table(self, data: Any, key: str) -> Rows:
        """Find rows with all columns as they are, and `key`, a column of ids, as the text `KEY` besides."""

    @abstractmethod
    def schema(self, data: Any) -> pl.Schema:
        """The columns of a table, as they are, and their types."""

    @abstractmethod
    def scan_columns(self, data: Any, names: Sequence[str]) -> Rows:
        """Find rows with some columns as they are, and where each is: `FILE`, `BLOCK` and `PLACE`."""

    @abstractmethod
    def scan_lines(self, data: Any, *, ordered: bool = False) -> Rows:
        """Find the lines of text files, which are not empty, as the column `LINE`; `ordered`, where each is."""


def part_of(query: str, parts: int) -> int:
    """The part to which a query belongs, the same with any engine."""
    return zlib.crc32(query.encode()) % parts
