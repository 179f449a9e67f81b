"""`assay plot`: one chart of a result as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Draw one CHART of RESULTs as SVG or PNG, or list the charts that they have.

\b
assay plot result.json
assay plot result.json --chart means-0-ndcg@10 -o means.svg
assay plot result.json --chart differences-0-0 -o differences.png --lang zh
"""


@click.command(name="plot", help=_HELP)
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RESULT...")
@click.option("--chart", "name", metavar="CHART", help="Which chart; without it, all are listed.")
@options.written("--output", "-o", help="Where to write: .svg or .png.")
@click.option("--scale", type=float, default=2.0, show_default=True, help="Size of a PNG.")
@click.option("--judgments", metavar="FILE", help="The judgments behind the results.")
@click.option("--run", "runs", multiple=True, metavar="[NAME=]RUN", help="A run behind the results; may be repeated.")
@click.option("--queries", metavar="FILE", help="Attributes of the queries to slice by.")
@options.lang
def command(
    *, results: tuple[str, ...], name: str | None, output: str | None, scale: float, judgments: str | None,
    runs: tuple[str, ...], queries: str | None, lang: Lang,
) -> None:  # fmt: skip
    """Find the chart and draw it."""
    from assay.cli import reporting
    from assay.errors import UsageError
    from assay.report.plotting import find_plots

    if output:
        options.format_for(output, {".svg": "svg", ".png": "png"})
    if name is not None and not output:
        raise UsageError("say where to write the chart: -o chart.svg")
    behind = reporting.runs_of(runs)
    found = find_plots(reporting.named(results), judgments=judgments, runs=behind, queries=queries, lang=lang)
    if name is None or output is None:
        click.echo(str(found), nl=False)
        return
    found[name].save(output, scale=scale)
    click.echo(f"wrote {output}", err=True)
