"""What libraries and the system say, as messages of ours."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import tomllib

import pytest

from assay.errors import cause, clean
from assay.messages import Said, say, tell


def raised(act) -> Exception:
    with pytest.raises((ValueError, OSError, sqlite3.Error)) as caught:
        act()
    return caught.value


@pytest.mark.parametrize(
    "text", ["{", '{"a":}', '{"a" 1}', '{"a": 1 "b": 2}', '"abc', '"a\nb"', r'"\q"', "1 2", "[1,]"]
)
def test_what_is_wrong_with_json_is_told_in_chinese(text):
    told = cause(raised(lambda: json.loads(text)))
    assert not re.search("[a-z]{3}", tell(told, "zh"))
    assert "line" not in told.replace("line break", "")


@pytest.mark.parametrize(
    "text", ["a = b", 'a = "C:\\data"', "a 1", "a = 1 b = 2", "[a", "a = [1,", 'a = "x', "a=1\na=2", "[a]\n[a]", "= 3"]
)
def test_what_is_wrong_with_toml_is_told_in_chinese(text):
    told = cause(raised(lambda: tomllib.loads(text)))
    assert not re.search("[a-z]{3}", tell(told, "zh"))


def test_an_unquoted_word_in_toml_is_named_with_its_place():
    told = cause(raised(lambda: tomllib.loads("a = 1\nb = yes")))
    assert told == "not a TOML value; strings need quotes (line 2, column 5)"
    assert tell(told, "zh") == "不是合法的 TOML 值；文本须加引号（第 2 行第 5 列）"


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOENT, errno.EISDIR, errno.ENOSPC, errno.ECONNREFUSED])
def test_an_error_of_the_system_keeps_its_words_and_has_chinese_ones(number):
    plain, wrapped = OSError(number, os.strerror(number)), ValueError(f"[Errno {number}] {os.strerror(number)}")
    assert cause(plain) == cause(wrapped) == os.strerror(number)
    assert re.search("[\u4e00-\u9fff]", tell(cause(plain), "zh"))


def test_words_that_nobody_knows_stay_as_they_are():
    assert cause(ValueError("odd\nand long")) == "odd"
    assert cause(ValueError()) == "ValueError"
    assert cause(OSError("no number")) == "no number"


def test_a_message_that_needs_no_cleaning_can_still_be_told():
    assert isinstance(clean(say("doubt.stamp")), Said)
    assert clean("a\x1bb") == "a\N{REPLACEMENT CHARACTER}b"
