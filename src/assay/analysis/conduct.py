"""From a TOML file to findings: read, run what is not yet done, evaluate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.analysis.experiment import evaluate_experiment
from assay.analysis.experiment_scores import Evaluator
from assay.pipeline.experiment import load_experiment, make_setup, make_stages, read_data
from assay.pipeline.runner import Runner
from assay.pipeline.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.runner import Execution
    from assay.results.experiment import Findings


@dataclass(frozen=True)
class Conducted:
    """An experiment that was run: what it was, what each combination gave, what that is worth.

    `done` and `reused` count the pieces of work of each stage that were done now, and that the cache had; `damaged`
    counts those that the cache had, but not as they were written, so that they were done again.
    """

    experiment: Experiment
    collection: Collection
    outcomes: tuple[Execution, ...]
    findings: Findings
    done: Mapping[str, int]
    reused: Mapping[str, int]
    damaged: Mapping[str, int]


def run_experiment(
    path: str | Path,
    *,
    limit: int | None = None,
    only: Sequence[str] = (),
    holdout: float = 0.0,
    cache: str | Path | None = None,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> Conducted:
    """Run the experiment of a TOML file; work that an earlier run did is taken from its cache.

    `limit` asks the first queries only, `only` keeps combinations by name (with * for anything), `holdout` keeps a
    share of the queries out of the choice of the winner and checks it on them. `tell` hears of (name, done, total).

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
    experiment = load_experiment(path, only=only)
    if cache is not None:
        experiment = replace(experiment, cache=Path(cache))
    collection = read_data(experiment, limit=limit)
    setup = make_setup(experiment, collection)
    store = Store(experiment.cache)
    try:
        # What makes no sense is found before anything runs or is paid for.
        evaluator = Evaluator(experiment, collection, setup, holdout=holdout)
        made = make_stages(experiment, setup)
        outcomes = tuple(Runner(experiment, collection, made, store=store, tell=tell).outcomes())
        findings = evaluate_experiment(evaluator, outcomes)
    finally:
        setup.close()
    counts = dict(store.done), dict(store.reused), dict(store.damaged)
    return Conducted(experiment, collection, outcomes, findings, *counts)
