"""Loading protocols: the built-in ones and users' TOML files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from assay.data.protocol import POSITIVE, AnswerMethod, Fold, Missing, Protocol, Remedy, Target, Ties, Undefined
from assay.data.toml import decode_toml
from assay.errors import InputError, UnknownName, UsageError, cause, excerpt
from assay.formats.files import is_there
from assay.measures import REGISTRY, is_rubric, parse
from assay.measures.registry import name_subject
from assay.messages import say

CHOICES = {
    "ties": get_args(Ties),
    "missing": get_args(Missing),
    "undefined": get_args(Undefined),
    "fold": get_args(Fold),
    "scores": ("float64", "float32"),
    "method": get_args(AnswerMethod),
    "ignore_same_id": (False, True),
}
_TEXTS = ("name", "title", "title_zh", "description", "description_zh", "primary")
_KEYS = (
    *_TEXTS, *CHOICES, "measures", "answers", "headline", "min_relevance", "max_grade", "required", "defaults", "k",
    "targets",
)  # fmt: skip


def builtin_names() -> list[str]:
    """Names of the built-in protocols."""
    return sorted(item.name.removesuffix(".toml") for item in _folder().iterdir() if item.name.endswith(".toml"))


def _folder() -> Path:
    return Path(__file__).parent / "protocols"


@lru_cache(maxsize=32)
def load_protocol(name: str) -> Protocol:
    """Load a built-in protocol by name or a user's by the path of its TOML file.

    >>> import assay
    >>> assay.load_protocol("graded-012").measures["map@10"]
    "average_precision(gain='graded')@10"
    """
    if not isinstance(name, str):
        raise UsageError(say("a protocol is a name or the path of a .toml file, not {value}", value=excerpt(name)))
    if name in builtin_names():
        return read_protocol((_folder() / f"{name}.toml").read_text(encoding="utf-8"), f"protocol {name}", _folder())
    path = Path(name)
    if path.suffix != ".toml" and not is_there(path):
        raise UnknownName(
            say("protocol"),
            name,
            builtin_names(),
            hint=say("the protocols are {names}; a protocol of your own is a .toml file", names=list(builtin_names())),
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(say("the protocol cannot be read: {reason}", reason=_why(error)), path=name) from None
    return read_protocol(text, name, path.parent)


def _why(error: Exception) -> str:
    return cause(error) if isinstance(error, OSError) else say("it is not UTF-8 text")


def read_protocol(text: str, place: str, folder: Path = Path()) -> Protocol:
    """Check a protocol's TOML text; rubrics that it names are in its folder."""
    raw = decode_toml(text, place)
    try:
        return _build_protocol(raw, folder)
    except UsageError as error:
        raise InputError(error.message, path=place) from None


def _build_protocol(raw: dict[str, Any], folder: Path) -> Protocol:
    for key in raw:
        if key not in _KEYS:
            raise UnknownName(say("key"), key, _KEYS)
    for key in _TEXTS:
        if not isinstance(raw.get(key, ""), str):
            raise UsageError(say("{key} must be a text", key=key))
    if not raw.get("name"):
        raise UsageError(say('name is missing: add name = "..."'))
    for key, choices in CHOICES.items():
        if key in raw and raw[key] not in choices:
            raise UsageError(
                say(
                    "{name} = {value!r}: expected one of {choices}",
                    name=key,
                    value=raw[key],
                    choices=[str(choice).lower() for choice in choices],
                )
            )
    measures = raw.get("measures", {})
    if not isinstance(measures, dict) or not measures:
        raise UsageError(
            say('measures are missing: add [measures] with lines like "ndcg@10" = "ndcg(gain=\'exp\')@10"')
        )
    primary = raw.get("primary")
    if primary is not None and primary not in measures:
        raise UnknownName(say("primary measure"), primary, measures)
    return Protocol(
        name=raw["name"],
        **{key: raw.get(key, "").strip() for key in ("title", "title_zh", "description", "description_zh")},
        measures={label: _definition(label, value, folder) for label, value in measures.items()},
        primary=primary,
        headline=_headline(raw.get("headline", []), measures),
        answers=_answers(raw.get("answers", {}), measures, folder),
        min_relevance=POSITIVE if raw.get("min_relevance") == "positive" else _number(raw, "min_relevance", 1.0),
        max_grade=_max_grade(raw),
        required=_read_required(raw.get("required", [])),
        **{key: raw[key] for key in CHOICES if key in raw},
        defaults=_defaults(raw.get("defaults", {})),
        k=_cutoffs(raw.get("k", [])),
        targets=_targets(raw.get("targets", [])),
    )


