"""The engine of a Spark cluster: rows are brought together by query and mapped as Arrow batches by the same kernel."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engines import sessions
from assay.engines.batches import ERROR, arrow_schema, map_batches, raise_error, write_lines
from assay.engines.engine import BLOCK, FILE, KEY, LINE, PLACE, Engine, Kernel, Rows
from assay.engines.headings import NUMBERS, Headings, Kind, What, check_key, find
from assay.engines.local import LINES, LINES_IN_FOLDERS, SUFFIX, check_parts, is_parquet_folder, parquet_files
from assay.engines.sessions import ask
from assay.errors import InputError
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.engines.local import FindColumns

TABLE = "table:"  # the beginning of the name of a table in the catalogue
_ORDER = "order"
_IN_BLOCKS = ("_metadata.file_path", "_metadata.file_block_start", "monotonically_increasing_id()")
_NOWHERE = ("''", "0L", "cast(null as bigint)")
_FACTS = tuple(f"_metadata.{name}" for name in ("file_path", "file_size", "file_modification_time"))  # of files


class SparkRows(Rows):
    """Rows of a frame of Spark, under our names."""

    def __init__(self, frame: Any, headings: Headings, label: str, files: Any = None) -> None:
        super().__init__(headings, label)
        self.frame, self.files = frame, files

    def with_system(self, system: str) -> SparkRows:
        """The same rows with the name of their system."""
        from pyspark.sql import functions as F  # noqa: N812

        frame = self.frame.withColumn("system", F.lit(system))
        return SparkRows(frame, self.headings.of_systems(), self.label, self.files)

    def beside(self, other: Rows) -> SparkRows:
        """These rows and others of the same columns."""
        assert isinstance(other, SparkRows)
        known = self.files is not None and other.files is not None
        files = self.files.union(other.files) if known else None
        return SparkRows(self.frame.unionByName(other.frame), self.headings, self.label, files)

    @property
    def is_of_chunks(self) -> bool:
        """Return whether some row is a piece of its document."""
        if not self.has_chunks:
            return False
        pieces = self.frame.where("chunk_id != doc_id").limit(1)
        return bool(ask(pieces.count))

    def count(self) -> int:
        """Count the rows."""
        return int(ask(self.frame.count))

    def systems(self) -> list[str]:
        """The names of all systems, in order."""
        rows = ask(self.frame.select("system").distinct().collect)
        return sorted(str(name) for (name,) in rows if name is not None)

    def collect(self) -> pl.DataFrame:
        """Bring all rows to this process, in the order of their ids."""
        ids = [name for name in ("query_id", "doc_id", "subtopic") if name in self.frame.columns]
        found = _polars(ask(self.frame.drop(_ORDER).toArrow)).sort(ids)
        return raise_error(found) if ERROR in found.columns else found

    def outline(self) -> pl.DataFrame:
        """A few rows with the ends of all judgments: grades, the smallest above 0, queries and subtopics."""
        from pyspark.sql import functions as F  # noqa: N812

        grade = F.col("grade")
        wanted = [F.max(grade), F.min(F.when(grade > 0, grade)), F.min("query_id"), F.max("query_id")]
        if "subtopic" in self.frame.columns:
            wanted += [F.min("subtopic"), F.max("subtopic")]
        top, least, first, last, *topics = ask(lambda: self.frame.agg(*wanted).first())
        rows = {"query_id": [first, last, first], "doc_id": ["1", "2", "3"], "grade": [top, top, least or top]}
        return pl.DataFrame({**rows, **({"subtopic": [topics[0], topics[1], topics[0]]} if topics else {})}).unique(
            ["query_id", "doc_id"], maintain_order=True)  # fmt: skip

    def digest_content(self) -> str:
        """The hash that `Judgments.digest` gives these judgments, without bringing them here."""
        from pyspark.sql import functions as F  # noqa: N812

        ids = [name for name in ("query_id", "doc_id", "subtopic") if name in self.frame.columns]
        names = [*ids, "grade"]
        ordered = self.frame.select(*names).orderBy(*ids).withColumn("place", F.spark_partition_id())

        def write(batches: Iterator[Any]) -> Iterator[Any]:
            return write_lines(batches, names)

        lines = _polars(ask(lambda: ordered.mapInArrow(write, "place int, number long, lines binary").toArrow()))
        found = sha256((",".join(names) + "\n").encode())
        for text in lines.sort("place", "number")["lines"]:
            found.update(text)
        return found.hexdigest()

    def digest_input(self) -> str | None:
        """A hash of the names, sizes and times of all files, where the rows come from files."""
        if self.files is None:
            return None
        facts = sorted(map(tuple, ask(self.files.collect)))
        return sha256(repr(facts).encode()).hexdigest()

    def distinct(self, names: Sequence[str]) -> SparkRows:
        """The different rows of some columns."""
        return SparkRows(self.frame.select(*names).distinct(), self.headings, self.label)

    def map_rows(self, kernel: Kernel) -> SparkRows:
        """The rows that a kernel makes of batches, in the workers."""

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            return map_batches(batches, kernel)

        frame = ask(lambda: self.frame.mapInArrow(work, _schema(kernel))).drop(ERROR)
        return SparkRows(frame, self.headings, self.label)

    def regroup(self, by: str, order: Sequence[str] = ()) -> SparkRows:
        """The same rows, those of a group together on a worker, kept in its memory or on its disk."""
        frame = ask(lambda: self.frame.repartition(by).sortWithinPartitions(by, *order).persist())
        return SparkRows(frame, self.headings, self.label, self.files)

    def map_kept(self, kernel: Kernel, by: str) -> SparkRows:
        """The rows that a kernel makes of whole groups where they are; what is wrong is said when they are read."""

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            return map_batches(batches, kernel, by)

        frame = ask(lambda: self.frame.mapInArrow(work, _schema(kernel)))
        return SparkRows(frame, self.headings, self.label, self.files)

    def release(self) -> None:
        """Let go of rows that were kept."""
        ask(self.frame.unpersist)

    def map_groups(
        self, kernel: Kernel, by: str = "query_id", part: int = 0, parts: int = 1, judged: Rows | None = None
    ) -> pl.DataFrame:
        """Bring the rows of each group together and map them in the workers."""
        from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

        frame = self.frame
        if isinstance(judged, SparkRows):
            frame = frame.unionByName(judged.frame, allowMissingColumns=True)
        if parts > 1:
            key = F.col(_quote(by))
            mine = (F.crc32(key) % parts) == part
            frame = frame.filter(mine | key.isNull())
        order = [by, *([_ORDER] if _ORDER in frame.columns else [])]
        frame = frame.repartition(by).sortWithinPartitions(*order)

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            return map_batches(batches, kernel, by)

        return raise_error(_polars(ask(lambda: frame.mapInArrow(work, _schema(kernel)).toArrow())))


class SparkEngine(Engine):
    """A session of Spark, in process, on a cluster or behind a Connect server."""

    name = "spark"

    def __init__(self, session: Any = None, *, master: str | None = None, remote: str | None = None) -> None:
        self.session = session or sessions.start(master=master, remote=remote)
        sessions.check_workers(self.session)

    def names(self, data: Any) -> list[str]:
        """The names of the columns."""
        return list(ask(lambda: self._read(data)[1].columns))

    def scan(self, data: Any, what: What, *, ordered: bool = False) -> SparkRows:
        """Find the rows of a frame of Spark, a table of the catalogue, Parquet files, or a frame of this process."""
        label, frame, files, headings = self._open(data, lambda kinds, label: find(kinds, label, what))
        order = self._order(frame, label, is_file=files is not None) if ordered else []
        return SparkRows(frame.select(*_columns(headings), *order), headings, label, files)

    def scan_table(self, data: Any, key: str) -> SparkRows:
        """Find rows with all columns as they are, and an id."""
        from pyspark.sql import functions as F  # noqa: N812

        label, frame, files, headings = self._open(data, lambda kinds, label: check_key(kinds, key, label))
        return SparkRows(frame.withColumn(KEY, F.col(_quote(key)).cast("string")), headings, label, files)

    def schema(self, data: Any) -> pl.Schema:
        """The columns of a table, and their types as they come to a worker."""
        if isinstance(data, (str, os.PathLike)) and Path(data).exists():
            check_parts(parquet_files(os.fspath(data)), lambda _, __: Headings({}))
        return _polars(ask(lambda: self._read(data)[1].limit(0).toArrow())).schema

    def scan_columns(self, data: Any, names: Sequence[str]) -> SparkRows:
        """Find rows with some columns as they are, and their places in files, if they are from files."""
        label, frame, files = self._read(data)
        where = ("_metadata.file_path", "0L", "_metadata.row_index") if files is not None else _NOWHERE
        frame = ask(lambda: frame.select(*map(_quote, names), *_places(*where)))
        return SparkRows(frame, Headings({}), label, files)

    def scan_lines(self, data: Any, *, ordered: bool = False) -> SparkRows:
        """Find the lines of files of text; of a folder, those of all its files."""
        place = _address(os.fspath(data))
        reader = self.session.read.option("recursiveFileLookup", "true")
        if not place.endswith(LINES):
            reader = reader.option("pathGlobFilter", f"*{{{','.join(LINES_IN_FOLDERS)}}}")
        frame = ask(lambda: reader.text(place))
        files = frame.select(*_FACTS).distinct()
        where = _places(*_IN_BLOCKS) if ordered else []
        frame = frame.withColumnRenamed("value", LINE).select(LINE, *where).where(f"trim({LINE}) != ''")
        return SparkRows(frame, Headings({}), os.fspath(data), files)

    def _open(self, data: Any, find_columns: FindColumns) -> tuple[str, Any, Any, Headings]:
        """A name for messages, the frame, the files behind it if there are any, and its columns.

        Spark takes a column that one of the files lacks to be empty there: files that are here are looked at.
        """
        if isinstance(data, (str, os.PathLike)) and Path(data).exists():
            check_parts(parquet_files(os.fspath(data)), find_columns)
        label, frame, files = self._read(data)
        kinds = {field.name: _kind(field.dataType) for field in ask(lambda: frame.schema)}
        return label, frame, files, find_columns(kinds, label)

    def _read(self, data: Any) -> tuple[str, Any, Any]:
        if is_spark_frame(data):
            return say("frame"), data, None
        if isinstance(data, pl.DataFrame):
            return say("frame"), self.session.createDataFrame(_utf8(data)), None
        place = os.fspath(data)
        if place.startswith(TABLE):
            name = place.removeprefix(TABLE)
            return name, ask(lambda: self.session.table(name)), None
        frame = ask(lambda: self.session.read.parquet(_address(place)))
        return place, frame, frame.select(*_FACTS).distinct()

    @staticmethod
    def _order(frame: Any, label: str, *, is_file: bool) -> list[Any]:
        """What says in which order rows were given: their place in files, or their rank."""
        from pyspark.sql import functions as F  # noqa: N812

        if is_file:
            return [F.struct("_metadata.file_path", "_metadata.row_index").alias(_ORDER)]
        if "rank" in frame.columns:
            return [F.struct(F.lit("").alias("file_path"), F.col("rank").alias("row_index")).alias(_ORDER)]
        raise InputError(
            say("ties as given: the rows of a Spark frame have no order of their own"),
            path=label,
            hint=say('give the frame a column "rank", or use --ties docid'),
        )


def _address(place: str) -> str:
    """A place as Spark knows it, wherever it takes paths without a scheme to be."""
    return place if "://" in place or not Path(place).exists() else Path(place).resolve().as_uri()


def is_spark_frame(data: Any) -> bool:
    """Return whether this is a frame of Spark, of either kind; nothing of Spark is imported for that."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "mapInArrow")


