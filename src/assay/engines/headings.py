"""Which columns of a table are what, found by their names and refused by their types before anything is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from assay.errors import InputError, excerpt
from assay.formats import columns
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["text", "whole", "number", "other"]  # of the values of a column
What = Literal["run", "ranked run", "judgments", "subtopics"]  # a ranked run has ranks beside scores, if it can
NUMBERS = frozenset({"score", "grade", "rank"})  # our columns of numbers; all others are texts


@dataclass(frozen=True)
class Headings:
    """Our names of the columns and those of the table; without scores, `ranks` decide."""

    chosen: Mapping[str, str]
    ranks: bool = False

    def of_systems(self) -> Headings:
        """The same with a column that names systems."""
        return replace(self, chosen={**self.chosen, "system": "system"})

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which columns were read under another name."""
        return columns.notes(dict(self.chosen))


def find(kinds: Mapping[str, Kind], label: str, what: What) -> Headings:
    """Find the columns of what rows are."""
    if what in {"run", "ranked run"}:
        return find_run(kinds, label, ranked=what == "ranked run")
    return find_judgments(kinds, label, subtopics=what == "subtopics")


def find_run(kinds: Mapping[str, Kind], label: str, *, ranked: bool = False) -> Headings:
    """Find the columns of a run."""
    names = list(kinds)
    query = columns.find(names, columns.QUERY, path=label, needed=say("runs"))
    chunk = columns.find(names, columns.CHUNK, path=label)
    doc = columns.find(names, columns.DOC, path=label, needed="" if chunk else say("runs"))
    score, rank = columns.find(names, columns.SCORE, path=label), columns.find(names, columns.RANK, path=label)
    if score is None and rank is None:
        columns.find(names, columns.SCORE, path=label, needed=say("runs"))
    system = columns.find(names, columns.RUN_NAME, path=label)
    found = {"query_id": query, "doc_id": doc or chunk, "chunk_id": chunk if doc else None, "system": system}
    _check(kinds, [*found.values()], [score or rank], label)
    both = {"rank": rank} if ranked and score and rank and kinds[rank] in {"whole", "number"} else {}
    chosen = {name: given for name, given in {**found, "score": score or rank, **both}.items() if given}
    return Headings(chosen, ranks=score is None)


def find_judgments(kinds: Mapping[str, Kind], label: str, *, subtopics: bool) -> Headings:
    """Find the columns of judgments; those of a sample are refused."""
    names = list(kinds)
    if "inclusion" in names:
        raise InputError(say("sample.no_engine"), path=label)
    found = {
        "query_id": columns.find(names, columns.QUERY, path=label, needed=say("judgments")),
        "doc_id": columns.find(names, columns.DOC, path=label, needed=say("judgments")),
        "subtopic": columns.find(names, columns.SUBTOPIC, path=label, needed=say("subtopic measures"))
        if subtopics
        else None,
    }
    grade = columns.find(names, columns.GRADE, path=label, needed=say("judgments"))
    _check(kinds, [*found.values()], [grade], label)
    return Headings({name: given for name, given in {**found, "grade": grade}.items() if given})


def check_key(kinds: Mapping[str, Kind], name: str, label: str) -> Headings:
    """Take all columns as they are, if one can be the id of their rows."""
    _check(kinds, [name], [], label)
    return Headings({})


def _check(kinds: Mapping[str, Kind], ids: list[str | None], numbers: list[str | None], label: str) -> None:
    for names, fitting, wanted in (
        (ids, {"text", "whole"}, say("text or whole numbers")),
        (numbers, {"whole", "number"}, say("numbers")),
    ):
        for name in names:
            if name is not None and kinds[name] not in fitting:
                raise InputError(
                    say("the column {name} does not hold {wanted}", name=excerpt(name), wanted=wanted),
                    path=label,
                    hint=say("cast the column before it is read"),
                )
