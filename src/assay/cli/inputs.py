"""Reading what commands are given: judgments with runs, a file of records, or result files."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.many_runs import FEW
from assay.cli import options, progress
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.analysis.settings import Settings
    from assay.cli.options import RuleOptions
    from assay.data.judgments import Judgments
    from assay.data.record import Record
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.formats.records import Records
    from assay.measures import Measure
    from assay.report.blocks import Block
    from assay.results.result import Result


def command_line() -> str:
    """Return the command line without the path of the program."""
    return " ".join(["assay", *sys.argv[1:]])


@dataclass(frozen=True)
class Inputs:
    """Judgments that were read, runs to be read, and the settings under which they are evaluated."""

    judgments: Judgments
    settings: Settings
    places: tuple[tuple[str, str], ...] = ()
    open_runs: Sequence[Run] = ()
    records: Records | None = None
    chunks: Mapping[str, str] | str | None = None
    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None
    dedupe: bool = False
    calibration: str = ""
    input_format: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def runs(self) -> Iterator[Run]:
        """The runs one after the other, showing how far we are."""
        yield from progress.each(self.open_runs, say("progress.evaluating"), len(self.open_runs))

    def score(self, run: Run) -> Scores:
        """Evaluate one run."""
        from assay.analysis.evaluate import evaluate_run

        return evaluate_run(
            self.judgments,
            run,
            self.settings,
            chunks=self.chunks,
            weights=self.weights,
            clusters=self.clusters,
            dedupe=self.dedupe,
            calibration=self.calibration,
        )

    def scores(self) -> list[Scores]:
        """Evaluate every run, several at a time."""
        from assay.analysis.many_runs import map_runs

        if len(self.open_runs) == 1:
            return [self.score(run) for run in self.runs()]
        found = map_runs(self.score, self.open_runs, self.judgments, self.settings.common)
        return list(progress.each(found, say("progress.evaluating"), len(self.open_runs)))

    def report(self, result: Result, place: str | None) -> None:
        """Write the report of what came out of this job, if a place for it is given."""
        from assay.cli.reporting import write_fresh

        if place is not None:
            runs = {run.name: run for run in self.open_runs} if self.chunks is None else {}
            write_fresh(result, place, judgments=self.judgments, runs=runs)


def prepare(
    judgments: str,
    runs: tuple[str, ...],
    measures: Sequence[str | Measure] | None,
    rules: RuleOptions,
    *,
    weights: str | None = None,
    brief: bool = False,
) -> Inputs:
    """Read the judgments and settle what is computed; with `brief`, a protocol's few main measures by default."""
    if 0 < len(runs) <= FEW:  # more are read by processes of their own
        from assay.formats.trec.pieces import read_ahead

        read_ahead(options.split_name(runs[0])[1])
    from assay.analysis.settings import settings_for
    from assay.formats.reading import read_chunk_map, read_weights

    places = [judgments, *(options.split_name(run)[1] for run in runs)]
    refuse_results(places)
    options.read_once(places)
    if brief and measures is None:
        measures = headline(rules.protocol)
    read, records = read_judged(judgments, runs, measures, rules)
    overrides = rules.overrides()
    if records is not None and records.unnamed and overrides["ties"] is None:
        overrides["ties"] = "given"
    opened = list(records.runs) if records is not None else _open_runs(runs, rules.input_format)
    chunks = read_chunk_map(rules.chunk_map) if rules.chunk_map else None
    settings = settings_for(opened if chunks is None else (), read, measures, rules.protocol, **overrides)
    if read.inclusion is not None:
        from assay.analysis.sampled import settle_sampled

        settings = settle_sampled(settings, read, named=bool(measures) and not brief)
    clusters = None
    if rules.cluster:
        from assay.formats.queries import read_clusters

        clusters = read_clusters(rules.cluster)
    return Inputs(
        judgments=read,
        settings=settings,
        open_runs=opened,
        places=tuple(name_runs(runs)),
        records=records,
        chunks=chunks,
        weights=read_weights(weights) if weights else None,
        clusters=clusters,
        dedupe=rules.dedupe,
        calibration=stamp_of(rules.calibration, read) if rules.calibration else "",
        input_format=rules.input_format,
        overrides={name: value for name, value in overrides.items() if value is not None},
    )


