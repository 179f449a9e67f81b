"""What making questions with a language model would cost, without sending a request.

The first request of every attempt is known; those after it depend on what the model writes, and are estimated with
stand-ins: of usual length for what is likely, of the greatest length that a filter lets pass for what suffices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from assay.curation.model_questions import STEPS, prepare
from assay.curation.passage_index import DEPTH
from assay.curation.question_calls import Asker, prompt_lang
from assay.curation.question_checks import LONGEST, LONGEST_REFERENCE
from assay.errors import UsageError
from assay.messages import say
from assay.results.judging import Estimate
from assay.results.questions import QuestionPlan, QuestionStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assay.curation.collection import Opener, ProgressCallback
    from assay.curation.passage_index import PassageIndex
    from assay.curation.passages import Passage
    from assay.curation.question_briefs import Plan, Wishes
    from assay.curation.question_calls import Brief
    from assay.llm.client import Client
    from assay.llm.records import Request


class StandIn(NamedTuple):
    """Characters of a question and of a reference; the longest passages of a collection, where those are compared."""

    question: int
    reference: int
    passages: tuple[Passage, ...] = ()
    sign: str = "x"

    def texts(self, number: int) -> tuple[str, str]:
        """A question and a reference, other ones for each number."""
        return f"{number}{self.sign * self.question}", f"{number}{self.sign * self.reference}"


_USUAL = StandIn(100, 200)
_LONG_SIGN = "字"  # in as many bytes as most signs


def estimate_model_questions(
    documents: Opener, n: int, *, client: Client, wishes: Wishes, seed: int, tell: ProgressCallback
) -> QuestionPlan:
    """Estimate each step for n attempts that all become questions, and the most that can be tried."""
    if not hasattr(client, "estimate"):
        name = str(getattr(client, "model", "") or "a function")
        raise UsageError(say("{name} cannot say what it would cost: give an assay.llm.Client", name=name))
    plan, index, _ = prepare(documents, n, wishes, seed, tell)
    first = [brief for category, quota in plan.quotas.items() for brief in _briefs(plan, category, index, quota)]
    every = [brief for category in plan.quotas for brief in _briefs(plan, category, index, plan.limit)]
    longest = sorted(index.passages, key=lambda one: -len(one.text.encode("utf-8", "replace")))[:DEPTH]
    worst = StandIn(LONGEST, LONGEST_REFERENCE, tuple(longest), _LONG_SIGN)
    steps = [QuestionStep(step, client.estimate(_requests(step, first, index, wishes, _USUAL))) for step in STEPS]
    most = [client.estimate(_requests(step, every, index, wishes, worst)) for step in STEPS]
    versions = dict.fromkeys(version for brief in every for version in Asker(prompt_lang(brief)).versions)
    judge = f"{client.model} ({', '.join(versions)})"
    total = add_estimates([one.estimate for one in steps])
    return QuestionPlan(judge, n, len(every), tuple(steps), total, add_estimates(most))


def _briefs(plan: Plan, category: str, index: PassageIndex, most: int) -> list[Brief]:
    places = plan.places(category)  # type: ignore[arg-type]
    found = [plan.brief(place, category, index) for _, place in zip(range(most), places, strict=False)]  # type: ignore[arg-type]
    return [brief for brief in found if brief is not None]


def _requests(
    step: str, briefs: Sequence[Brief], index: PassageIndex, wishes: Wishes, stand_in: StandIn
) -> Iterator[Request]:
    """The requests of one step for every brief that goes through it."""
    for number, brief in enumerate(briefs):
        asker, answered = Asker(prompt_lang(brief)), brief.category != "unanswerable"
        question, reference = stand_in.texts(number)
        if step == "write":
            yield asker.write(brief)
        elif step == "answerable" and answered:
            yield asker.ask_answerable(question, reference, brief.passages)
        elif step == "closed_book" and answered and not wishes.allow_known:
            yield asker.ask_closed_book(question)
        elif step == "same" and answered and not wishes.allow_known:
            yield asker.ask_same(question, reference, reference)
        elif step == "others":
            own = brief.passages if brief.category in {"multi-passage", "unanswerable"} else ()
            others = stand_in.passages or index.find_others(brief.passages[0].text, brief.passages)
            yield from asker.ask_passages(question, [*own, *others])


def add_estimates(parts: Sequence[Estimate]) -> Estimate:
    """Several estimates as one; money that is unknown for one of them is unknown for all."""
    costs = [one.cost for one in parts if one.cost is not None]
    enough = [one.enough for one in parts if one.enough is not None]
    return Estimate(
        sum(one.requests for one in parts), sum(one.cached for one in parts), sum(one.calls for one in parts),
        sum(one.prompt_tokens for one in parts), sum(one.completion_tokens for one in parts),
        math.fsum(costs) if len(costs) == len(parts) else None,
        math.fsum(enough) if len(enough) == len(parts) else None,
        parts[0].currency,
    )  # fmt: skip
