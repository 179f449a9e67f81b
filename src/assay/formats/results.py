"""Result files: one JSON object with the protocol, the inputs, the means and every query's value."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data.protocol import Protocol, Target
from assay.data.scores import SCORED, STATUSES, Counts, Scores
from assay.errors import InputError, NotComparable, UsageError
from assay.formats.files import Input
from assay.results.schema1 import column_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = 1


def result_dict(
    systems: Sequence[Scores],
    *,
    command: str,
    warnings: Sequence[str] = (),
    seed: int | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Lay out an evaluation as plain values; its systems must share judgments and have names of their own.

    `more` holds what a command found out beyond the values: a comparison, a diagnosis ...
    """
    if not systems:
        raise UsageError("there is no system to write")
    names = [scores.name for scores in systems]
    if len(set(names)) < len(names):
        raise UsageError(f"two systems are called {max(names, key=names.count)!r}: give each a name of its own")
    if any(scores.protocol.rules() != systems[0].protocol.rules() for scores in systems):
        raise NotComparable("the systems were evaluated under different rules: write one result file for each")
    if len({scores.judgments_digest for scores in systems}) > 1:
        raise NotComparable("the systems were evaluated on different judgments: write one result file for each")
    queries = sorted({query for scores in systems for query in scores.query_ids})
    return {
        "schema": SCHEMA,
        "version": version("assay-eval"),
        "command": command,
        "protocol": systems[0].protocol.to_dict(),
        "inputs": _inputs(systems),
        "judgments": systems[0].judgments_digest,
        "judge": next((scores.judge for scores in systems if scores.judge), ""),
        "calibration": systems[0].calibration,
        "seed": seed,
        "systems": [_system(scores, judges=len({scores.judge for scores in systems})) for scores in systems],
        "per_query": {
            "query_id": queries,
            "values": {scores.name: _values(scores, queries) for scores in systems},
            "status": {scores.name: _statuses(scores) for scores in systems},
            **({"weights": _weights(systems)} if systems[0].weights is not None else {}),
        },
        "warnings": list(warnings),
        **(more or {}),
    }


def plain_result(command: str, *, warnings: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Lay out what a command found that evaluates no systems: a measurement of time, a calculation of money."""
    return {
        "schema": SCHEMA,
        "version": version("assay-eval"),
        "command": command,
        "systems": [],
        "per_query": {"query_id": [], "values": {}, "status": {}},
        "warnings": [str(text) for text in warnings],
        **more,
    }


def read_part(place: str, name: str, *, hint: str) -> dict[str, Any]:
    """Read one part of a result file, such as its comparison."""
    source = Input.at(place)
    try:
        data = json.loads(source.text)
        found = data.get(name) if isinstance(data, dict) and "schema" in data else None
    except json.JSONDecodeError:
        data, found = None, None
    if isinstance(data, dict) and data.get("schema", SCHEMA) != SCHEMA:
        raise InputError(f"the file has schema {data['schema']}, this version reads schema {SCHEMA}", path=place)
    if not isinstance(found, dict):
        raise InputError(f"there is no {name} in it", path=place, hint=hint)
    return found


def to_json(result: dict[str, Any]) -> str:
    """Write a result as text; NaN never appears."""
    return plain_json(result, indent=1) + "\n"


def plain_json(value: Any, *, indent: int | None = None) -> str:
    """Write JSON that any file can hold: half a surrogate pair is escaped, NaN is refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, indent=indent)
    return text


def _system(scores: Scores, *, judges: int) -> dict[str, Any]:
    file = next(
        (entry["source"].label for entry in scores.inputs if entry["role"] in {"run", "samples"} and "source" in entry),
        None,
    )
    return {
        "name": scores.name,
        "file": file,
        "metrics": {label: _plain(value) for label, value in scores.mean().items()},
        "definitions": scores.definitions,
        "asked": dict(scores.asked),
        "aggregates": {column.label: column.aggregate for column in scores.columns},
        "counts": {label: _counts(counts) for label, counts in scores.counts.items()},
        **({"embedder": scores.embedder} if scores.embedder else {}),
        **({"judge": scores.judge} if judges > 1 else {}),
    }


def _counts(counts: Counts) -> dict[str, Any]:
    """Lay out counts; only answers are judged by several methods."""
    plain = asdict(counts)
    return plain if plain["judged_by"] else {name: value for name, value in plain.items() if name != "judged_by"}


