"""UBI logs in JSON lines: queries and events, plain, as bulk actions, or as an export with `_source`.

Each line is decoded into a record of the fields that are used; all else is skipped over without being built. Names of
earlier versions of UBI are fields of their own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from assay.data.events import QUERY
from assay.formats.events.faults import LineFaults
from assay.formats.events.values import action_of, rating_of, rating_of_action, scale_of, time_columns
from assay.lazy import pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Id = str | int | float | None
Number = float | None
# Names that only UBI's documents have, and those of the lines before a document and around it.
_SIGNS = {"action_name", "user_query", "query_response_id", "query_response_hit_ids", "query_response_object_ids"}
_BULK = ({"index"}, {"create"}, {"update"}, {"delete"})
_NO_RESULTS_ASKED = '{"size":0'  # how a request for facets alone begins: that it returned nothing says nothing


class _UbiRow(msgspec.Struct, gc=False):
    pass


class ObjectEntry(_UbiRow):
    """The document that an event is about."""

    object_id: Id = None


class PositionEntry(_UbiRow):
    """Where an event happened."""

    ordinal: Number = None


class ExperimentEntry(_UbiRow):
    """The experiment that a request was part of."""

    id: Id = None
    variant: Id = None


class UsageEntry(_UbiRow):
    """What a request used."""

    input_tokens: Number = None
    prompt_tokens: Number = None
    output_tokens: Number = None
    completion_tokens: Number = None
    cost: Number = None
    cost_usd: Number = None


class Attributes(_UbiRow):
    """`query_attributes` and `event_attributes`, as far as they are used."""

    object: ObjectEntry | None = None
    data: ObjectEntry | None = None
    object_id: Id = None
    position: PositionEntry | float | None = None
    session_id: Id = None
    user_id: Id = None
    experiment: ExperimentEntry | str | None = None
    variant: Id = None
    propensity: Number = None
    interleaving: Any = None
    latency_ms: Number = None
    result_count: Number = None
    usage: UsageEntry | None = None
    dwell_time: Number = None
    dwell_ms: Number = None
    feedback: Any = None
    browser: Any = None
    user_agent: Any = None


class Line(_UbiRow, rename={"source": "_source", "at_timestamp": "@timestamp"}):
    """A line: a query, an event, the action before a document, or a document inside `_source`."""

    source: Line | None = None
    action_name: Id = None
    query_id: Id = None
    client_id: Id = None
    user_id: Id = None
    session_id: Id = None
    timestamp: Id = None
    at_timestamp: Id = None
    application: Id = None
    user_query: Id = None
    message: Any = None
    message_type: Any = None
    query: Any = None
    query_response_hit_ids: list[Id] | None = None
    query_response_object_ids: list[Id] | None = None
    query_attributes: Attributes | None = None
    event_attributes: Attributes | None = None
    index: Any = None
    create: Any = None
    update: Any = None
    delete: Any = None


class Whole(_UbiRow, rename={"source": "_source"}):
    """A line with all of its attributes, for those that are asked for by name."""

    source: Whole | None = None
    query_attributes: dict[str, Any] | None = None
    event_attributes: dict[str, Any] | None = None


_NOTHING = Attributes()
_NO_USAGE = UsageEntry()
_EMPTY = Whole()
_SEARCH_MESSAGE = "QUERY"


def looks_like_ubi(names: Iterable[str]) -> bool:
    """Return whether an object is a document of UBI, the action before one, or one inside `_source`, by its names."""
    found = set(names)
    return bool(found & _SIGNS) or "_source" in found or found in _BULK


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line, strict=False)  # numbers may be texts


@lru_cache(maxsize=1)
def _whole_decoder() -> msgspec.json.Decoder[Whole]:
    return msgspec.json.Decoder(Whole)


# Columns of what is read, positions as they are counted in the log.
TEXTS = ("query_id", "user", "session", "time", "action", "doc_id", "text", "experiment", "variant",
         "teams", "rating_scale", "_application", "_agent")  # fmt: skip
NUMBERS = ("position", "result_count", "propensity", "latency_ms", "input_tokens", "output_tokens", "cost", "dwell_ms",
           "feedback")  # fmt: skip


def read_slice(data: bytes, first: int, label: str, attributes: Sequence[str], tally: LineFaults) -> pl.DataFrame:
    """Read whole lines, of which `first` is the number of the first; what is no query and no event is counted."""
    found = _documents(data, first, label, _decoder(), tally)
    rows = [(number, one) for number, one in found if not _is_bulk_action(one)]
    kept = [(number, one) for number, one in rows if _is_document(one)]
    if len(kept) < len(rows):
        for number, one in rows:
            if not _is_document(one):
                tally.add("no_document", f"{label}:{number}")
    frame = _frame([number for number, _ in kept], [one for _, one in kept])
    if not attributes:
        return frame
    more = dict(_documents(data, first, label, _whole_decoder(), LineFaults()))
    lines = [more.get(number, _EMPTY) for number, _ in kept]
    details = [one.event_attributes or one.query_attributes for one in lines]
    return frame.with_columns(text_series(name, [_dig(one, name) for one in details]) for name in attributes)


def decode_lines(
    data: bytes, first: int, label: str, decoder: msgspec.json.Decoder[Any], tally: LineFaults
) -> list[tuple[int, Any]]:
    """Decode all lines at once; where one of them is faulty or empty, line by line, which counts the faults."""
    lines = data.removesuffix(b"\n").count(b"\n") + 1
    try:
        found = decoder.decode_lines(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        found = []
    if len(found) == lines:
        return list(enumerate(found, first))
    return list(_decode_singly(data, first, label, decoder, tally))


def _decode_singly(
    data: bytes, first: int, label: str, decoder: msgspec.json.Decoder[Any], tally: LineFaults
) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(data.split(b"\n"), first):
        if not line.strip():
            continue
        try:
            yield number, decoder.decode(line)
        except msgspec.ValidationError:
            tally.add("schema", f"{label}:{number}")
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            tally.add("truncated" if _is_cut(line, data) else "no_json", f"{label}:{number}")


def _documents(
    data: bytes, first: int, label: str, decoder: msgspec.json.Decoder[Any], tally: LineFaults
) -> list[tuple[int, Any]]:
    """Decode all lines, and take documents of an export out of their `_source`."""
    found = decode_lines(data, first, label, decoder, tally)
    return [(number, one if one.source is None else one.source) for number, one in found]


def _is_cut(line: bytes, data: bytes) -> bool:
    """Return whether this is the last line of a file, and begins like an object but does not end like one."""
    return data.rstrip().endswith(line.rstrip()) and line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")


def _is_document(line: Any) -> bool:
    return line.action_name is not None or line.user_query is not None or _hits(line) is not None


def _is_bulk_action(line: Any) -> bool:
    is_action = line.index is not None or line.create is not None or line.update is not None or line.delete is not None
    return is_action and not _is_document(line)


def _hits(line: Any) -> list[Id] | None:
    hits: list[Id] | None = line.query_response_hit_ids
    return line.query_response_object_ids if hits is None else hits


def _frame(numbers: list[int], lines: list[Any]) -> pl.DataFrame:
    """The rows as a frame."""
    details = [one.event_attributes or one.query_attributes or _NOTHING for one in lines]
    names = {one.action_name for one in lines} - {None}
    actions = {None: QUERY, **{name: action_of(str(name)) for name in names}}
    ratings = {None: None, **{name: rating_of_action(str(name)) for name in names}}
    usage = [one.usage or _NO_USAGE for one in details]
    trials = [one.experiment for one in details]
    columns: dict[str, list[Any]] = {
        "query_id": [one.query_id for one in lines],
        "user": [one.client_id or one.user_id or more.user_id for one, more in zip(lines, details, strict=True)],
        "session": [one.session_id or more.session_id for one, more in zip(lines, details, strict=True)],
        "time": [one.timestamp if one.timestamp is not None else one.at_timestamp for one in lines],
        "action": [actions[one.action_name] for one in lines],
        "doc_id": [_thing(one) for one in details],
        "position": [_ordinal(one.position) for one in details],
        "text": [_text(one) for one in lines],
        "result_count": [one.result_count for one in details],
        "experiment": [one.id if isinstance(one, ExperimentEntry) else one for one in trials],
        "variant": [
            (one.variant if isinstance(one, ExperimentEntry) else None) or more.variant
            for one, more in zip(trials, details, strict=True)
        ],
        "propensity": [one.propensity for one in details],
        "teams": [one.interleaving for one in details],
        "latency_ms": [one.latency_ms for one in details],
        "input_tokens": [one.prompt_tokens if one.input_tokens is None else one.input_tokens for one in usage],
        "output_tokens": [one.completion_tokens if one.output_tokens is None else one.output_tokens for one in usage],
        "cost": [one.cost_usd if one.cost is None else one.cost for one in usage],
        "dwell_ms": [_dwell(one) for one in details],
        "feedback": [
            ratings[one.action_name] if more.feedback is None else rating_of(more.feedback)
            for one, more in zip(lines, details, strict=True)
        ],
        "rating_scale": [
            scale_of(more.feedback) if ratings[one.action_name] is None else "thumbs"
            for one, more in zip(lines, details, strict=True)
        ],
        "_application": [one.application for one in lines],
        "_agent": [one.user_agent or one.browser for one in details],
    }
    return pl.DataFrame(
        [
            pl.Series("_line", numbers, pl.Int64),
            *(text_series(name, columns[name]) for name in TEXTS),
            *(pl.Series(name, columns[name], pl.Float64) for name in NUMBERS),
            pl.Series("results", [_results(one) for one in lines], pl.List(pl.String)),
            pl.Series("_bare", [_is_bare(one) for one in lines], pl.Boolean),
            pl.Series("_bad_number", [False] * len(lines), pl.Boolean),  # a line with one does not fit the schema
        ]
    ).with_columns(time_columns(pl.col("time"), pl.String()))


def text_series(name: str, values: list[Any]) -> pl.Series:
    """A column of texts; other values are written as text, objects and lists as JSON."""
    try:
        return pl.Series(name, values, pl.String)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, list(map(_as_text, values)), pl.String)


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else msgspec.json.encode(value).decode()


def _thing(more: Attributes) -> Id:
    """The document of an event: directly under the attributes in early versions of UBI."""
    if more.object is not None and more.object.object_id is not None:
        return more.object.object_id
    return more.object_id if more.data is None or more.object_id is not None else more.data.object_id


def _ordinal(place: PositionEntry | float | None) -> float | None:
    return place.ordinal if isinstance(place, PositionEntry) else place


def _text(line: Any) -> Any:
    """The query as it was typed; the message of an event that is a search."""
    return line.message if line.user_query is None and line.message_type == _SEARCH_MESSAGE else line.user_query


def _dwell(more: Attributes) -> float | None:
    """Milliseconds; UBI's `dwell_time` is in seconds."""
    return more.dwell_ms if more.dwell_time is None else more.dwell_time * 1000


def _results(line: Any) -> list[str | None] | None:
    """The ids of what a request returned; unknown where it asked for no documents, but for facets."""
    hits = _hits(line)
    if not hits:
        asked_none = isinstance(line.query, str) and line.query.replace(" ", "").startswith(_NO_RESULTS_ASKED)
        return None if hits is None or asked_none else []
    return [_as_text(one) for one in hits]


def _is_bare(line: Any) -> bool:
    return line.action_name is not None and line.event_attributes is None


def _dig(found: Any, path: str) -> Any:
    """The value under a name, or under a path of names with dots between them."""
    if isinstance(found, dict) and path in found:
        return found[path]
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found
