"""What to compute and how: a protocol with everything filled in, and its measures bound to it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat

from assay.analysis.protocols import CHOICES, load_protocol
from assay.data.protocol import POSITIVE
from assay.errors import InputError, UsageError, excerpt
from assay.measures import expand, is_rubric, parse, split_measures
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.run import Run
    from assay.data.scores import Column, Scores, Subject
    from assay.engines.engine import Rows
    from assay.measures import Measure


_PLACEHOLDERS = {"0", "Q0"}  # contents of the second column that carry no information


@dataclass(frozen=True)
class Settings:
    """What to compute and how: a protocol with everything filled in, and its measures bound to it."""

    protocol: Protocol
    measures: dict[str, Measure]
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What the scores know of each measure."""
        return tuple(measure.column(label) for label, measure in self.measures.items())

    @property
    def common(self) -> tuple[object, ...]:
        """What the scores of all runs have in common."""
        return self.protocol, self.asked, self.columns, *self.columns

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        measures: Any,
        protocol: str | Protocol,
        **overrides: Any,
    ) -> Settings:
        """Apply overrides to a protocol and bind the measures that are asked for (or all of its own)."""
        base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
        given = {key: value for key, value in overrides.items() if value is not None}
        for name in base.required:
            if name not in given:
                raise UsageError(
                    say(
                        "protocol {protocol} needs --{option}, which has no sensible default",
                        protocol=base.name,
                        option=name.replace("_", "-"),
                    )
                )
        _check_choices(given)
        rules = {**given, **_numbers(given)}
        changed = {key: given[key] for key, value in rules.items() if value != getattr(base, key)}
        settled, notes = _settle_max_grade(replace(base, **rules, overrides=changed), judgments)
        settled = _settle_threshold(settled, judgments)
        wanted = _collect_requests(settled, measures)
        for one in wanted:
            one.measure.check_subject("rankings")
        bound = {one.label: one.measure.under(settled) for one in wanted}
        for measure in bound.values():
            _check_scale(measure, judgments)
            _check_subtopics(measure, judgments)
        primary = next((one.label for one in wanted if one.canonical == settled.primary), None)
        complete = {label: measure.text for label, measure in bound.items()}
        return cls(replace(settled, measures=complete, primary=primary), bound, notes, _labels_by_text(wanted))


def settings_for(
    runs: Iterable[Run | Rows], judgments: Judgments, measures: Any, protocol: str | Protocol, **overrides: Any
) -> Settings:
    """Apply overrides to a protocol as `Settings.of` does, for certain runs.

    Fold chunks to documents first, where runs say that they list chunks and no rule says how to fold them.
    """
    settings = Settings.of(judgments, measures, protocol, **overrides)
    if settings.protocol.fold is not None or not any(run.is_of_chunks for run in runs):
        return settings
    found = Settings.of(judgments, measures, protocol, **{**overrides, "fold": "before"})
    return replace(found, notes=(*settings.notes, say("evaluate.folded")))


def settings_of(scores: Scores) -> Settings:
    """Bind the measures of scores again, as they were when these were computed."""
    bound = {label: parse(text).under(scores.protocol) for label, text in scores.definitions.items()}
    return Settings(scores.protocol, bound)


def for_answers(protocol: Protocol) -> Protocol:
    """The side of a protocol that is about answers, if it has both."""
    if not protocol.answers:
        return protocol
    return replace(protocol, measures=protocol.answers, primary=next(iter(protocol.answers)), headline=(), answers={})


def answer_measures(measures: Any, protocol: Protocol) -> tuple[dict[str, Measure], dict[str, str]]:
    """Measures of answers by their labels, and the labels of what was asked for; others are refused.

    Measures that have their labels already are taken as they are.
    """
    if isinstance(measures, Mapping):
        return dict(measures), {str(measure): label for label, measure in measures.items()}
    wanted = _collect_requests(protocol, measures)
    for one in wanted:
        one.measure.check_subject("answers")
    return {one.label: one.measure.bind(protocol.defaults) for one in wanted}, _labels_by_text(wanted)


