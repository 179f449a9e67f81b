"""What a document is made of: blocks that every format renders, each in its own way. No renderer computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.report.tables import Table

Tone = Literal["", "good", "bad", "warn"]
Kind = Literal["intervals", "curves", "bars", "scatter", "density", "histogram", "frontier"]


@dataclass(frozen=True)
class Heading:
    """A title of a part."""

    text: str


@dataclass(frozen=True)
class Lines:
    """Sentences, one a line; as a list where `listed`."""

    lines: tuple[str, ...]
    listed: bool = False


@dataclass(frozen=True)
class Verdict:
    """The sentence that a reader in a hurry should see."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Facts:
    """A few labelled values; the third text of an item says more about it."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Point:
    """A mark of a chart: a place, an interval or a second place, a name and the series it belongs to."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    label: str = ""


@dataclass(frozen=True)
class Chart:
    """A picture of points; `table` says the same in words and numbers where there are no pictures.

    `rules` are places on the x axis with their names. In a histogram, bars reach from `low` to `high` and are `y` tall;
    in a density, cells from (x, y) on hold `low` queries each and are `step` wide; a frontier has a `line` along it.
    `lower` says that a lower value is better: what fell has the colour of a gain.
    """

    name: str
    kind: Kind
    title: str
    x: str
    y: str
    points: tuple[Point, ...]
    table: Table
    rules: tuple[tuple[float, str], ...] = ()
    step: float = 0.0
    line: tuple[tuple[float, float], ...] = ()
    lower: bool = False


@dataclass(frozen=True)
class Entry:
    """A document in a ranked list; `moved` is how far it rose against the baseline, None where that lacks it."""

    doc_id: str
    grade: float | None
    moved: int | None = None


@dataclass(frozen=True)
class AnswerSpan:
    """A part of an answer and how far it is supported; a part between statements has no support."""

    text: str
    support: float | None = None
    tone: Tone = ""
    context: str = ""
    evidence: str = ""
    reason: str = ""


@dataclass(frozen=True)
class AnswerView:
    """An answer in its statements, with the contexts it was given; an answer without a stage has the reason there."""

    question: str
    statements: tuple[AnswerSpan, ...]
    contexts: tuple[tuple[str, str], ...]
    method: str
    stage: str
    system: str = ""
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """One query: the values of every system (in the order of the drill-down's measures), lists, answers."""

    query_id: str
    text: str
    values: tuple[tuple[float | None, ...], ...]
    lists: tuple[tuple[Entry, ...], ...] = ()
    samples: tuple[AnswerView, ...] = ()


@dataclass(frozen=True)
class Drilldown:
    """Every query with all that is known of it; the first system is the one that moves are counted from."""

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    views: tuple[View, ...]
    documents: dict[str, str]
    top: float = 1.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseOutcome:
    """One thing that was checked: `outcome` is its wording, `result` whether it stops anything."""

    suite: str
    name: str
    outcome: str
    result: Literal["passed", "failed", "skipped"]
    message: str
    tone: Tone = ""


@dataclass(frozen=True)
class Cases:
    """Checks with their outcomes; `notes` are what a reader should know about each suite of them."""

    cases: tuple[CaseOutcome, ...]
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Fold:
    """Blocks that a reader opens when wanted."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    """A page of a report; `key` is its address."""

    key: str
    title: str
    blocks: tuple[Block, ...]


Block = Heading | Lines | Table | Verdict | Facts | Chart | Drilldown | Cases | Fold | Section
