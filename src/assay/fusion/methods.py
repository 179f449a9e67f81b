"""Ways to fuse ranked lists: every method is one registered function.

In the formulas, s is a document's (normalised) score, r its rank from 1 on and w the weight of a run; sums run over the
runs that list the document, n is their number.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import UnknownName, UsageError, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.segments import Floats, Ints
    from assay.fusion.overlay import Overlay

_PAIRS = 1 << 22  # comparisons held in memory at once

METHODS: dict[str, FusionMethod] = {}


@dataclass(frozen=True)
class FusionMethod:
    """A fusion method: what it looks at, whether runs may have weights, and what tuning tries for a parameter.

    `sums` marks methods that add up scores, for which a document that a run does not list counts as 0.
    """

    name: str
    function: Callable[..., Floats]
    uses: Literal["ranks", "scores"]
    weights: Literal["no", "may", "must"] = "no"
    sums: bool = False
    tried: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, float]:
        """Names and defaults of the parameters."""
        found = list(inspect.signature(self.function).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in found}

    @property
    def text(self) -> str:
        """What the method does: formula, odd cases, reference."""
        return inspect.getdoc(self.function) or ""


def method(
    name: str,
    *,
    uses: Literal["ranks", "scores"],
    weights: Literal["no", "may", "must"] = "no",
    sums: bool = False,
    **tried: tuple[float, ...],
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    """Register a fusion method: a function from an overlay to one fused score per row."""

    def register(function: Callable[..., Floats]) -> Callable[..., Floats]:
        METHODS[name] = FusionMethod(name, function, uses, weights, sums, tried)
        return function

    return register


def method_of(name: str) -> FusionMethod:
    """Find a method by its name."""
    if name not in METHODS:
        raise UnknownName(say("fusion method"), name, METHODS, hint=say("see: assay fuse --list"))
    return METHODS[name]


def methods_with(test: Callable[[FusionMethod], bool]) -> list[str]:
    """Name the methods that pass a test."""
    return [found.name for found in METHODS.values() if test(found)]


# Methods on ranks -----------------------------------------------------------------------------------------------


@method("rrf", uses="ranks", weights="may", k=(1, 2, 5, 10, 20, 40, 60, 100, 200, 500))
def rrf(lists: Overlay, *, k: float = 60) -> Floats:
    """Reciprocal rank fusion.

    Formula: sum of w / (k + r); w is 1 unless weights are given.
    Reference: Cormack, Clarke, Buettcher, SIGIR 2009 (k = 60).
    """
    _check("k", k, low=0)
    return _sum(lists.weights / (k + lists.rank))


@method("isr", uses="ranks", weights="may")
def isr(lists: Overlay) -> Floats:
    """Inverse square rank.

    Formula: n x sum of w / r^2.
    Reference: Mourao, Martins, Magalhaes, Computerized Medical Imaging and Graphics 39, 2015.
    """
    return _number(lists.rank) * _sum(lists.weights / lists.rank**2)


@method("log_isr", uses="ranks", weights="may", nu=(0.001, 0.01, 0.1, 1))
def log_isr(lists: Overlay, *, nu: float = 0) -> Floats:
    """Inverse square rank with the logarithm of the number of lists.

    Formula: ln(n + nu) x sum of w / r^2; nu = 0.01 is logN_ISR.
    Odd cases: with nu = 0, every document that one run alone lists scores 0 and its rank is lost.
    Reference: Mourao, Martins, Magalhaes, Computerized Medical Imaging and Graphics 39, 2015.
    """
    _check("nu", nu, low=0)
    factor: Floats = np.log(_number(lists.rank) + nu)
    return factor * _sum(lists.weights / lists.rank**2)


@method("rbc", uses="ranks", weights="may", phi=(0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99))
def rbc(lists: Overlay, *, phi: float = 0.8) -> Floats:
    """Rank-biased centroid: what readers of persistence phi see of a document.

    Formula: sum of w (1 - phi) phi^(r - 1).
    Odd cases: a small phi and a deep list make terms too small for a computer; such documents tie.
    Reference: Bailey, Moffat, Scholer, Thomas, SIGIR 2017.
    """
    _check("phi", phi, low=0, high=1, open_ends=True)
    return _sum(lists.weights * (1 - phi) * phi ** (lists.rank - 1))


@method("borda", uses="ranks", weights="may")
def borda(lists: Overlay) -> Floats:
    """Borda count.

    Formula: sum over all runs of w x points; of c candidates, the first has c points, the second c - 1, and so on;
    those that a run does not list share what is left: (c - length of the list + 1) / 2 each. A run without the query
    gives no points.
    Reference: Aslam, Montague, SIGIR 2001 (Borda-fuse, weighted Borda-fuse).
    """
    candidates = lists.candidates[:, None]
    rest = np.where(lists.sizes, (candidates - lists.sizes + 1) / 2, 0)
    return _sum(lists.weights * np.where(lists.is_listed, candidates - lists.rank + 1, rest))


@method("condorcet", uses="ranks", weights="may")
def condorcet(lists: Overlay) -> Floats:
    """Majority of runs, pair by pair.

    Formula: documents beaten - documents lost to; one beats another if runs of more weight rank it higher. A listed
    document ranks above an unlisted one, two unlisted ones are even.
    Odd cases: majorities can go round in circles. Documents above a circle stay above it and those below stay below, as
    in the paper, whose sorting leaves the order within a circle to chance; here the number of wins decides. All pairs
    are compared: for lists of thousands, use --depth.
    Reference: Montague, Aslam, CIKM 2002 (Condorcet-fuse); Copeland 1951.
    """
    size = np.diff(np.append(lists.starts, len(lists.query)))
    out = np.empty(len(lists.query))
    order = np.argsort(-size, kind="stable")
    done = 0
    while done < len(order):
        width = int(size[order[done]])
        block = order[done : done + max(1, _PAIRS // width**2)]
        inside = np.arange(width) < size[block][:, None]
        rows = (lists.starts[block][:, None] + np.arange(width))[inside]
        out[rows] = _wins(lists, rows, inside)[inside]
        done += len(block)
    return out


def _wins(lists: Overlay, rows: Ints, inside: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """Count wins less losses of every document of some queries, laid out as rows that `inside` marks."""
    plain = bool((lists.weights == lists.weights[0]).all())
    shape = (len(inside), inside.shape[1], inside.shape[1])
    votes = np.zeros(shape, dtype=np.int16 if plain else np.float64)
    for column, weight in enumerate(lists.weights):
        rank = np.full(inside.shape, np.nan, dtype=np.float32)  # NaN is above and below nothing
        rank[inside] = np.where(lists.is_listed[rows, column], lists.rank[rows, column], np.inf)
        above = rank[:, :, None] < rank[:, None, :]
        votes += above if plain else weight * above
    least = 0 if plain else 1e-12 * lists.weights.sum()  # rounding makes no majority
    beats = votes - votes.transpose(0, 2, 1) > least
    found: Floats = beats.sum(axis=2) - beats.sum(axis=1).astype(np.float64)
    return found


# Methods on scores ----------------------------------------------------------------------------------------------


@method("combsum", uses="scores", sums=True)
def combsum(lists: Overlay) -> Floats:
    """Sum of scores.

    Formula: sum of s.
    Reference: Fox, Shaw, TREC-2, 1994.
    """
    return _sum(lists.score)


@method("combmnz", uses="scores", sums=True)
def combmnz(lists: Overlay) -> Floats:
    """Sum of scores times the number of lists.

    Formula: n x sum of s.
    Odd cases: n counts the runs that list the document, also with a score that was normalised to 0.
    Reference: Fox, Shaw, TREC-2, 1994; Lee, SIGIR 1997.
    """
    return _number(lists.score) * _sum(lists.score)


@method("combanz", uses="scores")
def combanz(lists: Overlay) -> Floats:
    """Mean score of the runs that list the document.

    Formula: sum of s / n.
    Reference: Fox, Shaw, TREC-2, 1994.
    """
    return _sum(lists.score) / _number(lists.score)


@method("combmax", uses="scores")
def combmax(lists: Overlay) -> Floats:
    """Highest score of the runs that list the document.

    Formula: max of s.
    Reference: Fox, Shaw, TREC-2, 1994.
    """
    return np.fmax.reduce(lists.score, axis=1)  # type: ignore[no-any-return]


@method("combmin", uses="scores")
def combmin(lists: Overlay) -> Floats:
    """Lowest score of the runs that list the document.

    Formula: min of s.
    Reference: Fox, Shaw, TREC-2, 1994.
    """
    return np.fmin.reduce(lists.score, axis=1)  # type: ignore[no-any-return]


@method("combmed", uses="scores")
def combmed(lists: Overlay) -> Floats:
    """Median score of the runs that list the document.

    Formula: median of s; of an even number, the mean of the middle two.
    Reference: Fox, Shaw, TREC-2, 1994.
    """
    rising = np.sort(lists.score, axis=1)  # NaN comes last
    number = _number(rising)
    row = np.arange(len(rising))
    return (rising[row, (number - 1) // 2] + rising[row, number // 2]) / 2


@method("weighted", uses="scores", weights="must", sums=True)
def weighted(lists: Overlay) -> Floats:
    """Linear combination of scores.

    Formula: sum of w s.
    Reference: Bartell, Cottrell, Belew, SIGIR 1994; Vogt, Cottrell, Information Retrieval 1, 1999.
    """
    return _sum(lists.weights * lists.score)


def _number(values: Floats) -> Ints:
    """Count the runs that have a value for each row."""
    found: Ints = (~np.isnan(values)).sum(axis=1)
    return found


def _sum(terms: Floats) -> Floats:
    """Add up rows from the smallest term on, so that the order of the runs cannot show in the last digit."""
    terms = np.where(np.isnan(terms), 0, terms)
    found: Floats = (np.sort(terms, axis=1) if terms.shape[1] > 2 else terms).sum(axis=1)  # noqa: PLR2004
    return found


def _check(name: str, value: float, *, low: float, high: float = np.inf, open_ends: bool = False) -> None:
    inside = low < value < high if open_ends else low <= value < high
    if not inside:
        told = {"name": name, "value": value, "low": low}
        if open_ends:
            raise UsageError(
                say("{name} = {value:g}: expected a number between {low:g} and {high:g}", high=high, **told)
            )
        raise UsageError(say("{name} = {value:g}: expected a finite number of {low:g} or more", **told))


def check_parameters(chosen: FusionMethod, given: Mapping[str, object]) -> None:
    """Refuse parameters that a method does not take, and values that are not numbers."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise UsageError(say("{name} = {value}: expected a number", name=name, value=excerpt(value)))
    strange = next((name for name in given if name not in chosen.parameters), None)
    if strange is None:
        return
    takers = methods_with(lambda one: strange in one.parameters)
    if takers:
        raise UsageError(
            say(
                "{method} takes no {name}: it is a parameter of {takers}",
                method=chosen.name,
                name=strange,
                takers=takers,
            )
        )
    raise UnknownName(
        say("parameter of {name}", name=chosen.name), strange, chosen.parameters, hint=say("see: assay fuse --list")
    )
