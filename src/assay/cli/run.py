"""`assay run`: an experiment from a TOML file, or a reranker on the lists of a run."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from assay.cli import applications, asking, inputs, language, options, places, progress, wrong_files
from assay.cli.applications import AppChoice, AppRound
from assay.cli.asking import Asking
from assay.cli.commands import command as make_command
from assay.cli.options import Output
from assay.cli.parameters import NUMBER, POSITIVE, SHARE, Number, add_argument, add_option, list_typed, option, takes
from assay.cli.places import OUTPUT
from assay.errors import UsageError
from assay.messages import say, tell

if TYPE_CHECKING:
    from pathlib import Path

    from assay.analysis.experiment_runner import FinishedExperiment
    from assay.results.proposal import Proposal
    from assay.results.questions import QuestionSet

_EXAMPLES = (
    "assay run docs",
    "assay run docs --yes -o docs-results",
    "assay run docs -n 50 --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1",
    "assay run experiment.toml",
    "assay run experiment.toml --limit 20 --only 'hybrid*'",
    "assay run experiment.toml --holdout 0.3 --baseline bm25 -o results --report report.html",
    "assay run --app http://127.0.0.1:8000/ask --queries queries.jsonl --dry-run",
    "assay run docs-results/questions --app http://127.0.0.1:8000/ask -o results",
    "assay run qrels.txt --app http://127.0.0.1:8000/ask --queries queries.jsonl -m ndcg@10,faithfulness -o results",
    "assay run qrels.txt --candidates bm25.run --reranker embedding --queries queries.jsonl --documents docs.jsonl",
    "assay run qrels.txt --candidates bm25.run --reranker mymodule:score --queries q.tsv --documents d.tsv --depth 50",
)

_NO_DOCUMENTS = frozenset({"judgments", "weights", "labels"})  # which could be read as texts


@dataclass(frozen=True)
class RunOptions:
    """How an experiment is run."""

    limit: int | None = option("--limit", type=POSITIVE)
    only: tuple[str, ...] = option("--only", default=(), multiple=True, metavar="NAME")
    holdout: float = option("--holdout", default=0.0, type=SHARE, metavar="SHARE")
    baseline: str | None = option("--baseline", metavar="NAME")
    cache: str | None = option("--cache", metavar="DIR")
    brief: bool = option("--brief", default=False, is_flag=True)


@dataclass(frozen=True)
class Reranking:
    """What is reranked, and how."""

    reranker: str | None = option("--reranker", metavar="NAME", only="candidates")
    queries: str | None = option("--queries", metavar="FILE", only=("candidates", "app"))
    documents: str | None = option("--documents", metavar="FILE|DIR", only=("candidates", "app"))
    settings: tuple[str, ...] = option(
        "--set", default=(), multiple=True, metavar="NAME=VALUE", only=("candidates", "app")
    )
    depth: int = option("--depth", default=50, show_default=True, type=POSITIVE, only="candidates")
    measures: tuple[str, ...] = option(
        "-m", "--measure", default=(), multiple=True, metavar="MEASURE", only=("candidates", "app")
    )
    protocol: str = option(
        "--protocol", default="rerank", show_default=True, metavar="NAME|FILE", only=("candidates", "app")
    )
    run_output: str | None = option("--run-output", type=OUTPUT, metavar="FILE", only="candidates")


@dataclass(frozen=True)
class Proposing:
    """What is proposed for a folder, and whether it is done."""

    yes: bool = option("--yes", default=False, is_flag=True)
    number: int = option("-n", "--number", default=200, show_default=True, type=POSITIVE)
    seed: int = option("--seed", default=0, show_default=True, type=Number(whole=True))
    judge: str | None = option("--judge", metavar="NAME[@URL]", section="asking")
    url: str | None = option("--url", envvar="ASSAY_BASE_URL", metavar="URL", only="judge", section="asking")
    max_cost: float | None = option("--max-cost", type=NUMBER, only="judge", section="asking")
    key_env: str = option("--key-env", default="", metavar="NAME", only="judge", section="asking")
    key_file: str | None = option("--key-file", metavar="FILE", only="judge", section="asking")
    prices: str | None = option("--prices", metavar="FILE", only="judge", section="asking")

    def asking(self, *, max_cost: float | None, dry: bool) -> Asking:
        """How the model is asked; a dry run needs no key."""
        return Asking(
            url=self.url, max_cost=max_cost, dry_run=dry, key_env=self.key_env, key_file=self.key_file,
            currency="USD", prices=self.prices,
        )  # fmt: skip


@make_command("run", _EXAMPLES)
@add_argument("first", required=False, metavar="FOLDER|EXPERIMENT.toml|JUDGMENTS")
@takes(folder=Proposing, trial=RunOptions, again=AppRound)
@add_option("--dry-run", is_flag=True, section="app")
@takes(app=AppChoice)
@add_option("--candidates", metavar="RUN")
@options.encoding
@takes(reranking=Reranking, out=Output)
def command(
    *, first: str | None, folder: Proposing, trial: RunOptions,
    again: AppRound, dry_run: bool, app: AppChoice, candidates: str | None,
    reranking: Reranking, out: Output,
) -> None:  # fmt: skip
    """Run, print and write."""
    if app.app is not None:
        _application(app.app, first, trial, reranking, out, again=again, dry_run=dry_run)
    elif first is None:
        raise UsageError(say("usage.missing_argument", name="EXPERIMENT.toml"))
    elif dry_run and first.lower().endswith(".toml"):
        from assay.analysis.applications import plan_file

        applications.tell_plan(plan_file(first, only=trial.only, limit=trial.limit))
    elif candidates is not None:
        unused = [one.name for kind in (RunOptions, Proposing) for one in fields(kind)]
        options.refuse(*unused, because="cli.no_effect_with_candidates")
        _rerank(first, candidates, reranking, out)
    elif first.lower().endswith(".toml"):
        options.refuse(*(one.name for one in fields(Proposing)), because="cli.only_for_folders")
        if not _experiment(first, trial, out, fresh=again.fresh):
            sys.exit(1)
    else:
        _propose(first, folder, trial, out, dry_run=dry_run)


def _propose(place: str, asked: Proposing, trial: RunOptions, out: Output, *, dry_run: bool) -> None:
    """Look at a folder and propose an experiment; with --yes, run it."""
    from assay.analysis.proposal_files import write_proposal
    from assay.report.numbers import upwards

    one_thread()
    wrong_files.refuse(place, _NO_DOCUMENTS)
    if not asked.yes:
        options.refuse(*(one.name for one in fields(RunOptions)), "report", because="cli.no_effect_without_yes")
    found = _plan_folder(place, asked, out)
    kind = _kind_to_print(out)
    if asked.yes and not dry_run:
        if found.calls and found.cost is not None and asked.max_cost is None:
            raise UsageError(say("proposal.needs_limit", model=asked.judge, limit=upwards(found.enough)))
        if kind == "table":
            click.echo(_as_text(found, kind))
        _carry_out(found, asked, trial, out)
        return
    if kind is not None:
        click.echo(_as_text(found, kind), nl=False)
    written = [] if dry_run else [say("proposal.written", place=str(write_proposal(found)))]
    options.note([*written, say("proposal.go", command=_again(found, asked))])


def _plan_folder(place: str, asked: Proposing, out: Output) -> Proposal:
    """Look at a folder; what a language model would cost is estimated without asking it."""
    from assay.analysis.proposal import propose_experiment

    with progress.stages() as show, asking.only_client(asked.judge, asked.asking(max_cost=None, dry=True)) as client:
        return propose_experiment(
            place, output=out.output, n=asked.number, seed=asked.seed, judge=client, tell=show
        )  # fmt: skip


def _carry_out(found: Proposal, asked: Proposing, trial: RunOptions, out: Output) -> None:
    """Make what the experiment needs, run it, search for what the folder asks without labels, and say what is next."""
    import shlex
    from pathlib import Path

    from assay.analysis.experiment_runner import run_unlabelled
    from assay.analysis.proposal_files import QUESTIONS, carry_out, write_proposal
    from assay.formats.set_folders import is_set
    from assay.pipeline.experiment import load_experiment

    load_experiment(write_proposal(found), only=trial.only)  # a wrong name is found before anything is paid
    writes = asked.judge if found.judge and not found.made else None
    how = asked.asking(max_cost=asked.max_cost if writes else None, dry=False)
    with progress.stages() as show, asking.only_client(writes, how) as client:
        experiment, made = carry_out(found, show, judge=client)
    if made is not None and _kind_to_print(out) == "table":
        _tell_questions(made)
    report = out.report or str(Path(found.output) / "report.html")
    complete = _experiment(str(experiment), trial, replace(out, output=found.output, report=report), fresh=False)
    with progress.stages() as show:
        apart = run_unlabelled(found, limit=trial.limit, only=trial.only, cache=trial.cache, tell=show)
    if apart is not None:
        _tell_unlabelled(found, apart, out)
    if is_set(questions := Path(found.output) / QUESTIONS):
        options.note([say("proposal.next_application", place=shlex.quote(str(questions)))])
    if not complete:
        sys.exit(1)


def _tell_questions(made: QuestionSet) -> None:
    """Of a model, how many questions it wrote, what fell where, and what it took; of known items, what is amiss."""
    from assay.report.document import write
    from assay.report.views import questions

    if made.of_known_items:
        options.note(made.warnings)
    else:
        click.echo(write(questions.summary(made), "table", language.current()))


def _tell_unlabelled(found: Proposal, apart: FinishedExperiment, out: Output) -> None:
    """Write the lists of queries without labels, print how far they agree, and say what to do next."""
    from assay.report.document import write
    from assay.report.views import experiment

    place = apart.save(command=inputs.command_line())
    if _kind_to_print(out) == "table":
        heading = say("proposal.unlabelled", n=found.unlabelled, file=found.unlabelled_at)
        click.echo()
        click.echo(write(experiment.agreement_alone(apart.findings, heading), "table", language.current()), nl=False)
    options.note([say("cli.wrote_results", place=place), *apart.next_steps(place)])


def _kind_to_print(out: Output) -> str | None:
    """What is printed; the output is a folder, whose name sets no format."""
    return out.kind if out.quiet else out.kind or "table"


def _as_text(found: Proposal, kind: str) -> str:
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import proposal
    from assay.results.result import make_result

    if kind == "json":
        return to_json(make_result(found, command=inputs.command_line()))
    return write(proposal.table(found), kind, language.current())


def _again(found: Proposal, asked: Proposing) -> str:
    """The same command line with --yes, and with the most that a model may cost."""
    import shlex

    from assay.report.numbers import upwards

    words = [word for word in sys.argv[1:] if word != "--dry-run"]
    limit = ["--max-cost", upwards(found.enough)] if found.enough and asked.max_cost is None else []
    return shlex.join(["assay", *words, *limit, "--yes"])


def _application(
    app: str, judgments: str | None, trial: RunOptions, asked: Reranking, out: Output, *, again: AppRound, dry_run: bool
) -> None:
    """Ask a finished application and evaluate what it gave."""
    options.refuse("only", "baseline", "candidates", "reranker", "run_output", because="cli.no_effect_with_app")
    one_thread()
    from assay.analysis.applications import app_experiment, plan_experiment
    from assay.analysis.experiment_runner import conduct

    queries, judgments = applications.find_queries(asked.queries, judgments)
    evaluate: dict[str, Any] = {"measures": _measures(asked.measures)} if asked.measures else {}
    evaluate |= {"protocol": asked.protocol} if list_typed("protocol") else {}
    experiment = app_experiment(
        app, queries, judgments, settings=applications.read_settings(asked.settings),
        documents=asked.documents, evaluate=evaluate, output=out.output, cache=trial.cache,
    )  # fmt: skip
    if dry_run:
        applications.tell_plan(plan_experiment(experiment, limit=trial.limit, fresh=again.fresh))
        return
    try:
        with progress.stages() as show:
            found = conduct(
                experiment, limit=trial.limit, holdout=trial.holdout, fresh=again.fresh, tell=show,
                progress=experiment.output,
            )  # fmt: skip
    except KeyboardInterrupt:
        click.echo(tell(say("cli.stopped"), language.current()), err=True)
        sys.exit(130)
    complete = _finish(found, trial, out)
    _tell_comparison(queries, found)
    if not complete:
        sys.exit(1)


def _tell_comparison(queries: str, found: FinishedExperiment) -> None:
    """Say how to compare an application with the searches of a folder, if the questions are from there."""
    import shlex
    from pathlib import Path

    folder = Path(queries).parent
    if (folder / "proposal.json").is_file() and (folder / "result.json").is_file():
        places = {"folder": folder, "place": _from_here(found.experiment.output)}
        quoted = {name: shlex.quote(str(path)) for name, path in places.items()}
        options.note([say("proposal.next_comparison", **quoted)])


def _measures(texts: tuple[str, ...]) -> list[str]:
    """Measures of options, each with one or a list of them."""
    from assay.measures import split_measures

    return [str(one) for one in split_measures(list(texts))]


def _experiment(path: str, trial: RunOptions, out: Output, *, fresh: bool) -> bool:
    """Run an experiment; return whether everything in it was done."""
    import gc

    one_thread()
    from assay.analysis.experiment_runner import experiment_files, run_experiment

    gc.enable()  # a long run makes cycles
    read, written = experiment_files(path, only=trial.only, output=out.output)
    places.check(*read, outputs=written)
    try:
        with progress.stages() as show:
            found = run_experiment(
                path, limit=trial.limit, only=trial.only, holdout=trial.holdout, cache=trial.cache,
                baseline=trial.baseline, tell=show, fresh=fresh, progress=written[0].parent,
            )  # fmt: skip
    except KeyboardInterrupt:
        click.echo(tell(say("cli.stopped"), language.current()), err=True)
        sys.exit(130)
    return _finish(found, trial, out)


def _finish(found: FinishedExperiment, trial: RunOptions, out: Output) -> bool:
    """Write what was found, print it, and say what to do next; return whether everything was done."""
    applications.tell_kept(found)
    place = found.save(out.output, command=inputs.command_line())
    _show(found, out, brief=trial.brief)
    if out.report is not None:
        from assay.cli.reporting import write

        result = found.to_result(inputs.command_line())
        write([(found.experiment.name, result)], found.evidence(), out.report)
    options.note([say("cli.wrote_results", place=_from_here(place)), *found.next_steps(place)])
    return found.complete


def _from_here(place: Path) -> str:
    """A path as somebody would type it who is in the current folder."""
    here = place.cwd()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


def one_thread() -> None:
    """Limit the library under NumPy to one thread, if it is not loaded yet and the user asked for no more.

    Matrix products of a small model are small: threads spend more time waiting for each other than working, above all
    on a busy machine.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _show(found: FinishedExperiment, out: Output, *, brief: bool) -> None:
    """Print the findings, and what was done for them."""
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import experiment

    counts = [
        ", ".join(f"{name} {n}" for name, n in sorted(part.items())) or "0"
        for part in (found.done, found.reused, found.damaged)
    ]
    if found.damaged:
        options.note([say("experiment.damaged", counts=counts[2])])
    kind = _kind_to_print(out)
    if kind == "json":
        click.echo(to_json(found.to_result(inputs.command_line())), nl=False)
    elif kind is not None:
        click.echo(write(experiment.table(found.findings, brief=brief), kind, language.current()), nl=False)
        told = [say("experiment.work", done=counts[0], reused=counts[1]), *found.collection.notes]
        if not found.experiment.baseline and len(found.findings.systems) > 1:
            told.append(say("cli.first_is_baseline", name=found.findings.baseline))
        options.note(told)


