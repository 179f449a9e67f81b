"""Loading protocols: the built-in ones and users' TOML files."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from assay.data.protocol import Fold, Missing, Protocol, Target, Undefined
from assay.data.ranking import Ties
from assay.errors import InputError, UnknownName, UsageError
from assay.measures import REGISTRY, parse

_CHOICES = {
    "ties": get_args(Ties),
    "missing": get_args(Missing),
    "undefined": get_args(Undefined),
    "fold": get_args(Fold),
    "scores": ("float64", "float32"),
}
_TEXTS = ("name", "title", "description", "primary")
_KEYS = (*_TEXTS, *_CHOICES, "measures", "min_relevance", "max_grade", "required", "defaults", "k", "targets")


def builtin_names() -> list[str]:
    """Names of the built-in protocols."""
    return sorted(item.name.removesuffix(".toml") for item in _folder().iterdir() if item.name.endswith(".toml"))


def _folder() -> Any:
    return files("assay.analysis") / "protocols"


@lru_cache(maxsize=32)
def load_protocol(name: str) -> Protocol:
    """Load a built-in protocol by name or a user's by the path of its TOML file."""
    if name in builtin_names():
        return read_protocol((_folder() / f"{name}.toml").read_text(encoding="utf-8"), f"protocol {name}")
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise UnknownName("protocol", name, builtin_names(), hint="or the path of a .toml file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the protocol: {_why(error)}", path=name) from None
    return read_protocol(text, name)


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else "not UTF-8 text"


def read_protocol(text: str, place: str) -> Protocol:
    """Check a protocol's TOML text."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", path=place) from None
    try:
        return _checked(raw)
    except UsageError as error:
        raise InputError(str(error), path=place) from None


def _checked(raw: dict[str, Any]) -> Protocol:
    for key in raw:
        if key not in _KEYS:
            raise UnknownName("key", key, _KEYS)
    for key in _TEXTS:
        if not isinstance(raw.get(key, ""), str):
            raise UsageError(f"{key} must be text")
    if not raw.get("name"):
        raise UsageError('name is missing: add name = "..."')
    for key, choices in _CHOICES.items():
        if key in raw and raw[key] not in choices:
            raise UsageError(f"{key} = {raw[key]!r}: expected one of {', '.join(choices)}")
    measures = raw.get("measures", {})
    if not isinstance(measures, dict) or not measures:
        raise UsageError('measures are missing: add [measures] with lines like "ndcg@10" = "ndcg(gain=\'exp\')@10"')
    primary = raw.get("primary")
    if primary is not None and primary not in measures:
        raise UnknownName("primary measure", primary, measures)
    return Protocol(
        name=raw["name"],
        title=raw.get("title", ""),
        description=raw.get("description", "").strip(),
        measures={label: _definition(label, value) for label, value in measures.items()},
        primary=primary,
        min_relevance=_number(raw, "min_relevance", 1.0),
        max_grade=_max_grade(raw),
        required=tuple(raw.get("required", ())),
        **{key: raw[key] for key in _CHOICES if key in raw},
        defaults=_defaults(raw.get("defaults", {})),
        k=tuple(raw.get("k", ())),
        targets=tuple(_target(entry) for entry in raw.get("targets", ())),
    )


def _definition(label: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"measures: {label!r} must be text such as \"ndcg(gain='exp')@10\"")
    return str(parse(value))


def _number(raw: dict[str, Any], key: str, default: float) -> float:
    value = raw.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"{key} = {value!r}: expected a number")
    return float(value)


def _max_grade(raw: dict[str, Any]) -> float | tuple[float, ...] | None:
    value = raw.get("max_grade")
    if isinstance(value, list):
        return tuple(sorted(_number({"max_grade": grade}, "max_grade", 0) for grade in value))
    return None if value is None else _number(raw, "max_grade", 0)


def _defaults(raw: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(raw, dict):
        raise UsageError("defaults must be a table such as [defaults.ndcg]")
    for name, params in raw.items():
        if name not in REGISTRY:
            raise UnknownName("measure in defaults", name, REGISTRY)
        parse(name)(**params)
    return raw


def _target(entry: dict[str, Any]) -> Target:
    try:
        return Target(**entry)
    except TypeError:
        known = ", ".join(Target.__dataclass_fields__)
        raise UsageError(f"targets: expected {known}, not {', '.join(entry)}") from None
