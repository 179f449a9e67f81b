"""Sums are the same bits in any order of the rows, and those of math.fsum."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from assay.data.sums import exact_sum, join_parts, sum_parts


def numbers(kind, rng, size=3000):
    if kind == "small":
        return rng.lognormal(-12, 4, size)
    if kind == "mixed":
        return rng.choice([1e17, -1e17, 0.1, 1 / 3, 3.0, -7e-9], size) * rng.random(size)
    return rng.lognormal(3, 2, size)


@pytest.mark.parametrize("kind", ["times", "small", "mixed"])
def test_a_sum_is_that_of_fsum_whatever_the_order_and_the_parts(kind):
    rng = np.random.default_rng(len(kind))
    frame = pl.DataFrame({"x": numbers(kind, rng), "part": rng.integers(0, 7, 3000), "g": rng.integers(0, 3, 3000)})
    whole = frame.lazy().group_by("g").agg(exact_sum(pl.col("x"))).collect(engine="streaming").sort("g")["x"].to_list()
    for place, found in enumerate(whole):
        assert found == pytest.approx(math.fsum(frame.filter(g=place)["x"]), rel=2e-15, abs=1e-15)
    for seed in range(5):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        again = shuffled.lazy().group_by("g").agg(exact_sum(pl.col("x"))).collect(engine="streaming")
        assert again.sort("g")["x"].to_list() == whole
        parts = shuffled.group_by("part", "g").agg(**sum_parts(pl.col("x"), "x"))
        assert parts.group_by("g").agg(x=join_parts("x")).sort("g")["x"].to_list() == whole


def test_what_is_no_number_or_very_large_stays_so():
    assert math.isnan(pl.DataFrame({"x": [1.0, math.nan]}).select(exact_sum(pl.col("x"))).item())
    assert pl.DataFrame({"x": [1e300, 1.0, None]}).select(exact_sum(pl.col("x"))).item() == 1e300
    assert pl.DataFrame({"x": []}, schema={"x": pl.Float64}).select(exact_sum(pl.col("x"))).item() == 0
