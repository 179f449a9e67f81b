"""Claims on questions, in a file beside the cache, so that processes that share it pay for each only once.

A claim names its owner and ends by itself unless the owner renews it. On Linux the claim of a process that was killed
on this machine ends at once; elsewhere it is waited out. The file holds nothing of lasting value: it is not made safe
against a crash of the machine, and made again when it is damaged.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.llm.store import code_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LEASE = 60.0  # seconds that a claim holds unless it is renewed
RENEWAL = 15.0  # seconds between renewals
_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0  # seconds between checks of another's claim: the first, and at most
_MANY = 500  # keys of one statement
_STARTED = 19  # field of /proc/PID/stat, counted after the name of the program
_TABLE = """
CREATE TABLE IF NOT EXISTS claims (
    key TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID"""


def place_of(path: Path) -> Path:
    """Where the claims of a cache are."""
    return path.with_name(path.name + "-claims")


def connect(path: Path, *, patience: float, now: float) -> sqlite3.Connection:
    """Open the claims of a cache without those that have ended; raises sqlite3.Error or OSError."""
    place = place_of(path)
    try:
        return _open(place, patience, now)
    except sqlite3.DatabaseError as error:
        if code_of(error) not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        for ending in ("", "-journal"):
            place.with_name(place.name + ending).unlink(missing_ok=True)
        return _open(place, patience, now)


def _open(place: Path, patience: float, now: float) -> sqlite3.Connection:
    connection = sqlite3.connect(place, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = truncate")  # a process that is killed leaves the file whole
        connection.execute(_TABLE)
        ended = connection.execute("SELECT count(*) FROM claims WHERE until < ?", (now,)).fetchone()[0]
        if ended:
            connection.execute("DELETE FROM claims WHERE until < ?", (now,))
    except BaseException:
        connection.close()
        raise
    return connection


def poll_intervals() -> Iterator[float]:
    """Seconds to wait before each look at what another is asking."""
    wait = _FIRST_LOOK
    while True:
        yield wait
        wait = min(2 * wait, _LAST_LOOK)


def new_owner() -> str:
    """Name the owner of claims: machine, process, its start, and a word that separates owners within a process."""
    pid = os.getpid()
    return f"{_machine()} {pid} {_start_of(pid)} {secrets.token_hex(4)}"


def find_claims(connection: sqlite3.Connection, keys: Sequence[str], now: float) -> set[str]:
    """Those of the keys that are claimed."""
    living: dict[str, bool] = {}
    found = set()
    for start in range(0, len(keys), _MANY):
        part = keys[start : start + _MANY]
        marks = ",".join("?" * len(part))
        rows = connection.execute(f"SELECT key, owner, until FROM claims WHERE key IN ({marks})", part)  # noqa: S608 - question marks only
        for key, owner, until in rows:
            if owner not in living:
                living[owner] = _may_live(str(owner))
            if living[owner] and isinstance(until, float) and now < until <= now + 2 * LEASE:
                found.add(key)
    return found


def claim(connection: sqlite3.Connection, keys: Iterable[str], owner: str, now: float) -> None:
    """Claim keys; within a transaction in which they were seen to be free."""
    connection.executemany(
        "INSERT OR REPLACE INTO claims (key, owner, until) VALUES (?,?,?)", [(key, owner, now + LEASE) for key in keys]
    )


def renew(connection: sqlite3.Connection, keys: Iterable[str], owner: str, now: float) -> None:
    """Extend an owner's claims on keys."""
    rows = [(now + LEASE, key, owner) for key in keys]
    connection.executemany("UPDATE claims SET until = ? WHERE key = ? AND owner = ?", rows)


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: str) -> None:
    """Release an owner's claims on keys."""
    connection.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", [(key, owner) for key in keys])


def _may_live(owner: str) -> bool:
    """Return whether the owner may still be running; known only for processes visible to this one."""
    machine, _, rest = owner.partition(" ")
    pid, _, rest = rest.partition(" ")
    start = rest.partition(" ")[0]
    if machine != _machine() or not pid.isdigit() or not start.isdigit():
        return True
    return _start_of(int(pid)) == start


@cache
def _machine() -> str:
    """This machine since it was started, and the processes on it that see each other."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}".replace(" ", "")
    except OSError:
        return "unknown"


def _start_of(pid: int) -> str:
    """When a process started, in ticks since boot; empty if it does not exist or this is unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    dead = not fields or fields[0] in {"Z", "X"}
    return "" if dead or len(fields) <= _STARTED else fields[_STARTED]
