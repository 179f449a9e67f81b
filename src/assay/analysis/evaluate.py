"""From judgments and a run to scores."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.doubts import doubts
from assay.analysis.protocols import CHOICES, load_protocol
from assay.data.folding import fold_run
from assay.data.joining import rank_run
from assay.data.mappings import rank_mapping
from assay.data.protocol import POSITIVE
from assay.data.run import Run
from assay.data.scores import MISSING, SCORED, UNDEFINED, UNJUDGED, Counts, Scores
from assay.errors import InputError, Repeated, UsageError, excerpt
from assay.formats.reading import as_judgments, as_records, as_run
from assay.formats.trec import locate
from assay.measures import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.data.judgments import Judgments
    from assay.data.protocol import Fold, Missing, Protocol, Undefined
    from assay.data.ranking import Ranking, Ties
    from assay.data.segments import Bools, Floats
    from assay.measures import Measure


def evaluate(
    judgments: Any,
    run: Any = None,
    measures: Sequence[str | Measure] | None = None,
    *,
    protocol: str | Protocol = "trec",
    min_relevance: float | None = None,
    max_grade: float | None = None,
    ties: Ties | None = None,
    missing: Missing | None = None,
    undefined: Undefined | None = None,
    fold: Fold | None = None,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    dedupe: bool = False,
    name: str | None = None,
) -> Scores:
    """Evaluate one run against judgments; both may be paths, dicts, frames or our own types.

    Without a run, `judgments` is a file of self-contained records (or a list of them) with a single system. Without
    measures, the protocol's are computed. Options given here override the protocol, and the result says so.
    """
    if run is None:
        records = as_records(judgments)
        if len(records.runs) != 1:
            names = ", ".join(one.name for one in records.runs)
            raise UsageError(f"the records hold the systems {names}: evaluate each of assay.read_records(...).runs")
        judgments, run = records.judgments, records.runs[0]
        ties = ties or ("given" if records.unnamed else None)
    judged = as_judgments(judgments, subtopics=need_subtopics(measures, protocol), dedupe=dedupe)
    settings = Settings.of(
        judged,
        measures,
        protocol,
        min_relevance=min_relevance,
        max_grade=max_grade,
        ties=ties,
        missing=missing,
        undefined=undefined,
        fold=fold,
    )
    return evaluate_run(judged, as_run(run), settings, chunks=chunks, weights=weights, dedupe=dedupe, name=name)


@dataclass(frozen=True)
class Settings:
    """What to compute and how: a protocol with everything filled in, and its measures bound to it."""

    protocol: Protocol
    measures: dict[str, Measure]
    notes: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        judgments: Judgments,
        measures: Sequence[str | Measure] | None,
        protocol: str | Protocol,
        **overrides: Any,
    ) -> Settings:
        """Apply overrides to a protocol and bind the measures that are asked for (or all of its own)."""
        base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
        given = {key: value for key, value in overrides.items() if value is not None}
        for name in base.required:
            if name not in given:
                raise UsageError(f"protocol {base.name} needs --{name.replace('_', '-')}: it has no sensible default")
        _check_choices(given)
        changed = {key: value for key, value in given.items() if value != getattr(base, key)}
        settled, notes = _settle_max_grade(replace(base, **given, overrides=changed), judgments)
        settled = _settle_threshold(settled, judgments)
        top = settled.max_grade if isinstance(settled.max_grade, (int, float)) else None
        bound: dict[str, Measure] = {}
        for label, measure in _labelled(settled, measures).items():
            bound[label] = measure.bind(settled.defaults, min_relevance=settled.min_relevance, max_grade=top)
            _check_scale(bound[label], judgments)
        primary = settled.primary if settled.primary in bound else None
        complete = {label: measure.text for label, measure in bound.items()}
        return cls(replace(settled, measures=complete, primary=primary), bound, notes, _asked(settled, measures))


def _check_scale(measure: Measure, judgments: Judgments) -> None:
    top = measure.arguments.get("max_grade")
    if top is not None and judgments.max_grade > top:
        raise InputError(
            f"grade {judgments.max_grade:g} is above the scale of {measure}",
            path=judgments.source.label if judgments.source else None,
            hint=f"give max_grade={judgments.max_grade:g} or more",
        )


def _check_choices(given: Mapping[str, Any]) -> None:
    for name, choices in CHOICES.items():
        if name in given and given[name] not in choices:
            raise UsageError(f"{name} = {given[name]!r}: expected one of {', '.join(choices)}")


def _asked(protocol: Protocol, measures: Sequence[str | Measure] | None) -> dict[str, str]:
    """Map the texts that measures were asked for by to their labels."""
    found: dict[str, str] = {}
    for given in measures or ():
        label, measure = _resolved(protocol, given)
        found |= {str(measure): label, str(given): label}
    return found


def _labelled(protocol: Protocol, measures: Sequence[str | Measure] | None) -> dict[str, Measure]:
    """Name the measures: by the protocol's labels, else by their canonical text."""
    if measures is None:
        return {label: parse(text) for label, text in protocol.measures.items()}
    if isinstance(measures, str):
        raise UsageError(f"measures must be a list, as in [{measures!r}]")
    found: dict[str, Measure] = {}
    for text in measures:
        label, measure = _resolved(protocol, text)
        if label in found:
            raise UsageError(f"measure {label} is asked for twice")
        found[label] = measure
    if not found:
        raise UsageError("no measure is asked for")
    return found


