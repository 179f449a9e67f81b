"""`assay diagnose`: where a search fails, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.analysis.diagnose import Diagnosis
    from assay.formats.queries import Queries
    from assay.messages import Lang

_HELP = """Hold the numbers of RUNs against the protocol's targets, and show where and for which queries they fail.

\b
assay diagnose qrels.txt dense.run
assay diagnose qrels.txt dense.run --queries queries.jsonl --lang zh
assay diagnose qrels.txt reranked.run --protocol rerank --measured latency_p95=420
assay diagnose answers.jsonl
assay diagnose result.json --queries queries.csv
"""


@click.command(name="diagnose", help=_HELP)
@click.argument("judgments", metavar="JUDGMENTS|FILE|RESULT")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option("--protocol", default="rag", show_default=True, metavar="NAME|FILE", help="Whose targets and measures.")
@click.option("--k", type=click.IntRange(min=1), help="Depth that counts as found; that of the primary measure.")
@click.option("--queries", metavar="FILE", help="Query attributes (query_id and any columns) to slice by.")
@click.option("--measured", multiple=True, metavar="NAME=VALUE", help="A value measured elsewhere: latency_p95=420.")
@options.rules_but_protocol
@options.output
def command(
    *, judgments: str, runs: tuple[str, ...], k: int | None, queries: str | None, measured: tuple[str, ...],
    output: str | None, kind: str | None, lang: Lang, **rules: Any,
) -> None:  # fmt: skip
    """Diagnose and print."""
    from assay.formats.queries import read_queries
    from assay.messages import say
    from assay.report import diagnosis as report
    from assay.report.document import Lines, write

    asked = read_queries(queries) if queries else None
    known = options.numbers(measured, "--measured")
    if inputs.is_result(options.named(judgments)[1]):
        found = _from_results((judgments, *runs), asked, known, k=k)
    else:
        found = _from_runs(judgments, runs, asked, known, k=k, **rules)
    judge = next((one.judge for one in found if one.judge), "")
    stamp = say("doubt.uncalibrated", judge=judge) if judge else ""
    kind = kind or options.format_for(output, options.FORMATS)
    if kind == "json":
        import json
        from dataclasses import asdict

        plain = [{**asdict(one), "protocol": one.protocol.to_dict()} for one in found]
        options.emit(
            json.dumps(
                {"schema": 1, "diagnoses": plain, "warnings": [stamp] if stamp else []}, ensure_ascii=False, indent=1
            )
            + "\n",
            output,
        )
        return
    blocks = [block for one in found for block in report.diagnosis(one)]
    if asked is not None and asked.notes:
        blocks.append(Lines(asked.notes))
    options.emit(write(blocks, kind, lang, stamp=stamp), output)  # type: ignore[arg-type]


def _from_runs(
    judgments: str,
    runs: tuple[str, ...],
    asked: Queries | None,
    known: dict[str, float],
    *,
    k: int | None,
    **rules: Any,
) -> list[Diagnosis]:
    from assay.analysis.diagnose import diagnose

    job = inputs.prepare(judgments, runs, None, None, **rules)
    return [
        diagnose(
            job.judgments,
            run,
            job.settings,
            k=k,
            queries=asked,
            chunks=job.chunks,
            dedupe=job.dedupe,
            measured=known,
            calibration=job.calibration,
        )
        for run in job.runs()
    ]


def _from_results(
    places: tuple[str, ...], asked: Queries | None, known: dict[str, float], *, k: int | None
) -> list[Diagnosis]:
    from assay.analysis.diagnose import diagnose_scores
    from assay.errors import UsageError

    if k is not None:
        raise UsageError("--k has no effect on result files: they do not hold the lists")
    return [diagnose_scores(scores, queries=asked, measured=known) for scores in inputs.results(places)]
