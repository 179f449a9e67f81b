"""An experiment as read from a TOML file: data, stages with their axes, and its evaluation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.source import Source
from assay.errors import InputError, UnknownName, UsageError, excerpt
from assay.formats import columns
from assay.formats.files import read_toml
from assay.formats.queries import read_queries
from assay.formats.reading import read_judgments
from assay.formats.set_folders import MADE_BY, UNKNOWN, count_kinds, read_manifest, warn_of_mixture
from assay.grounding.answerability import says_answerable
from assay.messages import say
from assay.pipeline import (
    applications,
    bm25,
    chunkers,
    elastic,
    external,
    generators,
    hybrid,
    language_models,
    postgres,
    rerankers,
    rewriting,
    vectors,
    web_search,
)
from assay.pipeline.documents import read_collection
from assay.pipeline.gold import documents_judged, read_gold, read_gold_column
from assay.pipeline.grid import Combination, StageChoice, app_systems, choices_of, choose, combinations, errors_at
from assay.pipeline.records import Document, Query
from assay.pipeline.stages import LLM_KEYS, STAGES, Setup, find, is_plugin
from assay.pipeline.terms import words
from assay.results.experiment import Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.spans import GoldSpan
    from assay.formats.queries import Queries
    from assay.formats.set_folders import Manifest
    from assay.pipeline.stages import Stage

_BUILT_IN = (  # they register methods
    bm25, chunkers, elastic, external, generators, hybrid, language_models, postgres, rerankers, rewriting, vectors,
    web_search,
)  # fmt: skip
ENGINES = frozenset({"elasticsearch", "opensearch", "postgres", "http"})  # retrievers with documents of their own
_PLUGINS = {
    "query": rewriting.plugin_rewriter,
    "chunk": chunkers.plugin_chunker,
    "retrieve": external.plugin_retriever, "rerank": rerankers.plugin_reranker,
    "generate": generators.plugin_generator,
    "app": applications.plugin_application,
}  # fmt: skip
_TABLES = {
    "": ("name", "baseline", "only", "output", "cache", "seed"),
    "data": ("set", "documents", "queries", "judgments", "gold", "split", "cluster"),
    "evaluate": (
        "protocol", "measures", "min_relevance", "max_grade", "ties", "missing", "undefined", "fold", "span_share",
        "method", "judge", "embedder", "ignore_same_id",
    ),
    "llm": LLM_KEYS,
    "reference": ("source", "figures"),
}  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """What a TOML file asks for, checked as far as that goes without reading data; `written` says that there is one."""

    path: Path
    name: str
    data: Mapping[str, str]
    combinations: tuple[Combination, ...]
    evaluate: Mapping[str, Any]
    llm: Mapping[str, Any] = field(default_factory=dict)
    baseline: str = ""
    output: Path = Path()
    cache: Path = Path()
    seed: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    reference: Reference | None = None
    written: bool = True

    def at(self, part: str) -> str:
        """Where in the file a part of it is, for errors; nothing where no file says it."""
        return f"{self.path}: {part}" if self.written else ""

    @property
    def folder(self) -> Path:
        """Where the paths of the file start."""
        return self.path.parent


def load_experiment(path: str | Path, *, only: Sequence[str] = ()) -> Experiment:
    """Read and check an experiment; `only` keeps combinations by name, with * for anything."""
    place = Path(path)
    return make_experiment(read_toml(str(place)), place, only=only)


def make_experiment(
    raw: Mapping[str, Any], place: Path, *, only: Sequence[str] = (), app_file: str | None = None
) -> Experiment:
    """Check an experiment that was read from a file, or put together; `place` is where its paths start.

    What is put together around an application is in no file, but the settings of the application in `app_file`, if any.
    """
    for name in raw:
        _check_key(name, {*_TABLES[""], *(table for table in _TABLES if table), *STAGES, "app", "labels"}, str(place))
    for table, known in _TABLES.items():
        part = raw.get(table, {}) if table else {}
        if not isinstance(part, dict):
            raise InputError(say("expected a table [{table}]", table=table), path=f"{place}: {table}")
        for name in part:
            _check_key(name, known, f"{place}: {table}")
    grid = _systems(raw, str(place) if app_file is None else app_file)
    baseline = str(raw.get("baseline", ""))
    if baseline and baseline not in [one.name for one in grid]:
        with errors_at(f"{place}: baseline"):
            raise UnknownName(say("combination"), baseline, [one.name for one in grid])
    labels = _labels(raw.get("labels", {}), [one.name for one in grid], f"{place}: labels")
    asked = raw.get("only", [])
    with errors_at(f"{place}: only"):
        usual = choose(grid, _names([asked] if isinstance(asked, str) else asked))
    # A name asks for one that the file leaves out, too; a pattern is about those that it has.
    wanted = {text.lower() for text in only}
    grid = choose([one for one in grid if one in usual or one.name.lower() in wanted], only)
    name = str(raw.get("name") or place.stem)
    return Experiment(
        path=place, name=name, data=_data(raw, place, grid), combinations=tuple(grid), evaluate=raw.get("evaluate", {}),
        llm=raw.get("llm", {}), baseline=baseline, seed=_seed(raw.get("seed", 0), str(place)),
        output=place.parent / str(raw.get("output") or f"{place.stem}-results"),
        cache=place.parent / str(raw.get("cache") or ".assay-cache"), labels=labels,
        reference=_reference(raw["reference"], f"{place}: reference") if "reference" in raw else None,
        written=app_file is None,
    )  # fmt: skip


def _systems(raw: Mapping[str, Any], place: str) -> list[Combination]:
    """The grid of pipelines and the applications beside it; where there are only applications, no pipeline."""
    apps = app_systems(choices_of("app", raw["app"], place), place) if "app" in raw else []
    if apps and not any(stage in raw for stage in STAGES):
        return apps
    stages = {stage: choices_of(stage, raw.get(stage), place) for stage in STAGES}
    return [*combinations(stages, place), *apps]


def _names(asked: Any) -> list[str]:
    if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
        raise UsageError(say("expected names of combinations, not {value}", value=excerpt(asked)))
    return asked


def _seed(told: Any, place: str) -> int:
    if isinstance(told, bool) or not isinstance(told, int):
        with errors_at(f"{place}: seed"):
            raise UsageError(say("expected a whole number, not {value}", value=excerpt(told)))
    return told


def _check_key(name: str, known: Any, place: str) -> None:
    if name not in known:
        with errors_at(place):
            raise UnknownName(say("key"), name, known, hint=say("the keys here are {names}", names=sorted(known)))


def _labels(raw: Any, known: Sequence[str], place: str) -> dict[str, str]:
    """Descriptions of combinations by their names."""
    if not isinstance(raw, dict):
        raise InputError(say("expected a table [{table}]", table="labels"), path=place)
    for name, text in raw.items():
        if name not in known:
            with errors_at(place):
                raise UnknownName(
                    say("combination"), name, known, hint=say("the combinations are {names}", names=list(known[:12]))
                )
        if not isinstance(text, str):
            raise InputError(say("{value} is not a text", value=excerpt(text)), path=f"{place}.{name}")
    return dict(raw)


def _reference(raw: Mapping[str, Any], place: str) -> Reference:
    source, figures = raw.get("source", ""), raw.get("figures", {})
    if not isinstance(source, str):
        raise InputError(say("{value} is not a text", value=excerpt(source)), path=f"{place}.source")
    if not isinstance(figures, dict):
        raise InputError(
            say("expected a table of tables"), path=f"{place}.figures", hint=say('such as bm25 = {{"ndcg@10" = 0.65}}')
        )
    for name, row in figures.items():
        if not isinstance(row, dict):
            raise InputError(say('expected a table such as {{"ndcg@10" = 0.65}}'), path=f"{place}.figures.{name}")
        for column, value in row.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise InputError(say("expected a number or a text"), path=f"{place}.figures.{name}.{column}")
    return Reference(source, figures)


def _data(raw: Mapping[str, Any], place: Path, grid: Sequence[Combination]) -> dict[str, str]:
    data = _with_set(raw.get("data", {}), place)
    for name in ("documents", "queries") if any(map(needs_documents, grid)) else ("queries",):
        if name not in data:
            raise InputError(
                say("{name} is not given", name=name),
                path=f"{place}: data",
                hint=say('add {name} = "FILE" to [data]', name=name),
            )
    for name, value in data.items():
        if not isinstance(value, str):
            raise InputError(say("{value} is not a path", value=excerpt(value)), path=f"{place}: data.{name}")
    return dict(data)


def needs_documents(system: Combination) -> bool:
    """Return whether a system searches documents of ours: an application and a search engine have their own."""
    retrieve = system.choices.get("retrieve")
    return retrieve is not None and retrieve.method not in ENGINES


def _with_set(data: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """The same with what an evaluation set holds, where the file names one; what it names besides comes first."""
    folder = data.get("set")
    if not isinstance(folder, str):
        return dict(data)
    with errors_at(f"{place}: data.set"):
        manifest = read_manifest(place.parent / folder)
    has = {role for one in manifest.files.values() if (role := "documents" if one.role == "hashes" else one.role)}
    gold = {"judgments", "gold"} if {"judgments", "gold"} & data.keys() else set()
    return {**{role: folder for role in ("documents", "queries", "judgments", "gold") if role in has - gold}, **data}


@dataclass(frozen=True)
class Collection:
    """The data of an experiment, read; `table` has the columns of every query that has a text.

    `judgments` are None where neither judgments nor gold are given. `unanswerable` are questions that say that no
    document answers them: they are asked apart from the queries, of combinations that answer. `clusters` says of every
    query what it belongs to, where the experiment names a column for that; `warnings` are for the result, `notes` for
    whoever runs it.
    """

    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgments: Judgments | None
    spans: tuple[GoldSpan, ...] = ()
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    table: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    clusters: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()
    unanswerable: tuple[Query, ...] = ()


def read_data(experiment: Experiment, *, limit: int | None = None) -> Collection:
    """Read documents, queries and gold; where there are judgments only judged queries are asked, at most `limit`."""
    data, folder = experiment.data, experiment.folder
    with errors_at(experiment.at("data.documents")):
        documents = read_collection(folder / data["documents"]) if "documents" in data else []
    texts = {document.id: document.text for document in documents}
    with errors_at(experiment.at("data.queries")):
        table = read_queries(folder / data["queries"])
    spans: list[GoldSpan] = []
    if "gold" in data:
        with errors_at(experiment.at("data.gold")):
            spans = read_gold(folder / data["gold"], texts)
    with errors_at(experiment.at("data.judgments")):
        split = data.get("split", "test")
        judged = read_judgments(folder / data["judgments"], split=split) if "judgments" in data else None
    judgments = documents_judged(spans) if judged is None and "gold" in data else judged
    manifest = read_manifest(folder / data["set"]) if "set" in data else None
    if manifest is not None and judgments is not None:
        judgments = _name_set(judgments, folder / data["set"], manifest)
    asked_in = experiment.at("data.queries") or data["queries"]
    texts_of, unanswerable = _set_apart(table, judgments)
    queries, notes = _queries(texts_of, judgments, asked_in, limit)
    if unanswerable and not any(one.answers for one in experiment.combinations):
        n = len(unanswerable)
        notes.append(say("{n:,} unanswerable {n:question is|questions are} not asked: nothing here answers", n=n))
        unanswerable = []
    kept = {query.id for query in queries}
    if judgments is not None:
        notes += (
            _check_documents(judgments, texts, experiment.at("data.judgments") or data.get("judgments", ""))
            if "documents" in data
            else []
        )
        judgments = _only(judgments, kept)
    return Collection(
        tuple(documents), tuple(queries), judgments,
        tuple(span for span in spans if span.query_id in kept), _references(table, asked_in),
        tuple(notes),
        {row["query_id"]: row for row in table.frame.iter_rows(named=True) if row["text"] is not None},
        _clusters(experiment, table, kept),
        tuple(manifest.warnings() if manifest is not None else _mixture(table, kept)),
        tuple(unanswerable[:limit]),
    )  # fmt: skip


def _set_apart(table: Queries, judgments: Judgments | None) -> tuple[dict[str, str], list[Query]]:
    """The texts of queries, and the questions without judgments that say that nothing answers them."""
    texts = table.texts()
    judged = set() if judgments is None else {*judgments.query_ids, *judgments.empty}
    rows = (row for row in table.frame.iter_rows(named=True) if row["query_id"] in texts.keys() - judged)
    apart = {row["query_id"]: row["text"] for row in rows if says_answerable(row) is False}
    kept = {name: text for name, text in texts.items() if name not in apart}
    return kept, [Query(name, text) for name, text in apart.items()]


def _mixture(table: Queries, asked: set[str]) -> list[str]:
    """What a mean over queries of several kinds would hide, where a file of queries says who made each."""
    if MADE_BY not in table.frame.columns:
        return []
    makers = Counter(
        UNKNOWN if maker is None else str(maker)
        for query, maker in table.frame.select("query_id", MADE_BY).iter_rows()
        if query in asked
    )
    return warn_of_mixture(count_kinds(makers), "queries.mixed")


def _name_set(judgments: Judgments, folder: Path, manifest: Manifest) -> Judgments:
    """The same judgments, which say from which set and version they are; the warnings of a set are said once."""
    told = {str(text) for text in manifest.warnings()}
    source = judgments.source or Source(
        str(folder / str(manifest.name_of("gold"))), folder / str(manifest.name_of("gold"))
    )
    notes = tuple(text for text in judgments.notes if str(text) not in told)
    return replace(judgments, source=replace(source, of_set=manifest.label), notes=notes)


def _clusters(experiment: Experiment, table: Queries, asked: set[str]) -> dict[str, str] | None:
    """What each query belongs to: a column of the queries or, where they lack it, of the gold."""
    data, folder, name = experiment.data, experiment.folder, experiment.data.get("cluster")
    if name is None:
        return None
    with errors_at(experiment.at("data.cluster")):
        if name in table.frame.columns:
            cells: Iterable[tuple[Any, Any]] = table.frame.select("query_id", name).iter_rows()
        elif "gold" in data:
            cells = read_gold_column(folder / data["gold"], name, others=table.attributes)
        else:
            raise UnknownName(say("column"), name, table.attributes)
        told: dict[str, str] = {}
        for query, value in cells:
            if value is not None and told.setdefault(str(query), str(value)) != str(value):
                raise UsageError(
                    say(
                        "query {query} has several values of {column}: name one in a column of the queries",
                        query=excerpt(query),
                        column=name,
                    )
                )
    return {query: told.get(query, query) for query in asked}


def _queries(
    texts: Mapping[str, str], judgments: Judgments | None, place: str, limit: int | None
) -> tuple[list[Query], list[str]]:
    if judgments is None and not texts:
        raise InputError(say("no query has a text"), path=place, hint=say("expected a column text, query or question"))
    judged = set(texts) if judgments is None else {*judgments.query_ids, *judgments.empty}
    queries = [Query(name, text) for name, text in texts.items() if name in judged]
    if not queries:
        raise InputError(
            say("no query with a text is judged"),
            path=place,
            hint=say("check that queries and judgments use the same query ids"),
        )
    wordless = next((query for query in queries if not words(query.text)), None)
    if wordless is not None:
        raise InputError(
            say("query {id} has no words: {text}", id=excerpt(wordless.id), text=excerpt(wordless.text)), path=place
        )
    left, lost = len(texts) - len(queries), sorted(judged - texts.keys())
    notes: list[str] = []
    if left:
        notes.append(say("{n:,} {n:query|queries} without judgments {n:is|are} not asked", n=left))
    if lost:
        notes.append(
            say(
                "{n:,} judged {n:query has|queries have} no text and {n:is|are} not asked, such as {example}",
                n=len(lost),
                example=excerpt(lost[0]),
            )
        )
    if limit is not None and limit < len(queries):
        notes.append(say("only the first {n} of {of} queries are asked (--limit)", n=limit, of=len(queries)))
        queries = queries[:limit]
    return queries, notes


def _only(judgments: Judgments, kept: set[str]) -> Judgments:
    import polars as pl

    frame = judgments.frame.filter(pl.col("query_id").is_in(list(kept)))
    return replace(judgments, rows=frame, empty=tuple(name for name in judgments.empty if name in kept))


def _check_documents(judgments: Judgments, texts: Mapping[str, str], place: str) -> list[str]:
    """Refuse judgments of another collection; return notes on judged documents that are missing from this one."""
    judged = judgments.frame["doc_id"].unique(maintain_order=True).to_list()
    lost = [name for name in judged if name not in texts]
    if lost and len(lost) == len(judged):
        raise InputError(
            say("no judged document is in the collection, such as {example}", example=excerpt(lost[0])), path=place
        )
    if not lost:
        return []
    return [
        say(
            "{n:,} judged {n:document is|documents are} not in the collection, such as {example}",
            n=len(lost),
            example=excerpt(lost[0]),
        )
    ]


def _references(table: Any, place: str) -> dict[str, tuple[str, ...]]:
    column = columns.find(table.frame.columns, columns.SAMPLE["reference"], path=place)
    if column is None:
        return {}
    pairs = zip(table.frame["query_id"].to_list(), table.frame[column].to_list(), strict=True)
    return {query: (text,) for query, text in pairs if isinstance(text, str)}


def make_setup(experiment: Experiment, collection: Collection) -> Setup:
    """What stages and the judge of answers share; to be closed when all is done."""
    llm = {"cache": str(experiment.cache.resolve() / "answers.sqlite"), **experiment.llm}  # nothing is paid for twice
    return Setup(experiment.folder, llm, collection.table)


def make_stages(experiment: Experiment, setup: Setup) -> dict[tuple[Any, ...], Any]:
    """Make every stage that any combination uses, so that what cannot work is found before anything runs."""
    made: dict[tuple[Any, ...], Any] = {}
    for combination in experiment.combinations:
        for choice in combination.choices.values():
            if choice.key not in made:
                with errors_at(choice.place):
                    made[choice.key] = make(choice.stage, choice, setup)
    return made


def make(stage: Stage, choice: StageChoice, setup: Setup) -> Any:
    """Make one stage."""
    if is_plugin(choice.method):
        return _PLUGINS[stage](choice.method, setup, choice.params)
    return find(stage, choice.method).make(setup, **choice.params)
