"""What an evaluation of answers looks like: means with their methods, stages, the weakest statements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.analysis.doubts import left_out
from assay.messages import say, tell
from assay.report.blocks import Block, Heading, Lines
from assay.report.intervals import between
from assay.report.tables import Table, width
from assay.report.views.scores import number
from assay.results.answers import by_stage, weakest_statements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.answers import Answers
    from assay.data.scores import Counts, Scores
    from assay.messages import Lang
    from assay.results.answers import AnswerDetails, JudgedSample, WeakStatement

_EXAMPLES = 4
_TEXT = 46
_ID = 24
_FINE = frozenset({"fine", "right refusal", ""})


def means(scores: Answers, *, exact: bool = False) -> Table:
    """One row per measure: mean, interval, method, how many samples, and why others are not in it."""
    size = len(scores.query_ids)
    rows = []
    for label in scores.labels:
        counts = scores.counts[label]
        interval = scores.interval(label)
        rows.append(
            (
                label, number(scores[label], exact=exact), between(interval), method_of(scores, label),
                str(counts.queries), say("text.either", en=_told(counts, size, "en"), zh=_told(counts, size, "zh")),
            )
        )  # fmt: skip
    names = [say(f"column.{name}") for name in ("measure", "mean")]
    names += [say("column.interval", level=0.95)]
    names += [say(f"column.{name}") for name in ("method", "samples", "left")]
    return Table(tuple(names), tuple(rows), texts=(3, 5))


def _told(counts: Counts, size: int, lang: Lang) -> str:
    parts = [tell(part, lang) for part in left_out(counts, size)]
    return ("、" if lang == "zh" else ", ").join(parts)


def method_of(scores: Scores, label: str) -> str:
    """The method that found the values of a measure; nothing for one that needs none."""
    method = scores.about(label).method
    return say(f"method.{method}") if method in {"llm", "embedding", "words", "mix"} else method


def document(scores: Answers, samples: Sequence[JudgedSample]) -> list[Block]:
    """Means, stages, the weakest statements, and what a careful reader should know."""
    title = Heading(say("answers.title", system=scores.name, n=len(scores.query_ids)))
    said = [text for text in scores.warnings if getattr(text, "key", "") != "answers.fewer"]  # the table says it
    told = Lines((*said, *scores.notes), listed=True)
    return [title, means(scores), *stages(by_stage(samples)), *weakest(weakest_statements(samples)), told]


def side_by_side(systems: Sequence[Answers], name: str, part: AnswerDetails) -> list[Block]:
    """One row per system, then each system by itself, then what holds for all."""
    if len(systems) == 1:
        return document(systems[0], part.samples)
    shared = [text for text in systems[0].warnings if all(text in scores.warnings for scores in systems)]
    blocks: list[Block] = [
        Heading(say("answers.systems", name=name, systems=len(systems), n=sum(len(s.query_ids) for s in systems))),
        overview(systems),
    ]
    for scores in systems:
        own = replace(scores, warnings=tuple(text for text in scores.warnings if text not in shared), notes=())
        blocks += document(own, part.of(scores.name))
    notes = dict.fromkeys(note for scores in systems for note in scores.notes)
    return [*blocks, Lines((*shared, *notes), listed=True)]


def overview(systems: Sequence[Answers]) -> Table:
    """The means of every system in one table; empty where a method has judged nothing of a system."""
    labels = tuple(dict.fromkeys(label for scores in systems for label in scores.labels))
    rows = tuple(
        (
            scores.name, *(number(scores[label]) if label in scores.labels else "" for label in labels),
            str(len(scores.query_ids)),
        )
        for scores in systems
    )  # fmt: skip
    return Table((say("column.system"), *labels, say("column.samples")), rows)


def stages(found: Mapping[str, tuple[str, ...]]) -> list[Block]:
    """How many samples stand at each stage, with examples and what to do."""
    total = sum(map(len, found.values()))
    rows = tuple(
        (
            say(f"stage.{name}") if name else say("answers.unstaged"), str(len(ids)), f"{len(ids) / total:.1%}",
            "" if name == "fine" else ", ".join(map(_id, ids[:_EXAMPLES])) + (" ..." if len(ids) > _EXAMPLES else ""),
        )
        for name, ids in found.items()
    )  # fmt: skip
    headers = tuple(say(f"column.{name}") for name in ("stage", "samples", "share", "examples"))
    advice = tuple(say(f"advice.{name}", n=len(ids)) for name, ids in found.items() if name not in _FINE)
    return [Table(headers, rows, caption=say("answers.stages"), texts=(3,)), Lines(advice)]


def weakest(found: Sequence[WeakStatement]) -> list[Block]:
    """Statements with the least support beside what the contexts have."""
    if not found:
        return []
    rows = tuple(
        (
            _id(weak.query_id), f"{weak.support:.2f}", short(weak.statement),
            short(weak.evidence) if weak.evidence else say("answers.nothing"), short(weak.reason),
        )
        for weak in found
    )  # fmt: skip
    headers = (
        say("column.sample"), say("column.support"), say("column.statement"), say("answers.evidence"),
        say("column.detail"),
    )  # fmt: skip
    return [Table(headers, rows, caption=say("answers.weakest"), texts=(2, 3, 4))]


def short(text: str, size: int = _TEXT) -> str:
    """The beginning of a text on one line, of at most so many columns of a terminal."""
    joined = " ".join(text.split())
    if width(joined) <= size:
        return joined
    kept, used = [], 0
    for sign in joined:
        used += width(sign)
        if used > size - 3:
            break
        kept.append(sign)
    return "".join(kept).rstrip() + "..."


def _id(name: str) -> str:
    """An id of any length in a few columns: its beginning and its end tell it from others."""
    return name if len(name) <= _ID else f"{name[: _ID // 2]}...{name[-_ID // 2 :]}"


def values(systems: Sequence[Scores]) -> Table:
    """Every measure of every system with exact numbers, for a spreadsheet."""
    rows = tuple(
        (
            scores.name, label, number(scores[label], exact=True), str(method_of(scores, label)),
            str(scores.counts[label].queries), str(len(scores.query_ids)),
        )
        for scores in systems
        for label in scores.labels
    )  # fmt: skip
    return Table(("system", "measure", "mean", "method", "samples", "of"), rows, names=2, texts=(3,))


def view(found: AnswerDetails) -> list[Block]:
    """Stages and the weakest statements of all samples."""
    return [*stages(by_stage(found.samples)), *weakest(weakest_statements(found.samples))]
