"""`assay demo`: the main job on the bundled collection."""

from __future__ import annotations

import click

_HELP = """Evaluate three search systems on the bundled collection: texts about tea in English and Chinese.

\b
assay demo
"""


@click.command(name="demo", help=_HELP)
def command() -> None:
    """Evaluate the bundled runs and print the table."""
    from assay.analysis.evaluate import Settings, evaluate_run
    from assay.demo import collection
    from assay.formats.reading import read_judgments, read_run
    from assay.report import evaluation
    from assay.report.tables import terminal

    place = collection()
    click.echo(
        f"Tea: {place.documents} documents and {place.queries} queries in English and Chinese, grades 0, 1, 2.\n"
        "Three systems: keywords (words of the title), bm25, ngrams (character n-grams).\n"
    )
    judgments = read_judgments(place.judgments)
    settings = Settings.of(judgments, None, "graded-012")
    systems = [evaluate_run(judgments, read_run(path), settings) for path in place.runs]
    click.echo(terminal(evaluation.means(systems)))
    click.echo("\n".join(evaluation.sentences(systems)))
    best = max(systems, key=lambda scores: scores["ndcg@10"])
    click.echo(
        f"\nBest by the protocol's primary measure, ndcg@10: {best.name}. Try it on your own files:\n"
        "  assay evaluate qrels.txt one.run another.run -m ndcg@10 -m recall@100\n"
        f"  assay explain {place.judgments} {best.inputs[1]['source'].label} q01 -m ndcg@10"
    )
