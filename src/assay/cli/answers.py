"""`assay answers`: what the answers of a RAG system are worth, and which sentence is the problem."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli import asking, inputs, options

if TYPE_CHECKING:
    from assay.analysis.answer_plan import AnswerPlan
    from assay.analysis.answers import Answers
    from assay.data.samples import Samples
    from assay.llm.client import Client
    from assay.llm.progress import Progress
    from assay.messages import Lang

_HELP = """Evaluate the answers of SAMPLES: question, answer, contexts, and a reference if there is one.

A column system (or model) tells the answers of several systems apart, and so do several files: each has its own row.

The columns of ragas, deepeval, AutoRAG, RAGChecker, TruLens and LangChain are recognised. Without a judge nothing
leaves this machine: words decide, or embeddings if you ask for them. With a judge, a language model decides statement
by statement, and where it fails another method takes over. Exits with 1 if a measure could not be judged for a single
sample.

\b
assay answers samples.jsonl
assay answers samples.csv -m faithfulness -m token_f1 --map question=my_column
assay answers samples.jsonl --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1 --dry-run
assay answers samples.jsonl --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1 \\
    --max-cost 1 -o result.json --per-sample evidence.jsonl
assay answers samples.jsonl -m tone.md --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1
assay answers samples.jsonl --report answers.html
assay answers before.jsonl after=new.jsonl -o result.json
assay compare before.json after.json -m faithfulness
"""


@click.command(name="answers", help=_HELP)
@click.argument("samples", nargs=-1, required=True, metavar="[NAME=]SAMPLES...")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="A measure such as faithfulness, or a rubric such as tone.md; repeat it, or use commas.",
)
@click.option(
    "--method", type=click.Choice(["auto", "s4", "llm", "embedding", "words"]), default=None,
    help="Who finds the support. auto: the judge, else words; embeddings only where words fail. s4: the judge, else "
    "embeddings, else words. The protocol's unless given (auto).",
)  # fmt: skip
@click.option("--judge", envvar="ASSAY_JUDGE", metavar="NAME[@URL]", help="A language model (or ASSAY_JUDGE).")
@click.option(
    "--embedder", default="auto", show_default=True, metavar="NAME|FOLDER|NAME@URL",
    help="minilm, wordllama, a folder with minilm, or a model of a server.",
)  # fmt: skip
@click.option("--text-lang", type=click.Choice(["en", "zh"]), help="Language of the samples; found out unless given.")
@click.option("--map", "columns", multiple=True, metavar="FIELD=COLUMN", help="Read a field from this column.")
@click.option("--input-format", metavar="FORMAT", help="jsonl, json, csv, tsv or parquet.")
@click.option("--protocol", default="answers", show_default=True, metavar="NAME|FILE", help="See: assay protocols.")
@click.option("--mix", is_flag=True, help="Average over samples that different methods judged.")
@click.option("--max-chars", type=click.IntRange(min=1), default=60_000, show_default=True, help="Of all contexts.")
@options.written("--per-sample", help="Every sample with its evidence (.jsonl).")
@asking.client_options
@options.report
@options.output
def command(
    *, samples: tuple[str, ...], columns: tuple[str, ...], input_format: str | None, per_sample: str | None,
    report: str | None, output: str | None, kind: str | None, lang: Lang, **rest: Any,
) -> None:  # fmt: skip
    """Evaluate and print."""
    import gc

    from assay.analysis.answer_plan import plan_answers
    from assay.analysis.answers import score_answers, score_systems
    from assay.errors import UsageError

    gc.enable()  # a judge makes cycles
    _check_place(per_sample)
    kind = kind or options.format_for(output, options.FORMATS)
    name, read = _read(samples, columns, input_format)
    client, embedder = _client(rest), _embedder(rest)
    last: list[Progress] = []
    try:
        plan = plan_answers(
            read, list(rest["measures"]) or None, method=rest["method"], judge=client,
            embedder=embedder, text_lang=rest["text_lang"], protocol=rest["protocol"], name=name,
            mix=rest["mix"], max_chars=rest["max_chars"], progress=_noted(rest["judge"], last),
            deadline=rest["deadline"],
        )  # fmt: skip
        if client is not None and plan.here.judge is None and rest["method"] in {"words", "embedding"}:
            raise UsageError(f"--judge has no effect with --method {rest['method']}: use --method auto, s4 or llm")
        if rest["dry_run"]:
            _estimate(plan, client, rest, lang)
            return
        with asking.wiped():
            several = len(read.systems) > 1
            found = list(score_systems(plan).values()) if several else [score_answers(plan)]
    finally:
        for one in (client, embedder):
            if not isinstance(one, str) and one is not None:
                one.close()
    _emit(found, plan.name, kind, lang, output=output, per_sample=per_sample, report=report)
    _spent(rest["judge"], last, lang)
    if any(scores.failed for scores in found):
        sys.exit(1)


def _check_place(place: str | None) -> None:
    """Refuse what cannot be written before anything is paid for."""
    from pathlib import Path

    from assay.errors import UsageError

    if place is None:
        return
    if Path(place).suffix.lower() not in {".jsonl", ".ndjson"}:
        raise UsageError(f"--per-sample {place}: expected a file that ends in .jsonl")
    if not Path(place).parent.is_dir():
        raise UsageError(f"{place}: there is no such folder")


def _read(places: tuple[str, ...], columns: tuple[str, ...], input_format: str | None) -> tuple[str | None, Samples]:
    """Read the samples, and the name that one file was given; several files are systems of their own."""
    from assay.errors import UsageError
    from assay.formats.files import system_name
    from assay.formats.samples import join_samples

    asked = _columns(columns)
    if places.count("-") > 1:
        raise UsageError("standard input can be read for one file only")
    parts: dict[str, Samples] = {}
    for name, path in map(options.named, places):
        read = _file(path, asked, input_format)
        if name is not None and len(read.systems) > 1:
            raise UsageError(f"{path} holds {len(read.systems)} systems: a single name does not fit them")
        if len(places) == 1:
            return name, read
        several = read.systems if len(read.systems) > 1 else ()
        for own in several or (name or system_name(path),):
            if own in parts:
                raise UsageError(f"two systems are called {own!r}: give them names, as in NAME=FILE")
            parts[own] = read.of(own) if several else read
    return None, join_samples(parts)


def _columns(columns: tuple[str, ...]) -> dict[str, str]:
    from assay.errors import UsageError

    asked = {}
    for text in columns:
        field, equals, column = text.partition("=")
        if not equals or not field or not column:
            raise UsageError(f"--map {text}: expected FIELD=COLUMN, as in --map question=my_column")
        asked[field] = column
    return asked


def _file(path: str, asked: dict[str, str], input_format: str | None) -> Samples:
    from assay.errors import UsageError
    from assay.formats.samples import read_samples

    if inputs.is_result(path):
        raise UsageError(f"{path} is a result file: compare, diagnose and gate read those")
    return read_samples(path, kind=input_format, columns=asked)


def _client(rest: dict[str, Any]) -> Client | None:
    from assay.errors import UsageError

    if not rest["judge"]:
        paid = options.given("max_cost", "dry_run", "url")
        if paid:
            raise UsageError(f"{paid[0]} has no effect without a judge: name one with --judge MODEL")
        return None
    return next(iter(asking.clients([rest["judge"]], rest).values()))


def _embedder(rest: dict[str, Any]) -> Client | str:
    """A model on a server, or the name of one on this machine."""
    asked: str = rest["embedder"]
    if "@" not in asked or "://" not in asked:
        return asked
    return next(iter(asking.clients([asked], {**rest, "max_cost": None}).values()))


def _noted(name: str | None, last: list[Progress]) -> Any:
    """Show progress, and keep the last of it for the bill."""
    if not name:
        return None
    show = asking.bar()

    def note(now: Progress) -> None:
        last[:] = [now]
        show(name, now)

    return note


def _estimate(plan: AnswerPlan, client: Client | None, rest: dict[str, Any], lang: Lang) -> None:
    from assay.messages import say, tell

    judge = plan.here.judge
    if judge is None or not judge.is_asked or client is None:
        click.echo("nothing would be asked: none of the measures needs a judge")
        return
    found = client.estimate(one.request for _, _, one in judge.requests(plan.samples.rows))
    lines = [
        say("answers.plan", samples=len(plan.samples), judges=rest["judge"], calls=found.calls, cached=found.cached),
        say("judge.tokens", prompt=found.prompt_tokens, completion=found.completion_tokens),
        *asking.prices([found], rest["max_cost"])[0],
    ]
    for line in lines:
        click.echo(tell(line, lang))


def _emit(
    found: list[Answers],
    name: str,
    kind: str,
    lang: Lang,
    *,
    output: str | None,
    per_sample: str | None,
    report: str | None,
) -> None:
    from assay.analysis.answers import answer_details
    from assay.cli.reporting import write_fresh
    from assay.formats.files import write_atomically
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import answers as shown
    from assay.report.views.scores import stamp
    from assay.results.codec import write_json
    from assay.results.result import make_result

    part = answer_details(found)
    if per_sample:
        write_atomically(per_sample, "".join(write_json(one.to_row(), indent=None) + "\n" for one in part.samples))
        click.echo(f"wrote {per_sample}", err=True)
    told = list(dict.fromkeys(text for scores in found for text in (*_own(scores, found), *scores.notes)))
    result = make_result(part, command=inputs.command_line(), warnings=told)
    if kind == "json":
        options.emit(to_json(result), output)
    elif kind == "csv":
        options.emit(write([shown.values(found)], "csv", lang, stamp=stamp(found)), output)
    else:
        options.emit(write(shown.side_by_side(found, name, part), kind, lang), output)  # type: ignore[arg-type]
    write_fresh(result, report, lang)  # last: what was found out is there, whatever becomes of the page


def _own(scores: Answers, found: list[Answers]) -> list[str]:
    """Warnings of one system, under its name where they do not hold for all."""
    from assay.messages import say

    shared = [text for text in scores.warnings if all(text in other.warnings for other in found)]
    return [text if text in shared else say("doubt.of_one", system=scores.name, text=text) for text in scores.warnings]


def _spent(judge: str | None, last: list[Progress], lang: Lang) -> None:
    from assay.messages import say, tell

    for now in last:
        click.echo(tell(say("doubt.of_one", system=judge, text=asking.money(now)), lang), err=True)
