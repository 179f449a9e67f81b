"""Functions that no process survives, or only with less memory than it asks for."""

from __future__ import annotations

import os
import signal
import time


def loop(data: bytes) -> bytes:
    while data != b"end":
        pass
    return data


def fill(data: bytes) -> bytes:
    return bytes(1 << 40)


def abort(data: bytes) -> bytes:
    os.abort()
    return data


def sleep(data: bytes) -> bytes:
    time.sleep(60)
    return data


def fail(data: bytes) -> bytes:
    raise ValueError("not today")


def crash(data: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return data


def die(data: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return data


def leave(data: bytes) -> bytes:
    os._exit(3)
    return data
