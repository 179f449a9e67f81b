"""Policies that are replayed: how likely each shows a document at a place, and what a model expects of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.online.shown_rows import ShownRows
    from assay.stats.inputs import Floats, Ints

FOLDS = 5
_CELLS = 4_000_000  # probabilities that are held at once
_SUMS_TO_1 = 1e-6


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Rewards of a document by place: the mean reward x the factor of the place x the factor of the document.

    Factors are the rewards over the expected ones, with one typical reward added to both, so that what was seldom shown
    is taken to be as usual. `pairs` are those that were seen, `factors` theirs.
    """

    mean: float
    places: Floats
    pairs: Ints
    factors: Floats

    @classmethod
    def fit(cls, rows: ShownRows, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> RewardModel:
        """Fit it to some of the rows."""
        reward, place, pair = rows.reward[chosen], rows.place[chosen], rows.pair[chosen]
        total, squares = float(reward.sum()), float((reward * reward).sum())
        width = int(rows.place.max()) + 1
        if not total:
            return cls(0.0, np.ones(width), np.zeros(0, np.int64), np.zeros(0))
        mean, one = total / len(reward), squares / total
        shown = np.bincount(place, minlength=width)
        places = (np.bincount(place, weights=reward, minlength=width) + one) / (mean * shown + one)
        pairs, code = np.unique(pair, return_inverse=True)
        expected = np.bincount(code, weights=mean * places[place])
        return cls(mean, places, pairs, (np.bincount(code, weights=reward) + one) / (expected + one))

    def expect(self, pair: Ints, place: Ints) -> Floats:
        """What a document earns at a place."""
        found: Floats = self.mean * self.places[place] * self.factor(pair)
        return found

    def factor(self, pair: Ints) -> Floats:
        """The factors of documents: 1 of one that was not seen."""
        if not len(self.pairs):
            return np.ones(np.shape(pair))
        at = np.minimum(np.searchsorted(self.pairs, pair), len(self.pairs) - 1)
        found: Floats = np.where(self.pairs[at] == pair, self.factors[at], 1.0)
        return found


class Policy(Protocol):
    """What is replayed."""

    def chances(self, rows: ShownRows) -> Floats:
        """The probability that it shows what each row showed."""

    def expect(self, rows: ShownRows, which: Ints, model: RewardModel) -> Floats:
        """What a model expects it to earn in some of the rows."""


@dataclass(frozen=True)
class Uniform:
    """Every document that the log shows, of the same query where it has queries, is as likely at every place."""

    def chances(self, rows: ShownRows) -> Floats:
        """One over the number of documents."""
        pairs = np.unique(rows.pair)
        sizes = np.bincount(pairs // len(rows.items), minlength=int(rows.query.max()) + 1)
        found: Floats = 1.0 / sizes[rows.query]
        return found

    def expect(self, rows: ShownRows, which: Ints, model: RewardModel) -> Floats:
        """The mean over the documents of the query."""
        pairs = np.unique(rows.pair)
        of = pairs // len(rows.items)
        means = np.bincount(of, weights=model.factor(pairs)) / np.maximum(np.bincount(of), 1)
        found: Floats = model.mean * model.places[rows.place[which]] * means[rows.query[which]]
        return found


@dataclass(frozen=True, eq=False)
class RunPolicy:
    """A run: at each place the document that it ranks there, with certainty."""

    lists: Mapping[str, Sequence[str]]

    def _pairs(self, rows: ShownRows) -> Ints:
        """What it shows in each row, as numbers of query and document; -1 is nothing, -2 what the log never showed."""
        assert rows.queries is not None
        number = {doc: i for i, doc in enumerate(rows.items)}
        width = int(rows.place.max()) + 1
        table = np.full((len(rows.queries), width), -1, np.int64)
        for code, query in enumerate(rows.queries):
            for place, doc in enumerate(self.lists.get(query, ())[:width]):
                table[code, place] = code * len(rows.items) + number[doc] if doc in number else -2
        return table[rows.query, rows.place]

    def chances(self, rows: ShownRows) -> Floats:
        """1 where the run ranks the document at this place, else 0."""
        found: Floats = np.equal(self._pairs(rows), rows.pair).astype(np.float64)
        return found

    def expect(self, rows: ShownRows, which: Ints, model: RewardModel) -> Floats:
        """What is expected of the document that the run ranks there; nothing where its list has ended."""
        pair = self._pairs(rows)[which]
        found: Floats = np.where(pair == -1, 0.0, model.expect(pair, rows.place[which]))
        return found


@dataclass(frozen=True, eq=False)
class FunctionPolicy:
    """A function of the rows, as a frame, and of the ids of all documents: it returns a probability for each of both.

    One row of probabilities stands for all rows.
    """

    function: Callable[..., Any]
    name: str

    def chances(self, rows: ShownRows) -> Floats:
        """What it gives to the document of each row."""
        found = np.empty(len(rows.reward))
        for which in self._parts(rows):
            found[which] = np.take_along_axis(self._ask(rows, which), rows.item[which, None], axis=1)[:, 0]
        return found

    def expect(self, rows: ShownRows, which: Ints, model: RewardModel) -> Floats:
        """The mean over all documents, by their probabilities."""
        found = np.zeros(len(rows.reward))
        items = np.arange(len(rows.items))
        for part in self._parts(rows, which):
            factors = model.factor(rows.query[part, None] * len(rows.items) + items)
            found[part] = (self._ask(rows, part) * factors).sum(axis=1)
        expected: Floats = model.mean * model.places[rows.place[which]] * found[which]
        return expected

    def _parts(self, rows: ShownRows, which: Ints | None = None) -> list[Ints]:
        chosen = np.arange(len(rows.reward)) if which is None else which
        size = max(_CELLS // len(rows.items), 1)
        return [chosen[i : i + size] for i in range(0, len(chosen), size)]

    def _ask(self, rows: ShownRows, which: Ints) -> Floats:
        try:
            found = np.asarray(self.function(rows.frame[which], rows.items), dtype=np.float64)
        except Exception as error:
            raise UsageError(
                say("{name} failed: {reason}", name=self.name, reason=f"{type(error).__name__}: {error}")
            ) from error
        shape = (len(which), len(rows.items))
        if found.ndim == 1 and len(found) == shape[1]:
            found = np.array(np.broadcast_to(found, shape))
        if found.shape != shape:
            raise UsageError(
                say("{name} returned an array of {found}: expected a probability for each row and document, {wanted}",
                    name=self.name, found=list(found.shape), wanted=list(shape))
            )  # fmt: skip
        if not ((found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, atol=_SUMS_TO_1)):
            raise UsageError(
                say("{name} returned probabilities that are below 0 or do not add up to 1 in a row", name=self.name)
            )
        return found


def expect_by_folds(rows: ShownRows, policy: Policy) -> tuple[Floats, Floats]:
    """What models expect of the policy and of each row itself; no row is in the data of the model that it is given to.

    Folds hold whole users (or lists), as rows of one user depend on each other.
    """
    of = np.arange(len(rows.reward)) if rows.cluster is None else rows.cluster
    expected, logged = np.zeros(len(of)), np.zeros(len(of))
    for fold in range(FOLDS):
        inside = of % FOLDS == fold
        which = np.flatnonzero(inside)
        if not len(which) or inside.all():
            continue
        model = RewardModel.fit(rows, ~inside)
        expected[which] = policy.expect(rows, which, model)
        logged[which] = model.expect(rows.pair[which], rows.place[which])
    return expected, logged
