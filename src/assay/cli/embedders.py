"""Embedders named on the command line: a model on this machine, a folder, or MODEL@URL of a server."""

from __future__ import annotations

from typing import Any

import click


def embedder_of(text: str) -> Any:
    """Turn MODEL@URL into a client that is closed with the command; other names stay what they are."""
    model, at, url = text.rpartition("@")
    if not at or "://" not in url:
        return text
    from assay.cli.logs import tell_logs
    from assay.llm import Cache, Client

    tell_logs()
    client = Client(url, model, cache=Cache())
    click.get_current_context().call_on_close(client.close)
    return client
