"""Ratings of an event log: by thumbs or by stars, and which of the two a number is."""

from __future__ import annotations

from typing import Literal

from assay.lazy import pl
from assay.messages import Said, say

Scale = Literal["thumbs", "stars"]
_THUMBS = (-1.0, 0.0, 1.0)
_POOR = 2  # stars, and fewer


def settle_scales(frame: pl.LazyFrame) -> tuple[pl.LazyFrame, list[Said]]:
    """Say of ratings that are mere numbers which scale they have, and what cannot be known.

    With a number that thumbs do not have, those from 0 on are stars; else they are thumbs if some is not 1. Where all
    are 1 they may be thumbs up or single stars: they have no scale, and no measure counts them.
    """
    settling, notes = choose_scale(*count_bare(frame))
    return (frame if settling is None else frame.with_columns(settling)), notes


def count_bare(frame: pl.LazyFrame) -> tuple[int, bool, bool]:
    """How many ratings are mere numbers, and whether some of them must be stars, or must be thumbs."""
    bare = pl.col("feedback").filter(pl.col("rating_scale").is_null()).drop_nulls()
    asked = frame.select(n=bare.len(), stars=(~bare.is_in(_THUMBS)).any(), thumbs=(bare < 1).any())
    n, stars, thumbs = asked.collect(engine="streaming").row(0)
    return n, stars, thumbs


def choose_scale(n: int, stars: bool, thumbs: bool) -> tuple[pl.Expr | None, list[Said]]:  # noqa: FBT001 - as counted
    """The scale of `n` mere numbers as a column, if one can be known, and what is to be said."""
    if not n:
        return None, []
    if not stars and not thumbs:
        return None, [say("events.unclear_ratings", n=n)]
    is_bare = pl.col("rating_scale").is_null() & pl.col("feedback").is_not_null()
    found = (
        pl.when(is_bare & (pl.col("feedback") >= 0)).then(pl.lit("stars"))
        if stars
        else pl.when(is_bare).then(pl.lit("thumbs"))
    )
    return found.otherwise("rating_scale").alias("rating_scale"), []


def has_scale(scale: str) -> pl.Expr:
    """Whether a row is a rating of this scale."""
    return (pl.col("feedback").is_not_null() & (pl.col("rating_scale") == scale)).fill_null(value=False)


def is_poor() -> pl.Expr:
    """Whether a row is a thumb down, or a rating of one or two stars."""
    down = has_scale("thumbs") & (pl.col("feedback") < 0)
    return (down | has_scale("stars") & (pl.col("feedback") <= _POOR)).fill_null(value=False)
