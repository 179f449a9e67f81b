"""Scores of systems as a file holds them: means, definitions and counts by system, values of every query in columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from assay.data.protocol import Protocol
from assay.data.sampling import Sampling
from assay.data.scores import Column, Counts, Scores
from assay.data.status import SCORED, STATUSES, Status
from assay.messages import say
from assay.results.codec import Plain, damage, decode, encode

T = TypeVar("T")


@dataclass(frozen=True)
class StoredSampling:
    """What is known of estimates from a sample: by label, the standard error of each query's value."""

    judged: int
    pooled: int
    errors: Mapping[str, Mapping[str, float]]
    unpooled: float | None = None
    degrees: Mapping[str, float] | None = None


@dataclass(frozen=True)
class StoredSystem:
    """One system as a file holds it; `measures` has what is known of each measure besides its definition."""

    name: str
    metrics: Mapping[str, float | None]
    definitions: Mapping[str, str]
    measures: Mapping[str, Plain]
    counts: Mapping[str, Counts]
    file: str | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    judge: str = ""
    embedder: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sampling: StoredSampling | None = None


@dataclass(frozen=True)
class StoredQueries:
    """Values of every query: by system and label in the order of `query_id`; statuses of those not simply scored."""

    query_id: list[str]
    values: Mapping[str, Mapping[str, list[float | None]]]
    status: Mapping[str, Mapping[str, Mapping[str, Status]]]
    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None


@dataclass(frozen=True)
class StoredEvaluation:
    """Everything of a file that scores are made of."""

    systems: tuple[StoredSystem, ...] = ()
    per_query: StoredQueries | None = None
    protocol: Protocol | None = None
    judgments: str = ""
    calibrated: str = ""


def encode_systems(scored: Sequence[Scores]) -> Plain:
    """Lay out the systems of a result; nothing where there are none."""
    if not scored:
        return {}
    queries = sorted({query for scores in scored for query in scores.query_ids})
    weighted = scored if scored[0].weights is not None else ()  # the first decides whether means are weighted
    weights = _by_query(weighted, lambda one: None if one.weights is None else one.weights.tolist())
    clusters = _by_query(scored, lambda one: one.clusters)
    return {
        "protocol": scored[0].protocol.to_dict(),
        "judgments": scored[0].judgments_digest,
        "calibrated": encode(scored[0].calibration),
        "systems": [_system(scores) for scores in scored],
        "per_query": {
            "query_id": queries,
            "values": {scores.name: _values(scores, queries) for scores in scored},
            "status": {scores.name: _statuses(scores) for scores in scored},
            **({} if weights is None else {"weights": weights}),
            **({} if clusters is None else {"clusters": clusters}),
        },
    }


def encode_means(scores: Scores) -> dict[str, float | None]:
    """Means by label; null where there is none."""
    return {label: _plain(value) for label, value in scores.mean().items()}


def _system(scores: Scores) -> Plain:
    known = {column.label: encode(column) for column in scores.columns}
    facts = {label: {k: v for k, v in one.items() if k not in {"label", "definition"}} for label, one in known.items()}
    return {
        "name": scores.name,
        "file": scores.file,
        "metrics": encode_means(scores),
        "definitions": scores.definitions,
        "measures": facts,
        "asked": dict(scores.asked),
        "counts": {label: encode(counts) for label, counts in scores.counts.items()},
        "judge": scores.judge,
        "embedder": scores.embedder,
        "warnings": encode(scores.warnings),
        "notes": encode(scores.notes),
        **({} if scores.sampling is None else {"sampling": _sampling(scores, scores.sampling)}),
    }


def _sampling(scores: Scores, of: Sampling) -> Plain:
    errors = {
        label: dict(zip(scores.query_ids, of.errors[:, place].tolist(), strict=True))
        for place, label in enumerate(scores.labels)
    }
    known = {} if of.degrees is None else {"degrees": dict(zip(scores.query_ids, of.degrees.tolist(), strict=True))}
    return {"judged": of.judged, "pooled": of.pooled, "unpooled": of.unpooled, "errors": errors, **known}


def _values(scores: Scores, queries: list[str]) -> dict[str, list[float | None]]:
    row = {query: i for i, query in enumerate(scores.query_ids)}
    return {
        label: [_plain(float(scores.values[row[query], j])) if query in row else None for query in queries]
        for j, label in enumerate(scores.labels)
    }


def _statuses(scores: Scores) -> dict[str, dict[str, str]]:
    """Name the status of every cell that was not simply scored."""
    return {
        label: {
            scores.query_ids[i]: STATUSES[scores.status[i, j]] for i in np.flatnonzero(scores.status[:, j] != SCORED)
        }
        for j, label in enumerate(scores.labels)
    }


