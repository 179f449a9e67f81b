"""A running server with a small tenant, and clients of it."""

from __future__ import annotations

import httpx2
import pytest

from tenant import tenant


@pytest.fixture(scope="module")
def server():
    with tenant() as running:
        yield running


@pytest.fixture
def client(server):
    """A browser that has opened the address."""
    with httpx2.Client(base_url=server.origin, follow_redirects=True) as found:
        found.get(server.address)
        yield found


@pytest.fixture
def stranger(server):
    """A program that knows the port and nothing else."""
    with httpx2.Client(base_url=server.origin) as found:
        yield found
