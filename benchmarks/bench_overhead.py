"""What `assay bench` itself adds: microseconds per call beside a bare loop, and percentiles beside the target's own.

python benchmarks/bench_overhead.py [--calls 20000]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.serving.loops import run
from assay.serving.records import LoadPlan
from assay.serving.targets import target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.serving.records import Timing

ROUNDS = 5
SHARES = (50, 95, 99)


def nothing() -> None:
    """Take no time."""


async def nothing_async() -> None:
    """Take no time, awaited."""


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def loaded(thing: Any, calls: int, **plan: Any) -> Timing:
    target = target_of(thing)
    return run(LoadPlan(runs=calls, warmup=0, **plan), target, target.prepare([("", [])]))


def overhead(name: str, bare: Callable[[], object], measured: Callable[[], object], calls: int) -> None:
    """Take turns, so that other work on the machine meets both, and keep the best of each."""
    rounds = [(seconds(bare), seconds(measured)) for _ in range(ROUNDS)]
    without, with_bench = (min(one[i] for one in rounds) / calls * 1e6 for i in (0, 1))
    print(f"{name:<34} {without:10.2f} {with_bench:10.2f} {with_bench - without:10.2f}")


def functions(calls: int) -> None:
    def bare() -> None:
        for _ in range(calls):
            nothing()

    async def bare_async() -> None:
        for _ in range(calls):
            await nothing_async()

    overhead("function, closed loop", bare, lambda: loaded(nothing, calls), calls)
    overhead("function, 4 threads", bare, lambda: loaded(nothing, calls, threads=4), calls)
    overhead("function, open loop", bare, lambda: loaded(nothing, calls, rate=1e7), calls)
    overhead("coroutine function", lambda: asyncio.run(bare_async()), lambda: loaded(nothing_async, calls), calls)


def commands(calls: int) -> None:
    def bare() -> None:
        for _ in range(calls):
            with subprocess.Popen(
                ["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                process.wait()

    overhead("command", bare, lambda: loaded(["true"], calls), calls)


class Quiet(BaseHTTPRequestHandler):
    """Answers at once, over a connection that stays open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # its waiting would be all that is seen

    def do_GET(self) -> None:
        """Say OK."""
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def endpoint(calls: int) -> None:
    import httpx2

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"

    def bare() -> None:
        with httpx2.HTTPTransport() as transport:
            request = httpx2.Request("GET", url)
            for _ in range(calls):
                transport.handle_request(request).read()

    overhead("HTTP endpoint", bare, lambda: loaded(url, calls), calls)
    server.shutdown()


def own_durations(kind: str, calls: int, **plan: Any) -> None:
    """Set the measured percentiles beside those of the durations that the target recorded itself."""
    own: list[float] = []
    rng = random.Random(0)

    def target() -> None:
        start = time.perf_counter()
        time.sleep(rng.lognormvariate(-5.3, 0.4))
        own.append(time.perf_counter() - start)

    timing = loaded(target, calls, **plan)
    seen = np.array(timing.ended) - np.array(timing.begun)
    cells = []
    for share in SHARES:
        mine, theirs = np.percentile(seen, share), np.percentile(own, share)
        cells.append(f"{theirs * 1e3:8.3f} {mine * 1e3:8.3f} {mine / theirs - 1:+7.2%}")
    print(f"{kind:<24} {'   '.join(cells)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20_000)
    calls = parser.parse_args().calls
    print(f"{'microseconds per call':<34} {'bare':>10} {'bench':>10} {'added':>10}")
    functions(calls)
    commands(max(50, calls // 100))
    endpoint(max(100, calls // 20))
    print(f"\n{'ms: own, bench, off by':<24} {'P50':>25} {'P95':>28} {'P99':>28}")
    own_durations("closed loop", 400)
    own_durations("closed loop, 4 threads", 1000, threads=4)
    own_durations("open loop, 100/s", 400, rate=100.0, threads=4)


if __name__ == "__main__":
    main()
