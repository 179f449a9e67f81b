"""The grid of an experiment: every list of values is an axis, every combination of choices is one system."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, InputError, UnknownName, UsageError, excerpt
from assay.messages import say
from assay.pipeline.stages import REGISTRY, STAGES, Stage, check, find, is_plugin, takes
from assay.text.embeddings import name_fast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# What a stage takes besides the parameters of its method: how many chunks it gives, looks at, or is shown.
SHARED: dict[Stage, dict[str, int]] = {
    "query": {}, "chunk": {}, "retrieve": {"depth": 100}, "rerank": {"depth": 50}, "generate": {"contexts": 5},
    "app": {},
}  # fmt: skip
_DEFAULT: dict[Stage, str] = {
    "query": "none", "chunk": "none", "retrieve": "bm25", "rerank": "none", "generate": "none", "app": "none",
}  # fmt: skip
_NONE = {"chunk": "whole", "query": "as given"}  # what "none" means where it is not silent
_MOST = 1000


@dataclass(frozen=True)
class StageChoice:
    """One method of a stage with its parameters; `size` is how many chunks it gives, looks at, or is shown."""

    stage: Stage
    method: str
    params: Mapping[str, Any]
    size: int
    place: str
    name: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes it another choice."""
        return self.stage, self.method, repr(sorted(self.params.items())), self.size


@dataclass(frozen=True)
class Combination:
    """One system: a choice for every stage, a name, and its value on every axis."""

    name: str
    choices: Mapping[Stage, StageChoice]
    axes: Mapping[Stage, str]

    @property
    def answers(self) -> bool:
        """Return whether it answers questions, or only lists documents."""
        return self.generator != "none"

    @property
    def generator(self) -> str:
        """The method that answers: that of the generator, or the application as a whole."""
        return self.choices["app" if "app" in self.choices else "generate"].method


def choices_of(stage: Stage, raw: Any, path: str) -> list[StageChoice]:
    """Read a stage: a method's name, a table, or a list of them."""
    entries = raw if isinstance(raw, list) else [raw]
    if raw is None:
        entries = [_DEFAULT[stage]]
    found: dict[tuple[Any, ...], StageChoice] = {}
    for number, entry in enumerate(entries, 1):
        place = f"{path}: {stage}" if len(entries) == 1 else f"{path}: {stage} {number}"
        place = place if path else ""
        table = {"method": entry} if isinstance(entry, str) else entry
        if not isinstance(table, dict):
            raise InputError(
                say("{value} is not a method", value=excerpt(entry)), path=place, hint=say("expected a name or a table")
            )
        for choice in _expand(stage, table, place):
            found.setdefault(choice.key, choice)
    if not found:
        raise InputError(say("no method is listed"), path=f"{path}: {stage}", hint=say("expected at least one"))
    return list(found.values())


def _expand(stage: Stage, table: dict[str, Any], place: str) -> Iterator[StageChoice]:
    axes = {name: value if isinstance(value, list) else [value] for name, value in table.items()}
    methods = axes.get("method", [_DEFAULT[stage]])
    for name in axes:
        _check_name(stage, name, methods, place)
    for values in itertools.product(*axes.values()):
        entry = {"method": _DEFAULT[stage], **dict(zip(axes, values, strict=True))}
        yield _choice(stage, entry, place)


def _check_name(stage: Stage, name: str, methods: Sequence[Any], place: str) -> None:
    """Refuse an unknown method, and a parameter that none of the listed methods takes."""
    for given in methods:
        if not isinstance(given, str):
            raise InputError(say("{value} is not the name of a method", value=excerpt(given)), path=f"{place}.method")
        with errors_at(f"{place}.method"):
            if not is_plugin(given):
                find(stage, given)
    if name in {"method", "name"} or name in SHARED[stage] or any(takes(stage, given, name) for given in methods):
        return
    known = {*SHARED[stage], *(key for given in methods for key in find(stage, given).parameters)}
    takers = [other for other, one in REGISTRY[stage].items() if name in one.parameters]
    mine = say("the parameters here are {names}", names=sorted(known)) if known else say("it takes no parameters")
    hint = say("it is a parameter of {takers}", takers=takers) if takers else mine
    with errors_at(f"{place}.{name}"):
        raise UnknownName(say("parameter"), name, known, hint=hint)


