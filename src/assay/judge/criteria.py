"""What a judge grades an answer as a whole by: which prompt asks, what it is shown, and which samples can be graded.

A criterion is built in, or a user's own: a Markdown file, the rubric, that says what to judge and has a scale.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import InputError, excerpt
from assay.grounding.record import Blank
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.samples import Sample
    from assay.judge.rubric import Rubric

FIELDS = ("question", "contexts", "reference")  # what can be shown beside the answer
_KEYS = ("name", "needs")
_SETTING = re.compile(r"(?P<key>[a-z_]+)[ \t]*[:：][ \t]*(?P<value>.*)")
_FORBIDDEN = re.compile(r"[^\w .-]")  # in names, which appear in tables, thresholds and definitions
_LONGEST = 40  # characters of a name
_DIGEST = 12


@dataclass(frozen=True)
class Criterion:
    """One thing that an answer as a whole is graded by; `name` distinguishes its grades from others.

    `prompt` names the files that ask for it, one for each language, with the scale in them. `shows` are the fields of a
    sample that the judge sees beside the answer; without those of `needs` nothing is asked. A refusal is graded like
    any answer unless `refusals` is False. A user's own has its `text` and its `scale`, whose grades are its values;
    others are shares of the highest grade.
    """

    name: str
    prompt: str
    shows: tuple[str, ...]
    needs: tuple[str, ...] = ()
    refusals: bool = True
    text: str = ""
    scale: Rubric | None = field(default=None, compare=False)


def ungradable(sample: Sample, criterion: Criterion) -> Blank | None:
    """Why an answer cannot be graded by a criterion; None if it can."""
    from assay.grounding.preparing import fault_reason

    for name in ("answer", *criterion.shows):
        if name in sample.faults:
            return Blank("failed", fault_reason(name, sample))
    for name in criterion.needs:
        if not texts_of(sample, name):
            return Blank("not_applicable", say("reason.lacks", field=name))
    if not (sample.answer or "").strip():
        return Blank("missing", say("reason.no_answer" if sample.answer is None else "reason.empty_answer"))
    return None if criterion.refusals else _refusal(sample)


def texts_of(sample: Sample, name: str) -> list[str]:
    """What a sample has of a field that can be shown, empty texts left out."""
    found = {
        "question": [sample.conversation.strip() if (sample.question or "").strip() else ""],
        "contexts": [context.text for context in sample.contexts or ()],
        "reference": list(sample.references),
    }[name]
    return [text for text in found if text.strip()]


def _refusal(sample: Sample) -> Blank | None:
    from assay.grounding.preparing import prepare

    ready = prepare(sample)
    return Blank("abstained", ready.reason) if ready.status == "abstained" else None


# Rubrics of users -----------------------------------------------------------------------------------------------------


class OwnRubric(NamedTuple):
    """A user's rubric as it was read: its name, the first digits of the SHA-256 of its text, and the criterion."""

    name: str
    digest: str
    criterion: Criterion


def read_rubric(place: str | os.PathLike[str]) -> OwnRubric:
    """Read a rubric: lines name: and needs: at the top, if any, what is to be judged, and a list such as - 0: poor."""
    from assay.formats.files import Input

    path = os.fspath(place)
    text = Input.at(path).text.replace("\r\n", "\n").removeprefix("\ufeff")
    lines = text.split("\n")
    told = _settings(lines, path)
    said = {line for _, line in told.values()}
    words, scale = _parts(["" if number in said else line for number, line in enumerate(lines, 1)], path)
    digest = sha256(text.encode()).hexdigest()[:_DIGEST]
    needs = _needs(*told["needs"], path) if "needs" in told else ()
    criterion = Criterion(
        f"rubric {digest}",
        "criterion",
        shows=needs if "needs" in told else FIELDS,
        needs=needs,
        text=words,
        scale=scale,
    )
    return OwnRubric(_name(*told["name"], path) if "name" in told else _stem(path), digest, criterion)


def _settings(lines: Sequence[str], path: str) -> dict[str, tuple[str, int]]:
    """Lines such as needs: question at the top, below a heading if there is one, with their numbers."""
    told: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines, 1):
        if not told and (not line.strip() or line.startswith("#")):
            continue
        found = _SETTING.fullmatch(line.rstrip())
        if found is None:
            break
        if found["key"] not in _KEYS:
            hint = say("a rubric may begin with name: and needs:; a blank line ends them")
            raise InputError(say("unknown key {key}", key=excerpt(found["key"])), path=path, line=number, hint=hint)
        if found["key"] in told:
            raise InputError(say("{key} appears twice", key=found["key"]), path=path, line=number)
        told[found["key"]] = found["value"].strip(), number
    return told


def _needs(value: str, line: int, path: str) -> tuple[str, ...]:
    """The fields that a rubric needs besides the answer."""
    known = ("answer", *FIELDS)
    named = [word for word in re.split(r"[\s,，、]+", value) if word]
    strange = next((word for word in named if word not in known), None)
    if strange is not None or not named:
        lacking = say("needs: names nothing")
        what = lacking if strange is None else say("needs: {name} is not known", name=excerpt(strange))
        raise InputError(what, path=path, line=line, hint=say("expected some of {names}", names=list(known)))
    return tuple(word for word in FIELDS if word in named)


def _name(value: str, line: int, path: str) -> str:
    if not value or len(value) > _LONGEST or _FORBIDDEN.search(value):
        hint = say("a name has at most {most} letters, digits, blanks, dots, - and _", most=_LONGEST)
        raise InputError(say("{name} cannot be a name", name=excerpt(value)), path=path, line=line, hint=hint)
    return value


def _stem(path: str) -> str:
    return _FORBIDDEN.sub("_", Path(path).stem)[:_LONGEST]


def _parts(lines: Sequence[str], path: str) -> tuple[str, Rubric]:
    """What is to be judged, and the scale."""
    from assay.judge.rubric import GRADE_LINE, read_scale

    places = [place for place, line in enumerate(lines) if GRADE_LINE.match(line)]
    start, end = (places[0], places[-1] + 1) if places else (0, 0)
    while 0 < end < len(lines) and lines[end][:1].isspace() and lines[end].strip():
        end += 1  # the last meaning continues
    scale = read_scale(lines[start:end], path, start + 1)
    before = "\n".join(lines[:start]).rstrip()
    heading = before.rpartition("\n")[2]
    words = before.removesuffix(heading) if heading.startswith("#") else before  # the heading of the scale
    words = f"{words.strip()}\n\n{chr(10).join(lines[end:]).strip()}".strip()
    if not any(line.strip() and not line.startswith("#") for line in words.split("\n")):
        hint = say("write a sentence or more above the scale")
        raise InputError(say("the rubric does not say what to judge"), path=path, line=start + 1, hint=hint)
    return words, scale
