"""`assay compare`: which system is better, by how much, and is it real."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.cli.inputs import Inputs
    from assay.data.scores import Scores
    from assay.messages import Lang
    from assay.results.comparison import Comparison
    from assay.results.result import Result

_HELP = """Compare RUNs with a BASELINE under the same JUDGMENTS, or the systems of result files.

\b
assay compare qrels.txt bm25.run dense.run hybrid.run -m ndcg@10 -m recall@100
assay compare qrels.txt retrieved.run reranked.run --protocol rerank
assay compare qrels.txt *.run --all-pairs --brief --format latex
assay compare before.json after.json --smallest-effect 0.02
assay compare qrels.txt bm25.run dense.run --report report.html
assay compare qrels.txt full.run no_memory.run --labels variants.csv --protocol graded-012
"""


@click.command(name="compare", help=_HELP)
@click.argument("first", metavar="JUDGMENTS|RESULT")
@click.argument("others", nargs=-1, metavar="[NAME=]RUN|RESULT...")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="A measure such as ndcg@10; repeat it, or list them with commas."
)
@click.option("--baseline", metavar="NAME", help="The system to compare with; the first unless named.")
@click.option("--all-pairs", is_flag=True, help="Test all pairs of systems (randomised Tukey HSD).")
@click.option("--smallest-effect", type=float, default=0.01, show_default=True, help="Differences below do not matter.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of tests and intervals.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "bonferroni", "benjamini-hochberg", "none"]),
    default="holm",
    show_default=True,
    help="For testing several systems.",
)
@click.option(
    "--family",
    type=click.Choice(["systems", "all"]),
    default="systems",
    show_default=True,
    help="What is corrected together: the systems of a measure, or all measures too.",
)
@click.option(
    "--interval", type=click.Choice(["t", "bca"]), default="t", show_default=True, help="Student or bootstrap."
)
@click.option("--resamples", type=int, default=10_000, show_default=True, help="Of permutation tests and bootstrap.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything random.")
@click.option(
    "--worth",
    type=float,
    default=0.15,
    show_default=True,
    help="Relative gain above which a reranker is taken to pay: a rule of thumb.",
)
@click.option("--labels", metavar="FILE", help="Descriptions of the systems (system, description): an ablation table.")
@click.option("--brief", is_flag=True, help="Only the table of means, the best systems and the doubts.")
@options.rules
@click.option("--weights", metavar="FILE", help="Query weights (query_id, weight).")
@options.report
@options.output
def command(
    *, first: str, others: tuple[str, ...], measures: tuple[str, ...], baseline: str | None, all_pairs: bool,
    labels: str | None, brief: bool, report: str | None, output: str | None, kind: str | None, lang: Lang,
    weights: str | None, **rest: Any,
) -> None:  # fmt: skip
    """Compare and print."""
    from assay.analysis.compare import compare
    from assay.report.views import comparison as shown
    from assay.results.comparison import Rules

    rules = Rules(
        n_resamples=rest.pop("resamples"),
        **{
            name: rest.pop(name)
            for name in ("smallest_effect", "alpha", "correction", "family", "interval", "seed", "worth")
        },
    )
    job = None
    if inputs.is_result(options.named(first)[1]):
        systems = inputs.results((first, *others))
    else:
        job = inputs.prepare(first, others, list(measures) or None, weights, brief=True, **rest)
        systems = job.scores()
    found = compare(
        systems, list(measures) or None, baseline=baseline, rules=rules, all_pairs=all_pairs, descriptions=labels,
        runs=None if job is None or brief else job.runs(), chunks=None if job is None else job.chunks,
        dedupe=job is not None and job.dedupe,
    )  # fmt: skip
    kind = kind or options.format_for(output, options.FORMATS)
    if report is not None or kind == "json":
        result = _result(systems, found)
        _report(job, result, report, lang)
        if kind == "json":
            from assay.formats.results import to_json

            options.emit(to_json(result), output)
            return
    from assay.report.document import write

    if kind == "csv":
        from assay.report.views.scores import stamp

        table = shown.pair_rows(found) if all_pairs else shown.rows(found)
        options.emit(write([table], "csv", lang, stamp=stamp(systems)), output)
        return
    document = shown.document(found, str(systems[0].protocol), brief=brief, notes=_notes(systems))
    if brief and kind in {"latex", "markdown"}:  # a table to be put into a paper or a page; the rest is for the author
        from assay.report.views.scores import stamp

        options.emit(write(document[:1], kind, lang, stamp=stamp(systems)), output)  # type: ignore[arg-type]
        click.echo(write(document[1:], "table", lang), err=True, nl=False)
    else:
        options.emit(write(document, kind, lang), output)  # type: ignore[arg-type]


def _notes(systems: list[Scores]) -> list[str]:
    from assay.report.views import scores as evaluation

    return evaluation.sentences(systems)[1:]


def _report(job: Inputs | None, result: Result, place: str | None, lang: Lang) -> None:
    """Write the report; without a job, the systems came from result files and their lists are not at hand."""
    from assay.cli.reporting import write_fresh

    if job is not None:
        job.report(result, place, lang)
    else:
        write_fresh(result, place, lang)


def _result(systems: list[Scores], found: Comparison) -> Result:
    from assay.results.result import make_result

    warnings = [*found.warnings, *_notes(systems)]
    return make_result(found, systems=systems, command=inputs.command_line(), warnings=warnings, seed=found.rules.seed)
