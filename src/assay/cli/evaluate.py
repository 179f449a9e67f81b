"""`assay evaluate`: scores of any number of runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Score RUNs against JUDGMENTS, or a single FILE of records that holds both.

\b
assay evaluate qrels.txt bm25.run dense.run -m ndcg@10 -m recall@100
assay evaluate qrels.txt "my system=out/v2.run.gz" --protocol graded-012
assay evaluate answers.jsonl --protocol rag
assay evaluate qrels.txt bm25.run --format json --output bm25.json
assay evaluate qrels.txt bm25.run dense.run -m ndcg@10 --report report.html
"""


@click.command(name="evaluate", help=_HELP)
@click.argument("judgments", metavar="JUDGMENTS|FILE")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="A measure such as ndcg@10; repeat it, or list them with commas."
)
@options.rules
@click.option("--weights", metavar="FILE", help="Query weights (query_id, weight) for weighted means.")
@click.option("--per-query", is_flag=True, help="Show every query.")
@options.report
@options.output
def command(
    *, judgments: str, runs: tuple[str, ...], measures: tuple[str, ...], weights: str | None, per_query: bool,
    report: str | None, output: str | None, kind: str | None, lang: Lang, **rules: Any,
) -> None:  # fmt: skip
    """Evaluate and print."""
    # Nothing here multiplies matrices, for which numpy would start a thread on every core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    job = inputs.prepare(judgments, runs, list(measures) or None, weights, **rules)
    from assay.errors import clean
    from assay.messages import tell
    from assay.report.tables import render, wrapped
    from assay.report.views import scores as evaluation

    systems = job.scores()
    kind = kind or options.format_for(output, options.FORMATS)
    said = evaluation.sentences(systems)
    if report is not None or kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        result = make_result(systems=systems, command=inputs.command_line(), warnings=said[1:])
        job.report(result, report, lang)
        if kind == "json":
            options.emit(to_json(result), output)
            return
    exact = kind == "csv"
    if per_query:
        table = evaluation.queries(systems, exact=exact)
    else:
        table = evaluation.means(systems, exact=exact, upright=exact)
    options.emit(render(table, kind, lang), output)  # type: ignore[arg-type]
    lines = [line for text in said for line in wrapped(clean(tell(text, lang)), "  ")]
    aside = kind != "table" or output is not None
    click.echo("\n" * (not aside) + "\n".join(lines), err=aside)