def _by_query(scored: Sequence[Scores], values: Callable[[Scores], Iterable[T] | None]) -> dict[str, T] | None:
    """What is known of each query that any system has; None where nothing is known of any."""
    known = [(scores.query_ids, own) for scores in scored if (own := values(scores)) is not None]
    return {query: value for ids, own in known for query, value in zip(ids, own, strict=True)} if known else None


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def decode_systems(plain: Mapping[str, Any], *, path: str | None = None) -> tuple[Scores, ...]:
    """Make scores of the plain values of a file."""
    names = ("systems", "per_query", "protocol", "judgments", "calibrated")
    stored = decode({name: plain[name] for name in names if name in plain}, StoredEvaluation, place="", path=path)
    if not stored.systems:
        return ()
    if stored.per_query is None or stored.protocol is None:
        lacking = "per_query" if stored.per_query is None else "protocol"
        raise damage(lacking, say("it is missing"), path)
    seen = [system.name for system in stored.systems]
    if len(set(seen)) < len(seen):
        raise damage("systems", say("two are called {name!r}", name=max(seen, key=seen.count)), path)
    return tuple(_scores(stored, system, f"systems[{i}]", path) for i, system in enumerate(stored.systems))


def _scores(stored: StoredEvaluation, system: StoredSystem, place: str, path: str | None) -> Scores:
    rows, protocol = stored.per_query, stored.protocol
    assert rows is not None and protocol is not None
    labels = tuple(system.metrics)
    _check(system, rows, labels, place, path)
    values, statuses = rows.values[system.name], rows.status[system.name]
    table = np.array([values[label] for label in labels], dtype=np.float64).reshape(len(labels), -1).T
    known = np.asarray((~np.isnan(table)).any(axis=1))
    told = {query for label in labels for query in statuses[label]}
    keep = [i for i, query in enumerate(rows.query_id) if known[i] or query in told]
    ids = [rows.query_id[i] for i in keep]
    codes = [[STATUSES.index(statuses[label].get(query, "scored")) for label in labels] for query in ids]
    weights = rows.weights
    return Scores(
        name=system.name,
        query_ids=ids,
        columns=tuple(_column(system, label, place, path) for label in labels),
        values=table[keep].reshape(len(ids), len(labels)),
        status=np.array(codes, dtype=np.uint8).reshape(len(ids), len(labels)),
        counts=dict(system.counts),
        protocol=protocol,
        weights=None if weights is None else np.array([weights.get(query, 0.0) for query in ids]),
        judgments=stored.judgments,
        warnings=system.warnings,
        notes=system.notes,
        asked=system.asked,
        judge=system.judge,
        calibration=stored.calibrated,
        embedder=system.embedder,
        file=system.file,
        clusters=None if rows.clusters is None else tuple(rows.clusters.get(query, query) for query in ids),
        sampling=None if system.sampling is None else _read_sampling(system.sampling, ids, labels),
    )


def _read_sampling(stored: StoredSampling, ids: Sequence[str], labels: Sequence[str]) -> Sampling:
    errors = [[stored.errors.get(label, {}).get(query, 0.0) for label in labels] for query in ids]
    degrees = None if stored.degrees is None else np.array([stored.degrees.get(query, 1.0) for query in ids])
    table = np.array(errors, dtype=np.float64).reshape(len(ids), len(labels))
    return Sampling(table, stored.judged, stored.pooled, stored.unpooled, degrees=degrees)


def _check(system: StoredSystem, rows: StoredQueries, labels: Sequence[str], place: str, path: str | None) -> None:
    """Refuse a system whose parts do not fit together."""
    for name, found in (("definitions", system.definitions), ("measures", system.measures), ("counts", system.counts)):
        if found.keys() != system.metrics.keys():
            raise damage(f"{place}.{name}", say("the labels are not those of {place}", place="metrics"), path)
    for name, table in (("values", rows.values), ("status", rows.status)):
        if table.get(system.name, {}).keys() != system.metrics.keys():
            raise damage(f"per_query.{name}", say("the labels are not those of {place}", place=place), path)
    if len(set(rows.query_id)) < len(rows.query_id):
        raise damage("per_query.query_id", say("a query appears twice"), path)
    for label in labels:
        if len(rows.values[system.name][label]) != len(rows.query_id):
            raise damage(f"per_query.values.{label}", say("there is not one value for each query"), path)
    if not labels:
        raise damage(f"{place}.metrics", say("there is no measure"), path)


def _column(system: StoredSystem, label: str, place: str, path: str | None) -> Column:
    plain = {**system.measures[label], "label": label, "definition": system.definitions[label]}
    return decode(plain, Column, place=f"{place}.measures.{label}", path=path)
