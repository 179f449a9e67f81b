"""What tokens cost: a dated table, users' own rows before it, and no price for what is not in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as Date  # noqa: N812 - the field of a row is called date
from fnmatch import fnmatch
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.toml import decode_toml
from assay.errors import InputError, UnknownName, UsageError, cause, excerpt
from assay.messages import say

if TYPE_CHECKING:
    import os

    from assay.llm.hosts import Address
    from assay.llm.records import Usage

_MILLION = 1_000_000
_KEYS = ("vendor", "host", "model", "date", "currency", "input", "output", "cached", "batch", "tiers", "note")
_TIER_KEYS = ("up_to", "input", "output", "cached")
_CLOUD = ("*-cloud", "*:cloud")  # names of models that a server on this machine only passes on, for money


@dataclass(frozen=True)
class Tier:
    """Prices per million tokens of prompts up to a length."""

    up_to: float
    input: float
    output: float
    cached: float


@dataclass(frozen=True)
class Price:
    """A row of the table: whose model, since when, and what its tokens cost, by the length of the prompt.

    `batch` is the share of its prices for input and output that a batch job pays; None where it is not known.
    """

    vendor: str
    host: str
    models: tuple[str, ...]
    date: Date
    currency: str
    tiers: tuple[Tier, ...]
    note: str = ""
    batch: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Money for the tokens of a call; None when the prompt is longer than the prices reach."""
        tier = self.tier(usage.prompt_tokens)
        if tier is None:
            return None
        fresh = usage.prompt_tokens - usage.cached_tokens
        money = fresh * tier.input + usage.cached_tokens * tier.cached + usage.completion_tokens * tier.output
        return money / _MILLION

    def most(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Money that a call with at most these tokens cannot exceed, whichever tier it falls into."""
        top = self.tier(prompt_tokens)
        if top is None:
            return None
        tiers = [tier for tier in self.tiers if tier.up_to <= top.up_to]
        prompt = max(tier.input for tier in tiers) * prompt_tokens
        return (prompt + max(tier.output for tier in tiers) * completion_tokens) / _MILLION

    def tier(self, prompt_tokens: float) -> Tier | None:
        """Prices of a prompt of this length; None when it is longer than they reach."""
        return next((tier for tier in self.tiers if prompt_tokens <= tier.up_to), None)

    def fits(self, address: Address, model: str) -> bool:
        """Return whether the row is about this model on this host."""
        if self.vendor == "local" and any(fnmatch(model, cloud) for cloud in _CLOUD):
            return False
        there = fnmatch(address.host, self.host) if self.host else address.vendor.name == self.vendor
        return there and self.is_about(model)

    def is_about(self, model: str) -> bool:
        """Return whether the row names this model."""
        return any(fnmatch(model, pattern) for pattern in self.models)


@dataclass(frozen=True)
class PriceTable:
    """Parts in order of precedence: users' files, then the table that comes with the package."""

    parts: tuple[tuple[Price, ...], ...]

    @classmethod
    def load(cls, *own: str | os.PathLike[str]) -> PriceTable:
        """Read the table that comes with the package, with users' files before it."""
        return cls((*(_read(Path(path)) for path in own), _own_prices()))

    def price(self, address: Address, model: str, *, day: Date | None = None) -> Price | None:
        """Find the row in force on a day (today); None when the price is not known, which is not the same as 0.

        A name is compared without its case and the organisation before it (Qwen/Qwen3-8B). The first part with a
        fitting row decides; in it, the latest row that is not in the future.
        """
        today = day or datetime.now(tz=UTC).date()
        name = model.rpartition("/")[2].lower()
        for part in self.parts:
            fitting = [row for row in part if row.date <= today and row.fits(address, name)]
            if fitting:
                return max(fitting, key=lambda row: row.date)
        return None

    def prices_of(self, model: str, *, day: Date | None = None) -> tuple[Price, ...]:
        """Find the rows in force for a model by its name alone, one for each vendor; private models have none."""
        today = day or datetime.now(tz=UTC).date()
        name = model.rpartition("/")[2].lower()
        for part in self.parts:
            fitting = [row for row in part if row.date <= today and row.vendor != "local" and row.is_about(name)]
            latest = {row.vendor or row.host: row for row in sorted(fitting, key=lambda row: row.date)}
            if latest:
                return tuple(latest.values())
        return ()


@lru_cache(maxsize=1)
def _own_prices() -> tuple[Price, ...]:
    return read_prices((files("assay.llm") / "prices.toml").read_text(encoding="utf-8"), "prices.toml")


def _read(path: Path) -> tuple[Price, ...]:
    try:
        return read_prices(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise InputError(say("not UTF-8 text"), path=str(path)) from None
    except OSError as error:
        raise InputError(say("cannot read the prices: {reason}", reason=cause(error)), path=str(path)) from None


def read_prices(text: str, place: str) -> tuple[Price, ...]:
    """The rows that the text of a price list has."""
    raw = decode_toml(text, place)
    entries = raw.get("price", [])
    if not isinstance(entries, list) or not entries:
        raise InputError(say("no prices: add [[price]] with model, date, input and output"), path=place)
    try:
        return tuple(_row(entry, raw.get("currency", "USD")) for entry in entries)
    except UsageError as error:
        raise InputError(error.message, path=place) from None


def _row(entry: dict[str, Any], currency: str) -> Price:
    _check_keys(entry, _KEYS)
    models = entry.get("model")
    names = [models] if isinstance(models, str) else models
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError(say("a price needs model: a name or a list of names"))
    day = entry.get("date")
    if not isinstance(day, Date):
        raise UsageError(say("the price of {model} needs date, such as date = 2026-11-01", model=names[0]))
    if not entry.get("vendor") and not entry.get("host"):
        raise UsageError(say("the price of {model} needs vendor or host", model=names[0]))
    if not all(isinstance(entry.get(name, ""), str) for name in ("vendor", "host", "currency", "note")):
        raise UsageError(say("vendor, host, currency and note of the price of {model} must be texts", model=names[0]))
    raw = entry.get("tiers", [{name: entry[name] for name in _TIER_KEYS if name in entry}])
    if not isinstance(raw, list) or not raw:
        raise UsageError(say("the tiers of {model} must be a list of tables", model=names[0]))
    tiers = tuple(_tier(tier, names[0]) for tier in raw)
    if [tier.up_to for tier in tiers] != sorted({tier.up_to for tier in tiers}):
        raise UsageError(say("the tiers of {model} must be in rising order of up_to", model=names[0]))
    batch = entry.get("batch")
    if batch is not None and (isinstance(batch, bool) or not isinstance(batch, (int, float)) or not 0 < batch <= 1):
        raise UsageError(say("the price of {model}: batch is the share of its prices, such as 0.5", model=names[0]))
    lower = tuple(name.lower() for name in names)
    return Price(
        entry.get("vendor", ""), entry.get("host", ""), lower, day, entry.get("currency", currency), tiers,
        entry.get("note", ""), batch,
    )  # fmt: skip


def _tier(raw: dict[str, Any], model: str) -> Tier:
    _check_keys(raw, _TIER_KEYS)
    for name in ("input", "output", *(name for name in ("cached", "up_to") if name in raw)):
        value = raw.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise UsageError(
                say("the price of {model} needs {name}, in money per million tokens", model=model, name=name)
            )
    return Tier(
        float(raw.get("up_to", float("inf"))),
        float(raw["input"]),
        float(raw["output"]),
        float(raw.get("cached", raw["input"])),
    )


def _check_keys(raw: Any, names: tuple[str, ...]) -> None:
    if not isinstance(raw, dict):
        raise UsageError(say("{value} is no table of prices", value=excerpt(raw)))
    for key in raw:
        if key not in names:
            raise UnknownName(say("key of a price"), key, names)
