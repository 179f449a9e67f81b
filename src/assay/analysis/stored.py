"""Systems of result files, to be compared, diagnosed and gated again."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.analysis.warnings import find_score_warnings
from assay.errors import UsageError
from assay.formats.detect import is_result_file
from assay.formats.writing import read_result
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.scores import Scores


def read_systems(place: str | os.PathLike[str], *, name: str | None = None) -> list[Scores]:
    """Read the systems of a result file, with their doubts; `name` renames the system of a file that has one."""
    path = os.fspath(place)
    if not is_result_file(path):
        raise UsageError(say("{path} is not a result file: give only result files, or judgments and runs", path=path))
    systems = read_result(path)
    if not systems:
        raise UsageError(say("{path} holds no systems: it is the result of a command that evaluates none", path=path))
    if name is not None and len(systems) > 1:
        raise UsageError(say("{path} holds {n} systems: one name cannot name them all", path=path, n=len(systems)))
    return [replace(one, name=name or one.name, warnings=one.warnings or find_score_warnings(one)) for one in systems]


def read_system(place: str | os.PathLike[str], *, like: str | None = None) -> Scores:
    """Read the one system of a result file, or of several the one that is called `like`."""
    systems = read_systems(place)
    if len(systems) == 1:
        return systems[0]
    if like is None:
        raise UsageError(
            say("{place} holds {n} systems: give one of assay.read_result(...)", place=os.fspath(place), n=len(systems))
        )
    same = [one for one in systems if one.name == like]
    if not same:
        raise UsageError(
            say(
                "{place} holds {systems}, but no system called {name}",
                place=os.fspath(place),
                systems=[one.name for one in systems],
                name=like,
            )
        )
    return same[0]
