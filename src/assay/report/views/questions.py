"""What questions made from documents look like: how many fell at each filter, where they are from, and the first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assay.messages import Said, say, word
from assay.report.blocks import Block, Lines, Verdict
from assay.report.numbers import short
from assay.report.tables import Table
from assay.report.views.judging import money

if TYPE_CHECKING:
    from assay.results.questions import QuestionSet

_QUESTIONS = 10
_STRATA = 20


def line(found: QuestionSet) -> Verdict:
    """How many questions there are, and how they were made."""
    key = "questions.line_simulated" if found.of_known_items else "questions.line"
    return Verdict(
        say(
            key, n=len(found.questions), passages=found.passages, documents=found.documents, made_by=_maker(found),
        )
    )  # fmt: skip


def table(found: QuestionSet) -> list[Block]:
    """Counts, strata, the first questions, and what they are fit for."""
    return [
        line(found),
        _counts(found),
        _strata(found, _STRATA),
        _questions(found, _QUESTIONS),
        Lines(tuple(_notes(found)), listed=True),
    ]


def summary(found: QuestionSet) -> list[Block]:
    """How many questions there are, at which filters others fell, and what it took."""
    return [line(found), _counts(found), Lines(tuple(_notes(found)), listed=True)]


def page(found: QuestionSet, place: int = 0) -> list[Block]:
    """The same with every stratum and question."""
    del place
    most = len(found.questions)
    return [
        line(found),
        _counts(found),
        _strata(found, len(found.strata)),
        _questions(found, most),
        Lines(tuple(_notes(found)), listed=True),
    ]


def _maker(found: QuestionSet) -> Said | str:
    return say("questions.known_items") if found.of_known_items else found.judge


def _counts(found: QuestionSet) -> Table:
    rows = (
        (say("questions.drawn" if found.of_known_items else "questions.tried"), f"{found.drawn:,}"),
        *((word("question_filter", one.name), f"{one.fell:,}") for one in found.filters),
        (say("questions.kept"), f"{len(found.questions):,}"),
    )
    counted = say("column.passages" if found.of_known_items else "column.questions")
    return Table((say("column.question_step"), counted), rows)


def _strata(found: QuestionSet, most: int) -> Table:
    shown = sorted(found.strata, key=lambda one: (-one.passages, one.source, one.length, one.topic))[:most]
    by_topic = any(one.topic for one in found.strata)
    rows = tuple(
        (one.source or "-", word("question_length", one.length), *([one.topic or "-"] if by_topic else []),
         f"{one.passages:,}", f"{one.questions:,}")
        for one in shown
    )  # fmt: skip
    caption = (
        say("questions.first_strata", n=len(shown), of=len(found.strata)) if len(shown) < len(found.strata) else ""
    )
    names = ("source", "question_length", *(["topic"] if by_topic else []), "passages", "questions")
    return Table(tuple(say(f"column.{name}") for name in names), rows, caption=caption, names=3 if by_topic else 2)


def _questions(found: QuestionSet, most: int) -> Table:
    rows = tuple(
        (one.query_id, short(one.text), word("question_kind", one.kind), one.gold[0].doc_id if one.gold else "-",
         short(one.gold[0].text) if one.gold else "-")
        for one in found.questions[:most]
    )  # fmt: skip
    names = ("query", "text", "kind", "document", "gold")
    caption = say("sample.first", n=len(rows)) if len(rows) < len(found.questions) else ""
    return Table(tuple(say(f"column.{name}") for name in names), rows, caption=caption, names=5)


def _notes(found: QuestionSet) -> list[Said | str]:
    kinds = Counter(one.kind for one in found.questions)
    listed = [say("questions.of_kind", kind=word("question_kind", kind), n=n) for kind, n in sorted(kinds.items())]
    notes: list[Said | str] = [found.stamp, say("questions.kinds", kinds=listed)] if kinds else [found.stamp]
    if found.topics:
        notes.append(say("questions.topics_of", name=_topics(found)))
    if found.bill is not None:
        notes.append(money(found.bill))
    return [*notes, *found.warnings]


def _topics(found: QuestionSet) -> Said | str:
    return say("questions.topics_of_words") if found.topics == "words" else found.topics
