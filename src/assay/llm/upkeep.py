"""Looking after the cache: what is in it, whether it is sound, and making it smaller."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError
from assay.llm.cache import checksum, drop_oldest
from assay.llm.records import from_json
from assay.llm.store import connect, used_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

_PATIENCE = 20.0


@dataclass(frozen=True)
class Share:
    """Replies of one model on one host."""

    host: str
    model: str
    replies: int
    failed: int
    bytes: int


@dataclass(frozen=True)
class Stats:
    """What a cache holds."""

    path: str
    replies: int
    bytes: int
    oldest: float | None
    newest: float | None
    shares: tuple[Share, ...]


def stats(path: str | os.PathLike[str]) -> Stats:
    """Count what is in a cache."""
    with _opened(path) as file:
        total, oldest, newest = file.execute("SELECT count(*), min(created), max(created) FROM replies").fetchone()
        shares = file.execute(
            "SELECT host, model, count(*), sum(reason != ''), sum(length(CAST(value AS BLOB))) FROM replies"
            " GROUP BY host, model ORDER BY count(*) DESC, host, model"
        ).fetchall()
        return Stats(str(path), total, used_bytes(file), oldest, newest, tuple(Share(*row) for row in shares))


def prune(
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    days: float | None = None,
    failed: bool = False,
    model: str | None = None,
) -> int:
    """Remove failed replies, those of a model, those older than some days, the oldest beyond a size; says how many."""
    with _opened(path) as file:
        file.execute("BEGIN IMMEDIATE")
        gone = 0
        if failed:
            gone += file.execute("DELETE FROM replies WHERE reason != ''").rowcount
        if model is not None:
            gone += file.execute("DELETE FROM replies WHERE model = ?", (model,)).rowcount
        if days is not None:
            gone += file.execute("DELETE FROM replies WHERE created < ?", (time.time() - days * 86_400,)).rowcount
        file.execute("COMMIT")
        while max_bytes is not None and used_bytes(file) > max_bytes:
            count = file.execute("SELECT count(*) FROM replies").fetchone()[0]
            if not count:
                break
            excess = 1 - max_bytes / used_bytes(file)
            gone += drop_oldest(file, max(int(count * excess), 1))
        if gone:
            file.execute("VACUUM")
        return gone


def verify(path: str | os.PathLike[str]) -> list[str]:
    """Say what is wrong with a cache: damaged pages, damaged or unreadable replies; nothing when it is sound."""
    found: list[str] = []
    try:
        with _opened(path) as file:
            found += [row[0] for row in file.execute("PRAGMA integrity_check") if row[0] != "ok"]
            for key, value, wanted in file.execute("SELECT key, value, sum FROM replies"):
                if checksum(value) != wanted:
                    found.append(f"reply {key}: the value was changed")
                elif from_json(value, key) is None:
                    found.append(f"reply {key}: the value cannot be read")
    except _Damaged as error:
        found.append(str(error))
    return found


class _Damaged(InputError):
    """SQLite cannot use the file."""


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    place = Path(path)
    if not place.is_file():
        raise InputError("there is no cache here", path=str(place))
    file = None
    try:
        file = connect(place, patience=_PATIENCE)
        yield file
    except (sqlite3.Error, OSError) as error:
        raise _Damaged(f"the cache cannot be used: {error}", path=str(place)) from None
    finally:
        if file is not None:
            file.close()
