"""Load results and the data behind them: what the caller gives, and unchanged files that results name nearby.

A result file may be untrusted: files that it names outside its folder are opened only if the user names them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.check_files import identify
from assay.analysis.report_data import ReportEvidence
from assay.data.record import Record
from assay.data.run import Run
from assay.data.source import Source
from assay.errors import AssayError, InputError, NotComparable, UnknownName, UsageError
from assay.formats.conversion import as_judgments, as_whole_run
from assay.formats.detect import is_result_file
from assay.formats.documents import read_documents
from assay.formats.files import Input, file_name, run_name
from assay.formats.queries import Queries, read_queries
from assay.formats.reading import read_judgments, read_run
from assay.formats.results import load_result
from assay.messages import say, some
from assay.results.answers import AnswerDetails
from assay.results.result import Result, make_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.judgments import Judgments
    from assay.data.scores import Scores

Place = str | os.PathLike[str]
_NAMES = 4  # of systems in a title


@dataclass(frozen=True)
class LoadedResult:
    """A result with what it is called: `title` in headings, `name` where it came from; and its file, if it has one.

    Results in memory that name nothing have neither.
    """

    result: Result
    name: str
    title: str
    file: str | None = None


def _result_at(path: str) -> Input:
    """Open a result file; the error for any other file says what it is."""
    source = Input.at(path)
    if source.path is not None and source.path.is_dir() and is_result_file(path):
        return source
    if source.suffix in {".jsonl", ".ndjson"} or not source.text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            kind = identify(path)
        except AssayError:
            return source
        if kind != "result":
            raise InputError(
                say("this is not a result file but {kind}", kind=say(f"check.kind_{kind}")),
                path=path,
                hint=say("make one: assay evaluate qrels.txt my.run -o result.json"),
            )
    return source


def load(place: Place, *, name: str | None = None) -> LoadedResult:
    """Read a result file that has something to show; `name` renames the system of a file that has one."""
    path = os.fspath(place)
    result = load_result(_result_at(path))
    systems = result.systems
    if name is not None and len(systems) != 1:
        raise UsageError(say("{path} holds {n} systems: one name cannot name them all", path=path, n=len(systems)))
    if not systems and not result.parts:
        raise UsageError(
            say("{path} holds nothing that a report shows: neither systems nor what was found out", path=path)
        )
    renamed = result if name is None else _rename_system(result, name)
    shown = Path(path).name if Path(path).suffix == ".json" else path
    return LoadedResult(renamed, shown, _title_of(Path(path)), path)


def _title_of(path: Path) -> str:
    """What a file is called in a heading: commands write result.json, and only its folder says of what."""
    return (path.parent.name if path.name == "result.json" else "") or path.stem


def _rename_system(result: Result, name: str) -> Result:
    """Give the one system of a result another name, which its answers are called by too."""
    system = replace(result.systems[0], name=name)
    parts = {key: _of_system(one, system) for key, one in result.parts.items()}
    return replace(result, systems=(system,), parts=parts)


def _of_system(found: Record | tuple[Record, ...], system: Scores) -> Record | tuple[Record, ...]:
    if not isinstance(found, AnswerDetails):
        return found
    means = next(iter(found.means.values()), {})
    return replace(found, scores=(system,), means={system.name: means} if means else {})


def wrap_record(record: Record) -> LoadedResult:
    """Wrap a record that is in memory."""
    result = record if isinstance(record, Result) else make_result(record)
    title = say("text.list", parts=some(_subjects(result), _NAMES))
    return LoadedResult(result, result.origin.command or title, title)


def _subjects(result: Result) -> list[str]:
    """What a result is about: its systems, else its input files, else what its parts name."""
    systems = [system.name for system in result.systems]
    inputs = [Path(one.path).name for one in result.origin.inputs]
    return systems or inputs or [name for one in result.every(Record) if (name := one.topic())]


def load_all(given: LoadedResult | Record | Place | Iterable[LoadedResult | Record | Place]) -> list[LoadedResult]:
    """Load one or more results, given as files or records."""
    if isinstance(given, (str, os.PathLike)):
        return [load(given)]
    if isinstance(given, Record):
        return [wrap_record(given)]
    if isinstance(given, LoadedResult):
        return [given]
    several = list(given.values()) if isinstance(given, Mapping) else list(given)
    return [one for each in several for one in load_all(each)]


def find_evidence(
    results: Sequence[LoadedResult], *, judgments: Any = None, runs: Mapping[str, Any] | Iterable[Any] = (),
    documents: Mapping[str, str] | Place | None = None, queries: Queries | Place | None = None,
) -> ReportEvidence:  # fmt: skip
    """Collect the data given, and the files that results name if they are nearby and unchanged."""
    notes: list[str] = []
    files = {role: _find_unchanged(results, role) for role in ("judgments", "run")}
    return ReportEvidence(
        judgments=_judgments(results, judgments, files["judgments"]),
        runs=_runs(results, _by_system(runs), files["run"], notes),
        documents=_texts(documents),
        queries=read_queries(queries) if isinstance(queries, (str, os.PathLike)) else queries,
        notes=tuple(notes),
        files=tuple(str(place) for found in files.values() for place in found.values()),
    )


def _texts(documents: Mapping[str, str] | Place | None) -> Mapping[str, str]:
    if isinstance(documents, (str, os.PathLike)):
        return read_documents(documents)
    return documents or {}


def _judgments(results: Sequence[LoadedResult], given: Any, near: Mapping[str, Path]) -> Judgments | None:
    """Find the judgments: those given must belong to a result; others are used if their hash is the same."""
    systems = [system for one in results for system in one.result.systems]
    digests = {one.result.systems[0].judgments_digest for one in results if one.result.systems}
    if given is not None:
        read = as_judgments(given)
        if digests and read.digest not in digests:
            raise NotComparable(
                say("{path} does not hold the judgments of the results: their content differs", path=os.fspath(given))
                if isinstance(given, (str, os.PathLike))
                else say("these are not the judgments of the results: their content differs")
            )
        return read
    for place in near.values():
        with suppress(AssayError):  # the user did not name this file, so problems in it are not reported
            read = read_judgments(place)
            if read.digest in digests:
                return read
    return next((held for system in systems if not isinstance(held := system.judgments, str)), None)


def _find_unchanged(results: Sequence[LoadedResult], role: str) -> dict[str, Path]:
    """Input files of a role that are still there with the same bytes, in the folder of their result or below it."""
    found: dict[str, Path] = {}
    for one in results:
        for entry in one.result.origin.inputs:
            for place in _paths_near(one.file, entry.path) if entry.role == role and entry.sha256 else ():
                if Source(entry.path, place).sha256 == entry.sha256:
                    found.setdefault(entry.path, place)
    return found


def _paths_near(file: str | None, path: str) -> list[Path]:
    """Resolve a path of a result, from here or from the result, within the folder of the result."""
    if file is None:
        return []
    folder = Path(file).parent.resolve()
    found = []
    for place in (Path(path), Path(file).parent / path):
        with suppress(OSError, RuntimeError, ValueError):  # too long, a loop of links, no text for a path
            real = place.resolve()
            if real.is_relative_to(folder) and real.is_file():
                found.append(real)
    return found


def _experiment_runs(results: Sequence[LoadedResult]) -> dict[str, Path]:
    """Runs that an experiment wrote beside its result, by system."""
    found = {}
    for one in results:
        for system in one.result.systems if one.file is not None and "experiment" in one.result.parts else ():
            folder = Path(one.file or "").parent.resolve()
            for place in _paths_near(one.file, f"{folder}/runs/{file_name(system.name)}.jsonl"):
                found[system.name] = place
    return found


def _by_system(given: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Map systems to their runs: by name, else by the name of the run or its file."""
    if isinstance(given, Mapping):
        return dict(given)
    return {one.name if isinstance(one, Run) else run_name(one): one for one in given}


