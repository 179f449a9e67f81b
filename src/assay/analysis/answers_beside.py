"""The answers of several systems to one question, each with what supports its statements."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.analysis.answers import answers
from assay.data.samples import Samples
from assay.errors import AssayError
from assay.formats.files import file_name
from assay.formats.samples import read_samples
from assay.results.answers import AnswerDetails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.result_difference import System
    from assay.analysis.workspace import Workspace
    from assay.data.samples import Sample
    from assay.results.answers import JudgedSample


@dataclass(frozen=True)
class AnswerBeside:
    """The answer of a system to a question; `is_new` says that its support is in no result: it was found now."""

    system: str
    answer: JudgedSample
    is_new: bool = False


def find_answers(space: Workspace, systems: Sequence[System], query: str) -> list[AnswerBeside]:
    """The answers that results hold, or that an experiment wrote beside its result, where a system has one."""
    found = []
    for one in systems:
        stored = next((own for own in _samples_of(one) if own.sample.query_id == query), None)
        if stored is not None:
            found.append(AnswerBeside(one.name, replace(stored, system=one.name)))
        elif (sample := _find_written(space, one, query)) is not None:
            with suppress(AssayError):
                judged = answers(Samples((sample,)), method="words").outcomes[0]
                found.append(AnswerBeside(one.name, replace(judged, system=one.name), is_new=True))
    return found


def _samples_of(system: System) -> list[JudgedSample]:
    parts = system.result.result.every(AnswerDetails)
    return [one for part in parts for one in part.samples if part.name_of(one) in {"", system.own_name}]


def _find_written(space: Workspace, system: System, query: str) -> Sample | None:
    """The sample of a query in the file that an experiment wrote for a system."""
    folder = system.file.name.rpartition("/")[0]
    name = f"{folder + '/' if folder else ''}samples/{file_name(system.own_name)}.jsonl"
    if "experiment" not in system.result.result.parts:
        return None
    for file in space.files("samples"):
        if file.name == name:
            with suppress(AssayError):
                return next((one for one in space.read(file, read_samples) if one.query_id == query), None)
    return None
