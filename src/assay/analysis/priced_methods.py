"""What is known of the cost of a method, or of each of its stages."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from assay.errors import UnknownName, UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TEXTS = ("name", "model", "url")
MOST = 1e30  # of any number that is given, so that no product of them is infinite


@dataclass(frozen=True)
class PricedMethod:
    """A way to rerank, and what is known of its cost.

    By tokens: `price` per million (and `output_price`), or the `model` whose price is looked up (on the server at
    `url`); `tokens` of a document with all that is sent along, or `input_tokens` of a query, of which `cached_tokens`
    are in the server's cache (`cached_price`, else the price); `output_tokens` of a query, over `calls` a query, which
    decides the tier where prices go by the length of a prompt. `batch` takes the price of batch jobs from the list. By
    request: `price_per_search`, paid for each of the `calls` of a query and every 100 documents in it. By machine:
    `machine`, its price an hour, and `throughput`, queries a second. Or `per_query` as it is.
    """

    name: str
    price: float | None = None
    output_price: float | None = None
    model: str = ""
    url: str = ""
    tokens: float | None = None
    output_tokens: float = 0.0
    calls: float = 1.0
    machine: float | None = None
    throughput: float | None = None
    per_query: float | None = None
    price_per_search: float | None = None
    input_tokens: float | None = None
    cached_tokens: float = 0.0
    cached_price: float | None = None
    batch: bool = False

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if value is None or entry.name in _TEXTS or (entry.name == "batch" and value in {False, True}):
                continue
            least = 0 if entry.name not in {"throughput", "calls"} else math.ulp(0)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < MOST:
                wrong = {"name": self.name, "key": entry.name, "value": value}
                raise UsageError(
                    say("{name}: {key} = {value!r}: expected a number above 0", **wrong)
                    if least
                    else say("{name}: {key} = {value!r}: expected a number, 0 or more", **wrong)
                )
        ways = [self.price is not None or bool(self.model), self.price_per_search is not None,
                self.machine is not None, self.per_query is not None]  # fmt: skip
        if sum(ways) > 1:
            raise UsageError(
                say(
                    "{name}: give only one of price (or model), price_per_search, machine and per_query",
                    name=self.name,
                )
            )
        if self.machine is not None and self.throughput is None:
            raise UsageError(
                say(
                    "{name}: a machine needs throughput, the queries it serves a second, or a bench file",
                    name=self.name,
                )
            )
        if (self.price is not None or self.model) and (self.tokens is None) == (self.input_tokens is None):
            raise UsageError(
                say(
                    "{name}: a price needs tokens, those of a document, or input_tokens, those of a query",
                    name=self.name,
                )
            )
        if self.batch and not self.model:
            raise UsageError(say("{name}: the price of batch jobs is that of a model: give model", name=self.name))

    def read(self, documents: float) -> float:
        """Tokens that it reads for a query."""
        return self.input_tokens if self.input_tokens is not None else (self.tokens or 0.0) * documents

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any], *, also: Sequence[str] = ()) -> PricedMethod:
        """Make a method of named values; `also` are keys that the caller handles, for hints about misspelt ones."""
        known = [entry.name for entry in fields(cls) if entry.name != "name"]
        for key in given:
            if key not in known:
                names = [*known, *also]
                hint = say("the keys are {names}", names=names)
                raise UnknownName(say("key of method {name}", name=name), key, names, hint=hint)
        return cls(name, **given)


@dataclass(frozen=True)
class PricedStages:
    """A way from a query to its answer in several stages, each with what is known of its cost."""

    name: str
    stages: tuple[PricedMethod, ...]


# Published for 50 documents a query.
REFERENCES = (
    PricedMethod("cross-encoder", price=0.025, tokens=800),
    PricedMethod("LLM pointwise", price=0.5, tokens=1000),
    PricedMethod("LLM listwise", price=1.0, tokens=1000),
)
