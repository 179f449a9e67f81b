"""A judge on a sample of each window: drawn with known probabilities, within a budget of money for each day.

Half of the sample is drawn from all answers alike, half from the tenth that follows least from its contexts by words.
Means are weighted by the inverse of the probabilities, so that they are those of all answers. The replies of the judge
are in the client's cache before anything is counted: what was paid is not paid again by a process that goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence  # noqa: TC003 - the type of an argument
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.answer_plan import plan_answers
from assay.analysis.answers import answers, score_answers
from assay.data.samples import Samples
from assay.errors import UsageError
from assay.measures.defaults import ANSWERS, SERVED
from assay.messages import say
from assay.online.log_sample import draw
from assay.online.watching.evaluations import describe_answers
from assay.online.watching.measuring import Judged
from assay.results.watch import WatchValue
from assay.stats.intervals import mean_interval

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from assay.data.served import Served
    from assay.llm.client import Client
    from assay.stats.inputs import Floats

_LOW = 0.1  # share of the answers that follow least from their contexts
_HALF = 0.5  # of the sample that is drawn from all alike
_MAPPING = {"question": "question", "answer": "answer", "contexts": "contexts"}


@dataclass
class WatchJudge:
    """A language model that judges `per_window` answers of each window, for at most `max_cost` a day."""

    client: Client
    per_window: int = 20
    max_cost: float | None = None
    seed: int = 0

    def judge(
        self, served: Sequence[Served], users: Sequence[str], level: float, spent: MutableMapping[str, float], day: str
    ) -> Judged:
        """Judge a sample, unless that might cost too much; what it costs is added to what was `spent` on this day."""
        ready = [place for place, one in enumerate(served) if one.answer and one.sample.contexts]
        if not ready:
            return Judged()
        drawn, probability = draw_answers([served[place] for place in ready], self.per_window, self.seed)
        chosen = [ready[place] for place in drawn.tolist()]
        plan = plan_answers(
            Samples(tuple(served[place].sample for place in chosen), _MAPPING), ANSWERS, method="llm", judge=self.client
        )
        asked = plan.here.judge
        assert asked is not None
        if self.max_cost is not None:
            most = self.client.estimate(one.request for _, _, one in asked.requests(plan.samples.rows)).enough
            if most is None:
                raise UsageError(say("a limit of money needs prices: {model} has none", model=self.client.model))
            if spent.get(day, 0.0) + most > self.max_cost:
                return Judged(unjudged=True)
        before = self.client.spending
        scores = score_answers(plan)
        after = self.client.spending
        spent[day] = spent.get(day, 0.0) + after.spent + after.possible - before.spent - before.possible
        values = {label: scores.column(label) for label in scores.labels}
        found_values = [
            WatchValue(label, interval, int(np.isnan(found).sum()))
            for label, found in values.items()
            if (interval := mean_interval(
                found, weights=1 / probability, clusters=[users[place] for place in chosen], bounds=(0.0, 1.0),
                confidence_level=level,
            )).estimate is not None
        ]  # fmt: skip
        failed = sum(outcome.support.status == "failed" for outcome in scores.outcomes)
        said = describe_answers([served[place] for place in chosen], scores, probability.tolist())
        return Judged(found_values, failed, evaluations=tuple(said))


def draw_answers(served: Sequence[Served], n: int, seed: int) -> tuple[np.ndarray, Floats]:
    """The places of n answers and the probability of each: priority sampling, as `sample_log` has it."""
    found = answers(Samples(tuple(one.sample for one in served), _MAPPING), SERVED[:1], method="words")
    support = found.column(SERVED[0])
    known = support[~np.isnan(support)]
    low = support <= np.quantile(known, _LOW, method="lower") if len(known) else np.zeros(len(served), dtype=bool)
    rates = np.full(len(served), (_HALF if low.any() else 1.0) / len(served)) + low * _HALF / max(int(low.sum()), 1)
    return draw(rates, [one.id for one in served], math.ceil(n), seed)
