"""`assay rerank-eval`: what a reranker makes of the lists of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options

if TYPE_CHECKING:
    from assay.messages import Lang
    from assay.results.reranker import RerankerEvaluation

_HELP = """Rerank the lists of RUN and compare them with what they were: quality, ceiling, latency. No index is needed.
A reranker written as module:callable is imported, from the current folder first: its code runs.

\b
assay rerank-eval qrels.txt bm25.run --queries queries.jsonl --documents docs.jsonl --reranker embedding
assay rerank-eval qrels.txt bm25.run --queries q.tsv --documents docs.tsv --reranker mymodule:score --depth 50
assay rerank-eval qrels.txt bm25.run --queries q.tsv --documents docs.tsv --reranker endpoint \\
    --set url=https://api.jina.ai/v1 --set model=jina-reranker-v2-base-multilingual --set key_env=JINA_API_KEY
"""


@click.command(name="rerank-eval", help=_HELP)
@click.argument("judgments", metavar="JUDGMENTS")
@click.argument("run", metavar="RUN")
@click.option("--queries", required=True, metavar="FILE", help="Queries with their texts.")
@click.option("--documents", required=True, metavar="FILE", help="Documents with their texts, or a BEIR folder.")
@click.option("--reranker", required=True, metavar="NAME", help="A method, module:callable, or an http address.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the reranker.")
@click.option("--depth", type=click.IntRange(min=1), default=50, show_default=True, help="Candidates of a query.")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="A measure such as ndcg@10; repeat it, or list them with commas."
)
@click.option("--protocol", default="rerank", show_default=True, metavar="NAME|FILE", help="See: assay protocols.")
@options.written("--run-output", help="Write the reranked run.")
@options.output
def command(
    *, judgments: str, run: str, queries: str, documents: str, reranker: str, settings: tuple[str, ...],
    depth: int, measures: tuple[str, ...], protocol: str, run_output: str | None, output: str | None,
    kind: str | None, lang: Lang,
) -> None:  # fmt: skip
    """Rerank, compare and print."""
    from assay.analysis.reranking import evaluate_reranker
    from assay.cli.run import bar, clear

    kind = kind or options.format_for(output, options.FORMATS)
    told: dict[str, Any] = {"method": reranker, **dict(map(_setting, settings))}
    asked = list(measures) or inputs.headline(protocol)
    try:
        found = evaluate_reranker(
            told, queries, run, judgments, documents=documents, measures=asked, protocol=protocol, depth=depth,
            tell=bar(lang),
        )  # fmt: skip
    finally:
        clear()
    if run_output:
        from assay.formats.writing import write_run

        write_run(found.run, run_output)
    if kind == "json":
        options.emit(_json(found), output)
        return
    from assay.report.document import write
    from assay.report.views.reranker import document

    options.emit(write(document(found, protocol), kind, lang), output)  # type: ignore[arg-type]


def _setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; numbers and true or false are what they look like."""
    import tomllib

    from assay.errors import UsageError

    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--set {text}: expected NAME=VALUE")
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value
    return name, read if isinstance(read, (int, float, bool)) else value


def _json(found: RerankerEvaluation) -> str:
    from assay.formats.results import to_json
    from assay.results.result import make_result

    return to_json(make_result(found, command=inputs.command_line()))
