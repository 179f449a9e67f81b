"""How good documents are by the clicks they got, although most clicks go to what is shown first.

All models start from cells: how often a pair (a query with a document) was shown at a position, and how often it was
clicked there. Nothing else about the log matters to them, so that millions of impressions become a few arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.errors import InputError
from assay.messages import say, some
from assay.stats.inputs import Bools, Floats, Ints, check_share

Variant = Literal["standard", "opensearch"]

_LEAST = 1e-12  # an examination or attraction below it counts as 0
_ROUNDS = 500
_STEADY = 1e-8  # of the examination from one round to the next
_SHOWN = 8


@dataclass(frozen=True)
class Cells:
    """Impressions and clicks of pairs at positions, one entry for each pair and position; both are numbers from 0 on.

    `pair_effects` says for each pair how many times larger the variance of its clicks is than that of independent
    impressions, because users come back (`design_effects`); `position_effects` the same for each position.
    """

    pair: Ints
    position: Ints
    shown: Floats
    clicks: Floats
    pair_effects: Floats
    position_effects: Floats

    def by_pair(self, values: Floats) -> Floats:
        """Sums over the positions of each pair."""
        return np.bincount(self.pair, weights=values, minlength=len(self.pair_effects)).astype(np.float64)

    def by_position(self, values: Floats) -> Floats:
        """Sums over the pairs of each position."""
        return np.bincount(self.position, weights=values, minlength=len(self.position_effects)).astype(np.float64)

    def only(self, kept: Bools) -> Cells:
        """The cells for which `kept` is true; pairs and positions keep their numbers."""
        columns = (self.pair[kept], self.position[kept], self.shown[kept], self.clicks[kept])
        return Cells(*columns, self.pair_effects, self.position_effects)


@dataclass(frozen=True)
class ClickValues:
    """For each pair: its clicks, the clicks that were expected, and the value of the model with its interval.

    NaN where there is none. For each position: how much it is looked at, relative to the first one, with its standard
    error where the model estimates that (`pbm`), else its click-through rate.
    """

    shown: Floats
    clicks: Floats
    expected: Floats
    value: Floats
    low: Floats
    high: Floats
    rates: Floats
    examination: Floats | None = None
    standard_error: Floats | None = None
    apart: tuple[int, ...] = ()
    rounds: int = 0


@dataclass(frozen=True)
class UserSums:
    """Sums over the users of each group: impressions, clicks, and the products of those of one user.

    They are whole numbers, so that those of parts of a log with other users add up exactly, in any order.
    """

    shown: Floats
    clicks: Floats
    shown_squares: Floats
    products: Floats
    click_squares: Floats

    @classmethod
    def of(cls, group: Ints, shown: Floats, clicks: Floats, groups: int) -> UserSums:
        """Add up entries, each of which is one user in one group."""
        each = (shown, clicks, shown**2, shown * clicks, clicks**2)
        return cls(*(np.bincount(group, weights=one, minlength=groups).astype(np.float64) for one in each))


def design_effects(users: UserSums) -> Floats:
    """For each group, how many times larger the variance of its clicks is because users come back to it.

    The correlation rho of two impressions of the same user in the same group is
    estimated from all groups together, by the products of their deviations from the group's rate; a group whose n
    impressions come from users with n_u each then has 1 + rho (sum(n_u^2)/n - 1) (Kish 1965). It is never below 1.
    """
    n, c, squares = users.shown, users.clicks, users.shown_squares
    rate = np.divide(c, n, out=np.zeros(len(n)), where=n > 0)
    enough = n > 1
    rest = np.where(enough, n - 1, 1.0)
    spread = np.where(enough, rate * (1 - rate) * n / rest, 0.0)  # the variance of one impression, unbiased
    deviations = users.click_squares - 2 * rate * users.products + rate**2 * squares  # of users, squared
    products = deviations - c * (1 - 2 * rate) - n * rate**2
    pairs = squares - n
    together = float(products.sum() + (spread * pairs / np.maximum(n, 1)).sum())  # the rate is estimated, too
    most = float((spread * pairs).sum())
    rho = min(max(together / most, 0.0), 1.0) if most > 0 else 0.0
    found: Floats = 1 + rho * np.maximum(np.divide(squares, n, out=np.ones(len(n)), where=n > 0) - 1, 0.0)
    return found


def click_through(cells: Cells, *, confidence_level: float = 0.95) -> ClickValues:
    """Clicks over impressions, whatever the position."""
    shown, clicks = cells.by_pair(cells.shown), cells.by_pair(cells.clicks)
    share = _ratio(clicks, shown)
    low, high = share_limits(share, shown / cells.pair_effects, confidence_level)
    return ClickValues(shown, clicks, np.full(len(shown), np.nan), share, low, high, _rates(cells))


def clicks_over_expected(cells: Cells, *, variant: Variant = "standard", confidence_level: float = 0.95) -> ClickValues:
    """Clicks over the clicks that the same impressions would have had with the rates of their positions (COEC).

    1 means as many as usual there. `variant="opensearch"` expects the rate of the best position that the pair ever had
    for all of its impressions, and rounds to three decimals; its value is 0 where nothing is expected.
    """
    shown, clicks, rates = cells.by_pair(cells.shown), cells.by_pair(cells.clicks), _rates(cells)
    n = cells.by_position(cells.shown)
    doubt = _ratio(rates * (1 - rates) * cells.position_effects, n)  # the variance of each rate
    if variant == "opensearch":
        best = np.full(len(shown), len(rates), np.int64)
        np.minimum.at(best, cells.pair, cells.position)
        expected = shown * np.append(rates, 0.0)[best]
        variance = (shown**2) * np.append(doubt, 0.0)[best]
    else:
        expected = cells.by_pair(cells.shown * rates[cells.position])
        variance = cells.by_pair(cells.shown**2 * doubt[cells.position])
    share = _ratio(clicks, shown)
    trials = _weaken(share, shown, cells.pair_effects, _ratio(variance, expected**2))
    low, high = (end * _ratio(shown, expected) for end in share_limits(share, trials, confidence_level))
    value = _ratio(clicks, expected)
    if variant == "opensearch":
        value = np.round(np.nan_to_num(value), 3).astype(np.float64)
    return ClickValues(shown, clicks, expected, value, low, high, rates)


def position_based(cells: Cells, *, confidence_level: float = 0.95) -> ClickValues:
    """Attraction of each pair and examination of each position, whose product is the rate of clicks (PBM).

    Both are found by EM (accelerated; Varadhan & Roland 2008) and are the most likely ones. Only products are
    observed: the examination of the first position is taken as 1, so that the attraction is the rate of clicks that a
    pair would have there. Standard errors are those of the observed information. Positions can be told apart from what
    was shown there only by pairs that were shown at several of them; what is `apart` from most others is left out.
    """
    check_share(confidence_level, "confidence_level")
    joined = _positions_that_join(cells)
    used = cells.only(joined[cells.position])
    apart = tuple(np.flatnonzero(~joined & (cells.by_position(cells.shown) > 0)).tolist())
    attraction, examination, rounds = _maximise(used)
    first = int(np.flatnonzero(joined & (examination > _LEAST))[0])
    attraction, examination = attraction * examination[first], examination / examination[first]
    examination[~joined] = np.nan
    errors, own, shared = _information(used, attraction, examination, first)
    shown, clicks = used.by_pair(used.shown), used.by_pair(used.clicks)
    seen = used.by_pair(used.shown * examination[used.position])
    with np.errstate(divide="ignore", invalid="ignore"):
        trials = np.where(attraction > _LEAST, (1 - attraction) * own / attraction, seen)
    trials = _weaken(attraction, trials, used.pair_effects, shared)
    low, high = share_limits(attraction, trials, confidence_level)
    empty = shown == 0
    value = np.where(empty, np.nan, attraction)
    expected = np.where(empty, np.nan, seen)
    return ClickValues(
        shown, clicks, expected, value, np.where(empty, np.nan, low), np.where(empty, np.nan, high), _rates(cells),
        examination, errors, apart, rounds,
    )  # fmt: skip


def share_limits(share: Floats, trials: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Limits of each share of so many trials: Wilson's, near 0 and 1 no closer than Clopper and Pearson's one-sided.

    Wilson's ends can be too close where few events are expected (Brown, Cai & DasGupta 2001). NaN without trials.
    """
    from scipy.special import betaincinv, ndtri

    check_share(confidence_level, "confidence_level")
    known = (trials > 0) & ~np.isnan(share)
    p, n = np.where(known, np.clip(share, 0, 1), 0.5), np.where(known, trials, 1.0)
    z2, alpha = float(ndtri(0.5 + confidence_level / 2)) ** 2, 1 - confidence_level
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    least = np.where(p > 0, betaincinv(np.maximum(p * n, _LEAST), (1 - p) * n + 1, alpha), 0.0)
    most = np.where(p < 1, 1 - betaincinv(np.maximum((1 - p) * n, _LEAST), p * n + 1, alpha), 1.0)
    low, high = np.minimum(np.maximum(centre - half, 0), least), np.maximum(np.minimum(centre + half, 1), most)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _weaken(share: Floats, trials: Floats, effects: Floats, relative: Floats) -> Floats:
    """So many independent trials would leave as much doubt: users come back, and what is expected is an estimate too.

    `relative` is the variance of what is expected over its square.
    """
    middle = (share * trials + 1) / (trials + 2)
    more = np.nan_to_num(relative) * trials * middle / (1 - middle)
    found: Floats = trials / (effects + more)
    return found


