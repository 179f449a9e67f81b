"""`assay evaluate`: scores of any number of runs; against k with --sweep, one query step by step with --explain."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from assay.cli import engines, inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.engines import EngineOptions
from assay.cli.options import Output, RuleOptions
from assay.cli.parameters import NUMBER, SHARE, add_argument, add_option, takes
from assay.cli.reporting import write_fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.data.scores import Scores
    from assay.results.result import Result

_EXAMPLES = (
    "assay evaluate qrels.txt bm25.run dense.run -m ndcg@10,recall@100",
    'assay evaluate qrels.txt "my system=out/v2.run.gz" --protocol graded-012',
    "assay evaluate answers.jsonl --protocol rag",
    "assay evaluate qrels.txt bm25.run -o bm25.json --report report.html",
    "assay evaluate qrels.txt bm25.run dense.run --sweep 1,3,5,10,20",
    "assay evaluate qrels.txt bm25.run --explain q17 -m ndcg@10",
    "assay evaluate qrels.txt bm25.run --engine local -o scores/",
)


@make_command("evaluate", _EXAMPLES)
@add_argument("judgments", metavar="JUDGMENTS|FILE")
@add_argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@options.measures
@add_option("--all", "everything", is_flag=True)
@add_option("--per-query", is_flag=True)
@add_option("--sweep", is_flag=False, flag_value="1,3,5,10,20", metavar="K,K,...")
@add_option("--explain", metavar="QUERY")
@add_option("--recall-target", type=NUMBER, default=0.7, show_default=True, only="sweep")
@add_option("--alpha", type=SHARE, default=0.05, show_default=True, only="sweep")
@options.encoding
@takes(rules=RuleOptions)
@options.weights
@takes(where=EngineOptions, out=Output)
def command(
    *, judgments: str, runs: tuple[str, ...], measures: tuple[str, ...], everything: bool, per_query: bool,
    sweep: str | None, explain: str | None, recall_target: float, alpha: float, weights: str | None,
    rules: RuleOptions, where: EngineOptions, out: Output,
) -> None:  # fmt: skip
    """Evaluate and print."""
    if explain is not None or sweep is not None:
        options.refuse("engine", because="cli.no_engine")
    if explain is not None:
        from assay.cli.explain import print_steps

        print_steps(judgments, runs, explain, measures, rules=rules, out=out)
    elif sweep is not None:
        from assay.cli.sweep import print_sweep

        print_sweep(
            judgments, runs, sweep, measures, rules=rules, out=out, weights=weights, recall_target=recall_target,
            alpha=alpha,
        )  # fmt: skip
    else:
        if measures:
            options.refuse("everything", because="cli.no_effect_with_measures")
        # Nothing here multiplies matrices, for which numpy would start a thread on every core.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        brief = not (measures or everything)
        if where.is_asked_for([judgments, *runs], out.output):
            folder = out.output if engines.is_folder(out.output) else None
            systems = engines.evaluate(judgments, runs, measures, rules, where, weights=weights, folder=folder)
            _print_scores(systems, replace(out, output=None) if folder else out, per_query=per_query, brief=brief)
            if folder:
                options.tell_written(folder)
            return
        job = inputs.prepare(judgments, runs, list(measures) or None, rules, weights=weights)
        _print_scores(job.scores(), out, per_query=per_query, brief=brief, report=job.report)


def _print_scores(
    systems: list[Scores], out: Output, *, per_query: bool, brief: bool,
    report: Callable[[Result, str | None], None] = write_fresh,
) -> None:  # fmt: skip
    """Print scores; with `brief`, the main measures of the protocol, while files have all of them."""
    from assay.errors import clean
    from assay.messages import tell
    from assay.report.document import write
    from assay.report.tables import wrap
    from assay.report.views import scores as evaluation

    shown = systems if not brief else [one.select(one.main_labels) for one in systems]
    said, lang = evaluation.sentences(systems), language.current()
    estimates = inputs.estimates(systems)

    def as_text(kind: str) -> str:
        if kind == "json":
            from assay.formats.results import to_json
            from assay.results.result import make_result

            return to_json(make_result(estimates, systems=systems, command=inputs.command_line(), warnings=said[1:]))
        exact = kind == "csv"
        given = systems if kind in {"csv", out.file_format} else shown
        table = evaluation.queries(given, exact=exact) if per_query else evaluation.means(
            given, exact=exact, upright=exact)  # fmt: skip
        return write([table, *inputs.show_estimates(shown, kind)], kind, lang)

    out.emit(as_text)
    if out.report is not None:
        from assay.results.result import make_result

        result = make_result(estimates, systems=systems, command=inputs.command_line(), warnings=said[1:])
        report(result, out.report)
    if not out.quiet and out.kind != "json":
        short = out.format_to_print not in {"csv", out.file_format}
        told = evaluation.sentences(shown) + evaluation.tell_hidden(systems, shown) if short else said
        lines = [line for text in told for line in wrap(clean(tell(text, lang)), "  ")]
        aside = out.format_to_print != "table"
        click.echo("\n" * (not aside) + "\n".join(lines), err=aside)