def _resolved(protocol: Protocol, text: str | Measure) -> tuple[str, Measure]:
    """Read one measure; a label of the protocol has the protocol's definition."""
    if isinstance(text, str) and text in protocol.measures:
        try:
            label = parse(text).text
        except UsageError:
            label = text
        return label, parse(protocol.measures[text])
    measure = parse(text)
    return measure.text, measure


def _settle_threshold(protocol: Protocol, judgments: Judgments) -> Protocol:
    """Let "any grade above 0" be the smallest such grade, at most 1: for whole grades the usual threshold."""
    if protocol.min_relevance != POSITIVE:
        if not math.isfinite(protocol.min_relevance):
            raise UsageError("min_relevance must be a finite number")
        return protocol
    return replace(protocol, min_relevance=min(1.0, judgments.least_positive))


def _settle_max_grade(protocol: Protocol, judgments: Judgments) -> tuple[Protocol, tuple[str, ...]]:
    """Choose among the scales that a protocol offers the smallest that holds all grades of the file."""
    if protocol.max_grade is None:
        return protocol, ()
    offered = protocol.max_grade if isinstance(protocol.max_grade, tuple) else (protocol.max_grade,)
    fitting = [grade for grade in offered if grade >= judgments.max_grade]
    if not fitting:
        raise InputError(
            f"grade {judgments.max_grade:g} is above the scale of protocol {protocol} (0 to {max(offered):g})",
            path=judgments.source.label if judgments.source else None,
            hint="use another protocol, or --max-grade",
        )
    if not isinstance(protocol.max_grade, tuple):
        return protocol, ()
    chosen = min(fitting)
    note = (
        f"protocol {protocol.name}: max_grade = {chosen:g}, as the judgments' largest grade is {judgments.max_grade:g}"
    )
    return replace(protocol, max_grade=chosen), (note,)


def need_subtopics(measures: Sequence[str | Measure] | None, protocol: str | Protocol) -> bool:
    """Tell whether any measure asked for reads the subtopics of judgments."""
    base = load_protocol(os.fspath(protocol)) if isinstance(protocol, (str, os.PathLike)) else protocol
    return any(measure.spec.needs_subtopics for measure in _labelled(base, measures).values())


def evaluate_run(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    settings: Settings,
    *,
    chunks: Mapping[str, str] | str | None = None,
    weights: Mapping[str, float] | None = None,
    dedupe: bool = False,
    name: str | None = None,
) -> Scores:
    """Evaluate a run under settings that are already complete."""
    ranking, notes = rank(judgments, run, settings.protocol, chunks=chunks, dedupe=dedupe)
    inputs = [{"role": "judgments", **_origin(judgments)}, {"role": "run", **_origin(run)}]
    everything = any(measure.spec.over == "run" for measure in settings.measures.values())
    aligned = _weights(ranking, weights, everything=everything)
    scores = replace(score(ranking, settings, aligned), judgments=judgments)
    return replace(
        scores,
        name=name or str(getattr(run, "name", "run")),
        inputs=tuple(inputs),
        warnings=doubts(scores, complete=judgments.complete),
        notes=(*settings.notes, *judgments.notes, *getattr(run, "notes", ()), *notes),
    )


def _origin(data: Any) -> dict[str, Any]:
    source = getattr(data, "source", None)
    return {"source": source} if source is not None else {}


def rank(
    judgments: Judgments,
    run: Run | Mapping[str, Mapping[str, float]],
    protocol: Protocol,
    *,
    chunks: Mapping[str, str] | str | None = None,
    dedupe: bool = False,
) -> tuple[Ranking, tuple[str, ...]]:
    """Join judgments and run under a protocol's rules of ties, precision and folding."""
    float32 = protocol.scores == "float32"
    has_chunks = chunks is not None or (isinstance(run, Run) and run.has_chunks)
    if chunks is not None and protocol.fold is None:
        raise UsageError("a chunk map needs --fold after (cut, then fold) or --fold before (fold, then cut)")
    if protocol.fold is None or not has_chunks:
        notes = () if protocol.fold is None else ("no chunk map is given: documents are evaluated as they are listed",)
        if isinstance(run, Run):
            try:
                ranking = rank_run(judgments, run, ties=protocol.ties, float32=float32, dedupe=dedupe)
            except Repeated as error:
                raise locate(run.source, error) from None
        else:
            ranking = rank_mapping(judgments, run, ties=protocol.ties, float32=float32)
    else:
        notes = ()
        whole = run if isinstance(run, Run) else Run.from_dict(run)  # type: ignore[arg-type]
        folded = fold_run(whole, chunks, ties=protocol.ties, float32=float32)
        ranking = rank_run(judgments, folded, ties="given", folded=protocol.fold == "after")
    if not (ranking.judged & ranking.in_run).any():
        raise InputError(
            f"run {_shown(run)} and judgments {_shown(judgments)} have no query in common: the run has"
            f" {_first(ranking, ranking.in_run)}, the judgments have {_first(ranking, ranking.judged)}",
            hint="check that both use the same query ids",
        )
    return ranking, notes


