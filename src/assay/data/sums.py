"""Sums of columns that do not depend on the order of the rows, nor on how many threads or machines add them up."""

from __future__ import annotations

from assay.lazy import pl

_BITS = 88  # of a fraction that are added up; all 53 of what is above 1e-10
_LARGEST = 2.0**88  # of 128 bits, so that as many values of this size can be added up as there may be rows


def exact_sum(values: pl.Expr) -> pl.Expr:
    """The sum of floats, the same bits in any order: floats that are added up one by one differ in the last of them.

    Whole parts and fractions are added up as whole numbers of 128 bits. What is larger than 3e26, and what is no
    number, is added up as floats are.

    >>> import polars as pl
    >>> pl.DataFrame({"x": [1e16, 0.5, -1e16, 0.25]}).select(exact_sum(pl.col("x"))).item()
    0.75
    """
    return _join(*sum_parts(values, "").values())


def sum_parts(values: pl.Expr, name: str) -> dict[str, pl.Expr]:
    """A sum as three columns, which are added up over parts of the rows, and then joined by `join_parts`."""
    fits = values.abs() < _LARGEST
    fitting = pl.when(fits).then(values)
    whole = fitting.cast(pl.Int128)
    fraction = ((fitting - whole.cast(pl.Float64)) * 2.0**_BITS).cast(pl.Int128)
    found = (whole.sum(), fraction.sum(), pl.when(~fits).then(values).sum())
    return dict(zip(_columns(name), found, strict=True))


def join_parts(name: str) -> pl.Expr:
    """The sum whose three columns in each part `sum_parts` made."""
    return _join(*(pl.col(one).sum() for one in _columns(name)))


def _columns(name: str) -> tuple[str, str, str]:
    return f"{name} whole", f"{name} fraction", f"{name} odd"


def _join(whole: pl.Expr, fraction: pl.Expr, odd: pl.Expr) -> pl.Expr:
    return whole.cast(pl.Float64) + fraction.cast(pl.Float64) / 2.0**_BITS + odd
