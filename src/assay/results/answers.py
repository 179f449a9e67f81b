"""What was found out about answers: the support of each statement with its evidence, the stage, the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from assay.data.record import Record, Value
from assay.data.samples import Sample
from assay.data.status import Status
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.parts import part
from assay.results.support import Statement, Support, SupportLevel
from assay.stats.intervals import Interval

AnswerStage = Literal[
    "not retrieved",
    "retrieved but not used",
    "used but not supported",
    "should have refused",
    "wrong refusal",
    "right refusal",
    "fine",
]
ANSWER_STAGES: tuple[AnswerStage, ...] = get_args(AnswerStage)
FINE_STAGES: frozenset[str] = frozenset({"fine", "right refusal"})

_WEAKEST = 8


@dataclass(frozen=True)
class AnswerCell:
    """One value of one sample: the method that found it, and why there is none if there is none.

    `note` is what a judge said about the answer as a whole, or what lowers its value.
    """

    value: float | None
    status: Status
    reason: str = ""
    method: str | None = None
    note: str = ""


@dataclass(frozen=True)
class JudgedSample:
    """A sample and all that was found out about it: support with its evidence, the stage, the values by label.

    `trail` says why methods failed before the one that judged it; `system` whose answer it is, where there are several.
    """

    sample: Sample
    support: Support
    stage: AnswerStage | None
    stage_reason: str
    cells: Mapping[str, AnswerCell]
    trail: tuple[str, ...] = ()
    system: str = ""

    @property
    def fine(self) -> bool | None:
        """Return whether nothing went wrong; None where no stage is known."""
        return None if self.stage is None else self.stage in FINE_STAGES

    def words_of(self, part: Statement) -> str:
        """The text of a statement in the answer, citation marks included."""
        return (self.sample.answer or "")[part.start : part.end]

    def to_row(self) -> dict[str, object]:
        """Lay out the sample flat, as a line of its own: what was asked and answered, and what is known about it."""
        sample, support = self.sample, self.support
        return {
            **({"system": self.system} if self.system else {}),
            "query_id": sample.query_id,
            "question": sample.question,
            "answer": sample.answer,
            "contexts": [{"id": context.id, "text": context.text} for context in sample.contexts or ()],
            "method": support.method,
            "status": support.status,
            "reason": support.reason,
            "stage": self.stage,
            "stage_reason": self.stage_reason,
            "statements": [_statement_row(part, self.words_of(part)) for part in support.statements],
            "scores": {label: _cell_row(cell) for label, cell in self.cells.items()},
            "fallback": list(self.trail),
            "notes": list(support.notes),
        }


def _statement_row(part: Statement, text: str) -> dict[str, object]:
    evidence = part.evidence
    return {
        "start": part.start,
        "end": part.end,
        "text": text,
        "kind": part.kind,
        "support": part.support,
        "context": None if evidence is None else evidence.context,
        "evidence": None if evidence is None else evidence.text,
        "reason": part.why or None,
    }


def _cell_row(cell: AnswerCell) -> dict[str, object]:
    found: dict[str, object] = {
        "value": cell.value,
        "status": cell.status,
        "reason": cell.reason,
        "method": cell.method,
    }
    return {**found, "note": cell.note} if cell.note else found


@dataclass(frozen=True)
class WeakStatement:
    """A statement with little support: what the contexts have instead, and why it was lowered."""

    query_id: str
    support: float
    statement: str
    evidence: str
    reason: str


@part("answers")
@dataclass(frozen=True)
class AnswerDetails(Record):
    """Every sample with what was found out about it, how many each method judged, and how far methods are trusted.

    `columns` says from which column of the file each field was read, `means` has the mean of each measure with its
    interval, by system and label.
    """

    samples: tuple[JudgedSample, ...]
    methods: Mapping[str, int] = field(default_factory=dict)
    agreement: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    means: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def of(self, system: str) -> tuple[JudgedSample, ...]:
        """The samples of one system; all of them if samples name no system."""
        return tuple(one for one in self.samples if one.system in {"", system})

    def name_of(self, one: JudgedSample) -> str:
        """Whose answer a sample has, where that is known."""
        return one.system or (self.scores[0].name if len(self.scores) == 1 else "")

    @property
    def stages_by_system(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Ids of the samples of each system at each stage."""
        names = dict.fromkeys(self.name_of(one) for one in self.samples)
        return {name: by_stage([one for one in self.samples if self.name_of(one) == name]) for name in names}

    def count(self, level: SupportLevel) -> int:
        """How many statements of all answers are supported, partly supported, or not."""
        return sum(one.support.count(level) for one in self.samples)

    def support_by_system(self) -> dict[str, tuple[int, int]]:
        """How many statements of each system are supported, and how many there are; the largest share first."""
        found: dict[str, tuple[int, int]] = {}
        for one in self.samples:
            good, of = found.get(self.name_of(one), (0, 0))
            found[self.name_of(one)] = (good + one.support.count("supported"), of + len(one.support.claims))
        return dict(sorted(found.items(), key=lambda pair: -pair[1][0] / max(1, pair[1][1])))

    @property
    def judges(self) -> tuple[str, ...]:
        """The language models that judged answers."""
        return tuple(dict.fromkeys(scores.judge for scores in self.scores if scores.judge))

    @property
    def claims(self) -> int:
        """How many statements of all answers claim something."""
        return sum(len(one.support.claims) for one in self.samples)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per sample: its stage and the value of every measure."""
        return [
            {
                **({"system": one.system} if one.system else {}),
                "query_id": one.sample.query_id,
                "method": one.support.method,
                "status": one.support.status,
                "stage": one.stage,
                **{label: cell.value for label, cell in one.cells.items()},
            }
            for one in self.samples
        ]


def by_stage(samples: Sequence[JudgedSample]) -> dict[str, tuple[str, ...]]:
    """Ids of the samples at each stage, in the order of the stages; those at no stage under the empty name."""
    names = (*ANSWER_STAGES, "")
    found = {name: tuple(one.sample.query_id for one in samples if (one.stage or "") == name) for name in names}
    return {name: ids for name, ids in found.items() if ids}


def weakest_statements(samples: Sequence[JudgedSample]) -> tuple[WeakStatement, ...]:
    """The statements with the least support."""
    found = [
        WeakStatement(
            one.sample.query_id,
            part.support,
            one.words_of(part),
            "" if part.evidence is None else part.evidence.text,
            part.why,
        )
        for one in samples
        if one.support.status == "scored"
        for part in one.support.statements
        if part.support is not None and part.support < 1
    ]
    return tuple(sorted(found, key=lambda weak: (weak.support, weak.query_id))[:_WEAKEST])
