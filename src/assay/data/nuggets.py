"""Nuggets: the facts that a good answer to a question holds, each vital or merely okay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Importance = Literal["vital", "okay", ""]
IMPORTANCE: tuple[Importance, ...] = ("vital", "okay")


@dataclass(frozen=True)
class Nugget:
    """A fact, and whether an answer must hold it (vital) or may (okay); empty where nobody has weighed it yet."""

    text: str
    importance: Importance = ""


@dataclass(frozen=True)
class QuestionNuggets:
    """The nuggets of a question; its text is empty where the file does not have it."""

    query_id: str
    question: str
    nuggets: tuple[Nugget, ...]

    @property
    def vital(self) -> int:
        """How many are vital: without one, the share of vital nuggets in an answer is undefined."""
        return sum(one.importance == "vital" for one in self.nuggets)
