"""What to compute and how: a protocol with everything filled in, and its measures bound to it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.protocols import CHOICES, load_protocol
from assay.data.protocol import POSITIVE
from assay.errors import InputError, UsageError, excerpt
from assay.measures import expand, is_rubric, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.data.scores import Scores, Subject
    from assay.measures import Measure


_PLACEHOLDERS = {"0", "Q0"}  # what stands in the second column where it says nothing


@dataclass(frozen=True)
class Settings:
    """What to compute and how: a protocol with everything filled in, and its measures bound to it."""

    protocol: Protocol
    measures: dict[str, Measure]
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        measures: Sequence[str | Measure] | None,
        protocol: str | Protocol,
        **overrides: Any,
    ) -> Settings:
        """Apply overrides to a protocol and bind the measures that are asked for (or all of its own)."""
        base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
        given = {key: value for key, value in overrides.items() if value is not None}
        for name in base.required:
            if name not in given:
                raise UsageError(f"protocol {base.name} needs --{name.replace('_', '-')}: it has no sensible default")
        _check_choices(given)
        changed = {key: value for key, value in given.items() if value != getattr(base, key)}
        settled, notes = _settle_max_grade(replace(base, **given, overrides=changed), judgments)
        settled = _settle_threshold(settled, judgments)
        top = settled.max_grade if isinstance(settled.max_grade, (int, float)) else None
        bound: dict[str, Measure] = {}
        for label, measure in _labelled(settled, measures).items():
            measure.check_subject("rankings")
            bound[label] = measure.bind(settled.defaults, min_relevance=settled.min_relevance, max_grade=top)
            _check_scale(bound[label], judgments)
            _check_subtopics(bound[label], judgments)
        primary = settled.primary if settled.primary in bound else None
        complete = {label: measure.text for label, measure in bound.items()}
        return cls(replace(settled, measures=complete, primary=primary), bound, notes, _asked(settled, measures))


def settings_of(scores: Scores) -> Settings:
    """Bind the measures of scores again, as they were when these were computed."""
    protocol = scores.protocol
    top = protocol.max_grade if isinstance(protocol.max_grade, (int, float)) else None
    bound = {
        label: parse(text).bind(protocol.defaults, min_relevance=protocol.min_relevance, max_grade=top)
        for label, text in scores.definitions.items()
    }
    return Settings(protocol, bound)


def for_answers(protocol: Protocol) -> Protocol:
    """The side of a protocol that is about answers, if it has both."""
    if not protocol.answers:
        return protocol
    return replace(protocol, measures=protocol.answers, primary=next(iter(protocol.answers)), headline=(), answers={})


def answer_measures(
    measures: Sequence[str | Measure] | Mapping[str, Measure] | None, protocol: Protocol
) -> tuple[dict[str, Measure], dict[str, str]]:
    """Measures of answers by their labels, and the labels of what was asked for; others are refused.

    Measures that have their labels already are taken as they are.
    """
    if isinstance(measures, Mapping):
        return dict(measures), {str(measure): label for label, measure in measures.items()}
    found = {label: measure.bind(protocol.defaults) for label, measure in _labelled(protocol, measures).items()}
    for measure in found.values():
        measure.check_subject("answers")
    return found, _asked(protocol, measures)


def span_measures(
    measures: Sequence[str | Measure], protocol: Protocol, own: Mapping[str, str], share: float | None = None
) -> tuple[dict[str, Measure], dict[str, str]]:
    """Measures of gold spans by their labels, and the labels of what was asked for; others are refused.

    `own` are those of the protocol by their labels; `share` fills the parameter of that name where it is left out.
    """
    if not measures:
        return {}, {}
    side, found = replace(protocol, measures=own), {}
    for label, measure in _labelled(side, measures).items():
        measure.check_subject("spans")
        given = {"share": share} if share is not None and "share" in measure.spec.parameters else {}
        found[label] = measure.bind({measure.name: {**protocol.defaults.get(measure.name, {}), **given}})
    return found, _asked(side, measures)


def subject_of(measure: str | Measure, protocol: Protocol, *others: Mapping[str, str]) -> Subject:
    """What a measure that is asked for is of; what is unknown is left to who reads rankings."""
    tables = (protocol.answers, protocol.measures, *others)
    try:
        return parse(next((table[measure] for table in tables if measure in table), measure)).spec.of  # type: ignore[index]
    except UsageError:
        return "rankings"


def split_protocol(protocol: Protocol) -> tuple[Protocol, dict[str, str]]:
    """A protocol whose measures of answers stand apart from those of rankings, and its measures of gold spans."""
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
            f"grade {judgments.max_grade:g} is above the scale of {measure}",
            path=judgments.source.label if judgments.source else None,
            hint=f"give max_grade={judgments.max_grade:g} or more",
        )


def _check_subtopics(measure: Measure, judgments: Judgments) -> None:
    """Refuse judgments whose column of subtopics is the one that every TREC file has, and says nothing."""
    if not measure.spec.needs_subtopics or judgments.groups != "subtopics":
        return
    known = judgments.frame["subtopic"].unique().to_list()
    if len(known) == 1 and (len(judgments.query_ids) > 1 or known[0].upper() in _PLACEHOLDERS):
        raise InputError(
            f"{measure} needs subtopics, and the judgments have no subtopics: their second column is"
            f" {excerpt(known[0])} in every line",
            path=judgments.source.label if judgments.source else None,
            hint="put the number of the subtopic there, one line for each subtopic of a document",
        )


def _check_choices(given: Mapping[str, Any]) -> None:
    for name, choices in CHOICES.items():
        if name in given and given[name] not in choices:
            raise UsageError(f"{name} = {given[name]!r}: expected one of {', '.join(map(str, choices))}")


def _asked(protocol: Protocol, measures: Sequence[str | Measure] | None) -> dict[str, str]:
    """Map the texts that measures were asked for by to their labels."""
    found: dict[str, str] = {}
    for given in measures or ():
        resolved = _resolved(protocol, given)
        found |= {str(measure): label for label, measure in resolved}
        if len(resolved) == 1:
            found[Path(str(given)).name if is_rubric(given) else str(given)] = resolved[0][0]
    return found


def _labelled(protocol: Protocol, measures: Sequence[str | Measure] | None) -> dict[str, Measure]:
    """Name the measures: by the protocol's labels, else by their canonical text."""
    if measures is None:
        return {label: parse(text) for label, text in protocol.measures.items()}
    if isinstance(measures, str):
        raise UsageError(f"measures must be a list, as in [{measures!r}]")
    found: dict[str, Measure] = {}
    for text in measures:
        resolved = _resolved(protocol, text)
        for label, measure in resolved:
            if label in found and len(resolved) == 1:
                raise UsageError(f"measure {label} is asked for twice")
            found[label] = measure
    if not found:
        raise UsageError("no measure is asked for")
    return found


