"""Rubrics: a scale of grades and what each of them means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from assay.errors import InputError, UnknownName, excerpt
from assay.formats.files import read_toml
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from assay.messages import Lang

_MOST = 101
_DIGITS = 9  # of a grade
GRADE_LINE = re.compile(r"[-*+][ \t]+(?:\*\*)?(?P<grade>[-+]?\d[\d.,]*)(?:\*\*)?[ \t]*[:：](?:\*\*)?(?P<meaning>.*)")


@dataclass(frozen=True)
class Rubric:
    """Whole grades with their meanings; a grade without one lies between its neighbours."""

    name: str
    grades: tuple[int, ...]
    meanings: dict[int, str]

    @property
    def low(self) -> int:
        """The lowest grade."""
        return self.grades[0]

    @property
    def high(self) -> int:
        """The highest grade."""
        return self.grades[-1]

    @cached_property
    def version(self) -> str:
        """Its name, which says all of a built-in scale; that of others has a digest, as their words may change."""
        if self.meanings in _SCALES.get(self.name, {}).values():
            return self.name
        return f"{self.name}+{sha256(self.text.encode()).hexdigest()[:8]}"

    @cached_property
    def text(self) -> str:
        """Write the rubric as the lines of a prompt."""
        return "\n".join(f"- {grade}: {self.meanings[grade]}" for grade in self.grades if grade in self.meanings)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Shape of a verdict: the reason comes first, so that the grade follows from it."""
        return {
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "grade": {"type": "integer", "enum": list(self.grades)},
            },
            "required": ["reason", "grade"],
            "additionalProperties": False,
        }


_SCALES: dict[str, dict[Lang, dict[int, str]]] = {
    "0-1": {
        "en": {0: "not relevant: does not help with the query", 1: "relevant: helps with the query"},
        "zh": {0: "不相关：对查询没有帮助", 1: "相关：对查询有帮助"},
    },
    "0-2": {
        "en": {
            0: "not relevant: does not help with the query",
            1: "partly relevant: helps with part of the query, or only indirectly",
            2: "highly relevant: answers the query directly and well",
        },
        "zh": {
            0: "不相关：对查询没有帮助",
            1: "部分相关：只回答了查询的一部分，或只有间接帮助",
            2: "高度相关：直接而充分地回答了查询",
        },
    },
    "0-3": {
        "en": {
            0: "irrelevant: has nothing to do with the query",
            1: "related: on the subject, but does not answer the query",
            2: "highly relevant: answers the query, though incompletely or among other matter",
            3: "perfectly relevant: devoted to the query and answers it",
        },
        "zh": {
            0: "不相关：与查询无关",
            1: "有关联：主题相关，但没有回答查询",
            2: "高度相关：回答了查询，但不完整或夹杂其他内容",
            3: "完全相关：专门针对查询并给出回答",
        },
    },
    "0-10": {
        "en": {
            0: "has nothing to do with the query",
            2: "on a neighbouring subject; of no use for the query",
            4: "on the subject; touches the query without answering it",
            6: "answers part of the query, or answers it indirectly",
            8: "answers the query well, with small gaps",
            10: "answers the query completely and directly",
        },
        "zh": {
            0: "与查询毫无关系",
            2: "主题相近，但对查询没有用处",
            4: "主题相同，涉及查询但没有回答",
            6: "回答了查询的一部分，或间接回答",
            8: "较好地回答了查询，略有欠缺",
            10: "完整而直接地回答了查询",
        },
    },
}


def read_scale(lines: Sequence[str], place: str, first: int = 1) -> Rubric:
    """Read the grades of a Markdown list with lines such as - 0: poor; indented lines continue the one before.

    `place` and `first`, the number of the first line, are for messages.
    """
    meanings: dict[int, str] = {}
    for number, line in enumerate(lines, first):
        found = GRADE_LINE.match(line)
        if found is not None:
            meanings[_grade(found, meanings, place, number)] = found["meaning"].strip()
        elif line.strip() and line[0].isspace() and meanings:
            last = next(reversed(meanings))
            meanings[last] = f"{meanings[last]} {line.strip()}"
        elif line.strip():
            hint = say("indent lines that continue a grade, and write other text above or below the scale")
            raise InputError(
                say("{line} is not a line of the scale", line=excerpt(line)), path=place, line=number, hint=hint
            )
    if not 2 <= len(meanings) <= _MOST:  # noqa: PLR2004
        many = say("the scale has {n} grades, at most {most} are allowed", n=len(meanings), most=_MOST)
        few = say("the scale has only one grade") if meanings else say("there is no scale")
        hint = say("expected a list with two lines or more such as - 0: poor")
        raise InputError(few if len(meanings) < _MOST else many, path=place, hint=hint)
    return Rubric(place, tuple(sorted(meanings)), dict(sorted(meanings.items())))


def _grade(found: re.Match[str], before: Container[int], place: str, line: int) -> int:
    """The grade of a line of a scale, a whole number that has not been there before."""
    text = found["grade"]
    hint = say("a grade is a whole number of 0 or more and has a meaning, as in - 0: poor")
    if not _is_whole(text):
        raise InputError(say("{text} is not a grade", text=excerpt(text)), path=place, line=line, hint=hint)
    if not found["meaning"].strip():
        raise InputError(say("grade {grade} has no meaning", grade=text), path=place, line=line, hint=hint)
    if int(text) in before:
        raise InputError(say("grade {grade} appears twice", grade=text), path=place, line=line)
    return int(text)


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number of a few digits; those of other scripts, such as ², are none."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def load_rubric(name: str, lang: Lang = "en") -> Rubric:
    """Take a built-in scale (0-1, 0-2, 0-3, 0-10) or a rubric file."""
    if name in _SCALES:
        meanings = _SCALES[name][lang]
        return Rubric(name, tuple(range(max(meanings) + 1)), meanings)
    if not name.endswith(".toml"):
        raise UnknownName(
            say("scale"), name, _SCALES, hint=say("the scales are {names}; or name a .toml file", names=list(_SCALES))
        )
    return _check(read_toml(name), name)


def _check(raw: dict[str, Any], place: str) -> Rubric:
    hint = say('expected name = "..." and [grades] with lines such as 0 = "not relevant"')
    entries = raw.get("grades")
    unknown = [key for key in raw if key not in {"name", "grades"}]
    if unknown or not isinstance(entries, dict) or not isinstance(raw.get("name"), str):
        strange = say("not a rubric: unknown key {key}", key=excerpt(unknown[0])) if unknown else None
        raise InputError(strange or say("not a rubric"), path=place, hint=hint)
    meanings: dict[int, str] = {}
    for key, text in entries.items():
        if not _is_whole(key.removeprefix("-")) or not isinstance(text, str) or not text.strip():
            raise InputError(
                say("{key} = {text} is not a grade with its meaning", key=excerpt(key), text=excerpt(text)),
                path=place,
                hint=hint,
            )
        meanings[int(key)] = text.strip()
    if not 2 <= len(meanings) <= _MOST or min(meanings) < 0:  # noqa: PLR2004
        raise InputError(say("a rubric has two grades or more, none below 0"), path=place, hint=hint)
    return Rubric(raw["name"], tuple(sorted(meanings)), dict(sorted(meanings.items())))
