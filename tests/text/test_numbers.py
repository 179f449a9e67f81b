"""Numbers and dates: one form for one value, in digits, English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.text.numbers import numbers, values

UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
HAN = "零一二三四五六七八九"


def english(n: int) -> str:
    """Write a number in words, from the definition."""
    if n < 20:
        return UNITS[n]
    if n < 100:
        return TENS[n // 10] + (f"-{UNITS[n % 10]}" if n % 10 else "")
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            return f"{english(n // size)} {name}" + (f" and {english(n % size)}" if n % size else "")
    raise AssertionError


def chinese(n: int) -> str:
    """Write a number in Chinese, from the definition."""
    for size, name in ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if n >= size:
            rest = n % size
            gap = "零" if rest and rest < size // 10 else ""
            return chinese(n // size) + name + gap + (chinese(rest) if rest else "")
    return HAN[n]


@given(st.integers(2, 10**10))
def test_english_words_have_the_value_of_their_digits(n):
    assert (
        values(f"There were {english(n)} of them.")
        == {str(n)}
        == values(f"There were {n:,} of them.")
        == values(str(n))
    )


@given(st.integers(2, 10**10))
def test_chinese_numerals_have_the_value_of_their_digits(n):
    if set(chinese(n)) <= set("百千万亿"):
        return
    assert values(f"共有{chinese(n)}个。") == {str(n)}


EQUAL = [
    ("3,000", "3000", "三千", "three thousand", "3k", "３０００", "3 thousand"),
    ("30%", "三成", "0.3", "30 percent", "百分之三十", "thirty percent", "百分之30", "30 %", "３０％", "30 per cent"),
    ("2.5 million", "250万", "二百五十万", "2,500,000", "2.5M", "2.5 mln", "2.5mn"),
    ("3bn", "3 bln", "3 billion", "30亿", "三十亿"),
    ("6½", "6.5", "六点五个"),
    ("half", "一半", "0.5", "50%", "五成"),
    ("三分之二", "⅔"),
    ("1.4亿", "14000万", "140 million"),
    ("the third", "3rd", "第三", "3"),
]


@pytest.mark.parametrize("group", EQUAL, ids=lambda group: group[0])
def test_different_spellings_have_one_value(group):
    found = [values(text) for text in group]
    assert all(len(one) == 1 for one in found)
    assert all(one == found[0] for one in found), found


def test_dates_give_their_parts():
    expected = {"1990", "month:1", "5"}
    for text in (
        "January 5, 1990",
        "5 January 1990",
        "1990-01-05",
        "1990/1/5",
        "1990年1月5日",
        "一九九〇年一月五日",
        "Jan. 5, 1990",
    ):
        assert values(text) == expected, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You may go. The march went on.", set()), ("It was in May 1990", {"month:5", "1990"}), ("March 3", {"month:3", "3"}),
        ("一些人，一样，统一，万一，千万别，十分好", set()), ("No one came, one of them", set()), ("v6.15.0", {"6.15.0"}),
        ("1, 2 and 12,34", {"1", "2", "12", "34"}), ("成为三成员", set()), ("", set()),
        ("1" * 40, {"1" * 40}), ("1,234.50 and 1234.5", {"1234.5"}), ("٣ Arabic", set()),
    ],
)  # fmt: skip
def test_what_is_no_number_stays_out(text, expected):
    assert values(text) == expected


def test_quantities_know_their_places():
    text = "In 1990 some 三千 of 2.5 million"
    assert [(text[q.start : q.end], q.value) for q in numbers(text)] == [
        ("1990", "1990"),
        ("三千", "3000"),
        ("2.5 million", "2500000"),
    ]


@given(st.text(alphabet="0123456789,.%½三千万亿月年成百分之 -/abkJune", max_size=80))
def test_any_text_can_be_read(text):
    for quantity in numbers(text):
        assert 0 <= quantity.start < quantity.end <= len(text)
        assert quantity.value
