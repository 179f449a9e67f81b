"""Answers: their statements coloured by support, the evidence, the stage at which each one failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assay.messages import say
from assay.report.blocks import AnswerSpan, AnswerView, Block, Lines, Section, Verdict
from assay.report.tables import Cell, Table
from assay.results.answers import AnswerDetails

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import ReportData
    from assay.report.blocks import Tone
    from assay.results.answers import AnswerStage, JudgedSample, Statement

SUPPORTED, DOUBTFUL = 0.75, 0.5  # from here on a statement counts as supported, and as partly supported
_TEXT = 120
_STAGES: dict[AnswerStage, tuple[str, Tone]] = {
    "not retrieved": ("not_retrieved", "bad"),
    "retrieved but not used": ("not_used", "bad"),
    "used but not supported": ("not_supported", "bad"),
    "right refusal": ("right_refusal", "good"),
    "wrong refusal": ("wrong_refusal", "bad"),
    "fine": ("fine", "good"),
}


def samples(found: ReportData) -> dict[str, tuple[AnswerView, ...]]:
    """All answers by query."""
    made: dict[str, list[AnswerView]] = {}
    for part in found.every(AnswerDetails):
        for one in part.samples:
            made.setdefault(one.sample.query_id, []).append(_answer(one))
    return {query: tuple(own) for query, own in made.items()}


def _answer(one: JudgedSample) -> AnswerView:
    contexts = tuple((context.id or "", context.text) for context in one.sample.contexts or ())
    return AnswerView(
        question=one.sample.question or "",
        statements=_spans(one.sample.answer or "", one.support.statements, contexts),
        contexts=contexts,
        method=one.support.method,
        stage=say(f"answer.{_STAGES[one.stage][0]}") if one.stage else one.stage_reason or one.support.reason,
        system=one.system,
    )


def _spans(answer: str, statements: Sequence[Statement], contexts: Sequence[tuple[str, str]]) -> tuple[AnswerSpan, ...]:
    """Cut the answer into its statements and what stands between them; nothing of it is lost."""
    parts: list[AnswerSpan] = []
    end = 0
    for one in sorted(statements, key=lambda one: (one.start, one.end)):
        start, stop = max(one.start, end), min(one.end, len(answer))
        if stop <= start:
            continue
        if start > end:
            parts.append(AnswerSpan(answer[end:start]))
        parts.append(_span(answer[start:stop], one, contexts))
        end = stop
    return (*parts, AnswerSpan(answer[end:])) if end < len(answer) else tuple(parts)


def _span(text: str, one: Statement, contexts: Sequence[tuple[str, str]]) -> AnswerSpan:
    evidence = one.evidence
    name = ""
    if evidence is not None and 0 <= evidence.context < len(contexts):
        name = contexts[evidence.context][0] or f"#{evidence.context + 1}"
    found = "" if evidence is None else evidence.text
    return AnswerSpan(text, one.support, tone(one.support), name, found, one.why)


def tone(support: float | None) -> Tone:
    """Colour a statement by its support."""
    if support is None:
        return ""
    return "good" if support >= SUPPORTED else "warn" if support >= DOUBTFUL else "bad"


def section(found: ReportData, known: Mapping[str, tuple[AnswerView, ...]]) -> Section | None:
    """Table of the answers, and by which method they were judged."""
    if not known:
        return None
    blocks: list[Block] = [_table(known), Lines(_methods(found)), Lines((say("answer.legend"),))]
    return Section("answers", say("page.answers"), tuple(blocks))


def verdict(known: Mapping[str, tuple[AnswerView, ...]]) -> Verdict | None:
    """Say how many of the statements are supported."""
    parts = [part for own in known.values() for one in own for part in one.statements if part.support is not None]
    if not parts:
        return None
    good = sum(part.tone == "good" for part in parts)
    answers = sum(map(len, known.values()))
    return Verdict(say("answer.verdict", good=good, n=len(parts), answers=answers))


def _table(known: Mapping[str, tuple[AnswerView, ...]]) -> Table:
    names = ("query", "question", "answer", "stage", "unsupported", "statements", "lowest", "method")
    rows = tuple((*_systems(one), *_row(query, one)) for query, own in known.items() for one in own)
    more = ("system",) if any(one.system for own in known.values() for one in own) else ()
    rows = rows if not more else tuple(row if len(row) > len(names) else ("", *row) for row in rows)
    headers = tuple(say(f"column.{name}") for name in (*more, *names))
    return Table(headers, rows, say("answer.table"), names=4 + len(more), texts=(7 + len(more),))


def _systems(one: AnswerView) -> tuple[str, ...]:
    return (one.system,) if one.system else ()


def _row(query: str, one: AnswerView) -> tuple[str | Cell, ...]:
    parts = [part for part in one.statements if part.support is not None]
    bad = sum(part.tone == "bad" for part in parts)
    lowest = min((part.support for part in parts if part.support is not None), default=None)
    answer = "".join(part.text for part in one.statements)
    return (
        Cell(query, query=query), _cut(one.question), _cut(answer), Cell(one.stage, tone=_stage_tone(one)),
        Cell(str(bad), tone="bad" if bad else ""), str(len(parts)), "" if lowest is None else f"{lowest:.2f}",
        one.method,
    )  # fmt: skip


def _stage_tone(one: AnswerView) -> Tone:
    tones = {str(say(f"answer.{key}")): tone for key, tone in _STAGES.values()}
    return tones.get(str(one.stage), "")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _methods(found: ReportData) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    agreement: dict[str, str] = {}
    for part in found.every(AnswerDetails):
        counts.update(part.methods)
        agreement |= part.agreement
    lines: list[str] = [say("answer.method", method=name, n=n) for name, n in counts.items()]
    return (*lines, *(say("doubt.of_one", system=name, text=text) for name, text in agreement.items()))
