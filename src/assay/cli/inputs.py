"""Reading what commands are given: judgments with runs, a file of records, or result files."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.analysis.settings import Settings
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.formats.records import Records
    from assay.measures import Measure
    from assay.messages import Lang
    from assay.results.result import Result


def command_line() -> str:
    """Tell how this program was called, without the path of the program."""
    return " ".join(["assay", *sys.argv[1:]])


@dataclass(frozen=True)
class Inputs:
    """Judgments that were read, runs to be read, and the settings under which they are evaluated."""

    judgments: Judgments
    settings: Settings
    places: tuple[tuple[str, str], ...] = ()
    records: Records | None = None
    chunks: Mapping[str, str] | str | None = None
    weights: Mapping[str, float] | None = None
    dedupe: bool = False
    calibration: str = ""
    input_format: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def opened(self) -> list[Run]:
        """The runs, opened once: a pipe can be read only once."""
        from assay.formats.reading import open_run

        if self.records is not None:
            return list(self.records.runs)
        kind = None if self.input_format == "beir" else self.input_format
        return [open_run(path, kind=kind, name=name) for name, path in self.places]

    def runs(self) -> Iterator[Run]:
        """The runs one after the other, showing how far we are."""
        yield from options.with_progress(self.opened, "evaluating")

    def score(self, run: Run) -> Scores:
        """Evaluate one run."""
        from assay.analysis.evaluate import evaluate_run

        return evaluate_run(
            self.judgments,
            run,
            self.settings,
            chunks=self.chunks,
            weights=self.weights,
            dedupe=self.dedupe,
            calibration=self.calibration,
        )

    def scores(self) -> list[Scores]:
        """Evaluate every run."""
        return [self.score(run) for run in self.runs()]

    def report(self, result: Result, place: str | None, lang: Lang) -> None:
        """Write the report of what came out of this job, if a place for it is given."""
        from assay.cli.reporting import write_fresh

        if place is not None:
            runs = {run.name: run for run in self.opened} if self.chunks is None else {}
            write_fresh(result, place, lang, judgments=self.judgments, runs=runs)


def prepare(
    judgments: str,
    runs: tuple[str, ...],
    measures: Sequence[str | Measure] | None,
    weights: str | None,
    *,
    protocol: str,
    chunk_map: str | None,
    dedupe: bool,
    input_format: str | None,
    split: str,
    calibration: str | None = None,
    brief: bool = False,
    **overrides: Any,
) -> Inputs:
    """Read the judgments and settle what is computed; with `brief`, a protocol's few main measures by default."""
    if runs:
        from assay.formats.trec.pieces import read_ahead

        read_ahead(options.named(runs[0])[1])
    from assay.analysis.settings import Settings
    from assay.errors import UsageError
    from assay.formats.reading import read_chunk_map, read_weights

    places = [judgments, *(options.named(run)[1] for run in runs)]
    for place in places:
        if is_result(place):
            raise UsageError(f"{place} is a result file: compare, diagnose and gate read those, alone")
    if places.count("-") > 1:
        raise UsageError("standard input can be read for one file only")
    if brief and measures is None:
        measures = headline(protocol)
    read, records = _judgments(
        judgments, runs, measures, protocol, dedupe=dedupe, input_format=input_format, split=split
    )
    if records is not None and records.unnamed and overrides.get("ties") is None:
        overrides["ties"] = "given"
    return Inputs(
        judgments=read,
        settings=Settings.of(read, measures, protocol, **overrides),
        places=tuple(_named_once(runs)),
        records=records,
        chunks=read_chunk_map(chunk_map) if chunk_map else None,
        weights=read_weights(weights) if weights else None,
        dedupe=dedupe,
        calibration=_calibration(calibration, read) if calibration else "",
        input_format=input_format,
        overrides={name: value for name, value in overrides.items() if value is not None},
    )


def _calibration(place: str, judgments: Judgments) -> str:
    """Read how far a judge agrees with people; it must be the judge of these judgments."""
    from assay.errors import NotComparable
    from assay.formats.results import read_calibration

    found = read_calibration(place)
    if found.judge != judgments.judge:
        raise NotComparable(f"{place} is about {found.judge}, the judgments were made by {judgments.judge or 'people'}")
    if found.poor:
        click.echo(f"{place}: {found.stamp} is too low to lift the stamp of an uncalibrated judge", err=True)
    return "" if found.poor else found.stamp


def is_result(place: str) -> bool:
    """Tell a result file from judgments."""
    from assay.formats.detect import is_result_file

    return is_result_file(place)


def results(places: tuple[str, ...]) -> list[Scores]:
    """Read the systems of result files; NAME=FILE renames the system of a file that has one."""
    from assay.analysis.stored import read_systems

    refuse_rules()
    return [scores for name, path in map(options.named, places) for scores in read_systems(path, name=name)]


def refuse_rules() -> None:
    """Refuse options that shape an evaluation where it was done when a result file was written."""
    from assay.errors import UsageError

    typed = options.given(*options.RULES)
    if typed:
        raise UsageError(f"{typed[0]} has no effect on result files: they were made under their own rules")


def headline(protocol: str) -> list[str] | None:
    """The few main measures of a protocol, or all of them."""
    from assay.analysis.protocols import load_protocol

    return list(load_protocol(protocol).headline) or None


def read_runs(places: tuple[str, ...], kind: str | None = None) -> list[Run]:
    """Read runs, each under a name of its own."""
    from assay.formats.reading import read_run

    return [read_run(path, kind=None if kind == "beir" else kind, name=name) for name, path in _named_once(places)]


def score_at(job: Inputs, place: str) -> Scores:
    """Evaluate one more run under the settings of a job."""
    from assay.formats.files import run_name
    from assay.formats.reading import open_run

    name, path = options.named(place)
    kind = None if job.input_format == "beir" else job.input_format
    return job.score(open_run(path, kind=kind, name=name or run_name(path)))


def _judgments(
    judgments: str, runs: tuple[str, ...], measures: Sequence[str | Measure] | None, protocol: str, *,
    dedupe: bool, input_format: str | None, split: str,
) -> tuple[Judgments, Records | None]:  # fmt: skip
    """Read judgments, or a file of records when no run is given."""
    from assay.analysis.settings import need_subtopics
    from assay.formats.reading import read_judgments, read_records

    if runs:
        kind = None if input_format in {None, "trec"} or Path(judgments).is_dir() else input_format
        subtopics = need_subtopics(measures, protocol)
        return read_judgments(judgments, kind=kind, subtopics=subtopics, split=split, dedupe=dedupe), None
    records = read_records(judgments, kind=input_format)
    return records.judgments, records


def _named_once(runs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Name every run; two of the same name would hide each other."""
    from assay.errors import UsageError
    from assay.formats.files import run_name

    pairs = [(name or run_name(path), path) for name, path in map(options.named, runs)]
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two runs are called {twice!r}: give them names, as in NAME=FILE")
    return pairs
