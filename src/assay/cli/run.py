"""`assay run`: an experiment from a TOML file, from documents to a table of all combinations."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options, places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from assay.analysis.conduct import Conducted
    from assay.messages import Lang
    from assay.results.result import Result

_BAR, _LINE = 0.1, 10.0  # seconds between two bars, and between two lines of a log
_HELP = """Run the experiment of a TOML file: chunk, index, retrieve, rerank, answer, and measure all of it.

Every list of values in the file is an axis, the text of the queries too; all combinations are evaluated under one
protocol, answers included. Work is kept in a cache by content: the same command run again goes on where it stopped,
and changes redo only what follows them. A file that names module:callable runs code of its folder: run only files
that you trust.

\b
assay run experiment.toml
assay run experiment.toml --limit 20 --only 'hybrid*'
assay run experiment.toml --holdout 0.3 -o results --report report.html
"""


@click.command(name="run", help=_HELP)
@click.argument("experiment", metavar="EXPERIMENT.toml")
@click.option("--limit", type=click.IntRange(min=1), help="Ask the first queries only.")
@click.option("--only", multiple=True, metavar="NAME", help="Combinations by name, * for anything; may be repeated.")
@click.option("--holdout", type=float, default=0.0, metavar="SHARE", help="Queries that only check the winner.")
@click.option("--cache", metavar="DIR", help="Where finished work is kept (.assay-cache beside the file).")
@options.written("--output", "-o", metavar="DIR", help="Where results go (NAME-results beside the file).")
@click.option("--format", "kind", type=click.Choice(["table", "markdown", "latex", "csv", "json"]), default="table")
@click.option("--brief", is_flag=True, help="Leave out the tables of stages and indexes.")
@options.report
@options.lang
def command(
    *, experiment: str, limit: int | None, only: tuple[str, ...], holdout: float, cache: str | None,
    output: str | None, kind: str, brief: bool, report: str | None, lang: Lang,
) -> None:  # fmt: skip
    """Run, print and write."""
    import gc
    from pathlib import Path

    one_thread()
    from assay.analysis.conduct import run_experiment

    gc.enable()  # a long run makes cycles
    _check_places(experiment, output, only)
    try:
        found = run_experiment(experiment, limit=limit, only=only, holdout=holdout, cache=cache, tell=bar(lang))
    except KeyboardInterrupt:
        clear()
        click.echo("stopped; run the same command again: it goes on with what is finished", err=True)
        sys.exit(130)
    finally:
        clear()
    folder = Path(output) if output else found.experiment.output
    result = write_results(found, folder)
    show(found, kind, result, lang=lang, brief=brief)
    if report is not None:
        write_report(found, result, report, lang)
    click.echo(f"wrote {folder / 'result.json'}, and runs, samples and trace beside it", err=True)
    if any(not row.done for row in found.findings.combinations) or any(
        system.failed for system in found.findings.systems
    ):
        sys.exit(1)


def _check_places(experiment: str, output: str | None, only: tuple[str, ...]) -> None:
    """Refuse to write over the data of an experiment, wherever its file names them."""
    from pathlib import Path

    from assay.formats.files import file_name
    from assay.pipeline.experiment import load_experiment

    asked = load_experiment(experiment, only=only)
    folder = Path(output) if output else asked.output
    names = [f"{file_name(one.name)}.jsonl" for one in asked.combinations]
    written = [folder / "result.json", folder / "trace.jsonl"]
    written += [folder / part / name for part in ("runs", "samples") for name in names]
    choices = [choice for one in asked.combinations for choice in one.choices.values()]
    measures = asked.evaluate.get("measures")
    named = [
        *asked.data.values(),
        *(measures if isinstance(measures, list) else []),
        *(value for choice in choices for value in choice.params.values()),
    ]
    read = [value for value in named if isinstance(value, str)]
    places.check(*(asked.folder / value for value in read), outputs=written)


def one_thread() -> None:
    """Keep the library under NumPy to one thread, if it is not loaded yet and nobody asked for more.

    Products of a small model are small: threads wait for each other longer than they work, the more so the busier the
    machine is.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def write_report(found: Conducted, result: Result, place: str, lang: Lang, **more: Result) -> None:
    """Write the report of an experiment with its lists and texts, and of `more` results by their names."""
    from assay.analysis.report_data import Evidence
    from assay.cli.reporting import write
    from assay.formats.queries import read_queries

    runs = {outcome.combination.name: outcome.run for outcome in found.outcomes if outcome.run is not None}
    evidence = Evidence(
        judgments=found.collection.judgments,
        runs=runs,
        documents={document.id: document.text for document in found.collection.documents},
        queries=read_queries(found.experiment.folder / found.experiment.data["queries"]),
    )
    write([(found.experiment.name, result), *more.items()], evidence, place, lang=lang)


