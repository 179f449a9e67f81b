"""What another ranking would have earned, from a log that knows with which probability everything was shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace as change
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, UsageError, excerpt
from assay.formats.conversion import as_whole_run
from assay.formats.files import is_there
from assay.measures.lists import order_lists
from assay.messages import Said, say
from assay.online.policies import FunctionPolicy, RunPolicy, Uniform, expect_by_folds
from assay.online.shown_rows import read_shown
from assay.results.replay import PolicyEstimate, Replay, ReplayRules
from assay.stats.intervals import Interval, mean_interval
from assay.stats.off_policy import (
    NO_LISTS,
    NO_OVERLAP,
    doubly_robust,
    inverse_propensity,
    item_position,
    normalise_values,
    overlap_of,
    self_normalised,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.online.policies import Policy
    from assay.online.shown_rows import ShownRows
    from assay.stats.inputs import Floats
    from assay.stats.off_policy import Overlap

_UNIFORM = "uniform"
_EQUAL = 1e-6  # what a mean of equal weights may be off by rounding
_SURE = 0.999  # level at which the mean of the weights must include 1


def replay(
    log: Any,
    policy: Any = _UNIFORM,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the name of the option
    queries: Mapping[str, str] | None = None,
    name: str | None = None,
    rules: ReplayRules | None = None,
) -> Replay:
    """Estimate what a policy would have earned on what a log showed to people.

    The log is a table with a row for each thing that was shown (`item_id`, `position`, `click`, `propensity_score`, as
    CSV, Parquet, JSON lines or a frame), or an event log whose impressions have propensities. The policy is `uniform`
    (every document of the log), a run (a path, a dict or a run: its documents at their ranks), or a function, also as
    `module:function`: it gets a frame of rows and the ids of all documents, and returns a probability for each row and
    document. Runs need the ids of queries; `queries` are the texts by id, for a log that has texts only.

    Where the effective number of rows is below 100, one weight above 5 % of their sum, or the mean of the weights below
    .9 (it is 1 where the log can show all that the policy does), the log cannot tell: nothing is estimated.

    >>> import assay
    >>> rows = [{"item_id": i % 4, "click": int(i % 8 == 0), "propensity_score": 0.25} for i in range(800)]
    >>> found = assay.replay(rows, lambda rows, items: [0.4, 0.2, 0.2, 0.2])
    >>> round(found.estimate("snips").estimate, 3), round(found.estimate("snips").ess)
    (0.2, 714)
    """
    rules = rules or ReplayRules()
    rows = read_shown(log, map=map, queries=queries)
    found, label = _policy(policy, name)
    rows, left = _keep_known(rows, found)
    weights = found.chances(rows) / rows.propensity
    shown = overlap_of(weights)
    level = rules.confidence_level
    logged = mean_interval(rows.reward, clusters=rows.cluster, confidence_level=level, method="adjusted t")
    mean = mean_interval(weights, clusters=rows.cluster, confidence_level=_SURE, method="adjusted t")
    holds = shown.ess >= rules.least_ess and shown.largest <= rules.largest and _most(mean) >= rules.least_weight
    return Replay(
        policy=label,
        estimates=_estimates(rows, found, weights, shown, rules, holds=holds),
        logged=logged,
        difference=_difference(rows, weights, level) if holds else _none(level, rows, NO_OVERLAP),
        mean_weight=mean,
        rows=len(rows.reward),
        items=len(rows.items),
        lists=None if rows.request is None else len(np.unique(rows.request)),
        unit=rows.unit,
        rules=rules,
        overlap=holds,
        warnings=(*rows.notes, *_warnings(rows, left, mean)),
    )


def _policy(given: Any, name: str | None) -> tuple[Policy, str]:
    """The policy, and what it is called."""
    if isinstance(given, str) and given == _UNIFORM:
        return Uniform(), name or _UNIFORM
    if isinstance(given, str) and ":" in given and not is_there(given):
        return FunctionPolicy(_load(given), given), name or given
    if isinstance(given, Callable) and not isinstance(given, (str, os.PathLike)):  # type: ignore[arg-type]
        label = getattr(given, "__name__", type(given).__name__)
        return FunctionPolicy(given, label), name or label
    run = as_whole_run(given)
    return RunPolicy(order_lists(run)), name or run.name


def _load(text: str) -> Callable[..., Any]:
    """Import a function from this folder or a package."""
    from assay.pipeline.stages import load

    try:
        found: Callable[..., Any] = load(text, Path.cwd())
    except AssayError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(
            say("cannot import {module}: {reason}", module=excerpt(text.partition(":")[0]), reason=reason)
        ) from error
    if not callable(found):
        raise UsageError(say("{name} cannot be called: it is no function", name=excerpt(text)))
    return found


def _keep_known(rows: ShownRows, policy: Policy) -> tuple[ShownRows, int]:
    """The rows of queries that a run has, and how many others there are."""
    if not isinstance(policy, RunPolicy):
        return rows, 0
    if rows.queries is None:
        raise UsageError(say("the log has no queries, which a run is replayed by: add a column query_id"))
    known = np.array([query in policy.lists for query in rows.queries])[rows.query]
    if not known.any():
        raise UsageError(
            say(
                "the run has none of the queries of the log, such as {query}",
                query=rows.queries[int(rows.query[0])],
            )
        )
    return (rows, 0) if known.all() else (rows.only(known), int((~known).sum()))


def _estimates(
    rows: ShownRows, policy: Policy, weights: Floats, shown: Overlap, rules: ReplayRules, *, holds: bool
) -> tuple[PolicyEstimate, ...]:
    level = rules.confidence_level
    by: dict[str, Any] = {"clusters": rows.cluster, "confidence_level": level}
    none = _none(level, rows, NO_OVERLAP)
    found = {"snips": none, "ips": none, "doubly_robust": none, "item_position": none}
    if holds:
        expected, itself = expect_by_folds(rows, policy)
        found = {
            "snips": self_normalised(rows.reward, weights, **by),
            "ips": inverse_propensity(rows.reward, weights, **by),
            "doubly_robust": doubly_robust(rows.reward, weights, expected=expected, logged=itself, **by),
            "item_position": _none(level, rows, NO_LISTS)
            if rows.request is None
            else item_position(rows.reward, weights, rows.request, **by),
        }
    return tuple(
        PolicyEstimate(estimator, one.estimate, change(one, method=estimator), shown.ess, shown.largest)  # type: ignore[arg-type]
        for estimator, one in found.items()
    )


def _most(mean: Interval) -> float:
    """The largest mean of weights that the log allows for; equal weights are their mean."""
    return (mean.estimate or 0.0) if mean.high is None else mean.high


def _difference(rows: ShownRows, weights: Floats, level: float) -> Interval:
    """The first estimate less what was earned, on the same rows."""
    values = normalise_values(rows.reward, weights) - rows.reward
    return mean_interval(values, clusters=rows.cluster, confidence_level=level, method="adjusted t")


def _none(level: float, rows: ShownRows, reason: str) -> Interval:
    return Interval(None, None, None, level, "", len(rows.reward), reason)


def _warnings(rows: ShownRows, left: int, mean: Interval) -> list[Said]:
    found = [say("replay.other_queries", n=left, of=left + len(rows.reward))] if left else []
    if mean.estimate is not None and (mean.excludes(1.0) or (mean.low is None and abs(mean.estimate - 1) > _EQUAL)):
        key = "replay.weights_low" if mean.estimate < 1 else "replay.weights_high"
        found.append(say(key, mean=mean.estimate))
    if rows.unit == "row":
        found.append(say("replay.by_row"))
    elif rows.unit == "request":
        found.append(say("log.cluster_query_id"))
    return found
