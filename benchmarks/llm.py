"""Throughput of the client beside a bare httpx2 loop: 64 connections, replies after 50 ms from a process of its own.

    python benchmarks/llm.py --requests 4000 --connections 64 --delay 0.05 --repeat 3

Both send the same bodies and read the same answers, in turns within one run; the ratio is what counts, and the
processor time of a request where other programs disturb. The client is also timed with a cache on disk, and answering
everything from that cache.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assay.llm import Cache, Request

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


@contextmanager
def served(delay: float) -> Iterator[str]:
    command = [sys.executable, "-m", "assay.testing", "--text", '{"score": 7}', "--delay", str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        yield server.stdout.readline().strip()
        server.stdin.close()


def asked(count: int, run: str) -> list[Request]:
    from assay.llm import Request

    document = "A document of some length, as they are judged by the thousand. " * 15
    return [Request.asking(f"{run} {i}. Give a score as JSON.\n{document}", schema=SCHEMA) for i in range(count)]


async def bare(url: str, bodies: list[dict[str, Any]], connections: int) -> float:
    import httpx2

    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:
        left = iter(bodies)

        async def worker() -> None:
            for body in left:
                answer = (await client.post(f"{url}/chat/completions", json=body)).json()
                assert answer["choices"][0]["message"]["content"]

        start = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(connections)))
        return len(bodies) / (time.perf_counter() - start)


def ours(url: str, requests: list[Request], connections: int, cache: Cache | None) -> float:
    from assay.llm import Client, Limits

    with Client(url, "m", limits=Limits(concurrency=connections), cache=cache) as client:
        start = time.perf_counter()
        assert all(reply.ok for _, reply in client.complete_many(requests))
        return len(requests) / (time.perf_counter() - start)


def bodies_of(requests: list[Request]) -> list[dict[str, Any]]:
    from assay.llm.hosts import LOCAL
    from assay.llm.jobs import Chat
    from assay.llm.wire import Traits

    return [Chat(request, "m", LOCAL).body(Traits()) for request in requests]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    from assay.llm import Cache

    names = ("bare httpx2", "assay", "assay, cache on disk", "assay, all cached")
    rates: dict[str, list[float]] = {name: [] for name in names}
    costs: dict[str, list[float]] = {name: [] for name in names}

    def timed(name: str, work: Callable[[], float]) -> None:
        before = time.process_time()
        rates[name].append(work())
        costs[name].append((time.process_time() - before) / options.requests * 1e6)

    with served(options.delay) as url, tempfile.TemporaryDirectory() as folder:
        asyncio.run(bare(url, bodies_of(asked(200, "warm-up")), options.connections))
        for turn in range(options.repeat):
            requests = asked(options.requests, f"turn {turn}")
            bodies = bodies_of(requests)
            timed(names[0], lambda: asyncio.run(bare(url, bodies, options.connections)))  # noqa: B023 - used now
            timed(names[1], lambda: ours(url, requests, options.connections, None))  # noqa: B023 - used now
            with Cache(Path(folder) / "cache.sqlite") as cache:
                for name in names[2:]:
                    timed(name, lambda: ours(url, requests, options.connections, cache))  # noqa: B023 - used now
    for name in names:
        ratios = [rate / pair for rate, pair in zip(rates[name], rates[names[0]], strict=True)]
        print(
            f"{name:22s}{statistics.median(rates[name]):8.0f} requests/s {statistics.median(costs[name]):6.0f} us each"
            f" {statistics.median(ratios):6.2f} of bare (turns: {', '.join(f'{ratio:.2f}' for ratio in ratios)})"
        )


if __name__ == "__main__":
    main()
