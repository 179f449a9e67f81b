"""The results of a folder over time: the main number of each with its interval, and how it moved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from assay.analysis.diagnose import choose_measure
from assay.analysis.evidence import load
from assay.analysis.means import column_mean
from assay.errors import AssayError
from assay.results.conclusion import find_best

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.analysis.workspace import Workspace
    from assay.data.scores import Scores
    from assay.results.result import Result
    from assay.stats.intervals import Interval


@dataclass(frozen=True)
class HistoryEntry:
    """A result: when it was made, what it holds, and the mean of its main measure for the system with the best one.

    `systems` are all of them; `trend` has this and the earlier means of results with the same system, measure and
    judgments, the latest last; `lower` says that lower values are better.
    """

    key: str
    name: str
    date: str
    parts: tuple[str, ...]
    systems: tuple[str, ...] = ()
    system: str = ""
    measure: str = ""
    mean: Interval | None = None
    lower: bool = False
    judgments: str = ""
    trend: tuple[float, ...] = ()

    @property
    def change(self) -> float | None:
        """How far the mean is from that of the result before; None for the first."""
        return self.trend[-1] - self.trend[-2] if len(self.trend) > 1 else None


@dataclass(frozen=True)
class BrokenFile:
    """A file that cannot be read, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class History:
    """All results of a folder, the newest first, and the files that cannot be read."""

    entries: tuple[HistoryEntry, ...]
    broken: tuple[BrokenFile, ...]


def read_history(space: Workspace) -> History:
    """List the results of a folder, the newest first; what cannot be read is named."""
    entries: list[HistoryEntry] = []
    broken: list[BrokenFile] = []
    for file in space.files():
        if file.fault and file.path.suffix == ".json":
            broken.append(BrokenFile(file.name, file.fault))
        if file.kind == "result":
            try:
                entries.append(space.note(file, partial(_read_entry, file.key, file.name)))
            except AssayError as error:
                broken.append(BrokenFile(file.name, error.message))
    ordered = sorted(entries, key=lambda one: (one.date, one.name))
    return History(tuple(_with_trends(ordered))[::-1], tuple(broken))


def _read_entry(key: str, name: str, path: str) -> HistoryEntry:
    return describe_result(load(path).result, key, name)


def describe_result(result: Result, key: str, name: str) -> HistoryEntry:
    """The main number of a result, and what else it holds."""
    entry = HistoryEntry(
        key, name, result.origin.date, tuple(result.parts), tuple(scores.name for scores in result.systems)
    )
    scored = [scores for scores in result.systems if any(column.is_mean for column in scores.columns)]
    if not scored:
        return entry
    label = choose_measure(scored[0], None)
    best = _best([one for one in scored if label in one.labels], label)
    return replace(
        entry, system=best.name, measure=label, mean=column_mean(best, label), lower=best.about(label).lower_is_better,
        judgments=best.judgments_digest,
    )  # fmt: skip


def _best(scored: Sequence[Scores], label: str) -> Scores:
    lower = scored[0].about(label).lower_is_better
    names, _ = find_best({one.name: one[label] for one in scored}, lower=lower)
    return next((one for one in scored if one.name in names), scored[0])


def _with_trends(entries: Iterable[HistoryEntry]) -> Iterable[HistoryEntry]:
    """Entries with the means of those before them that they can be compared with."""
    series: dict[tuple[str, ...], list[float]] = {}
    for one in entries:
        if one.mean is None or one.mean.estimate is None:
            yield one
            continue
        so_far = series.setdefault((one.system, one.measure, one.judgments), [])
        so_far.append(one.mean.estimate)
        yield replace(one, trend=tuple(so_far))