def _ratio(over: Floats, under: Floats) -> Floats:
    """NaN where nothing is below."""
    found: Floats = np.divide(over, under, out=np.full(len(over), np.nan), where=under > 0)
    return found


def _rates(cells: Cells) -> Floats:
    """The click-through rate of each position; 0 where nothing was shown."""
    found: Floats = np.nan_to_num(_ratio(cells.by_position(cells.clicks), cells.by_position(cells.shown)))
    return found


# The position-based model ---------------------------------------------------------------------------------------------


def _positions_that_join(cells: Cells) -> Bools:
    """The positions that clicked pairs join to each other: of several such groups, the one with most impressions."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    pairs, positions = len(cells.pair_effects), len(cells.position_effects)
    told = (cells.by_pair(cells.clicks)[cells.pair] > 0) & (cells.by_position(cells.clicks)[cells.position] > 0)
    ends = (cells.pair[told], pairs + cells.position[told])
    graph = coo_matrix((np.ones(int(told.sum()), np.int8), ends), shape=(pairs + positions, pairs + positions))
    group = connected_components(graph, directed=False)[1][pairs:]
    shown = np.bincount(group, weights=cells.by_position(cells.shown * told))
    found: Bools = (group == int(np.argmax(shown))) & (cells.by_position(cells.shown * told) > 0)
    if found.sum() < 2:  # noqa: PLR2004 - a position alone says nothing of positions
        listed = np.flatnonzero(cells.by_position(cells.shown) > 0) + 1
        raise InputError(
            say(
                "no document with clicks was shown at several positions ({positions}) for the same query: where it "
                "stood and how attractive it was cannot be told apart",
                positions=some(listed.tolist(), _SHOWN),
            ),
            hint=say("use --model coec, or a log with rankings that changed or were shuffled"),
        )
    return found


def _maximise(cells: Cells) -> tuple[Floats, Floats, int]:
    """Find attraction and examination by EM, with steps that are extended as far as the likelihood allows."""
    shown, clicks = cells.by_pair(cells.shown), cells.by_position(cells.shown)
    size = len(shown)

    def step(both: Floats) -> Floats:
        a, g = both[:size], both[size:]
        missed = (cells.shown - cells.clicks) / np.maximum(1 - a[cells.pair] * g[cells.position], _LEAST)
        attracted = cells.clicks + missed * a[cells.pair] * (1 - g[cells.position])
        examined = cells.clicks + missed * g[cells.position] * (1 - a[cells.pair])
        found = np.concatenate([_ratio(cells.by_pair(attracted), shown), _ratio(cells.by_position(examined), clicks)])
        known: Floats = np.nan_to_num(found)
        return known

    now = step(step(_start(cells)))
    done = 0
    while done < _ROUNDS:
        done += 1
        one = step(now)
        two = step(one)
        first, second = one - now, two - 2 * one + now
        bend = float(np.linalg.norm(second))
        reach = min(-float(np.linalg.norm(first)) / bend, -1.0) if bend > 0 else -1.0
        further = np.clip(now - 2 * reach * first + reach**2 * second, 0.0, 1.0)
        now_next = step(further)
        if reach < -1 and _likelihood(cells, now_next) < _likelihood(cells, two):
            now_next = two
        change = np.abs(_relative(now_next[size:]) - _relative(now[size:])).max()
        now = now_next
        if change < _STEADY:
            break
    return now[:size], now[size:], done


def _relative(examination: Floats) -> Floats:
    """Examination as a share of the largest."""
    found: Floats = examination / max(float(examination.max()), _LEAST)
    return found


def _start(cells: Cells) -> Floats:
    """The most likely values if clicks were rare (Poisson), scaled into the range from 0 to 1."""
    a = np.nan_to_num(_ratio(cells.by_pair(cells.clicks), cells.by_pair(cells.shown)))
    g = np.ones(len(cells.position_effects))
    for _ in range(20):
        g = np.nan_to_num(_ratio(cells.by_position(cells.clicks), cells.by_position(cells.shown * a[cells.pair])))
        g /= max(float(g.max()), _LEAST)
        a = np.nan_to_num(_ratio(cells.by_pair(cells.clicks), cells.by_pair(cells.shown * g[cells.position])))
    return np.concatenate([np.clip(a, 0.0, 0.999), np.clip(g, 0.0, 0.999)])


def _likelihood(cells: Cells, both: Floats) -> float:
    size = len(cells.pair_effects)
    rate = np.clip(both[:size][cells.pair] * both[size:][cells.position], _LEAST, 1 - _LEAST)
    return float((cells.clicks * np.log(rate) + (cells.shown - cells.clicks) * np.log1p(-rate)).sum())


def _information(cells: Cells, attraction: Floats, examination: Floats, first: int) -> tuple[Floats, Floats, Floats]:
    """Standard errors of the examination; for each pair its own information, and the doubt that it shares.

    With eta = log attraction + log examination of a cell, the information of eta is (n - c) p/(1 - p)^2. Attractions
    belong to one pair each, so that they are eliminated exactly (Schur complement), however many there are.
    """
    from scipy.sparse import csr_matrix

    p = np.clip(attraction[cells.pair] * examination[cells.position], 0.0, 1 - _LEAST)
    weight = (cells.shown - cells.clicks) * p / (1 - p) ** 2
    own, positions = cells.by_pair(weight), len(examination)
    table = csr_matrix((weight, (cells.pair, cells.position)), shape=(len(attraction), positions))
    scaled = csr_matrix((weight / np.maximum(own[cells.pair], _LEAST), (cells.pair, cells.position)), table.shape)
    left = np.diag(cells.by_position(weight)) - (table.T @ scaled).toarray()
    free = np.flatnonzero((np.arange(positions) != first) & (examination > _LEAST) & (np.diag(left) > 0))
    covariance = np.zeros((positions, positions))
    covariance[np.ix_(free, free)] = np.linalg.pinv(left[np.ix_(free, free)], hermitian=True)
    covariance *= _mean_effect(cells)
    errors = np.full(positions, np.nan)
    errors[free] = examination[free] * np.sqrt(np.maximum(np.diag(covariance)[free], 0.0))
    errors[first] = 0.0
    shared = np.asarray(scaled.multiply(scaled @ covariance).sum(axis=1)).ravel()
    return errors, own, np.maximum(shared, 0.0)


def _mean_effect(cells: Cells) -> float:
    shown = cells.by_position(cells.shown)
    return float((shown * cells.position_effects).sum() / shown.sum())