def _inputs(systems: Sequence[Scores]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for scores in systems:
        for entry in scores.inputs:
            source = entry.get("source")
            if source is not None:
                found[entry["role"], source.label] = {
                    "role": entry["role"],
                    "path": source.label,
                    "sha256": source.sha256,
                }
    return list(found.values())


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


def _weights(systems: Sequence[Scores]) -> dict[str, float]:
    """Weights of all queries that any system has."""
    found: dict[str, float] = {}
    for scores in systems:
        if scores.weights is not None:
            found |= dict(zip(scores.query_ids, map(float, scores.weights), strict=True))
    return found


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def read_calibration(place: str) -> tuple[str, str, bool]:
    """Read which judge a calibration is about, how far it agrees with people, and whether that is too little."""
    source = Input.at(place)
    try:
        data = json.loads(source.text)["calibration"]
        return str(data["judge"]), str(data["stamp"]), bool(data["poor"])
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "this is not a calibration", path=place, hint="make one: assay calibrate ... -o FILE"
        ) from None


def optional_part(place: str, name: str) -> dict[str, Any]:
    """Read what a command found out beyond the values, such as `answers`; nothing if the file has none."""
    try:
        part = json.loads(Input.at(place).text).get(name, {})
    except (ValueError, AttributeError):
        return {}
    return part if isinstance(part, dict) else {}


def read_result(source: Input) -> list[Scores]:
    """Read the systems of a result file."""
    return scores_of(load_result(source), source.label)


def load_result(source: Input) -> dict[str, Any]:
    """Read a result file as plain values."""
    try:
        data = json.loads(source.text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg}", path=source.label, line=error.lineno) from None
    if not isinstance(data, dict) or "schema" not in data:
        raise InputError(
            "this is not a result file", path=source.label, hint="make one with: assay evaluate --output FILE.json"
        )
    if data["schema"] != SCHEMA:
        raise InputError(
            f"the file has schema {data['schema']}, this version of assay reads schema {SCHEMA}",
            path=source.label,
            hint="update assay",
        )
    return data


def scores_of(data: dict[str, Any], label: str | None = None) -> list[Scores]:
    """Find the systems in the plain values of a result; a missing list is damage, an empty one is not."""
    try:
        return [_scores(data, system) for system in data["systems"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"the result file is damaged: {type(error).__name__} {error}", path=label) from None


def _scores(data: dict[str, Any], system: dict[str, Any]) -> Scores:
    name, labels = system["name"], tuple(system["metrics"])
    columns = data["per_query"]["values"][name]
    statuses = data["per_query"]["status"][name]
    queries = data["per_query"]["query_id"]
    keep = [i for i, query in enumerate(queries) if _known(i, query, columns, statuses)]
    ids = [queries[i] for i in keep]
    values = np.array(
        [[math.nan if columns[label][i] is None else columns[label][i] for label in labels] for i in keep]
    )
    codes = [[STATUSES.index(statuses[label].get(query, "scored")) for label in labels] for query in ids]
    weights = data["per_query"].get("weights")
    return Scores(
        name=name,
        query_ids=ids,
        columns=tuple(
            column_of(label, system["definitions"][label], system["aggregates"].get(label, "mean")) for label in labels
        ),
        values=values.reshape(len(ids), len(labels)),
        status=np.array(codes, dtype=np.uint8).reshape(len(ids), len(labels)),
        counts={label: Counts(**counts) for label, counts in system["counts"].items()},
        protocol=_protocol(data["protocol"]),
        weights=None if weights is None else np.array([weights.get(query, 0.0) for query in ids]),
        judgments=data["judgments"],
        asked=system.get("asked", {}),
        judge=system.get("judge", data.get("judge", "")),
        calibration=data.get("calibration", ""),
        embedder=system.get("embedder", ""),
    )


def _known(row: int, query: str, columns: dict[str, list[Any]], statuses: dict[str, dict[str, str]]) -> bool:
    """Tell a query of this system from one that only another system has."""
    return any(column[row] is not None for column in columns.values()) or any(query in s for s in statuses.values())


def _protocol(raw: dict[str, Any]) -> Protocol:
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    plain["targets"] = tuple(Target(**target) for target in raw["targets"])
    return Protocol(**plain)
