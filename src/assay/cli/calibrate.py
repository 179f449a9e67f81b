"""`assay calibrate`: how far to trust a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.messages import Lang

_HELP = """Compare the judgments of a JUDGE with those of people (HUMAN) on the pairs that both graded.

At least 50 such pairs are needed; 100 or more give useful intervals. With runs, the systems' means are corrected by
the people's grades (prediction-powered inference).

\b
assay calibrate judged.qrels human.qrels
assay calibrate judged.qrels human.qrels --run bm25.run --run dense.run -m ndcg@10
assay calibrate judged.qrels human.qrels --votes details.jsonl -o calibration.json
assay evaluate judged.qrels bm25.run --calibration calibration.json
"""


@click.command(name="calibrate", help=_HELP)
@click.argument("judge")
@click.argument("human")
@click.option("--run", "runs", multiple=True, metavar="[NAME=]FILE", help="A run whose means to correct.")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="A measure such as ndcg@10; repeat it, or list them with commas."
)
@click.option(
    "--votes", metavar="FILE", help="Details of assay judge --repeats: how much the judge differs from itself."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap intervals.")
@options.plain_rules
@options.output
def command(
    *, judge: str, human: str, runs: tuple[str, ...], measures: tuple[str, ...], votes: str | None, seed: int,
    output: str | None, kind: str | None, lang: Lang, **rules: Any,
) -> None:  # fmt: skip
    """Calibrate and print."""
    from assay.analysis.calibrate import calibrate
    from assay.errors import UsageError
    from assay.formats.reading import read_judgments
    from assay.report.document import write
    from assay.report.views.calibration import calibration

    if [judge, human, *runs].count("-") > 1:
        raise UsageError("standard input can be read for one file only")
    split, form = rules.pop("split"), rules.pop("input_format")
    protocol = rules.pop("protocol")
    wanted = list(measures) or inputs.headline(protocol)
    found = calibrate(
        read_judgments(judge, kind=form, split=split), read_judgments(human, kind=form, split=split),
        runs=inputs.read_runs(runs, form), measures=wanted, protocol=protocol, votes=_votes(votes), seed=seed, **rules,
    )  # fmt: skip
    kind = kind or options.format_for(output, options.FORMATS)
    if kind == "json":
        from assay.formats.results import to_json
        from assay.results.result import make_result

        result = make_result(found, command=inputs.command_line(), seed=seed, warnings=found.warnings)
        options.emit(to_json(result), output)
        return
    options.emit(write(calibration(found), kind, lang), output)  # type: ignore[arg-type]


def _votes(place: str | None) -> list[dict[str, Any]]:
    """Read the votes in the details that assay judge wrote."""
    if place is None:
        return []
    from assay.errors import InputError
    from assay.formats.files import Input
    from assay.formats.tables import read_jsonl

    rows = [row for _, row in read_jsonl(Input.at(place))]
    try:
        return [{"query_id": row["query_id"], "doc_id": row["doc_id"], **vote} for row in rows for vote in row["votes"]]
    except (KeyError, TypeError):
        raise InputError("no votes in it", path=place, hint="expected the file of assay judge --details") from None
