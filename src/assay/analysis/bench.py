"""Measure how fast a target answers and how many calls it can take: latency and throughput under several loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.analysis.latency import summarise
from assay.analysis.limits import check_limits, check_loads
from assay.analysis.load_warnings import find_load_warnings
from assay.analysis.pace import find_capacity
from assay.analysis.protocols import load_protocol
from assay.analysis.stage_targets import PREFIX, stage_target
from assay.errors import UsageError
from assay.formats.app_settings import AppSettings
from assay.messages import Said, say
from assay.results.bench import Bench, Load
from assay.serving.applications import AppTarget, app_target
from assay.serving.endpoints import Endpoint
from assay.serving.loops import run
from assay.serving.records import LoadPlan
from assay.serving.targets import target_of
from assay.stats.inputs import check_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.protocol import Target
    from assay.serving.records import Arrivals, Clock, LoadTarget, Passing, Timing

    Watch = Callable[["LoadStep"], Callable[[int, float], None]]

CANDIDATES = (20, 50, 100, 200)
THROUGHPUT_THREADS, THROUGHPUT_SECONDS = (1, 4), 60.0
_MOST_CALLS_READY = 1000
_MOST_TEXTS_READY = 2_000_000  # in the lists of all of them
_AT_ONCE = 64  # concurrent calls of an open loop when the target has workers of its own


@dataclass(frozen=True)
class LoadStep:
    """A load that is about to run."""

    number: int
    of: int
    candidates: int | None
    plan: LoadPlan


def bench(
    target: Any,
    *,
    runs: int | None = None,
    seconds: float | None = None,
    threads: int | Sequence[int] | None = None,
    rate: float | Sequence[float] | None = None,
    arrivals: Arrivals = "constant",
    candidates: int | Sequence[int] | None = None,
    queries: Sequence[str] | None = None,
    documents: Sequence[str] | None = None,
    warmup: int = 5,
    timeout: float = 30.0,
    method: str = "",
    bodies: Sequence[Any] = (),
    headers: Mapping[str, Any] | None = None,
    passing: Passing | None = None,
    app: Mapping[str, Any] | None = None,
    label: str = "",
    confidence_level: float = 0.95,
    seed: int = 0,
    throughput: bool = False,
    stream: bool = False,
    ramp: bool = False,
    limits: Mapping[str, float] | None = None,
    max_errors: float = 0.0,
    clock: Clock | None = None,
    watch: Watch | None = None,
) -> Bench:
    """Measure a function, a command (a list of words) or an address: 100 calls unless `runs` or `seconds` are given.

    With `throughput`, 1 and 4 threads for 60 seconds each, unless said otherwise.

    Every combination of `candidates`, `threads` and `rate` is a load of its own; a `rate` (calls a second) makes an
    open loop; with `ramp`, higher rates are left out after one that it does not keep up with. The text `rerank:METHOD`
    is a reranker of the pipeline. Without `queries` and `documents` the texts of the bundled collection are used. With
    `stream`, the answers of an address or the items of a generator are timed token by token. With `app`, the target is
    an application for questions and these are its settings: a reply without an answer is a failed call.

    `limits` has the largest values of numbers of a load (`Load.figures`: p95, first_token_p95 ...), `max_errors` the
    largest share of calls that may fail; `Bench.checks` and `Bench.verdict` have the outcome.

    >>> import assay
    >>> found = assay.bench(lambda: None, runs=20, warmup=0)
    >>> found.loads[0].count
    20
    """
    if isinstance(target, str) and target.startswith(PREFIX):
        label, target = target, stage_target(target)
    if app is not None:
        settings = AppSettings.of(app)
        settings = replace(settings, stream=settings.stream or stream)
        found, stream = app_target(target, settings, timeout=timeout, headers=headers or {}), settings.stream
    else:
        found = target_of(
            target, label=label, method=method, bodies=bodies, headers=headers, passing=passing, timeout=timeout,
            with_candidates=candidates is not None, stream=stream,
        )  # fmt: skip
    check_share(confidence_level, "confidence_level")
    check_limits(limits or {}, max_errors, stream=stream)
    if throughput:
        threads = THROUGHPUT_THREADS if threads is None else threads
        seconds = THROUGHPUT_SECONDS if seconds is None and runs is None else seconds
    runs = 100 if runs is None and seconds is None else runs
    plan = LoadPlan(runs=runs, seconds=seconds, arrivals=arrivals, warmup=warmup, timeout=timeout, seed=seed)
    sizes = _sizes(found, candidates)
    steps = _steps(plan, sizes, _threads(found, threads, rate), _as_list(rate))
    texts, source = _texts(found, queries, documents)
    loads: list[Load] = []
    timings: list[Timing] = []
    for step in steps:
        if ramp and _is_too_fast(step, loads):
            continue
        calls = found.prepare(_pairs(texts, step.candidates or 0, limit=step.plan.limit))
        progress = None if watch is None else watch(step)
        timing = run(step.plan, found, calls, clock=clock, progress=progress)
        timings.append(timing)
        loads.append(summarise(timing, candidates=step.candidates, confidence_level=confidence_level))
        if timing.interrupted:
            break
    warnings = _merge_warnings(loads, [find_load_warnings(*pair) for pair in zip(loads, timings, strict=True)])
    checks = tuple(check_loads(loads, limits or {}, max_errors))
    return Bench(
        found.label, tuple(loads), warnings, confidence_level, source, interrupted=timings[-1].interrupted,
        goal=latency_goal(loads), checks=checks, capacity=find_capacity(loads),
    )  # fmt: skip


def ramp_rates(first: float, last: float, stages: int) -> list[float]:
    """Rates from the first to the last, each a constant multiple of the one before.

    >>> ramp_rates(5, 80, 5)
    [5.0, 10.0, 20.0, 40.0, 80.0]
    """
    if not 0 < first < last < float("inf") or stages < 2:  # noqa: PLR2004
        raise UsageError(say("a ramp goes from a rate above 0 to a higher one in 2 stages or more, such as 5:80x5"))
    step = (last / first) ** (1 / (stages - 1))
    return [float(f"{first * step**number:.6g}") for number in range(stages)]


def _is_too_fast(step: LoadStep, loads: Sequence[Load]) -> bool:
    """Return whether the same load at a lower rate was already too much for the target."""
    return any(
        not load.keeps_up and load.candidates == step.candidates and load.threads == step.plan.threads
        and (load.rate or 0.0) < (step.plan.rate or 0.0)
        for load in loads
    )  # fmt: skip


def latency_goal(loads: Sequence[Load]) -> Target | None:
    """The P95 target of the rerankers' protocol, if calls had candidates to rank."""
    if not any(load.candidates is not None for load in loads):
        return None
    return next((target for target in load_protocol("rerank").targets if target.measure == "latency_p95"), None)


