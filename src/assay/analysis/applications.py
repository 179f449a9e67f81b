"""Finished applications: ask them all questions, score what they gave, and say beforehand what would be asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.experiment_runner import conduct
from assay.data.samples import Sample, Samples
from assay.errors import UsageError, excerpt
from assay.formats import cells, columns
from assay.formats.app_settings import find_application
from assay.formats.queries import read_queries
from assay.formats.set_folders import is_set, read_manifest
from assay.grounding.answerability import says_answerable
from assay.measures import defaults
from assay.messages import say
from assay.pipeline.app_runner import AppPlan, as_samples, ask_all, plan_asking
from assay.pipeline.applications import make_application
from assay.pipeline.experiment import Collection, load_experiment, make_experiment, make_setup, make_stages, read_data
from assay.pipeline.records import Query
from assay.pipeline.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from assay.analysis.experiment_runner import FinishedExperiment
    from assay.pipeline.applications import Application
    from assay.pipeline.experiment import Experiment

CACHE = ".assay-cache"


def run_application(
    app: str,
    queries: str | os.PathLike[str],
    judgments: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    documents: str | os.PathLike[str] | None = None,
    name: str = "",
    evaluate: Mapping[str, Any] | None = None,
    llm: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    fresh: bool = False,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> FinishedExperiment:
    """Ask an application all queries and evaluate its lists and its answers, as one system of an experiment.

    `app` is an address, module:callable, or a TOML file with `app` and its settings; `settings` are those of the table
    of an experiment. What an application names as its contexts, in their order, is its list; with `documents`, contexts
    are found there by id or by text. Queries that are an evaluation set bring their judgments or gold. Without either
    nothing is scored: the findings have times, money and how each question ended. `evaluate` and `llm` are the tables
    of an experiment; without measures or a protocol, questions of a set are scored as those of a folder are. What was
    answered is kept in `cache`, so that a second run asks only the rest; `fresh` asks
    everything again.

    >>> import assay
    >>> from pathlib import Path
    >>> reply = {"answer": "Hot.", "contexts": [{"id": "a", "text": "Tea is hot."}]}
    >>> _ = Path("tea_app.py").write_text(f"def ask(question): return {reply}")
    >>> _ = Path("queries.jsonl").write_text('{"query_id": "q", "text": "how is tea"}')
    >>> _ = Path("judgments.json").write_text('{"q": {"a": 1}}')
    >>> found = assay.run_application("tea_app:ask", "queries.jsonl", "judgments.json")
    >>> found.findings.combinations[0].outcomes[0].status
    'scored'
    """
    asked = app_experiment(
        app, queries, judgments, settings=settings, documents=documents, name=name, evaluate=evaluate, llm=llm,
        output=output, cache=cache,
    )  # fmt: skip
    return conduct(asked, limit=limit, tell=tell, fresh=fresh)


def app_experiment(
    app: str,
    queries: str | os.PathLike[str],
    judgments: str | os.PathLike[str] | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    documents: str | os.PathLike[str] | None = None,
    name: str = "",
    evaluate: Mapping[str, Any] | None = None,
    llm: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Experiment:
    """An experiment with one system, an application."""
    place, told, folder = find_application(app, settings)
    evaluate = dict(evaluate or {})
    if judgments is None and _judges(queries):
        judgments = queries
        if evaluate.keys().isdisjoint({"measures", "protocol"}):  # those of a folder, to be compared with its results
            evaluate["measures"] = [*defaults.LISTS]
    data = {"queries": queries, "judgments": judgments, "documents": documents}
    table = {
        "method": place,
        **({"name": name} if name else {}),
        **{one: [value] if isinstance(value, list) else value for one, value in told.items()},
    }
    title = name or place.rpartition(":")[2].strip("/").replace("/", "-") or "app"
    raw = {
        "name": title, "data": {one: _from(folder, value) for one, value in data.items() if value is not None},
        "app": [table], "evaluate": evaluate, "llm": dict(llm or {}),
        "output": str(Path(output or f"{title}-results").resolve()), "cache": str(Path(cache or CACHE).resolve()),
    }  # fmt: skip
    return make_experiment(raw, folder / "app.toml", app_file=app if app.endswith(".toml") else "")


def _judges(queries: str | os.PathLike[str]) -> bool:
    """Return whether the questions are a set that says which documents answer them."""
    return is_set(queries) and any(read_manifest(queries).name_of(role) for role in ("judgments", "gold"))


def _from(folder: Path, path: str | os.PathLike[str]) -> str:
    """A path as it is written from a folder."""
    return str(Path(path) if folder == Path() else Path(path).resolve())


def plan_experiment(experiment: Experiment, *, limit: int | None = None, fresh: bool = False) -> tuple[AppPlan, ...]:
    """Say how many requests each application of an experiment would get, without sending one."""
    collection = read_data(experiment, limit=limit)
    setup = make_setup(experiment, collection)
    try:
        made = make_stages(experiment, setup)
        store = Store(experiment.cache)
        asked = (*collection.queries, *collection.unanswerable)
        return tuple(
            plan_asking(made[one.choices["app"].key], one.name, asked, store, fresh=fresh)
            for one in experiment.combinations
            if "app" in one.choices
        )
    finally:
        setup.close()


def plan_file(
    path: str | os.PathLike[str], *, only: Sequence[str] = (), limit: int | None = None
) -> tuple[AppPlan, ...]:
    """Say how many requests the applications of a TOML file would get."""
    return plan_experiment(load_experiment(Path(path), only=only), limit=limit)


def ask_application(
    app: str,
    queries: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    cache: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> Samples:
    """Ask an application all questions of a file; gives samples of its answers and contexts, to be judged.

    The file is a table of queries; references and gold ids that it has go into the samples.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("tea_ask.py").write_text("def ask(question): return {'answer': 'Hot.', 'contexts': ['Tea is hot.']}")
    >>> _ = Path("queries.jsonl").write_text('{"query_id": "q", "text": "how is tea"}')
    >>> [(one.question, one.answer) for one in assay.ask_application("tea_ask:ask", "queries.jsonl")]
    [('how is tea', 'Hot.')]
    """
    made, samples, collection = _prepare_application(app, queries, settings)
    found = ask_all(made, collection.queries, Store(Path(cache or CACHE)), fresh=fresh, tell=tell)
    rows = []
    for one, known in zip(as_samples(found, collection), samples, strict=True):
        others = {**one.others, **known.others}
        rows.append(replace(one, references=known.references, gold_ids=known.gold_ids, others=others))
    return Samples(tuple(rows))


def plan_application(
    app: str,
    queries: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    cache: str | os.PathLike[str] | None = None,
    fresh: bool = False,
) -> AppPlan:
    """Say how many requests `ask_application` would send, without sending one."""
    made, _, collection = _prepare_application(app, queries, settings)
    return plan_asking(made, made.name, collection.queries, Store(Path(cache or CACHE)), fresh=fresh)


def _prepare_application(
    app: str, queries: str | os.PathLike[str], settings: Mapping[str, Any] | None
) -> tuple[Application, list[Sample], Collection]:
    place, told, folder = find_application(app, settings)
    made = make_application(place, told, folder)
    samples = _read_questions(queries)
    asked = tuple(Query(one.query_id, one.question or "") for one in samples)
    return made, samples, Collection((), asked, None)


def _read_questions(place: str | os.PathLike[str]) -> list[Sample]:
    """The questions of a file, with the references and the gold ids that it may have."""
    frame = read_queries(place).frame
    readers: dict[str, Any] = {"reference": cells.texts, "gold_ids": cells.groups}
    known = {name: columns.find(frame.columns, columns.SAMPLE[name], path=str(place)) for name in readers}
    found = []
    for row in frame.iter_rows(named=True):
        if not row.get("text"):
            continue
        told: dict[str, Any] = {}
        for name, column in known.items():
            value = None if column is None else cells.unpack(cells.plain(row[column]))
            told[name] = None if value is None else readers[name](value, [])
        others = {"answerable": False} if says_answerable(row) is False else {}
        references = told["reference"] or ()
        found.append(
            Sample(row["query_id"], row["text"], references=references, gold_ids=told["gold_ids"], others=others)
        )
    if not found:
        raise UsageError(say("{path} has no question", path=excerpt(str(place))))
    return found
