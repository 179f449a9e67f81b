"""`assay evaluate`: scores of any number of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli import options

if TYPE_CHECKING:
    from assay.data.judgments import Judgments
    from assay.data.run import Run
    from assay.data.scores import Scores

_HELP = """Score RUNs against JUDGMENTS, or a single FILE of records that holds both.

\b
assay evaluate qrels.txt bm25.run dense.run -m ndcg@10 -m recall@100
assay evaluate qrels.txt "my system=out/v2.run.gz" --protocol graded-012
assay evaluate answers.jsonl --protocol rag
assay evaluate qrels.txt bm25.run --format json --output bm25.json
"""

_FORMATS = ["table", "json", "csv", "markdown", "latex"]
_BY_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}


@click.command(name="evaluate", help=_HELP)
@click.argument("judgments", metavar="JUDGMENTS|FILE")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option("-m", "--measure", "measures", multiple=True, help="A measure such as ndcg@10; may be repeated.")
@options.rules
@click.option("--weights", metavar="FILE", help="Query weights (query_id, weight) for weighted means.")
@click.option("--per-query", is_flag=True, help="Show every query.")
@click.option("--output", "-o", metavar="FILE", help="Write to a file instead; its suffix sets the format.")
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="Output format.")
def command(
    *, judgments: str, runs: tuple[str, ...], measures: tuple[str, ...], weights: str | None, per_query: bool,
    output: str | None, kind: str | None, **rules: Any,
) -> None:  # fmt: skip
    """Evaluate and print."""
    if runs:
        from assay.formats.scan import read_ahead

        read_ahead(options.named(runs[0])[1])
    from assay.report import evaluation

    systems = run_all(judgments, runs, list(measures) or None, weights, **rules)
    kind = kind or options.format_for(output, _BY_SUFFIX)
    said = evaluation.sentences(systems)
    if kind == "json":
        from assay.formats.results import result_dict, to_json

        options.emit(to_json(result_dict(systems, command=command_line(), warnings=said[1:])), output)
        return
    from assay.report.tables import render

    exact = kind == "csv"
    if per_query:
        table = evaluation.queries(systems, exact=exact)
    else:
        table = evaluation.means(systems, exact=exact, upright=exact)
    options.emit(render(table, kind), output)  # type: ignore[arg-type]
    click.echo("\n" * (kind == "table" and output is None) + "\n".join(said), err=kind != "table" or output is not None)


def command_line() -> str:
    """Tell how this program was called, without the path of the program."""
    return " ".join(["assay", *sys.argv[1:]])


def run_all(
    judgments: str,
    runs: tuple[str, ...],
    measures: list[str] | None,
    weights: str | None,
    *,
    protocol: str,
    chunk_map: str | None,
    dedupe: bool,
    input_format: str | None,
    split: str,
    **overrides: Any,
) -> list[Scores]:
    """Read the judgments once and evaluate every run under the same settings."""
    from assay.analysis.evaluate import Settings, evaluate_run
    from assay.errors import UsageError
    from assay.formats.reading import read_chunk_map, read_weights

    if [judgments, *(options.named(run)[1] for run in runs)].count("-") > 1:
        raise UsageError("standard input can be read for one file only")
    read, lists = _inputs(judgments, runs, measures, protocol, dedupe=dedupe, input_format=input_format, split=split)
    if lists is not None and lists.unnamed and overrides.get("ties") is None:
        overrides["ties"] = "given"
    settings = Settings.of(read, measures, protocol, **overrides)
    chunks = read_chunk_map(chunk_map) if chunk_map else None
    weighted = read_weights(weights) if weights else None
    found: list[Scores] = []
    for item in options.with_progress(lists.runs if lists else _named_once(runs), "evaluating"):
        run = item if not isinstance(item, tuple) else _read(item, input_format)
        found.append(evaluate_run(read, run, settings, chunks=chunks, weights=weighted, dedupe=dedupe))
    return found


def _inputs(
    judgments: str, runs: tuple[str, ...], measures: list[str] | None, protocol: str, *,
    dedupe: bool, input_format: str | None, split: str,
) -> tuple[Judgments, Any]:  # fmt: skip
    """Read judgments, or a file of records when no run is given."""
    from assay.analysis.evaluate import need_subtopics
    from assay.formats.reading import read_judgments, read_records

    if runs:
        kind = None if input_format in {None, "trec"} or Path(judgments).is_dir() else input_format
        subtopics = need_subtopics(measures, protocol)
        return read_judgments(judgments, kind=kind, subtopics=subtopics, split=split, dedupe=dedupe), None
    records = read_records(judgments, kind=input_format)
    return records.judgments, records


def _named_once(runs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Name every run; two of the same name would hide each other."""
    from assay.errors import UsageError
    from assay.formats.files import system_name

    pairs = [(name or system_name(path), path) for name, path in map(options.named, runs)]
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two runs are called {twice!r}: give them names, as in NAME=FILE")
    return pairs


def _read(item: tuple[str, str], input_format: str | None) -> Run:
    from assay.formats.reading import open_run

    return open_run(item[1], kind=input_format if input_format != "beir" else None, name=item[0])
