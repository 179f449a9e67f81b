"""The cache of paid answers, so that the same question is never paid for twice.

All access is on a thread of its own, which gathers what is waiting into one transaction. A `put` is acknowledged when
it is committed: a process killed afterwards loses nothing. A file that is broken, locked or not writable turns the
cache off, with a warning; it never ends a run.
"""

from __future__ import annotations

import asyncio
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

from assay.errors import UsageError, cause, clean
from assay.llm import claims, store
from assay.llm.records import from_json
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from assay.llm.records import Reply

    _Jobs = queue.SimpleQueue["_Job | None"]

_log = logging.getLogger("assay.llm")
_MANY = 500  # keys of one look-up, rows between two looks at the size
_SPARE = 0.9  # of the size limit that is left when it was reached

T = TypeVar("T")
Done = Future[T] | asyncio.Future[T]
# The outcome of a claim: it is ours (True) or another's (False), or the reply that was stored meanwhile.
Claimed = bool | str


@dataclass(frozen=True)
class _Put:
    row: tuple[Any, ...]
    done: Done[bool]


@dataclass(frozen=True)
class _Get:
    keys: Sequence[str]
    done: Future[dict[str, str]]


@dataclass(frozen=True, eq=False)
class Lease:
    """The right to ask a question: a claim, and its outcome.

    True: it is ours to ask, and to `put` or `release`. False: another is asking, so wait and try again. Or the JSON of
    the reply that is there by now, unless it is the `doubted` one.
    """

    key: str
    done: Done[Claimed]
    doubted: str = ""


@dataclass(frozen=True)
class _Release:
    claim: Lease


_Job = _Put | _Get | Lease | _Release


@dataclass
class _Batch:
    """Jobs that are done together, and whether more may come."""

    puts: list[_Put] = field(default_factory=list)
    gets: list[_Get] = field(default_factory=list)
    claims: list[Lease] = field(default_factory=list)
    released: list[Lease] = field(default_factory=list)
    going: bool = True
    size: int = 0

    def add(self, job: _Job) -> None:
        self.size += 1
        if isinstance(job, _Put):
            self.puts.append(job)
        elif isinstance(job, _Get):
            self.gets.append(job)
        elif isinstance(job, Lease):
            self.claims.append(job)
        else:
            self.released.append(job.claim)


