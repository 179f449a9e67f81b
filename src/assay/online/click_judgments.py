"""Judgments from the clicks of an event log: a click model, cut points, and grades that say where they are from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import UnknownName, UsageError, excerpt
from assay.messages import Said, say
from assay.online.log_tables import find_shown_pairs, open_events
from assay.results.click_judgments import ClickedQuery, ClickJudgments, ClickPairs, PositionClicks
from assay.stats.click_models import click_through, clicks_over_expected, position_based

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.events import Events
    from assay.engines.engine import Engine
    from assay.formats.events.reading import Places
    from assay.online.impressions import PairCounts, ShownPairs
    from assay.stats.click_models import Cells, ClickValues
    from assay.stats.inputs import Bools, Floats

    Shown = ShownPairs | PairCounts

VALUE = "value"
OPENSEARCH = "coec(variant='opensearch')"
_MODELS: dict[str, Callable[..., ClickValues]] = {
    "coec": clicks_over_expected,
    OPENSEARCH: lambda cells, **more: clicks_over_expected(cells, variant="opensearch", **more),
    "ctr": click_through,
    "pbm": position_based,
}
MODELS = tuple(_MODELS)
# 1 is as usual for COEC, whatever the log; rates of clicks differ too much between applications for fixed points.
_CUTS: dict[str, tuple[float | str, ...]] = {"coec": (0.5, 1, 2), OPENSEARCH: (0.5, 1, 2)}
_QUANTILES = ("50%", "75%", "90%")

Cuts = str | Sequence[float | str] | None


def click_judgments(
    events: Events | Places,
    model: str = "coec",
    *,
    least: int = 10,
    cuts: Cuts = None,
    queries: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    engine: str | Engine | None = None,
) -> ClickJudgments:
    """Judge pairs of a query text and a document by the clicks of an event log.

    `model` is `coec` (clicks over expected clicks: those that the same positions usually get), `pbm` (the
    position-based model), `ctr` (clicks over impressions) or `coec(variant='opensearch')`. Pairs that were shown fewer
    than `least` times stay unjudged. `cuts` are the values from which grades 1, 2 ... begin: numbers, or shares of the
    clicked pairs such as `50%`; `value` takes the value itself as the grade. Unless given they are .5, 1, 2 of COEC,
    50%, 75%, 90% of the others. `queries` are texts by id: a text in it, in any spelling, has that id; any other one
    that is made from its text. An `engine` reads and counts where the log is: Parquet, tables or frames of Spark.

    >>> import assay, polars as pl
    >>> rows = [(f"r{i}", "query", None, None) for i in range(40)]
    >>> rows += [(f"r{i}", "impression", doc, 1 + (i + j) % 2) for i in range(40) for j, doc in enumerate("ab")]
    >>> rows += [(f"r{i}", "click", "a", None) for i in range(0, 40, 2)]
    >>> log = pl.DataFrame(rows, schema=["query_id", "action", "doc_id", "position"], orient="row")
    >>> found = assay.click_judgments(assay.Events.of(log.with_columns(text=pl.lit("tea"))))
    >>> found.to_judgments().to_dict()
    {'qa9f74d1ec36ebdeb': {'a': 3.0, 'b': 0.0}}
    """
    name = _model(model)
    if least < 1:
        raise UsageError(say("{name} must be at least {least}, not {found}", name="least", least=1, found=least))
    wanted = read_cuts(cuts, name)
    with open_events(events, engine=engine) as log:
        pairs, remarks = find_shown_pairs(log, queries, positions=name != "ctr"), log.remarks
    cells = pairs.cells()
    enough = cells.by_pair(cells.shown) >= least
    used = cells.only(enough[cells.pair]) if name == "pbm" else cells  # pairs of few impressions would bias examination
    found = _MODELS[name](used, confidence_level=confidence_level)
    kept = enough & ~np.isnan(found.value)
    limits = _limits(wanted, found.value[kept])
    grades = found.value if limits is None else _grade(found.value, limits)
    return ClickJudgments(
        model=name,
        queries=_queries(pairs, kept),
        pairs=_columns(pairs, found, kept, grades),
        positions=_positions(cells, found),
        cuts=() if limits is None else limits,
        least=least,
        requests=pairs.requests,
        impressions=int(cells.shown.sum()),
        clicks=int(cells.clicks.sum()),
        rare=int((~enough).sum()),
        silent=int((enough & np.isnan(found.value)).sum()),
        left_out={reason: n for reason, n in pairs.left_out.items() if n},
        confidence_level=confidence_level,
        design_effect=_mean_effect(cells, enough),
        warnings=(*remarks, *_warnings(pairs, found, kept)),
    )


def _model(text: str) -> str:
    plain = text.replace(" ", "").replace('"', "'").lower()
    if plain not in _MODELS:
        hint = say("expected one of {choices}", choices=list(MODELS))
        raise UnknownName(say("value of {name}", name="model"), text, MODELS, hint=hint)
    return plain


# Grades ---------------------------------------------------------------------------------------------------------------


def read_cuts(cuts: Cuts, model: str = "coec") -> tuple[float | str, ...] | None:
    """Read cut points: numbers and shares such as `50%`, in one text or a list; None for the value itself.

    >>> read_cuts("0.5, 1, 2"), read_cuts("value"), read_cuts(None, "pbm")
    ((0.5, 1.0, 2.0), None, ('50%', '75%', '90%'))
    """
    if cuts is None:
        return _CUTS.get(model, _QUANTILES)
    if cuts == VALUE:
        return None
    parts = cuts.split(",") if isinstance(cuts, str) else list(cuts)
    found = tuple(_cut(part) for part in parts)
    kinds = {isinstance(one, str) for one in found}
    numbers = [float(one.rstrip("%")) if isinstance(one, str) else one for one in found]
    if not found or len(kinds) > 1 or any(b <= a for a, b in itertools.pairwise(numbers)):
        raise _odd_cuts(cuts)
    return found


def _cut(part: float | str) -> float | str:
    text = str(part).strip()
    try:
        number = float(text.rstrip("%"))
    except ValueError:
        raise _odd_cuts(part) from None
    if not (0 < number < (100 if text.endswith("%") else np.inf)):
        raise _odd_cuts(part)
    return text if text.endswith("%") else number


def _odd_cuts(cuts: object) -> UsageError:
    return UsageError(
        say(
            "cuts {text}: write rising values such as 0.5,1,2, shares such as 50%,75%,90%, or value", text=excerpt(cuts)
        )
    )


def _limits(cuts: tuple[float | str, ...] | None, values: Floats) -> tuple[float, ...] | None:
    """The values at which grades begin; shares are those of the pairs with clicks."""
    if cuts is None:
        return None
    clicked = values[values > 0]
    if any(isinstance(one, str) for one in cuts):
        shares = [float(str(one).rstrip("%")) / 100 for one in cuts]
        return tuple(float(np.quantile(clicked, share)) for share in shares) if len(clicked) else ()
    return tuple(float(one) for one in cuts)


def _grade(values: Floats, limits: Sequence[float]) -> Floats:
    """How many limits a value reaches; what was never clicked has the grade 0."""
    reached: Floats = np.searchsorted(np.array(limits), np.nan_to_num(values), side="right").astype(np.float64)
    return np.where(values > 0, reached, 0.0)


# The record -----------------------------------------------------------------------------------------------------------


def _queries(pairs: Shown, kept: Bools) -> tuple[ClickedQuery, ...]:
    texts = pairs.queries
    return tuple(
        ClickedQuery(texts.ids[place], texts.texts[place], texts.requests[place])
        for place in np.unique(pairs.query[kept]).tolist()
    )


def _columns(pairs: Shown, found: ClickValues, kept: Bools, grades: Floats) -> ClickPairs:
    places = np.flatnonzero(kept)
    return ClickPairs(
        query=tuple(np.unique(pairs.query[kept], return_inverse=True)[1].tolist()),
        doc_id=tuple(pairs.doc_ids[place] for place in places),
        impressions=tuple(found.shown[kept].astype(np.int64).tolist()),
        clicks=tuple(found.clicks[kept].astype(np.int64).tolist()),
        expected=_or_none(found.expected[kept]),
        value=tuple(found.value[kept].tolist()),
        low=_or_none(found.low[kept]),
        high=_or_none(found.high[kept]),
        grade=tuple(grades[kept].tolist()),
    )


def _or_none(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(one) else one for one in values.tolist())


def _positions(cells: Cells, found: ClickValues) -> tuple[PositionClicks, ...]:
    shown, clicks = cells.by_position(cells.shown), cells.by_position(cells.clicks)
    none = (None,) * len(shown)
    seen = none if found.examination is None else _or_none(found.examination)
    errors = none if found.standard_error is None else _or_none(found.standard_error)
    return tuple(
        PositionClicks(i + 1, int(shown[i]), int(clicks[i]), float(clicks[i] / shown[i]), seen[i], errors[i])
        for i in np.flatnonzero(shown).tolist()
    )


def _mean_effect(cells: Cells, enough: Bools) -> float:
    shown = cells.by_pair(cells.shown) * enough
    return float((shown * cells.pair_effects).sum() / shown.sum()) if shown.sum() else 1.0


def _warnings(pairs: Shown, found: ClickValues, kept: Bools) -> list[Said]:
    said: list[Said] = []
    if pairs.returned:
        said.append(say("clicks.returned", n=pairs.returned, of=pairs.requests))
    if not found.clicks.sum():
        said.append(say("clicks.no_clicks"))
    if found.apart:
        said.append(say("clicks.apart", positions=[place + 1 for place in found.apart]))
    wide = _count_wide(found, kept)
    if wide:
        said.append(say("clicks.wide", n=wide, of=int(kept.sum())))
    return said


def _count_wide(found: ClickValues, kept: Bools) -> int:
    """How many pairs have an interval that is wider than their value: their grade is hardly known."""
    span: Any = found.high[kept] - found.low[kept]
    return int((span > np.maximum(found.value[kept], np.nanmedian(found.value[kept]))).sum()) if kept.any() else 0
