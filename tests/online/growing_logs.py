"""Logs of requests that grow: hours of searches with clicks, of which some are slow or find nothing."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path


class Killed(BaseException):
    """Raised in the place of a write: what a process that is killed there leaves behind."""


@dataclass
class Death:
    """Comes at the write that is so many away; never at 0."""

    left: int = 0


def die(monkeypatch, *writers) -> Death:
    """Let functions that write a file (a module and a name each) end the process at some write.

    An entry of a journal is written in part, a file not at all.
    """
    death = Death()

    def dying(write, name):
        def wrapped(path, what):
            death.left -= 1
            if death.left == 0:
                if name == "add_entry":
                    with path.open("ab") as file:
                        file.write(b'0123456789abcdef {"entry":')
                raise Killed
            write(path, what)

        return wrapped

    for module, name in writers:
        monkeypatch.setattr(module, name, dying(getattr(module, name), name))
    return death


START = datetime(2026, 3, 1, tzinfo=UTC)


def make_lines(hours: int, each: int = 40, *, slow: Container[int] = (), seed: int = 1) -> list[dict]:
    """UBI documents in the order of their times; in `slow` hours, requests take three times as long and find less."""
    rng = random.Random(seed)
    found = []
    for hour in range(hours):
        for i in range(each):
            time = START + timedelta(hours=hour, seconds=rng.random() * 3600)
            late = hour in slow
            hits = [] if rng.random() < (0.4 if late else 0.02) else [f"d{rng.randrange(9)}" for _ in range(3)]
            about = {"query_id": f"q{hour}-{i}", "client_id": f"u{rng.randrange(200)}"}
            latency = rng.lognormvariate(5.0, 0.3) * (3 if late else 1)
            query = {"user_query": rng.choice(["tea", "milk"]), "query_response_hit_ids": hits}
            found.append((time, {**about, **query, "query_attributes": {"latency_ms": latency}}))
            if hits and rng.random() < 0.5:
                details = {"object": {"object_id": hits[0]}, "position": {"ordinal": 1}}
                act = {**about, "action_name": "click", "event_attributes": details}
                found.append((time + timedelta(seconds=rng.random() * 30), act))
    return [{**one, "timestamp": time.isoformat()} for time, one in sorted(found, key=lambda pair: pair[0])]


def write_lines(place: Path, lines: list[dict], mode: str = "w") -> Path:
    with place.open(mode, encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return place