def _rerank(judgments: str, candidates: str, asked: Reranking, out: Output) -> None:
    """Rerank the lists of a run, compare them with what they were and print."""
    from assay.analysis.reranking import evaluate_reranker
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.formats.writing import write_run
    from assay.report.document import write
    from assay.report.views import reranker
    from assay.results.result import make_result

    if asked.reranker is None or asked.queries is None or asked.documents is None:
        missing = [name for name in ("reranker", "queries", "documents") if getattr(asked, name) is None]
        raise UsageError(say("cli.candidates_need", names=[f"--{name}" for name in missing]))
    out.check()
    told: dict[str, Any] = {"method": asked.reranker, **dict(map(_setting, asked.settings))}
    with progress.stages() as show:
        found = evaluate_reranker(
            told, asked.queries, candidates, judgments, documents=asked.documents,
            measures=list(asked.measures) or inputs.headline(asked.protocol), protocol=asked.protocol,
            depth=asked.depth, tell=show,
        )  # fmt: skip
    if asked.run_output:
        write_run(found.run, asked.run_output)
    result = make_result(found, command=inputs.command_line())

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write(reranker.table(found), kind, language.current())

    out.emit(as_text)
    write_fresh(result, out.report)


def _setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; numbers, true and false are converted."""
    import tomllib

    name, value = options.pair(text, "--set", "NAME=VALUE")
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return name, value
    return name, read if isinstance(read, (int, float, bool)) else value
