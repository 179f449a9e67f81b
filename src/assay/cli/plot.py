"""`assay plot`: one chart of a result as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.messages import Lang
    from assay.report.blocks import Block, Chart

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
    from assay.analysis.report_data import report_data
    from assay.cli import reporting
    from assay.errors import UnknownName, UsageError
    from assay.report import charts
    from assay.report.whole import report

    kind = options.format_for(output, {".svg": "svg", ".png": "png"}) if output else ""
    if name is not None and not output:
        raise UsageError("say where to write the chart: -o chart.svg")
    loaded = reporting.load(results)
    evidence = reporting.gather(loaded, judgments=judgments, runs=runs, documents=None, queries=queries)
    found = {chart.name: chart for chart in _charts(report(report_data([result for _, result in loaded], evidence)))}
    if name is None:
        _list(found, lang)
        return
    if name not in found:
        raise UnknownName("chart", name, found, hint="assay plot RESULT lists them")
    assert output is not None
    from assay.formats.files import write_atomically

    picture = charts.svg(found[name], lang, alone=True) if kind == "svg" else charts.png(found[name], lang, scale=scale)
    write_atomically(output, picture)
    click.echo(f"wrote {output}", err=True)


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    from assay.report.blocks import Chart, Fold, Section

    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from _charts(block.blocks)


def _list(found: dict[str, Chart], lang: Lang) -> None:
    from assay.report.tables import Table, render

    rows = tuple((name, chart.title) for name, chart in found.items())
    click.echo(render(Table(("chart", "what it shows"), rows, names=2), "table", lang), nl=False)
