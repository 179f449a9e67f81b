"""Who is asking what: claims in the cache's file, so that processes that share it pay for a question once.

A claim names its owner and ends by itself unless the owner renews it. On Linux the claim of a process that was killed
on this machine ends at once; elsewhere it is waited out.
"""

from __future__ import annotations

import os
import secrets
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

LEASE = 60.0  # seconds that a claim holds unless it is renewed
RENEWAL = 15.0  # seconds between renewals
_MANY = 500  # keys of one statement
_STARTED = 19  # field of /proc/PID/stat, counted after the name of the program


def new_owner() -> str:
    """Name whoever claims: the machine, the process, when it started, and a word that tells several of one process."""
    pid = os.getpid()
    return f"{_machine()} {pid} {_start_of(pid)} {secrets.token_hex(4)}"


def claimed(connection: sqlite3.Connection, keys: Sequence[str], now: float) -> set[str]:
    """Those of the keys that somebody is asking about."""
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


def renew(connection: sqlite3.Connection, owner: str, now: float) -> None:
    """Go on holding what an owner holds."""
    connection.execute("UPDATE claims SET until = ? WHERE owner = ?", (now + LEASE, owner))


def release(connection: sqlite3.Connection, keys: Iterable[str], owner: str) -> None:
    """Give keys back."""
    connection.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", [(key, owner) for key in keys])


def _may_live(owner: str) -> bool:
    """Whether the owner may still be at work; known only of processes that this one can see."""
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
    """When a process started, in ticks since the machine did; nothing if there is none or it cannot be told."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    dead = not fields or fields[0] in {"Z", "X"}
    return "" if dead or len(fields) <= _STARTED else fields[_STARTED]
