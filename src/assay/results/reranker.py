"""What a reranker made of candidate lists: quality before and after, latency, tokens and money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from assay.data.record import Record, Value
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.comparison import Comparison, Reordering
from assay.results.parts import part

if TYPE_CHECKING:
    from assay.data.run import Run
    from assay.data.scores import Scores

    RunBehind = Run
else:
    RunBehind = Any  # a run has files of its own

_TAIL = 100  # queries below which the tail of latencies is not known
Setting = str | bool | int | float | None


@part("reranker")
@dataclass(frozen=True)
class RerankerEvaluation(Record):
    """Scores before and after, their comparison with the lift of each measure under its ceiling, and the latency.

    `latency_ms` has p50, p95, p99, mean and std of the queries, `ms` each of them, but for those whose replies came
    from a cache: their time is not known. `candidates` is how many texts were scored for each. `money` is None when
    the price is not known; `estimated` and `money_estimated` say that a server did not report its counts. `chosen`
    has the method and the parameters of a built-in reranker, as they were used. `run` has the reranked lists.
    """

    latency_ms: Mapping[str, float]
    ms: Mapping[str, float]
    candidates: Mapping[str, int]
    tokens: int
    money: float | None
    faults: Mapping[str, int]
    chosen: Mapping[str, Setting] = field(default_factory=dict)
    estimated: bool = False
    money_estimated: bool = False
    comparison: Comparison = field(default=cast("Comparison", None), compare=False, repr=False, metadata=UNSTORED)
    run: RunBehind = field(default=cast("RunBehind", None), compare=False, repr=False, metadata=UNSTORED)
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    @property
    def before(self) -> Scores:
        """Scores of the candidates as they were."""
        return self.scores[0]

    @property
    def after(self) -> Scores:
        """Scores of the reranked lists."""
        return self.scores[1]

    @property
    def too_few_for_p99(self) -> bool:
        """Return whether P99 is nearly the slowest query."""
        return len(self.ms) < _TAIL

    @property
    def mean_candidates(self) -> float:
        """How many texts were scored for a query, on average."""
        return sum(self.candidates.values()) / len(self.ms) if self.ms else 0.0

    @property
    def lifts(self) -> tuple[Reordering, ...]:
        """The lift of each measure, under the ceiling that the candidates allow."""
        return self.comparison.lifts

    def models(self) -> dict[str, str]:
        """The model or the embedder of the reranker, where it has one."""
        return {f"rerank {kind}": str(self.chosen[kind]) for kind in ("model", "embedder") if self.chosen.get(kind)}

    def beside(self) -> tuple[Record, ...]:
        """The comparison of both."""
        return (self.comparison,)

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per measure: before, after, and what is shown about the difference."""
        return list(self.comparison.to_rows())
