"""Which questions are asked for: passages in turns, with a category, a style, a kind of user and examples each."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from assay.curation.drawing import Drawn, digest_of
from assay.curation.question_calls import CATEGORIES, STYLES, Brief
from assay.errors import UnknownName, UsageError
from assay.messages import say
from assay.text.words import language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.curation.drawing import Survey
    from assay.curation.passage_index import PassageIndex
    from assay.messages import Lang
    from assay.results.questions import Category

SHARES: Mapping[Category, float] = {
    "fact": 0.4, "how-to": 0.2, "comparison": 0.1, "multi-passage": 0.2, "unanswerable": 0.1,
}  # fmt: skip
ATTEMPTS = 3  # passages that are tried at most for each question that is wanted
_ROUNDS = 3  # questions that are made of one passage at most, where there are few
_EXAMPLES = 3
_EXAMPLE = 200  # characters


@dataclass(frozen=True)
class Wishes:
    """What users want of their questions: categories by share, style, kinds of users, real queries, language."""

    shares: Mapping[Category, float]
    style: str = "both"
    users: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    text_lang: Lang | None = None
    allow_known: bool = False


class AttemptPlace(NamedTuple):
    """A place in the order of attempts: its number, a passage, and which turn of the passage it is."""

    number: int
    drawn: Drawn
    turn: int


def check_shares(given: Mapping[str, float] | None) -> dict[Category, float]:
    """Shares of categories that add up to 1: those given, or the usual ones."""
    told = dict(SHARES if given is None else given)
    for name, share in told.items():
        if name not in CATEGORIES:
            hint = say("expected one of {names}", names=list(CATEGORIES))
            raise UnknownName(say("category"), str(name), list(CATEGORIES), hint=hint)
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < float("inf"):
            raise UsageError(say("{name} = {share}: expected a share such as 0.4", name=name, share=repr(share)))
    total = sum(told.values())
    if not total:
        raise UsageError(say("the shares of all categories are 0"))
    return {name: told[name] / total for name in CATEGORIES if told.get(name)}


@dataclass(frozen=True)
class Plan:
    """The order of attempts for n questions, which does not depend on what becomes of them."""

    survey: Survey
    wishes: Wishes
    n: int
    seed: int

    @cached_property
    def quotas(self) -> dict[Category, int]:
        """How many questions of each category are wanted."""
        found = Counter(self._sequence[: self.n])
        return {name: found[name] for name in self.wishes.shares if found[name]}

    @property
    def limit(self) -> int:
        """How many passages are tried at most."""
        return ATTEMPTS * self.n

    def places(self, category: Category) -> Iterator[AttemptPlace]:
        """The attempts at a category: as many as may be made for its share."""
        left = ATTEMPTS * self.quotas.get(category, 0)
        for place in self._places():
            if left and self._sequence[(place.number + place.turn) % len(self._sequence)] == category:
                left -= 1
                yield place

    def _places(self) -> Iterator[AttemptPlace]:
        order = self.survey.order
        for turn in range(_ROUNDS):
            for number, drawn in enumerate(order):
                yield AttemptPlace(turn * len(order) + number, drawn, turn)

    @cached_property
    def _sequence(self) -> list[Category]:
        """Categories in turns, each as often as its share says, for more places than there are."""
        credit = dict.fromkeys(self.wishes.shares, 0.0)
        found: list[Category] = []
        for _ in range(max(self.n, _ROUNDS * len(self.survey.order)) + _ROUNDS):
            for name, share in self.wishes.shares.items():
                credit[name] += share
            best = max(credit, key=lambda name: round(credit[name], 9))
            credit[best] -= 1
            found.append(best)
        return found

    def brief(self, place: AttemptPlace, category: Category, index: PassageIndex) -> Brief | None:
        """What is asked for at a place; None where a second passage is needed and there is none."""
        passages = [place.drawn.passage]
        if category == "multi-passage":
            partner = index.find_partner(place.drawn.passage)
            if partner is None:
                return None
            passages.append(partner)
        wishes = self.wishes
        chance = random.Random(digest_of(f"{place.drawn.digest} {place.turn}", self.seed))  # noqa: S311 - no secret
        examples = chance.sample(wishes.seeds, min(_EXAMPLES, len(wishes.seeds)))
        style = chance.choice(STYLES) if wishes.style == "both" else wishes.style
        return Brief(
            tuple(passages), category, style, chance.choice(wishes.users) if wishes.users else "",
            tuple(text[:_EXAMPLE] for text in examples),
            language(" ".join(passage.text for passage in passages)), wishes.text_lang,
        )  # fmt: skip


def make_plan(found: Survey, topics: Sequence[str], wishes: Wishes, n: int, seed: int) -> Plan:
    """Plan the attempts of a collection; each passage comes in the turn of its stratum."""
    from assay.curation.drawing import divide_by_topic

    divided = divide_by_topic(found, topics)
    return Plan(replace(divided, order=divided.order[: ATTEMPTS * n]), wishes, n, seed)
