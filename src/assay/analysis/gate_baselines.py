"""What a gate compares with: scores, a result file, a run, or one of a folder of earlier results."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.analysis.stored import read_system, read_systems
from assay.analysis.warnings import find_score_warnings
from assay.data.scores import Scores
from assay.errors import UnknownName, UsageError
from assay.formats.detect import is_result_file
from assay.formats.files import Input, is_there
from assay.formats.results import load_result
from assay.messages import say, some

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.analysis.gate_rules import NotWorse, Place
    from assay.results.result import Result

_SHOWN = 8  # measures of a baseline
_LAST = 10  # results that the best is taken from, unless told


@dataclass(frozen=True)
class FoundBaseline:
    """A baseline; None where a folder holds no earlier result yet. `taken` says which one it is, and why.

    `rivals` are all candidates for it: the best of several is the best partly by chance.
    """

    scores: Scores | None
    title: str
    taken: str = ""
    rivals: tuple[Scores, ...] = ()


class _Earlier(NamedTuple):
    date: str
    file: str
    scores: Scores


def find_baselines(
    rule: NotWorse, scores: Scores, score: Callable[[str], Scores] | None = None, place: str | None = None
) -> list[FoundBaseline]:
    """Find all baselines of a rule for one system; `place` is the result file it is from, which is no baseline."""
    listed = _as_list(rule.baseline)
    return [_find(one, rule, scores, score, place, several=len(listed) > 1) for one in listed]


def count_rivals(found: Sequence[FoundBaseline], label: str) -> int:
    """The number of distinct results that the baselines were chosen from, for which the level is corrected."""
    distinct: list[np.ndarray] = []
    for one in (rival for base in found for rival in base.rivals):
        values = one.column(_twin(one, label) or label)
        if not any(np.array_equal(values, other, equal_nan=True) for other in distinct):
            distinct.append(values)
    return max(len(distinct), 1)


def measure_in_common(given: Scores | Place | Sequence[Scores | Place], primary: str | None) -> tuple[str, ...]:
    """The one measure that all baselines have, where they lack the primary one; nothing where they have that."""
    held = [scores for one in _as_list(given) for scores in _systems_in_common(one)]
    if primary is None or all(_twin(one, primary) is not None for one in held):
        return ()
    means = [column.label for column in held[0].columns if column.is_mean]
    shared = [label for label in means if all(_twin(one, label) is not None for one in held)]
    if len(shared) == 1:
        return (shared[0],)
    lacking = next(one for one in held if _twin(one, primary) is None)
    hint = say(
        "name a measure with -m: {system} has {measures}", system=lacking.name, measures=some(lacking.labels, _SHOWN)
    )
    raise UnknownName(say("measure"), primary, lacking.labels, hint=hint)


def _as_list(given: Scores | Place | Sequence[Scores | Place]) -> Sequence[Scores | Place]:
    return [given] if isinstance(given, (Scores, str, os.PathLike)) else given


def _systems_in_common(one: Scores | Place) -> list[Scores]:
    """The systems of a baseline that are known by now: not those of a folder or a run."""
    if isinstance(one, Scores):
        return [one]
    return read_systems(one) if is_there(one) and is_result_file(os.fspath(one)) else []


def _twin(scores: Scores, label: str) -> str | None:
    return scores.find(label)


def _find(
    given: Scores | Place, rule: NotWorse, scores: Scores, score: Callable[[str], Scores] | None, own: str | None,
    *, several: bool,
) -> FoundBaseline:  # fmt: skip
    if isinstance(given, Scores):
        return FoundBaseline(given, given.name, rivals=(given,))
    place = os.fspath(given)
    if is_there(place) and Path(place).is_dir() and not is_result_file(place):
        return _from_folder(place, rule, scores, own)
    if is_result_file(place):
        found = read_system(place, like=scores.name)
        title = _title(found, place) if several or found.name == scores.name else found.name
        return FoundBaseline(found, title, rivals=(found,))
    if score is None:
        raise UsageError(
            say("{place} is not a result file: a result file needs another one as its baseline", place=place)
        )
    found = score(place)
    return FoundBaseline(found, found.name, rivals=(found,))


def _title(scores: Scores, place: str) -> str:
    return say("gate.of_file", system=scores.name, file=Path(place).name)


def _from_folder(folder: str, rule: NotWorse, scores: Scores, own: str | None) -> FoundBaseline:
    """Take the newest of a folder's results, or the best of the last; those of other judgments are left out."""
    earlier, left = _earlier(folder, rule, scores, own)
    if not earlier:
        why = "gate.none_comparable" if left else "gate.none_yet"
        return FoundBaseline(None, folder, say(why, folder=folder, n=left))
    kind, _, number = rule.take.partition(":")
    last = earlier[-int(number or _LAST) :] if kind == "best" else earlier[-1:]
    label = scores.label_of(rule.measure)
    sign = scores.about(label).direction
    chosen = max(last, key=lambda one: (sign * one.scores[label], one.date, one.file))
    taken = say(
        f"gate.taken_{kind}", file=chosen.file, folder=folder, date=chosen.date, n=len(last), of=len(earlier),
        measure=rule.measure, value=chosen.scores[label],
    )  # fmt: skip
    taken = say("gate.taken_without", taken=taken, n=left) if left else taken
    return FoundBaseline(chosen.scores, _title(chosen.scores, chosen.file), taken, tuple(one.scores for one in last))


def _earlier(folder: str, rule: NotWorse, scores: Scores, own: str | None) -> tuple[list[_Earlier], int]:
    """Results of a folder that a system can be compared with, in the order of their dates, and how many cannot."""
    found: list[_Earlier] = []
    left = 0
    for path in sorted(Path(folder).glob("*.json")):
        if (own is not None and path.resolve() == Path(own).resolve()) or not is_result_file(str(path)):
            continue
        read = load_result(Input.at(path))
        twin = _comparable(read, rule, scores)
        if twin is None:
            left += 1
        else:
            found.append(_Earlier(read.origin.date, path.name, twin))
    return sorted(found, key=lambda one: (one.date, one.file)), left


def _comparable(read: Result, rule: NotWorse, scores: Scores) -> Scores | None:
    """The system of a result to compare with the one that is checked, if they are comparable."""
    named = [one for one in read.systems if one.name == scores.name]
    system = named[0] if named else read.systems[0] if len(read.systems) == 1 else None
    if system is None or system.judgments_digest != scores.judgments_digest:
        return None
    if system.protocol.rules() != scores.protocol.rules() or _twin(system, rule.measure) is None:
        return None
    return replace(system, warnings=system.warnings or find_score_warnings(system))
