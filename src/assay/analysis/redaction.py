"""Results without the texts that people wrote: what a report shows that goes to others who may not read them.

Ids, numbers, statuses and names of systems, measures and files are kept. Every text is replaced by a mark with its
length; an answer by the marks of its statements, so that each statement keeps its support.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from assay.data.scores import Scores
from assay.formats.queries import Queries
from assay.messages import Said
from assay.results.answers import JudgedSample

if TYPE_CHECKING:
    from assay.analysis.report_data import ReportEvidence
    from assay.results.result import Result
    from assay.results.support import Statement

Kept = TypeVar("Kept")

# The fields of records that hold what people or models wrote, by the name of the record.
TEXTS: Mapping[str, frozenset[str]] = {
    "Sample": frozenset({"question", "answer", "references", "others", "notes", "faults"}),
    "Context": frozenset({"text"}),
    "Turn": frozenset({"text"}),
    "Evidence": frozenset({"text"}),
    "Reason": frozenset({"detail"}),
    "Statement": frozenset({"text", "note"}),
    "Support": frozenset({"reason", "notes"}),
    "JudgedSample": frozenset({"stage_reason", "trail"}),
    "AnswerCell": frozenset({"note", "reason"}),
    "WeakStatement": frozenset({"statement", "evidence", "reason"}),
    "Worst": frozenset({"text"}),
    "ClickedQuery": frozenset({"text"}),
    "SampleQuery": frozenset({"text"}),
    "Question": frozenset({"text", "reference"}),
    "GoldPlace": frozenset({"text"}),
    "PoolPair": frozenset({"query", "document"}),
    "Vote": frozenset({"explanation"}),
    "PairVerdict": frozenset({"explanation"}),
    "QuestionCount": frozenset({"example"}),
    "Load": frozenset({"examples"}),
    "Finding": frozenset({"examples"}),
}


def redact(result: Result) -> Result:
    """A copy of a result without texts."""
    return replace(result, parts=_copy(result.parts))


def redact_evidence(evidence: ReportEvidence) -> ReportEvidence:
    """The data behind results without texts: the attributes of queries are kept."""
    known = evidence.queries
    frame = None if known is None else known.frame.drop([name for name in ("text",) if name in known.frame.columns])
    queries = None if known is None or frame is None else Queries(frame, known.notes)
    return replace(evidence, documents={}, queries=queries, redacted=True)


def mask(text: str) -> str:
    """What stands for a text: a mark and how many characters it had.

    >>> mask("Steep it for three minutes.")
    '▒▒▒ (27)'
    """
    return f"▒▒▒ ({len(text)})" if text else ""


def _copy(value: Any) -> Any:
    if isinstance(value, JudgedSample):
        return _copy_fields(_mask_answer(value))
    if isinstance(value, (Scores, str)):
        return value
    if isinstance(value, tuple):
        return tuple(map(_copy, value))
    if isinstance(value, Mapping):
        return {key: _copy(one) for key, one in value.items()}
    return _copy_fields(value) if is_dataclass(value) and not isinstance(value, type) else value


def _copy_fields(record: Any) -> Any:
    texts = TEXTS.get(type(record).__name__, frozenset())
    changed = {}
    for field in fields(record):
        before = getattr(record, field.name)
        after = _mask(before) if field.name in texts else _copy(before)
        if after is not before and field.init:
            changed[field.name] = after
    return replace(record, **changed) if changed else record


def _mask(value: Any) -> Any:
    """Mask every text in a value; sentences of this program, which have wordings, are kept."""
    if isinstance(value, Said) or (isinstance(value, str) and value.startswith("▒▒▒")):
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        return tuple(map(_mask, value))
    return {key: _mask(one) for key, one in value.items()} if isinstance(value, Mapping) else value


def _mask_answer(one: JudgedSample) -> JudgedSample:
    """Put the marks of its statements in place of an answer."""
    parts: list[str] = []
    kept: list[Statement] = []
    end = 0
    for statement in sorted(one.support.statements, key=lambda part: (part.start, part.end)):
        shown = mask(one.words_of(statement))
        kept.append(replace(statement, start=end, end=end + len(shown), text=shown))
        parts.append(shown)
        end += len(shown) + 1
    answer = " ".join(parts) if parts else one.sample.answer
    sample = replace(one.sample, answer=answer)
    return replace(one, sample=sample, support=replace(one.support, statements=tuple(kept)))
