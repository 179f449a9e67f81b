"""`assay demo`: the main job on the bundled collection, from documents to a table of all combinations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import options

if TYPE_CHECKING:
    from pathlib import Path

    from assay.analysis.conduct import Conducted
    from assay.demo import Bundle
    from assay.messages import Lang
    from assay.results.result import Result

_HELP = """Compare search systems on the bundled collection: texts about tea in English and Chinese. Works offline.

\b
assay demo
assay demo --output somewhere --lang zh
"""


@click.command(name="demo", help=_HELP)
@options.written("--output", "-o", default="assay-demo", show_default=True, metavar="DIR", help="Where results go.")
@options.lang
def command(*, output: str, lang: Lang) -> None:
    """Run the ladder and the chunkers, diagnose the best, look at its answers."""
    from pathlib import Path

    from assay.cli.run import one_thread

    one_thread()
    from assay.demo import collection

    place, folder = collection(), Path(output)
    click.echo(
        f"Tea: {place.documents} documents and {place.queries} queries in English and Chinese, grades 0, 1, 2.\n"
        "Made for demonstration: it shows how the tool works, not which method is better.\n"
    )
    kept = _kept()
    if not kept:
        _runs_only(place)
        return
    ladder, text = _run(
        place.ladder, folder / "ladder", kept, "From words to vectors, to both, to a second model on top"
    )
    cuts = ("whole", "fixed", "sentence", "recursive", *(("semantic",) if "vectors" in kept else ()))
    _run(place.chunking, folder / "chunking", cuts, "Whole documents against other ways to cut them, BM25")
    _diagnosis(ladder, place)
    answered = _answers(ladder)
    _report(ladder, text, answered, folder / "report.html", lang)
    click.echo(
        f"\nResults, runs, answers and times are in {folder}: ladder/result.json, chunking/result.json.\n"
        "Choose on some queries and check on the others:\n"
        f"  assay run {place.ladder} --holdout 0.3 -o {folder / 'holdout'} --cache {folder / 'cache'}\n"
        "For your own documents, copy that file and change its paths. "
        "Or look closer at this collection:\n"
        f"  assay compare {place.judgments} {' '.join(str(path) for path in place.runs)} -m ndcg@10\n"
        f"  assay explain {place.judgments} {place.runs[1]} q01 -m ndcg@10"
    )


def _kept() -> tuple[str, ...]:
    """The steps of the ladder that can run here; says what is left out."""
    from importlib.util import find_spec

    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    if find_spec("bm25s") is None or find_spec("semantic_text_splitter") is None:
        click.echo("Left out: retrieval and chunking need packages: pip install 'assay-eval[pipeline,text]'\n")
        return ()
    if wordllama_folder() is None:
        click.echo("Left out: vectors, hybrid and reranking need a package: pip install 'assay-eval[text]'\n")
        return ("bm25",)
    if find_minilm() is None:
        click.echo("Left out: the step hybrid + minilm, whose weights are fetched by: assay models get minilm\n")
        return ("bm25", "vectors", "hybrid")
    return ("bm25", "vectors", "hybrid", "hybrid + minilm")


def _run(path: Path, folder: Path, only: tuple[str, ...], title: str) -> tuple[Conducted, Result]:
    from assay.analysis.conduct import run_experiment
    from assay.cli.run import bar, clear, write_results
    from assay.report.document import Heading, write
    from assay.report.views.experiment import document

    try:
        found = run_experiment(path, only=only, cache=folder.parent / "cache", tell=bar())
    finally:
        clear()
    result = write_results(found, folder)
    click.echo(write([Heading(title), *document(found.findings)], "table"))
    return found, result


def _diagnosis(ladder: Conducted, place: Bundle) -> None:
    from dataclasses import replace

    from assay.analysis.diagnose import diagnose
    from assay.analysis.settings import Settings
    from assay.formats.queries import read_queries
    from assay.report.document import write
    from assay.report.views.diagnosis import diagnosis

    winner = next(one for one in ladder.outcomes if one.combination.name == ladder.findings.winner)
    assert winner.run is not None
    settings = Settings.of(ladder.collection.judgments, None, "rag", fold="before")
    found = diagnose(ladder.collection.judgments, winner.run, settings, queries=read_queries(place.queries_file))
    click.echo(write(diagnosis(replace(found, worst=())), "table"))


def _answers(ladder: Conducted) -> Result:
    """Evaluate the answers of the best system, which are sentences of the documents."""
    from assay.analysis.answers import answer_details, answers
    from assay.report.document import write
    from assay.report.views.answers import document
    from assay.results.result import make_result

    winner = next(one for one in ladder.outcomes if one.combination.name == ladder.findings.winner)
    found = answers(winner.samples, method="words", name=f"answers of {ladder.findings.winner}")
    part = answer_details([found])
    click.echo(write(document(found, part.samples), "table"))
    return make_result(part, command="assay demo")


def _report(ladder: Conducted, result: Result, answered: Result, place: Path, lang: Lang) -> None:
    """Write all of it as a page; without the packages for that, say how to get them."""
    from assay.cli.run import write_report
    from assay.errors import AssayError

    try:
        write_report(ladder, result, str(place), lang, answers=answered)
    except AssayError as error:
        click.echo(f"There is no report: {error}", err=True)
        return
    click.echo(f"The same as a page, with every query: {place}")


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
    click.echo(write(comparison.document(compare(systems, all_pairs=True), "graded-012", brief=True), "table"))
