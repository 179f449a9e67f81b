"""`assay judge`: judgments by a language model, within a budget."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli import asking, inputs, options

if TYPE_CHECKING:
    from assay.judge.relevance import Pair
    from assay.messages import Lang, Said
    from assay.results.judging import Judging

_HELP = """Let a language model grade the top documents of RUNs (or the pairs of a file) and write judgments.

The model is behind an OpenAI-compatible server: DashScope, OpenAI, vLLM, Ollama ... Answers are kept in a cache, so
the same command run again goes on where it stopped and pays nothing twice.

\b
assay judge bm25.run dense.run --queries queries.jsonl --documents docs.jsonl --depth 10 \\
    --url https://dashscope.aliyuncs.com/compatible-mode/v1 --model qwen-plus --scale 0-3 \\
    --max-cost 1.00 -o judged.qrels
assay judge --pairs pairs.jsonl --url http://127.0.0.1:11434/v1 --model qwen3:8b --dry-run
assay judge --pairs pairs.jsonl --model a --model b --repeats 3 --combine mean -o judged.jsonl --details why.jsonl
"""


@click.command(name="judge", help=_HELP)
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option("--queries", metavar="FILE", help="Queries with their texts.")
@click.option("--documents", metavar="FILE", help="Documents with their texts, or a BEIR folder.")
@click.option("--depth", type=click.IntRange(min=1), default=10, show_default=True, help="Pool the top of each run.")
@click.option("--pairs", metavar="FILE", help="Pairs instead of runs: query, document (query_id, doc_id).")
@click.option("--known", metavar="FILE", help="Judgments that exist: their pairs are not judged again.")
@click.option("--model", "models", multiple=True, envvar="ASSAY_MODEL", metavar="NAME[@URL]", help="May be repeated.")
@click.option("--scale", default="0-3", show_default=True, metavar="NAME|FILE", help="0-1, 0-2, 0-3, 0-10 or a rubric.")
@click.option("--text-lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Of the prompt.")
@click.option("--prompt", default="relevance", metavar="FILE", help="A prompt of your own (.md).")
@click.option("--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Ask each judge so often.")
@click.option(
    "--combine", type=click.Choice(["vote", "mean"]), default="vote", show_default=True, help="Several votes."
)
@click.option("--weighted", is_flag=True, help="Weight grades by their probabilities, where the server gives them.")
@click.option("--max-chars", type=click.IntRange(min=1), default=20_000, show_default=True, help="Of a document.")
@asking.client_options
@options.written("--output", "-o", help="Judgments: .qrels, .jsonl, .csv, .tsv or .parquet.")
@options.written("--details", help="Every verdict with its reasons and votes (.jsonl).")
@options.lang
def command(*, runs: tuple[str, ...], output: str | None, details: str | None, lang: Lang, **rest: Any) -> None:
    """Judge and write."""
    import gc

    from assay.analysis.judging import estimate_judging, judge_pairs
    from assay.errors import UsageError
    from assay.formats.writing import check_place
    from assay.report.views import judging

    gc.enable()  # a long run makes cycles
    if output is None and not rest["dry_run"]:
        raise UsageError("say where the judgments go: -o judged.qrels (or --dry-run to see the price)")
    pairs = _pairs(runs, rest)
    if output is not None:
        check_place(output, (one for pair in pairs for one in (pair.query_id, pair.doc_id)))
    options.check_folder(details)
    asked = {name: rest[name] for name in ("scale", "text_lang", "prompt", "repeats", "weighted", "max_chars")}
    clients = asking.clients(rest["models"], rest)
    try:
        if rest["dry_run"]:
            _tell(judging.plan(estimate_judging(pairs, judge=clients, **asked), rest["max_cost"]), lang)
            return
        more = {"combine": rest["combine"], "deadline": rest["deadline"], "progress": asking.bar()}
        with asking.wiped():
            found = judge_pairs(pairs, judge=clients, **asked, **more)
    finally:
        for client in clients.values():
            client.close()
    assert output is not None
    _write(found, output, details)
    _tell(judging.summary(found, resumable=not rest["no_cache"]), lang, err=True)
    if not found.complete:
        sys.exit(1)


def _pairs(runs: tuple[str, ...], rest: dict[str, Any]) -> list[Pair]:
    """Read what to judge from runs with texts, or from a file of pairs."""
    from assay.analysis.judging import choose_pairs, pool
    from assay.errors import UsageError

    if bool(runs) == bool(rest["pairs"]):
        raise UsageError("give runs with --queries and --documents, or --pairs")
    if runs and not (rest["queries"] and rest["documents"]):
        raise UsageError("runs hold ids only: give the texts with --queries and --documents")
    given = pool(inputs.read_runs(runs), rest["depth"]) if runs else rest["pairs"]
    texts = {name: rest[name] or None for name in ("queries", "documents")}
    return choose_pairs(given, known=rest["known"] or None, **texts)


def _write(found: Judging, output: str, details: str | None) -> None:
    """Write judgments and every verdict with its reasons; an empty file of judgments would pass for one."""
    from assay.formats.writing import write_verdicts

    if details:
        write_verdicts(found, details)
    if found.any_graded:
        found.save(output)
        click.echo(f"wrote {output}" + (f" and {details}" if details else ""), err=True)
    else:
        click.echo(f"assay: {found.trouble}", err=True)


def _tell(lines: list[Said], lang: Lang, *, err: bool = False) -> None:
    from assay.messages import tell

    for line in lines:
        click.echo(tell(line, lang), err=err)
