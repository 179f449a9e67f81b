"""What language models said about pairs of queries and documents, and what asking them takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.data.record import Record, Value
from assay.errors import UsageError
from assay.lazy import pl, public
from assay.messages import say, word
from assay.results.parts import part

if TYPE_CHECKING:
    import os

    from assay.data.judgments import Judgments


@dataclass(frozen=True)
class Vote:
    """One judge's answer about one pair: a grade with its explanation, or the reason why there is none."""

    judge: str
    repeat: int
    status: str
    reason: str
    grade: float | None
    explanation: str
    weighted: bool = False


@dataclass(frozen=True)
class PairVerdict:
    """The outcome of a pair: exactly one status, with a reason when it failed.

    `tied` says that several grades had equally many votes (or were in the middle), so that a rule chose between them.
    """

    query_id: str
    doc_id: str
    status: Literal["scored", "failed"]
    reason: str
    grade: float | None
    explanation: str
    votes: tuple[Vote, ...]
    tied: bool = False


@dataclass(frozen=True)
class Bill:
    """What a judge's answers took; `unpriced` and `estimated` count those of unknown price and of estimated tokens.

    `cost` was spent for certain, `possible_cost` perhaps too: calls that broke off may be charged. `whole_tokens` and
    `whole_cost` are what all answers take when none is in the cache; None where a price or the tokens are not known.
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    possible_cost: float
    currency: str
    unpriced: int
    estimated: int
    whole_tokens: int | None = None
    whole_cost: float | None = None


@dataclass(frozen=True)
class DrawnPair:
    """A pair of a sample: the probability with which it was drawn, in which round, and the grade it had before."""

    query_id: str
    doc_id: str
    inclusion: float
    round: int = 1
    grade: float | None = None


@part("judging")
@dataclass(frozen=True)
class Judging(Record):
    """Verdicts on all pairs, and what they took. `cut` documents were longer than `max_chars` and not read to the end.

    `judge` names the judge: what must be the same for its grades to be comparable. Of a sample, `drawn` has all pairs
    that were drawn, also those that had a grade before. `combine` is how votes became one grade, `grades` are those of
    the scale.
    """

    judge: str
    verdicts: tuple[PairVerdict, ...]
    bills: Mapping[str, Bill]
    max_chars: int
    cut: int = 0
    drawn: tuple[DrawnPair, ...] = ()
    combine: Literal["vote", "median", "mean", "calibrated"] = "vote"
    grades: tuple[int, ...] = ()

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that were asked, each under its name."""
        return tuple(dict.fromkeys((*self.bills, *(vote.judge for one in self.verdicts for vote in one.votes))))

    @property
    def repeats(self) -> int:
        """How often each judge was asked about a pair."""
        return max((vote.repeat + 1 for one in self.verdicts for vote in one.votes), default=1)

    @property
    def failures(self) -> dict[str, int]:
        """How many pairs failed, by reason."""
        return dict(sorted(Counter(one.reason for one in self.verdicts if one.status == "failed").items()))

    @property
    def complete(self) -> bool:
        """Return whether every pair has a grade."""
        return not self.failures

    @property
    def any_graded(self) -> bool:
        """Return whether any pair has a grade."""
        return any(one.grade is not None for one in self.verdicts)

    @property
    def trouble(self) -> str:
        """Why no pair has a grade."""
        first = self.verdicts[0]
        return say(
            "no pair could be judged ({reason}): {why}", reason=word("call", first.reason), why=first.explanation
        )

    def to_judgments(self) -> Judgments:
        """Convert the grades to judgments, which name the judge."""
        from assay.data.judgments import Judgments  # numpy, which is not needed for asking a model

        if not self.any_graded:
            raise UsageError(self.trouble)
        if self.drawn:
            return Judgments.of(pl.DataFrame(self._sample()).drop("round"), judge=self.judge)
        grades: dict[object, dict[object, float]] = {}
        for one in self.verdicts:
            if one.grade is not None:
                grades.setdefault(one.query_id, {})[one.doc_id] = one.grade
        return replace(Judgments.from_dict(grades), judge=self.judge)

    def _sample(self) -> list[dict[str, Value]]:
        """All that was drawn, with the grades before and now; -1 where there is none."""
        found = {(one.query_id, one.doc_id): one.grade for one in self.verdicts}
        return [
            {
                "query_id": one.query_id,
                "doc_id": one.doc_id,
                "grade": -1.0 if grade is None else grade,
                "inclusion": one.inclusion,
                "round": one.round,
            }
            for one in self.drawn
            for grade in (one.grade if one.grade is not None else found.get((one.query_id, one.doc_id)),)
        ]

    def topic(self) -> str:
        """The judge."""
        return self.judge

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per pair."""
        return [
            {
                "query_id": one.query_id,
                "doc_id": one.doc_id,
                "grade": one.grade,
                "status": one.status,
                "reason": one.reason,
                "explanation": one.explanation,
                "votes": len(one.votes),
            }
            for one in self.verdicts
        ]

    def save(self, place: str | os.PathLike[str]) -> None:
        """Write a result file (.json) with everything, or judgments (.qrels, .jsonl, .csv, .tsv, .parquet)."""
        if Path(place).suffix.lower() == ".json":
            super().save(place)
        else:
            rounds = [one.round for one in sorted(self.drawn, key=lambda one: (one.query_id, one.doc_id))]
            public("write_judgments")(self.to_judgments(), place, rounds=rounds)


@dataclass(frozen=True)
class Estimate:
    """What requests will cost: those already in the cache, and tokens and money of the rest.

    `prompt_tokens` is an estimate, `completion_tokens` an upper end (every answer as long as allowed), `cost` the money
    for both. `enough` is a budget that suffices if no call breaks off, whatever the tokens turn out to be and even
    if each structured answer has to be asked for a second time. Money is None when a price or a bound is not known.
    """

    requests: int
    cached: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    enough: float | None
    currency: str


@part("judging_plan")
@dataclass(frozen=True)
class JudgingPlan(Record):
    """What judging so many pairs would take of each judge."""

    pairs: int
    estimates: Mapping[str, Estimate]

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per judge."""
        return [
            {
                "judge": name,
                "calls": one.calls,
                "cached": one.cached,
                "prompt_tokens": one.prompt_tokens,
                "completion_tokens": one.completion_tokens,
                "cost": one.cost,
                "enough": one.enough,
                "currency": one.currency,
            }
            for name, one in self.estimates.items()
        ]
