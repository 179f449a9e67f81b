"""`assay report`: one HTML file that shows results, opens offline and leads to every query; or one chart."""

from __future__ import annotations

from assay.cli import language, options
from assay.cli.commands import command as make_command
from assay.cli.parameters import NUMBER, add_argument, add_option
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say

_EXAMPLES = (
    "assay report result.json -o report.html --open",
    "assay report evaluation.json answers.json bench.json -o report.html --lang zh",
    "assay report result.json --queries queries.jsonl --documents documents.jsonl -o report.html",
    "assay report answers.json -o to-send.html --redact",
    "assay report result.json --chart",
    "assay report result.json --chart means-0-ndcg@10 -o means.svg",
)


@make_command("report", _EXAMPLES)
@add_argument("results", nargs=-1, required=True, metavar="[NAME=]RESULT...")
@add_option("--judgments", metavar="FILE")
@add_option("--run", "runs", multiple=True, metavar="[NAME=]RUN")
@add_option("--documents", metavar="FILE|DIR")
@add_option("--queries", metavar="FILE")
@add_option("--title", metavar="TEXT")
@add_option("--redact", is_flag=True)
@add_option("--chart", is_flag=False, flag_value="", metavar="NAME")
@add_option("--scale", type=NUMBER, default=2.0, show_default=True)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@add_option("--open", "show", is_flag=True, section="output")
@options.quiet
def command(
    *, results: tuple[str, ...], judgments: str | None, runs: tuple[str, ...], documents: str | None,
    queries: str | None, title: str | None, redact: bool, chart: str | None, scale: float, output: str | None,
    show: bool,
) -> None:  # fmt: skip
    """Read, put together and write."""
    if chart is not None:
        options.refuse("title", "documents", "redact", "show", because="cli.no_effect_with_chart")
        _draw(results, chart, output, scale, judgments=judgments, runs=runs, queries=queries)
        return
    from assay.cli import reporting
    from assay.report.writing import format_of, write_report

    options.refuse("scale", because="cli.only_with_chart")
    if output is None:
        raise UsageError(say("cli.report_where"))
    place = None if output == "-" else output
    text = write_report(
        reporting.load_named(results), place, kind=format_of(place), judgments=judgments, runs=reporting.runs_of(runs),
        documents=documents, queries=queries, title=title, lang=language.current(), redact=redact,
    )  # fmt: skip
    reporting.hand_over(text, output)
    if show:
        import webbrowser
        from pathlib import Path

        webbrowser.open(Path(output).resolve().as_uri())


def _draw(
    results: tuple[str, ...], name: str, output: str | None, scale: float, *, judgments: str | None,
    runs: tuple[str, ...], queries: str | None,
) -> None:  # fmt: skip
    """Draw one chart of results, or list those that they have."""
    import click

    from assay.cli import reporting
    from assay.report.plotting import find_plots

    if output:
        options.format_for(output, {".svg": "svg", ".png": "png"})
    if name and not output:
        raise UsageError(say("cli.chart_where"))
    behind = reporting.runs_of(runs)
    found = find_plots(
        reporting.load_named(results), judgments=judgments, runs=behind, queries=queries, lang=language.current()
    )
    if not name or output is None:
        click.echo(str(found), nl=False)
        return
    found[name].save(output, scale=scale)
    options.tell_written(output)
