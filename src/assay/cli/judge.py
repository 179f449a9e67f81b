"""`assay judge`: judgments by a language model, within a budget."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from assay.cli import asking, inputs, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.judge.panel import Combine, Verdict
    from assay.judge.relevance import Pair, Question
    from assay.llm.client import Client
    from assay.llm.progress import Progress
    from assay.messages import Lang

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

    from assay.errors import UsageError

    gc.enable()  # a long run makes cycles
    if output is None and not rest["dry_run"]:
        raise UsageError("say where the judgments go: -o judged.qrels (or --dry-run to see the price)")
    pairs = _pairs(runs, rest)
    for place in (output, details):
        _check_place(place, pairs, stamped=place == output)
    question = _question(rest)
    clients = asking.clients(rest["models"], rest)
    try:
        if rest["dry_run"]:
            _estimate(pairs, question, clients, rest, lang)
            return
        verdicts, spent = _judge(pairs, question, clients, rest)
    finally:
        for client in clients.values():
            client.close()
    assert output is not None
    if not _write(verdicts, _name(question, list(clients), rest), output, details):
        first = verdicts[0]
        click.echo(f"assay: no pair could be judged ({first.reason}): {first.explanation}", err=True)
    _summary(verdicts, spent, pairs, rest, lang)
    if any(verdict.status == "failed" for verdict in verdicts):
        sys.exit(1)


def _check_place(place: str | None, pairs: list[Pair], *, stamped: bool) -> None:
    """Refuse what cannot be written before anything is paid for."""
    from pathlib import Path

    from assay.errors import UsageError
    from assay.formats.writing import kind_of

    if place is None:
        return
    if not Path(place).parent.is_dir():
        raise UsageError(f"{place}: there is no such folder")
    kind = kind_of(place) if stamped else ""
    if kind == "json":
        raise UsageError("a JSON object has no place for the name of the judge: use .qrels, .jsonl, .csv or .parquet")
    blank = next((i for pair in pairs for i in (pair.query_id, pair.doc_id) if len(i.split()) != 1), None)
    if kind == "trec" and blank is not None:
        raise UsageError(f"id {blank!r} contains blanks, which {place} cannot hold: use .jsonl")


def _pairs(runs: tuple[str, ...], rest: dict[str, Any]) -> list[Pair]:
    """Find out what to judge."""
    from assay.errors import UsageError
    from assay.formats.documents import read_documents, read_pairs
    from assay.formats.queries import read_queries
    from assay.formats.reading import read_judgments
    from assay.judge.pooling import leave_out_judged, pairs_of, pool
    from assay.judge.relevance import Pair

    if bool(runs) == bool(rest["pairs"]):
        raise UsageError("give runs with --queries and --documents, or --pairs")
    if rest["pairs"]:
        found = [Pair(*row) for row in read_pairs(rest["pairs"])]
    else:
        if not rest["queries"] or not rest["documents"]:
            raise UsageError("runs hold ids only: give the texts with --queries and --documents")
        ids = pool(inputs.read_runs(runs), rest["depth"])
        found = pairs_of(ids, read_queries(rest["queries"]).texts(), read_documents(rest["documents"]))
    if rest["known"]:
        found = leave_out_judged(found, read_judgments(rest["known"]))
    if not found:
        raise UsageError("there is nothing to judge")
    return found


def _question(rest: dict[str, Any]) -> Question:
    from assay.judge.prompting import load_prompt
    from assay.judge.relevance import NEEDED, Question
    from assay.judge.rubric import load_rubric

    prompt = load_prompt(rest["prompt"], rest["text_lang"], needed=NEEDED)
    # Repeating a question at temperature 0 would only repeat the answer.
    temperature = 0.0 if rest["repeats"] == 1 else 1.0
    rubric = load_rubric(rest["scale"], rest["text_lang"])
    return Question(prompt, rubric, rest["max_chars"], weighted=rest["weighted"], temperature=temperature)


def _estimate(
    pairs: Sequence[Pair], question: Question, clients: dict[str, Client], rest: dict[str, Any], lang: Lang
) -> None:
    from assay.messages import say, tell

    repeats = rest["repeats"]
    plans = [
        client.estimate(question.request(pair, repeat) for pair in pairs for repeat in range(repeats))
        for client in clients.values()
    ]
    for name, plan, money in zip(clients, plans, asking.prices(plans, rest["max_cost"]), strict=True):
        lines = [
            say("judge.plan", pairs=len(pairs), judges=name, calls=plan.calls, cached=plan.cached),
            say("judge.tokens", prompt=plan.prompt_tokens, completion=plan.completion_tokens),
            *money,
        ]
        for line in lines:
            click.echo(tell(line, lang))


def _judge(
    pairs: list[Pair], question: Question, clients: dict[str, Client], rest: dict[str, Any]
) -> tuple[list[Verdict], dict[str, Progress]]:
    from assay.judge.panel import judge

    last: dict[str, Progress] = {}
    combine: Combine = "mean" if question.weighted else rest["combine"]  # weighted grades are hardly ever equal
    show = asking.bar()

    def note(name: str, now: Progress) -> None:
        last[name] = now
        show(name, now)

    found = judge(
        pairs, clients, question, repeats=rest["repeats"], combine=combine, progress=note,
        deadline=rest["deadline"],
    )  # fmt: skip
    with asking.wiped():
        return list(found), last


def _write(verdicts: list[Verdict], judge: str, output: str, details: str | None) -> bool:
    """Write judgments of what was judged, and every verdict with its reasons; nothing that changes from run to run.

    Says whether there were any: an empty file of judgments would pass for one.
    """
    import json
    from dataclasses import asdict, replace

    from assay.data.judgments import Judgments
    from assay.formats.files import write_atomically
    from assay.formats.writing import write_judgments

    grades: dict[object, dict[object, float]] = {}
    for verdict in verdicts:
        if verdict.grade is not None:
            grades.setdefault(verdict.query_id, {})[verdict.doc_id] = verdict.grade
    if details:
        lines = (json.dumps(asdict(verdict), ensure_ascii=False) for verdict in verdicts)
        write_atomically(details, "\n".join(lines) + "\n")
    if not grades:
        return False
    write_judgments(replace(Judgments.from_dict(grades), judge=judge), output)
    click.echo(f"wrote {output}" + (f" and {details}" if details else ""), err=True)
    return True


def _name(question: Question, models: Sequence[str], rest: dict[str, Any]) -> str:
    """Name the judge: what must be the same for its grades to be comparable."""
    several = rest["repeats"] > 1 or len(models) > 1
    how = f", {rest['repeats']} x {rest['combine']}" if several else ""
    weighted = ", weighted" if question.weighted else ""
    return f"{' + '.join(models)} ({question.prompt.version}, scale {question.rubric.name}{how}{weighted})"


def _summary(
    verdicts: list[Verdict], spent: dict[str, Progress], pairs: list[Pair], rest: dict[str, Any], lang: Lang
) -> None:
    from collections import Counter

    from assay.messages import say, tell

    reasons = Counter(verdict.reason for verdict in verdicts if verdict.status == "failed")
    listed = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
    scored = len(verdicts) - sum(reasons.values())
    lines = [
        say(
            "judge.done", pairs=len(verdicts), scored=scored, failed=sum(reasons.values()),
            reasons=f" ({listed})" if listed else "",
        )
    ]  # fmt: skip
    lines += [say("doubt.of_one", system=name, text=asking.money(now)) for name, now in spent.items()]
    long = sum(len(pair.document) > rest["max_chars"] for pair in pairs)
    if long:
        lines.append(say("judge.cut", n=long, limit=rest["max_chars"]))
    if reasons and not rest["no_cache"]:
        lines.append(say("judge.again"))
    for line in lines:
        click.echo(tell(line, lang), err=True)
