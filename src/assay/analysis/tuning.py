"""Search the weights and parameters of a fusion on training queries, and report on the others."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.analysis.evaluate import evaluate_run
from assay.analysis.settings import Settings, need_subtopics
from assay.data.run import Run
from assay.errors import InputError, UsageError, excerpt
from assay.formats.conversion import as_judgments
from assay.fusion.fuse import Fusion, check_sizes, drop_zero_weights, fuse_lists, name_runs, rank_lists
from assay.fusion.methods import method_of, methods_with
from assay.fusion.overlay import lay_out
from assay.measures import defaults
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Protocol
    from assay.fusion.fuse import Unlisted, Weights
    from assay.fusion.overlay import Lists, Overlay, Ties
    from assay.measures import Measure

_STEPS = {2: 20, 3: 10}  # of the weights' grid, by number of runs; more runs are searched one by one
_MOVES = 10
_ROUNDS = 5
_DIGITS = 4
_EVEN = 1e-12  # values that differ by less are equal, and the plainer setting is kept


@dataclass(frozen=True)
class Trial:
    """A way to rank with its mean over training queries, on which it was chosen, and over held-out ones."""

    label: str
    training: float
    held_out: float


@dataclass(frozen=True, eq=False)
class Tuned:
    """The fusion that did best on training queries: the result is what it reaches on held-out ones.

    `run` is the fused run of all queries; `tried` counts the settings that were looked at.
    """

    fusion: Fusion
    names: tuple[str, ...]
    measure: str
    protocol: Protocol
    tuned: Trial
    equal: Trial
    single: Trial
    training_ids: tuple[str, ...]
    held_out_ids: tuple[str, ...]
    tried: int
    run: Run
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, float]:
        """Weight of every run; empty for methods without weights."""
        return dict(zip(self.names, self.fusion.weights or (), strict=bool(self.fusion.weights)))

    @property
    def has_gain(self) -> bool:
        """Return whether tuning did better on held-out queries than equal weights and the best single run."""
        return self.tuned.held_out > max(self.equal.held_out, self.single.held_out)


def tune_fusion(
    judgments: Any,
    runs: Sequence[Any] | Mapping[str, Any],
    measure: str | Measure = defaults.SINGLE,
    *,
    method: str = "weighted",
    norm: str | None = None,
    train: float | Collection[str] = 0.5,
    seed: int = 0,
    weights: Weights | None = None,
    depth: int | None = None,
    top: int | None = 1000,
    ties: Ties = "docid",
    unlisted: Unlisted = "lowest",
    dedupe: bool = False,
    name: str | None = None,
    protocol: str | Protocol = "trec",
    min_relevance: float | Literal["positive"] | None = None,
    **params: float,
) -> Tuned:
    """Search weights (and k, phi or nu) that maximise a measure on training queries, and report on the others.

    `train` is the share of judged queries, drawn with `seed`, or the ids themselves. Weights or parameters that are
    given stay as they are. Two runs are searched in steps of 0.05, three in steps of 0.1, more one after the other.

    >>> import assay
    >>> judgments = {f"q{i}": {"a": 1} for i in range(8)}
    >>> good, bad = ({query: {"a": a, "b": 1.0} for query in judgments} for a in (2.0, 0.0))
    >>> assay.tune_fusion(judgments, {"good": good, "bad": bad}, "mrr").tuned.held_out
    1.0
    """
    judged = as_judgments(judgments, subtopics=need_subtopics([measure], protocol), dedupe=dedupe)
    given_order = "given" if ties == "given" else None
    settings = Settings.of(judged, [measure], protocol, min_relevance=min_relevance, ties=given_order)
    if next(iter(settings.measures.values())).spec.lower_is_better:
        raise UsageError(
            say(
                "{measure} is better when it is lower: tune on a measure that is better when it is higher",
                measure=str(measure),
            )
        )
    given = name_runs(runs)
    names = [run.name for run in given]
    start = _start(method, norm, weights, names, unlisted=unlisted, params=params)
    check_sizes(depth=depth, top=top, ties=ties)
    train_ids, test_ids, notes = split(judged, train, seed)
    lists = lay_out(given, ties=ties, depth=depth, dedupe=dedupe)
    training = Part(judged, settings, train_ids, dedupe=dedupe)
    held_out = Part(judged, settings, test_ids, dedupe=dedupe)
    search = _Search(lists.only(queries=lists.query_ids.is_in(list(train_ids)).to_numpy()), training, top)
    equal = start if weights is not None else replace(start, weights=_equal(start, len(given)))
    best = search.run(equal, weights=weights is None, fixed=params)
    name = name or f"{start.method.name}-tuned"
    fused = fuse_lists(lists, best, top=top, name=name, notes=[note for run in given for note in run.notes])
    plain = fuse_lists(lists, equal, top=top, name="equal")
    single = max(given, key=training.value)
    return Tuned(
        fusion=best,
        names=tuple(names),
        measure=next(iter(settings.measures)),
        protocol=settings.protocol,
        tuned=Trial(say("tuned"), training.value(fused), held_out.value(fused)),
        equal=Trial(_plain_label(equal), training.value(plain), held_out.value(plain)),
        single=Trial(say("best single run: {run}", run=single.name), training.value(single), held_out.value(single)),
        training_ids=train_ids,
        held_out_ids=test_ids,
        tried=len(search.seen),
        run=fused,
        notes=(*settings.notes, *judged.notes, *notes),
    )


def split(
    judgments: Judgments, train: float | Collection[str], seed: int = 0
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Split the judged queries into training and held-out ones, at random or by their ids; notes come third."""
    ids = sorted({*judgments.query_ids, *judgments.empty})
    if isinstance(train, (int, float)):
        if not 0 < train < 1:
            raise UsageError(say("train = {train:g}: expected a share between 0 and 1, as in 0.5", train=train))
        drawn = np.random.default_rng(seed).permutation(len(ids))[: round(train * len(ids))]
        chosen, lost = {ids[i] for i in drawn}, []
    elif isinstance(train, str) or not isinstance(train, Collection):
        raise UsageError(say("train must be a share, as in 0.5, or the ids of the training queries"))
    else:
        chosen = {str(query) for query in train} & set(ids)
        lost = sorted({str(query) for query in train} - chosen)
    if not chosen or len(chosen) == len(ids):
        raise InputError(
            say("the split leaves none of {n} judged queries to report on", n=len(ids))
            if chosen
            else say("the split leaves none of {n} judged queries for training", n=len(ids)),
            hint=say("change --train"),
        )
    notes = [say("evaluate.training_unjudged", n=len(lost), query=excerpt(lost[0]))] if lost else []
    return tuple(q for q in ids if q in chosen), tuple(q for q in ids if q not in chosen), tuple(notes)


