"""`assay diagnose`: where a search fails, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output, RagRules
from assay.cli.parameters import POSITIVE, add_argument, add_option, takes
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from assay.formats.queries import Queries
    from assay.results.diagnosis import Diagnosis

_EXAMPLES = (
    "assay diagnose qrels.txt dense.run",
    "assay diagnose qrels.txt dense.run --queries queries.jsonl --lang zh",
    "assay diagnose qrels.txt reranked.run --protocol rerank --measured latency_p95=420",
    "assay diagnose answers.jsonl",
    "assay diagnose result.json --queries queries.csv",
)


@make_command("diagnose", _EXAMPLES)
@add_argument("judgments", metavar="JUDGMENTS|FILE|RESULT")
@add_argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@add_option("--k", type=POSITIVE)
@add_option("--queries", metavar="FILE")
@add_option("--measured", multiple=True, metavar="NAME=VALUE")
@options.encoding
@takes(rules=RagRules, out=Output)
def command(
    *, judgments: str, runs: tuple[str, ...], k: int | None, queries: str | None, measured: tuple[str, ...],
    rules: RagRules, out: Output,
) -> None:  # fmt: skip
    """Diagnose and print."""
    from assay.analysis.diagnose import attribute_notes
    from assay.cli.reporting import write_fresh
    from assay.data.judgments import warn_of_judge
    from assay.formats.queries import read_queries
    from assay.formats.results import to_json
    from assay.report.blocks import Block, Lines
    from assay.report.document import write
    from assay.report.views import diagnosis as report
    from assay.results.result import make_result

    asked = read_queries(queries) if queries else None
    known = options.numbers(measured, "--measured")
    if inputs.is_result(options.split_name(judgments)[1]):
        found = _from_results((judgments, *runs), asked, known, k=k)
    else:
        found = _from_runs(judgments, runs, asked, known, rules, k=k)
    judge, lang = next((one.judge for one in found if one.judge), ""), language.current()
    stamp = warn_of_judge(judge) if judge else ""
    systems = [scores for one in found for scores in one.scores]
    result = make_result(found, systems=systems, command=inputs.command_line(), warnings=[stamp] if stamp else [])

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        if kind == "csv":
            return write([report.finding_rows(found)], "csv", lang, stamp=stamp)
        blocks: list[Block] = [block for one in found for block in report.table(one)]
        if asked is not None:
            blocks.append(Lines((*asked.notes, *attribute_notes(asked, found, place=queries))))
        return write(blocks, kind, lang, stamp=stamp)

    out.emit(as_text)
    write_fresh(result, out.report)


def _from_runs(
    judgments: str, runs: tuple[str, ...], asked: Queries | None, known: dict[str, float], rules: RagRules, *,
    k: int | None,
) -> list[Diagnosis]:  # fmt: skip
    from assay.analysis.diagnose import check_measured, diagnose
    from assay.analysis.protocols import load_protocol

    check_measured(known, load_protocol(rules.protocol))
    job = inputs.prepare(judgments, runs, None, rules)
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
            clusters=job.clusters,
        )
        for run in job.runs()
    ]


def _from_results(
    places: tuple[str, ...], asked: Queries | None, known: dict[str, float], *, k: int | None
) -> list[Diagnosis]:
    from assay.analysis.diagnose import diagnose_result

    if k is not None:
        raise UsageError(say("cli.k_of_results"))
    inputs.refuse_rules()
    named = map(options.split_name, places)
    return [one for name, path in named for one in diagnose_result(path, name=name, queries=asked, measured=known)]
