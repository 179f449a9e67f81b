"""Whether a log counts positions from 0 or from 1, query by query.

A query in which position 0 occurs counts from 0; one in which something was shown at 1 and nothing at 0 counts from 1.
A query that shows neither (its only event is a click at 4) counts as its application does, if the queries of that
application which show it agree; where none shows it, an application in which 1 occurs and 0 never does counts from 1.
What is left could be either, so that its positions are not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.lazy import pl

_GROUP = ["query", "application"]


@dataclass(frozen=True)
class Bases:
    """Where positions begin: a table of queries with `base` 0, 1 or null where it is not known."""

    queries: pl.DataFrame

    def count(self, base: int | None) -> int:
        """Number of queries whose positions begin there."""
        return int((self.queries["base"].is_null() if base is None else self.queries["base"] == base).sum())

    @property
    def changes(self) -> pl.DataFrame:
        """The queries whose positions do not begin at 1."""
        return self.queries.filter(pl.col("base").is_null() | (pl.col("base") == 0)).select(*_GROUP, "base")


def find_bases(keys: pl.DataFrame, first: int | None = None) -> Bases:
    """Find where the positions of each query begin, or take it as told.

    `keys` has `query`, `application`, `position` and `impression` (whether the row says that something was shown).
    """
    position = pl.col("position")
    queries = (
        keys.filter(position.is_not_null())
        .group_by(_GROUP)
        .agg(
            zero=(position == 0).any(),
            shown=((position == 1) & pl.col("impression")).any(),
            one=(position == 1).any(),
        )
    )
    if first is not None:
        return Bases(queries.with_columns(base=pl.lit(first, pl.Int8)))
    own = pl.when(pl.col("zero")).then(0).when(pl.col("shown")).then(1)
    queries = queries.with_columns(own=own.cast(pl.Int8))
    return Bases(
        queries.join(_by_application(queries), on="application").select(
            *_GROUP, "own", base=pl.coalesce("own", "common")
        )
    )


def _by_application(queries: pl.DataFrame) -> pl.DataFrame:
    """Where the positions of an application begin, as far as its queries agree."""
    bases = queries.group_by("application").agg(
        low=pl.col("own").min(), high=pl.col("own").max(), one=pl.col("one").any()
    )
    agreed = pl.when(pl.col("low") == pl.col("high")).then(pl.col("low"))
    guess = pl.when(pl.col("low").is_null() & pl.col("one")).then(1)
    return bases.select("application", common=pl.coalesce(agreed, guess.cast(pl.Int8)))