def span_measures(
    measures: Sequence[str | Measure], protocol: Protocol, own: Mapping[str, str], share: float | None = None
) -> tuple[dict[str, Measure], dict[str, str]]:
    """Measures of gold spans by their labels, and the labels of what was asked for; others are refused.

    `own` are those of the protocol by their labels; `share` fills the parameter of that name where it is left out.
    """
    if not measures:
        return {}, {}
    wanted, found = _collect_requests(replace(protocol, measures=own), measures), {}
    for label, _, measure, _ in wanted:
        measure.check_subject("spans")
        given = {"share": share} if share is not None and "share" in measure.spec.parameters else {}
        found[label] = measure.bind({measure.name: {**protocol.defaults.get(measure.name, {}), **given}})
    return found, _labels_by_text(wanted)


def subject_of(measure: str | Measure, protocol: Protocol, *others: Mapping[str, str]) -> Subject:
    """The subject of a measure that is asked for; an unknown one is left to the reader of rankings."""
    tables = (protocol.answers, protocol.measures, *others)
    try:
        found = parse(next((table[measure] for table in tables if measure in table), measure)).spec.of  # type: ignore[index]
    except UsageError:
        return "rankings"
    return "rankings" if found == "events" else found  # which refuses them and says where they are computed


def split_protocol(protocol: Protocol) -> tuple[Protocol, dict[str, str]]:
    """Split a protocol into measures of rankings, of answers and of gold spans."""
    sides: dict[Subject, dict[str, str]] = {"rankings": {}, "answers": dict(protocol.answers), "spans": {}}
    for label, text in protocol.measures.items():
        sides[subject_of(label, protocol)][label] = text
    ranked = sides["rankings"]
    return replace(
        protocol,
        measures=ranked,
        answers=sides["answers"],
        primary=protocol.primary if protocol.primary in ranked else None,
        headline=tuple(label for label in protocol.headline if label in ranked),
    ), sides["spans"]


def _check_scale(measure: Measure, judgments: Judgments) -> None:
    top = measure.arguments.get("max_grade")
    if top is not None and judgments.max_grade > top:
        raise InputError(
            say("grade {grade:g} is above the scale of {measure}", grade=judgments.max_grade, measure=str(measure)),
            path=judgments.source.label if judgments.source else None,
            hint=say("give max_grade={grade:g} or more", grade=judgments.max_grade),
        )


def _check_subtopics(measure: Measure, judgments: Judgments) -> None:
    """Refuse judgments whose column of subtopics is the one that every TREC file has, and says nothing."""
    if not measure.spec.needs_subtopics or judgments.groups != "subtopics":
        return
    known = judgments.frame["subtopic"].unique().to_list()
    if len(known) == 1 and (len(judgments.query_ids) > 1 or known[0].upper() in _PLACEHOLDERS):
        raise InputError(
            say(
                "{measure} needs subtopics, but the judgments have none: their second column is {value} in every line",
                measure=str(measure),
                value=excerpt(known[0]),
            ),
            path=judgments.source.label if judgments.source else None,
            hint=say("put the number of the subtopic there, one line for each subtopic of a document"),
        )


def _check_choices(given: Mapping[str, Any]) -> None:
    for name, choices in CHOICES.items():
        if name in given and given[name] not in choices:
            raise UsageError(
                say(
                    "{name} = {value!r}: expected one of {choices}",
                    name=name,
                    value=given[name],
                    choices=list(map(str, choices)),
                )
            )


def _numbers(given: Mapping[str, Any]) -> dict[str, float]:
    """Read the rules that are numbers; the threshold may be the word that protocol files have for any grade above 0."""
    found: dict[str, float] = {}
    for name in ("min_relevance", "max_grade"):
        value = given.get(name, 0.0)
        if name == "min_relevance" and value == "positive":
            value = POSITIVE
        elif isinstance(value, (str, bool)) or not isinstance(value, SupportsFloat) or not math.isfinite(value):
            raise UsageError(
                say("{name} = {value!r}: expected a finite number", name=name, value=value)
                if name == "max_grade"
                else say(
                    "{name} = {value!r}: expected a finite number, or 'positive' for any grade above 0",
                    name=name,
                    value=value,
                )
            )
        if name in given:
            found[name] = float(value)
    return found