def show(found: Conducted, kind: str, result: Result, *, lang: Lang, brief: bool) -> None:
    """Print the findings."""
    from assay.formats.results import to_json
    from assay.messages import say, tell
    from assay.report.document import write
    from assay.report.views.experiment import document

    counts = [
        ", ".join(f"{name} {n}" for name, n in sorted(part.items())) or "0"
        for part in (found.done, found.reused, found.damaged)
    ]
    if found.damaged:
        click.echo(tell(say("experiment.damaged", counts=counts[2]), lang), err=True)
    if kind == "json":
        click.echo(to_json(result), nl=False)
        return
    click.echo(write(document(found.findings, brief=brief), kind, lang), nl=False)  # type: ignore[arg-type]
    click.echo(tell(say("experiment.work", done=counts[0], reused=counts[1]), lang), err=True)
    for note in found.collection.notes:
        click.echo(note, err=True)


def bar(lang: Lang = "en") -> Callable[[str, int, int], None]:
    """Show how far we are: a bar on a terminal, at most ten times a second; a line every ten seconds in a log."""
    import time

    from assay.messages import say
    from assay.messages import tell as translate

    seen = sys.stderr.isatty()
    shown = 0.0 if seen else time.monotonic()

    def tell(name: str, done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown < (_BAR if seen else _LINE):
            return
        shown = now
        if not seen:
            click.echo(translate(say("experiment.progress", what=name, done=done, total=total), lang), err=True)
            return
        filled = 24 * done // max(total, 1)
        line = f"{translate(name, lang)} [{'#' * filled}{'.' * (24 - filled)}] {done:,}/{total:,}"
        click.echo(f"\r{line[:100]:<100}", err=True, nl=False)

    return tell


def clear() -> None:
    """Wipe the bar."""
    if sys.stderr.isatty():
        click.echo("\r" + " " * 100 + "\r", err=True, nl=False)


def write_results(found: Conducted, folder: Path) -> Result:
    """Write runs, samples and trace, and last the result file."""
    from assay.errors import InputError
    from assay.formats.files import file_name, write_atomically
    from assay.formats.writing import write_result, write_run
    from assay.results.result import make_result

    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(folder)) from None
    for outcome in found.outcomes:
        name = file_name(outcome.combination.name)
        if outcome.combination.choices["query"].method != "none" and outcome.queries:
            (folder / "queries").mkdir(exist_ok=True)
            asked = ({"query_id": query.id, "text": query.text} for query in outcome.queries)
            write_atomically(folder / "queries" / f"{name}.jsonl", _lines(asked))
        if outcome.run is not None:
            write_run(outcome.run, folder / "runs" / f"{name}.jsonl")
        if outcome.samples is not None:
            (folder / "samples").mkdir(exist_ok=True)
            write_atomically(folder / "samples" / f"{name}.jsonl", _lines(map(_sample, outcome.samples)))
    write_atomically(folder / "trace.jsonl", _lines(_trace(found)))
    findings = found.findings
    result = make_result(
        findings, command=inputs.command_line(), warnings=findings.warnings, seed=found.experiment.seed
    )
    write_result(result, folder / "result.json")
    return result


def _lines(rows: Any) -> str:
    import json

    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _sample(sample: Any) -> dict[str, Any]:
    return {
        "query_id": sample.query_id, "question": sample.question, "answer": sample.answer,
        "contexts": [{"id": context.id, "text": context.text} for context in sample.contexts or ()],
        **({"reference": sample.references[0]} if sample.references else {}),
        **({"reason": sample.faults["answer"]} if "answer" in sample.faults else {}),
    }  # fmt: skip


def _trace(found: Conducted) -> list[dict[str, Any]]:
    return [
        {"system": outcome.combination.name, "query_id": query.id, "stage": stage, **vars(work)}
        for outcome in found.outcomes
        for stage, works in outcome.work.items()
        for query, work in zip(found.collection.queries, works, strict=True)
    ]
