"""Pseudonyms for the users of a log: ids are replaced by keyed hashes of them when it is read.

The same salt gives the same pseudonyms, so that logs of several days, and tables of users that were treated alike, can
be joined; without the salt nobody can go back from a pseudonym to an id, or try out ids.
"""

from __future__ import annotations

import hmac
import os
from functools import partial

from assay.errors import UsageError
from assay.formats.files import Input
from assay.lazy import pl
from assay.messages import say

_DIGITS = 32  # of 64 that SHA-256 has: 128 bits, with which two users never meet
_SHORTEST = 8
_PERSONAL = ("user", "session")


def read_salt(text: str) -> str:
    """The salt that an option means: `@FILE` is the first line of a file, `env:NAME` a variable, all else itself."""
    if text.startswith("@"):
        return Input.at(text[1:]).text.split("\n", 1)[0].strip()
    if not text.startswith("env:"):
        return text
    name = text.removeprefix("env:")
    if name not in os.environ:
        raise UsageError(say("the environment variable {name} is not set", name=name))
    return os.environ[name]


def hash_users(frame: pl.LazyFrame, salt: str) -> pl.LazyFrame:
    """Replace the ids of users and sessions by keyed hashes."""
    hashed = partial(_hash_all, key=key_of_salt(salt))
    return frame.with_columns(
        pl.col(name).map_batches(hashed, return_dtype=pl.String, is_elementwise=True) for name in _PERSONAL
    )


def key_of_salt(salt: str) -> bytes:
    """The key that a salt is; a short one, which could be guessed, is refused."""
    if len(salt) < _SHORTEST:
        raise UsageError(
            say("the salt has {n} {n:character|characters}: expected at least {least}", n=len(salt), least=_SHORTEST)
        )
    return salt.encode()


def make_pseudonym(name: str, key: bytes) -> str:
    """What takes the place of an id."""
    return hmac.digest(key, name.encode(), "sha256").hex()[:_DIGITS]


def _hash_all(ids: pl.Series, key: bytes) -> pl.Series:
    """Hash each different id once."""
    different = ids.unique().drop_nulls()
    hashes = [make_pseudonym(one, key) for one in different]
    return ids.replace_strict(different, pl.Series(hashes, dtype=pl.String), default=None, return_dtype=pl.String)
