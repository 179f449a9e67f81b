"""Answers: their statements coloured by support, the evidence, the stage at which each one failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assay.messages import say
from assay.report.blocks import Block, Lines, Sample, Section, Statement, Verdict
from assay.report.tables import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import ReportData
    from assay.report.blocks import Tone

SUPPORTED, DOUBTFUL = 0.75, 0.5  # from here on a statement counts as supported, and as partly supported
_TEXT = 120
_STAGES: dict[str, tuple[str, Tone]] = {
    "not retrieved": ("not_retrieved", "bad"),
    "retrieved but not used": ("not_used", "bad"),
    "used but not supported": ("not_supported", "bad"),
    "right refusal": ("right_refusal", "good"),
    "wrong refusal": ("wrong_refusal", "bad"),
    "fine": ("fine", "good"),
}


def samples(found: ReportData) -> dict[str, tuple[Sample, ...]]:
    """All answers by query."""
    made: dict[str, list[Sample]] = {}
    for part in found.extras["answers"]:
        for given in part.get("samples") or ():
            made.setdefault(str(given["query_id"]), []).append(_sample(given))
    return {query: tuple(own) for query, own in made.items()}


def _sample(given: Mapping[str, Any]) -> Sample:
    contexts = tuple((str(c.get("id") or ""), str(c["text"])) for c in given.get("contexts") or ())
    return Sample(
        question=str(given.get("question") or ""),
        statements=_statements(str(given["answer"] or ""), given.get("statements") or (), contexts),
        contexts=contexts,
        method=str(given.get("method") or ""),
        stage=stage(given.get("stage")) or str(given.get("stage_reason") or given.get("reason") or ""),
        system=str(given.get("system") or ""),
    )


def stage(name: object) -> str:
    """Say in which stage an answer ended; a name that is not known stays as it is."""
    return say(f"answer.{_STAGES[str(name)][0]}") if str(name) in _STAGES else str(name or "")


def _statements(
    answer: str, given: Sequence[Mapping[str, Any]], contexts: Sequence[tuple[str, str]]
) -> tuple[Statement, ...]:
    """Cut the answer into its statements and what stands between them; nothing of it is lost."""
    parts: list[Statement] = []
    end = 0
    for one in sorted(given, key=lambda one: (int(one["start"]), int(one["end"]))):
        start, stop = max(int(one["start"]), end), min(int(one["end"]), len(answer))
        if stop <= start:
            continue
        if start > end:
            parts.append(Statement(answer[end:start]))
        parts.append(_statement(answer[start:stop], one, contexts))
        end = stop
    return (*parts, Statement(answer[end:])) if end < len(answer) else tuple(parts)


def _statement(text: str, one: Mapping[str, Any], contexts: Sequence[tuple[str, str]]) -> Statement:
    place = one.get("context")
    name = ""
    if isinstance(place, int) and 0 <= place < len(contexts):
        name = contexts[place][0] or f"#{place + 1}"
    support = None if one.get("support") is None else float(one["support"])
    return Statement(
        text, support, tone(support), name, str(one.get("evidence") or ""), str(one.get("reason") or "")
    )  # fmt: skip


def tone(support: float | None) -> Tone:
    """Colour a statement by its support."""
    if support is None:
        return ""
    return "good" if support >= SUPPORTED else "warn" if support >= DOUBTFUL else "bad"


def section(found: ReportData, known: Mapping[str, tuple[Sample, ...]]) -> Section | None:
    """Table of the answers, and by which method they were judged."""
    if not known:
        return None
    blocks: list[Block] = [_table(known), Lines(_methods(found)), Lines((say("answer.legend"),))]
    return Section("answers", say("page.answers"), tuple(blocks))


def verdict(known: Mapping[str, tuple[Sample, ...]]) -> Verdict | None:
    """Say how many of the statements are supported."""
    parts = [part for own in known.values() for one in own for part in one.statements if part.support is not None]
    if not parts:
        return None
    good = sum(part.tone == "good" for part in parts)
    answers = sum(map(len, known.values()))
    return Verdict(say("answer.verdict", good=good, n=len(parts), answers=answers))


def _table(known: Mapping[str, tuple[Sample, ...]]) -> Table:
    names = ("query", "question", "answer", "stage", "unsupported", "statements", "lowest", "method")
    rows = tuple((*_systems(one), *_row(query, one)) for query, own in known.items() for one in own)
    more = ("system",) if any(one.system for own in known.values() for one in own) else ()
    rows = rows if not more else tuple(row if len(row) > len(names) else ("", *row) for row in rows)
    headers = tuple(say(f"column.{name}") for name in (*more, *names))
    return Table(headers, rows, say("answer.table"), names=4 + len(more), texts=(7 + len(more),))


def _systems(one: Sample) -> tuple[str, ...]:
    return (one.system,) if one.system else ()


def _row(query: str, one: Sample) -> tuple[str | Cell, ...]:
    parts = [part for part in one.statements if part.support is not None]
    bad = sum(part.tone == "bad" for part in parts)
    lowest = min((part.support for part in parts if part.support is not None), default=None)
    answer = "".join(part.text for part in one.statements)
    return (
        Cell(query, query=query), _cut(one.question), _cut(answer), Cell(one.stage, tone=_stage_tone(one)),
        Cell(str(bad), tone="bad" if bad else ""), str(len(parts)), "" if lowest is None else f"{lowest:.2f}",
        one.method,
    )  # fmt: skip


def _stage_tone(one: Sample) -> Tone:
    tones = {str(say(f"answer.{key}")): tone for key, tone in _STAGES.values()}
    return tones.get(str(one.stage), "")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _methods(found: ReportData) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    agreement: dict[str, str] = {}
    for part in found.extras["answers"]:
        counts.update({str(name): int(n) for name, n in (part.get("methods") or {}).items()})
        agreement |= {str(name): str(text) for name, text in (part.get("agreement") or {}).items()}
    lines: list[str] = [say("answer.method", method=name, n=n) for name, n in counts.items()]
    return (*lines, *(say("doubt.of_one", system=name, text=text) for name, text in agreement.items()))
