"""Systems side by side: their means, the contrast of each with the baseline, and the decision on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.data.record import Record, Value
from assay.errors import AssayError, UnknownName, UsageError
from assay.lazy import public
from assay.messages import say
from assay.results.codec import UNSTORED, ScoresBehind
from assay.results.conclusion import Conclusion, Decision, PairTest, describe_best
from assay.results.parts import part
from assay.stats.intervals import Interval
from assay.stats.multiplicity import Correction

Family = Literal["systems", "all"]
Payment = Literal["above", "below", "open"]
Finding = Literal[
    "better",
    "worse",
    "equivalent",
    "inconclusive",
    "too_few",
    "too_few_by_weight",
    "unchanged_equivalent",
    "unchanged_inconclusive",
    "unchanged_unbounded",
]

LEAST_QUERIES = 10  # fewer, or weights that make them worth fewer, give no decision


@dataclass(frozen=True)
class Rules:
    """How a comparison decides.

    A difference below `smallest_effect` does not matter; `family` says which tests are corrected together: all systems
    of one measure, or everything; `worth` is the relative gain above which a reranker is taken to pay.
    """

    smallest_effect: float = 0.01
    alpha: float = 0.05
    correction: Correction = "holm"
    family: Family = "systems"
    interval: Literal["auto", "t", "bca"] = "auto"
    n_resamples: int = 10_000
    seed: int = 0
    worth: float = 0.15

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004
            raise UsageError(say("alpha = {alpha:g}: expected a number between 0 and 0.5", alpha=self.alpha))
        if not self.smallest_effect > 0:
            raise UsageError(
                say(
                    "smallest effect {smallest:g}: expected a number above 0",
                    smallest=self.smallest_effect,
                )
            )
        if self.seed < 0:
            raise UsageError(say("seed {seed}: expected a whole number, 0 or more", seed=self.seed))
        if self.n_resamples < 1:
            raise UsageError(say("{resamples} resamples: expected 1 or more", resamples=self.n_resamples))
        if not 0 <= self.worth < math.inf:
            raise UsageError(say("worth {worth:g}: expected a number, 0 or more", worth=self.worth))

    @property
    def confidence_level(self) -> float:
        """Level of all intervals."""
        return 1 - self.alpha

    def family_size(self, systems: int, measures: int) -> int:
        """The number of tests that are corrected together when this many systems are compared with a baseline."""
        if self.correction == "none":
            return 1
        return systems * measures if self.family == "all" else systems

    def strictest(self, systems: int, measures: int) -> float:
        """The level at which the first of these tests is made: alpha, divided by their number where it is corrected."""
        return self.alpha / self.family_size(systems, measures)

    def least_queries(self, reach: float) -> int:
        """How many queries without any difference it takes to call systems equivalent; `reach` is that of `decide`."""
        if self.smallest_effect >= reach:
            return LEAST_QUERIES
        return max(math.ceil(math.log(self.alpha) / math.log1p(-self.smallest_effect / reach)), LEAST_QUERIES)


@dataclass(frozen=True)
class Change:
    """One query: its value under the baseline and under the system."""

    query_id: str
    before: float
    after: float


@dataclass(frozen=True)
class Contrast:
    """One system against the baseline on one measure.

    `pvalue` is the permutation test's, `adjusted` corrected for the family. `detectable` is the smallest true
    difference that so many queries would detect 80% of the time at the level of the first of the tests that are
    corrected together. `at_least_smallest` says whether the whole interval lies beyond the smallest effect that
    matters. `effective_n` is the number of equally weighted queries that are worth as much, `too_few` that they are
    too few for a verdict. `reach` is the largest difference that a query can have, None for a measure without
    bounds; where no query differs, `limit` is the mean difference from which on the queries exclude it. `pays` says
    what is shown about the relative gain and the one from which a reranker pays; None where there is no such gain:
    the baseline is 0, or less is better.
    """

    system: str
    measure: str
    difference: Interval
    relative: Interval
    t_pvalue: float | None
    pvalue: float
    exact: bool
    adjusted: float
    effect_size: float | None
    superiority: float | None
    wins: int
    ties: int
    losses: int
    detectable: float | None
    effective_n: float
    too_few: bool
    reach: float | None
    limit: float | None
    verdict: Decision
    improves: bool
    at_least_smallest: bool
    pays: Payment | None
    gained: tuple[Change, ...]
    lost: tuple[Change, ...]

    @property
    def changes_nothing(self) -> bool:
        """Return whether no query differs."""
        return not self.wins and not self.losses

    def fails_by_correction(self, alpha: float) -> bool:
        """Return whether the difference would be shown if it were the only test, but is not after the correction."""
        return self.verdict == "inconclusive" and not self.too_few and self.pvalue <= alpha < self.adjusted

    def fails_by_tail(self, alpha: float) -> bool:
        """Return whether the test alone would show the difference, but queries that were not seen could undo it."""
        return self.verdict == "inconclusive" and not self.too_few and self.adjusted <= alpha

    def as_test(self, baseline: str, rules: Rules, tests: int) -> PairTest:
        """The same as a test of two, one of so many that are corrected together."""
        return PairTest(
            self.system, baseline, self.difference, self.pvalue, self.adjusted, self.verdict, rules.correction, tests,
            turned=self.fails_by_correction(rules.alpha), too_few=self.too_few,
        )  # fmt: skip

    @property
    def finding(self) -> Finding:
        """What came out: the verdict, or why there is none."""
        if self.too_few:
            return "too_few" if self.difference.n < LEAST_QUERIES else "too_few_by_weight"
        if not self.changes_nothing:
            return self.verdict
        if self.limit is None:
            return "unchanged_unbounded"
        return "unchanged_equivalent" if self.verdict == "equivalent" else "unchanged_inconclusive"

    def is_within(self, smallest: float) -> bool:
        """Return whether the whole interval lies below the smallest difference that matters."""
        low, high = self.difference.low, self.difference.high
        return low is not None and high is not None and -smallest < low and high < smallest


@dataclass(frozen=True)
class Pairs:
    """All pairs of systems on one measure by the randomised Tukey HSD; systems that share a letter do not differ."""

    measure: str
    pvalues: tuple[tuple[float, ...], ...]
    letters: tuple[str, ...]


@dataclass(frozen=True)
class Weight:
    """How uneven query weights are: the number of equal ones that are worth as much, the heaviest query, its share."""

    effective_queries: float
    heaviest: str
    share: float


_MOST = 0.5  # share of the queries


@dataclass(frozen=True)
class Likeness:
    """How much a system's lists are like the baseline's, averaged over queries.

    `from_candidates` is the share of its documents that the baseline's lists hold: 1 for a reranker. `reordered`
    is the share of queries for which it lists the same documents as the baseline, or fewer of them in another order; a
    list that only lost documents keeps their order.
    """

    system: str
    overlap: float
    k: int
    rbo: float
    from_candidates: float
    reordered: float = 1.0

    @property
    def reranks(self) -> bool:
        """Return whether the system lists documents of the baseline only, reordered for most queries."""
        return self.from_candidates == 1.0 and self.reordered > _MOST


@dataclass(frozen=True)
class Reordering:
    """Retrieved against reranked on one measure: the lift, and the ceiling that the candidates allow.

    `reached` is the share of the ceiling, `headroom` the share of the way from the baseline to it; `pays` says whether
    the relative gain is shown to be above the one from which a reranker pays, shown to be below it, or neither; None
    for measures that the rule does not cover.
    """

    system: str
    measure: str
    before: float
    after: float
    relative: Interval
    ceiling: float | None
    reached: float | None
    headroom: float | None
    pays: Payment | None


@part("comparison")
@dataclass(frozen=True)
class Comparison(Record):
    """Systems side by side: means with intervals, contrasts with the baseline, all pairs where asked for.

    `conclusions` say for each measure which system is best and what is shown about it. `weight` says how uneven the
    weights of queries are, where they have some, `clusters` how many clusters they are in. `likeness` and `lifts`
    are about the lists behind the scores, where those were available. `descriptions` say what systems are, such as
    the variants of an ablation. `scores` are what was compared.
    """

    baseline: str
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    queries: int
    rules: Rules
    means: Mapping[str, tuple[Interval, ...]]
    contrasts: tuple[Contrast, ...]
    pairs: tuple[Pairs, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    warnings: tuple[str, ...] = ()
    weight: Weight | None = None
    likeness: tuple[Likeness, ...] = ()
    lifts: tuple[Reordering, ...] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    clusters: int | None = None
    scores: ScoresBehind = field(default=(), compare=False, repr=False, metadata=UNSTORED)

    def __post_init__(self) -> None:
        if self.systems[:1] != (self.baseline,):
            raise ValueError(say("the baseline must be the first system"))
        if [one.measure for one in self.conclusions] not in ([], list(self.measures)):
            raise ValueError(say("there must be one conclusion on every measure"))
        sizes = {label: len(found) for label, found in self.means.items()}
        if sizes != dict.fromkeys(self.measures, len(self.systems)):
            raise ValueError(say("every system must have a mean of every measure"))
        wanted = {(name, label) for name in self.systems if name != self.baseline for label in self.measures}
        if {(one.system, one.measure) for one in self.contrasts} != wanted:
            raise ValueError(say("every system but the baseline must have a contrast on every measure"))
        if any(one.measure not in self.measures or len(one.letters) != len(self.systems) for one in self.pairs):
            raise ValueError(say("pairs must be of systems and measures that are compared"))

    @property
    def weighted(self) -> bool:
        """Return whether queries have weights."""
        return self.weight is not None

    @property
    def exact(self) -> bool:
        """Return whether nothing in it depends on random resamples."""
        return self.rules.interval != "bca" and not self.pairs and all(contrast.exact for contrast in self.contrasts)

    @property
    def protocol(self) -> str:
        """The protocol of what was compared; empty if unknown."""
        return str(self.scores[0].protocol) if self.scores else ""

    @property
    def tests(self) -> int:
        """How many tests of systems against the baseline are corrected together."""
        return self.rules.family_size(len(self.systems) - 1, len(self.measures))

    def conclusion(self, measure: str) -> Conclusion:
        """The best system on a measure, and what is shown about it; files of earlier versions have the means only."""
        label = self.label_of(measure)
        for one in self.conclusions:
            if one.measure == label:
                return one
        changes = [(one.improves, one.difference.estimate) for one in self.contrasts if one.measure == label]
        lower = any(improves != (change > 0) for improves, change in changes if change)
        means = {name: self.mean(name, label).estimate for name in self.systems}
        plain = describe_best(label, means, lower=lower, baseline=self.baseline)
        if len(plain.best) != 1 or plain.best[0] == self.baseline:
            return plain
        test = self.contrast(plain.best[0], label).as_test(self.baseline, self.rules, self.tests)
        return replace(plain, against_baseline=test)

    def leading_contrast(self, measure: str) -> Contrast:
        """The contrast that matters most: that of the best system, or, where the baseline is best, of the next one."""
        label = self.label_of(measure)
        contrasts = [contrast for contrast in self.contrasts if contrast.measure == label]
        best = self.conclusion(label).best
        mine = [contrast for contrast in contrasts if contrast.system in best]
        known = [contrast for contrast in contrasts if contrast.difference.estimate is not None]
        return mine[0] if mine else min(known or contrasts, key=lambda one: abs(one.difference.estimate or 0.0))

    def mark_of(self, system: str, measure: str) -> Decision | str:
        """The mark beside a mean: letters where all pairs were tested, else the verdict on it."""
        label = self.label_of(measure)
        letters = [pairs.letters[self.systems.index(system)] for pairs in self.pairs if pairs.measure == label]
        if letters:
            return letters[0]
        return "" if system == self.baseline else self.contrast(system, label).verdict

    def label_of(self, measure: str) -> str:
        """The label of a measure in any spelling; a text that is none of them stays what it is."""
        if measure in self.measures:
            return measure
        return next((label for label in self.measures if _spelling(label) == _spelling(measure)), measure)

    def mean(self, system: str, measure: str) -> Interval:
        """The mean of one system on one measure, with its interval."""
        return self.means[self.label_of(measure)][self.systems.index(system)]

    def contrast(self, system: str, measure: str) -> Contrast:
        """Find one system's contrast on one measure, by its label or any of its names."""
        for found in self.contrasts:
            if found.system == system and found.measure == self.label_of(measure):
                return found
        raise UnknownName(
            say("contrast"), f"{system} on {measure}", [f"{c.system} on {c.measure}" for c in self.contrasts]
        )

    def lifts_by_system(self) -> list[tuple[Reordering, ...]]:
        """Lifts of each system that only reorders the baseline's documents."""
        names = dict.fromkeys(lift.system for lift in self.lifts)
        return [tuple(lift for lift in self.lifts if lift.system == name) for name in names]

    def to_rows(self) -> list[dict[str, Value]]:
        """One row per system and measure; the baseline has no contrast."""
        return [self._row(name, label) for label in self.measures for name in self.systems]

    def _row(self, system: str, label: str) -> dict[str, Value]:
        mean = self.mean(system, label)
        contrast = None if system == self.baseline else self.contrast(system, label)
        change = None if contrast is None else contrast.difference
        return {
            "system": system,
            "measure": label,
            "mean": mean.estimate,
            "low": mean.low,
            "high": mean.high,
            "difference": None if change is None else change.estimate,
            "difference_low": None if change is None else change.low,
            "difference_high": None if change is None else change.high,
            "relative": None if contrast is None else contrast.relative.estimate,
            "pvalue": None if contrast is None else contrast.pvalue,
            "adjusted": None if contrast is None else contrast.adjusted,
            "verdict": "" if contrast is None else contrast.verdict,
        }


def _spelling(measure: str) -> str:
    """The canonical name of a measure; a name that is none stays what it is."""
    try:
        return str(public("parse")(measure).text)
    except AssayError:
        return measure