def _shown(data: Any) -> str:
    source = getattr(data, "source", None)
    return str(source.label) if source is not None else str(getattr(data, "name", "given"))


def _first(ranking: Ranking, mask: Bools) -> str:
    found = np.flatnonzero(mask)
    return f"{excerpt(ranking.query_ids[found[0]])} and {len(found) - 1} more" if len(found) else "none"


def _weights(ranking: Ranking, weights: Mapping[str, float] | None, *, everything: bool) -> Floats | None:
    """Align query weights; every query that is in a mean needs one: for coverage, every query of the run."""
    if weights is None:
        return None
    counted = ranking.judged | (ranking.in_run if everything else False)
    lacking = [query for query, needs in zip(ranking.query_ids, counted, strict=True) if needs and query not in weights]
    if lacking:
        raise InputError(
            f"query {excerpt(lacking[0])} has no weight ({len(lacking)} queries lack one)",
            hint="give every query a weight, 0 to leave it out",
        )
    values = np.array([float(weights.get(query, 0.0)) for query in ranking.query_ids])
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise InputError("query weights must be finite and not negative, and at least one must be above 0")
    return values


def score(ranking: Ranking, settings: Settings, weights: Floats | None = None) -> Scores:
    """Compute all measures on a ranking."""
    protocol = settings.protocol
    size = len(ranking)
    values = np.empty((size, len(settings.measures)))
    status = np.empty((size, len(settings.measures)), dtype=np.uint8)
    counts: dict[str, Counts] = {}
    spread = _orders(ranking)
    for i, (label, measure) in enumerate(settings.measures.items()):
        raw = measure.compute(ranking)
        values[:, i], status[:, i] = _cells(ranking, measure, raw, protocol)
        kept = ~np.isnan(values[:, i])
        tied = _hangs_on_ties(measure, raw, spread) & kept
        counts[label] = Counts(
            queries=int(kept.sum()),
            missing=int((status[:, i] == MISSING).sum()),
            undefined=int((status[:, i] == UNDEFINED).sum()),
            unjudged=int((status[:, i] == UNJUDGED).sum()),
            tied=int(tied.sum()),
            unjudged_share=_unjudged_share(ranking, measure.k, kept),
        )
    return Scores(
        name="run",
        query_ids=ranking.query_ids,
        labels=tuple(settings.measures),
        definitions={label: str(measure) for label, measure in settings.measures.items()},
        values=values,
        status=status,
        counts=counts,
        protocol=protocol,
        aggregates={label: measure.spec.aggregate for label, measure in settings.measures.items()},
        weights=weights,
        asked=settings.asked,
    )


def _cells(ranking: Ranking, measure: Measure, raw: Floats, protocol: Protocol) -> tuple[Floats, Any]:
    """Give every query its value and status under the protocol's rules."""
    status = np.full(len(raw), SCORED, dtype=np.uint8)
    value = raw.copy()
    if measure.spec.over == "run":
        status[~ranking.in_run] = MISSING
        value[~ranking.in_run] = np.nan
        return value, status
    status[~ranking.in_run] = MISSING
    undefined = np.isnan(raw)
    status[undefined] = UNDEFINED
    status[~ranking.judged] = UNJUDGED
    if measure.spec.aggregate != "sum":
        value[status == MISSING] = 0.0
    value[undefined] = 0.0
    if protocol.missing == "skip":
        value[~ranking.in_run] = np.nan
    if protocol.undefined == "skip":
        value[undefined] = np.nan
    value[~ranking.judged] = np.nan
    return value, status


def _orders(ranking: Ranking) -> list[Ranking]:
    """Best and worst order of tied documents, where there are any and their order is not averaged over."""
    if ranking.expected or not ranking.has_ties:
        return []
    return [ranking.extreme(best=True), ranking.extreme(best=False)]


def _hangs_on_ties(measure: Measure, raw: Floats, spread: list[Ranking]) -> Bools:
    """Mark the queries whose value would differ under another order of tied documents."""
    differs = np.zeros(len(raw), dtype=bool)
    for other in spread:
        differs |= ~np.isclose(measure.compute(other), raw, rtol=1e-12, atol=1e-15, equal_nan=True)
    return differs


def _unjudged_share(ranking: Ranking, k: int | None, kept: Bools) -> float | None:
    """Mean share of unjudged documents in the top k of the queries in the mean."""
    shown = ranking.shown(k)
    some = kept & (shown > 0)
    if not some.any():
        return None
    judged = ranking.count(ranking.within(k) & ranking.is_judged)
    return float(np.mean((shown[some] - judged[some]) / shown[some]))