class Part:
    """Some of the judged queries, and the mean that a run reaches on them."""

    def __init__(self, judgments: Judgments, settings: Settings, ids: Sequence[str], *, dedupe: bool) -> None:
        mine = set(ids)
        self.ids = pl.Series(ids, dtype=pl.String).implode()
        frame = judgments.frame.filter(pl.col("query_id").is_in(self.ids))
        self.judgments = replace(judgments, rows=frame, empty=tuple(q for q in judgments.empty if q in mine))
        self.settings, self.dedupe = settings, dedupe

    def value(self, run: Run) -> float:
        """Mean of the measure over these queries; 0 for a run that has none of them."""
        kept = run.frame.filter(pl.col("query_id").is_in(self.ids))
        if not len(kept):
            return 0.0
        mine = replace(run, rows=kept, empty=())
        scores = evaluate_run(self.judgments, mine, self.settings, dedupe=self.dedupe)
        return scores[scores.labels[0]]


@dataclass
class _Search:
    """The search itself: settings that were tried on the training lists, and their values."""

    lists: Lists
    part: Part
    top: int | None
    seen: dict[tuple[Any, ...], float] = field(default_factory=dict)
    laid: dict[tuple[str, ...], list[Overlay]] = field(default_factory=dict)

    def run(self, start: Fusion, *, weights: bool, fixed: Mapping[str, float]) -> Fusion:
        """Search the parameter, then the weights, then the parameter again."""
        loose = {name: tried for name, tried in start.method.tried.items() if name not in fixed}
        free = weights and start.weights is not None and len(self.lists.names) > 1
        if not loose and not free:
            raise UsageError(
                say(
                    "{method} has nothing left to tune: {reason}",
                    method=start.method.name,
                    reason=_why_nothing(start),
                )
            )
        best = start
        for turn in ("parameter", "weights", "parameter"):
            if turn == "parameter":
                best = self.best(best, _params(best, loose))
            elif free:
                best = self.weigh(best)
        return best

    def weigh(self, best: Fusion) -> Fusion:
        """Search the weights: all of a grid for two or three runs, else one run after the other."""
        size = len(self.lists.names)
        if size in _STEPS:
            return self.best(best, (replace(best, weights=found) for found in _grid(size, _STEPS[size])))
        for _ in range(_ROUNDS):
            before = best
            for i in range(size):
                best = self.best(best, (replace(best, weights=found) for found in _moves(best.weights or (), i)))
            if best == before:
                break
        singles = (replace(best, weights=tuple(float(i == j) for j in range(size))) for i in range(size))
        return self.best(best, singles)

    def best(self, best: Fusion, others: Iterable[Fusion]) -> Fusion:
        """Return the best setting, the first of equals."""
        value = self.value(best)
        for other in others:
            found = self.value(other)
            if found > value + _EVEN:
                best, value = other, found
        return best

    def value(self, fusion: Fusion) -> float:
        """Mean of the measure on the training queries."""
        key = (fusion.weights, *fusion.params.values())
        if key not in self.seen:
            lists, working, _ = drop_zero_weights(self.lists, fusion)
            if lists.names not in self.laid:
                self.laid[lists.names] = list(lists.overlays())
            frame, _ = rank_lists(lists, working, self.laid[lists.names], self.top)
            self.seen[key] = self.part.value(Run(frame))
        return self.seen[key]


