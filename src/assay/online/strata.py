"""Strata of an event log: requests about which something is known that makes them worth a closer look."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from assay.data.events import QUERY
from assay.data.ratings import is_poor
from assay.data.requests import add_next, is_reworded
from assay.errors import InputError, UnknownName
from assay.lazy import pl
from assay.messages import say
from assay.online.impressions import CLICK, IMPRESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assay.data.events import Events

RANDOM = "random"
LOW = "low:"
STRATA = ("thumbs_down", "no_click", "reformulated", "zero_results", "new")
_NEW = timedelta(days=7)
_LOWEST = 0.1


def list_requests(events: Events, code: pl.DataFrame, strata: Sequence[str]) -> pl.DataFrame:
    """One row per request that has a text: query_id, code (number of its text), and a column for each stratum."""
    names = attributes_of(strata)
    for name in names:
        if name not in events.attributes:
            raise UnknownName(say("attribute of the log"), name, events.attributes)
    requests = events.frame.filter(pl.col("action") == QUERY).unique("query_id", keep="first", maintain_order=True)
    wanted = ("query_id", "text", "user", "session", "time", "results", "result_count", *names)
    asked = requests.select(wanted).collect().join(code, on="text", how="inner", maintain_order="left")
    asked = asked.filter(pl.col("code").is_not_null())
    asked = asked.join(_deeds(events), on="query_id", how="left", maintain_order="left")
    return asked.select("query_id", "code", **{name: find_stratum(name)(asked) for name in strata})


def attributes_of(strata: Sequence[str]) -> list[str]:
    """The attributes of the log that strata are made of: top_score for low:top_score."""
    return [name.removeprefix(LOW) for name in strata if name.startswith(LOW)]


def find_stratum(name: str) -> Callable[[pl.DataFrame], pl.Series]:
    """The function that says for each request whether it is in a stratum."""
    if name.startswith(LOW):
        return lambda asked: _lowest(asked, name.removeprefix(LOW))
    found = {
        "thumbs_down": _thumbs_down, "no_click": _no_click, "reformulated": _other_words_followed,
        "zero_results": _zero_results, "new": _new,
    }  # fmt: skip
    if name not in found:
        hint = say("expected one of {choices}", choices=[*STRATA, f"{LOW}COLUMN"])
        raise UnknownName(say("stratum"), name, STRATA, hint=hint)
    return found[name]


def _deeds(events: Events) -> pl.DataFrame:
    """What followed each request: whether anything was shown, whether clicked, and whether rated as poor."""
    acts = events.frame.filter(pl.col("action") != QUERY).group_by("query_id")
    return acts.agg(
        shown=(pl.col("action") == IMPRESSION).any(),
        clicked=(pl.col("action") == CLICK).any(),
        poor=is_poor().any(),
    ).collect()


def _true(asked: pl.DataFrame, condition: pl.Expr) -> pl.Series:
    return asked.select(condition.fill_null(value=False).alias("found"))["found"]


def _thumbs_down(asked: pl.DataFrame) -> pl.Series:
    """Rated by a thumb down, or with one or two stars."""
    return _true(asked, pl.col("poor"))


def _no_click(asked: pl.DataFrame) -> pl.Series:
    """Something was found, and nothing of it was clicked; only in a log with clicks."""
    if not asked["clicked"].any():
        return pl.Series([False] * len(asked), dtype=pl.Boolean)
    found = pl.col("shown").fill_null(value=False) | (pl.col("results").list.len() > 0) | (pl.col("result_count") > 0)
    return _true(asked, found & ~pl.col("clicked").fill_null(value=False))


def _zero_results(asked: pl.DataFrame) -> pl.Series:
    return _true(asked, (pl.col("result_count") == 0) | (pl.col("results").list.len() == 0))


def _other_words_followed(asked: pl.DataFrame) -> pl.Series:
    """The same session (or user) asked something else within five minutes."""
    rows = add_next(asked.select("query_id", "session", "user", "time", "code").with_row_index().lazy(), "code")
    found = rows.select("index", reworded=is_reworded(pl.col("code"), pl.col("next code")))
    return found.sort("index").collect()["reworded"]


def _new(asked: pl.DataFrame) -> pl.Series:
    """Its text was asked in the last seven days for the first time; only in a log that is twice as long."""
    known = asked["time"].drop_nulls()
    if not len(known) or known.max() - known.min() < 2 * _NEW:  # type: ignore[operator]
        return pl.Series([False] * len(asked), dtype=pl.Boolean)
    return _true(asked, pl.col("time").min().over("code") > pl.lit(known.max()) - _NEW)


def _lowest(asked: pl.DataFrame, name: str) -> pl.Series:
    """The tenth with the lowest value of an attribute, such as the score of the best document."""
    values = asked[name].cast(pl.Float64, strict=False)
    limit = values.quantile(_LOWEST, interpolation="lower")
    if limit is None:
        raise InputError(say("{name} has no numbers", name=name))
    return (values <= limit).fill_null(value=False)
