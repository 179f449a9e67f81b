"""Numbers and dates of English and Chinese text in one form: 3,000 = three thousand = 三千, 30% = 三成 = 0.3."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from assay.text.chinese import MEASURES
from assay.text.wordlists import read_lists

if TYPE_CHECKING:
    from collections.abc import Iterator


class Quantity(NamedTuple):
    """A number or a part of a date: its position, and its value as text, the same for equal values."""

    start: int
    end: int
    value: str


_LISTS = read_lists("english")
_SMALL = {word: i for i, word in enumerate(_LISTS["units"].split())} | {
    word: 10 * i for i, word in enumerate(_LISTS["tens"].split(), 2)
}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MILLIONS = {"m": 10**6, "mn": 10**6, "mln": 10**6, "b": 10**9, "bn": 10**9, "bln": 10**9, "tn": 10**12}
_SUFFIXES = {**_SCALES, **_MILLIONS, "k": 1000}
_ORDINALS = {word: i for i, word in enumerate(_LISTS["ordinals"].split(), 3)} | {"twentieth": 20, "hundredth": 100}
_MONTH_NUMBERS = {name: i for i, name in enumerate(_LISTS["months"].split(), 1)}
_SHORT_MONTHS = {name[:3]: i for name, i in _MONTH_NUMBERS.items()} | {"Sept": 9}
_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125}
_HAN_DIGITS = {"〇": 0, "两": 2} | {sign: i for i, sign in enumerate("零一二三四五六七八九")}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_HAN_SUFFIXES = {"百": 100, "千": 1000, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8, "万亿": 10**12}
_LONGEST = 18  # digits; a longer run is a code, not a number
_KEPT = 64  # characters; longer numbers are not kept in memory
_MYRIAD = 10_000
_EXACT = 10**15  # whole numbers below it are exact
_SCALE_SIGNS = frozenset("百千万亿")

NUMBER_WORDS = frozenset({*_SMALL, *_SCALES, *_ORDINALS, "half"} - {"one"})
HAN_NUMERALS = frozenset({*_HAN_DIGITS, *_HAN_SCALES})

_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_WORD = "|".join(sorted({*_SMALL, *_SCALES, *_ORDINALS, "half"}, key=len, reverse=True))
_CARDINAL = "|".join(sorted({*_SMALL, *_SCALES}, key=len, reverse=True))
# A search that starts with one set of characters leaps over everything else.
_DIGITS = re.compile(
    r"[0-9０-９½¼¾⅓⅔⅛](?:(?<=[0-9０-９])[0-9０-９]*+(?:,\d{3}(?!\d))*+(?:\.\d++)*+)?(?P<fraction>(?<=\d)[½¼¾⅓⅔⅛])?"
)
_AFTER = re.compile(
    r"""(?P<percent>\s?[%％]|\spercent\b|\sper\scent\b)
    |(?:st|nd|rd|th)\b
    |(?P<suffix>[ -]?(?:hundred|thousand|million|billion|trillion|dozen|mln|bln)\b|(?:[kKMB]|mn|bn|tn)\b)
    |\s?(?P<han>万亿|百万|千万|[百千万亿])
    |\s?(?P<month>月)""",
    re.VERBOSE,
)
_UNIT_STARTS = frozenset(" %％-shtndrdbkKMBmn百千万亿月") | {"", "\t", "\xa0", "\n"}
_ISO_DATE = re.compile(r"([12]\d{3})[-/](0?[1-9]|1[0-2])[-/](0?[1-9]|[12]\d|3[01])(?!\d)")
_LETTERS = re.compile(r"[a-z]{3,10}+")
_NUMERALS = frozenset({*_SMALL, *_SCALES, *_ORDINALS, "half"})
_SPELLED = re.compile(rf"\b(?:{_WORD})\b")
# Words are looked ahead at, then taken whole: `{0,24}+` keeps half a repetition in Python 3.11.2, that of Debian 12.
_ENGLISH = re.compile(
    rf"""(?=(?P<words>(?:{_CARDINAL})(?:[\s-](?:and\s)?(?:{_CARDINAL})){{0,24}}))(?P=words)\b(?P<percent>\sper\s?cent\b)?
    |(?P<ordinal>{"|".join(_ORDINALS)})\b|half\b""",
    re.VERBOSE,
)
_MONTH = re.compile(r"[JFMASOND](?<!\w.)(?:an|eb|ar|pr|ay|un|ul|ug|ep|ct|ov|ec)[a-z]{0,9}+\b")
_LATIN = re.compile("[A-Za-z]{3}")
_DAY_BEFORE, _DAY_AFTER = re.compile(r"\d(?:st|nd|rd|th)?\s(?:of\s)?$"), re.compile(r"[.,]?\s\d")
_HAN = re.compile(
    rf"""百分之(?P<percent>[{_NUMERAL}点]{{1,18}})
    |(?P<below>[{_NUMERAL}]{{1,9}})分之(?P<above>[{_NUMERAL}]{{1,9}})
    |(?P<tenths>[一二三四五六七八九])成(?P<more>半)?(?![为了功就员立效长熟果本品])
    |(?P<half>一半)
    |(?P<nth>第)?(?P<plain>[{_NUMERAL}]{{1,24}}(?:点[零〇一二三四五六七八九]{{1,9}})?)(?:(?P<month>月)|(?P<measure>[{MEASURES}]))?""",
    re.VERBOSE,
)
_HAN_START = re.compile(f"[{_NUMERAL}第]")
_NOT_NUMBERS = frozenset({"千万", "万一", "一一", "万万"})


def numbers(text: str) -> list[Quantity]:
    """Find the numbers and dates of a text, in order.

    A date gives its parts: a year and a day are numbers, a month reads `month:1`. Versions such as 6.15.0 and digits
    too many for a number stay as they are.
    """
    found = list(_digits(text))
    if _LATIN.search(text):
        found += [*_english(text), *_months(text)]
    if not text.isascii():
        found += _han(text)
    return sorted(found)


def values(text: str) -> set[str]:
    """Values of the numbers and dates of a text."""
    return {quantity.value for quantity in numbers(text)}


def plain(value: float) -> str:
    """Write a value so that equal ones look the same."""
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else f"{value:.12g}"


def _digits(text: str) -> Iterator[Quantity]:
    after = 0
    for found in _DIGITS.finditer(text):
        start, end = found.span()
        if start < after:
            continue
        date = _ISO_DATE.match(text, start) if text[end : end + 1] in "-/" else None
        if date:
            for group, form in enumerate(("{}", "month:{}", "{}"), 1):
                yield Quantity(*date.span(group), form.format(int(date[group])))
            after = date.end()
        else:
            unit = _AFTER.match(text, end) if text[end : end + 1] in _UNIT_STARTS else None
            after = unit.end() if unit else end
            yield Quantity(start, after, _digit_value(found, unit, text))


def _digit_value(found: re.Match[str], unit: re.Match[str] | None, text: str) -> str:
    raw = found.group()
    if unit is None and raw.isascii() and raw.isdecimal() and len(raw) <= _LONGEST:  # what nearly all numbers are
        return plain(float(raw) / 100) if _is_percent(text, found.start()) else raw.lstrip("0") or "0"
    kind, sign = (unit.lastgroup or "", unit.group()) if unit is not None else ("", "")
    if len(raw) > _KEPT:
        return _value_with_unit.__wrapped__(raw, kind, sign, _is_percent(text, found.start()))
    return _value_with_unit(raw, kind, sign, _is_percent(text, found.start()))


@lru_cache(maxsize=4096)
def _value_with_unit(raw: str, kind: str, sign: str, percent: bool) -> str:  # noqa: FBT001 - the cache wants it so
    """Value of digits, perhaps with commas or a fraction, and the unit behind them."""
    raw = raw.replace(",", "")
    fraction = raw[-1] if raw[-1] in _FRACTIONS else ""
    raw = raw.removesuffix(fraction) or "0"
    if raw.count(".") > 1 or len(raw) > _LONGEST:
        return raw
    of_hundred = kind == "percent" or percent
    if not sign and not fraction and not of_hundred and raw.isascii() and raw.isdecimal():
        return raw.lstrip("0") or "0"
    value = float(raw) + _FRACTIONS.get(fraction, 0.0)
    if kind == "month":
        return f"month:{value:g}"
    return plain(value / 100 if of_hundred else value * _scale(kind, sign))


def _scale(kind: str, sign: str) -> int:
    if kind == "suffix":
        return _SUFFIXES.get(sign.strip(" -").lower(), 1)
    return _HAN_SUFFIXES.get(sign.strip(), 1) if kind == "han" else 1


def _is_percent(text: str, start: int) -> bool:
    return text[start - 1 : start] == "之" and text[max(0, start - 3) : start] == "百分之"


def _english(text: str) -> Iterator[Quantity]:
    lower = text.lower()
    # A few letters change their length: those texts are left to their digits.
    if len(lower) != len(text) or _NUMERALS.isdisjoint(_LETTERS.findall(lower)):
        return
    after = 0
    for start in (found.start() for found in _SPELLED.finditer(lower)):
        found = _ENGLISH.match(lower, start) if start >= after else None
        if found is None:
            continue
        after = found.end()
        value = _value_of_words(found)
        if value is not None:
            yield Quantity(start, after, plain(value))


def _value_of_words(found: re.Match[str]) -> float | None:
    """Value of number words; None for a pronoun or for the scale of a number in digits."""
    if found["ordinal"]:
        return float(_ORDINALS[found["ordinal"]])
    if found["words"] is None:
        return 0.5
    words = re.split(r"[\s-]+", found["words"])
    if words == ["one"] or (len(words) == 1 and words[0] in _SCALES):
        return None
    return _sum_of_words(words) / (100 if found["percent"] else 1)


def _sum_of_words(words: list[str]) -> float:
    """Value of "two hundred and fifty thousand"."""
    total = current = 0
    for word in words:
        if word in _SMALL:
            current += _SMALL[word]
        elif word in {"hundred", "dozen"}:
            current = max(current, 1) * _SCALES[word]
        elif word != "and":
            total += max(current, 1) * _SCALES[word]
            current = 0
    return float(total + current)


def _months(text: str) -> Iterator[Quantity]:
    """Months by name; "May", "March" and short forms only beside a day or a year."""
    for found in _MONTH.finditer(text):
        start, end = found.span()
        whole = found.group() in _MONTH_NUMBERS
        if not whole and found.group() not in _SHORT_MONTHS:
            continue
        sure = whole and found.group() not in {"May", "March"}
        if sure or _DAY_AFTER.match(text, end) or _DAY_BEFORE.search(text, max(0, start - 9), start):
            yield Quantity(start, end, f"month:{_MONTH_NUMBERS.get(found.group()) or _SHORT_MONTHS[found.group()]}")


def _han(text: str) -> Iterator[Quantity]:
    after = 0
    for start in (found.start() for found in _HAN_START.finditer(text)):
        found = _HAN.match(text, start) if start >= after else None
        if found is None:
            continue
        after = found.end()
        value = _han_value(found, text)
        if value:
            yield Quantity(start, after, value)


def _han_value(found: re.Match[str], text: str) -> str:
    part = found.group
    if part("plain"):
        return _plain_han_value(found, text)
    if part("percent"):
        return plain(_han_number(part("percent")) / 100)
    if part("below"):
        return plain(_han_number(part("above")) / max(_han_number(part("below")), 1))
    if part("tenths"):
        return plain(_han_number(part("tenths")) / 10 + (0.05 if part("more") else 0))
    return "0.5"


def _plain_han_value(found: re.Match[str], text: str) -> str:
    """Value of a numeral that counts something; nothing for one that is part of a word."""
    numeral, measure = found["plain"], found["measure"]
    if found["month"]:
        return f"month:{_han_number(numeral):g}"
    counts = found["nth"] or measure or (len(numeral) > 1 and numeral not in _NOT_NUMBERS)
    is_word = (
        (numeral == "一" and not found["nth"]) or (numeral == "十" and measure == "分") or set(numeral) <= _SCALE_SIGNS
    )
    if not counts or is_word or text[found.start() - 1 : found.start()].isdigit():
        return ""
    return plain(_han_number(numeral))


@lru_cache(maxsize=4096)
def _han_number(text: str) -> float:
    """Value of 三千二百五十, of 二〇二三 (digit by digit), of 三点五."""
    whole, _, rest = text.partition("点")
    if not any(sign in _HAN_SCALES for sign in whole):
        value = float("".join(str(_HAN_DIGITS[sign]) for sign in whole) or 0)
    else:
        value = _han_scaled(whole)
    decimals = "".join(str(_HAN_DIGITS[sign]) for sign in rest if sign in _HAN_DIGITS)
    return value + (float(f"0.{decimals}") if decimals else 0.0)


def _han_scaled(text: str) -> float:
    total = section = digit = 0
    for sign in text:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif _HAN_SCALES[sign] < _MYRIAD:
            section += (digit or 1) * _HAN_SCALES[sign]
            digit = 0
        elif sign == "万":
            total += (section + digit or 1) * _MYRIAD
            section = digit = 0
        else:
            total = (total + section + digit or 1) * _HAN_SCALES[sign]
            section = digit = 0
    return float(total + section + digit)