def check_answered(found: Bench) -> None:
    """Raise an error that says how calls failed if none succeeded."""
    if any(load.count for load in found.loads):
        return
    errors = {kind: n for load in found.loads for kind, n in load.errors.items()}
    said = [text for load in found.loads for text in load.examples.values() if text]
    counted = [f"{kind} {n}" for kind, n in errors.items()] or [say("bench.none_made")]
    raise UsageError(
        say("bench.no_call_because", counted=counted, why=said[0]) if said else say("bench.no_call", counted=counted)
    )


def _merge_warnings(loads: Sequence[Load], warnings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Merge warnings: one that holds for all loads is given once, others name their load."""
    everywhere = {text for text in warnings[0] if all(text in others for others in warnings)}
    found = [text for text in warnings[0] if text in everywhere]
    for load, texts in zip(loads, warnings, strict=True):
        found += [say("doubt.of_one", system=load_name(load), text=text) for text in texts if text not in everywhere]
    return tuple(found)


def load_name(load: Load) -> list[Said]:
    """Return the name of a load."""
    name = [] if load.candidates is None else [say("load.candidates", n=load.candidates)]
    name.append(say("load.threads", n=load.threads))
    return name if load.rate is None else [*name, say("loop.open", rate=load.rate)]


def _as_list(given: Any) -> list[Any]:
    return [None] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]


def _sizes(target: LoadTarget, candidates: int | Sequence[int] | None) -> list[int | None]:
    if target.takes != "candidates":
        if candidates is not None:
            raise UsageError(
                say("{label} takes no documents, so leave out the numbers of candidates", label=target.label)
            )
        return [None]
    sizes = list(CANDIDATES) if candidates is None else _as_list(candidates)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise UsageError(say("the numbers of candidates must be whole numbers, 1 or more, not {sizes}", sizes=sizes))
    return sizes


def _threads(target: LoadTarget, threads: int | Sequence[int] | None, rate: Any) -> list[int]:
    if threads is not None:
        return _as_list(threads)
    elsewhere = target.is_async or isinstance(target, Endpoint | AppTarget)
    return [_AT_ONCE if rate is not None and elsewhere else 1]


def _steps(plan: LoadPlan, sizes: list[int | None], threads: list[int], rates: list[float | None]) -> list[LoadStep]:
    combined = [(size, many, rate) for size in sizes for many in threads for rate in rates]
    return [
        LoadStep(number, len(combined), size, replace(plan, threads=many, rate=rate))
        for number, (size, many, rate) in enumerate(combined)
    ]


def _texts(
    target: LoadTarget, queries: Sequence[str] | None, documents: Sequence[str] | None
) -> tuple[tuple[list[str], list[str]], str]:
    """Find queries and documents: those given, else the bundled ones."""
    if target.takes == "nothing":
        return ([""], []), ""
    bundled = queries is None or (documents is None and target.takes == "candidates")
    own, theirs = _demo_texts() if bundled else ([], [])
    found = list(own if queries is None else queries), list(theirs if documents is None else documents)
    if not found[0] or (not found[1] and target.takes == "candidates"):
        raise UsageError(say("there are no texts to send: queries and documents must not be empty"))
    return found, "bundled" if bundled else ""


def _demo_texts() -> tuple[list[str], list[str]]:
    from assay.demo import collection
    from assay.formats.documents import read_documents
    from assay.formats.queries import read_queries

    place = collection()
    return list(read_queries(place.queries_file).texts().values()), list(read_documents(place.documents_file).values())


def _pairs(texts: tuple[list[str], list[str]], size: int, *, limit: int) -> list[tuple[str, list[str]]]:
    """Pair every query with the number of documents asked for, a different part of them each time."""
    queries, documents = texts
    many = min(len(queries), limit, _MOST_CALLS_READY, max(1, _MOST_TEXTS_READY // max(1, size)))
    return [
        (query, [documents[(number * size + i) % len(documents)] for i in range(size)])
        for number, query in enumerate(queries[:many])
    ]
