"""Draw queries from an event log for a new evaluation set, with the probability of each.

The design is priority sampling (Duffield, Lund & Thorup 2007). A query has a rate: its share of the requests in the
random slice and in every stratum, each times the share of the sample that goes there. Its rate over a random number,
made from the seed and its id, is its priority, and the n queries of the highest priority are drawn. Given the highest
priority that was not drawn, the probability of a query is its rate over that, at most 1. Weights of 1/probability give
unbiased totals, whatever strata have in common, and a larger n with the same seed only adds queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from assay.data.events import QUERY
from assay.errors import InputError, UsageError
from assay.formats.events.reading import open_log
from assay.lazy import pl
from assay.messages import Said, say, word
from assay.online.impressions import query_texts
from assay.online.strata import RANDOM, STRATA, attributes_of, find_stratum, list_requests
from assay.results.log_sample import LogSample, SampleQuery, SampleStratum, SampleUnit
from assay.stats.inputs import check_choice, check_whole
from assay.stats.moments import weighing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.data.events import Events
    from assay.formats.events.reading import Places
    from assay.stats.inputs import Bools, Floats

_HALF = 0.5
_ROUNDING = 1e-9
_BITS = 53


def sample_log(
    events: Events | Places,
    n: int,
    *,
    strata: Sequence[str] | Mapping[str, float] | None = None,
    random: float | None = None,
    unit: SampleUnit = "text",
    queries: Mapping[str, str] | None = None,
    redact: bool = False,
    seed: int = 0,
) -> LogSample:
    """Draw n queries of an event log: a random slice, and strata that deserve a closer look.

    Strata are `thumbs_down`, `no_click`, `reformulated`, `zero_results`, `new` and `low:COLUMN` (the lowest tenth of an
    attribute); all of them unless named, in equal parts, or with their shares of the sample. `random` is the share of
    the random slice, half unless given. A query is a text with all of its requests, or with `unit="request"` one
    request. The weights are requests over the probability of being drawn: with them, a mean over the sample estimates
    the mean over all requests of the log. `redact` takes personal data out of the texts.

    >>> import assay, polars as pl
    >>> log = pl.DataFrame({"query_id": ["1", "2", "3"], "action": "query", "text": ["tea", "Tea", "milk"]})
    >>> [(one.text, one.weight) for one in assay.sample_log(assay.Events.of(log), 2).queries]
    [('Tea', 2.0), ('milk', 1.0)]
    """
    check_whole(n, "n", least=1)
    check_choice(unit, SampleUnit, "unit")
    shares = _shares(strata, random)
    names = [name for name in shares if name != RANDOM]
    events = open_log(events, attributes_of(names))
    requests = events.frame.filter(pl.col("action") == QUERY).unique("query_id", keep="first", maintain_order=True)
    texts = query_texts(requests, queries)
    rows = list_requests(events, texts.codes, names)
    if unit == "text":
        counts = rows.group_by("code").agg(pl.len().alias(RANDOM), pl.col(names).sum()).sort("code")
        ids = [texts.ids[code] for code in counts["code"].to_list()]
    else:
        counts = rows.select("code", pl.lit(1).alias(RANDOM), pl.col(names).cast(pl.Int64))
        ids = rows["query_id"].to_list()
    table = counts.select(RANDOM, *names).to_numpy().astype(np.float64)
    sizes = dict(zip((RANDOM, *names), table.sum(axis=0).tolist(), strict=True))
    split = _split(shares, sizes, given=isinstance(strata, Mapping))
    rates = _rates(table, [split[name] for name in sizes])
    drawn, probability = draw(rates, [*map(str, ids)], n, seed)
    spelled = [texts.texts[code] for code in counts["code"].gather(drawn).to_list()]
    shown = _redact(spelled) if redact else spelled
    named = [ids[place] for place in drawn.tolist()]
    found = tuple(map(partial(_query, names), named, shown, table[drawn], probability.tolist()))
    return LogSample(
        queries=found,
        strata=_describe(sizes, split, table > 0, drawn),
        unit=unit,
        n=n,
        population=len(ids),
        requests=len(rows),
        seed=seed,
        effective_n=weighing([one.weight for one in found]).effective_n,
        left_out=_count_unused(requests, len(rows)),
        masked=sum(one != text for one, text in zip(shown, spelled, strict=True)),
        warnings=(*events.remarks, *_warnings(sizes, n, len(ids), named=strata is not None)),
    )


def _query(names: Sequence[str], query: str, text: str, counts: Floats, probability: float) -> SampleQuery:
    """A drawn query: its requests come first among the counts, then those of each stratum."""
    strata = tuple(name for name, count in zip(names, counts[1:].tolist(), strict=True) if count)
    return SampleQuery(query, text, int(counts[0]), strata, probability, float(counts[0] / probability))


def _redact(texts: Sequence[str]) -> list[str]:
    from assay.formats.redaction import redact

    return pl.DataFrame({"text": list(texts)}).select(redact(pl.col("text")))["text"].to_list()


def draw(rates: Floats, ids: Sequence[str], n: int, seed: int) -> tuple[np.ndarray, Floats]:
    """The places of the n ids with the highest priority, in order, and the probability of each."""
    priority = rates / np.array([_uniform(seed, one) for one in ids])
    order = np.lexsort((np.array(ids), -priority))
    drawn = np.sort(order[:n])
    limit = priority[order[n]] if len(order) > n else 0.0
    probability = np.minimum(rates[drawn] / limit, 1.0) if limit > 0 else np.ones(len(drawn))
    return drawn, probability


def _uniform(seed: int, text: str) -> float:
    """A number above 0, up to 1, that only the seed and a text decide: the same in every log, and on every machine."""
    digest = blake2b(f"{seed}\x00{text}".encode(), digest_size=8).digest()
    number = (int.from_bytes(digest, "big") >> (64 - _BITS)) + 1
    return float(number / 2**_BITS)


def _shares(strata: Sequence[str] | Mapping[str, float] | None, random: float | None) -> dict[str, float]:
    """The share of the sample for the random slice and for each stratum, before empty ones are known."""
    first = _HALF if random is None else random
    if not 0 < first <= 1:
        raise UsageError(say("the random slice must have a share above 0, up to 1, not {share}", share=first))
    if isinstance(strata, Mapping):
        found = {name: float(share) for name, share in strata.items()}
        first = 1 - sum(found.values()) if random is None else first
        if not 0 < first <= 1 or any(share <= 0 for share in found.values()):
            raise UsageError(say("the shares of the strata must be above 0 and leave some for the random slice"))
        total = first + sum(found.values())
        if abs(total - 1) > _ROUNDING:
            raise UsageError(
                say("the shares of the strata and of the random slice add up to {total:g}, not to 1", total=total)
            )
    else:
        named = list(dict.fromkeys(strata if strata is not None else STRATA))
        if strata and first == 1:
            raise UsageError(say("a random slice of 1 leaves nothing for the strata {names}", names=named))
        found = {name: (1 - first) / len(named) for name in named if first < 1}
    for name in found:
        find_stratum(name)
    return {RANDOM: first, **found}


def _split(shares: Mapping[str, float], sizes: Mapping[str, float], *, given: bool) -> dict[str, float]:
    """Shares that add up to 1; those of empty strata go to the others, or if they were `given` to the random slice."""
    kept = {name: share if sizes[name] else 0.0 for name, share in shares.items()}
    others = sum(share for name, share in kept.items() if name != RANDOM)
    if given or not others:
        return kept | {RANDOM: 1 - others}
    scale = (1 - kept[RANDOM]) / others
    return {name: share if name == RANDOM else share * scale for name, share in kept.items()}


def _rates(table: Floats, shares: Sequence[float]) -> Floats:
    """Each query's share of the requests of every slice, times the share of the sample that goes there."""
    sizes = np.maximum(table.sum(axis=0), 1.0)
    rates: Floats = table @ (np.array(shares) / sizes)
    return rates


def _describe(
    sizes: Mapping[str, float], split: Mapping[str, float], inside: Bools, drawn: np.ndarray
) -> tuple[SampleStratum, ...]:
    return tuple(
        SampleStratum(name, int(size), int(inside[:, i].sum()), split[name], int(inside[drawn, i].sum()))
        for i, (name, size) in enumerate(sizes.items())
    )


def _count_unused(requests: pl.LazyFrame, used: int) -> dict[str, int]:
    total = int(requests.select(pl.len()).collect().item())
    if not used:
        raise InputError(say("no request of the log has a text"), hint=say("queries are told apart by their text"))
    return {"no_text": total - used} if total > used else {}


def _warnings(sizes: Mapping[str, float], n: int, population: int, *, named: bool) -> list[Said]:
    empty = [name for name, size in sizes.items() if not size]
    said = [say("sample.empty", names=[word("stratum", name) for name in empty])] if empty and named else []
    return [*said, say("sample.all", n=population)] if population <= n else said
