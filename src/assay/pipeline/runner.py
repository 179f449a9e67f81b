"""Runs the combinations of an experiment: shared beginnings once, finished work never again, failures as records."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from assay.data.run import Run
from assay.data.samples import Context, Sample, Samples
from assay.errors import AssayError, InputError
from assay.messages import say, word
from assay.pipeline import chunkers
from assay.pipeline.app_runner import Placement, ask_all, lay_out, refuse_hopeless, start_round
from assay.pipeline.app_runner import as_samples as app_samples
from assay.pipeline.following import RunFollower, keep_counting
from assay.pipeline.measuring import Timed, measure_work, time_work
from assay.pipeline.ordering import apply_scores, check_answered, descending, fresh_score, reorder
from assay.pipeline.records import Answered, Chunk, Hits, Query, add_money, add_output_tokens
from assay.pipeline.search_engines import SearchEngine, need_texts, search_block, shift
from assay.pipeline.store import Store, key_of
from assay.results.experiment import IndexTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from assay.pipeline.applications import Application
    from assay.pipeline.asked import Asked
    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.grid import Combination, StageChoice
    from assay.pipeline.retrieval import Index, Indexer, Ranked

T = TypeVar("T")
BLOCK = 32  # queries whose work is kept together: what a kill can cost
_INDEXES = 4  # kept in memory
_SENTENCE = "Two words warm up. 两个词预热。"  # in the languages whose words are cut
_PASSING = {"timeout", "network", "throttled", "server", "garbage", "deadline", "cancelled", "error"}


@dataclass(frozen=True)
class Work:
    """Time and cost of one stage for one query; with `cached`, the milliseconds are those of a cache and ignored.

    `estimated`, `money_estimated`, `output_tokens` and `reason` as in Hits.
    """

    ms: float
    tokens: int
    money: float | None
    cached: bool = False
    estimated: bool = False
    money_estimated: bool = False
    output_tokens: int | None = None
    reason: str = ""

    @classmethod
    def of(cls, done: Hits | Answered) -> Work:
        """Time and cost of hits or an answer."""
        return cls(**{one.name: getattr(done, one.name) for one in fields(cls)})


@dataclass(frozen=True, eq=False)
class Execution:
    """The outcome of one combination: its run, answers and trace, or the reason why there are none.

    `hits` are the ranked chunks of each query, `work` what each stage took for each query, in the order of queries;
    `queries` have the texts that were searched for, `asked` what an application gave for each.
    With `engine`, an engine with documents of its own was searched.
    """

    combination: Combination
    reason: str = ""
    run: Run | None = None
    chunks: Sequence[Chunk] = ()
    hits: Sequence[Hits] = ()
    samples: Samples | None = None
    work: Mapping[str, Sequence[Work]] = field(default_factory=dict)
    index: IndexTrace | None = None
    faults: Mapping[str, int] = field(default_factory=dict)
    queries: Sequence[Query] = ()
    asked: Sequence[Asked] = ()
    engine: bool = False

    @property
    def done(self) -> bool:
        """Return whether it ran to its end."""
        return self.run is not None


class Runner:
    """Runs combinations one after the other; `tell` is called with (what, done, total), `follow` is told all steps."""

    def __init__(
        self,
        experiment: Experiment,
        collection: Collection,
        made: Mapping[tuple[Any, ...], Any],
        *,
        store: Store,
        tell: Callable[[str, int, int], None] = lambda *_: None,
        fresh: bool = False,
        follow: RunFollower | None = None,
    ) -> None:
        self._follow = follow or RunFollower()
        self._experiment, self._data, self._made, self._store, self._tell = experiment, collection, made, store, tell
        self._fresh = fresh
        self._documents_key = key_of([list(document) for document in collection.documents])
        self._blocks = _blocks_of(collection.queries)
        self._chunked: dict[str, list[Chunk]] = {}
        self._indexes: OrderedDict[str, Index] = OrderedDict()
        self._traces: dict[str, IndexTrace] = {}
        self._texts = {document.id: document.text for document in collection.documents}
        self._warm: set[str] = set()
        self._started: list[SearchEngine] = []

    def outcomes(self) -> Iterator[Execution]:
        """Run every combination; one that fails is an outcome with its reason."""
        for combination in self._experiment.combinations:
            self._follow.begin(combination, self._stages_of(combination))
            try:
                yield self._run(combination)
            except AssayError as error:
                yield Execution(combination, error.message)
            except Exception as error:  # noqa: BLE001 - a user's stage may raise anything; the other rows go on
                yield Execution(combination, f"{type(error).__name__}: {error}"[:300])

    def refusals(self) -> Iterator[Execution]:
        """Ask, after all outcomes, what no document answers: every combination that answers, in the same round."""
        answering = tuple(one for one in self._experiment.combinations if one.answers)
        self._experiment = replace(self._experiment, combinations=answering)
        self._data = replace(self._data, queries=self._data.unanswerable)
        self._blocks, self._fresh = _blocks_of(self._data.queries), False
        for one in self.outcomes() if self._data.queries else ():
            yield one if one.samples is None else replace(one, samples=_without_answer(one.samples))

    def _run(self, combination: Combination) -> Execution:
        choices = combination.choices
        if "app" in choices:
            return self._ask(combination, self._made[choices["app"].key])
        if isinstance(engine := self._made[choices["retrieve"].key], SearchEngine):
            return self._search(combination, engine)
        chunks_key, chunks = self._chunks(choices["chunk"])
        hits: list[Hits] = []
        first: list[Hits] = []
        answers: list[Answered] = []
        asked: list[Query] = []
        written: list[Answered] = []
        generator = self._made[choices["generate"].key]
        for number, given in enumerate(self._blocks):
            self._tell(combination.name, number * BLOCK, len(self._data.queries))
            self._follow.block(number * BLOCK, len(given))
            self._follow.at("query")
            block, texts = self._rewrite(choices["query"], given)
            asked += block
            written += texts
            self._follow.at("retrieve")
            key, found = self._retrieve(choices["retrieve"], chunks_key, chunks, block)
            first += found
            self._follow.at("rerank")
            found = self._rerank(choices["rerank"], key, found, chunks, block)
            hits += found
            self._follow.at("generate")
            if generator is not None:
                answers += self._answer(choices["generate"], found, chunks, given)
        self._tell(combination.name, len(self._data.queries), len(self._data.queries))
        return Execution(
            combination, run=self._as_run(combination.name, hits, chunks), chunks=chunks, hits=hits,
            samples=self._as_samples(choices["generate"], hits, answers, chunks) if generator is not None else None,
            work=self._work(choices, written, first, hits, answers), queries=asked, faults=_faults(hits, answers),
            index=self._trace(choices["retrieve"], chunks_key, chunks),
        )  # fmt: skip

    def _stages_of(self, combination: Combination) -> list[str]:
        """The stages that work query by query."""
        choices = combination.choices
        if "app" in choices:
            return ["app"]
        rewriter = self._made[choices["query"].key]
        works = {
            "query": rewriter is not None and rewriter.works, "retrieve": True,
            "rerank": self._made[choices["rerank"].key] is not None, "generate": combination.answers,
        }  # fmt: skip
        return [stage for stage, does in works.items() if does]

    # Systems that are not ours ----------------------------------------------------------------------------------------

    def _ask(self, combination: Combination, app: Application) -> Execution:
        """Ask an application; what it names as its contexts is its list."""
        queries = self._data.queries
        tell = keep_counting(self._follow, "app", partial(self._tell, combination.name))
        found = ask_all(app, queries, self._store, fresh=self._fresh, tell=tell)
        refuse_hopeless(found)
        chunks, hits = lay_out(found, Placement(self._texts))
        return Execution(
            combination, run=self._as_run(combination.name, hits, chunks), chunks=chunks, hits=hits,
            samples=app_samples(found, self._data), work={"app": list(map(Work.of, hits))}, queries=queries,
            faults=Counter(one.reason for one in found if one.status == "failed"), asked=found,
        )  # fmt: skip

    def _search(self, combination: Combination, engine: SearchEngine) -> Execution:
        """Search in an engine that has its own documents; the other stages work on what it gives."""
        choices, name = combination.choices, combination.name
        generator = self._made[choices["generate"].key]
        number = start_round(self._store, engine.identity, fresh=self._fresh and engine not in self._started)
        self._started.append(engine)
        chunks: list[Chunk] = []
        parts: list[tuple[list[Hits], list[Hits]]] = []
        asked: list[Query] = []
        written: list[Answered] = []
        answers: list[Answered] = []
        for place, given in enumerate(self._blocks):
            self._tell(name, place * BLOCK, len(self._data.queries))
            self._follow.block(place * BLOCK, len(given))
            self._follow.at("query")
            block, texts = self._rewrite(choices["query"], given)
            self._follow.at("retrieve")
            found = search_block(engine, block, choices["retrieve"].size, self._store, number)
            own, first = found.chunks(self._texts), found.hits()
            if self._made[choices["rerank"].key] is not None:
                need_texts(own, "rerank")
            self._follow.at("rerank")
            hits = self._rerank(choices["rerank"], found.key, first, own, block)
            hits = [replace(one, reason=before.reason) for one, before in zip(hits, first, strict=True)]
            if generator is not None:
                need_texts(own, "generate")
            self._follow.at("generate")
            if generator is not None:
                answers += self._answer(choices["generate"], hits, own, given)
            asked, written = [*asked, *block], [*written, *texts]
            parts.append((shift(first, len(chunks)), shift(hits, len(chunks))))
            chunks += own
        self._tell(name, len(self._data.queries), len(self._data.queries))
        first, hits = [one for part, _ in parts for one in part], [one for _, part in parts for one in part]
        return Execution(
            combination, run=self._as_run(name, hits, chunks), chunks=chunks, hits=hits,
            samples=self._as_samples(choices["generate"], hits, answers, chunks) if generator is not None else None,
            work=self._work(choices, written, first, hits, answers), queries=asked, faults=_faults(hits, answers),
            engine=True,
        )  # fmt: skip

    # Stages -----------------------------------------------------------------------------------------------------------

    def _chunks(self, choice: StageChoice) -> tuple[str, list[Chunk]]:
        chunker = self._made[choice.key]
        key = key_of("chunk", chunker.identity, choice.method, dict(choice.params), self._documents_key)
        size = len(self._data.documents)
        self._follow.reach("chunk", size * (key in self._chunked), size)
        if key not in self._chunked:
            self._chunked[key] = self._store.values(
                "chunk", key, lambda: ([list(c) for c in self._cut(chunker)], True), _read_chunks, self._check_chunks
            )
        if not self._chunked[key]:
            raise InputError(say("the chunker made no chunks"), path=choice.place)
        self._follow.reach("chunk", size, size)
        return key, self._chunked[key]

    def _cut(self, chunker: chunkers.Chunker) -> list[Chunk]:
        return chunkers.cut(chunker, self._data.documents)

    def _check_chunks(self, found: Sequence[Chunk]) -> None:
        """Raise ValueError or KeyError if chunks are not all pieces of the documents, or none were kept."""
        for chunk in found:
            if not chunk.text or chunk.text != self._texts[chunk.doc_id][chunk.start : chunk.end]:
                raise ValueError("a chunk that is no piece of its document")
        if len({chunk.id for chunk in found}) != len(found) or (self._texts and not found):
            raise ValueError("a chunk is lacking, or there twice")

    def _rewrite(self, choice: StageChoice, block: Sequence[Query]) -> tuple[list[Query], list[Answered]]:
        """The queries after rewriting, and the cost of rewriting, if any."""
        rewriter = self._made[choice.key]
        if rewriter is None:
            return list(block), []
        if not rewriter.works:
            return [Query(query.id, rewriter.rewrite(query)) for query in block], []

        def compute() -> tuple[list[Any], bool]:
            rows = []
            for query in block:
                done = self._time_query(key_of(rewriter.identity), query, partial(rewriter.rewrite, query))
                rows.append(Answered(done.found, "", done.ms, **done.spent(), cached=done.account.cached))
            return [row.to_json() for row in rows], True

        key = key_of("query", rewriter.identity, [list(query) for query in block])
        found = self._store.values("query", key, compute, partial(_read_answers, len(block)))
        return [Query(query.id, one.text or "") for query, one in zip(block, found, strict=True)], found

    def _retrieve(
        self, choice: StageChoice, chunks_key: str, chunks: Sequence[Chunk], block: Sequence[Query]
    ) -> tuple[str, list[Hits]]:
        retriever = self._made[choice.key]
        asked = [list(query) for query in block]
        if not retriever.parts:
            key = key_of("search", retriever.identity, chunks_key, choice.size, asked)
            ask = partial(_search_in, retriever, chunks, choice.size)
            return key, self._find(key, block, lambda: ask, (key_of(retriever.identity, chunks_key), len(chunks)))
        lists, keys = [], []
        for part in retriever.parts:
            index_key = key_of("index", part.identity, chunks_key)
            key = key_of("search", index_key, choice.size, asked, getattr(part, "prices", None))
            ready = self._searching(part, index_key, chunks, choice.size)
            lists.append(self._find(key, block, ready, (index_key, len(chunks))))
            keys.append(key)
        if len(lists) == 1:
            return keys[0], lists[0]
        key = key_of("fuse", retriever.identity, choice.size, keys)

        def compute() -> tuple[list[Any], bool]:
            return [_fuse(retriever, row, choice.size).to_json() for row in zip(*lists, strict=True)], True

        return key, self._store.values("fuse", key, compute, partial(_read_hits, len(block), len(chunks)))

    def _searching(
        self, part: Indexer, index_key: str, chunks: Sequence[Chunk], k: int
    ) -> Callable[[], Callable[[Query], Ranked]]:
        return lambda: partial(_search, self._index(part, index_key, chunks), k)

    def _find(
        self, key: str, block: Sequence[Query], ready: Callable[[], Callable[[Query], Ranked]], told: tuple[str, int]
    ) -> list[Hits]:
        source, count = told

        def compute() -> tuple[list[Any], bool]:
            rows, search = [], ready()
            for query in block:
                done = self._time_query(source, query, partial(search, query))
                numbers, scores = done.found
                rows.append(Hits(tuple(numbers), tuple(scores), done.ms, **done.spent(), cached=done.account.cached))
            return [row.to_json() for row in rows], True

        return self._store.values("search", key, compute, partial(_read_hits, len(block), count))

    def _time_query(self, source: str, query: Query, work: Callable[[], T]) -> Timed[T]:
        """Time one query's work, without what the first call of a source loads.

        A server is not asked twice: that would be paid for, and a cache would give the second reply.
        """
        with _errors_of(query):
            done = time_work(work)
            self._follow.step()
            if source in self._warm:
                return done
            self._warm.add(source)
            return done if done.remote else time_work(work)

    def _index(self, part: Indexer, key: str, chunks: Sequence[Chunk]) -> Index:
        if key in self._indexes:
            self._indexes.move_to_end(key)
            return self._indexes[key]
        kept = self._store.load_folder(
            "index", key, lambda folder: (part.load(folder, len(chunks)), _read_trace(folder))
        )
        if kept is None:
            shown = partial(self._tell, say("experiment.indexing", method=part.identity["method"]))
            tell = keep_counting(self._follow, "index", shown)
            tell(0, len(chunks))
            self._warm_up(part)
            index, seconds, peak = measure_work(lambda: part.build(chunks, tell))

            def fill(folder: Path) -> None:
                self._traces[key] = _keep_index(index, folder, seconds, (len(chunks), peak))

            self._store.keep_folder("index", key, fill)
        else:
            index, self._traces[key] = kept
        self._follow.reach("index", len(chunks), len(chunks))
        self._follow.at("retrieve")
        self._indexes[key] = index
        while len(self._indexes) > _INDEXES:
            self._indexes.popitem(last=False)
        return index

    def _warm_up(self, part: Indexer) -> None:
        """Build an index of one sentence, once, so that loading is not counted in the cost of the first index.

        A server is not asked: that would be paid for.
        """
        source = key_of("build", part.identity)
        if source not in self._warm and not getattr(part, "prices", None):
            self._warm.add(source)
            with suppress(Exception):  # what is wrong shows when the index is built
                part.build([Chunk("warm", "warm", _SENTENCE, 0, len(_SENTENCE))])

    def _rerank(
        self, choice: StageChoice, key: str, found: list[Hits], chunks: Sequence[Chunk], block: Sequence[Query]
    ) -> list[Hits]:
        reranker = self._made[choice.key]
        if reranker is None:
            return found
        new = key_of("rerank", reranker.identity, choice.size, key)

        def compute() -> tuple[list[Any], bool]:
            rows, told = [], []
            for query, hits in zip(block, found, strict=True):
                texts = [chunks[number].text for number in hits.chunks[: choice.size]]
                if not texts:
                    rows.append(reorder(hits, None, 0.0))
                    continue
                score = partial(fresh_score, reranker, query.text, texts)
                done = self._time_query(key_of(reranker.identity), query, score)
                told.append(done.found)
                rows.append(apply_scores(hits, done))
            check_answered(told)
            return [row.to_json() for row in rows], not any(row.faults for row in rows)

        return self._store.values("rerank", new, compute, partial(_read_hits, len(block), len(chunks)))

    def _answer(
        self, choice: StageChoice, found: list[Hits], chunks: Sequence[Chunk], block: Sequence[Query]
    ) -> list[Answered]:
        generator = self._made[choice.key]
        shown = [[chunks[number].text for number in hits.chunks[: choice.size]] for hits in found]
        # What the generator sees, not how it was made: the order after a failed rerank call must not be reused.
        key = key_of("generate", generator.identity, [query.text for query in block], shown)

        def compute() -> tuple[list[Any], bool]:
            rows = []
            for query, texts in zip(block, shown, strict=True):
                with _errors_of(query):
                    done = time_work(partial(generator.answer, query.text, texts))
                self._follow.step()
                took = {"ms": done.ms, **done.spent(done.found), "cached": done.account.cached}
                rows.append({**done.found.to_json(), **took})
            return rows, not any(row["reason"] in _PASSING for row in rows)

        return self._store.values("generate", key, compute, partial(_read_answers, len(block)))

    # What comes out ---------------------------------------------------------------------------------------------------

    def _as_run(self, name: str, hits: Sequence[Hits], chunks: Sequence[Chunk]) -> Run:
        rows = [
            (query.id, chunks[number].doc_id, chunks[number].id, score)
            for query, one in zip(self._data.queries, hits, strict=True)
            for number, score in zip(one.chunks, descending(one.scores), strict=True)
        ]
        schema = {"query_id": pl.String, "doc_id": pl.String, "chunk_id": pl.String, "score": pl.Float64}
        pairs = zip(self._data.queries, hits, strict=True)
        empty = tuple(query.id for query, one in pairs if not one.chunks and not one.reason)  # a failure is missing
        return Run(pl.DataFrame(rows, schema=schema, orient="row"), name, empty=empty)

    def _as_samples(
        self, choice: StageChoice, hits: Sequence[Hits], answers: Sequence[Answered], chunks: Sequence[Chunk]
    ) -> Samples:
        rows = []
        for query, one, answer in zip(self._data.queries, hits, answers, strict=True):
            shown = [chunks[number] for number in one.chunks[: choice.size]]
            rows.append(
                Sample(
                    query.id, query.text, answer.text, tuple(Context(chunk.text, chunk.id) for chunk in shown),
                    references=self._data.references.get(query.id, ()),
                    context_ids=tuple(chunk.id for chunk in shown),
                    faults={"answer": word("call", answer.reason)} if answer.text is None else {},
                )
            )  # fmt: skip
        return Samples(tuple(rows))

    def _work(
        self, choices: Mapping[Any, StageChoice], written: Sequence[Answered], first: Sequence[Hits],
        hits: Sequence[Hits], answers: Sequence[Answered],
    ) -> dict[str, list[Work]]:  # fmt: skip
        found = {"query": list(map(Work.of, written))} if written else {}
        found["retrieve"] = list(map(Work.of, first))
        if self._made[choices["rerank"].key] is not None:
            found["rerank"] = list(map(Work.of, hits))
        if answers:
            found["generate"] = list(map(Work.of, answers))
        return found

    def _trace(self, choice: StageChoice, chunks_key: str, chunks: Sequence[Chunk]) -> IndexTrace | None:
        traces = []
        for part in self._made[choice.key].parts:
            key = key_of("index", part.identity, chunks_key)
            traces.append(self._trace_part(part, key, chunks))
        if not traces:
            return None
        return IndexTrace(
            sum(one.build_seconds for one in traces), traces[0].chunks, sum(one.bytes for one in traces),
            max(one.peak_memory_bytes for one in traces),
        )  # fmt: skip

    def _trace_part(self, part: Indexer, key: str, chunks: Sequence[Chunk]) -> IndexTrace:
        """The stored cost of an index; an index without a readable one is built again."""
        if key not in self._traces:
            kept = self._store.load_folder("index", key, _read_trace, only=["trace.json"])
            if kept is None:
                self._indexes.pop(key, None)
                self._index(part, key, chunks)
            else:
                self._traces[key] = kept
        return self._traces[key]


def _blocks_of(queries: Sequence[Query]) -> list[Sequence[Query]]:
    return [queries[start : start + BLOCK] for start in range(0, len(queries), BLOCK)]


def _without_answer(samples: Samples) -> Samples:
    """The same samples, which say that a refusal is right."""
    return Samples(tuple(replace(one, others={**one.others, "answerable": False}) for one in samples))


def _search(index: Index, k: int, query: Query) -> Ranked:
    return index.search(query, k)


def _search_in(retriever: Any, chunks: Sequence[Chunk], k: int, query: Query) -> Ranked:
    found: Ranked = retriever.search_in(chunks, query, k)
    return found


def _fuse(retriever: Any, lists: Sequence[Hits], k: int) -> Hits:
    start = time.perf_counter()
    numbers, scores = retriever.fuse([(list(one.chunks), list(one.scores)) for one in lists], k)
    ms = 1000 * (time.perf_counter() - start) + sum(one.ms for one in lists)
    money: float | None = 0.0
    for one in lists:
        money = add_money(money, one.money)
    return Hits(
        tuple(numbers), tuple(scores), ms, sum(one.tokens for one in lists), money,
        cached=any(one.cached for one in lists), estimated=any(one.estimated for one in lists),
        money_estimated=any(one.money_estimated for one in lists), output_tokens=add_output_tokens(lists),
    )  # fmt: skip


class _errors_of:  # noqa: N801 - reads as words: with _errors_of(query)
    """Add the query to any error that a stage raises."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            text = error.message if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"[:300]
            raise InputError(say("query {id}: {text}", id=self._query.id, text=text)) from error


