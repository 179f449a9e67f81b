"""What was shown to whom, and what was clicked: the event log as counts of pairs of a query text and a document."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.data.events import QUERY
from assay.errors import InputError
from assay.lazy import pl
from assay.messages import say
from assay.stats.click_models import Cells, UserSums, design_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assay.data.events import Events
    from assay.stats.inputs import Bools, Floats, Ints

IMPRESSION, CLICK = "impression", "click"
LEFT_OUT = ("no_request", "no_text", "not_shown", "no_position")  # reasons for which something is not counted
_UNKNOWN = 2**32 - 1  # the number of a text that is not there
_NOWHERE = 2**31 - 1  # the position of what has none


def plain_text(text: str) -> str:
    """A query text as it is compared: Unicode NFKC, case folded, blanks joined. Texts that agree in it are one query.

    >>> plain_text("  Green　TEA ")
    'green tea'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_id(plain: str) -> str:
    """The id of a plain text: the same in every log, and without blanks. 64 bits of its SHA-256."""
    return "q" + sha256(plain.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class QueryTexts:
    """The texts of a log: `codes` has the number of each spelling; `ids`, `texts` and `requests` are by number.

    A text is shown as it was spelled first in the order of the alphabet, without its blanks; with them in `spellings`.
    """

    codes: pl.DataFrame
    ids: tuple[str, ...]
    spellings: tuple[str, ...]
    texts: tuple[str, ...]
    requests: tuple[int, ...]


def query_texts(requests: pl.LazyFrame, known: Mapping[str, str] | None = None) -> QueryTexts:
    """Number the texts of requests; `known` has ids of some texts, in any spelling, that they keep."""
    return refuse_textless(_number_texts(requests, known))


def refuse_textless(texts: QueryTexts) -> QueryTexts:
    """Refuse a log whose requests have no texts."""
    if not texts.ids:
        raise InputError(say("no request of the log has a text"), hint=say("queries are told apart by their text"))
    return texts


def name_texts(known: Mapping[str, str] | None) -> Callable[[str], str]:
    """The id of a plain text: the one that it keeps, or the one that is made from it."""
    named = {plain_text(text): query for query, text in (known or {}).items()}
    return lambda plain: named.get(plain) or text_id(plain)


def _number_texts(requests: pl.LazyFrame, known: Mapping[str, str] | None) -> QueryTexts:
    counts = requests.filter(pl.col("text").is_not_null()).group_by("text").len().sort("text").collect()
    codes: list[int | None] = []
    place: dict[str, int] = {}
    spellings: list[str] = []
    totals: list[int] = []
    for text, count in counts.iter_rows():
        plain = plain_text(text)
        if not plain:
            codes.append(None)
            continue
        code = place.setdefault(plain, len(place))
        if code == len(spellings):
            spellings.append(text)
            totals.append(0)
        totals[code] += count
        codes.append(code)
    frame = counts.select("text", pl.Series("code", codes, pl.UInt32))
    texts = tuple(" ".join(text.split()) for text in spellings)
    return QueryTexts(frame, tuple(map(name_texts(known), place)), tuple(spellings), texts, tuple(totals))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Pairs of a text and a document, and the counts of each, as they were reduced where the log is.

    All is as in `ShownPairs`, but for single impressions, which stayed where they were.
    """

    queries: QueryTexts
    query: Ints
    doc_ids: tuple[str, ...]
    counts: Cells
    left_out: Mapping[str, int]
    requests: int
    returned: int

    def cells(self) -> Cells:
        """The counts by pair and position, with the effect of users who come back."""
        return self.counts


@dataclass(frozen=True, eq=False)
class ShownPairs:
    """Pairs of a text and a document, by number, and every impression of one: where, to whom, and whether clicked.

    `query` and `doc_ids` are by pair; `pair`, `position` (from 1), `user` and `clicked` by impression. `left_out`
    counts impressions and clicks that could not be used, by reason; `returned` the requests whose impressions are not
    recorded, so that what they returned counts as shown.
    """

    queries: QueryTexts
    query: Ints
    doc_ids: tuple[str, ...]
    pair: Ints
    position: Ints
    user: Ints
    clicked: Bools
    left_out: Mapping[str, int]
    requests: int
    returned: int

    def cells(self) -> Cells:
        """The counts by pair and position, with the effect of users who come back."""
        pair, place, shown, clicks = _count(self.pair, self.position, self.clicked)
        effects = map(design_effects, self.user_sums())
        return Cells(pair, place - 1, shown, clicks, *effects)

    def user_sums(self) -> tuple[UserSums, UserSums]:
        """The sums over users of each pair, and of each position."""
        last = int(self.position.max())
        return self._add_up(self.pair, len(self.doc_ids)), self._add_up(self.position - 1, last)

    def _add_up(self, group: Ints, size: int) -> UserSums:
        groups, _, shown, clicks = _count(group, self.user, self.clicked)
        return UserSums.of(groups, shown, clicks, size)


def _count(first: Ints, second: Ints, clicked: Bools) -> tuple[Ints, Ints, Floats, Floats]:
    """Impressions and clicks for each two numbers that occur together; packed into one, they are sorted at once."""
    packed = np.sort(first.astype(np.uint64) << np.uint64(32) | second.astype(np.uint64) << np.uint64(1) | clicked)
    both = packed >> np.uint64(1)
    starts = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
    shown = np.diff(np.append(starts, len(both))).astype(np.float64)
    clicks = np.add.reduceat(packed & np.uint64(1), starts).astype(np.float64)
    met = both[starts]
    return (met >> np.uint64(31)).astype(np.int64), (met & np.uint64(2**31 - 1)).astype(np.int64), shown, clicks


def count_pairs(events: Events, *, known: Mapping[str, str] | None = None, positions: bool = True) -> ShownPairs:
    """Find what was shown and clicked.

    A document counts once in a request, however often it came into view or was clicked, at its highest position. What a
    request returned counts as shown where no impression of that request is recorded. Clicks on what was not shown, and
    with `positions` impressions without one, are counted and left out.
    """
    found = find_pairs(events, known=known, positions=positions)
    refuse_textless(found.queries)
    refuse_unseen(found.doc_ids)
    return found


def refuse_unseen(doc_ids: Sequence[Any]) -> None:
    """Refuse a log in which nothing was shown."""
    if not doc_ids:
        raise InputError(
            say("the log has no impressions that can be counted"),
            hint=say("it needs events of the action impression, or requests with their results"),
        )


def find_pairs(events: Events, *, known: Mapping[str, str] | None = None, positions: bool = True) -> ShownPairs:
    """Find what was shown and clicked, if anything was: what is found of parts of a log adds up, user by user."""
    is_request = (pl.col("action") == QUERY) & pl.col("query_id").is_not_null()
    requests = events.frame.filter(is_request).unique("query_id", keep="first", maintain_order=True)
    texts = _number_texts(requests, known)
    asked = requests.select("query_id", "text", "user", "results").with_row_index("request").collect()
    asked = asked.join(texts.codes, on="text", how="left", maintain_order="left")
    seen, returned, orphans = _join_events(events, asked)
    code = asked["code"].fill_null(_UNKNOWN).to_numpy()[seen["request"].to_numpy()]
    shown, clicked = seen["shown"].to_numpy(), seen["clicked"].to_numpy()
    lacks = (code == _UNKNOWN, (seen["position"].to_numpy() == _NOWHERE) & positions)
    lost = (shown & lacks[0], clicked & ~shown, shown & ~lacks[0] & lacks[1])
    left = dict(zip(LEFT_OUT, (orphans, *(int(one.sum()) for one in lost)), strict=True))
    kept = np.flatnonzero(shown & ~lacks[0] & ~lacks[1])
    counted = _number_pairs(seen[kept], code[kept], asked)
    return ShownPairs(texts, **counted, left_out=left, requests=len(asked), returned=returned)


def _number_pairs(seen: pl.DataFrame, code: Ints, asked: pl.DataFrame) -> dict[str, Any]:
    """Number the pairs in the order of their queries: what `ShownPairs` has by pair and by impression."""
    key = code.astype(np.uint64) << np.uint64(32) | seen["doc"].to_numpy()
    order = np.argsort(key, kind="stable")
    key = key[order]
    new = np.concatenate([[True], key[1:] != key[:-1]])[: len(key)]
    starts, place = order[new], seen["position"].to_numpy().astype(np.int64)
    named = pl.DataFrame({"query": code[starts], "doc_id": seen["doc_id"].gather(starts).cast(pl.String)})
    # Numbers of documents depend on which thread met them first: pairs are numbered by their names.
    sorting = named.select(pl.arg_sort_by("query", "doc_id"))["query"].to_numpy()
    number = np.empty(len(sorting), np.int64)
    number[sorting] = np.arange(len(sorting))
    return {
        "query": named["query"].to_numpy()[sorting].astype(np.int64),
        "doc_ids": tuple(named["doc_id"].gather(sorting).to_list()),
        "pair": number[np.cumsum(new) - 1],
        "position": np.where(place == _NOWHERE, 1, place)[order],
        "user": _number_users(asked)[seen["request"].to_numpy()[order]],
        "clicked": seen["clicked"].to_numpy()[order],
    }


def _number_users(asked: pl.DataFrame) -> Ints:
    """The number of the user of each request; a request without one is somebody who never came back."""
    users = asked.select("user").drop_nulls().unique(maintain_order=True).with_row_index("number")
    found = asked.join(users, on="user", how="left", maintain_order="left")["number"].cast(pl.Int64)
    return found.fill_null(len(users) + asked["request"].cast(pl.Int64)).to_numpy()


def _join_events(events: Events, asked: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """One row for each document of a request: its highest position, whether it was shown, and whether clicked.

    Then the requests whose impressions are not recorded, and the events whose request is not in the log.
    """
    acts = events.frame.filter(pl.col("action").is_in([IMPRESSION, CLICK]) & pl.col("doc_id").is_not_null())
    acts = acts.select("query_id", "doc_id", "position", shown=pl.col("action") == IMPRESSION)
    rows = acts.join(asked.lazy().select("query_id", "request"), on="query_id", how="left").drop("query_id").collect()
    orphans = rows["request"].null_count()
    if orphans:
        rows = rows.filter(pl.col("request").is_not_null())
    silent = asked.filter(pl.col("results").list.len() > 0)
    if len(silent):
        silent = silent.join(rows.filter("shown").select("request").unique(), on="request", how="anti")
        rows = pl.concat([rows, _list_results(silent)])
    return _once(rows.with_columns(pl.col("doc_id").cast(pl.Categorical))), len(silent), orphans


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """Put the rows of one document of one request together."""
    rows = rows.with_columns(doc=pl.col("doc_id").to_physical())
    key = pl.col("request").cast(pl.UInt64) * 2**32 + pl.col("doc")
    rows = rows.with_columns(pl.col("position").fill_null(_NOWHERE), key=key).sort("key")
    if not len(rows):
        return rows.with_columns(clicked="shown")
    packed, shown = rows["key"].to_numpy(), rows["shown"].to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], packed[1:] != packed[:-1]]))
    return rows[starts].with_columns(
        position=np.minimum.reduceat(rows["position"].to_numpy(), starts),
        shown=np.logical_or.reduceat(shown, starts),
        clicked=np.logical_or.reduceat(~shown, starts),
    )


def _list_results(silent: pl.DataFrame) -> pl.DataFrame:
    """The documents that requests returned, as if they had been shown."""
    listed = silent.select("request", doc_id="results").explode("doc_id")
    place = pl.int_range(1, pl.len() + 1).over("request").cast(pl.Int32)
    listed = listed.select("doc_id", position=place, shown=pl.lit(value=True), request="request")
    return listed.filter(pl.col("doc_id").is_not_null())
