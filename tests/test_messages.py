"""Every sentence in two languages."""

from __future__ import annotations

import re

import pytest

from assay.messages import say, tell
from assay.wordings import PARTS, WORDINGS


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)", text))


def test_no_two_parts_use_one_key():
    assert len(WORDINGS) == sum(map(len, PARTS))


@pytest.mark.parametrize("key", list(WORDINGS))
def test_both_languages_say_the_same_values(key):
    english, chinese = WORDINGS[key]
    assert fields(english) - fields(chinese) <= {"en", "n"}  # a number may only choose a word in English
    assert fields(chinese) - fields(english) <= {"zh"}
    names = key == "text.either" or key.startswith("method.")  # of methods, the same everywhere
    if not names and english and re.sub(r"\{[^}]*\}|[^A-Za-z]", "", english) and english.islower():
        assert chinese != english or len(english) < 4


def test_numbers_choose_words_and_lists_are_joined():
    one = say("doubt.missing", n=1, fate=say("fate.zero"), some="q1")
    assert one == "1 judged query is missing and counts as 0: q1"
    assert tell(one, "zh") == "1 个已标注查询在结果中缺失，按 0 计：q1"
    assert (
        say("doubt.missing", n=2, fate=say("fate.skip"), some="q1")
        == "2 judged queries are missing and count nowhere: q1"
    )
    like = say("compare.best_like", measure="m", system="s", value=0.5, others=["a", "b"])
    assert "it is not shown to differ from a, b." in like
    assert "与 a、b 未显示出差异" in tell(like, "zh")
    assert tell("plain", "zh") == "plain"
