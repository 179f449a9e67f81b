"""Answers that were paid for, kept so that the same question is never paid twice.

All access is on a thread of its own, which gathers what is waiting into one transaction. A `put` is acknowledged when
it is committed: a process killed afterwards loses nothing. A file that is broken, locked or not writable turns the
cache off, with a warning; it never ends a run.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import os
import queue
import sqlite3
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from assay.errors import UsageError, clean
from assay.llm import claims, store
from assay.llm.records import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from assay.llm.records import Reply

    _Jobs = queue.SimpleQueue["_Job | None"]

_log = logging.getLogger("assay.llm")
_MANY = 500  # keys of one look-up, rows between two looks at the size
_SPARE = 0.9  # of the size limit that is left when it was reached

T = TypeVar("T")
Done = Future[T] | asyncio.Future[T]
# What became of a claim: it is ours (True) or another's (False), or the reply that was stored meanwhile.
Claimed = bool | str


@dataclass(frozen=True)
class _Put:
    row: tuple[Any, ...]
    done: Done[bool]


@dataclass(frozen=True)
class _Get:
    keys: Sequence[str]
    done: Future[dict[str, str]]


@dataclass(frozen=True)
class _Claim:
    key: str
    anyway: bool
    done: Done[Claimed]


@dataclass(frozen=True)
class _Release:
    key: str


_Job = _Put | _Get | _Claim | _Release


@dataclass
class _Batch:
    """Jobs that are done together, and whether more may come."""

    puts: list[_Put] = field(default_factory=list)
    gets: list[_Get] = field(default_factory=list)
    claims: list[_Claim] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    going: bool = True
    size: int = 0

    def add(self, job: _Job) -> None:
        self.size += 1
        if isinstance(job, _Put):
            self.puts.append(job)
        elif isinstance(job, _Get):
            self.gets.append(job)
        elif isinstance(job, _Claim):
            self.claims.append(job)
        else:
            self.released.append(job.key)


class Cache:
    """Replies by their request's fingerprint, in a file that several processes and clients may share.

    `max_bytes` bounds the file: the oldest replies make room. `patience` is how long a lock of another process is
    waited for, in seconds. Every reply has a checksum; one that does not agree with it counts as missing, and is
    replaced when it has been asked for again. What is about to be asked is claimed in the file (see `claims`).
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 2 << 30, patience: float = 20.0
    ) -> None:
        if max_bytes < 1 << 16:
            raise UsageError(f"max_bytes = {max_bytes}: expected at least {1 << 16}")
        self.path = Path(path) if path is not None else store.default_path()
        self.max_bytes, self.patience = max_bytes, patience
        self.trouble = ""  # why the cache is off, if it is
        self._damaged: set[str] = set()
        self._told = 0  # of those
        self._start()

    @property
    def damaged(self) -> int:
        """Replies that were found damaged so far, and not believed."""
        return len(self._damaged)

    def tell_damage(self) -> None:
        """Warn of damaged replies that were found since the last time, in one line."""
        new, self._told = len(self._damaged) - self._told, len(self._damaged)
        if new > 0:
            what = "1 damaged reply is" if new == 1 else f"{new:,} damaged replies are"
            _log.warning("%s not believed but asked for again, in the cache %s", what, clean(str(self.path)))

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: _Jobs = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since_look = 0
        self._owner = claims.new_owner()
        self._held: set[str] = set()
        self._renewed = 0.0
        self._writable = True

    def _submit(self, job: _Job) -> None:
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
        read = {key: from_json(text, key) for key, text in job.done.result().items()}
        self._damaged |= {key for key, reply in read.items() if reply is None}
        return {key: reply for key, reply in read.items() if reply is not None}

    def claim(self, key: str, *, anyway: bool = False) -> asyncio.Future[Claimed]:
        """Claim a question before it is asked, for a coroutine to wait for.

        True: it is ours to ask, and to `keep` or `release`. False: another is asking, so wait and try again. Or the
        JSON of the reply that is there by now; with `anyway`, that one does not count.
        """
        done: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        self._claim(key, done, anyway=anyway)
        return done

    def claim_many(self, keys: Sequence[str], recall: Callable[[Reply], Reply | None]) -> dict[str, Reply | bool]:
        """Claim questions, as `claim`, and wait for what becomes of them here; `recall` says which replies count."""
        found: dict[str, Reply | bool] = {}
        doubtful: set[str] = set()
        while left := [key for key in keys if key not in found]:
            waiting: dict[str, Future[Claimed]] = {key: Future() for key in left}
            for key, done in waiting.items():
                self._claim(key, done, anyway=key in doubtful)
            for key, done in waiting.items():
                state = done.result()
                stored = from_json(state, key) if isinstance(state, str) else None
                reply = None if stored is None else recall(stored)
                if isinstance(state, bool) or reply is not None:
                    found[key] = state if isinstance(state, bool) else reply or False
                else:
                    doubtful.add(key)
        return found

    def _claim(self, key: str, done: Done[Claimed], *, anyway: bool) -> None:
        if self.trouble:
            done.set_result(True)
        else:
            self._submit(_Claim(key, anyway, done))

    def release(self, key: str) -> None:
        """Give a claim back whose question was not answered."""
        if not self.trouble:
            self._submit(_Release(key))

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
        connection = self._connected()
        going = True
        while going:
            batch = self._batch(jobs)
            going = batch.going
            self._serve(connection, batch)
        if connection is not None:
            self._release_all(connection)
            connection.close()

    def _connected(self) -> sqlite3.Connection | None:
        try:
            return store.connect(self.path, patience=self.patience)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, the run goes on
            if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
                with suppress(Exception):
                    connection = store.connect_reading(self.path, patience=self.patience)
                    self._writable = False
                    _log.warning("the cache %s is read, but new replies cannot be kept in it", clean(str(self.path)))
                    return connection
            self._give_up(error)
            return None

    def _serve(self, connection: sqlite3.Connection | None, batch: _Batch) -> None:
        kept, found = False, dict[str, str]()
        taken: list[Claimed] = [True] * len(batch.claims)  # without a cache everybody asks
        if connection is not None and not self.trouble:
            try:
                if batch.puts and self._writable:
                    self._write(connection, batch.puts)
                    kept = True
                if batch.released:
                    self._release(connection, batch.released)
                if batch.claims and self._writable:
                    taken = self._take(connection, batch.claims)
                found = self._read(connection, [key for job in batch.gets for key in job.keys])
                self._renew(connection)
            except Exception as error:  # noqa: BLE001 - nobody may be left waiting for an answer
                self._give_up(error)
                self._release_all(connection)
                kept, taken = False, [True] * len(batch.claims)
        _acknowledge([(put.done, kept) for put in batch.puts])
        _acknowledge([(job.done, state) for job, state in zip(batch.claims, taken, strict=True)])
        for job in batch.gets:
            job.done.set_result({key: found[key] for key in job.keys if key in found})

    def _give_up(self, error: Exception) -> None:
        self.trouble = f"going on without the cache {self.path}: {error}"
        _log.warning("%s (see: assay cache verify --repair)", clean(self.trouble))

    def _batch(self, jobs: _Jobs) -> _Batch:
        batch = _Batch()
        try:
            job = jobs.get(timeout=claims.RENEWAL) if self._held else jobs.get()
        except queue.Empty:
            return batch
        while job is not None:
            batch.add(job)
            if batch.size >= _MANY or jobs.empty():
                return batch
            job = jobs.get()
        batch.going = False
        return batch

    def _read(self, connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, str]:
        found, damaged = read_rows(connection, list(dict.fromkeys(keys)))
        self._damaged |= damaged
        return found

    def _take(self, connection: sqlite3.Connection, jobs: list[_Claim]) -> list[Claimed]:
        """Claim what is free. Looking needs no lock, so those who wait for others do not hold up anybody."""
        now = time.time()
        replies = self._read(connection, [job.key for job in jobs if not job.anyway])
        open_keys = [job.key for job in jobs if job.key not in replies]
        free = set(open_keys) - claims.claimed(connection, open_keys, now)
        if free:
            with _transaction(connection):
                replies |= self._read(connection, [job.key for job in jobs if job.key in free and not job.anyway])
                free -= replies.keys() | claims.claimed(connection, list(free), now)
                claims.claim(connection, free, self._owner, now)
            self._renewed = self._renewed if self._held else time.monotonic()
            self._held |= free
        found: list[Claimed] = []
        for job in jobs:
            found.append(replies.get(job.key, job.key in free))
            free.discard(job.key)  # the second who asks waits for the first
        return found

    def _release(self, connection: sqlite3.Connection, keys: list[str]) -> None:
        mine = self._held.intersection(keys)
        if mine:
            with _transaction(connection):
                claims.release(connection, mine, self._owner)
            self._held -= mine

    def _release_all(self, connection: sqlite3.Connection) -> None:
        """Let others ask what we shall not; where the file does not take even that, the claims end by themselves."""
        with suppress(sqlite3.Error):
            self._release(connection, list(self._held))

    def _renew(self, connection: sqlite3.Connection) -> None:
        if self._held and time.monotonic() - self._renewed > claims.RENEWAL:
            with _transaction(connection):
                claims.renew(connection, self._owner, time.time())
            self._renewed = time.monotonic()

    def _write(self, connection: sqlite3.Connection, puts: list[_Put]) -> None:
        answered = self._held.intersection(put.row[0] for put in puts)
        with _transaction(connection):
            connection.executemany(
                "INSERT OR REPLACE INTO replies (key, value, sum, reason, host, model, created) VALUES (?,?,?,?,?,?,?)",
                [put.row for put in puts],
            )
            claims.release(connection, answered, self._owner)
            self._since_look += len(puts)
            if self._since_look >= _MANY:
                self._since_look = 0
                self._make_room(connection)
        self._held -= answered

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


