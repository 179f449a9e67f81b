"""`assay demo`: the main job on the bundled collection, from documents to a table of all combinations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import language, options, progress
from assay.cli.commands import command as make_command
from assay.cli.inputs import command_line
from assay.cli.parameters import add_option
from assay.cli.places import OUTPUT
from assay.messages import say

if TYPE_CHECKING:
    from pathlib import Path

    from assay.analysis.experiment_runner import FinishedExperiment
    from assay.demo import Bundle
    from assay.results.result import Result

_EXAMPLES = ("assay demo", "assay demo -o somewhere --lang zh")


@make_command("demo", _EXAMPLES)
@add_option("-o", "--output", type=OUTPUT, metavar="DIR", default="assay-demo", show_default=True, section="output")
def command(*, output: str) -> None:
    """Run the ladder and the chunkers, diagnose the best, look at its answers."""
    from pathlib import Path

    from assay.cli.run import one_thread

    one_thread()
    from assay.demo import collection

    place, folder = collection(), Path(output)
    options.tell_lines([say("demo.about", documents=place.documents, queries=place.queries), ""])
    kept = _available_steps()
    if not kept:
        _runs_only(place)
        return
    ladder = _run(place.ladder, folder / "ladder", kept, say("demo.ladder"))
    cuts = ("whole", "fixed", "sentence", "recursive", *(("semantic",) if "vectors" in kept else ()))
    _run(place.chunking, folder / "chunking", cuts, say("demo.chunking"))
    _diagnosis(ladder, place)
    _report(ladder, _answers(ladder), folder / "report.html")
    runs = " ".join(str(path) for path in place.runs)
    options.tell_lines([
        "", say("demo.results", folder=folder),
        say("demo.holdout"),
        f"  assay run {place.ladder} --holdout 0.3 -o {folder / 'holdout'} --cache {folder / 'cache'}",
        say("demo.own"),
        f"  assay compare {place.judgments} {runs} -m ndcg@10",
        f"  assay evaluate {place.judgments} {place.runs[1]} --explain q01 -m ndcg@10",
    ])  # fmt: skip


def _available_steps() -> tuple[str, ...]:
    """The steps of the ladder that can run here; says what is left out."""
    from importlib.util import find_spec

    from assay.installation import install_command
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    if find_spec("bm25s") is None or find_spec("semantic_text_splitter") is None:
        options.tell_lines([say("demo.no_pipeline", command=install_command("pipeline", "text")), ""])
        return ()
    if wordllama_folder() is None:
        options.tell_lines([say("demo.no_vectors", command=install_command("text")), ""])
        return ("bm25",)
    if find_minilm() is None:
        options.tell_lines([say("demo.no_minilm"), ""])
        return ("bm25", "vectors", "hybrid")
    return ("bm25", "vectors", "hybrid", "hybrid + minilm")


def _run(path: Path, folder: Path, only: tuple[str, ...], title: str) -> FinishedExperiment:
    from assay.analysis.experiment_runner import run_experiment
    from assay.report.document import Heading, write
    from assay.report.views import experiment

    with progress.stages() as show:
        found = run_experiment(path, only=only, cache=folder.parent / "cache", tell=show)
    found.save(folder, command=command_line())
    click.echo(write([Heading(title), *experiment.table(found.findings)], "table", language.current()))
    return found


def _diagnosis(ladder: FinishedExperiment, place: Bundle) -> None:
    from dataclasses import replace

    from assay.analysis.diagnose import diagnose
    from assay.analysis.settings import Settings
    from assay.formats.queries import read_queries
    from assay.report.document import write
    from assay.report.views import diagnosis

    winner = next(one for one in ladder.outcomes if one.combination.name == ladder.findings.winner)
    assert winner.run is not None
    settings = Settings.of(ladder.collection.judgments, None, "rag", fold="before")
    found = diagnose(ladder.collection.judgments, winner.run, settings, queries=read_queries(place.queries_file))
    click.echo(write(diagnosis.table(replace(found, worst=())), "table", language.current()))


def _answers(ladder: FinishedExperiment) -> Result:
    """Evaluate the answers of the best system, which are sentences of the documents."""
    from assay.analysis.answers import answer_details, answers
    from assay.report.document import write
    from assay.report.views import answers as shown
    from assay.results.result import make_result

    winner = next(one for one in ladder.outcomes if one.combination.name == ladder.findings.winner)
    found = answers(winner.samples, method="words", name=say("demo.answers_of", name=ladder.findings.winner))
    part = answer_details([found])
    click.echo(write(shown.table(part), "table", language.current()))
    return make_result(part, command="assay demo")


def _report(ladder: FinishedExperiment, answered: Result, place: Path) -> None:
    """Write all of it as a page; without the packages for that, say how to get them."""
    from assay.cli.reporting import write
    from assay.errors import AssayError

    results = [(ladder.experiment.name, ladder.to_result(command_line())), ("answers", answered)]
    try:
        write(results, ladder.evidence(), str(place))
    except AssayError as error:
        options.tell_lines([say("demo.no_report", why=error.message)], err=True)
        return
    options.tell_lines([say("demo.page", place=place)])


def _runs_only(place: Bundle) -> None:
    """What works without any further package: evaluate and compare the bundled runs."""
    from assay.analysis.compare import compare
    from assay.analysis.evaluate import evaluate_run
    from assay.analysis.settings import Settings
    from assay.formats.reading import read_judgments, read_run
    from assay.report.document import write
    from assay.report.views import comparison

    judgments = read_judgments(place.judgments)
    settings = Settings.of(judgments, None, "graded-012")
    systems = [evaluate_run(judgments, read_run(path), settings) for path in place.runs]
    click.echo(write(comparison.table(compare(systems, all_pairs=True), brief=True), "table", language.current()))
