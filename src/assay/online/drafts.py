"""Ways to merge ranked lists into one whose documents belong to teams: the lists that they came from.

A place is a document with the number of its team; a document that every list would have put there has none. What is
drawn at random comes from the caller, so that the same draws make the same list.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

Place = tuple[str, int | None]
Block = tuple[Place, ...]  # one place, or two whose order is drawn
LONGEST = 24  # places for which all rankings are looked at: 4,096 of them
_EQUAL = 1e-9  # a difference that may come from how logarithms are rounded
_MOST_STEPS = 200_000  # of the computation of propensities: some seconds


def blocks_of(first: Sequence[str], second: Sequence[str], k: int) -> Iterator[Block]:
    """Yield what a team draft of two lists places: a document of both, or two whose order is drawn.

    Which documents come next does not depend on the draws: after a pair both of its documents are placed.
    """
    placed: set[str] = set()
    i = j = count = 0
    while count < k:
        i, j = _next(first, i, placed), _next(second, j, placed)
        if i == len(first) or j == len(second):
            rest = [doc for doc in (*first[i:], *second[j:]) if doc not in placed]
            yield from (((doc, None),) for doc in rest[: k - count])
            return
        one, other = first[i], second[j]
        if one == other:
            yield ((one, None),)
        else:
            yield ((one, 0), (other, 1))
        placed.update((one, other))
        count += 1 if one == other else 2


def _next(ranked: Sequence[str], place: int, placed: set[str]) -> int:
    """The place of the next document that is not in the list yet."""
    while place < len(ranked) and ranked[place] in placed:
        place += 1
    return place


def draft_two(lists: Sequence[Sequence[str]], k: int, flip: Callable[[], bool]) -> list[Place]:
    """Team draft of two lists: in each round both put their best document that is left, in an order that is drawn."""
    found: list[Place] = []
    first, second = lists
    for block in blocks_of(first, second, k):
        found += block if len(block) == 1 or flip() else block[::-1]
    return found[:k]


def chances_of_draft(lists: Sequence[Sequence[str]], k: int) -> dict[tuple[int, str], float]:
    """The probability of each document at each place of a team draft of two lists."""
    found: dict[tuple[int, str], float] = {}
    place = 0
    first, second = lists
    for block in blocks_of(first, second, k):
        for offset in range(len(block)):
            found |= {(place + offset, doc): 1 / len(block) for doc, _ in block}
        place += len(block)
    return found


# Balanced -------------------------------------------------------------------------------------------------------------


def balance(lists: Sequence[Sequence[str]], k: int, *, first_begins: bool) -> list[Place]:
    """Balanced interleaving: any part from the top holds as many of the best of one list as of the other, or one more.

    The team of a document is the list that ranks it higher.
    """
    first, second = lists
    placed: dict[str, None] = {}
    i = j = 0
    while len(placed) < k and (i < len(first) or j < len(second)):
        if j >= len(second) or (i < len(first) and (i < j or (i == j and first_begins))):
            placed.setdefault(first[i])
            i += 1
        else:
            placed.setdefault(second[j])
            j += 1
    ranks = [{doc: place for place, doc in enumerate(ranked)} for ranked in lists]
    return [(doc, _higher(*(one.get(doc, math.inf) for one in ranks))) for doc in placed]


def _higher(first: float, second: float) -> int | None:
    return None if first == second else int(second < first)


# Optimised ------------------------------------------------------------------------------------------------------------


def optimise(lists: Sequence[Sequence[str]], k: int) -> list[tuple[list[Place], list[Place]]]:
    """The rankings that optimised interleaving draws from, in pairs of which one has the teams of the other exchanged.

    Allowed are the rankings of a team draft: of each, every part from the top is made of the tops of both lists
    (Radlinski & Craswell 2013). Both rankings of a pair are as likely, so that whoever looks at places alone prefers
    neither list, whatever the number of clicks. With that, the linear programme for the most sensitive distribution is
    solved by the most sensitive pairs. With clicks as likely as 1/place, s = (1 - t) H(a/(a + b)), where a and b are
    the shares of clicks on each team and t is the rest.
    """
    if k > LONGEST:
        raise UsageError(
            say("optimised interleaving looks at all rankings: k may be at most {most}, not {k}", most=LONGEST, k=k)
        )
    first, second = lists
    blocks = list(blocks_of(first, second, k))
    contests = [i for i, block in enumerate(blocks) if len(block) > 1]
    found, values = [], []
    for mask in range(1 << max(len(contests) - 1, 0)):
        turned = {place for bit, place in enumerate(contests[1:]) if mask >> bit & 1}
        ranking, other = (
            [place for i, block in enumerate(blocks) for place in (block[::-1] if (i in turned) != mirrored else block)]
            for mirrored in (False, True)
        )
        found.append((ranking[:k], other[:k]))
        values.append(_sensitivity([team for _, team in ranking[:k]]))
    best = max(values)
    return [pair for pair, value in zip(found, values, strict=True) if value > best - _EQUAL]


def _sensitivity(teams: Sequence[int | None]) -> float:
    weights = [sum(1 / place for place, team in enumerate(teams, 1) if team == one) for one in (0, 1)]
    total, contested = sum(1 / place for place in range(1, len(teams) + 1)), sum(weights)
    if not contested:
        return 0.0
    return -sum(weight / total * math.log(weight / contested) for weight in weights if weight)


def chances_among(rankings: Sequence[Sequence[Place]]) -> dict[tuple[int, str], float]:
    """The probability of each document at each place where all rankings are equally likely."""
    found: dict[tuple[int, str], float] = {}
    for ranking in rankings:
        for place, (doc, _) in enumerate(ranking):
            found[place, doc] = found.get((place, doc), 0.0) + 1 / len(rankings)
    return found


# Multileaving ---------------------------------------------------------------------------------------------------------


def draft_many(lists: Sequence[Sequence[str]], k: int, shuffle: Callable[[int], Sequence[int]]) -> list[Place]:
    """Team-draft multileaving: in each round every list puts its best document that is left, in an order that is drawn.

    What all lists have at their top belongs to none. A round is played where every list has a document left for it in
    any order (as many as there are lists); what follows belongs to none.
    """
    found = _common_top(lists, k)
    placed = {doc for doc, _ in found}
    while len(found) < k and _can_play(lists, placed):
        picks = _play(lists, placed, shuffle(len(lists)))
        found += picks
        placed.update(doc for doc, _ in picks)
    return (found + _rest(lists, placed, k - len(found)))[:k]


def chances_of_many(lists: Sequence[Sequence[str]], k: int) -> dict[tuple[int, str], float]:
    """The probability of each document at each place, over all orders of all rounds."""
    top = _common_top(lists, k)
    found: dict[tuple[int, str], float] = {(place, doc): 1.0 for place, (doc, _) in enumerate(top)}
    states: dict[Hashable, float] = {frozenset(doc for doc, _ in top): 1.0}
    orders = list(permutations(range(len(lists)))) if len(lists) <= 8 else []  # noqa: PLR2004 - 40,320 orders
    for begin in range(len(top), k, len(lists)):
        if not orders or len(states) * len(orders) > _MOST_STEPS:
            raise UsageError(
                say("there are too many possible lists to compute propensities: give fewer systems, or a smaller k")
            )
        after: dict[Hashable, float] = {}
        for state, chance in states.items():
            placed: set[str] = set(state)  # type: ignore[call-overload]
            if not _can_play(lists, placed):
                _count(found, _rest(lists, placed, k - begin), begin, chance)
                continue
            for order in orders:
                picks = _play(lists, placed, order)
                _count(found, picks, begin, chance / len(orders))
                state_after = frozenset((*placed, *(doc for doc, _ in picks)))
                after[state_after] = after.get(state_after, 0.0) + chance / len(orders)
        states = after
    return found


def _count(found: dict[tuple[int, str], float], places: Sequence[Place], begin: int, chance: float) -> None:
    for place, (doc, _) in enumerate(places, begin):
        found[place, doc] = found.get((place, doc), 0.0) + chance


def _common_top(lists: Sequence[Sequence[str]], k: int) -> list[Place]:
    found: list[Place] = []
    for docs in zip(*lists, strict=False):
        if len(found) == k or len(set(docs)) > 1:
            break
        found.append((docs[0], None))
    return found


def _can_play(lists: Sequence[Sequence[str]], placed: set[str]) -> bool:
    for ranked in lists:
        left = 0
        for doc in ranked:
            left += doc not in placed
            if left == len(lists):
                break
        else:
            return False
    return True


def _play(lists: Sequence[Sequence[str]], placed: set[str], order: Sequence[int]) -> list[Place]:
    """One round: each list in turn puts its best document that is left."""
    taken: set[str] = set()
    picks: list[Place] = []
    for team in order:
        doc = next(one for one in lists[team] if one not in placed and one not in taken)
        taken.add(doc)
        picks.append((doc, team))
    return picks


def _rest(lists: Sequence[Sequence[str]], placed: set[str], n: int) -> list[Place]:
    """What is left, of all lists in turn by rank; it belongs to no team."""
    seen = dict.fromkeys(placed)
    longest = max(map(len, lists))
    ordered = [ranked[rank] for rank in range(longest) for ranked in lists if rank < len(ranked)]
    rest = [doc for doc in dict.fromkeys(ordered) if doc not in seen]
    return [(doc, None) for doc in rest[: max(n, 0)]]
