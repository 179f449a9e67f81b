"""`assay trec_eval`: a drop-in for trec_eval."""

from __future__ import annotations

import sys

import click

from assay.cli.commands import command as make_command
from assay.cli.parameters import POSITIVE, WHOLE, WordChoice, add_argument, add_option
from assay.messages import say

_EXAMPLES = (
    "assay trec_eval qrels.txt bm25.run",
    "assay trec_eval -q -c -m all_trec qrels.txt bm25.run",
    "assay trec_eval -m ndcg_cut.10,20 -m P.5 qrels.txt bm25.run",
)


@make_command("trec_eval", _EXAMPLES)
@add_option("-q", "per_query", is_flag=True)
@add_option("-c", "complete", is_flag=True)
@add_option("-n", "no_summary", is_flag=True)
@add_option("-l", "level", type=WHOLE, default=1, show_default=True)
@add_option("-M", "depth", type=POSITIVE)
@add_option("-J", "judged_only", is_flag=True)
@add_option("-N", "collection", type=WHOLE, default=0)
@add_option("-Z", "zscore_file", metavar="FILE")
@add_option("-m", "measures", multiple=True, metavar="NAME[.PARAMS]")
@add_option("-R", "judgment_format", default="qrels", metavar="qrels")
@add_option("-T", "run_format", default="trec_results", metavar="trec_results")
@add_option("--compat", type=WordChoice(["9", "10"]), default="10", show_default=True)
@add_argument("qrels", metavar="QRELS")
@add_argument("run", metavar="RUN")
def command(
    *,
    per_query: bool,
    complete: bool,
    no_summary: bool,
    level: int,
    depth: int | None,
    judged_only: bool,
    collection: int,
    zscore_file: str | None,
    measures: tuple[str, ...],
    judgment_format: str,
    run_format: str,
    compat: str,
    qrels: str,
    run: str,
) -> None:
    """Print trec_eval's lines."""
    from assay.analysis.trec_eval import Options, output, top
    from assay.data.joining import rank_run
    from assay.errors import Repeated, UsageError, clean
    from assay.formats.reading import read_run
    from assay.formats.trec.reading import last_tag, locate, read_whole_grades, read_zscores
    from assay.measures.trec import columns_of

    if judgment_format != "qrels" or run_format != "trec_results":
        raise UsageError(say("cli.trec_formats", judgments=judgment_format, run=run_format))
    version = int(compat)
    columns = columns_of(measures, version=version, level=level, collection=collection)
    float32 = version == 9  # noqa: PLR2004
    judgments = read_whole_grades(qrels)
    lists = read_run(run, kind="trec")
    if depth is not None:
        lists = top(lists, depth, float32=float32)
    try:
        ranking = rank_run(judgments, lists, float32=float32)
    except Repeated as error:
        raise locate(lists.source, error) from None
    ranking = ranking.condense() if judged_only else ranking
    options = Options(per_query, complete, not no_summary, version, read_zscores(zscore_file) if zscore_file else None)
    lines = output(ranking, columns, last_tag(run), options)
    if _on_terminal():  # the tag and the query ids are the files' own; elsewhere every byte stays
        lines = ("\t".join(map(clean, line.split("\t"))) for line in lines)
    click.echo("\n".join(lines), color=True)  # or click would leave bytes out


def _on_terminal() -> bool:
    return sys.stdout.isatty()
