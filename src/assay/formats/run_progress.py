"""The file of a running experiment's progress: small, replaced as a whole, so that readers never see half of it.

It lies in the folder of the results as `progress`, without a suffix, so that no list of result files has it.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InputError, cause
from assay.formats.files import write_atomically
from assay.messages import say
from assay.results.codec import decode, encode, read_json, write_json
from assay.results.run_progress import ProcessMark, RunProgress

if TYPE_CHECKING:
    from assay.results.run_progress import CombinationProgress

PROGRESS = "progress"
TRACE = "trace.jsonl"  # what each combination found for each query, in the same folder
SIGN_SECONDS = 5.0  # between two signs of a process that has nothing new to say
_SILENT_SECONDS = 60.0  # after which a process that cannot be looked for counts as gone
_LAST = 2**31 - 1  # number of a process
_HEAD = b'{"assay_run": '
_LARGEST = 20_000_000
_AHEAD = 120.0  # seconds by which clocks of two machines may differ


def is_run_progress(place: str | os.PathLike[str]) -> bool:
    """Whether a file is the progress of an experiment."""
    try:
        with Path(place).open("rb") as file:
            return file.read(len(_HEAD)) == _HEAD
    except OSError:
        return False


def write_run_progress(place: str | os.PathLike[str], found: RunProgress) -> None:
    """Replace the file of a run."""
    write_atomically(place, write_json({"assay_run": encode(found)}, indent=None))


def read_run_progress(place: str | os.PathLike[str], *, now: datetime | None = None) -> RunProgress:
    """Read how far the experiment is whose results go into a folder; a file of progress may be given as well.

    A run whose process is gone, or gives no sign any more, is interrupted.

    >>> import assay
    >>> from pathlib import Path
    >>> _ = Path("documents.jsonl").write_text('{"doc_id": "a", "text": "tea is hot"}')
    >>> _ = Path("queries.jsonl").write_text('{"query_id": "q", "text": "tea"}')
    >>> _ = Path("judgments.json").write_text('{"q": {"a": 1}}')
    >>> lines = ("[data]", "documents='documents.jsonl'", "queries='queries.jsonl'", "judgments='judgments.json'")
    >>> _ = Path("experiment.toml").write_text(chr(10).join([*lines, "[retrieve]", "method='bm25'"]))
    >>> _ = assay.run_experiment("experiment.toml", progress="results")
    >>> found = assay.read_run_progress("results")
    >>> found.state, found.count("done"), found.combinations[0].mean.estimate
    ('finished', 1, 1.0)
    """
    folder = Path(place)
    path = os.fspath(folder / PROGRESS if folder.is_dir() else folder)
    try:
        if Path(path).stat().st_size > _LARGEST:
            raise InputError(say("this is not the progress of a run"), path=path)
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(
            say("the progress of the run cannot be read: {reason}", reason=cause(error)), path=path
        ) from None
    except UnicodeDecodeError:
        raise InputError(say("this is not the progress of a run"), path=path) from None
    plain = read_json(text, path=path)
    if not isinstance(plain, dict) or "assay_run" not in plain:
        raise InputError(say("this is not the progress of a run"), path=path)
    found = decode(plain["assay_run"], RunProgress, place="", path=path)
    moment = now or datetime.now(UTC)
    if found.state != "running" or _goes_on(found, moment, path):
        return found
    stopped = tuple(_stop(one) for one in found.combinations)
    return replace(found, state="interrupted", combinations=stopped)


def _stop(one: CombinationProgress) -> CombinationProgress:
    return replace(one, state="interrupted") if one.state == "running" else one


def _goes_on(found: RunProgress, now: datetime, path: str) -> bool:
    """Whether the process that writes is still there: by its number where we can look for it, else by its last sign."""
    mark, here = found.process, this_process()
    if os.name == "posix" and mark.place == here.place and 0 < mark.number <= _LAST:
        if mark.began:
            return _began(mark.number) == mark.began
        if not _exists(mark.number):
            return False
    try:
        age = (now - datetime.fromisoformat(found.updated)).total_seconds()
    except (ValueError, TypeError):
        raise InputError(say("this is not the progress of a run"), path=path) from None
    return -_AHEAD <= age <= _SILENT_SECONDS


def this_process() -> ProcessMark:
    """Which process we are, as another one on this machine can tell."""
    return ProcessMark(_namespace(), os.getpid(), _began(os.getpid()))


def _namespace() -> str:
    """Where numbers of processes mean the same: this machine since it was started, and its part of it."""
    parts = [socket.gethostname()]
    with suppress(OSError, ValueError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def _began(number: int) -> str:
    """When a process began, in ticks since the machine was started; empty where that cannot be known or it is gone."""
    try:
        text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        return "" if fields[0] in {"Z", "X"} else fields[19]
    except (OSError, IndexError):
        return ""


def _exists(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