def is_address(place: str) -> bool:
    """Return whether a place is an address of a store that Spark reads; it reads no web pages."""
    return "://" in place and not place.startswith(("http://", "https://"))


def is_lake_place(place: str) -> bool:
    """Return whether Spark reads a place itself: an address, a table, or Parquet."""
    return is_address(place) or place.startswith(TABLE) or place.lower().endswith(SUFFIX) or is_parquet_folder(place)


def _columns(headings: Headings) -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    found = []
    for name, given in headings.chosen.items():
        column = F.col(_quote(given)).cast("double" if name in NUMBERS else "string")
        found.append((-column if headings.ranks and name == "score" else column).alias(name))
    return found


def _places(*texts: str) -> list[Any]:
    """The columns that say where a row is."""
    from pyspark.sql import functions as F  # noqa: N812

    return [F.expr(text).alias(name) for name, text in zip((FILE, BLOCK, PLACE), texts, strict=True)]


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _kind(dtype: Any) -> Kind:
    name = dtype.simpleString()
    if name in {"tinyint", "smallint", "int", "bigint"}:
        return "whole"
    if name in {"float", "double"} or name.startswith("decimal"):
        return "number"
    return "text" if name.startswith(("string", "varchar", "char")) else "other"


def _schema(kernel: Kernel) -> Any:
    """The columns of a kernel as Spark has them; their names may hold any sign."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(arrow_schema(kernel))


def _polars(table: Any) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _utf8(frame: pl.DataFrame) -> Any:
    """An Arrow table whose texts and lists are of the types that every version of Spark knows."""
    import pyarrow as pa

    table = frame.to_arrow()

    def plain(kind: Any) -> Any:
        if pa.types.is_large_list(kind):
            return pa.list_(plain(kind.value_type))
        return pa.string() if pa.types.is_large_string(kind) else kind

    return table.cast(pa.schema([pa.field(field.name, plain(field.type)) for field in table.schema]))
