"""Compare systems with a baseline, measure by measure: which is better, by how much, and whether it is shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.comparable import AlignedScores, align_systems
from assay.analysis.comparison_warnings import find_comparison_warnings
from assay.analysis.conclude import conclude
from assay.analysis.decision import decide, decide_payment, holds_if_skewed, too_few
from assay.analysis.listwise import with_lists
from assay.data.scores import Scores
from assay.errors import UnknownName, UsageError
from assay.formats.reading import read_labels
from assay.messages import say
from assay.results.comparison import Change, Comparison, Contrast, Pairs, Rules, Weight
from assay.stats.bounded import upper_bound
from assay.stats.effects import cohen_dz, superiority, wins_ties_losses
from assay.stats.inputs import paired_differences
from assay.stats.intervals import Interval, difference_interval, mean_intervals
from assay.stats.moments import NO_SPREAD, Moments, moments, weighing
from assay.stats.multiplicity import adjust
from assay.stats.power import design, detectable_difference
from assay.stats.relative import relative_interval
from assay.stats.signflip import sign_flip
from assay.stats.ttests import paired_t
from assay.stats.tukey import compact_letters, randomised_tukey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.data.segments import Bools, Floats


_MOVERS = 5


def compare(
    systems: Sequence[Scores] | Mapping[str, Scores],
    measures: Any = None,
    *,
    baseline: str | None = None,
    rules: Rules | None = None,
    all_pairs: bool = False,
    runs: Mapping[str, Any] | Iterable[Any] | None = None,
    judgments: Any = None,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
    descriptions: Mapping[str, str] | str | os.PathLike[str] | None = None,
    **changes: Any,
) -> Comparison:
    """Compare systems with a baseline (the first unless named) over the measures they share, or those named.

    Systems are a list of scores, or a dict that names them, as `evaluate` gives for several runs. Rules may be given
    one by one: `compare(scores, alpha=0.01, smallest_effect=0.02)`. With the `runs` behind the scores, by system or in
    their order, lists are compared, and a system that only reorders the baseline's documents is compared with their
    best order; scores of a file need the `judgments`, too, and what was evaluated with `chunks` or `dedupe` is compared
    so. `descriptions` say what each system is, by name or in a file.

    >>> import assay
    >>> judged = {f"q{i}": {"a": 1} for i in range(20)}
    >>> runs = {"found": {q: {"b": 2, "a": 1} for q in judged}, "reranked": {q: {"a": 2, "b": 1} for q in judged}}
    >>> assay.compare(assay.evaluate(judged, runs, ["mrr"]), runs=runs).lifts[0].ceiling
    1.0
    """
    rules, given = change_rules(rules, changes), list_systems(systems)
    listed = runs if runs is None or isinstance(runs, Mapping) else _in_order(given, runs)
    ordered = baseline_first(given, baseline)
    data = align_systems(ordered, measures)
    if not len(data.query_ids):
        raise UsageError(say("no query has a value for every system"))
    means = {
        label: mean_intervals(
            data.values[:, i],
            weights=data.weights,
            clusters=data.clusters,
            bounds=data.columns[i].limits(data.values[:, i]),
            method=rules.interval,
            confidence_level=rules.confidence_level,
            n_resamples=rules.n_resamples,
            rng=rules.seed,
        )
        for i, label in enumerate(data.labels)
    }
    contrasts, pairs = _contrasts(data, rules), _pairs(data, rules) if all_pairs else ()
    found = Comparison(
        baseline=data.names[0],
        systems=data.names,
        measures=data.labels,
        queries=len(data.query_ids),
        rules=rules,
        means=means,
        contrasts=contrasts,
        pairs=pairs,
        conclusions=conclude(data, rules, contrasts=contrasts, pairs=pairs, named=baseline is not None),
        warnings=find_comparison_warnings(ordered, data, rules, means, all_pairs=all_pairs),
        weight=weight_of(data),
        clusters=None if data.clusters is None else len(np.unique(data.clusters)),
        descriptions=_descriptions(descriptions, data.names),
        scores=tuple(ordered),
    )
    sampled = any(scores.sampling is not None for scores in ordered)
    return (
        found
        if listed is None or sampled
        else with_lists(found, listed, judgments=judgments, chunks=chunks, dedupe=dedupe)
    )


def _in_order(systems: Sequence[Scores], runs: Iterable[Any]) -> dict[str, Any]:
    found = list(runs)
    if len(found) != len(systems):
        raise UsageError(
            say(
                "{runs} runs of {systems} systems: give a run of every system, or none",
                runs=len(found),
                systems=len(systems),
            )
        )
    return {scores.name: run for scores, run in zip(systems, found, strict=True)}


def _descriptions(
    given: Mapping[str, str] | str | os.PathLike[str] | None, systems: Sequence[str]
) -> Mapping[str, str]:
    """The descriptions of systems by name; a description of an unknown system is an error."""
    place = os.fspath(given) if isinstance(given, (str, os.PathLike)) else ""
    found = read_labels(place) if isinstance(given, (str, os.PathLike)) else given or {}
    for name in found:
        if name not in systems:
            raise UnknownName(say("system in {place}", place=place) if place else say("system"), name, systems)
    return found


def weight_of(data: AlignedScores) -> Weight | None:
    """How uneven the weights of the queries are; None where they have none."""
    if data.weights is None:
        return None
    of = weighing(data.weights)
    return Weight(of.effective_n, data.query_ids[of.heaviest], of.share)


def list_systems(systems: Sequence[Scores] | Mapping[str, Scores]) -> list[Scores]:
    """The scores to be compared, each with the name that a dict gives it."""
    if isinstance(systems, Mapping) and all(isinstance(scores, Scores) for scores in systems.values()):
        return [replace(scores, name=str(name)) for name, scores in systems.items()]
    if not isinstance(systems, (list, tuple)) or not all(isinstance(scores, Scores) for scores in systems):
        raise UsageError(say("give a list of scores: compare([assay.evaluate(...), ...]), or assay.read_result(FILE)"))
    return list(systems)


def change_rules(rules: Rules | None, changes: Mapping[str, Any]) -> Rules:
    """The rules of a comparison with some of them changed; one that is not known is an error."""
    known = {entry.name for entry in fields(Rules)}
    for name in changes:
        if name not in known:
            raise UnknownName(say("rule"), name, known)
    return replace(rules or Rules(), **changes)


def baseline_first(systems: Sequence[Scores], baseline: str | None) -> list[Scores]:
    """The systems with the named baseline in front; without a name, in their order."""
    names = [scores.name for scores in systems]
    if baseline is None:
        return list(systems)
    if baseline not in names:
        raise UnknownName(say("baseline"), baseline, names)
    return sorted(systems, key=lambda scores: scores.name != baseline)


def _contrasts(data: AlignedScores, rules: Rules) -> tuple[Contrast, ...]:
    """Test every system on every measure in one pass; the columns are measures x systems."""
    differences = np.stack(
        [paired_differences(data.values[:, :, j], data.values[:, :, 0]) for j in range(1, len(data.names))], axis=2
    )
    rows, labels, systems = differences.shape
    test = sign_flip(
        differences.reshape(rows, labels * systems),
        weights=data.weights,
        clusters=data.clusters,
        n_resamples=rules.n_resamples,
        rng=rules.seed,
    )
    pvalues = test.pvalue.reshape(labels, systems)
    adjusted = _adjust_pvalues(pvalues, rules)
    exact = test.exact.reshape(labels, systems)
    return tuple(
        _contrast(
            data, rules, (i, j), differences[:, i, j], (float(pvalues[i, j]), float(adjusted[i, j]), bool(exact[i, j]))
        )
        for i in range(labels)
        for j in range(systems)
    )


def _adjust_pvalues(pvalues: Floats, rules: Rules) -> Floats:
    if rules.family == "all":
        return adjust(pvalues.ravel(), method=rules.correction).reshape(pvalues.shape)
    return np.stack([adjust(row, method=rules.correction) for row in pvalues])


def _contrast(
    data: AlignedScores, rules: Rules, place: tuple[int, int], change: Floats, tested: tuple[float, float, bool]
) -> Contrast:
    measure, system = place
    after, before = data.values[:, measure, system + 1], data.values[:, measure, 0]
    sign = float(data.signs()[measure])
    better = sign * change
    options = {"weights": data.weights, "clusters": data.clusters, "confidence_level": rules.confidence_level}
    t_test = paired_t(change, **options)  # type: ignore[arg-type]
    outcomes = wins_ties_losses(better)
    of = moments(change, data.weights, clusters=data.clusters)
    limits = data.columns[measure].limits(data.values[:, measure])
    span = None if limits is None else limits[1] - limits[0]
    interval = _interval(change, data, rules, span)
    if span is not None and rules.smallest_effect >= span:
        raise UsageError(
            say(
                "smallest effect {smallest:g}: differences in {measure} cannot be larger than {span:g}, so none "
                "could matter",
                smallest=rules.smallest_effect,
                measure=data.labels[measure],
                span=span,
            )
        )
    verdict = decide(
        change, rules, adjusted=tested[1], sign=sign, weights=data.weights, reach=span, clusters=data.clusters,
        pvalue=tested[0],
    )  # fmt: skip
    return Contrast(
        system=data.names[system + 1],
        measure=data.labels[measure],
        difference=interval,
        relative=relative_interval(
            after,
            before,
            bounds=limits,
            method="t" if rules.interval == "t" else "auto",
            **options,  # type: ignore[arg-type]
        ),
        t_pvalue=t_test.pvalue,
        pvalue=tested[0],
        exact=tested[2],
        adjusted=tested[1],
        effect_size=cohen_dz(change, weights=data.weights).value,
        superiority=superiority(better, weights=data.weights).value,
        wins=outcomes.wins,
        ties=outcomes.ties,
        losses=outcomes.losses,
        detectable=_detectable(change, data, rules.strictest(len(data.names) - 1, len(data.labels))),
        effective_n=of.effective_n,
        too_few=too_few(of.effective_n),
        reach=span,
        limit=None if span is None or change[~np.isnan(change)].any() else _limit(change, data, rules.alpha, span),
        verdict=verdict,
        improves=sign * (t_test.estimate or 0.0) > 0,
        at_least_smallest=_is_beyond(interval, rules.smallest_effect) or _all_beyond(of, change, data, rules, span),
        pays=decide_payment(verdict, after, before, rules, weights=data.weights, bounds=limits, clusters=data.clusters)
        if sign > 0
        else None,
        gained=_movers(data, better, before, after),
        lost=_movers(data, -better, before, after),
    )


def _detectable(change: Floats, data: AlignedScores, level: float) -> float | None:
    """The difference that this many queries show 80% of the time, at the corrected level."""
    of = design(change, weights=data.weights, clusters=data.clusters)
    return detectable_difference(of.deviation, of.effective_n, alpha=level).difference if of.deviation else None


def _limit(change: Floats, data: AlignedScores, alpha: float, span: float) -> float | None:
    """The upper bound of the mean at alpha, which allows for values that the queries did not show."""
    return upper_bound(change, upper=span, alpha=alpha, weights=data.weights, clusters=data.clusters)


def _all_beyond(of: Moments, change: Floats, data: AlignedScores, rules: Rules, span: float | None) -> bool:
    """Return whether a difference that all queries share is surely above the smallest that matters."""
    if of.reason != NO_SPREAD or span is None or not of.mean:
        return False
    most = _limit(-np.abs(change), data, rules.alpha / 2, span)
    return most is not None and -most >= rules.smallest_effect


def _interval(change: Floats, data: AlignedScores, rules: Rules, span: float | None) -> Interval:
    return difference_interval(
        change,
        reach=span,
        weights=data.weights,
        clusters=data.clusters,
        method=rules.interval,
        confidence_level=rules.confidence_level,
        n_resamples=rules.n_resamples,
        rng=rules.seed,
    )


def _is_beyond(interval: Interval, smallest: float) -> bool:
    return (
        interval.low is not None
        and interval.high is not None
        and (interval.low >= smallest or interval.high <= -smallest)
    )


def _movers(data: AlignedScores, gain: Floats, before: Floats, after: Floats) -> tuple[Change, ...]:
    """The queries that gained most, in falling order; those that did not gain are left out."""
    known = np.nan_to_num(gain, nan=0.0)
    order = np.argsort(-known, kind="stable")[:_MOVERS]
    return tuple(
        Change(data.query_ids[row], float(before[row]), float(after[row])) for row in order.tolist() if known[row] > 0
    )


def _pairs(data: AlignedScores, rules: Rules) -> tuple[Pairs, ...]:
    cube = data.values.transpose(0, 2, 1)
    found = randomised_tukey(
        cube, weights=data.weights, clusters=data.clusters, confidence_level=rules.confidence_level,
        n_resamples=rules.n_resamples, rng=rules.seed,
    )  # fmt: skip
    pairs = []
    for i, label in enumerate(data.labels):
        order = np.argsort(-found.mean[i] * data.signs()[i], kind="stable").tolist()
        enough = not too_few(moments(data.values[:, i, 0], data.weights, clusters=data.clusters).effective_n)
        marks = compact_letters(_tell_apart(data, i, (found.pvalue[i] <= rules.alpha) & enough, rules), order)
        pairs.append(Pairs(label, tuple(tuple(map(float, row)) for row in found.pvalue[i]), tuple(marks)))
    return tuple(pairs)


def _tell_apart(data: AlignedScores, place: int, shown: Bools, rules: Rules) -> Bools:
    """Which pairs differ: those that the test shows, where that holds for skewed differences, too."""
    values, limits = data.values[:, place], data.columns[place].limits(data.values[:, place])
    reach = None if limits is None else limits[1] - limits[0]
    found = shown.copy()
    for i, j in zip(*np.nonzero(np.triu(shown, 1)), strict=True):
        change = paired_differences(values[:, i], values[:, j])
        found[i, j] = found[j, i] = holds_if_skewed(change, rules.alpha, data.weights, reach, data.clusters)
    return found
