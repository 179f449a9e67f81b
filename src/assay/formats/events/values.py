"""Values of event logs: names of actions, times, ratings."""

from __future__ import annotations

import math
from typing import Any

from assay.formats.columns import key_of
from assay.lazy import pl

# What logs call an action, and what it is called here. A name that is not listed is kept as it is: a click somewhere
# on a page (UBI's `global_click`) is no click on a result.
_ACTIONS = {
    "query": ("request", "查询"),
    "search": ("on_search", "搜索", "检索"),
    "impression": ("impressions", "exposure", "shown", "item_impression", "product_impression", "曝光", "展示", "展现"),
    "click": ("item_click", "product_click", "result_click", "document_click", "click_through", "点击"),
    "view": ("item_view", "product_view", "浏览"),
    "add_to_cart": ("cart_add", "加购", "加入购物车"),
    "purchase": ("buy", "order", "checkout", "购买", "下单"),
    "feedback": ("rating", "rate", "thumbs", "评分", "评价", "反馈"),
    "copy": ("copy_answer", "answer_copy", "复制"),
    "regenerate": ("regenerate_answer", "retry", "重新生成"),
}
# Actions that are a rating by their name alone.
_THUMBS = {
    1.0: ("thumbs_up", "thumb_up", "upvote", "like", "点赞", "赞"),
    -1.0: ("thumbs_down", "thumb_down", "downvote", "dislike", "点踩", "踩"),
}
RATING_WORDS = {
    **dict.fromkeys(("up", "positive", "good", "yes", "true", "👍", "helpful", "satisfied"), 1.0),
    **dict.fromkeys(("down", "negative", "bad", "no", "false", "👎", "unhelpful", "unsatisfied"), -1.0),
    **{key_of(name): value for value, names in _THUMBS.items() for name in names},
}
_RATING_FIELDS = ("value", "score", "rating", "stars", "thumbs", "thumb", "vote")
_SCALES = {"stars": "stars", "thumbs": "thumbs", "thumb": "thumbs", "vote": "thumbs"}
_ALIASES = {key_of(name): action for action, names in _ACTIONS.items() for name in (action, *names)}
_RATINGS = {key_of(name): value for value, names in _THUMBS.items() for name in names}

_NUMBER = r"^[+-]?\d+(\.\d+)?$"
_ZONE = r"([zZ]|[+-]\d{2}(:?\d{2})?)$"
_SECOND, _MILLISECOND, _MICROSECOND = 1e11, 1e14, 1e17  # beyond each of them, a number counts smaller units


def action_of(name: str) -> str:
    """The name of an action here."""
    key = key_of(name)
    return "feedback" if key in _RATINGS else _ALIASES.get(key, name.strip())


def rating_of_action(name: str) -> float | None:
    """The rating that an action is by its name alone, such as `thumbs_up`."""
    return _RATINGS.get(key_of(name))


def rating_of(value: Any) -> float | None:
    """A rating as a number: +1 and -1 of thumbs, stars as they are; None where it is not understood."""
    if isinstance(value, dict):
        return next((rating_of(value[name]) for name in _RATING_FIELDS if value.get(name) is not None), None)
    if isinstance(value, bool):
        return 1.0 if value else -1.0
    if isinstance(value, str):
        try:
            return rating_of(float(value))
        except ValueError:
            return RATING_WORDS.get(key_of(value))
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def scale_of(value: Any) -> str | None:
    """The scale of a rating, where it says it: by the name of its field, a word, true or false; None of a number."""
    if isinstance(value, dict):
        name = next((name for name in _RATING_FIELDS if value.get(name) is not None), None)
        return None if name is None else _SCALES.get(name) or scale_of(value[name])
    if isinstance(value, bool):
        return "thumbs"
    return "thumbs" if isinstance(value, str) and key_of(value) in RATING_WORDS else None


def scale_of_name(name: str) -> str | None:
    """The scale of ratings in a column of this name."""
    return _SCALES.get(key_of(name))


def time_columns(value: pl.Expr, kind: pl.DataType) -> list[pl.Expr]:
    """A time of any kind as `time`, whether it is there but cannot be read, and whether it lacks a zone."""
    if isinstance(kind, pl.Datetime):
        zoned = value.dt.replace_time_zone("UTC") if kind.time_zone is None else value.dt.convert_time_zone("UTC")
        return _time_columns(zoned, value, pl.lit(kind.time_zone is None) & value.is_not_null())
    if kind == pl.String:
        filled = pl.when(value.str.strip_chars() != "").then(value)
        return _time_columns(time_of_text(value), filled, _lacks_zone(value).fill_null(value=False))
    if kind.is_numeric():
        return _time_columns(time_of_number(value.cast(pl.Float64)), value, pl.lit(value=False))
    return _time_columns(
        value.cast(pl.Date, strict=False).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        value,
        pl.lit(value=False),
    )


def _time_columns(time: pl.Expr, given: pl.Expr, no_zone: pl.Expr) -> list[pl.Expr]:
    bad = time.is_null() & given.is_not_null()
    return [time.alias("time"), bad.alias("_bad_time"), no_zone.alias("_no_zone")]


def _lacks_zone(text: pl.Expr) -> pl.Expr:
    """Return whether a time is a text without a zone, which is taken as UTC."""
    clean = text.str.strip_chars()
    return clean.str.contains(r"\d[ T]?\d{1,2}:\d{2}") & ~clean.str.contains(_ZONE)


def time_of_text(text: pl.Expr) -> pl.Expr:
    """A time from ISO 8601, with or without a zone, or from seconds, milli-, micro- or nanoseconds since 1970."""
    clean = text.str.strip_chars()
    full = (
        clean.str.replace_all("/", "-")
        .str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})[ tT]+", "${1}T")
        .str.replace(r"^(\d{4}-\d{1,2}-\d{1,2})$", "${1}T00:00:00")
        .str.replace(r"T(\d{1,2}:\d{2})([zZ+-]|$)", "T${1}:00${2}")
        .str.replace(r"[zZ]$", "+00:00")
        .str.replace(r"(:\d{2}(?:\.\d*)?[+-]\d{2})$", "${1}:00")
    )
    zoned = pl.when(full.str.contains(_ZONE)).then(full).otherwise(full + "+00:00")
    iso = zoned.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_unit="us", strict=False).dt.convert_time_zone("UTC")
    number = pl.when(clean.str.contains(_NUMBER)).then(clean).cast(pl.Float64, strict=False)
    return pl.when(number.is_not_null()).then(time_of_number(number)).otherwise(iso)


def time_of_number(number: pl.Expr) -> pl.Expr:
    """A time from a number since 1970: seconds, or smaller units if it is too large for them."""
    size = number.abs()
    micros = (
        pl.when(size < _SECOND)
        .then(number * 1e6)
        .when(size < _MILLISECOND)
        .then(number * 1e3)
        .when(size < _MICROSECOND)
        .then(number)
        .otherwise(number / 1e3)
    )
    return micros.round().cast(pl.Int64, strict=False).cast(pl.Datetime("us", "UTC"))
