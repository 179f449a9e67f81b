"""Drift: how the requests of a window differ from those of the first windows, in what is asked and what is found.

Each thing that is looked at (the length of queries, their language, where results come from, the best score ...) has a
kind for every request. The first windows are the baseline. Afterwards the population stability index of every window
against it is a measure like any other, with a target that it should stay below, and rings by the same rule.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.data.events import QUERY
from assay.lazy import pl
from assay.measures.lists import rbo_lists
from assay.online.watching.settings import CANARY, label_drift
from assay.results.watch import WatchValue
from assay.stats.drift import group_names, group_numbers, stability_interval
from assay.stats.intervals import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assay.data.events import Events
    from assay.online.watching.settings import WatchSettings
    from assay.stats.intervals import Interval

_FINE = 4  # bins of a number for each doubling
_NUMBERS = {"query_length", "top_score", "score_gap"}  # things whose kinds are bins; a source may be called 12, too
_SIGNS = "[/#:]"  # what ends the name of a source in the id of a document
_PERSISTENCE = 0.9


@dataclass
class EarlierWindows:
    """What the first windows held: counts of kinds, and the lists of the canary queries; `windows` made it."""

    windows: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)


def find_drift(
    events: Events, settings: WatchSettings, baseline: EarlierWindows
) -> tuple[list[WatchValue], EarlierWindows]:
    """The values of a window, and the baseline, to which a window belongs while it is not complete."""
    if not settings.drift and not settings.canary:
        return [], baseline
    asked = events.collect(events.frame.filter(pl.col("action") == QUERY).unique("query_id"))
    kinds = {name: rows for name, rows in list_kinds(asked) if len(rows)} if settings.drift else {}
    values = list(_compare_lists(asked, settings, baseline))
    if baseline.windows >= settings.baseline:
        values += _compare_kinds(kinds, settings, baseline)
        return values, baseline
    counts = {
        name: dict(Counter(baseline.counts.get(name, {})) + Counter(_count(rows))) for name, rows in kinds.items()
    }
    lists = {**_lists_of(asked, settings.canary), **baseline.lists}
    return values, EarlierWindows(baseline.windows + 1, {**baseline.counts, **counts}, lists)


def list_kinds(asked: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The kinds of each thing as a column `kind`, with the user of each."""
    user = pl.coalesce("user", "session", "query_id").alias("user")
    text = pl.col("text").str.strip_chars()
    han, latin = text.str.contains(r"\p{Han}"), text.str.contains(r"\p{Latin}")
    script = pl.when(han & latin).then(pl.lit("mixed")).when(han).then(pl.lit("zh")).when(latin).then(pl.lit("latin"))
    yield "query_length", _kinds(asked, user, _bin(text.str.len_chars()))
    yield "language", _kinds(asked, user, pl.when(text.is_not_null()).then(script.otherwise(pl.lit("other"))))
    for name in ("top_score", "score_gap"):
        if name in asked.columns:
            yield name, _kinds(asked, user, _bin(pl.col(name)))
    found = asked.select(user, kind=pl.col("results")).explode("kind").drop_nulls("kind")
    named = found.filter(pl.col("kind").str.contains(_SIGNS))
    yield "source", named.with_columns(pl.col("kind").str.replace(f"{_SIGNS}.*$", ""))


def _kinds(asked: pl.DataFrame, user: pl.Expr, kind: pl.Expr) -> pl.DataFrame:
    return asked.select(user, kind=kind.cast(pl.String)).drop_nulls("kind")


def _bin(number: pl.Expr) -> pl.Expr:
    """A fine bin of a number, whose width grows with it: the inverse hyperbolic sine is a logarithm with two signs."""
    value = number.cast(pl.Float64)
    return (_FINE * (value * _FINE).arcsinh()).round().cast(pl.Int64)


def _count(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows.group_by("kind").len().iter_rows())


def _effective(rows: pl.DataFrame) -> float:
    """How many users with equal numbers of rows they are worth: what one user does may be all the same."""
    sizes = rows.group_by("user").len()["len"].to_numpy().astype(float)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _compare_kinds(
    kinds: Mapping[str, pl.DataFrame], settings: WatchSettings, baseline: EarlierWindows
) -> Iterator[WatchValue]:
    for name, rows in kinds.items():
        if before := baseline.counts.get(name):
            groups = _group(_count(rows), before, numbers=name in _NUMBERS)
            yield WatchValue(label_drift(name), _stability(rows, before, groups, settings.rule.confidence_level))


def _group(counts: Mapping[str, int], before: Mapping[str, int], *, numbers: bool) -> list[set[str]]:
    """Kinds that are looked at together: neighbouring bins of numbers, and names that are rare."""
    if not numbers:
        return group_names(before, counts)
    found = group_numbers({int(kind): n for kind, n in before.items()}, map(int, counts))
    return [{str(one) for one in group} for group in found]


def _stability(rows: pl.DataFrame, before: Mapping[str, int], groups: Sequence[set[str]], level: float) -> Interval:
    counts = _count(rows)
    table = [[sum(of.get(kind, 0) for kind in group) for group in groups] for of in (counts, before)]
    return stability_interval(*table, effective=_effective(rows), confidence_level=level)


def _lists_of(asked: pl.DataFrame, canary: frozenset[str]) -> dict[str, list[str]]:
    """The results of the canary queries by their texts, without those that found nothing that is known."""
    if not canary:
        return {}
    text = pl.col("text").str.strip_chars()
    rows = asked.select("time", "results", text=text).drop_nulls("results").filter(pl.col("text").is_in(list(canary)))
    return {row["text"]: list(dict.fromkeys(row["results"])) for row in rows.sort("time").iter_rows(named=True)}


def _compare_lists(asked: pl.DataFrame, settings: WatchSettings, baseline: EarlierWindows) -> Iterator[WatchValue]:
    """How like their first lists the last ones of the canary queries are: rank-biased overlap, 1 for equal ones."""
    found = _lists_of(asked, settings.canary)
    overlaps = [
        rbo_lists(found[text], baseline.lists[text], _PERSISTENCE) for text in sorted(found) if text in baseline.lists
    ]
    if overlaps:
        level = settings.rule.confidence_level
        yield WatchValue(CANARY, mean_interval(overlaps, bounds=(0.0, 1.0), confidence_level=level))
