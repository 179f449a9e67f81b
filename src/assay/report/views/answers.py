"""What an evaluation of answers looks like: means with their methods, stages, statements with their support."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.analysis.edges import name_means, warn_of_edges
from assay.analysis.warnings import explain_left_out
from assay.messages import Said, is_known, say, some, tell, word
from assay.report.blocks import AnswerSpan, AnswerView, Block, Heading, Lines, Verdict
from assay.report.intervals import between, interval_column
from assay.report.marks import tone
from assay.report.numbers import cut, number, short
from assay.report.tables import Cell, Table
from assay.report.views.facets import of_answers
from assay.report.views.scores import name_method
from assay.results.answers import FINE_STAGES, by_stage, weakest_statements
from assay.results.support import PARTLY, SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.scores import Column, Counts, Scores
    from assay.messages import Lang
    from assay.report.blocks import Tone
    from assay.results.answers import AnswerDetails, JudgedSample, WeakStatement
    from assay.results.support import Statement
    from assay.stats.intervals import Interval

_EXAMPLES = 4
_TEXT = 120  # characters of a text in a table of a page
_ID = 24
_SYSTEMS = 6  # systems in a sentence


def line(found: AnswerDetails) -> Verdict:
    """Say how many statements of each system are supported, the best first, and by which method that was judged."""
    if not found.claims:
        return Verdict(say("answer.no_claims", answers=len(found.samples)))
    methods = [_method_and_judge(name, found.judges) for name in found.methods]
    systems = found.support_by_system()
    if len(systems) == 1:
        (name, (good, of)), answers = next(iter(systems.items())), len(found.samples)
        told = say("answer.line", good=good, n=of, answers=answers, methods=methods)
        return Verdict(say("doubt.of_one", system=name, text=told) if name else told)
    each = [say("answer.share", system=name, good=good, n=of) for name, (good, of) in systems.items()]
    return Verdict(say("answer.line_systems", systems=some(each, _SYSTEMS), methods=methods))


def _method_and_judge(method: str, judges: Sequence[str]) -> str:
    by_judge = method == "llm" and judges
    return say("answer.judge", method=name_method(method), judges=list(judges)) if by_judge else name_method(method)


def table(found: AnswerDetails, *, name: str = "") -> list[Block]:
    """The systems side by side, then each by itself, then what holds for all."""
    systems = found.scores
    if not systems:
        return [*stages(by_stage(found.samples)), *weakest(weakest_statements(found.samples))]
    if len(systems) == 1:
        return document(systems[0], found.samples, found.means.get(systems[0].name, {}))
    shared = [text for text in systems[0].warnings if all(text in scores.warnings for scores in systems)]
    samples = sum(len(scores.query_ids) for scores in systems)
    title = say("answers.systems", name=name, systems=len(systems), n=samples) if name else say(
        "answers.systems_unnamed", systems=len(systems), n=samples)  # fmt: skip
    blocks: list[Block] = [Heading(title), overview(systems)]
    for scores in systems:
        own = replace(scores, warnings=tuple(text for text in scores.warnings if text not in shared), notes=())
        blocks += document(own, found.of(scores.name), found.means.get(scores.name, {}))
    notes = dict.fromkeys(note for scores in systems for note in scores.notes)
    return [*blocks, Lines((*shared, *notes), listed=True)]


def page(found: AnswerDetails, place: int = 0) -> list[Block]:  # noqa: ARG001
    """The same, and every answer with what is known about its statements."""
    return [*table(found), _answers(found), Lines(tuple(_methods(found))), Lines((legend(),))]


def legend() -> Said:
    """From which support on a statement counts as supported."""
    return say("answer.legend", supported=SUPPORTED, partly=PARTLY)


# Means ----------------------------------------------------------------------------------------------------------------


def document(scores: Scores, samples: Sequence[JudgedSample], known: Mapping[str, Interval]) -> list[Block]:
    """Means, stages, the weakest statements, and what a careful reader should know."""
    title = Heading(say("answers.title", system=scores.name, n=len(scores.query_ids)))
    said = [text for text in scores.warnings if getattr(text, "key", "") != "answers.fewer"]  # the table says it
    told = Lines((*said, *warn_of_edges(name_means({scores.name: known})), *scores.notes), listed=True)
    return [title, means(scores, known), *stages(by_stage(samples)), *weakest(weakest_statements(samples)), told]


def _title(about: Column) -> str:
    """The label of a measure, with what it asks where the name does not say it, and whether it should be small."""
    said = say("measure.asks", label=about.label, what=word("gloss", about.name))
    title = said if is_known(f"gloss.{about.name}") else about.label
    return say("measure.lower_is_better", label=title) if about.lower_is_better else title


def means(scores: Scores, known: Mapping[str, Interval]) -> Table:
    """One row per measure: mean, interval, method, how many samples, and why others are not in it."""
    size = len(scores.query_ids)
    rows = []
    for label in scores.labels:
        counts = scores.counts[label]
        rows.append(
            (
                _title(scores.about(label)), number(scores[label]), between(known[label]) if label in known else "",
                name_method(scores.about(label).method), str(counts.queries),
                say("text.either", en=_gaps(counts, size, "en"), zh=_gaps(counts, size, "zh")),
            )
        )  # fmt: skip
    names = [say(f"column.{name}") for name in ("measure", "mean")]
    names += [interval_column(known.values())]
    names += [say(f"column.{name}") for name in ("method", "samples", "left")]
    return Table(tuple(names), tuple(rows), texts=(3, 5))


def _gaps(counts: Counts, size: int, lang: Lang) -> str:
    parts = [tell(part, lang) for part in explain_left_out(counts, size)]
    return ("、" if lang == "zh" else ", ").join(parts)


def overview(systems: Sequence[Scores]) -> Table:
    """The means of every system side by side, a row for each measure; empty where nothing was judged."""
    labels = tuple(dict.fromkeys(label for scores in systems for label in scores.labels))
    rows = tuple(
        (
            scores.name, *(number(scores[label]) if label in scores.labels else "" for label in labels),
            str(len(scores.query_ids)),
        )
        for scores in systems
    )  # fmt: skip
    return Table((say("column.system"), *labels, say("column.samples")), rows).transpose()


def values(systems: Sequence[Scores]) -> Table:
    """Every measure of every system with exact numbers, for a spreadsheet."""
    rows = tuple(
        (
            scores.name, label, number(scores[label], exact=True), str(name_method(scores.about(label).method)),
            str(scores.counts[label].queries), str(len(scores.query_ids)),
        )
        for scores in systems
        for label in scores.labels
    )  # fmt: skip
    return Table(("system", "measure", "mean", "method", "samples", "of"), rows, names=2, texts=(3,))


# Stages and statements ------------------------------------------------------------------------------------------------


def name_stage(stage: str) -> Said:
    """What a stage is called."""
    return say(f"stage.{stage}") if stage else say("answers.unstaged")


def stages(found: Mapping[str, tuple[str, ...]]) -> list[Block]:
    """How many samples are at each stage, with examples and what to do."""
    if not found:
        return []
    total = sum(map(len, found.values()))
    rows = tuple(
        (
            name_stage(name), str(len(ids)), f"{len(ids) / total:.1%}",
            "" if name == "fine" else _examples(ids),
        )
        for name, ids in found.items()
    )  # fmt: skip
    headers = tuple(say(f"column.{name}") for name in ("stage", "samples", "share", "examples"))
    return [Table(headers, rows, caption=say("answers.stages"), texts=(3,)), Lines(advice(found))]


def advice(found: Mapping[str, tuple[str, ...]]) -> tuple[Said, ...]:
    """What to do about the samples that went wrong, a line for each stage."""
    wrong = [(name, ids) for name, ids in found.items() if name and name not in FINE_STAGES]
    return tuple(say(f"advice.{name}", n=len(ids)) for name, ids in wrong)


def _examples(ids: Sequence[str]) -> Said:
    key = "text.some" if len(ids) > _EXAMPLES else "text.list"
    return say(key, parts=[_id(one) for one in ids[:_EXAMPLES]])


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


def _id(name: str) -> str:
    """Shorten an id to a few columns, keeping its beginning and its end."""
    return name if len(name) <= _ID else f"{name[: _ID // 2]}...{name[-_ID // 2 :]}"


# Every answer ---------------------------------------------------------------------------------------------------------


def _answers(found: AnswerDetails) -> Table:
    """One row per answer, which leads to its statements."""
    named = any(found.name_of(one) for one in found.samples)
    names = ("query", "question", "answer", "stage", "unsupported", "statements", "lowest", "method")
    headers = tuple(say(f"column.{name}") for name in (*(("system",) if named else ()), *names))
    rows = tuple((*((found.name_of(one),) if named else ()), *_row(one)) for one in found.samples)
    chosen = of_answers(found.samples, [found.name_of(one) for one in found.samples])
    return Table(headers, rows, say("answer.table"), names=4 + named, texts=(7 + named,), facets=chosen)


def _row(one: JudgedSample) -> tuple[str | Cell, ...]:
    query, lowest, bad = one.sample.query_id, one.support.weakest, one.support.count("unsupported")
    return (
        Cell(query, query=query), cut(one.sample.question or "", _TEXT), cut(one.sample.answer or "", _TEXT),
        Cell(_stage(one), tone=_tone(one)),
        Cell(str(bad), tone="bad" if bad else ""), str(len(one.support.claims)),
        "" if lowest is None else f"{lowest.support:.2f}", name_method(one.support.method),
    )  # fmt: skip


def _tone(one: JudgedSample) -> Tone:
    return "" if one.fine is None else "good" if one.fine else "bad"


def _stage(one: JudgedSample) -> str:
    return name_stage(one.stage) if one.stage else one.stage_reason or one.support.reason


def _methods(found: AnswerDetails) -> list[str]:
    told: list[str] = [say("answer.method", method=name_method(name), n=n) for name, n in found.methods.items()]
    return [*told, *(text if _names(text) else say("doubt.of_one", system=name_method(name), text=text)
                     for name, text in found.agreement.items())]  # fmt: skip


def _names(text: str) -> bool:
    """Return whether a sentence about a method names it; those of earlier versions do not."""
    return getattr(text, "key", "").startswith("agreement.")


def views(found: AnswerDetails) -> dict[str, tuple[AnswerView, ...]]:
    """All answers by query, cut into their statements."""
    made: dict[str, list[AnswerView]] = {}
    for one in found.samples:
        made.setdefault(one.sample.query_id, []).append(view_answer(one, found.name_of(one)))
    return {query: tuple(own) for query, own in made.items()}


def view_answer(one: JudgedSample, system: str) -> AnswerView:
    """An answer cut into its statements, each with its evidence."""
    contexts = tuple((context.id or "", context.text) for context in one.sample.contexts or ())
    return AnswerView(
        question=one.sample.question or "",
        statements=spans(one.sample.answer or "", one.support.statements, contexts),
        contexts=contexts,
        method=name_method(one.support.method),
        stage=_stage(one),
        system=system,
        references=one.sample.references,
        tone=_tone(one),
    )


def spans(answer: str, statements: Sequence[Statement], contexts: Sequence[tuple[str, str]]) -> tuple[AnswerSpan, ...]:
    """Cut the answer into its statements and the text between them; nothing of it is lost."""
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
    return AnswerSpan(text, one.support, tone(one.level), name, found, one.why)
