"""Writing reports, for every command that can: the results, what lies behind them, and the file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli import options, places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.report_data import Evidence
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.messages import Lang
    from assay.results.result import Result

FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex", ".txt": "table"}
SHOWN = ("answers", "experiment", "bench", "cost", "roi")  # what a report shows of a result without systems
_NAMES = 4  # of systems in a title
Loaded = tuple[str, "Result"]


def format_of(place: str) -> str:
    """The format that a report will have by its suffix."""
    return options.format_for(place, FORMATS) if place != "-" else "html"


def load(files: Sequence[str]) -> list[Loaded]:
    """Read result files; NAME=FILE renames the system of a file that has one."""
    from assay.errors import UsageError
    from assay.formats.files import Input
    from assay.formats.results import load_result

    found = []
    for name, path in map(options.named, files):
        result = load_result(Input.at(path))
        systems = result.systems
        if name is not None and len(systems) != 1:
            raise UsageError(f"{path} holds {len(systems)} systems: a single name does not fit them")
        if not systems and not any(part in result.parts for part in SHOWN):
            raise UsageError(f"{path} holds nothing that a report shows: no {', no '.join(('systems', *SHOWN))}")
        renamed = result if name is None else replace(result, systems=(replace(systems[0], name=name),))
        found.append((path, renamed))
    return found


def gather(
    results: Sequence[Loaded], *, judgments: str | None, runs: Sequence[str], documents: str | None,
    queries: str | None,
) -> Evidence:  # fmt: skip
    """Read what lies behind the results: what is given, and unchanged files that the results name in their folders."""
    from assay.analysis.report_data import Evidence
    from assay.formats.queries import read_queries
    from assay.pipeline.documents import read_collection

    notes: list[str] = []
    found = _runs(results, runs, notes)
    return Evidence(
        judgments=_judgments(results, judgments),
        runs=found,
        documents={one.id: one.text for one in read_collection(documents)} if documents else {},
        queries=read_queries(queries) if queries else None,
        notes=tuple(notes),
    )


def _judgments(results: Sequence[Loaded], given: str | None) -> Judgments | None:
    """Judgments that are given must be those of a result; others are taken where their hash is the same."""
    from assay.errors import AssayError, NotComparable
    from assay.formats.reading import read_judgments

    digests = [result.systems[0].judgments_digest for _, result in results if result.systems]
    if given is not None:
        read = read_judgments(given)
        if digests and read.digest not in digests:
            raise NotComparable(f"{given} does not hold the judgments of the results: their content differs")
        return read
    for place in _unchanged(results, "judgments").values():
        with suppress(AssayError):  # nobody named this file here: what is wrong in it is not told
            read = read_judgments(place)
            if read.digest in digests:
                return read
    return None


def _unchanged(results: Sequence[Loaded], role: str) -> dict[str, Path]:
    """Input files of a role that are still there with the same bytes, in the folder of their result or below it."""
    from assay.data.source import Source

    found: dict[str, Path] = {}
    for file, result in results:
        for entry in result.origin.inputs:
            for place in _near(file, entry.path) if entry.role == role and entry.sha256 else ():
                if Source(entry.path, place).sha256 == entry.sha256:
                    found.setdefault(entry.path, place)
    places.check(*found.values())
    return found


def _near(file: str, path: str) -> list[Path]:
    """Where a path in a result leads, from here or from the result, without leaving the folder of the result.

    A result may come from anybody: what it names elsewhere, by whatever links, is opened only where the user names it.
    """
    folder = Path(file).parent.resolve()
    found = []
    for place in (Path(path), Path(file).parent / path):
        with suppress(OSError, RuntimeError, ValueError):  # too long, a loop of links, no text for a path
            real = place.resolve()
            if real.is_relative_to(folder) and real.is_file():
                found.append(real)
    return found


def _written(results: Sequence[Loaded]) -> dict[str, Path]:
    """Runs that an experiment wrote beside its result, by system."""
    from assay.formats.files import file_name

    found = {}
    for file, result in results:
        for system in result.systems if "experiment" in result.parts else ():
            for place in _near(file, f"{Path(file).parent.resolve()}/runs/{file_name(system.name)}.jsonl"):
                found[system.name] = place
    return found


def _runs(results: Sequence[Loaded], given: Sequence[str], notes: list[str]) -> dict[str, Run]:
    from assay.errors import AssayError, UnknownName
    from assay.formats.files import run_name
    from assay.formats.reading import read_run
    from assay.messages import say

    files = {system.name: system.file for _, result in results for system in result.systems}
    there, written = _unchanged(results, "run"), _written(results)
    entries = [entry for _, result in results for entry in result.origin.inputs]
    known = {entry.sha256 for entry in entries}
    lists = {entry.path for entry in entries if entry.role == "run"}
    found: dict[str, Run] = {}
    for name, path in map(options.named, given):
        system = name or run_name(path)
        if system not in files:
            raise UnknownName("system", system, files, hint="name it, as in NAME=FILE")
        found[system] = read_run(path, name=system)
        source = found[system].source
        if source is not None and source.sha256 not in known:
            notes.append(say("report.run_other", system=system))
    for system, file in files.items():
        path = file or ""
        place = there.get(path) or written.get(system)
        if system in found or (place is None and path not in lists):
            continue
        why = "run_gone" if any(_near(file, str(path)) for file, _ in results) else "run_outside"
        if place is not None:
            try:
                found[system] = read_run(place, name=system)
                continue
            except AssayError:  # nobody named this file here: what is wrong in it is not told
                why = "run_unread"
        notes.append(say(f"report.{why}", system=system, path=path))
    return found


def write(
    results: Sequence[Loaded], evidence: Evidence, place: str, *, kind: str = "", title: str | None = None,
    lang: Lang = "en",
) -> None:  # fmt: skip
    """Put the report together and write it."""
    from importlib.metadata import version

    from assay.analysis.report_data import report_data
    from assay.messages import say, tell
    from assay.report.whole import report

    files = [Path(path).name if Path(path).suffix == ".json" else path for path, _ in results]
    pages = report(report_data([result for _, result in results], evidence))
    if (kind or format_of(place)) == "html":
        from assay.report.html import page

        heading = title or say("page.title", name=", ".join(Path(name).stem for name in files))
        text = page(pages, title=heading, made=say("page.made", version=version("assay-eval"), files=files), lang=lang)
    else:
        from assay.report.document import write as write_text

        text = write_text(pages, kind or format_of(place), lang)  # type: ignore[arg-type]
    if place == "-":
        click.echo(text, nl=False)
    else:
        from assay.formats.files import write_atomically

        write_atomically(place, text)
        click.echo(tell(say("report.wrote", place=place), lang), err=True)


def write_fresh(
    result: Result, place: str | None, lang: Lang, *, judgments: Judgments | None = None,
    runs: Mapping[str, Run] | None = None,
) -> None:  # fmt: skip
    """Write the report of a result that was computed just now; nothing, if no place is given.

    One line for every command with `options.report`; the data behind the result makes the lists of the queries.
    """
    if place is None:
        return
    from assay.analysis.report_data import Evidence
    from assay.messages import say

    names = [system.name for system in result.systems] or [result.origin.command]
    title = say("page.title", name=", ".join(names[:_NAMES]) + (" ..." if len(names) > _NAMES else ""))
    evidence = Evidence(judgments=judgments, runs=runs or {})
    write([(result.origin.command, result)], evidence, place, title=title, lang=lang)
