"""Quotations: found where they stand, whatever the spaces and signs, and nowhere else."""

from __future__ import annotations

import random

import pytest

from assay.curation.quotes import find_all, find_quote
from question_writer import chinese, english

ENGLISH = "The “old” mill — built in 1890 — stands by\nthe river; it’s closed… Visitors come in May."
CHINESE = "这座磨坊建于 1890 年，位于河边。五月有游客前来。"


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        (ENGLISH, "built in 1890", "built in 1890"),
        (ENGLISH, 'the "old" mill - built', "The “old” mill — built"),
        (ENGLISH, "stands by the river; it's closed...", "stands by\nthe river; it’s closed…"),
        (ENGLISH, "VISITORS come in May", "Visitors come in May"),
        (ENGLISH, '"Visitors come in May!"', "Visitors come in May"),
        (CHINESE, "这座磨坊建于1890年", "这座磨坊建于 1890 年"),
        (CHINESE, "位于河边，", "位于河边"),
        (CHINESE, "五月有游客前来。", "五月有游客前来。"),
    ],
)
def test_a_quotation_is_found_as_the_document_writes_it(text, quote, found):
    start, end = find_quote(text, quote)
    assert text[start:end] == found


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (ENGLISH, "built in 1891"),
        (ENGLISH, "the mill"),
        (ENGLISH, "isitors come in Ma"),
        (ENGLISH, "in 1890"),
        (ENGLISH, ""),
        (ENGLISH, "..."),
        (CHINESE, "磨坊"),
        (CHINESE, "这座水磨坊建于"),
    ],
)
def test_what_is_not_there_or_too_short_to_mean_one_place_is_not_found(text, quote):
    assert find_quote(text, quote) is None


def test_any_piece_of_any_text_is_found_at_a_place_with_the_same_words():
    chance = random.Random(4)
    for text in [*english(30).values(), *chinese(30).values()]:
        for _ in range(5):
            start = chance.randrange(len(text) - 20)
            start = text.find(" ", start) + 1 if text.isascii() else start
            end = text.find(" ", start + 12) if text.isascii() else start + 12
            piece = text[start : end if end > 0 else len(text)]
            place = find_quote(text, piece.replace(" ", "\n  ").upper())
            assert text[slice(*place)].lower().strip(" .。") == piece.lower().strip(" .。")


def test_several_quotations_are_one_piece_from_the_first_to_the_last():
    start, end = find_all(ENGLISH, ["Visitors come in May.", "built in 1890"])
    assert (ENGLISH[start:end].startswith("built"), ENGLISH[start:end].endswith("May.")) == (True, True)
    assert find_all(ENGLISH, ["built in 1890", "not in this text"]) is None
    assert find_all(ENGLISH, []) is None
