"""`assay diagnose`: where a search fails, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.formats.queries import Queries
    from assay.messages import Lang
    from assay.results.diagnosis import Diagnosis

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
    from assay.analysis.diagnose import attribute_notes
    from assay.formats.queries import read_queries
    from assay.messages import say
    from assay.report.blocks import Lines
    from assay.report.document import write
    from assay.report.views import diagnosis as report

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
        from assay.formats.results import to_json
        from assay.results.result import make_result

        told = [stamp] if stamp else []
        systems = [scores for one in found for scores in one.scores]
        result = make_result(found, systems=systems, command=inputs.command_line(), warnings=told)
        options.emit(to_json(result), output)
        return
    if kind == "csv":
        options.emit(write([report.finding_rows(found)], "csv", lang, stamp=stamp), output)
        return
    blocks = [block for one in found for block in report.diagnosis(one)]
    if asked is not None:
        blocks.append(Lines((*asked.notes, *attribute_notes(asked, found, place=queries))))
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
    from assay.analysis.diagnose import check_measured, diagnose
    from assay.analysis.protocols import load_protocol

    check_measured(known, load_protocol(rules["protocol"]))
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
    from assay.analysis.diagnose import diagnose_result
    from assay.errors import UsageError

    if k is not None:
        raise UsageError("--k has no effect on result files: they do not hold the lists")
    inputs.refuse_rules()
    named = map(options.named, places)
    return [one for name, path in named for one in diagnose_result(path, name=name, queries=asked, measured=known)]
