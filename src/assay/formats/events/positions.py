"""Whether a log counts positions from 0 or from 1, query by query.

A query in which position 0 occurs counts from 0; one in which something was shown at 1 and nothing at 0 counts from 1.
A query that shows neither (its only event is a click at 4) counts as its application does, if the queries of that
application which show it agree; where none shows it, an application in which 1 occurs and 0 never does counts from 1.
What is left could be either, so that its positions are not used. A row without a query id stands for itself alone: it
counts among what its application shows, and as its application does.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.lazy import pl

_GROUP = ["query", "application"]


@dataclass(frozen=True)
class Bases:
    """Where positions begin: a table of queries with `base` 0, 1 or null where it is not known.

    Rows without a query id are `nameless`, one for each application, and no query.
    """

    queries: pl.DataFrame

    def count(self, base: int | None) -> int:
        """Number of queries whose positions begin there."""
        named = self.queries.filter(~pl.col("nameless"))["base"]
        return int((named.is_null() if base is None else named == base).sum())

    @property
    def changes(self) -> pl.DataFrame:
        """The queries whose positions do not begin at 1."""
        return self.queries.filter(pl.col("base").is_null() | (pl.col("base") == 0)).select(*_GROUP, "base")


def find_bases(keys: pl.LazyFrame, first: int | None = None) -> Bases:
    """Find where the positions of each query begin, or take it as told.

    `keys` has `query`, `application`, `position`, `nameless` (whether the row has no query id) and `impression`
    (whether it says that something was shown).
    """
    queries = look_at_queries(keys)
    return join_bases(queries, find_common(count_bases(queries)), first)


def look_at_queries(keys: pl.LazyFrame) -> pl.DataFrame:
    """Where the positions of each query begin by its own rows: `own`, null where they do not show it."""
    position = pl.col("position")
    told = {"zero": position == 0, "shown": (position == 1) & pl.col("impression"), "one": position == 1}
    rows = keys.filter(position.is_not_null())
    asked = rows.filter(~pl.col("nameless")).group_by(_GROUP).agg(**{name: one.any() for name, one in told.items()})
    alone = rows.filter("nameless").select(*_GROUP, **told).unique()
    both = [asked.with_columns(nameless=pl.lit(value=False)), alone.with_columns(nameless=pl.lit(value=True))]
    own = pl.when(pl.col("zero")).then(0).when(pl.col("shown")).then(1)
    return pl.concat(both).with_columns(own=own.cast(pl.Int8)).collect(engine="streaming")


def join_bases(queries: pl.DataFrame, common: pl.DataFrame, first: int | None = None) -> Bases:
    """Where the positions of each query begin: as its own rows show, as in its application, or as told."""
    if first is not None:
        base, joined = pl.lit(first, pl.Int8), queries
    else:
        base, joined = (
            pl.coalesce(pl.when(~pl.col("nameless")).then("own"), "common"),
            queries.join(common, on="application"),
        )
    return Bases(joined.select(*_GROUP, "nameless", base=base).unique())


def count_bases(queries: pl.DataFrame) -> pl.DataFrame:
    """What the queries of each application show: the lowest and highest base, and whether 1 occurs."""
    return queries.group_by("application").agg(
        low=pl.col("own").min(), high=pl.col("own").max(), one=pl.col("one").any()
    )


def find_common(bases: pl.DataFrame) -> pl.DataFrame:
    """Where the positions of an application begin, as far as its queries agree."""
    agreed = pl.when(pl.col("low") == pl.col("high")).then(pl.col("low"))
    guess = pl.when(pl.col("low").is_null() & pl.col("one")).then(1)
    return bases.select("application", common=pl.coalesce(agreed, guess.cast(pl.Int8)))