def _start(method: str, norm: str | None, weights: Weights | None, names: Sequence[str], **rest: Any) -> Fusion:
    """Check the settings; weights that are still to be found are equal."""
    if weights is None and method_of(method).weights == "must":
        weights = [1 / len(names)] * len(names)
    return Fusion.of(method, norm, weights, names, **rest)


def _equal(fusion: Fusion, size: int) -> tuple[float, ...] | None:
    return None if fusion.method.weights == "no" else tuple([round(1 / size, _DIGITS)] * size)


def _plain_label(fusion: Fusion) -> str:
    words = [say("equal weights")] if fusion.weights is not None and len(set(fusion.weights)) == 1 else []
    parts = [*words, *(f"{key} = {value:g}" for key, value in fusion.params.items())]
    return say("{settings}", settings=parts) if parts else say("as given")


def _why_nothing(fusion: Fusion) -> str:
    if fusion.method.weights == "no" and not fusion.method.tried:
        able = methods_with(lambda one: one.weights != "no")
        return say("it has no weights or parameters, but {methods} do", methods=able)
    return say("everything is given already, or there is only one run")


def _params(fusion: Fusion, tried: Mapping[str, Sequence[float]]) -> Iterator[Fusion]:
    """Vary the parameters, the values nearest to the present ones first."""
    for name, values in tried.items():
        now = fusion.params[name]
        for value in sorted(values, key=lambda x: (abs(x - now), x)):
            yield replace(fusion, params={**fusion.params, name: float(value)})


def _grid(size: int, steps: int) -> list[tuple[float, ...]]:
    """List all weights in steps that sum to 1, the most even ones first."""
    found = (point for point in itertools.product(range(steps + 1), repeat=size) if sum(point) == steps)
    even = sorted(found, key=lambda point: (sum(part * part for part in point), point))
    return [tuple(round(part / steps, _DIGITS) for part in point) for point in even]


def _moves(weights: tuple[float, ...], which: int) -> list[tuple[float, ...]]:
    """Give one run every share from 0 to 1, the nearest to its present one first; the others keep their proportions."""
    rest = sum(weights) - weights[which]
    shares = sorted((i / _MOVES for i in range(_MOVES + 1)), key=lambda share: abs(share - weights[which]))
    others = [w / rest if rest else 1 / (len(weights) - 1) for w in weights]
    return [
        tuple(round(share if i == which else (1 - share) * part, _DIGITS) for i, part in enumerate(others))
        for share in shares
    ]