def _keep_index(index: Index, folder: Path, seconds: float, sizes: tuple[int, int]) -> IndexTrace:
    """Save an index with its cost."""
    import json

    index.save(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    trace = IndexTrace(seconds, sizes[0], size, sizes[1])
    (folder / "trace.json").write_text(json.dumps(asdict(trace)), encoding="utf-8")
    return trace


def _read_trace(folder: Path) -> IndexTrace:
    import json

    found = IndexTrace(**json.loads((folder / "trace.json").read_text(encoding="utf-8")))
    if not all(isinstance(value, float | int) and value >= 0 for value in asdict(found).values()):
        raise ValueError("a number of the trace is none")
    return found


def _read_chunks(plain: Any) -> list[Chunk]:
    return [Chunk(*row) for row in plain]


def _read_hits(queries: int, chunks: int, plain: Any) -> list[Hits]:
    """Hits of the kept rows: one for each query, of chunks that there are."""
    found = [Hits.from_json(row) for row in plain]
    if len(found) != queries or any(max(hits.chunks, default=0) >= chunks for hits in found):
        raise ValueError("hits of other queries or chunks")
    return found


def _read_answers(queries: int, plain: Any) -> list[Answered]:
    """Answers of the kept rows, one for each query."""
    found = [Answered.from_json(row) for row in plain]
    if len(found) != queries:
        raise ValueError("answers to other queries")
    return found


def _faults(hits: Sequence[Hits], answers: Sequence[Answered]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in hits:
        found.update(one.faults)
    found.update(one.reason for one in hits if one.reason)
    found.update(answer.reason for answer in answers if answer.reason)
    return dict(found)


def total(work: Sequence[Work]) -> tuple[int, float | None]:
    """Tokens and money of some queries together."""
    money: float | None = 0.0
    for one in work:
        money = add_money(money, one.money)
    return sum(one.tokens for one in work), money
