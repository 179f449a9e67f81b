"""Plan which measures of answers to compute and by which methods, before anything is judged or paid for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.analysis.answer_clusters import cluster_samples
from assay.analysis.answer_methods import Available, choose_embeddings, is_order, words_first
from assay.analysis.answer_nuggets import add_nuggets
from assay.analysis.protocols import load_protocol
from assay.analysis.settings import answer_measures, for_answers
from assay.data.protocol import AnswerMethod
from assay.errors import UsageError
from assay.formats.files import system_name
from assay.formats.samples import as_samples
from assay.grounding.answerability import read_answerable
from assay.grounding.citations import marks
from assay.measures import defaults
from assay.messages import Lang, say
from assay.stats.inputs import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.nuggets import QuestionNuggets
    from assay.data.protocol import Protocol
    from assay.data.samples import Sample, Samples
    from assay.data.source import Source
    from assay.judge.answers import AnswerJudge
    from assay.measures import Measure
    from assay.text.embeddings import EmbedderChoice

_LOOKED_AT = 200  # samples from which the language of all is detected


@dataclass(frozen=True)
class AnswerPlan:
    """What is to be computed, by which methods, for which samples."""

    samples: Samples
    measures: dict[str, Measure]
    asked: Mapping[str, str]
    protocol: Protocol
    method: AnswerMethod
    here: Available
    mix: bool = False
    calibration: str = ""
    name: str = "answers"
    notes: tuple[str, ...] = ()
    clusters: Mapping[str, str] | None = None
    inputs: tuple[tuple[str, Source], ...] = ()

    def chain_of(self, measure: Measure) -> str:
        """The name of the methods that judge a measure: its own if it has one, the judge if no other method can."""
        if measure.spec.needs_judge:
            return self.method if "llm" in self.here.chain(self.method) else "llm"
        own = str(measure.arguments.get("method", "auto"))
        return own if own in {"llm", "embedding", "words"} else self.method


def plan_answers(
    samples: Any,
    measures: Sequence[str | Measure] | Mapping[str, Measure] | None,
    *,
    method: AnswerMethod | None = None,
    judge: Any = None,
    embedder: Any = "auto",
    text_lang: Lang | None = None,
    columns: Mapping[str, str] | None = None,
    protocol: str | Protocol = "answers",
    name: str | None = None,
    mix: bool = False,
    calibration: str = "",
    cluster: str | Mapping[str, str] | None = None,
    nuggets: str | os.PathLike[str] | Sequence[QuestionNuggets] | None = None,
    **asking: Any,
) -> AnswerPlan:
    """Decide on measures, methods and samples before anything is judged or paid for."""
    added = add_nuggets(as_samples(samples, columns=columns), nuggets)
    read = added.samples
    rules = for_answers(load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol)
    method = method or rules.method
    check_choice(method, AnswerMethod, "method")
    if text_lang is not None:
        check_choice(text_lang, Lang, "text_lang")
    wanted, asked = answer_measures(measures, rules)
    if measures is None:
        wanted, asked = add_nugget_measures(wanted, asked, rules, fields_of(read))
        wanted, left_out = choose_usual(wanted, rules, fields_of(read), judged=judge is not None and _may_judge(method))
    else:
        left_out = find_lacking(wanted, fields_of(read))
    _check_judge(wanted, judge)
    made = None if judge is None else _judge(wanted, judge, read, text_lang, method=method, asking=asking)
    chosen, told = _embeddings(wanted, embedder, read, method=method)
    here = Available(made, chosen, told)
    for one in methods_of(wanted, method) & {"llm", "embedding", "words"}:
        here.chain(one)  # type: ignore[arg-type]
    clusters = cluster_samples(read, cluster)
    belong = [] if clusters is None or cluster is not None else [note_conversations(clusters)]
    notes = (*note_columns(read.mapping), *belong, *added.notes, *left_out, *told)
    title = name or (system_name(read.source.label) if read.source else "answers")
    return AnswerPlan(
        read, wanted, asked, rules, method, here, mix=mix, calibration=calibration, name=title, notes=notes,
        clusters=clusters, inputs=added.inputs,
    )  # fmt: skip


def note_columns(mapping: Mapping[str, str]) -> list[str]:
    """Say from which column each field was read."""
    named = [field if field == column else f"{field} = {column}" for field, column in mapping.items()]
    return [say("answers.mapping", text=named)] if named else []


def note_conversations(clusters: Mapping[str, str]) -> str:
    """Say how many conversations there are."""
    return say("answers.conversations", n=len(clusters), conversations=len(set(clusters.values())))


def methods_of(measures: Mapping[str, Measure], method: str) -> set[str]:
    """All methods that were named, for single measures or for all."""
    return {str(measure.arguments.get("method", "auto")) for measure in measures.values()} | {method}


def _may_judge(method: str) -> bool:
    """Return whether this method may use a language model, if there is one."""
    return method == "llm" or is_order(method)


def _embeddings(
    measures: Mapping[str, Measure], embedder: Any, samples: Samples, *, method: str
) -> tuple[EmbedderChoice | None, tuple[str, ...]]:
    """Choose the embedder, if one is needed, and note which; where words come first, it has to be named."""
    named = bool(methods_of(measures, method) & {"embedding", "sigmoid"})
    wait = words_first(method)
    needed = any(measure.needs_method for measure in measures.values())
    if not named and not (is_order(method) and needed and not (wait and embedder in (None, "auto"))):
        return None, ()
    texts = [sample.answer for sample in samples if sample.answer]
    chosen, told = choose_embeddings(embedder, texts, needed="embedding" in methods_of(measures, method))
    if chosen is not None and wait and not named:
        told = (say("answers.embedder_waits", embedder=chosen.embedder.name),)
    return chosen, told


def _check_judge(measures: Mapping[str, Measure], judge: Any) -> None:
    alone = next((label for label, measure in measures.items() if measure.spec.needs_judge), None)
    if alone is not None and judge is None:
        raise UsageError(say("{name} needs a judge: --judge MODEL with --url (in Python: judge=client)", name=alone))


def add_nugget_measures(
    measures: dict[str, Measure], asked: dict[str, str], protocol: Protocol, has: Callable[[str], bool]
) -> tuple[dict[str, Measure], dict[str, str]]:
    """The default measures, and those of nuggets where samples have them."""
    if not has("nuggets"):
        return measures, asked
    more, told = answer_measures(defaults.NUGGETS, protocol)
    return {**measures, **more}, {**asked, **told}


def find_lacking(measures: Mapping[str, Measure], has: Callable[[str], bool]) -> list[str]:
    """Note measures that were asked for and that no sample has the fields for."""
    lacking = [_needs(label, lack) for label, one in measures.items() if (lack := _missing_field(one, has))]
    return [say("answers.lacking", names=lacking)] if lacking else []


def choose_usual(
    measures: dict[str, Measure], protocol: Protocol, has: Callable[[str], bool], *, judged: bool
) -> tuple[dict[str, Measure], list[str]]:
    """The default measures: those that the samples allow and that need at most one call of a judge per answer.

    `has` says of a field whether some sample has it.
    """
    names = tuple(measures)
    if judged and protocol.headline:
        names = (*protocol.headline, *(label for label in measures if label not in protocol.measures))
    found, lacking = {}, []
    for label in names:
        measure = measures[label]
        if measure.spec.needs_judge and not judged:
            continue
        missing = _missing_field(measure, has)
        if missing:
            lacking.append(_needs(label, missing))
        else:
            found[label] = measure
    if not found:
        raise UsageError(say("the samples lack what every measure needs: {lacking}", lacking=lacking))
    return found, [say("answers.left_out", names=lacking)] if lacking else []


def fields_of(samples: Samples) -> Callable[[str], bool]:
    """A function that says of a field whether some sample has it."""
    return lambda field: any(has_field(sample, field) for sample in samples)


def _missing_field(measure: Measure, has: Callable[[str], bool]) -> str:
    """The field that a measure needs and no sample has."""
    for need in measure.needs:
        options = need.split("|")
        if not any(map(has, options)):
            return say("answers.either", fields=[_field(option) for option in options])
    return ""


def _field(name: str) -> str:
    return say("answers.marks") if name == "marks" else name


def _needs(label: str, field: str) -> str:
    return say("answers.needs", label=label, field=field)


def has_field(sample: Sample, name: str) -> bool:
    """Return whether a sample has what a measure may need, even if it cannot be read."""
    if name == "reference":
        return bool(sample.references)
    if name == "answerable":
        return read_answerable(sample) is not None
    if name == "marks":
        return bool(sample.answer and sample.contexts and marks(sample.answer, sample.contexts))
    return getattr(sample, name) is not None or name in sample.faults


def _judge(
    measures: Mapping[str, Measure],
    judge: Any,
    samples: Samples,
    lang: Lang | None,
    *,
    method: str,
    asking: Mapping[str, Any],
) -> AnswerJudge | None:
    """Make the judge, for the measures that it may judge or that no other method can give.

    None if there is nothing to ask.
    """
    from assay.judge.answers import AnswerJudge
    from assay.llm import as_client

    his = {"llm", "auto", "mix"} if _may_judge(method) else {"llm"}
    asked = [one for one in measures.values() if one.spec.needs_judge or one.arguments.get("method", "auto") in his]
    pieces = frozenset(piece for measure in asked for piece in measure.pieces)
    criteria = dict.fromkeys(measure.criterion for measure in asked if measure.criterion is not None)
    made = AnswerJudge(as_client(judge), pieces, tuple(criteria), lang or language_of(samples), **asking)
    return made if made.is_asked or method == "llm" else None


def language_of(samples: Samples) -> Lang:
    """The language to ask a judge in."""
    from assay.text.words import language

    texts = [text or "" for sample in samples.rows[:_LOOKED_AT] for text in (sample.question, sample.answer)]
    return "zh" if language(" ".join(texts)) == "zh" else "en"
