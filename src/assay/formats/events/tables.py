"""Event logs as tables: CSV, TSV, flat JSON lines and Parquet, whose columns have UBI's names or those of a map.

Parquet is not read here but scanned: a measure reads the columns that it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.data.events import QUERY, schema
from assay.errors import InputError, UnknownName, excerpt
from assay.formats import columns
from assay.formats.columns import EVENT, SAMPLE, has_any
from assay.formats.decoding import decode
from assay.formats.events.rows import FileRows, columns_of
from assay.formats.events.ubi import NUMBERS
from assay.formats.events.values import RATING_WORDS, action_of, rating_of_action, scale_of_name, time_columns
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.events import EventFault
    from assay.data.source import Source

_ATTRIBUTES = ("event_attributes", "query_attributes")
# Where UBI has what is a column elsewhere, inside its attributes.
_INSIDE = {
    "doc_id": ("object.object_id", "object_id"),
    "position": ("position.ordinal",),
    "session": ("session_id",),
    "experiment": ("experiment.id",),
    "variant": ("experiment.variant", "variant"),
    "propensity": ("propensity",),
    "teams": ("interleaving",),
    "latency_ms": ("latency_ms",),
    "result_count": ("result_count",),
    "input_tokens": ("usage.input_tokens", "usage.prompt_tokens"),
    "output_tokens": ("usage.output_tokens", "usage.completion_tokens"),
    "cost": ("usage.cost", "usage.cost_usd"),
    "dwell_ms": ("dwell_ms",),
    "dwell_time": ("dwell_time",),
    "feedback": ("feedback",),
    "agent": ("user_agent", "browser"),
}


@dataclass(frozen=True)
class TableValue:
    """A column, or a value inside one."""

    value: pl.Expr
    kind: pl.DataType


def rows_of_table(
    frame: pl.LazyFrame,
    source: Source,
    asked: Mapping[str, str],
    attributes: Sequence[str],
    faults: Sequence[EventFault],
) -> FileRows:
    """Understand the columns of a table with a column `_line` as those of a log."""
    known = {name: kind for name, kind in frame.collect_schema().items() if name != "_line"}
    names = list(known)
    used = _find_columns(names, source.label, asked)
    table = _Table(known, used, source.label)
    if not asked:
        _refuse_samples(names, source.label)
    if not table.has("action") and not (table.has("text") or table.has("results")):
        columns.find(names, EVENT["action"], path=source.label, needed=say("event logs"))
    picked = frame.select(*table.columns(frame), *(table.attribute(name) for name in attributes), "_line")
    shown = {field: name for field, name in used.items() if field in schema()}
    return FileRows(picked.select(columns_of(attributes)), source, tuple(faults), columns.notes(shown))


def find_used(
    schema: Mapping[str, pl.DataType], label: str, asked: Mapping[str, str], attributes: Sequence[str]
) -> list[str]:
    """The columns of a table that `rows_of_table` reads, in their order."""
    table = _Table(schema, _find_columns(list(schema), label, asked), label)
    values = [cell.value for cells in table.cells.values() for cell in cells] + [*map(table.attribute, attributes)]
    read = {name for value in values for name in value.meta.root_names()} | {*_ATTRIBUTES, "rating_scale"}
    return [name for name in schema if name in read]


_OF_SAMPLES = ("answer", "reference", "gold_ids")  # what logs do not have


def _refuse_samples(names: Sequence[str], label: str) -> None:
    """Refuse questions with their answers, of which no column says that somebody asked them or when."""
    answered = has_any(names, SAMPLE["question"], SAMPLE["contexts"]) and has_any(
        names, *(SAMPLE[name] for name in _OF_SAMPLES)
    )
    logged = has_any(names, *(EVENT[name] for name in ("action", "user", "session", "time", "feedback")))
    if answered and not logged:
        raise InputError(
            say("these are samples, questions with their answers, and no event log"),
            path=label,
            hint=say("a log has a column for the action, the user or the time: name it with --map action=COLUMN"),
        )


def _find_columns(names: Sequence[str], label: str, asked: Mapping[str, str]) -> dict[str, str]:
    """The column of each field: the one that was asked for, else the one whose name is known."""
    for field in asked:
        if field not in EVENT:
            raise UnknownName(say("field"), field, EVENT, hint=say("the fields are {fields}", fields=list(EVENT)))
    free = [name for name in names if name not in asked.values()]
    found = {field: columns.find(free, heading, path=label) for field, heading in EVENT.items() if field not in asked}
    return {**{field: name for field, name in found.items() if name}, **asked}


class _Table:
    """The columns of a log as expressions over those of a table."""

    def __init__(self, known: Mapping[str, pl.DataType], used: Mapping[str, str], label: str) -> None:
        self.known = known
        self.used = used
        self.label = label
        self.cells = {field: self._cells(field) for field in EVENT}

    def has(self, field: str) -> bool:
        return bool(self.cells[field])

    def columns(self, frame: pl.LazyFrame) -> Iterator[pl.Expr]:
        """All that `columns_of` needs but the attributes and the line."""
        action, ratings = self._action(frame)
        yield action.alias("action")
        for name in ("query_id", "user", "session", "doc_id", "text", "experiment", "variant", "teams"):
            yield self.text(name).alias(name)
        yield self.text("application").alias("_application")
        yield self.text("agent").alias("_agent")
        yield from self._times()
        yield self._results().alias("results")
        for name in NUMBERS:
            if name not in {"feedback", "dwell_ms"}:
                yield self.number(name).alias(name)
        yield pl.coalesce(self.number("dwell_ms"), self.number("dwell_time") * 1000).alias("dwell_ms")
        yield pl.coalesce(self._feedback(), ratings).alias("feedback")
        yield self._scale(ratings).alias("rating_scale")
        yield self._is_bare().alias("_bare")
        yield pl.any_horizontal(pl.lit(value=False), *self._unreadable()).alias("_bad_number")

    def attribute(self, name: str) -> pl.Expr:
        """An attribute that was asked for by its name, as text."""
        found = [cell for path in (name, *(f"{top}.{name}" for top in _ATTRIBUTES)) if (cell := self._at(path))]
        return pl.coalesce(pl.lit(None, pl.String), *(_as_text(cell) for cell in found)).alias(name)

    def text(self, field: str) -> pl.Expr:
        return pl.coalesce(pl.lit(None, pl.String), *(_as_text(cell) for cell in self.cells[field]))

    def number(self, field: str) -> pl.Expr:
        return pl.coalesce(pl.lit(None, pl.Float64), *(_as_number(cell) for cell in self.cells[field]))

    def _cells(self, field: str) -> list[TableValue]:
        if field in self.used:
            cell = self._at(self.used[field])
            if cell is None:
                raise InputError(
                    say("no column {name} for {field}", name=excerpt(self.used[field]), field=field),
                    path=self.label,
                    hint=say("the columns are {names}", names=columns.list_names(self.known)),
                )
            return [cell]
        paths = [f"{top}.{path}" for top in _ATTRIBUTES for path in _INSIDE.get(field, ())]
        return [cell for path in paths if (cell := self._at(path)) is not None]

    def _at(self, path: str) -> TableValue | None:
        """A column, a field inside a column of objects, or one inside a column of JSON texts."""
        if path in self.known:
            return TableValue(pl.col(path), self.known[path])
        top, _, rest = path.partition(".")
        if not rest or top not in self.known:
            return None
        if self.known[top] == pl.String:
            return TableValue(pl.col(top).str.json_path_match(f"$.{rest}"), pl.String())
        value, kind = pl.col(top), self.known[top]
        for name in rest.split("."):
            inner: dict[str, Any] = dict(kind.to_schema()) if isinstance(kind, pl.Struct) else {}
            if name not in inner:
                return None
            value, kind = value.struct.field(name), inner[name]
        return TableValue(value, kind)

    def _action(self, frame: pl.LazyFrame) -> tuple[pl.Expr, pl.Expr]:
        """The names of actions here, and ratings that are actions; a table of requests alone has none."""
        if not self.has("action"):
            return pl.lit(QUERY), pl.lit(None, pl.Float64)
        given = self.text("action")
        names = frame.select(given.unique()).collect(engine="streaming").to_series().drop_nulls().to_list()
        ours = {name: action for name in names if (action := action_of(name) or None) != name}
        rated = {name: value for name in names if (value := rating_of_action(name)) is not None}
        return _replace(given, ours), _look_up(given, rated)

    def _times(self) -> list[pl.Expr]:
        """The time of a row, and what is wrong with it."""
        cells = self.cells["time"] or [TableValue(pl.lit(None, pl.String), pl.String())]
        return time_columns(cells[0].value, cells[0].kind)

    def _results(self) -> pl.Expr:
        return pl.coalesce(pl.lit(None, pl.List(pl.String)), *(_as_list(cell) for cell in self.cells["results"]))

    def _feedback(self) -> pl.Expr:
        return pl.coalesce(pl.lit(None, pl.Float64), *(_as_rating(cell) for cell in self.cells["feedback"]))

    def _scale(self, ratings: pl.Expr) -> pl.Expr:
        """The scale of a rating where its action, its value or the name of its column says it."""
        told = [pl.col("rating_scale").cast(pl.String)] if "rating_scale" in self.known else []
        told.append(pl.when(ratings.is_not_null()).then(pl.lit("thumbs")))
        named = scale_of_name(self.used.get("feedback", ""))
        for cell in self.cells["feedback"]:
            worded = pl.lit(value=cell.kind == pl.Boolean) | (
                _as_rating(cell).is_not_null() & _as_number(cell).is_null()
            )
            told.append(pl.when(worded & cell.value.is_not_null()).then(pl.lit("thumbs")))
            told.append(pl.when(_as_rating(cell).is_not_null()).then(pl.lit(named, pl.String)))
        return pl.coalesce(*told)

    def _is_bare(self) -> pl.Expr:
        top = _ATTRIBUTES[0]
        is_event = self.text("action").is_not_null() if self.has("action") else pl.lit(value=False)
        return is_event & pl.col(top).is_null() if top in self.known else pl.lit(value=False)

    def _unreadable(self) -> Iterator[pl.Expr]:
        """Whether a number is there that cannot be read, column by column."""
        for name in (*NUMBERS, "dwell_time"):
            read = _as_rating if name == "feedback" else _as_number
            for cell in self.cells[name]:
                if cell.kind == pl.String:
                    yield (cell.value.str.strip_chars() != "").fill_null(value=False) & read(cell).is_null()


# As expressions, `replace` and `replace_strict` hold all rows of a file in memory: here they get them part by part.
def _replace(text: pl.Expr, names: Mapping[str, str | None]) -> pl.Expr:
    """Other names where there is one, else the text."""
    if not names:
        return text
    return text.map_batches(lambda part: part.replace(names), return_dtype=pl.String, is_elementwise=True)


def _look_up(text: pl.Expr, numbers: Mapping[str, float]) -> pl.Expr:
    """The numbers of texts, null where there is none."""
    if not numbers:
        return pl.lit(None, pl.Float64)

    def find(part: pl.Series) -> pl.Series:
        return part.replace_strict(numbers, default=None, return_dtype=pl.Float64)

    return text.map_batches(find, return_dtype=pl.Float64, is_elementwise=True)


def _as_text(cell: TableValue) -> pl.Expr:
    """A text; whole numbers that a library turned into floats read as whole numbers, objects and lists as JSON."""
    if cell.kind.is_float():
        whole = cell.value.cast(pl.Int64, strict=False)
        return pl.when(whole == cell.value).then(whole.cast(pl.String)).otherwise(cell.value.cast(pl.String))
    if isinstance(cell.kind, pl.Struct):
        return cell.value.struct.json_encode()
    if cell.kind.is_nested() or cell.kind == pl.Binary:
        return pl.lit(None, pl.String)
    return cell.value.cast(pl.String, strict=False)


def _as_number(cell: TableValue) -> pl.Expr:
    if cell.kind.is_nested() or cell.kind.is_temporal() or cell.kind in (pl.Binary, pl.Object):
        return pl.lit(None, pl.Float64)
    value = cell.value.str.strip_chars() if cell.kind == pl.String else cell.value
    number = value.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _as_rating(cell: TableValue) -> pl.Expr:
    if cell.kind == pl.Boolean:
        return pl.when(cell.value).then(1.0).when(~cell.value).then(-1.0)
    if cell.kind != pl.String:
        return _as_number(cell)
    key = cell.value.str.to_lowercase().str.replace_all(r"[\s_-]", "")
    words = _look_up(key, RATING_WORDS)
    return pl.coalesce(_as_number(cell), words)


def _as_list(cell: TableValue) -> pl.Expr:
    """Ids of a list; a text is a list of JSON, or has | between the ids."""
    if isinstance(cell.kind, pl.List) and not pl.Series(dtype=cell.kind.inner).dtype.is_nested():
        return cell.value.cast(pl.List(pl.String), strict=False)
    if cell.kind != pl.String:
        return pl.lit(None, pl.List(pl.String))
    return cell.value.map_batches(_split_all, return_dtype=pl.List(pl.String), is_elementwise=True)


def _split_all(texts: pl.Series) -> pl.Series:
    return pl.Series(texts.name, [None if text is None else _split(text) for text in texts], pl.List(pl.String))


def _split(text: str) -> list[str] | None:
    if not text.lstrip().startswith("["):
        return [one.strip() for one in text.split("|")] if text.strip() else None
    try:
        return [str(one) for one in decode(text)]
    except (ValueError, TypeError):
        return None