def _runs(
    results: Sequence[LoadedResult], given: Mapping[str, Any], there: Mapping[str, Path], notes: list[str]
) -> dict[str, Run]:
    files = {system.name: system.file for one in results for system in one.result.systems}
    known = {entry.sha256 for one in results for entry in one.result.origin.inputs}
    found: dict[str, Run] = {}
    for system, run in given.items():
        if system not in files:
            raise UnknownName(say("system"), system, files, hint=say("name it, as in NAME=FILE"))
        named = isinstance(run, (str, os.PathLike))
        found[system] = read_run(run, name=system) if named else replace(as_whole_run(run), name=system)
        source = found[system].source
        if named and source is not None and source.sha256 not in known:
            notes.append(say("report.run_other", system=system))
    return {**found, **_near_runs(results, {*found}, there, notes)}


def _near_runs(
    results: Sequence[LoadedResult], given: set[str], there: Mapping[str, Path], notes: list[str]
) -> dict[str, Run]:
    """Runs of the other systems, from unchanged files near their results; a note says why one is missing."""
    stored = [one for one in results if one.file is not None]
    written = _experiment_runs(stored)
    lists = {entry.path for one in stored for entry in one.result.origin.inputs if entry.role == "run"}
    found: dict[str, Run] = {}
    for system in (system for one in stored for system in one.result.systems):
        path = system.file or ""
        place = there.get(path) or written.get(system.name)
        if system.name in given or (place is None and path not in lists):
            continue
        why = "run_gone" if any(_paths_near(one.file, str(path)) for one in stored) else "run_outside"
        if place is not None:
            try:
                found[system.name] = read_run(place, name=system.name)
                continue
            except AssayError:  # the user did not name this file, so problems in it are not reported
                why = "run_unread"
        notes.append(say(f"report.{why}", system=system.name, path=path))
    return found
