"""A measure is one decorated function; its name, parameters and cutoff make a value that reads and prints as text.

`ndcg(gain="exp") @ 10`, `parse("ndcg(gain='exp')@10")` and `str(...)` of either are the same value.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints, overload

import numpy as np

from assay.data.scores import Aggregate, Column, Parameter, Subject
from assay.errors import UnknownName, UsageError, excerpt
from assay.messages import say

if TYPE_CHECKING:
    from assay.data.protocol import Protocol
    from assay.data.ranking import Ranking
    from assay.data.requests import RequestRow
    from assay.data.segments import Floats
    from assay.data.spans import SpanCase
    from assay.grounding.case import Case
    from assay.grounding.preparing import Piece
    from assay.grounding.record import Blank
    from assay.judge.criteria import Criterion
    from assay.measures.counts import RequestCounts

Function = Callable[..., Any]  # per-query values of a ranking, or the value (or Blank) of one answer or one query
Cutoff = Literal["required", "optional", "none"]

_DEEPEST = 10**9

REGISTRY: dict[str, Spec] = {}
_COMMANDS: dict[Subject, str] = {"rankings": "evaluate", "answers": "answers", "events": "log metrics"}

SHARED_PARAMETERS = {
    "min_relevance": "smallest grade that counts as relevant; the protocol's threshold unless given (default 1)",
    "max_grade": "largest grade of the scale, from the protocol or given here; never taken from the data of one query",
    "judged_only": "drop unjudged documents from the list before anything else (condensed lists); for every measure",
}


@dataclass(frozen=True)
class Spec:
    """Everything known about a measure besides the values of its parameters.

    A measure of answers says which fields of a sample it `needs` ("a|b": one of them will do; marks are citations), and
    what some method has to find out about the sample first: whose statements are supported (`pieces`), and by which
    `criterion` the answer as a whole is graded. One that `needs_judge` has no value by any other method.
    `zero_if_missing`: a sample without an answer counts as 0 where the protocol says so. `ceiling` takes what the
    function of a measure of rankings takes, and gives the highest value that the judgments of each query allow.
    `label` names the parameter that columns are called by. `bounds` and `criterion` may follow from the parameters.
    One that is `unlike_people` does not follow what people say of answers unless a judge grades them; of one that is
    `people_unknown`, nobody knows whether it does. `note` says of a case what lowers its value.
    One that `ignores_zeros` has the same value without the retrieved documents of grade 0 or less, wherever the others
    keep their ranks: then it is computed from a few rows.
    A measure of events says which actions and columns of a log it `needs`, and what its `unit` is: what is counted.
    """

    name: str
    function: Function
    cutoff: Cutoff
    of: Subject = "rankings"
    needs: tuple[str, ...] = ()
    pieces: Callable[[Mapping[str, Any]], frozenset[Piece]] | None = None
    criterion: Criterion | Callable[[Mapping[str, Any]], Criterion] | None = None
    needs_judge: bool = False
    zero_if_missing: bool = False
    aggregate: Aggregate = "mean"
    over: Literal["judged", "run"] = "judged"
    needs_relevant: bool = True
    needs_subtopics: bool = False
    bounds: tuple[float, float] | Callable[[Mapping[str, Any]], tuple[float, float]] = (0.0, 1.0)
    ideal_is_one: bool = False
    swap_safe: bool = True
    order_free: bool = False
    ignores_zeros: bool = False
    lower_is_better: bool = False
    unlike_people: bool = False
    people_unknown: bool = False
    note: Callable[[Case, Mapping[str, Any]], str] | None = None
    expected: Function | Literal["itself"] | None = None
    ceiling: Function | None = None
    label: str = ""
    unit: str = ""
    inherits: Callable[[Mapping[str, Any]], frozenset[str]] | None = None
    order: int = field(default=0, compare=False)

    @cached_property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The keyword parameters of the function."""
        return dict(list(inspect.signature(self.function).parameters.items())[2:])

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """Types of the parameters."""
        return get_type_hints(self.function, _names(self.function))

    def protocol_parameters(self, params: Mapping[str, Any]) -> frozenset[str]:
        """Name the parameters that the protocol fills when they are not given."""
        if self.inherits is not None:
            return self.inherits(params)
        return frozenset(name for name in ("min_relevance", "max_grade") if name in self.parameters)

    @property
    def summary(self) -> str:
        """First line of the documentation."""
        return (inspect.getdoc(self.function) or self.name).partition("\n")[0]


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters and cutoff: hashable, comparable, printable."""

    name: str
    k: int | None = None
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def spec(self) -> Spec:
        """What is known about the measure of this name."""
        return REGISTRY[self.name]

    def __call__(self, **params: Any) -> Measure:
        """Set parameters."""
        values = {
            **dict(self.params),
            **{name: check_parameter(self.spec, name, value) for name, value in params.items()},
        }
        return Measure(self.name, self.k, tuple(sorted(values.items())))

    def __matmul__(self, k: int) -> Measure:
        """Set the cutoff."""
        if self.spec.cutoff == "none":
            raise UsageError(say("{name} takes no cutoff: write {name}, not {name}@{k}", name=self.name, k=k))
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise UsageError(say("the cutoff of {name}@{k} must be a whole number, 1 or more", name=self.name, k=k))
        if k > _DEEPEST:
            raise UsageError(say("the cutoff of {name}@{k} is too large", name=self.name, k=k))
        return Measure(self.name, int(k), self.params)

    def __str__(self) -> str:
        default = {name: p.default for name, p in self.spec.parameters.items()} | {"judged_only": False}
        return self._spell([(name, value) for name, value in self.params if default[name] != _thaw(value)])

    @property
    def text(self) -> str:
        """All parameters that were given, also those that are defaults: a protocol has other defaults."""
        return self._spell(list(self.params))

    def _spell(self, params: list[tuple[str, Any]]) -> str:
        shown = ", ".join(f"{name}={_literal(value)}" for name, value in params)
        return self.name + (f"({shown})" if shown else "") + (f"@{self.k}" if self.k else "")

    @property
    def arguments(self) -> dict[str, Any]:
        """All parameters of the function with their values."""
        values = {name: p.default for name, p in self.spec.parameters.items()}
        return values | {name: _thaw(value) for name, value in self.params if name != "judged_only"}

    def bind(self, defaults: Mapping[str, Mapping[str, Any]], **inherited: float | None) -> Measure:
        """Fill what was not given from a protocol: the measure's defaults there, then thresholds."""
        given = dict(self.params)
        measure = self(**{k: v for k, v in defaults.get(self.name, {}).items() if k not in given})
        takes = self.spec.protocol_parameters(measure.arguments)
        fill = {n: v for n, v in inherited.items() if n in takes and n not in dict(measure.params) and v is not None}
        return measure(**fill)

    def under(self, protocol: Protocol) -> Measure:
        """Fill what was not given from a protocol: its defaults, its threshold, its scale."""
        top = protocol.max_grade if isinstance(protocol.max_grade, (int, float)) else None
        return self.bind(protocol.defaults, min_relevance=protocol.min_relevance, max_grade=top)

    def check_subject(self, subject: Subject) -> None:
        """Refuse a measure of something else, and say where it is computed."""
        spec = self.spec
        if spec.of == subject:
            return
        if spec.of == "spans":
            raise UsageError(
                say(
                    "{measure} needs gold spans: name their file in an experiment, [data] gold = FILE, for assay run",
                    measure=str(self),
                )
            )
        raise UsageError(
            say(
                "{label} is a measure of {of}, not of {subject}: use assay {command}",
                label=self.label,
                of=name_subject(spec.of),
                subject=name_subject(subject),
                command=_COMMANDS[spec.of],
            )
        )

    def _check_cutoff(self) -> None:
        if self.spec.cutoff == "required" and self.k is None:
            raise UsageError(say("{name} needs a cutoff: write {name}@10", name=self.name))

    def compute(self, ranking: Ranking) -> Floats:
        """Per-query values; NaN where the measure is undefined."""
        spec = self.spec
        self.check_subject("rankings")
        self._check_cutoff()
        if spec.needs_subtopics and ranking.subtopics is None:
            raise UsageError(
                say("{name} needs judgments with subtopics (the second column of the judgments file)", name=self.name)
            )
        if dict(self.params).get("judged_only"):
            ranking = ranking.condense()
        function = spec.function
        if ranking.expected and not spec.order_free:
            if spec.expected is None:
                able = sorted(other.name for other in REGISTRY.values() if other.expected)
                raise UsageError(
                    say(
                        "{name} cannot be averaged over orders of tied documents: use ties='docid', or one of {able}",
                        name=self.name,
                        able=able,
                    )
                )
            function = spec.function if spec.expected == "itself" else spec.expected
        arguments = self.arguments
        if spec.ignores_zeros and not ranking.expected and _pays_for_positive_grades(arguments):
            ranking = ranking.positive
        values = np.array(function(ranking, self.k, **arguments), dtype=np.float64)
        if values.shape != (len(ranking),):
            raise UsageError(
                say("the measure {name} must return one number per query ({n} in all)", name=self.name, n=len(ranking))
            )
        threshold = self._threshold_among(arguments) if spec.needs_relevant else None
        if threshold is not None:
            values[ranking.num_relevant(threshold) == 0] = np.nan
        return values

    def ceiling(self, ranking: Ranking) -> Floats | None:
        """The highest value that any ranking could have for each query; None where the judgments set no limit."""
        function = self.spec.ceiling
        found: Floats | None = None if function is None else function(ranking, self.k, **self.arguments)
        return found

    @property
    def threshold(self) -> float | None:
        """The smallest grade that counts as relevant; None if gains do not depend on a threshold."""
        return self._threshold_among(self.arguments)

    def _threshold_among(self, arguments: Mapping[str, Any]) -> float | None:
        used = "min_relevance" in self.spec.protocol_parameters(arguments) or "min_relevance" in dict(self.params)
        found: float | None = arguments.get("min_relevance") if used else None
        return found

    def column(self, label: str = "") -> Column:
        """What the scores of this measure know about it; its own text is the label unless another is given."""
        spec, arguments = self.spec, self.arguments
        judged = spec.of == "answers" and arguments.get("method") not in (None, "auto")
        low, high = (float(end) if math.isfinite(end) else None for end in self.bounds)
        return Column(
            label or self.label,
            str(self),
            self.name,
            k=self.k,
            parameters={name: _storable(value) for name, value in arguments.items()},
            method=str(arguments["method"]) if judged else "",
            subject=spec.of,
            bounds=(low, high),
            lower_is_better=spec.lower_is_better,
            aggregate=spec.aggregate,
            over=spec.over,
            threshold=self.threshold,
        )

    @property
    def pieces(self) -> frozenset[Piece]:
        """Whose statements have to be supported, by some method, before this can be computed."""
        return frozenset() if self.spec.pieces is None else self.spec.pieces(self.arguments)

    @property
    def criterion(self) -> Criterion | None:
        """What the answer as a whole has to be graded by before this can be computed."""
        found = self.spec.criterion
        return found(self.arguments) if callable(found) else found

    @property
    def needs(self) -> tuple[str, ...]:
        """Fields that a sample must have; "a|b": one of them will do."""
        graded = self.criterion
        return tuple(dict.fromkeys((*self.spec.needs, *(() if graded is None else graded.needs))))

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends between which all values lie."""
        found = self.spec.bounds
        return found(self.arguments) if callable(found) else found

    @property
    def label(self) -> str:
        """What its column is called unless the protocol names it."""
        return str(self.arguments[self.spec.label]) if self.spec.label else self.text

    @property
    def needs_method(self) -> bool:
        """Return whether some method has to find something out before this can be computed."""
        return bool(self.pieces) or self.criterion is not None

    def value(self, case: Case) -> float | Blank:
        """Value of one answer, or why it has none."""
        self.check_subject("answers")
        found: float | Blank = self.spec.function(case, self.k, **self.arguments)
        return found

    def span_value(self, case: SpanCase) -> float:
        """Value of one query whose gold is spans."""
        self.check_subject("spans")
        self._check_cutoff()
        return float(self.spec.function(case, self.k, **self.arguments))

    def counts(self, row: RequestRow) -> RequestCounts:
        """What each request of an event log adds to it."""
        self.check_subject("events")
        found: RequestCounts = self.spec.function(row, self.k, **self.arguments)
        return found


@overload
def measure(function: Function) -> Measure: ...
@overload
def measure(
    *,
    cutoff: Cutoff = ...,
    of: Subject = ...,
    needs: tuple[str, ...] = ...,
    pieces: Callable[[Mapping[str, Any]], frozenset[Piece]] | None = ...,
    criterion: Criterion | Callable[[Mapping[str, Any]], Criterion] | None = ...,
    needs_judge: bool = ...,
    zero_if_missing: bool = ...,
    aggregate: Aggregate = ...,
    over: Literal["judged", "run"] = ...,
    needs_relevant: bool = ...,
    needs_subtopics: bool = ...,
    bounds: tuple[float, float] | Callable[[Mapping[str, Any]], tuple[float, float]] = ...,
    ideal_is_one: bool = ...,
    swap_safe: bool = ...,
    order_free: bool = ...,
    ignores_zeros: bool = ...,
    lower_is_better: bool = ...,
    unlike_people: bool = ...,
    people_unknown: bool = ...,
    note: Callable[[Case, Mapping[str, Any]], str] | None = ...,
    expected: Function | Literal["itself"] | None = ...,
    ceiling: Function | None = ...,
    label: str = ...,
    unit: str = ...,
    inherits: Callable[[Mapping[str, Any]], frozenset[str]] | None = ...,
) -> Callable[[Function], Measure]: ...


def measure(function: Function | None = None, **options: Any) -> Measure | Callable[[Function], Measure]:
    """Make a measure of a function `(ranking, k, *, parameters...)` that returns one value per query.

    With `of="answers"` the function takes a case, a sample with what was found out about it, and returns one value;
    with `of="spans"`, one query's gold spans and the chunks that were retrieved; with `of="events"`, the fields of a
    request of an event log.

    >>> import assay
    >>> @assay.measure
    ... def found_at_all(ranking, k):
    ...     return (ranking.count(ranking.relevant(1)) > 0).astype(float)
    >>> assay.evaluate({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, [found_at_all])["found_at_all"]
    1.0
    """

    def register(function: Function) -> Measure:
        name = function.__name__.rstrip("_")
        options.setdefault("cutoff", "optional")
        if name in REGISTRY and REGISTRY[name].function.__module__.startswith("assay."):
            raise UsageError(say("there is already a measure called {name}: give yours another name", name=name))
        if function.__code__.co_argcount < 2:  # noqa: PLR2004
            raise UsageError(say("the measure {name} must take (ranking, k, *, parameters...)", name=name))
        REGISTRY[name] = Spec(name, function, order=len(REGISTRY), **options)
        return Measure(name)

    return register if function is None else register(function)


def _pays_for_positive_grades(arguments: Mapping[str, Any]) -> bool:
    """Return whether only grades above 0 can count, under a threshold and gains; a table of gains may pay for 0."""
    threshold = arguments.get("min_relevance")
    return (threshold is None or threshold > 0) and not isinstance(arguments.get("gain"), Mapping)


def name_subject(subject: Subject) -> str:
    """What measures are of, in words."""
    return {"rankings": say("rankings"), "answers": say("answers"), "spans": say("gold spans"),
            "events": say("event logs")}[subject]  # fmt: skip


def _names(function: Function) -> dict[str, Any]:
    """Names that annotations may use although they are imported for type checking only."""
    from assay.data import ranking, segments

    given = dict.fromkeys(("Case", "Blank", "SpanCase", "RequestRow", "Counts"), object)
    return {**vars(segments), **vars(ranking), **given, **function.__globals__}


def check_parameter(spec: Spec, name: str, value: Any, written: str = "") -> Any:
    """Refuse a parameter that the measure does not take, or a value it cannot use, by the name that was written."""
    if name == "judged_only" and spec.of == "rankings":
        hint: Any = bool
    elif name in spec.parameters:
        hint = spec.hints[name]
    else:
        raise UnknownName(
            say("parameter of {name}", name=spec.name),
            written or name,
            [*spec.parameters, *(["judged_only"] if spec.of == "rankings" else [])],
            hint=say("see: assay help {name}", name=spec.name),
        )
    if not _fits(value, hint):
        raise UsageError(
            say(
                "{name}({parameter}={value}): expected {expected}",
                name=spec.name,
                parameter=written or name,
                value=_literal(value),
                expected=_describe(hint),
            )
        )
    return _freeze(value)


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in {dict, Mapping}:
        return isinstance(value, Mapping) and all(_is_number(n) for pair in value.items() for n in pair)
    if get_origin(hint) is tuple:
        return isinstance(value, (tuple, list)) and all(_is_number(n) for n in value)
    if get_args(hint):
        return any(_fits(value, part) for part in get_args(hint))
    if hint in {float, int}:
        return _is_number(value) and (hint is float or value == int(value))
    return isinstance(value, hint)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _describe(hint: Any) -> str:
    """What a parameter of such a type may be."""
    if get_origin(hint) is Literal:
        return say("one of {choices}", choices=[repr(choice) for choice in get_args(hint)])
    if get_origin(hint) in {dict, Mapping}:
        return say("a table like {{1: 0.5, 2: 1.0}}")
    if get_origin(hint) is tuple:
        return say("numbers like (0.2, 0.5)")
    if get_args(hint):
        return say("{kinds:or}", kinds=[_describe(part) for part in get_args(hint) if part is not type(None)])
    if hint is bool:
        return say("true or false")
    return say("a text") if hint is str else say("a whole number") if hint is int else say("a number")


def _freeze(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ("table", tuple(sorted(value.items())))
    return tuple(value) if isinstance(value, list) else value


def _thaw(value: Any) -> Any:
    return dict(value[1]) if isinstance(value, tuple) and value[:1] == ("table",) else value


def _storable(value: Any) -> Parameter:
    """A parameter as a result file can hold it: the keys of a table are texts."""
    if isinstance(value, Mapping):
        return {f"{key:g}": float(gain) for key, gain in value.items()}
    found: Parameter = tuple(map(float, value)) if isinstance(value, (list, tuple)) else value
    return found


def _literal(value: Any) -> str:
    value = _thaw(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return excerpt(value) if isinstance(value, str) else repr(value)
