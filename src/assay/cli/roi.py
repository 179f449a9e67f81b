"""`assay roi`: whether a gain in quality pays, and from where on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.messages import Lang
    from assay.results.money import Gain

_HELP = """Weigh a gain in quality against what it costs: ROI = (more revenue - more cost) / more cost, where revenue
rises in proportion to quality. A COMPARISON file (assay compare ... -o comparison.json) brings the interval of the gain
along.

\b
assay roi --before 0.72 --after 0.87 --cost-per-query 0.001 --queries-per-day 100000 --revenue-per-query 0.01
assay roi comparison.json --costs cost.json --method cross-encoder --revenue-per-query 0.01
assay roi comparison.json --system reranked -m ndcg@10 --cost-per-query 0.001 --fixed-per-day 40 \\
    --queries-per-day 100000 --revenue-per-query 0.01
"""


@click.command(name="roi", help=_HELP)
@click.argument("comparison", required=False)
@click.option("--system", metavar="NAME", help="Of the comparison; needed when it holds several.")
@click.option("-m", "--measure", help="Of the comparison; its first unless named.")
@click.option("--before", type=float, help="Quality before, instead of a comparison.")
@click.option("--after", type=float, help="Quality after.")
@click.option("--gain", type=float, help="Relative gain, such as 0.2, instead of both.")
@click.option("--cost-per-query", type=float, help="Extra money for one query.")
@click.option("--costs", metavar="FILE", help="What assay cost -o FILE.json wrote, instead.")
@click.option("--method", metavar="NAME", help="Of --costs; needed when it holds several.")
@click.option("--fixed-per-day", type=float, default=0.0, show_default=True, help="Extra money a day at any volume.")
@click.option("--queries-per-day", type=float, help="[default: that of --costs]")
@click.option("--revenue-per-query", type=float, required=True, help="What a query earns today.")
@click.option("--elasticity", type=float, default=1.0, show_default=True, help="Revenue % for each % of quality.")
@click.option("--currency", help="[default: that of --costs, or USD]")
@options.output
def command(
    *, comparison: str | None, costs: str | None, output: str | None, kind: str | None, lang: Lang, **rest: Any
) -> None:
    """Compute and print."""
    from assay.analysis.roi import roi
    from assay.errors import UsageError
    from assay.report.document import write
    from assay.report.views import money as report

    gain = _gain(comparison, rest.pop("before"), rest.pop("after"), rest.pop("gain"))
    if (costs is None) == (rest["cost_per_query"] is None):
        raise UsageError("give the extra cost one way: --cost-per-query, or --costs FILE of assay cost")
    kind = kind or options.format_for(output, options.FORMATS)
    method = rest.pop("method") or ""
    found = roi(gain, costs=costs, method=method if costs else "", **rest)
    if kind == "json":
        from assay.cli.inputs import command_line
        from assay.formats.results import to_json
        from assay.results.result import make_result

        options.emit(to_json(make_result(found, command=command_line())), output)
        return
    options.emit(write(report.returns(found), kind, lang), output)  # type: ignore[arg-type]


def _gain(comparison: str | None, before: float | None, after: float | None, gain: float | None) -> Gain | str:
    """Take the gain from the one place that was given."""
    from assay.errors import UsageError
    from assay.results.money import Band, Gain

    both = before is not None and after is not None
    if (comparison is not None) + both + (gain is not None) != 1:
        raise UsageError("give the gain one way: a comparison file, --before and --after, or --gain")
    if comparison is not None:
        return comparison
    return Gain.between(before, after) if before is not None and after is not None else Gain(Band(gain))
