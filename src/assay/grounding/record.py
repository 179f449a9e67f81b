"""Support: how far each statement of an answer follows from the contexts, by whatever method found it out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Method = Literal["llm", "embedding", "words"]
Kind = Literal["claim", "refusal", "courtesy"]
Conflict = Literal["number", "name", "negation", "opposite", "order"]
Status = Literal["scored", "missing", "undefined", "abstained", "not_applicable", "failed"]


@dataclass(frozen=True, slots=True)
class Blank:
    """No value, and why."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Grade:
    """A value from 0 to 1 for an answer as a whole, or None with a status and the reason why there is none."""

    value: float | None
    reason: str = ""
    status: Status = "failed"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence of a context that is nearest to a statement: context counts from 0, offsets are of its text."""

    context: int
    start: int
    end: int
    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why support is lowered: where statement and evidence part, and the factor that this costs."""

    conflict: Conflict
    detail: str
    factor: float


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an answer; text is answer[start:end].

    Only a claim has support, from 0 to 1; refusals ("the documents do not say") and courtesies claim nothing. The
    weight is the statement's share in the answer's value: its words, or 1 where each statement counts the same. The
    note is what a judge said about it.
    """

    start: int
    end: int
    text: str
    kind: Kind
    weight: float
    support: float | None = None
    evidence: Evidence | None = None
    reasons: tuple[Reason, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """Support of one answer: its statements, the method that judged them, and a status with its reason."""

    query_id: str
    method: Method
    status: Status
    reason: str = ""
    statements: tuple[Statement, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """Mean support of the claims by their weights; None unless the answer could be scored."""
        if self.status != "scored":
            return None
        claims = [(part.weight, part.support) for part in self.statements if part.support is not None]
        total = math.fsum(weight for weight, _ in claims)
        return math.fsum(weight * support for weight, support in claims) / total if total else 0.0

    @property
    def weakest(self) -> Statement | None:
        """The claim with the least support."""
        claims = [part for part in self.statements if part.support is not None]
        return min(claims, key=lambda part: part.support or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Copy to plain values for a file."""
        return {**asdict(self), "value": self.value}
