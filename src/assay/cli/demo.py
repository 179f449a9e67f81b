"""`assay demo`: the main job on the bundled collection."""

from __future__ import annotations

import click

_HELP = """Evaluate three search systems on the bundled collection: texts about tea in English and Chinese.

\b
assay demo
"""


@click.command(name="demo", help=_HELP)
def command() -> None:
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
