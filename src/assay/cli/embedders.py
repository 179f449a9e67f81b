"""Embedders named on the command line: a model on this machine, a folder, or MODEL@URL of a server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence


def embedders_of(texts: Sequence[str]) -> list[Any]:
    """Turn MODEL@URL into clients that are closed with the command; other names stay what they are."""
    from assay.cli.asking import only_server

    served = {text: text.rpartition("@") for text in texts if "@" in text and "://" in text.rpartition("@")[2]}
    home = os.environ.get("ASSAY_BASE_URL") or (only_server([url for *_, url in served.values()]) if served else "")
    return [_client(served[text][0], served[text][2], home) if text in served else text for text in texts]


def _client(model: str, url: str, home: str) -> Any:
    """A client; ASSAY_API_KEY is for the server at home alone."""
    from assay.cli.logs import tell_logs
    from assay.llm import Cache, Client
    from assay.llm.hosts import is_same_server

    tell_logs()
    client = Client(url, model, cache=Cache(), general_key=is_same_server(url, home))
    click.get_current_context().call_on_close(client.close)
    return client
