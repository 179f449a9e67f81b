"""How far statements of an answer follow from its contexts, with the evidence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any, Literal

from assay.data.status import Status
from assay.messages import say

Method = Literal["llm", "embedding", "words"]
Kind = Literal["claim", "refusal", "courtesy"]
Conflict = Literal["number", "name", "negation", "opposite", "order"]
SupportLevel = Literal["supported", "partly", "unsupported"]
SUPPORTED, PARTLY = 0.75, 0.5  # support from which a statement counts as supported, and as partly supported


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
    """Why support is lowered: where statement and evidence differ, and the factor that this costs."""

    conflict: Conflict
    detail: str
    factor: float


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of an answer: answer[start:end], and its text without citation marks.

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

    @property
    def level(self) -> SupportLevel | None:
        """Whether the contexts support it; None for what claims nothing."""
        if self.support is None:
            return None
        return "supported" if self.support >= SUPPORTED else "partly" if self.support >= PARTLY else "unsupported"

    @property
    def why(self) -> str:
        """The reason for its support, in a few words."""
        found: list[str] = [say(f"conflict.{one.conflict}", detail=one.detail) for one in self.reasons]
        parts = [*found, *([self.note] if self.note else [])]
        return reduce(lambda before, after: say("answers.also", before=before, after=after), parts) if parts else ""


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
    def claims(self) -> tuple[Statement, ...]:
        """The statements that claim something."""
        return tuple(part for part in self.statements if part.support is not None)

    def count(self, level: SupportLevel) -> int:
        """How many statements are supported, partly supported, or not."""
        return sum(part.level == level for part in self.statements)

    @property
    def weakest(self) -> Statement | None:
        """The claim with the least support."""
        return min(self.claims, key=lambda part: part.support or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Copy to plain values for a file."""
        return {**asdict(self), "value": self.value}
