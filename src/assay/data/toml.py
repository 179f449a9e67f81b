"""Decoding users' TOML: any fault in a text becomes an error that names its file."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from assay.data.limits import KEY_PARTS, MEGABYTE, TOML
from assay.errors import InputError, cause
from assay.messages import say

_PART = r"""(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{KEY_PARTS}}}")
_WHOLE = 2**63  # TOML's whole numbers end here


def decode_toml(text: str, path: str) -> dict[str, Any]:
    """Decode the text of a file."""
    if len(text) > TOML.value * MEGABYTE:
        raise TOML.refuse(say("a TOML file of more than {n} MB", n=TOML.value), path)
    if long := _LONG_KEY.search(text):
        raise InputError(
            say("a key of more than {n} names between dots", n=KEY_PARTS),
            path=path,
            line=text.count("\n", 0, long.start()) + 1,
        )
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(say("not valid TOML: {reason}", reason=cause(error)), path=path) from None
    except RecursionError:
        raise InputError(say("read.too_deep"), path=path) from None
    except ValueError as error:  # a number of thousands of digits, a date that does not exist
        raise InputError(say("not valid TOML: {reason}", reason=cause(error)), path=path) from None
    _refuse_huge(found, path)
    return found


def _refuse_huge(value: Any, path: str) -> None:
    """Refuse whole numbers that no float holds, wherever they are."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, int) and not -_WHOLE <= one < _WHOLE:
            raise InputError(say("a whole number of {n} digits is too large", n=len(str(abs(one)))), path=path)
