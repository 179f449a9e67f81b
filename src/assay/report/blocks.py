"""What a document is made of: blocks that every format renders, each in its own way. No renderer computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.report.numbers import number
from assay.report.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

Tone = Literal["", "good", "bad", "warn"]
Kind = Literal["intervals", "curves", "bars", "scatter", "density", "histogram", "frontier", "counts", "distribution"]


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
    """A mark of a chart: a place, an interval or a second place, a name and the series it belongs to.

    `to` is the address within the document that the mark leads to, where a format has links.
    """

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None
    series: str = ""
    label: str = ""
    to: str = ""


@dataclass(frozen=True)
class Chart:
    """A picture of points; `table` says the same in words and numbers where there are no pictures.

    `rules` are places on the x axis with their names. In a histogram, bars reach from `low` to `high` and are `y` tall;
    in a density, cells from (x, y) on hold `low` queries each and are `step` wide; a frontier has a `line` along it;
    counts are bars named by x, distributions a row of bars for each series.
    `lower` says that a lower value is better: what fell has the colour of a gain. `write` and `write_x` write numbers
    as its table does.
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
    write: Callable[[float], str] = number
    write_x: Callable[[float], str] = "{:g}".format

    @property
    def is_flat(self) -> bool:
        """Return whether there is nothing to see: its points do not differ where the picture should show it."""
        if self.kind == "frontier":
            return len({point.x for point in self.points}) < 2 or len({point.y for point in self.points}) < 2  # noqa: PLR2004
        if self.kind in {"bars", "curves"}:
            return not self.points or len({(point.y, point.low, point.high) for point in self.points}) == 1
        if self.kind in {"histogram", "distribution"}:
            return sum(point.y > 0 for point in self.points) < 2  # noqa: PLR2004
        return not self.points


@dataclass(frozen=True)
class Figure:
    """The number behind a decision: what it is, its value, its interval or why it has none."""

    name: str
    value: str
    interval: str = ""


@dataclass(frozen=True)
class Step:
    """Something to do next; `to` is the address within the document that it leads to."""

    text: str
    to: str = ""


@dataclass(frozen=True)
class Decision:
    """What a document says first: one decision, why, the number behind it, one picture, and what to do next."""

    text: str
    tone: Tone = ""
    why: tuple[str, ...] = ()
    figure: Figure | None = None
    chart: Chart | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Headline:
    """What another part found, in a sentence, and where it is shown."""

    title: str
    verdict: Verdict
    to: str = ""


@dataclass(frozen=True)
class Outline:
    """The findings of all parts, one a line."""

    findings: tuple[Headline, ...]


@dataclass(frozen=True)
class Cast:
    """Who a document is about: the systems in it, the one that others are compared with, the best, and when.

    Renderers give every system one colour by it; it is not shown itself.
    """

    systems: tuple[str, ...]
    baseline: str = ""
    best: str = ""
    days: tuple[str, ...] = ()


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
    tone: Tone = ""


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


Block = (
    Heading | Lines | Table | Verdict | Facts | Chart | Drilldown | Cases | Fold | Section | Decision | Outline | Cast
)