class _MeasureRequest(NamedTuple):
    """A measure, the label of its column, the canonical text of that label, and what was written for it."""

    label: str
    canonical: str
    measure: Measure
    written: str


def _labels_by_text(wanted: Sequence[_MeasureRequest]) -> dict[str, str]:
    """Map other texts of measures to the labels of their columns: the canonical ones, and what was written."""
    return {text: one.label for one in wanted for text in (one.measure.text, one.written) if text != one.label}


def _collect_requests(protocol: Protocol, measures: Any) -> list[_MeasureRequest]:
    """What is asked for (else all that the protocol has), each under the name that was used for it."""
    if measures is None:
        return [_MeasureRequest(label, label, parse(text), label) for label, text in protocol.measures.items()]
    found: list[_MeasureRequest] = []
    for text in split_measures(measures):
        resolved = _resolve_request(protocol, text)
        for one in resolved:
            twin = next((other for other in found if one.measure == other.measure), None)
            if twin is None and one.label in {other.label for other in found}:
                raise UsageError(
                    say(
                        "two measures would be called {label}: write the definition of one of them instead",
                        label=one.label,
                    )
                )
            if twin is None:
                found.append(one)
            elif len(resolved) == 1:
                raise UsageError(
                    say("measure {label} is asked for twice", label=one.label)
                    if one.label == twin.label
                    else say("measure {label} is asked for twice, also as {twin}", label=one.label, twin=twin.label)
                )
    if not found:
        raise UsageError(say("no measure is asked for"))
    return found


def _resolve_request(protocol: Protocol, text: str | Measure) -> list[_MeasureRequest]:
    """Read what one text asks for; a label of the protocol has the protocol's definition.

    One measure keeps the name that was used for it; several, as in P.5,10, have canonical ones.
    """
    if isinstance(text, str) and text in protocol.measures:
        try:
            canonical = parse(text).text
        except UsageError:
            canonical = text
        return [_MeasureRequest(text, canonical, parse(protocol.measures[text]), text)]
    several = expand(text)
    if len(several) > 1:
        return [_MeasureRequest(measure.label, measure.label, measure, measure.text) for measure in several]
    (measure,) = several
    if is_rubric(text):  # a rubric names itself
        return [_MeasureRequest(measure.label, measure.label, measure, Path(str(text)).name)]
    name = " ".join(text.split()) if isinstance(text, str) else measure.label
    return [_MeasureRequest(name, measure.label, measure, str(text))]


def _settle_threshold(protocol: Protocol, judgments: Judgments) -> Protocol:
    """Replace "any grade above 0" by the smallest such grade, at most 1: the usual threshold of whole grades."""
    if protocol.min_relevance != POSITIVE:
        return protocol
    return replace(protocol, min_relevance=min(1.0, judgments.least_positive))


def _settle_max_grade(protocol: Protocol, judgments: Judgments) -> tuple[Protocol, tuple[str, ...]]:
    """Choose among the scales that a protocol offers the smallest that holds all grades of the file."""
    if protocol.max_grade is None:
        return protocol, ()
    offered = protocol.max_grade if isinstance(protocol.max_grade, tuple) else (protocol.max_grade,)
    fitting = [grade for grade in offered if grade >= judgments.max_grade]
    if not fitting:
        raise InputError(
            say(
                "grade {grade:g} is above the scale of protocol {protocol} (0 to {top:g})",
                grade=judgments.max_grade,
                protocol=protocol.name,
                top=max(offered),
            ),
            path=judgments.source.label if judgments.source else None,
            hint=say("use another protocol, or --max-grade"),
        )
    if not isinstance(protocol.max_grade, tuple):
        return protocol, ()
    chosen = min(fitting)
    note = say("evaluate.max_grade", protocol=protocol.name, chosen=chosen, grade=judgments.max_grade)
    return replace(protocol, max_grade=chosen), (note,)


def need_subtopics(measures: Any, protocol: str | Protocol) -> bool:
    """Return whether any measure asked for needs the subtopics of judgments."""
    base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
    return any(one.measure.spec.needs_subtopics for one in _collect_requests(base, measures))
