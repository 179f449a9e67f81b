"""`assay demo`: the main job on the bundled collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.compare import Comparison
    from assay.data.scores import Scores
    from assay.demo import Collection
    from assay.messages import Lang

_HELP = """Evaluate three search systems on the bundled collection: texts about tea in English and Chinese.

\b
assay demo
assay demo --report tea.html --lang zh
"""


@click.command(name="demo", help=_HELP)
@click.option("--report", default="assay-demo.html", show_default=True, metavar="FILE", help="Where the report goes.")
@options.lang
def command(*, report: str, lang: Lang) -> None:
    """Evaluate and compare the bundled runs."""
    from assay.analysis.compare import compare
    from assay.analysis.evaluate import evaluate_run
    from assay.analysis.settings import Settings
    from assay.demo import collection
    from assay.formats.reading import read_judgments, read_run
    from assay.report import comparison, evaluation
    from assay.report.document import write

    place = collection()
    click.echo(
        f"Tea: {place.documents} documents and {place.queries} queries in English and Chinese, grades 0, 1, 2.\n"
        "Three systems: keywords (words of the title), bm25, ngrams (character n-grams).\n"
    )
    judgments = read_judgments(place.judgments)
    settings = Settings.of(judgments, None, "graded-012")
    systems = [evaluate_run(judgments, read_run(path), settings) for path in place.runs]
    found = compare(systems, all_pairs=True)
    click.echo(write(comparison.document(found, "graded-012", brief=True), "table"))
    click.echo("\n".join(evaluation.sentences(systems)))
    best = max(systems, key=lambda scores: scores["ndcg@10"])
    label = best.inputs[1]["source"].label
    click.echo(
        "\nTry it on your own files:\n"
        "  assay evaluate qrels.txt one.run another.run -m ndcg@10 -m recall@100\n"
        "  assay compare qrels.txt one.run another.run -m ndcg@10\n"
        "or look closer at this collection:\n"
        f"  assay diagnose {place.judgments} {label} --queries {place.queries_file}\n"
        f"  assay explain {place.judgments} {label} q01 -m ndcg@10"
    )
    _report(place, systems, found, report, lang)


def _report(place: Collection, systems: Sequence[Scores], found: Comparison, output: str, lang: Lang) -> None:
    """Write the report of the comparison; without the packages for it, say how to get them."""
    from dataclasses import asdict

    from assay.analysis.dossier import Evidence
    from assay.cli.reporting import write
    from assay.errors import UsageError
    from assay.formats.documents import read_documents
    from assay.formats.queries import read_queries
    from assay.formats.reading import read_judgments, read_run
    from assay.formats.results import result_dict

    more: dict[str, Any] = {"comparison": asdict(found)}
    result = result_dict(systems, command="assay demo", seed=found.rules.seed, more=more)
    runs = {path.stem: read_run(path) for path in place.runs}
    texts = read_documents(place.documents_file), read_queries(place.queries_file)
    try:
        write([("tea", result)], Evidence(read_judgments(place.judgments), runs, *texts), output, lang=lang)
    except UsageError as error:
        click.echo(f"\nThere is no report: {error}", err=True)
        return
    click.echo(f"\nThe same as a page, with every query: {output}")
