"""What an application gave for one question: exactly one status, its time without queueing, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.data.samples import Context
from assay.llm.records import REASONS
from assay.text.refusals import is_refusal
from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome = Literal["scored", "abstained", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NO_CONTEXTS = "no_contexts"
_ABSTAINED = {"refused", "filtered"}
# What another attempt would not change; anything else is asked again by the next run.
_FINAL = {"", "refused", "filtered", "truncated", "empty", "too_long", NO_CONTEXTS}


@dataclass(frozen=True)
class Asked:
    """One question's outcome: an answer with its contexts in their order, or the reason why there is none.

    `ms` is from sending the question to the end of the answer, of the last attempt alone: neither waiting for a place
    nor resting between attempts is in it. `first_ms` is when the first text came, where the answer came in pieces;
    `own_ms` the time that the application names. `contexts` are None where the application names none.
    """

    answer: str | None = None
    contexts: tuple[Context, ...] | None = None
    reason: str = ""
    message: str = ""
    ms: float = 0.0
    first_ms: float | None = None
    own_ms: float | None = None
    tokens: int = 0
    output_tokens: int | None = None
    money: float | None = None
    calls: int = 1
    day: str = ""

    @property
    def status(self) -> Outcome:
        """The one status of the question."""
        if self.reason in _ABSTAINED:
            return "abstained"
        return "scored" if self.reason in {"", NO_CONTEXTS} else "failed"

    @property
    def final(self) -> bool:
        """Return whether it may be kept: another attempt would give nothing else."""
        return self.reason in _FINAL

    def settle(self) -> Asked:
        """The same with its reason: an answer that declines is a refusal, and one without contexts says so."""
        if self.reason:
            return self
        if self.answer is not None and _declines(self.answer):
            return replace(self, reason="refused")
        return self if self.contexts else replace(self, reason=NO_CONTEXTS)

    def to_json(self) -> dict[str, Any]:
        """Copy to plain values."""
        plain = None if self.contexts is None else [[one.id, one.text] for one in self.contexts]
        return {**vars(self), "message": str(self.message), "contexts": plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Asked:
        """Read what `to_json` wrote; anything else is a ValueError, TypeError or KeyError."""
        rows = plain["contexts"]
        contexts = None if rows is None else tuple(Context(text, name) for name, text in rows)
        found = cls(**{**plain, "contexts": contexts})
        texts = [found.reason, found.message, *(one.text for one in contexts or ())]
        fine = all(isinstance(text, str) for text in texts) and isinstance(found.answer, str | None)
        if not fine or found.reason not in {*REASONS, NO_CONTEXTS} or not found.ms >= 0:
            raise ValueError("not the outcome of a question")
        return found


def _declines(answer: str) -> bool:
    """Return whether an answer does nothing but decline: its first sentence does, and little follows."""
    parts = [answer[start:end].strip() for start, end in sentences(answer)]
    found = [part for part in parts if part]
    return bool(found) and is_refusal(found[0]) and (len(found) == 1 or all(map(is_refusal, found)))
