"""Functions that no process survives, or only with less memory than it asks for."""

from __future__ import annotations

import os


def loop(data: bytes) -> bytes:
    while data != b"end":
        pass
    return data


def fill(data: bytes) -> bytes:
    return bytes(1 << 40)


def abort(data: bytes) -> bytes:
    os.abort()
    return data
