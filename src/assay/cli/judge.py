"""`assay judge`: judgments by a language model, within a budget."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import asking, inputs, language, options, progress
from assay.cli.asking import Asking
from assay.cli.commands import command as make_command
from assay.cli.parameters import POSITIVE, WordChoice, add_argument, add_option, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say, tell

if TYPE_CHECKING:
    from assay.judge.relevance import Pair
    from assay.results.judging import Judging

_URL = "--url https://dashscope.aliyuncs.com/compatible-mode/v1"
_EXAMPLES = (
    f"assay judge bm25.run --queries queries.jsonl --documents docs.jsonl --judge qwen-plus {_URL} --dry-run",
    f"assay judge --pairs pairs.jsonl --judge qwen-plus {_URL} --max-cost 1 -o judged.qrels",
    "assay judge --pairs pairs.jsonl --judge qwen3:8b --url http://127.0.0.1:11434/v1 -o judged.qrels",
    "assay judge --pairs pairs.jsonl --judge a --judge b --repeats 3 --combine mean -o judged.jsonl",
)


@dataclass(frozen=True)
class PairOptions:
    """What is judged."""

    queries: str | None = option("--queries", metavar="FILE")
    documents: str | None = option("--documents", metavar="FILE|DIR")
    depth: int = option("--depth", default=10, show_default=True, type=POSITIVE)
    pairs: str | None = option("--pairs", metavar="FILE")
    known: str | None = option("--known", metavar="FILE")


@dataclass(frozen=True)
class Prompting:
    """How a judge is asked."""

    scale: str = option("--scale", default="0-3", show_default=True, metavar="NAME|FILE")
    text_lang: str = option("--text-lang", default="en", show_default=True, type=WordChoice(["en", "zh"]))
    prompt: str = option("--prompt", default="relevance", metavar="FILE")
    repeats: int = option("--repeats", default=1, show_default=True, type=POSITIVE)
    weighted: bool = option("--weighted", default=False, is_flag=True)
    max_chars: int = option("--max-chars", default=20_000, show_default=True, type=POSITIVE)

    def settings(self) -> dict[str, Any]:
        """What judging takes."""
        return dict(vars(self))


@make_command("judge", _EXAMPLES)
@add_argument("runs", nargs=-1, metavar="[RUN...]")
@takes(what=PairOptions)
@add_option("--judge", "models", multiple=True, envvar=["ASSAY_MODEL", "ASSAY_JUDGE"], metavar="NAME[@URL]",
            former=["--model"])  # fmt: skip
@takes(how=Prompting)
@add_option("--combine", type=WordChoice(["vote", "mean"]), default="vote", show_default=True)
@options.encoding
@takes(ask=Asking)
@add_option("-o", "--output", type=OUTPUT, metavar="FILE", section="output")
@add_option("--details", type=OUTPUT, metavar="FILE", section="output")
@options.quiet
def command(
    *, runs: tuple[str, ...], what: PairOptions, models: tuple[str, ...], how: Prompting, combine: str, ask: Asking,
    output: str | None, details: str | None,
) -> None:  # fmt: skip
    """Judge and write."""
    import gc

    from assay.analysis.judging import estimate_judging, judge_pairs
    from assay.formats.documents import read_drawn
    from assay.formats.writing import check_place
    from assay.report.views import judging

    gc.enable()  # a long run makes cycles
    if output is None and not ask.dry_run:
        raise UsageError(say("cli.judge_where"))
    pairs = _pairs(runs, what)
    if output is not None:
        ids = (one for pair in pairs for one in (pair.query_id, pair.doc_id))
        check_place(output, ids, sampled=bool(what.pairs) and bool(read_drawn(what.pairs or "")))
    options.check_folder(details)
    clients = asking.clients(models, ask)
    try:
        if ask.dry_run:
            plan = estimate_judging(pairs, judge=clients, **how.settings())
            options.tell_lines(judging.plan(plan, ask.max_cost))
            return
        with progress.calls() as show:
            found = judge_pairs(
                pairs, judge=clients, sample=what.pairs, **how.settings(), combine=combine,  # type: ignore[arg-type]
                deadline=ask.deadline, progress=show,
            )  # fmt: skip
    finally:
        for client in clients.values():
            client.close()
    assert output is not None
    _write(found, output, details)
    options.note(judging.summary(found, resumable=not ask.no_cache))
    if not found.complete:
        sys.exit(1)


def _pairs(runs: tuple[str, ...], what: PairOptions) -> list[Pair]:
    """Read what to judge from runs with texts, or from a file of pairs."""
    from assay.analysis.judging import choose_pairs
    from assay.analysis.pools import pool

    if bool(runs) == bool(what.pairs):
        raise UsageError(say("cli.judge_what"))
    if what.pairs:
        options.refuse("queries", "documents", "depth", because="cli.no_effect_with_pairs")
    if runs and not (what.queries and what.documents):
        raise UsageError(say("cli.judge_texts"))
    given = pool(inputs.read_runs(runs), what.depth) if runs else what.pairs or ()
    return choose_pairs(given, known=what.known or None, queries=what.queries or None, documents=what.documents or None)


def _write(found: Judging, output: str, details: str | None) -> None:
    """Write judgments and every verdict with its reasons; an empty file of judgments would pass for one."""
    from assay.formats.writing import write_verdicts

    if details:
        write_verdicts(found, details)
    if found.any_graded:
        found.save(output)
        wrote = say("cli.wrote_two", place=output, other=details) if details else say("cli.wrote", place=output)
        options.note([wrote])
    else:
        click.echo(f"assay: {tell(found.trouble, language.current())}", err=True)