def _resolved(protocol: Protocol, text: str | Measure) -> list[tuple[str, Measure]]:
    """Read what one text asks for, with labels; a label of the protocol has the protocol's definition."""
    if isinstance(text, str) and text in protocol.measures:
        try:
            label = parse(text).text
        except UsageError:
            label = text
        return [(label, parse(protocol.measures[text]))]
    return [(measure.label, measure) for measure in expand(text)]


def _settle_threshold(protocol: Protocol, judgments: Judgments) -> Protocol:
    """Let "any grade above 0" be the smallest such grade, at most 1: for whole grades the usual threshold."""
    if protocol.min_relevance != POSITIVE:
        if not math.isfinite(protocol.min_relevance):
            raise UsageError("min_relevance must be a finite number")
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
            f"grade {judgments.max_grade:g} is above the scale of protocol {protocol} (0 to {max(offered):g})",
            path=judgments.source.label if judgments.source else None,
            hint="use another protocol, or --max-grade",
        )
    if not isinstance(protocol.max_grade, tuple):
        return protocol, ()
    chosen = min(fitting)
    note = (
        f"protocol {protocol.name}: max_grade = {chosen:g}, as the judgments' largest grade is {judgments.max_grade:g}"
    )
    return replace(protocol, max_grade=chosen), (note,)


def need_subtopics(measures: Sequence[str | Measure] | None, protocol: str | Protocol) -> bool:
    """Tell whether any measure asked for reads the subtopics of judgments."""
    base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
    return any(measure.spec.needs_subtopics for measure in _labelled(base, measures).values())
