"""What was found out about single answers, to be sent to where their traces are shown.

The values of a window are a file of their own in the state, which has the name of the window. It is there before the
window counts, it is sent when the window counts, and it is gone when all of it has been sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.formats.files import write_atomically
from assay.formats.traces.evaluations import Evaluation, encode_evaluations
from assay.messages import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from assay.analysis.answers import Answers
    from assay.data.scores import Column
    from assay.data.served import Served
    from assay.results.answers import AnswerCell, JudgedSample

_SUFFIX = ".jsonl"
_LONGEST = 2000  # characters of an explanation
_FAILED = "evaluation_failed"


def describe_answers(served: Sequence[Served], scores: Answers, probabilities: Sequence[float]) -> Iterator[Evaluation]:
    """Every value of some answers, which were drawn with these probabilities; the scores are in the same order."""
    columns = {one.label: one for one in scores.columns}
    for one, outcome, probability in zip(served, scores.outcomes, probabilities, strict=True):
        for label, cell in outcome.cells.items():
            failed = cell.status == "failed"
            yield Evaluation(
                name=label,
                trace_id=one.id,
                span_id=one.span_id,
                value=cell.value,
                label="" if failed else label_value(cell, columns[label]),
                explanation=explain(outcome, cell),
                response_id=one.response_id,
                error=_FAILED if failed else "",
                method=cell.method or "",
                judge=scores.judge if cell.method == "llm" else "",
                probability=probability,
            )


def label_value(cell: AnswerCell, column: Column) -> str:
    """One of few words for a value: full, partial or none, and its status where there is none."""
    if cell.value is None:
        return cell.status
    low, high = column.bounds
    best, worst = (low, high) if column.lower_is_better else (high, low)
    return "full" if cell.value == best else "none" if cell.value == worst else "partial"


def explain(outcome: JudgedSample, cell: AnswerCell) -> str:
    """Why a value is what it is: what the judge said, and the statements that do not follow from the contexts.

    It is for machines to keep, and so in English whatever the language of the user.
    """
    if cell.value is None:
        return tell(cell.reason, "en")[:_LONGEST]
    support = outcome.support if outcome.support.method == cell.method else None
    weak = [one for one in support.claims if one.level != "supported"] if support is not None else []
    said = [tell(cell.note, "en")] if cell.note else []
    if support is not None and support.claims:
        said.append(f"{len(support.claims) - len(weak)} of {len(support.claims)} statements supported by the contexts")
    said += [f"{one.level}: {outcome.words_of(one)}" + (f" ({tell(one.why, 'en')})" if one.why else "") for one in weak]
    return "; ".join(said)[:_LONGEST]


def keep_evaluations(found: Sequence[Evaluation], place: Path, time_ns: int) -> None:
    """Write the evaluations of a window, to be sent; what an attempt before this one wrote is replaced."""
    if found:
        write_atomically(place, b"".join(encode_evaluations(found, time_ns)))
    else:
        place.unlink(missing_ok=True)


def name_evaluations(folder: Path, window: int) -> Path:
    """The file of a window."""
    return folder / f"{window:020d}{_SUFFIX}"


def list_waiting(folder: Path, through: int | None) -> list[Path]:
    """The files of windows that are closed, the earliest first."""
    found = sorted(folder.glob(f"*{_SUFFIX}"))
    return [] if through is None else [path for path in found if int(path.stem) <= through]
