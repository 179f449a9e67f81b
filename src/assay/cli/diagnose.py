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
    from assay.formats.queries import read_queries
    from assay.messages import say
    from assay.report.blocks import Lines
    from assay.report.document import write
    from assay.report.views import diagnosis as report

    asked = read_queries(queries) if queries else None
    known = options.numbers(measured, "--measured")
    if known and not inputs.is_result(options.named(judgments)[1]):
        _check_measured(known, rules["protocol"])
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
        blocks.append(Lines((*asked.notes, *_coverage(asked, queries, found))))
    options.emit(write(blocks, kind, lang, stamp=stamp), output)  # type: ignore[arg-type]


def _check_measured(known: dict[str, float], protocol: str) -> None:
    from assay.analysis.protocols import load_protocol
    from assay.errors import UnknownName

    targets = [target.measure for target in load_protocol(protocol).targets]
    for name in known:
        if name not in targets:
            raise UnknownName(f"target of protocol {protocol}", name, targets, hint=f"it has {', '.join(targets)}")


def _coverage(asked: Queries, place: str | None, found: list[Diagnosis]) -> list[str]:
    """Say for how many queries attributes are known; none at all is a mistake."""
    from assay.errors import InputError
    from assay.messages import say

    known = set(asked.frame["query_id"].to_list())
    judged = {query for one in found for queries in one.stages.values() for query in queries}
    if not judged:
        return []
    if not known & judged:
        raise InputError("no query id of this file is judged", path=place, hint="check that the ids are the same")
    lacking = len(judged - known)
    used = {part.attribute for one in found for part in one.slices}
    left = [name for name in asked.attributes if name not in used]
    lines: list[str] = [say("diagnose.lacking", n=lacking, of=len(judged))] if lacking else []
    return [*lines, say("diagnose.left_out", names=left)] if left else lines


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
    from assay.formats.files import Input
    from assay.formats.results import load_result
    from assay.results.answers import AnswerDetails

    if k is not None:
        raise UsageError("--k has no effect on result files: they do not hold the lists")
    found = []
    for place in places:
        part = load_result(Input.at(options.named(place)[1])).part(AnswerDetails)
        found += [
            diagnose_scores(scores, queries=asked, measured=known, samples=part.of(scores.name) if part else ())
            for scores in inputs.results((place,))
        ]
    return found
