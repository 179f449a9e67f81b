"""An event log: what was asked, what was shown, and what people did with it, in one long frame.

A request (a search, a question to a RAG application) is a row whose action is `query`; everything that followed it
(an impression, a click, a rating) is a row of its own with the same `query_id`.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a codec reads the types of records
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from assay.data.ratings import settle_scales
from assay.errors import InputError, cause
from assay.lazy import pl
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.source import Source

QUERY = "query"  # the action of a row that is a request
NOT_BELOW_0 = ("result_count", "propensity", "latency_ms", "input_tokens", "output_tokens", "cost", "dwell_ms")


def schema() -> Mapping[str, pl.DataType]:
    """The columns of an event log, all of which every log has; what a log does not record is null.

    `position` begins at 1. `results` are the ids of the documents that a request returned, in order: null where they
    are unknown, empty where nothing was found; `result_count` is their number, which some logs have without them.
    `feedback` is a rating as it was given: +1 and -1 of thumbs, 1 to 5 of stars, and `rating_scale`
    says which (`thumbs`, `stars`; null where that is not known). `teams` is what a request says of an interleaved
    list, as JSON: the method and the team of each result. `orphan` marks events whose request is not in the log.
    Attributes of the log that are asked for by name are further columns after these.
    """
    return {
        "query_id": pl.String(),
        "user": pl.String(),
        "session": pl.String(),
        "time": pl.Datetime("us", "UTC"),
        "action": pl.String(),
        "doc_id": pl.String(),
        "position": pl.Int32(),
        "text": pl.String(),
        "results": pl.List(pl.String()),
        "result_count": pl.Int64(),
        "experiment": pl.String(),
        "variant": pl.String(),
        "propensity": pl.Float64(),
        "teams": pl.String(),
        "latency_ms": pl.Float64(),
        "input_tokens": pl.Int64(),
        "output_tokens": pl.Int64(),
        "cost": pl.Float64(),
        "dwell_ms": pl.Float64(),
        "feedback": pl.Float64(),
        "rating_scale": pl.String(),
        "orphan": pl.Boolean(),
    }


Fate = Literal["quarantined", "merged", "kept"]
EXAMPLES = 3  # places that are shown of a fault


@dataclass(frozen=True)
class EventFault:
    """One kind of fault: how many rows have it, the first few as `file:line`, and what became of them.

    Rows are quarantined (no measure sees them), merged into another row that says the same, or kept.
    `values` are those of its sentence beside `n`.
    """

    kind: str
    rows: int
    examples: tuple[str, ...] = ()
    fate: Fate = "kept"
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """What was found and what became of it, to be read after the number of rows."""
        return say(f"events.{self.kind}", n=self.rows, **self.values)

    @property
    def sentence(self) -> str:
        """The message with its number."""
        return say("events.counted", n=self.rows, message=self.message)


@dataclass(frozen=True)
class Quarantine:
    """Rows that no measure may use, for one reason: how many, and the first few as `file:line`."""

    reason: str
    rows: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Events:
    """Rows of an event log that may be counted, and how many could not be.

    `frame` is lazy: a log may be larger than memory, and a measure reads the columns that it needs. `attributes` are
    the names of the further columns. `faults` are all that was found when it was read: `quarantine` and `notes` say the
    same, those with the rows that were set aside, these with all others.
    """

    frame: pl.LazyFrame
    attributes: tuple[str, ...] = ()
    quarantine: tuple[Quarantine, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = field(default=())
    faults: tuple[EventFault, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """All that a reader of a number from this log should know: what was set aside, and what was odd."""
        return (*(one.reason for one in self.quarantine), *self.notes)

    def over_users(self, query: Callable[[pl.LazyFrame], pl.LazyFrame]) -> pl.DataFrame:
        """Rows that a query makes of whole users and whole requests; those of parts of a log are below each other."""
        return self.collect(query(self.frame))

    def change(self, change: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Events:
        """The log with other rows, each of them made of one row."""
        return replace(self, frame=change(self.frame))

    def collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        """Run a query over the log; a file with damage that only reading it shows is refused by name."""
        try:
            return query.collect(engine="streaming")
        except (pl.exceptions.ComputeError, pl.exceptions.PanicException, OSError) as error:
            names = ", ".join(source.portable for source in self.sources)
            raise InputError(say("cannot be read: {reason}", reason=cause(error)), path=names or None) from None

    @classmethod
    def of(cls, frame: pl.DataFrame | pl.LazyFrame, attributes: Sequence[str] = ()) -> Events:
        """Make a log of a frame with some of the columns of `schema`: the others become null.

        Positions below 1, and durations, tokens and costs below 0, are refused.
        """
        lazy = frame.lazy()
        known = lazy.collect_schema()
        columns = [
            (pl.col(name) if name in known else pl.lit(None)).cast(kind).alias(name) for name, kind in schema().items()
        ]
        made = lazy.select(*columns, *attributes)
        _check_least(made, [name for name in ("position", *NOT_BELOW_0) if name in known])
        settled, notes = settle_scales(made) if "feedback" in known else (made, [])
        return cls(settled, tuple(attributes), notes=tuple(notes))


def _check_least(frame: pl.LazyFrame, names: Sequence[str]) -> None:
    """Refuse numbers that cannot be: positions begin at 1, and nothing takes less than no time."""
    least = frame.select(pl.col(name).min() for name in names).collect(engine="streaming") if names else pl.DataFrame()
    for name in names:
        limit, found = 1 if name == "position" else 0, least[name].item()
        if found is not None and found < limit:
            raise InputError(say("{name} must be at least {least}, not {found}", name=name, least=limit, found=found))