class Cache:
    """Replies by their request's fingerprint, in a file that several processes and clients may share.

    `max_bytes` bounds the file: the oldest replies are removed. `patience` is how long a lock of another process is
    waited for, in seconds. Every reply has a checksum; one that does not agree with it counts as missing, and is
    replaced when it has been asked for again. What is about to be asked is claimed (see `claims`).
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, max_bytes: int = 2 << 30, patience: float = 20.0
    ) -> None:
        if max_bytes < 1 << 16:
            raise UsageError(say("max_bytes = {size}: expected at least {least}", size=max_bytes, least=1 << 16))
        self.path = Path(path) if path is not None else store.default_path()
        self.max_bytes, self.patience = max_bytes, patience
        self.trouble = ""  # why the cache is off, if it is
        self._damaged: set[str] = set()
        self._told = 0  # of those
        self._start()

    @property
    def damaged(self) -> int:
        """The number of replies found damaged so far, which were not used."""
        return len(self._damaged)

    def tell_damage(self) -> None:
        """Warn of damaged replies that were found since the last time, in one line."""
        new, self._told = len(self._damaged) - self._told, len(self._damaged)
        if new > 0:
            _log.warning(
                say(
                    "{n:,} damaged {n:reply was|replies were} ignored and {n:is|are} asked for again (cache {path})",
                    n=new,
                    path=clean(str(self.path)),
                )
            )

    def _start(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: _Jobs = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._since_look = 0
        self._owner = claims.new_owner()
        self._held: dict[str, Lease] = {}
        self._renewed = 0.0
        self._writable = True
        self._claims: sqlite3.Connection | None = None
        self._claimless = False

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

    def claim(self, key: str, *, doubted: str = "") -> tuple[Lease, asyncio.Future[Claimed]]:
        """Claim a question before it is asked; a coroutine waits for the outcome."""
        done: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        return self._claim(Lease(key, done, doubted)), done

    def _claim(self, claim: Lease) -> Lease:
        if self.trouble:
            claim.done.set_result(True)
        else:
            self._submit(claim)
        return claim

    def release(self, claim: Lease) -> None:
        """Release a claim, whatever its outcome; a claim of another holder stays."""
        if not self.trouble:
            self._submit(_Release(claim))

    @contextmanager
    def claiming(self) -> Iterator[Claims]:
        """Claim questions on this thread; what is still held at the end is released."""
        held = Claims(self)
        try:
            yield held
        finally:
            held.release()

    def put(self, key: str, reply: Reply, *, host: str, model: str) -> Future[bool]:
        """Keep a reply; the future is done when it is committed, and false when it could not be kept."""
        done: Future[bool] = Future()
        self._enqueue(store.row_of(key, reply, host, model), done)
        return done

    def keep(self, key: str, reply: Reply, *, host: str, model: str) -> asyncio.Future[bool]:
        """Keep a reply, as `put`, for a coroutine to wait for."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._enqueue(store.row_of(key, reply, host, model), done)
        return done

    def _enqueue(self, row: tuple[Any, ...], done: Future[bool] | asyncio.Future[bool]) -> None:
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
                thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # On the thread ----------------------------------------------------------------------------------------------------

    def _work(self, jobs: _Jobs) -> None:
        connection = self._connect()
        going = True
        while going:
            batch = self._batch(jobs)
            going = batch.going
            self._serve(connection, batch)
        self._release_all()
        for file in (connection, self._claims):
            if file is not None:
                file.close()
        self._claims = None

    def _connect(self) -> sqlite3.Connection | None:
        try:
            connection, writable = store.connect_any(self.path, patience=self.patience)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, the run goes on
            self._give_up(error)
            return None
        self._writable = True
        if not writable:
            self._only_read()
        return connection

    def _only_read(self) -> None:
        if self._writable:
            self._writable = False
            _log.warning(
                say("the cache {path} can be read, but new replies cannot be kept in it", path=clean(str(self.path)))
            )
            self._release_all()

    def _serve(self, connection: sqlite3.Connection | None, batch: _Batch) -> None:
        kept, found = False, dict[str, str]()
        taken: list[Claimed] = [True] * len(batch.claims)  # without a cache, every caller asks
        if connection is not None and not self.trouble:
            try:
                kept = self._write(connection, batch.puts)
                taken = self._take(connection, batch.claims)
                # After the claims: what is released may have been claimed in this batch.
                self._release([claim.key for claim in batch.released if self._held.get(claim.key) is claim])
                found = self._read(connection, [key for job in batch.gets for key in job.keys])
                self._renew()
            except Exception as error:  # noqa: BLE001 - nobody may be left waiting for an answer
                self._give_up(error)
                self._release_all()
                kept, taken = False, [True] * len(batch.claims)
        _acknowledge([(put.done, kept) for put in batch.puts])
        _acknowledge([(job.done, state) for job, state in zip(batch.claims, taken, strict=True)])
        for job in batch.gets:
            job.done.set_result({key: found[key] for key in job.keys if key in found})

    def _give_up(self, error: Exception) -> None:
        path, why = clean(str(self.path)), clean(cause(error))
        self.trouble = say("going on without the cache {path}: {reason}", path=path, reason=why)
        _log.warning(say("{warning} (see: assay env cache verify {path})", warning=self.trouble, path=path))

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
        found, damaged = store.read_rows(connection, list(dict.fromkeys(keys)))
        self._damaged |= damaged
        return found

    def _take(self, connection: sqlite3.Connection, jobs: list[Lease]) -> list[Claimed]:
        """Claim what is free. Looking needs no lock, so waiting callers do not block others.

        The reply is looked up after the claim: an earlier caller stored it before releasing its claim.
        """
        if not jobs or not self._writable:
            return [True] * len(jobs)
        now = time.time()
        free = dict.fromkeys(job.key for job in jobs)
        try:
            file = self._claims = self._claims or claims.connect(self.path, patience=self.patience, now=now)
            taken = claims.find_claims(file, list(free), now)
            if len(taken) < len(free):
                with store.transaction(file):
                    taken = claims.find_claims(file, list(free), now)
                    claims.claim(file, free.keys() - taken, self._owner, now)
        except (sqlite3.Error, OSError) as error:
            self._forgo_claims(error)
            taken = set()
        self._renewed = self._renewed if self._held else time.monotonic()
        replies = self._read(connection, list(free))
        found: list[Claimed] = []
        for job in jobs:
            stored = replies.get(job.key)
            if stored is not None and stored != job.doubted:
                found.append(stored)
            else:
                found.append(job.key not in taken)
                if job.key not in taken:
                    self._held[job.key] = job
                    taken.add(job.key)  # the second caller waits for the first
        self._release_unheld(free.keys() - self._held.keys() - taken)
        return found

    def _forgo_claims(self, error: Exception) -> None:
        """Continue without claims: others may pay for the same question, but nothing is lost."""
        if not self._claimless:
            self._claimless = True
            where, why = clean(str(self.path)), clean(cause(error))
            _log.warning(
                say(
                    "others who share the cache {path} may pay for the same questions: {reason}", path=where, reason=why
                )
            )
        if self._claims is not None:
            self._claims.close()
            self._claims = None

    def _release(self, keys: Sequence[str]) -> None:
        """Release claims that we hold."""
        for key in keys:
            self._held.pop(key, None)
        self._release_unheld(keys)

    def _release_unheld(self, keys: Collection[str]) -> None:
        """Release our claims; if the file cannot be written, they expire."""
        if keys and self._claims is not None:
            with suppress(sqlite3.Error), store.transaction(self._claims):
                claims.release(self._claims, keys, self._owner)

    def _release_all(self) -> None:
        """Release every claim that we hold."""
        self._release(list(self._held))

    def _renew(self) -> None:
        if self._held and self._claims is not None and time.monotonic() - self._renewed > claims.RENEWAL:
            with suppress(sqlite3.Error), store.transaction(self._claims):
                claims.renew(self._claims, self._held, self._owner, time.time())
            self._renewed = time.monotonic()

    def _write(self, connection: sqlite3.Connection, puts: list[_Put]) -> bool:
        """Keep replies and release their claims; False where the file does not take them."""
        if not puts or not self._writable:
            return False
        try:
            with store.transaction(connection):
                store.add_rows(connection, [put.row for put in puts])
                self._since_look += len(puts)
                if self._since_look >= _MANY:
                    self._since_look = 0
                    self._make_room(connection)
        except sqlite3.Error as error:
            if not store.unwritable(error):
                raise
            self._only_read()
            return False
        self._release([put.row[0] for put in puts if put.row[0] in self._held])
        return True

    def _make_room(self, connection: sqlite3.Connection) -> None:
        used = store.used_bytes(connection)
        if used > self.max_bytes:
            count = connection.execute("SELECT count(*) FROM replies").fetchone()[0]
            store.drop_oldest(connection, int(count * (1 - _SPARE * self.max_bytes / used)) + 1)


