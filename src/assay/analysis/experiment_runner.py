"""From a TOML file to findings: read, run what is not yet done, evaluate."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.experiment import describe_experiment, describe_outcome, evaluate_experiment
from assay.analysis.experiment_refusals import count_refusals
from assay.analysis.experiment_scores import Evaluator
from assay.analysis.means import column_mean
from assay.analysis.proposal_files import carry_out, leave_out_labels
from assay.errors import InputError, UnknownName, UsageError, cause
from assay.formats.files import file_name, write_atomically
from assay.formats.queries import read_queries
from assay.formats.results import to_json
from assay.formats.run_progress import PROGRESS, TRACE
from assay.formats.writing import write_result, write_run
from assay.messages import Said, say
from assay.pipeline.experiment import load_experiment, make_setup, make_stages, read_data
from assay.pipeline.following import RunFollower
from assay.pipeline.runner import Runner
from assay.pipeline.store import Store
from assay.results.proposal import Proposal
from assay.results.result import make_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assay.analysis.report_data import ReportEvidence
    from assay.data.samples import Sample
    from assay.data.scores import Scores
    from assay.llm.client import Client
    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.runner import Execution
    from assay.results.experiment import Findings
    from assay.results.result import Result

_RESULT = "result.json"
_WRITTEN = ("runs", "queries", "samples", "unanswerable", TRACE, _RESULT)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FinishedExperiment:
    """An experiment that was run: its settings, the outcome of each combination, and the evaluation.

    `done` and `reused` count the pieces of work of each stage that were done now, and that the cache had; `damaged`
    counts those that the cache had, but not as they were written, so that they were done again. `unanswerable` are the
    outcomes on questions that no document answers.
    """

    experiment: Experiment
    collection: Collection
    outcomes: tuple[Execution, ...]
    findings: Findings
    done: Mapping[str, int]
    reused: Mapping[str, int]
    damaged: Mapping[str, int]
    unanswerable: tuple[Execution, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether every combination was done, and no measure failed on all that it was asked for."""
        return all(row.done for row in self.findings.combinations) and not any(
            system.failed for system in self.findings.systems
        )

    def to_result(self, command: str = "") -> Result:
        """The findings as a result."""
        return make_result(self.findings, command=command, warnings=self.findings.warnings, seed=self.experiment.seed)

    def evidence(self) -> ReportEvidence:
        """The data behind the findings, for a report: judgments, runs, documents and queries."""
        from assay.analysis.report_data import ReportEvidence

        return ReportEvidence(
            judgments=self.collection.judgments,
            runs={one.combination.name: one.run for one in self.outcomes if one.run is not None},
            documents={document.id: document.text for document in self.collection.documents},
            queries=read_queries(self.experiment.folder / self.experiment.data["queries"]),
        )

    def save(self, folder: str | Path | None = None, *, command: str = "") -> Path:
        """Write runs, queries, samples and trace into a folder, last the result file; without one, where it says.

        What an earlier run left there is kept in a folder inside, and a warning says so, unless it found the same.
        Returns the place of the result file.
        """
        place, result = self.experiment.output if folder is None else Path(folder), self.to_result(command)
        try:
            _keep_earlier(place, result)
            (place / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(say("conduct.cannot_write", why=cause(error)), path=str(place)) from None
        for outcome in self.outcomes:
            _save_outcome(outcome, place)
        for outcome in self.unanswerable:
            _save_samples(outcome, place / "unanswerable")
        write_atomically(place / TRACE, _lines(self._trace()))
        write_result(result, place / _RESULT)
        return place / _RESULT

    def next_steps(self, place: Path) -> list[Said]:
        """What to do where nothing was scored: the commands that judge lists and answers; none where all is."""
        if self.findings.judged:
            return []
        folder, data, said = place.parent, self.experiment.data, []
        if "documents" in data and any(one.hits for one in self.outcomes):
            files = {name: os.path.normpath(self.experiment.folder / data[name]) for name in ("queries", "documents")}
            runs = f"{folder / 'runs'}/*.jsonl"
            command = f"assay judge {runs} --queries {files['queries']} --documents {files['documents']}"
            said.append(say("experiment.next_judge", command=f"{command} --judge MODEL --url URL -o judgments.qrels"))
            if self.experiment.written:
                path = str(self.experiment.path)
                said.append(say("experiment.next_again", file="judgments.qrels", path=path))
        if any(one.samples is not None for one in self.outcomes):
            said.append(say("experiment.next_answers", command=f"assay answers {folder / 'samples'}/*.jsonl"))
        return said

    def _trace(self) -> Iterator[dict[str, Any]]:
        for outcome in self.outcomes:
            for stage, works in outcome.work.items():
                for query, work in zip(self.collection.queries, works, strict=True):
                    yield {"system": outcome.combination.name, "query_id": query.id, "stage": stage, **vars(work)}


def _keep_earlier(place: Path, now: Result) -> None:
    """Move what an earlier run left in a folder into one inside it, unless the result is the same."""
    if not (place / _RESULT).is_file() or _says_the_same(place / _RESULT, now):
        return
    kept = next(one for n in count(1) if not (one := place / f"earlier-{n}").exists())
    kept.mkdir()
    for name in _WRITTEN:
        if (place / name).exists():
            (place / name).rename(kept / name)
    _log.warning(say("experiment.kept", place=str(place / _RESULT), kept=str(kept)))


def _says_the_same(file: Path, now: Result) -> bool:
    """Return whether a result file holds what would be written now, apart from when and how it was made."""
    try:
        earlier = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    new = json.loads(to_json(now))
    return isinstance(earlier, dict) and {**earlier, "date": "", "command": ""} == {**new, "date": "", "command": ""}


def _save_outcome(outcome: Execution, place: Path) -> None:
    """Write the run of a combination, its queries if a stage rewrote them, and its answers."""
    name = f"{file_name(outcome.combination.name)}.jsonl"
    rewriting = outcome.combination.choices.get("query")
    if rewriting is not None and rewriting.method != "none" and outcome.queries:
        (place / "queries").mkdir(exist_ok=True)
        asked = ({"query_id": query.id, "text": query.text} for query in outcome.queries)
        write_atomically(place / "queries" / name, _lines(asked))
    if outcome.run is not None:
        write_run(outcome.run, place / "runs" / name)
    _save_samples(outcome, place / "samples")


def _save_samples(outcome: Execution, folder: Path) -> None:
    if outcome.samples is not None:
        folder.mkdir(exist_ok=True)
        name = f"{file_name(outcome.combination.name)}.jsonl"
        write_atomically(folder / name, _lines(map(_sample_row, outcome.samples)))


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _sample_row(sample: Sample) -> dict[str, Any]:
    """A sample as it was told: contexts that an application did not give are not the same as none."""
    contexts = None if sample.contexts is None else [{"id": one.id, "text": one.text} for one in sample.contexts]
    return {
        "query_id": sample.query_id, "question": sample.question, "answer": sample.answer, "contexts": contexts,
        **({"reference": sample.references[0]} if sample.references else {}),
        **({"reason": sample.faults["answer"]} if "answer" in sample.faults else {}),
        **{name: value for name, value in sample.others.items() if name != "reason" or "answer" not in sample.faults},
    }  # fmt: skip


def experiment_files(
    path: str | Path, *, only: Sequence[str] = (), output: str | Path | None = None
) -> tuple[list[Path], list[Path]]:
    """The files that an experiment reads, and those that `Conducted.save` would write into its folder or `output`."""
    asked = load_experiment(path, only=only)
    folder = Path(output) if output else asked.output
    names = [f"{file_name(one.name)}.jsonl" for one in asked.combinations]
    written = [folder / "result.json", folder / TRACE, folder / PROGRESS]
    written += [folder / part / name for part in ("runs", "samples", "unanswerable") for name in names]
    choices = [choice for one in asked.combinations for choice in one.choices.values()]
    measures = asked.evaluate.get("measures")
    named = [
        *(value for name, value in asked.data.items() if name not in {"split", "cluster"}),
        *(measures if isinstance(measures, list) else []),
        *(value for choice in choices for value in choice.params.values()),
    ]
    return [asked.folder / value for value in named if isinstance(value, str)], written


def run_experiment(
    path: str | Path | Proposal,
    *,
    limit: int | None = None,
    only: Sequence[str] = (),
    holdout: float = 0.0,
    cache: str | Path | None = None,
    baseline: str | None = None,
    judge: Client | None = None,
    tell: Callable[[str, int, int], None] = lambda *_: None,
    fresh: bool = False,
    progress: str | Path | None = None,
) -> FinishedExperiment:
    """Run the experiment of a TOML file, or one that is proposed; finished work is taken from its cache.

    `limit` asks the first queries only, `only` keeps combinations by name (with * for anything), `holdout` keeps a
    share of the queries out of the choice of the winner and checks it on them. `baseline` is the combination that all
    are compared with, instead of the one that the file names. `judge` is the client that writes the questions of a
    proposal. `fresh` asks applications and search engines again, whatever earlier runs kept of them. `tell` is called
    with (name, done, total). `progress` is a folder in which `assay.read_run_progress` shows others how far the run is.
    The returned record has `save` to write it into a folder. Without judgments or gold
    nothing is scored: the findings have times, money and how far the combinations agree.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("documents.jsonl").write_text('{"doc_id": "a", "text": "tea is hot"}')
    >>> _ = Path("queries.jsonl").write_text('{"query_id": "q", "text": "tea"}')
    >>> _ = Path("judgments.json").write_text('{"q": {"a": 1}}')
    >>> lines = ("[data]", "documents='documents.jsonl'", "queries='queries.jsonl'", "judgments='judgments.json'")
    >>> _ = Path("experiment.toml").write_text(chr(10).join([*lines, "[retrieve]", "method='bm25'"]))
    >>> assay.run_experiment("experiment.toml").findings.winner
    'bm25'
    """
    place = carry_out(path, tell, judge=judge).experiment if isinstance(path, Proposal) else path
    experiment = load_experiment(place, only=only)
    return conduct(
        experiment, limit=limit, holdout=holdout, cache=cache, baseline=baseline, tell=tell, fresh=fresh,
        progress=progress,
    )  # fmt: skip


def run_unlabelled(
    found: Proposal,
    *,
    limit: int | None = None,
    only: Sequence[str] = (),
    cache: str | Path | None = None,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> FinishedExperiment | None:
    """Search for the queries of a proposal's folder that have no labels, with what it proposes; None if there are none.

    Nothing is scored: the findings say how far the combinations agree. Runs are written into the folder `unlabelled` of
    the proposal's output by `save`, to be judged.

    >>> import assay
    >>> from pathlib import Path
    >>> Path("asked").mkdir()
    >>> _ = Path("asked/green.md").write_text("Green tea is steamed right after picking, which keeps its leaves green.")
    >>> _ = Path("asked/queries.jsonl").write_text('{"query_id": "q", "text": "why is tea green"}')
    >>> proposal = assay.propose_experiment("asked")
    >>> _ = assay.run_experiment(proposal)
    >>> [query.text for query in assay.run_unlabelled(proposal).collection.queries]
    ['why is tea green']
    """
    experiment = leave_out_labels(found, load_experiment(found.experiment, only=only))
    return None if experiment is None else conduct(experiment, limit=limit, cache=cache, tell=tell)


def conduct(
    experiment: Experiment,
    *,
    limit: int | None = None,
    holdout: float = 0.0,
    cache: str | Path | None = None,
    baseline: str | None = None,
    tell: Callable[[str, int, int], None] = lambda *_: None,
    fresh: bool = False,
    progress: str | Path | None = None,
) -> FinishedExperiment:
    """Run an experiment that was read or put together, as `run_experiment` does."""
    if cache is not None:
        experiment = replace(experiment, cache=Path(cache))
    if baseline is not None:
        names = [one.name for one in experiment.combinations]
        if baseline not in names:
            raise UnknownName(say("conduct.combination"), baseline, names)
        experiment = replace(experiment, baseline=baseline)
    collection = read_data(experiment, limit=limit)
    setup = make_setup(experiment, collection)
    follow = RunFollower(progress, experiment.name)
    store = Store(experiment.cache, follow.note_work)
    try:
        # What makes no sense is found before anything runs or is paid for.
        judged = collection.judgments is not None
        evaluator = Evaluator(experiment, collection, setup, holdout=holdout) if judged else None
        if evaluator is None and holdout:
            raise UsageError(say("holdout needs judgments: name them in [data], or leave it out"))
        made = make_stages(experiment, setup)
        runner = Runner(experiment, collection, made, store=store, tell=tell, fresh=fresh, follow=follow)
        follow.plan(experiment.combinations, len(collection.queries), baseline=experiment.baseline)
        with follow:
            outcomes = tuple(_follow_outcomes(runner.outcomes(), follow, evaluator))
            follow.enter("unanswerable")
            apart = tuple(runner.refusals())
            follow.enter("evaluation")
            findings = (
                describe_experiment(experiment, collection, outcomes)
                if evaluator is None
                else evaluate_experiment(evaluator, outcomes, tell=partial(_tell_quality, follow, evaluator))
            )
            follow.conclude({row.name: row.pareto for row in findings.done} if findings.judged else {})
        findings = replace(findings, refusals=tuple(map(count_refusals, apart)))
    finally:
        setup.close()
    counts = dict(store.done), dict(store.reused), dict(store.damaged)
    return FinishedExperiment(experiment, collection, outcomes, findings, *counts, apart)


def _follow_outcomes(
    outcomes: Iterator[Execution], follow: RunFollower, evaluator: Evaluator | None
) -> Iterator[Execution]:
    """Outcomes as they come; who follows the run sees their numbers."""
    for outcome in outcomes:
        if follow.is_on:
            _tell_outcome(outcome, follow, evaluator)
        yield outcome


def _tell_outcome(outcome: Execution, follow: RunFollower, evaluator: Evaluator | None) -> None:
    if not outcome.done:
        follow.end("failed", reason=str(outcome.reason))
        return
    row = describe_outcome(outcome)
    follow.end("done", ms_p95=row.latency_ms["p95"] if row.timed else None, cost_per_query=row.cost_per_query)
    with suppress(Exception):  # what cannot be evaluated is an error when all have run
        if evaluator is not None and (scores := evaluator.score_early(outcome)) is not None:
            _tell_quality(follow, evaluator, scores)


def _tell_quality(follow: RunFollower, evaluator: Evaluator, scores: Scores) -> None:
    """Show the mean of the measure that decides."""
    if follow.is_on:
        label = evaluator.primary(scores)
        lower = scores.about(label).lower_is_better
        follow.score(scores.name, label, lower=lower, mean=column_mean(scores, label))
        follow.pay(evaluator.spent)
