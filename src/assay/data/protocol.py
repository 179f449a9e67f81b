"""Protocol: one written standard for computing and comparing numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from assay.messages import say

Ties = Literal["docid", "given", "expected"]
Missing = Literal["zero", "skip"]
Undefined = Literal["zero", "skip"]
Fold = Literal["after", "before"]
AnswerMethod = Literal["auto", "s4", "llm", "embedding", "words"]
Remedy = Literal["order", "depth", "retrieval"]
POSITIVE = float("-inf")  # means "any grade above 0" until the judgments are known


@dataclass(frozen=True)
class Target:
    """A value to reach, one that is excellent, and what to do when it is not reached.

    `below` is for quantities that should be small; `strict` means that the value itself is not enough. `helps` says
    what the advice is about: a better order, a larger k, better retrieval; advice that cannot help is not given.
    """

    measure: str
    target: float
    excellent: float | None = None
    below: bool = False
    strict: bool = False
    unit: str = ""
    advice: str = ""
    advice_zh: str = ""
    helps: tuple[Remedy, ...] = ()

    @property
    def what_to_do(self) -> str:
        """Its advice, in Chinese for Chinese readers where it has one."""
        return say("text.either", en=self.advice, zh=self.advice_zh or self.advice) if self.advice else ""

    def is_reached(self, value: float, goal: float) -> bool:
        """Return whether a value is as good as a goal (this target's, or its excellent one)."""
        beyond = value < goal if self.below else value > goal
        return beyond or (value == goal and not self.strict)


@dataclass(frozen=True)
class Protocol:
    """Measures with their definitions, thresholds and rules.

    `defaults` fills parameters of measures that do not give them; `required` names settings that have no sensible
    default and must be given by the user; `max_grade` may offer several, of which the smallest that fits is taken;
    `headline` names the measures that comparisons show when none are asked for (all, if empty); `answers` has measures
    of answers beside those of rankings, and `method` says who judges answers (the order of methods, or one);
    `ignore_same_id` leaves out retrieved documents that have the id of their query, as BEIR does; `overrides` lists the
    rules that the user changed.
    """

    name: str
    title: str = ""
    title_zh: str = ""
    description: str = ""
    description_zh: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)
    primary: str | None = None
    headline: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    method: AnswerMethod = "auto"
    min_relevance: float = 1.0
    max_grade: float | tuple[float, ...] | None = None
    required: tuple[str, ...] = ()
    ties: Ties = "docid"
    missing: Missing = "zero"
    undefined: Undefined = "zero"
    fold: Fold | None = None
    scores: Literal["float64", "float32"] = "float64"
    ignore_same_id: bool = False
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    k: tuple[int, ...] = ()
    targets: tuple[Target, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        changed = [f"{name} = {v:g}" if isinstance(v, float) else f"{name} = {v}" for name, v in self.overrides.items()]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name

    @property
    def what_it_is(self) -> str:
        """Its title, in Chinese for Chinese readers where it has one."""
        return say("text.either", en=self.title, zh=self.title_zh or self.title)

    @property
    def what_for(self) -> str:
        """Its description, in Chinese for Chinese readers where it has one."""
        return say("text.either", en=self.description, zh=self.description_zh or self.description)

    def rules(self) -> dict[str, Any]:
        """Name everything besides the measures that shapes a value: what must agree for two results to be compared."""
        names = ("min_relevance", "max_grade", "ties", "missing", "undefined", "fold", "scores", "ignore_same_id")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Copy to plain values for a result file."""
        plain = asdict(self)
        if not self.ignore_same_id:
            del plain["ignore_same_id"]  # earlier versions, which may read the file, do not have it
        plain["targets"] = [{k: v for k, v in target.items() if v not in ("", None, ())} for target in plain["targets"]]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}