def _choice(stage: Stage, entry: dict[str, Any], place: str) -> StageChoice:
    method = entry.pop("method")
    name = entry.pop("name", "")
    size = 0
    for key, default in SHARED[stage].items():
        size = entry.pop(key, default)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(
                say("{value}: expected a whole number of 1 or more", value=excerpt(size)), path=f"{place}.{key}"
            )
    params = {key: value for key, value in entry.items() if takes(stage, method, key)}
    with errors_at(place):
        check(stage, method, params)
    if not is_plugin(method):
        known = find(stage, method).parameters
        params = {key: params.get(key, one.default) for key, one in known.items()}
        if "embedder" in params:
            params["embedder"] = name_fast(params["embedder"])  # a result must say what it was made with
    return StageChoice(stage, method, params, size, place, str(name))


class errors_at:  # noqa: N801 - reads as words: with errors_at(place)
    """Say where in the TOML file an error comes from; in none, the error says enough."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, AssayError) and self._place:
            raise InputError(error.message, path=self._place) from None


def combinations(stages: Mapping[Stage, list[StageChoice]], path: str) -> list[Combination]:
    """All combinations, named by what varies."""
    labels = {stage: _labels(choices) for stage, choices in stages.items()}
    varying = [stage for stage in STAGES if len(stages[stage]) > 1] or ["retrieve"]
    number = 1
    for choices in stages.values():
        number *= len(choices)
    if number > _MOST:
        raise InputError(
            say("the grid has {n:,} combinations", n=number),
            path=path,
            hint=say("at most {most:,} are run: shorten a list", most=_MOST),
        )
    found: list[Combination] = []
    for places in itertools.product(*(range(len(stages[stage])) for stage in STAGES)):
        chosen = {stage: stages[stage][place] for stage, place in zip(STAGES, places, strict=True)}
        axes = {stage: labels[stage][place] for stage, place in zip(STAGES, places, strict=True) if stage in varying}
        silent = {"rerank", "generate"}
        words = [text for stage, text in axes.items() if not (stage in silent and chosen[stage].method == "none")]
        found.append(Combination(" + ".join(words) or "none", chosen, axes))
    _refuse_twins(found, path)
    return found


def _refuse_twins(found: Sequence[Combination], path: str) -> None:
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            say("two combinations are called {name}", name=excerpt(twice)),
            path=path,
            hint=say("give each table a name of its own"),
        )


def app_systems(choices: list[StageChoice], path: str) -> list[Combination]:
    """Applications as systems of their own, named by their tables, else by their addresses."""
    for choice in choices:
        if not is_plugin(choice.method):
            raise InputError(
                say("{name} is no application: expected http://... or module:callable", name=excerpt(choice.method)),
                path=choice.place,
            )
    found = [
        Combination(name, {"app": choice}, {"app": name})
        for name, choice in zip(_labels(choices), choices, strict=True)
    ]
    _refuse_twins(found, path)
    return found


def _labels(choices: list[StageChoice]) -> list[str]:
    """Short names: the method, and the parameters in which choices of one method differ."""
    found = []
    for choice in choices:
        like = [_values(other) for other in choices if other.method == choice.method and not other.name]
        mine = _values(choice)
        differ = [_label(key, value) for key, value in mine.items() if any(other.get(key) != value for other in like)]
        name = choice.method.rpartition(":")[2] if is_plugin(choice.method) else choice.method
        if choice.stage == "app" and "://" in choice.method:
            name = choice.method.partition("://")[2].partition("?")[0]
        name = _NONE.get(choice.stage, name) if name == "none" else name
        found.append(choice.name or " ".join([name, *differ]))
    return found


def _values(choice: StageChoice) -> dict[str, Any]:
    return {**choice.params, **dict.fromkeys(SHARED[choice.stage], choice.size)}


def _label(key: str, value: Any) -> str:
    return f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"


def choose(found: Iterable[Combination], patterns: Sequence[str]) -> list[Combination]:
    """Keep the combinations that a pattern names; * matches anything."""
    whole = list(found)
    if not patterns:
        return whole
    kept = [one for one in whole if any(fnmatchcase(one.name.lower(), pattern.lower()) for pattern in patterns)]
    for pattern in patterns:
        if not any(fnmatchcase(one.name.lower(), pattern.lower()) for one in whole):
            names = [one.name for one in whole]
            raise UnknownName(
                say("combination"), pattern, names, hint=say("the combinations are {names}", names=list(names[:12]))
            )
    if not kept:
        raise UsageError(say("no combination is left"))
    return kept
