"""Answers that were paid for, kept so that the same question is never paid twice.

All access is on a thread of its own, which gathers what is waiting into one transaction. A `put` is acknowledged when
it is committed: a process killed afterwards loses nothing. A file that is broken, locked or not writable turns the
cache off, with a warning; it never ends a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import queue
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from assay.errors import UsageError
from assay.llm import store
from assay.llm.records import from_json, to_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from assay.llm.records import Reply

    _Jobs = queue.SimpleQueue["_Put | _Get | None"]

_log = logging.getLogger("assay.llm")
_MANY = 500  # keys of one look-up, rows between two looks at the size
_SPARE = 0.9  # of the size limit that is left when it was reached


@dataclass(frozen=True)
class _Put:
    row: tuple[Any, ...]
    done: Future[bool] | asyncio.Future[bool]


@dataclass(frozen=True)
class _Get:
    keys: Sequence[str]
    done: Future[dict[str, str]]


class Cache:
    """Replies by their request's fingerprint, in a file that several processes and clients may share.

    `max_bytes` bounds the file: the oldest replies make room. `patience` is how long a lock of another process is
    waited for, in seconds.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 2 << 30, patience: float = 20.0
    ) -> None:
        if max_bytes < 1 << 16:
            raise UsageError(f"max_bytes = {max_bytes}: expected at least {1 << 16}")
        self.path = Path(path) if path is not None else store.default_path()
        self.max_bytes, self.patience = max_bytes, patience
        self.trouble = ""  # why the cache is off, if it is
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: _Jobs = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since_look = 0

    def _submit(self, job: _Put | _Get) -> None:
        if self._pid != os.getpid():
            self._start()  # after a fork the thread and the connection are the parent's
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, args=(self._jobs,), name="assay-cache", daemon=True)
                self._thread.start()
            self._jobs.put(job)

    def get(self, key: str) -> Reply | None:
        """Look one reply up."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Look replies up; those that are missing or cannot be read are left out."""
        if self.trouble:
            return {}
        job = _Get(keys, Future())
        self._submit(job)
        read = ((key, from_json(text, key)) for key, text in job.done.result().items())
        return {key: reply for key, reply in read if reply is not None}

    def put(self, key: str, reply: Reply, *, host: str, model: str) -> Future[bool]:
        """Keep a reply; the future is done when it is committed, and false when it could not be kept."""
        done: Future[bool] = Future()
        self._put(_row(key, reply, host, model), done)
        return done

    def keep(self, key: str, reply: Reply, *, host: str, model: str) -> asyncio.Future[bool]:
        """Keep a reply, as `put`, for a coroutine to wait for."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._put(_row(key, reply, host, model), done)
        return done

    def _put(self, row: tuple[Any, ...], done: Future[bool] | asyncio.Future[bool]) -> None:
        if self.trouble:
            done.set_result(False)
        else:
            self._submit(_Put(row, done))

    def close(self) -> None:
        """Commit what is waiting and close the file; a later use opens it again."""
        if self._pid != os.getpid():
            return
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._jobs.put(None)
                self._jobs = queue.SimpleQueue()  # of the next thread, if there is one
        if thread is not None:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # On the thread ----------------------------------------------------------------------------------------------------

    def _work(self, jobs: _Jobs) -> None:
        connection = None
        try:
            connection = store.connect(self.path, patience=self.patience)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, the run goes on
            self._give_up(error)
        going = True
        while going:
            puts, gets, going = self._batch(jobs)
            self._serve(connection, puts, gets)
        if connection is not None:
            connection.close()

    def _serve(self, connection: sqlite3.Connection | None, puts: list[_Put], gets: list[_Get]) -> None:
        kept, found = False, {}
        if connection is not None and not self.trouble:
            try:
                if puts:
                    self._write(connection, puts)
                kept = True
                found = _read(connection, gets)
            except Exception as error:  # noqa: BLE001 - nobody may be left waiting for an answer
                self._give_up(error)
        _acknowledge(puts, kept=kept)
        for job in gets:
            job.done.set_result({key: found[key] for key in job.keys if key in found})

    def _give_up(self, error: Exception) -> None:
        self.trouble = f"going on without the cache {self.path}: {error}"
        _log.warning("%s (see: assay cache verify)", self.trouble)

    def _batch(self, jobs: _Jobs) -> tuple[list[_Put], list[_Get], bool]:
        puts, gets = [], []
        job = jobs.get()
        while job is not None:
            if isinstance(job, _Put):
                puts.append(job)
            else:
                gets.append(job)
            if len(puts) + len(gets) >= _MANY or jobs.empty():
                return puts, gets, True
            job = jobs.get()
        return puts, gets, False

    def _write(self, connection: sqlite3.Connection, puts: list[_Put]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(
                "INSERT OR REPLACE INTO replies (key, value, sum, reason, host, model, created) VALUES (?,?,?,?,?,?,?)",
                [put.row for put in puts],
            )
            self._since_look += len(puts)
            if self._since_look >= _MANY:
                self._since_look = 0
                self._make_room(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _make_room(self, connection: sqlite3.Connection) -> None:
        used = store.used_bytes(connection)
        if used > self.max_bytes:
            count = connection.execute("SELECT count(*) FROM replies").fetchone()[0]
            drop_oldest(connection, int(count * (1 - _SPARE * self.max_bytes / used)) + 1)


def drop_oldest(connection: sqlite3.Connection, count: int) -> int:
    """Remove the oldest replies."""
    return connection.execute(
        "DELETE FROM replies WHERE id IN (SELECT id FROM replies ORDER BY id LIMIT ?)", (count,)
    ).rowcount


def checksum(value: str) -> str:
    """A short sum by which a damaged value is found."""
    return hashlib.sha256(value.encode()).hexdigest()[:16]


def _row(key: str, reply: Reply, host: str, model: str) -> tuple[Any, ...]:
    value = to_json(reply)
    return key, value, checksum(value), reply.reason, host, model, time.time()


def _acknowledge(puts: list[_Put], *, kept: bool) -> None:
    """Tell those who wait; coroutines of one loop together, because waking a loop costs more than a reply."""
    loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[bool]]] = {}
    for put in puts:
        if isinstance(put.done, Future):
            put.done.set_result(kept)
        else:
            loops.setdefault(put.done.get_loop(), []).append(put.done)
    for loop, waiting in loops.items():
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_resolve, waiting, kept)


def _resolve(waiting: list[asyncio.Future[bool]], kept: bool) -> None:  # noqa: FBT001 - of a callback
    for done in waiting:
        if not done.done():
            done.set_result(kept)


def _read(connection: sqlite3.Connection, gets: list[_Get]) -> dict[str, str]:
    keys = list(dict.fromkeys(key for job in gets for key in job.keys))
    found: dict[str, str] = {}
    for start in range(0, len(keys), _MANY):
        part = keys[start : start + _MANY]
        marks = ",".join("?" * len(part))
        found |= dict(connection.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", part))  # noqa: S608 - question marks only
    return found
