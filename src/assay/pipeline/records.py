"""What passes between stages: documents, chunks, queries, ranked chunks, and the cost of each step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Document(NamedTuple):
    """One text of the collection."""

    id: str
    text: str


class Chunk(NamedTuple):
    """A piece of a document; text is document.text[start:end]."""

    id: str
    doc_id: str
    text: str
    start: int
    end: int


class Query(NamedTuple):
    """One question."""

    id: str
    text: str


@dataclass(frozen=True)
class Hits:
    """Ranked chunks of one query by their numbers, the best first, and the cost of finding them.

    `money` is None when the price is not known; `faults` counts calls that failed, by reason; `cached` says that some
    reply came from a cache, so that `ms` is not what the work takes. `estimated` says that some server named no tokens,
    so that ours were counted from the length of texts; `money_estimated` that money was computed from such a number.
    `output_tokens` are those of the `tokens` that a model wrote, None where that is not known. `reason` says why there
    are none where the search itself failed.
    """

    chunks: tuple[int, ...]
    scores: tuple[float, ...]
    ms: float = 0.0
    tokens: int = 0
    money: float | None = 0.0
    faults: Mapping[str, int] = field(default_factory=dict)
    cached: bool = False
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: int | None = None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Copy to plain values."""
        return {**vars(self), "faults": dict(self.faults)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Hits:
        """Read what `to_json` wrote; anything else is a ValueError, TypeError or KeyError."""
        found = cls(**{**plain, "chunks": tuple(plain["chunks"]), "scores": tuple(plain["scores"])})
        _check(len(found.chunks) == len(found.scores) == len(set(found.chunks)), "as many scores as chunks")
        _check(all(type(number) is int and number >= 0 for number in found.chunks), "numbers of chunks")
        _check(all(isinstance(score, float | int) for score in found.scores), "scores")
        _check_spent(found)
        return found


@dataclass(frozen=True)
class Answered:
    """One answer, or the reason why there is none, and its cost; `cached` and `estimated` as in Hits."""

    text: str | None
    reason: str = ""
    ms: float = 0.0
    tokens: int = 0
    money: float | None = 0.0
    cached: bool = False
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Copy to plain values."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Answered:
        """Read what `to_json` wrote; anything else is a ValueError, TypeError or KeyError."""
        found = cls(**{**plain, "reason": _say_again(plain.get("reason", ""))})
        _check(isinstance(found.text, str | None) and isinstance(found.reason, str), "an answer")
        _check_spent(found)
        return found


# Reasons that a cache keeps as plain English, in the words of this version and of earlier ones.
_KEPT = {
    "the chunks contain none of the question's words": "generate.no_words",
    "the chunks have no word of the question": "generate.no_words",
}


def _say_again(reason: Any) -> Any:
    return say(_KEPT[reason]) if isinstance(reason, str) and reason in _KEPT else reason


def _check_spent(found: Hits | Answered) -> None:
    _check(isinstance(found.ms, float | int) and found.ms >= 0, "milliseconds")
    _check(type(found.tokens) is int and found.tokens >= 0, "tokens")
    written = found.output_tokens
    _check(written is None or (type(written) is int and 0 <= written <= found.tokens), "tokens")
    _check(isinstance(found.money, float | int | None), "money")
    marks = (found.cached, found.estimated, found.money_estimated)
    _check(all(isinstance(mark, bool) for mark in marks), "true or false")


def _check(fine: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not fine:
        raise ValueError(f"expected {what}")


class Spent(Protocol):
    """Tokens of a piece of work, and those of them that a model wrote."""

    @property
    def tokens(self) -> int: ...  # noqa: D102

    @property
    def output_tokens(self) -> int | None: ...  # noqa: D102


class Scored(NamedTuple):
    """A reranker's scores, one per text (None where it gave none), and their cost; all marks as in Hits."""

    scores: Sequence[float | None]
    tokens: int = 0
    money: float | None = 0.0
    faults: Mapping[str, int] = Counter()
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: int | None = None


def add_output_tokens(works: Iterable[Spent]) -> int | None:
    """Add up the tokens that models wrote; what is not known of one that used any stays unknown."""
    known = [0 if not one.tokens else one.output_tokens for one in works]
    return None if None in known else sum(one or 0 for one in known)


def add_money(one: float | None, other: float | None) -> float | None:
    """Add up money; what is not known stays unknown."""
    return None if one is None or other is None else one + other
