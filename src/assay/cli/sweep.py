"""`assay sweep`: measures against k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Evaluate RUNs at several k and say which k to choose.

\b
assay sweep qrels.txt bm25.run dense.run --k 1,3,5,10,20
assay sweep answers.jsonl --protocol rag --recall-target 0.8
assay sweep qrels.txt bm25.run --format csv --output curves.csv
"""


@click.command(name="sweep", help=_HELP)
@click.argument("judgments", metavar="JUDGMENTS|FILE")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option("--k", "cutoffs", default="1,3,5,10,20", show_default=True, help="Cutoffs; 1-5 is a range.")
@click.option("-m", "--measure", "measures", multiple=True, help="A measure without @k; precision, recall, F1, nDCG.")
@click.option(
    "--recall-target", type=float, default=0.7, show_default=True, help="Find the smallest k that reaches it."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the bands.")
@options.rules
@click.option("--weights", metavar="FILE", help="Query weights (query_id, weight).")
@options.output
def command(
    *, judgments: str, runs: tuple[str, ...], cutoffs: str, measures: tuple[str, ...], recall_target: float,
    alpha: float, weights: str | None, output: str | None, kind: str | None, lang: Lang, **rules: Any,
) -> None:  # fmt: skip
    """Sweep and print."""
    from assay.analysis.sweep import sweep
    from assay.measures import usual
    from assay.report.document import write
    from assay.report.views import sweep as report
    from assay.report.views.scores import sentences, stamp

    k = _cutoffs(cutoffs)
    job = inputs.prepare(judgments, runs, [f"{usual.CLEAN}@{k[0]}"], weights, **rules)
    found = sweep(
        job.judgments, list(job.runs()), k, measures=measures or usual.CURVES, protocol=rules["protocol"],
        recall_target=recall_target, alpha=alpha, chunks=job.chunks, weights=job.weights, dedupe=job.dedupe,
        calibration=job.calibration, **job.overrides,
    )  # fmt: skip
    kind = kind or options.format_for(output, options.FORMATS)
    judged = stamp(found.scores)
    if kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        told = sentences(found.scores)[1:]
        options.emit(to_json(make_result(found, command=inputs.command_line(), warnings=told)), output)
    elif kind == "csv":
        options.emit(write([report.sweep_points(found)], "csv", lang, stamp=judged), output)
    else:
        options.emit(write(report.sweep(found, str(job.settings.protocol)), kind, lang, stamp=judged), output)  # type: ignore[arg-type]


def _cutoffs(text: str) -> list[int]:
    """Read 1,3,5-8."""
    from assay.errors import UsageError

    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise UsageError(f"--k {text}: expected whole numbers such as 1,3,5,10 or ranges such as 1-10")
        if dash and int(last) < int(first):
            raise UsageError(f"--k {part}: the range ends before it begins")
        found += range(int(first), int(last or first) + 1)
    return found
