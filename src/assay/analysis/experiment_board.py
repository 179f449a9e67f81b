"""The experiments of a folder: those that run or ran with their progress, and results of others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.analysis.history_index import index_of
from assay.analysis.workspace import PROGRESS_KIND
from assay.errors import AssayError
from assay.formats.files import RESULT
from assay.formats.run_progress import read_run_progress

if TYPE_CHECKING:
    from assay.analysis.history import HistoryEntry
    from assay.analysis.workspace import WorkFile, Workspace
    from assay.results.run_progress import RunProgress

_SECONDS = 19  # characters of a time down to its seconds


@dataclass(frozen=True)
class FoundExperiment:
    """An experiment of a folder: how far its last run is, and its result, each if there is one.

    `entry` is that of the last run where it finished, else of an earlier one (`is_earlier`).
    """

    file: WorkFile
    progress: RunProgress | None
    entry: HistoryEntry | None
    is_earlier: bool = False

    @property
    def place(self) -> str:
        """The folder of the results, as the page names it."""
        return self.file.name.rpartition("/")[0] or self.file.name

    @property
    def date(self) -> str:
        """When it began; of a result alone, when that was made."""
        return self.progress.began if self.progress else self.entry.date if self.entry else ""


def find_experiments(space: Workspace) -> list[FoundExperiment]:
    """The experiments of a folder, those that run first, then the latest."""
    entries = {one.name: one for one in index_of(space).with_part("experiment")}
    found = []
    for file in space.files(PROGRESS_KIND):
        with suppress(AssayError):
            found.append(_join(file, read_run_progress(file.path), entries.pop(_beside(file), None)))
    found += [FoundExperiment(space.find(one.key), None, one) for one in entries.values()]
    latest = sorted(found, key=lambda one: one.date, reverse=True)
    return sorted(latest, key=lambda one: one.progress is None or one.progress.state != "running")


def find_experiment(space: Workspace, key: str) -> FoundExperiment:
    """The experiment whose progress has a key."""
    file = space.find(key, PROGRESS_KIND)
    entry = next((one for one in index_of(space).with_part("experiment") if one.name == _beside(file)), None)
    return _join(file, read_run_progress(file.path), entry)


def _beside(file: WorkFile) -> str:
    folder = file.name.rpartition("/")[0]
    return f"{folder}/{RESULT}" if folder else RESULT


def _join(file: WorkFile, progress: RunProgress, entry: HistoryEntry | None) -> FoundExperiment:
    earlier = entry is not None and entry.date[:_SECONDS] < progress.began[:_SECONDS]
    return FoundExperiment(file, progress, entry, earlier or progress.state != "finished")
