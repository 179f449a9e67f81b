"""What a folder holds, and the experiment that is proposed for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.data.record import Record, Value
from assay.results.parts import part


@dataclass(frozen=True)
class FoundFile:
    """A file or folder that was looked at: its kind, what it holds, and what the experiment takes it for."""

    place: str
    kind: str
    holds: str = ""
    used_as: str = ""


@dataclass(frozen=True)
class Unread:
    """A file that could not be read, and why."""

    place: str
    reason: str


@part("proposal")
@dataclass(frozen=True)
class Proposal(Record):
    """What was found in a folder, and the experiment proposed for it, as the text of its TOML file.

    `documents` is how many have text, `languages` counts them by language. `questions` is how many queries are asked:
    those of the folder, or known items made from the documents where `known_items`. Everything is written into
    `output`, from where the paths in the TOML file start; `copied` says that the documents are written there too.
    `kept` says that an experiment was proposed there before and changed since: it is run as it is. `seconds` is a rough
    estimate of the time for one run. `digest` is the hash of all documents.

    With a `judge`, a language model writes the questions: `calls` of it for about `cost`, in `currency`, and for no
    more than `most`; both are None where its price is not known. `made` says that `output` has the questions already.
    `unlabelled` are the folder's queries where it has neither judgments nor gold for them: all combinations search for
    them, too, and are compared without being scored.
    """

    folder: str
    output: str
    toml: str
    digest: str
    documents: int
    characters: int
    languages: Mapping[str, int]
    combinations: tuple[str, ...]
    questions: int
    known_items: bool
    copied: bool = False
    kept: bool = False
    seconds: float = 0.0
    cost: float | None = 0.0
    seed: int = 0
    judge: str = ""
    calls: int = 0
    most: float | None = None
    currency: str = "USD"
    made: bool = False
    unlabelled: int = 0
    unlabelled_at: str = ""
    files: tuple[FoundFile, ...] = ()
    unread: tuple[Unread, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def enough(self) -> float:
        """Money that very likely suffices for the questions: twice the estimate, no more than the most."""
        return min(2 * (self.cost or 0.0), math.inf if self.most is None else self.most)

    @property
    def experiment(self) -> str:
        """The path of the TOML file."""
        return f"{self.output}/experiment.toml"

    def to_rows(self) -> list[dict[str, Value]]:
        """One row for every file that was found."""
        found: list[dict[str, Value]] = [
            {"file": one.place, "kind": one.kind, "holds": one.holds, "used_as": one.used_as, "reason": ""}
            for one in self.files
        ]
        return found + [
            {"file": one.place, "kind": "", "holds": "", "used_as": "", "reason": one.reason} for one in self.unread
        ]