def _headline(names: Any, measures: dict[str, Any]) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(say("headline = {names!r}: expected a list of labels", names=names))
    for name in names:
        if name not in measures:
            raise UnknownName(say("headline measure"), name, measures)
    return tuple(names)


def _answers(raw: Any, measures: dict[str, Any], folder: Path) -> dict[str, str]:
    if not isinstance(raw, dict):
        raise UsageError(say('answers must be a table with lines like faithfulness = "faithfulness"'))
    found = {label: _definition(label, value, folder) for label, value in raw.items()}
    for label, text in found.items():
        subject = parse(text).spec.of
        if subject != "answers":
            raise UsageError(
                say(
                    "answers: {label} is a measure of {subject}: put it under [measures]",
                    label=label,
                    subject=name_subject(subject),
                )
            )
        if label in measures:
            raise UsageError(say("answers: {label} is also under [measures]: remove one", label=label))
    return found


def _definition(label: str, value: Any, folder: Path) -> str:
    if not isinstance(value, str):
        raise UsageError(say("measures: {label!r} must be a text such as \"ndcg(gain='exp')@10\"", label=label))
    measure = parse(folder / value if is_rubric(value) else value)
    if measure.spec.cutoff == "required" and measure.k is None:
        raise UsageError(
            say("measures: {label!r} needs a cutoff, as in {measure}@10", label=label, measure=str(measure))
        )
    return measure.text


def _number(raw: dict[str, Any], key: str, default: float) -> float:
    value = raw.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(say("{key} = {value!r}: expected a number", key=key, value=value))
    return float(value)


def _read_required(names: Any) -> tuple[str, ...]:
    known = ("min_relevance", "max_grade")
    if not isinstance(names, list) or any(name not in known for name in names):
        raise UsageError(say("required = {names!r}: expected a list of {known:or}", names=names, known=list(known)))
    return tuple(names)


def _max_grade(raw: dict[str, Any]) -> float | tuple[float, ...] | None:
    value = raw.get("max_grade")
    if value == []:
        raise UsageError(say("max_grade = []: expected a number or a list of numbers"))
    if isinstance(value, list):
        return tuple(sorted(_number({"max_grade": grade}, "max_grade", 0) for grade in value))
    return None if value is None else _number(raw, "max_grade", 0)


def _defaults(raw: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(raw, dict):
        raise UsageError(say("defaults must be a table such as [defaults.ndcg]"))
    for name, params in raw.items():
        if name not in REGISTRY:
            raise UnknownName(say("measure in defaults"), name, REGISTRY)
        if not isinstance(params, dict):
            raise UsageError(say('defaults.{name} must be a table such as gain = "exp"', name=name))
        parse(name)(**params)
    return raw


def _cutoffs(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(value) is int and value > 0 for value in values):
        raise UsageError(say("k = {values!r}: expected a list of whole numbers, 1 or more", values=values))
    return tuple(values)


def _targets(entries: Any) -> tuple[Target, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(say('targets must be a list of tables such as {{ measure = "ndcg@10", target = 0.85 }}'))
    return tuple(_target(entry) for entry in entries)


def _target(entry: dict[str, Any]) -> Target:
    try:
        target = Target(**{**entry, "helps": tuple(entry.get("helps", ()))})
    except TypeError:
        known = list(Target.__dataclass_fields__)
        raise UsageError(say("targets: the keys are {known}, not {found}", known=known, found=list(entry))) from None
    for name in ("measure", "unit", "advice", "advice_zh"):
        if not isinstance(getattr(target, name), str):
            raise UsageError(say("targets: {name} must be a text", name=name))
    if not set(target.helps) <= set(get_args(Remedy)):
        raise UsageError(
            say(
                "targets: {measure}: helps must be some of {known}",
                measure=target.measure,
                known=list(get_args(Remedy)),
            )
        )
    for name in ("below", "strict"):
        if not isinstance(getattr(target, name), bool):
            raise UsageError(say("targets: {measure}: {name} must be true or false", measure=target.measure, name=name))
    for number in (target.target, target.excellent):
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float))):
            raise UsageError(
                say("targets: {measure}: {number!r} is not a number", measure=target.measure, number=number)
            )
    return target
