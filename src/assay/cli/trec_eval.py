"""`assay trec_eval`: a drop-in for trec_eval."""

from __future__ import annotations

import sys

import click

_HELP = """Evaluate RUN against QRELS and print what trec_eval 10 prints.

\b
assay trec_eval qrels.txt bm25.run
assay trec_eval -q -c -m all_trec qrels.txt bm25.run
assay trec_eval -m ndcg_cut.10,20 -m P.5 qrels.txt bm25.run
"""


@click.command(name="trec_eval", help=_HELP)
@click.option("-q", "per_query", is_flag=True, help="Print every query too.")
@click.option("-c", "complete", is_flag=True, help="Average over all judged queries; missing ones count as 0.")
@click.option("-n", "no_summary", is_flag=True, help="Print no summary.")
@click.option("-l", "level", type=int, default=1, show_default=True, help="Smallest grade that counts as relevant.")
@click.option("-M", "depth", type=click.IntRange(min=1), help="Look at the first M documents of each query only.")
@click.option("-J", "judged_only", is_flag=True, help="Drop unjudged documents first.")
@click.option("-N", "collection", type=int, default=0, help="Number of documents in the collection (for utility).")
@click.option("-Z", "zscore_file", help="Print deviations from the means in this file, in standard deviations.")
@click.option("-m", "measures", multiple=True, metavar="NAME[.PARAMS]", help="Measure, or official, set, all_trec.")
@click.option("-R", "judgment_format", default="qrels", help="Format of QRELS: qrels only.")
@click.option("-T", "run_format", default="trec_results", help="Format of RUN: trec_results only.")
@click.option("--compat", type=click.Choice(["9", "10"]), default="10", show_default=True, help="Version to follow.")
@click.argument("qrels")
@click.argument("run")
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
        raise UsageError(f"only -R qrels and -T trec_results are supported, not -R {judgment_format} -T {run_format}")
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
    ranking = ranking.condensed() if judged_only else ranking
    options = Options(per_query, complete, not no_summary, version, read_zscores(zscore_file) if zscore_file else None)
    lines = output(ranking, columns, last_tag(run), options)
    if _on_terminal():  # the tag and the query ids are the files' own; elsewhere every byte stays
        lines = ("\t".join(map(clean, line.split("\t"))) for line in lines)
    click.echo("\n".join(lines), color=True)  # or click would leave bytes out


def _on_terminal() -> bool:
    return sys.stdout.isatty()