def _open_runs(places: tuple[str, ...], form: str | None) -> list[Run]:
    """Open every run once, as a pipe cannot be read twice."""
    from assay.formats.reading import open_run

    kind = None if form == "beir" else form
    return [open_run(path, kind=kind, name=name) for name, path in name_runs(places)]


def stamp_of(place: str, judgments: Judgments) -> str:
    """Read how far a judge agrees with people; it must be the judge of these judgments."""
    from assay.errors import NotComparable
    from assay.formats.results import read_calibration

    found = read_calibration(place)
    if found.judge != judgments.judge:
        raise NotComparable(
            say("cli.other_judge", place=place, judge=found.judge, of=judgments.judge or say("cli.people"))
        )
    if found.poor:
        options.note([say("cli.poor_calibration", place=place, stamp=found.stamp)])
    return "" if found.poor else found.stamp


def estimates(systems: Sequence[Scores]) -> list[Record]:
    """How uncertain scores are that were estimated from a sample; nothing for others."""
    if any(scores.sampling is None for scores in systems):
        return []
    from assay.analysis.sampled import sampled_scores

    return [sampled_scores(systems)]


def show_estimates(systems: Sequence[Scores], kind: str) -> list[Block]:
    """The same as blocks; a file of rows has no place for them."""
    from assay.report.views import sampled_scores as view

    return [block for one in estimates(systems) for block in view.table(one)] if kind != "csv" else []  # type: ignore[arg-type]


def refuse_results(places: Sequence[str]) -> None:
    """Refuse results in the place of judgments and runs."""
    from assay.errors import UsageError

    for place in places:
        if is_result(place):
            raise UsageError(say("cli.result_alone", place=place))


def is_result(place: str) -> bool:
    """Return whether a file is a result file and not judgments."""
    from assay.formats.detect import is_result_file

    return is_result_file(place)


def results(places: tuple[str, ...]) -> list[Scores]:
    """Read the systems of result files; NAME=FILE renames the system of a file that has one."""
    from assay.analysis.stored import read_systems

    refuse_rules()
    return [scores for name, path in map(options.split_name, places) for scores in read_systems(path, name=name)]


def refuse_rules() -> None:
    """Refuse options that shape an evaluation where it was done when a result file was written."""
    options.refuse(*options.RULES, because="cli.no_effect_on_results")


def headline(protocol: str) -> list[str] | None:
    """The few main measures of a protocol, or all of them."""
    from assay.analysis.protocols import load_protocol

    return list(load_protocol(protocol).headline) or None


def read_runs(places: tuple[str, ...], kind: str | None = None) -> list[Run]:
    """Read runs, each under a name of its own."""
    from assay.formats.reading import read_run

    return [read_run(path, kind=None if kind == "beir" else kind, name=name) for name, path in name_runs(places)]


def score_at(job: Inputs, place: str) -> Scores:
    """Evaluate one more run under the settings of a job."""
    from assay.formats.files import run_name
    from assay.formats.reading import open_run

    name, path = options.split_name(place)
    kind = None if job.input_format == "beir" else job.input_format
    return job.score(open_run(path, kind=kind, name=name or run_name(path)))


def read_judged(
    judgments: str, runs: tuple[str, ...], measures: Sequence[str | Measure] | None, rules: RuleOptions
) -> tuple[Judgments, Records | None]:
    """Read judgments, or a file of records when no run is given."""
    from assay.analysis.settings import need_subtopics
    from assay.formats.reading import read_judgments, read_records

    if runs:
        form = rules.input_format
        kind = None if form in {None, "trec"} or Path(judgments).is_dir() else form
        subtopics = need_subtopics(measures, rules.protocol)
        read = read_judgments(judgments, kind=kind, subtopics=subtopics, split=rules.split, dedupe=rules.dedupe)
        return read, None
    records = read_records(judgments, kind=rules.input_format)
    return records.judgments, records


def name_runs(runs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Name every run; two of the same name would hide each other."""
    from assay.errors import UsageError
    from assay.formats.files import run_name

    pairs = [(name or run_name(path), path) for name, path in map(options.split_name, runs)]
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(say("cli.same_name", name=twice))
    return pairs