class Claims:
    """Claims of one caller, which waits for their outcome on its own thread."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._made: dict[str, Lease] = {}

    def take(self, keys: Iterable[str], recall: Callable[[Reply], Reply | None]) -> dict[str, Reply | bool]:
        """Claim questions: ours to ask (True), another's (False), or the reply that is there, if `recall` takes it."""
        found: dict[str, Reply | bool] = {}
        doubted = dict.fromkeys(keys, "")
        while doubted:
            for key, text in doubted.items():
                self._made[key] = Lease(key, Future(), text)  # first, so that it is released in any case
                self._cache._claim(self._made[key])  # noqa: SLF001 - a part of the cache
            states = {key: self._made[key].done.result() for key in doubted}
            doubted = {}
            for key, state in states.items():
                stored = from_json(state, key) if isinstance(state, str) else None
                reply = None if stored is None else recall(stored)
                if isinstance(state, bool) or reply is not None:
                    found[key] = state if isinstance(state, bool) else reply or False
                else:
                    doubted[key] = str(state)
        return found

    def release(self) -> None:
        """Release what is held."""
        for key in list(self._made):
            self._cache.release(self._made.pop(key))


def _acknowledge(results: Sequence[tuple[Done[T], T]]) -> None:
    """Notify waiting callers; coroutines of one loop together, because waking a loop costs more than a reply."""
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