def checksum_of(value: bytes) -> str:
    """A short sum by which a damaged value is found."""
    return hashlib.sha256(value).hexdigest()[:16]


def _row(key: str, reply: Reply, host: str, model: str) -> tuple[Any, ...]:
    value = to_json(reply)
    return key, value, checksum_of(value.encode()), reply.reason, host, model, time.time()


def _acknowledge(results: Sequence[tuple[Done[T], T]]) -> None:
    """Tell those who wait; coroutines of one loop together, because waking a loop costs more than a reply."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[T], T]]] = {}
    for done, result in results:
        if isinstance(done, Future):
            done.set_result(result)
        else:
            loops.setdefault(done.get_loop(), []).append((done, result))
    for loop, waiting in loops.items():
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_resolve, waiting)


def _resolve(waiting: list[tuple[asyncio.Future[T], T]]) -> None:
    for done, result in waiting:
        if not done.done():
            done.set_result(result)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def read_rows(connection: sqlite3.Connection, keys: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Values by their keys, and the keys whose value is not the one that its checksum was made of.

    The key is read beside the value: a damaged index could lead to the sound value of another question. All are read
    as bytes, since damaged text cannot be read as text. Raises sqlite3.DatabaseError if index and replies disagree.
    """
    found: dict[str, str] = {}
    damaged: set[str] = set()
    for start in range(0, len(keys), _MANY):
        part = keys[start : start + _MANY]
        marks = ",".join("?" * len(part))
        places = connection.execute(f"SELECT id, key FROM replies WHERE key IN ({marks})", part).fetchall()  # noqa: S608 - question marks only
        marks = ",".join("?" * len(places))
        columns = "id, CAST(key AS BLOB), CAST(value AS BLOB), CAST(sum AS BLOB)"
        rows = connection.execute(
            f"SELECT {columns} FROM replies WHERE id IN ({marks})",  # noqa: S608 - question marks only
            [number for number, _ in places],
        )
        written = {number: rest for number, *rest in rows}
        for number, key in places:
            stored, value, wanted = written.get(number, (None, None, None))
            if stored != key.encode():
                raise sqlite3.DatabaseError("its index and its replies disagree")
            if value is not None and wanted == checksum_of(value).encode():
                found[key] = value.decode()
            else:
                damaged.add(key)
    return found, damaged - found.keys()
