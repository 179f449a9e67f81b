"""Many looks at a simulated A/B test at once: the lift and its error at each, from sums over the users seen so far."""

from __future__ import annotations

import numpy as np

from assay.stats.trials import confidence_sequence

CONSTANT = (0.0, 1.0, 0.0, 1.0)  # of value, denominator, and both before the test, where there is none


def sums_of_steps(table, step):
    """Numbers, sums and sums of products of users (rows) who come in by so many at each look."""
    n = np.arange(step, len(table) + 1, step)
    products = table[:, :, None] * table[:, None, :]
    return n, np.cumsum(table, axis=0)[n - 1], np.cumsum(products, axis=0)[n - 1]


def sums_of_growth(table, there):
    """The same of users (looks x users x columns) whose values grow, of those who are there at each look."""
    return there.sum(axis=1), table.sum(axis=1), np.einsum("lui,luj->lij", table, table)


def find_lifts(old, new):
    """Lifts and squared standard errors at every look, by the delta method and CUPED, of two arms' sums."""
    arms = [_moments(*old), _moments(*new)]
    n, means, spread = _moments(*(a + b for a, b in zip(old, new, strict=True)))
    own, other = _gradients(means)
    explains = np.einsum("li,lij,lj->l", other, spread, other)
    shared = np.einsum("li,lij,lj->l", own, spread, other)
    theta = np.divide(shared, explains, out=np.zeros(len(n)), where=explains > 0)
    values, errors = [], []
    for size, mean, covariance in arms:
        own, other = _gradients(mean)
        way = own - theta[:, None] * other
        values.append(mean[:, 0] / mean[:, 1] - theta * (mean[:, 2] / mean[:, 3]))
        errors.append(np.einsum("li,lij,lj->l", way, covariance, way) / size)
    return values[1] - values[0], errors[0] + errors[1]


def _moments(n, sums, products):
    means = sums / n[:, None]
    scatter = products - n[:, None, None] * means[:, :, None] * means[:, None, :]
    return n, means, scatter / (n - 1)[:, None, None]


def _gradients(means):
    y, d, x, e = means.T
    nothing = np.zeros(len(y))
    own = np.stack([1 / d, -y / d**2, nothing, nothing], axis=1)
    return own, np.stack([nothing, nothing, 1 / e, -x / e**2], axis=1)


def half_widths(n, tuning):
    """How many standard errors wide the interval that holds at every look is to each side."""
    return np.array([confidence_sequence(0.0, 1.0, n=int(one), tuning=tuning).high for one in n])
