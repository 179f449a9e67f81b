"""Interleaving: one list of several rankings, so that every person compares them, and clicks say which is preferred."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.errors import UnknownName, UsageError
from assay.messages import Said, say
from assay.online import drafts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.online.drafts import Place

Method = Literal["team-draft", "balanced", "optimised", "multileave"]
METHODS: tuple[Method, ...] = get_args(Method)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGEST = 64  # bytes
_WORD = 32  # bits of a number that is drawn


@dataclass(frozen=True)
class InterleavedList:
    """A list to serve: its documents, the team of each (None: no list's), and the probability of each at its place.

    A click on a document is a point for its team; a document without a team is shown alike whatever is drawn, or all
    that was left. Propensities are there where they were asked for.
    """

    method: Method
    documents: tuple[str, ...]
    teams: tuple[str | None, ...]
    propensities: tuple[float, ...] | None = None
    warnings: tuple[str, ...] = ()

    @property
    def contested(self) -> float:
        """The share of places that belong to a team; clicks elsewhere say nothing."""
        return sum(team is not None for team in self.teams) / len(self.teams) if self.teams else 0.0

    def to_attributes(self) -> dict[str, Any]:
        """What to log with the request: UBI's `query_attributes.interleaving`."""
        found: dict[str, Any] = {"method": self.method, "teams": dict(zip(self.documents, self.teams, strict=True))}
        if self.propensities is not None:
            found["propensities"] = dict(zip(self.documents, self.propensities, strict=True))
        return found


def interleave(
    *lists: Sequence[str],
    method: Method = "team-draft",
    k: int = 10,
    query: object = None,
    user: object = None,
    seed: object = None,
    names: Sequence[str] | None = None,
    propensities: bool = False,
) -> InterleavedList:
    """Merge ranked lists of document ids into one list of k documents, each of which belongs to the team of a list.

    The list is a function of its arguments: a user who repeats a query sees the same one, in every process and on every
    machine (draws are bits of a BLAKE2b hash of query, user and seed). At least one of the three must be there, as the
    same draws for all would favour a list. Teams are called A, B ... or as in `names`. Methods:

    - `team-draft`: two lists in rounds; in each, both put their best document that is left, in an order that is drawn.
      A document that both have next belongs to no team.
    - `optimised`: of all rankings that the lists allow, the most sensitive ones; whoever clicks at random prefers none.
    - `multileave`: team draft of three lists or more.
    - `balanced`: biased if clicks are random, for some pairs of lists up to 75:25; here for comparisons with old tests.

    >>> import assay
    >>> found = assay.interleave(["a", "b", "c"], ["a", "c", "d"], k=3, query="tea", user="ann")
    >>> found.documents, found.teams
    (('a', 'b', 'c'), (None, 'A', 'B'))
    """
    _check(lists, method, k)
    teams = _names(lists, names)
    if query is None and user is None and seed is None:
        raise UsageError(
            say("name the query or the user (query=..., user=...): without them every list has the same teams")
        )
    draws = _Draws(query, user, seed)
    places, chances = _merge(lists, method, k, draws, propensities=propensities)
    return InterleavedList(
        method,
        tuple(doc for doc, _ in places),
        tuple(None if team is None else teams[team] for _, team in places),
        None if chances is None else tuple(chances[place, doc] for place, (doc, _) in enumerate(places)),
        (_warn_of_balanced(lists, k),) if method == "balanced" else (),
    )


def _merge(
    lists: Sequence[Sequence[str]], method: Method, k: int, draws: _Draws, *, propensities: bool
) -> tuple[list[Place], dict[tuple[int, str], float] | None]:
    """The places, and the probability of each document at each place where it is asked for."""
    if method in {"team-draft", "multileave"} and len(lists) == 2:  # noqa: PLR2004
        return drafts.draft_two(lists, k, draws.flip), drafts.chances_of_draft(lists, k) if propensities else None
    if method == "multileave":
        return drafts.draft_many(lists, k, draws.shuffle), drafts.chances_of_many(lists, k) if propensities else None
    if method == "balanced":
        both = [drafts.balance(lists, k, first_begins=one) for one in (True, False)]
    else:
        pairs = drafts.optimise(lists, k)
        both = list(pairs[draws.below(len(pairs))])
        if propensities:
            return both[draws.flip()], drafts.chances_among([one for pair in pairs for one in pair])
    return both[draws.flip()], drafts.chances_among(both) if propensities else None


def random_share(lists: Sequence[Sequence[str]], k: int) -> float:
    """The share of points that the first list gets in balanced interleaving if clicks fall on any place alike."""
    teams = [team for one in (True, False) for _, team in drafts.balance(lists, k, first_begins=one)]
    counts = [teams.count(0), teams.count(1)]
    return counts[0] / sum(counts) if sum(counts) else 0.5


def _warn_of_balanced(lists: Sequence[Sequence[str]], k: int) -> Said:
    return say("interleaving.balanced", share=random_share(lists, k))


def _check(lists: Sequence[Sequence[str]], method: str, k: int) -> None:
    if method not in METHODS:
        raise UnknownName(say("method"), method, METHODS)
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError(say("{name} must be at least {least}, not {found}", name="k", least=1, found=repr(k)))
    if len(lists) < 2:  # noqa: PLR2004
        raise UsageError(say("interleaving takes two lists or more, not {n}", n=len(lists)))
    if len(lists) > 2 and method != "multileave":  # noqa: PLR2004
        raise UsageError(say("{method} takes two lists, not {n}: use multileave", method=method, n=len(lists)))
    for number, ranked in enumerate(lists, 1):
        if isinstance(ranked, (str, bytes)):
            raise UsageError(say("list {number} is a text: give a list of document ids", number=number))
        if len(set(ranked)) < len(ranked):
            raise UsageError(say("list {number} has a document twice", number=number))


def _names(lists: Sequence[Sequence[str]], names: Sequence[str] | None) -> Sequence[str]:
    if names is None and len(lists) <= len(_LETTERS):
        return _LETTERS
    given = [str(i) for i in range(1, len(lists) + 1)] if names is None else list(names)
    if len(set(given)) != len(lists):
        raise UsageError(say("give each of the {n} lists a name of its own", n=len(lists)))
    return given


class _Draws:
    """Random draws that depend on query, user and seed only: the bits of their hash, and of it with a counter."""

    def __init__(self, *key: object) -> None:
        texts = ["" if one is None else str(one) for one in key]
        marked = ["-" if one is None else f"{len(text)}:{text}" for one, text in zip(key, texts, strict=True)]
        self._key = "assay.interleave.1|{}|{}|{}".format(*marked).encode("utf-8", "surrogatepass")
        self._count = self._left = self._bits = 0

    def bits(self, n: int) -> int:
        """Draw a number of n bits."""
        if self._left < n:
            digest = blake2b(self._key, digest_size=_DIGEST, salt=self._count.to_bytes(16, "little")).digest()
            self._bits, self._left = int.from_bytes(digest, "little"), 8 * _DIGEST
            self._count += 1
        found = self._bits & ((1 << n) - 1)
        self._bits >>= n
        self._left -= n
        return found

    def flip(self) -> bool:
        """Flip a coin."""
        return bool(self.bits(1))

    def below(self, n: int) -> int:
        """Draw one of the numbers from 0 to n - 1."""
        return self.bits(_WORD) * n >> _WORD

    def shuffle(self, n: int) -> list[int]:
        """Draw an order of the numbers from 0 to n - 1 (Fisher & Yates)."""
        order = list(range(n))
        for last in range(n - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
