"""Percentiles of `assay bench` beside those of a server that writes down when each request came and its answer left.

python benchmarks/bench_accuracy.py [--rounds 5] [--calls 400] [--within 5]

The server runs in a process of its own. Answers take a random time; a request that is answered at once tells what the
network and the client take at the same pace, of which the median is added to what the server says. Shown are medians
over rounds, and how far apart the differences of the rounds are. Exits with 1 where a median differs by more than
--within percent. Run it on a machine without other work: whatever makes the client wait comes on top.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import statistics
import subprocess
import sys
import time
import urllib.request
from typing import Any, NamedTuple

import numpy as np

import assay

SHARES = {"p50": 50, "p95": 95, "p99": 99}
TOKENS = 16
BODY = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}


class Server:
    """Answers /work after 5 ms and more, /nothing at once, /stream token by token, and /log with all times so far."""

    def __init__(self) -> None:
        gc.disable()  # a collection would come between an answer and its time
        self.log: list[dict[str, float]] = []
        self.rng = random.Random(0)

    async def run(self) -> None:
        """Serve until the input ends."""
        server = await asyncio.start_server(self.talk, "127.0.0.1", 0)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        async with server:
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after the other."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                came = time.perf_counter()
                size = next((int(x[15:]) for x in head.split("\r\n") if x.startswith("content-length:")), 0)
                await reader.readexactly(size)
                await getattr(self, head.split(" ")[1].strip("/"))(writer, came)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def nothing(self, writer: asyncio.StreamWriter, _: float) -> None:
        """Answer at once."""
        self.say(writer, b"{}")

    async def times(self, writer: asyncio.StreamWriter, _: float) -> None:
        """Tell all times so far, and forget them."""
        self.say(writer, json.dumps(self.log).encode())
        self.log.clear()

    async def work(self, writer: asyncio.StreamWriter, came: float) -> None:
        """Take a while."""
        await asyncio.sleep(0.005 + min(self.rng.lognormvariate(-4.0, 0.5), 0.2))
        self.say(writer, b"{}")
        self.log.append({"took": time.perf_counter() - came})

    async def stream(self, writer: asyncio.StreamWriter, came: float) -> None:
        """Send tokens, one by one."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        await asyncio.sleep(0.02 + self.rng.expovariate(1 / 0.03))
        moments = []
        for number in range(TOKENS):
            await asyncio.sleep(0.004 + self.rng.expovariate(1 / 0.004) if number else 0)
            send_event(writer, {"delta": {"content": "word "}, "finish_reason": None})
            moments.append(time.perf_counter())
        send_event(writer, {"delta": {}, "finish_reason": "stop"})
        writer.write(b"0\r\n\r\n")
        each = (moments[-1] - moments[0]) / (TOKENS - 1)
        self.log.append({"took": time.perf_counter() - came, "first": moments[0] - came, "each": each})

    @staticmethod
    def say(writer: asyncio.StreamWriter, body: bytes) -> None:
        """Send a whole answer."""
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


def send_event(writer: asyncio.StreamWriter, choice: dict[str, Any]) -> None:
    event = f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
    writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")


def read_log(base: str) -> list[dict[str, float]]:
    with urllib.request.urlopen(f"{base}/times") as answer:
        found: list[dict[str, float]] = json.load(answer)
    return found


class Pair(NamedTuple):
    """A percentile in milliseconds: what the server says plus the network, and what bench says."""

    expected: float
    seen: float

    @property
    def percent(self) -> float:
        """How far bench is above the server."""
        return 100 * (self.seen / self.expected - 1)


def pair_up(own: list[float], seen: Any, network: float) -> dict[str, Pair]:
    """Every percentile of the server's own times, in seconds, beside that of bench."""
    return {
        name: Pair(1000 * float(np.percentile(own, share)) + network, getattr(seen, name).estimate)
        for name, share in SHARES.items()
    }


def measure(base: str, path: str, calls: int, **more: Any) -> tuple[Any, list[dict[str, float]], float]:
    """A load, what the server wrote down of it, and what the network takes at the same pace."""
    network = assay.bench(f"{base}/nothing", runs=calls // 2, **more).loads[0].latency_ms
    read_log(base)
    asked: dict[str, Any] = {"stream": True, "bodies": [BODY]} if path == "stream" else {}
    load = assay.bench(f"{base}/{path}", runs=calls, **more, **asked).loads[0]
    assert network is not None and network.p50.estimate is not None
    return load, read_log(base)[-calls:], network.p50.estimate  # without the warm-up


def round_of(base: str, calls: int) -> dict[str, dict[str, Pair]]:
    """Every load once."""
    found: dict[str, dict[str, Pair]] = {}
    loads: dict[str, dict[str, Any]] = {
        "closed loop": {}, "closed loop, 4 threads": {"threads": 4}, "open loop, 20/s": {"rate": 20.0},
    }  # fmt: skip
    for name, more in loads.items():
        load, log, network = measure(base, "work", calls, **more)
        found[name] = pair_up([one["took"] for one in log], load.latency_ms, network)
    for name, more in {"stream, closed loop": {}, "stream, open loop, 10/s": {"rate": 10.0}}.items():
        load, log, network = measure(base, "stream", calls // 2, **more)
        stream = load.streaming
        found[f"{name}: whole"] = pair_up([one["took"] for one in log], load.latency_ms, network)
        found[f"{name}: first token"] = pair_up([one["first"] for one in log], stream.first_token_ms, network)
        found[f"{name}: per token"] = pair_up([one["each"] for one in log], stream.per_token_ms, 0.0)
    return found


def show(rounds: list[dict[str, dict[str, Pair]]], within: float) -> int:
    """Print medians over rounds; the number of those that differ too much."""
    print(f"{'load':<40} {'':>4} {'server + network, ms':>21} {'bench, ms':>10} {'difference':>11}   rounds")
    far = 0
    for load in rounds[0]:
        for share in SHARES:
            pairs = [one[load][share] for one in rounds]
            expected, seen = (statistics.median(getattr(one, name) for one in pairs) for name in Pair._fields)
            differences = sorted(one.percent for one in pairs)
            middle = statistics.median(differences)
            far += abs(middle) > within
            mark = " !" if abs(middle) > within else "  "
            spread = f"{differences[0]:+.1f} .. {differences[-1]:+.1f} %"
            print(f"{load:<40} {share:>4} {expected:21.3f} {seen:10.3f} {middle:+9.2f} %{mark} {spread}")
    print(f"{len(rounds)} rounds; {far} of {3 * len(rounds[0])} differ by more than {within:g} %")
    return far


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--within", type=float, default=5.0, metavar="PERCENT")
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(Server().run())
        return
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None and server.stdin is not None
    base = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    try:
        rounds = [round_of(base, options.calls) for _ in range(options.rounds)]
    finally:
        server.stdin.close()
        server.wait()
    sys.exit(1 if show(rounds, options.within) else 0)


if __name__ == "__main__":
    main()
