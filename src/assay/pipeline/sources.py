"""Hashes of users' code, models' weights and prices, which are part of the keys of finished work."""

from __future__ import annotations

import hashlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.llm.records import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assay.llm import Client

_WEIGHTS = {".safetensors", ".json", ".onnx"}
_COUNTS = (1000, 1_000_000)  # a price may fall with the size of the prompt


def source_digest(thing: Any, text: str = "") -> str:
    """Hash of the files that a user's object comes from: the module named in module:name, and that of its class.

    An object of a framework is configured in the user's module, while its class is the framework's: a change of
    either is noticed.
    """
    module = None if "://" in text else sys.modules.get(text.partition(":")[0])
    places = {_file_of(one) for one in (thing, type(thing), module)}
    return files_digest(place for place in places if place is not None)


def _file_of(thing: Any) -> Path | None:
    try:
        place = inspect.getsourcefile(thing)
    except TypeError:
        return None
    return Path(place) if place is not None and Path(place).is_file() else None


def files_digest(places: Iterable[Path]) -> str:
    """Hash of the contents of some files, regardless of their names; empty when there is none."""
    found = sorted({file_digest(place) for place in places})
    return hashlib.sha256("".join(found).encode()).hexdigest() if found else ""


def file_digest(place: Path) -> str:
    """SHA-256 of a file."""
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weights_digest(*folders: Path) -> str:
    """Hash of the weights, tokenizer and settings of a model in some folders."""
    places = (place for folder in folders for place in folder.iterdir())
    return files_digest(place for place in places if place.suffix in _WEIGHTS and place.is_file())


def prices(client: Client) -> list[float | None]:
    """What tokens of each kind cost, few and many: finished work is kept with its money, so prices are in its key."""
    used = [Usage(*row) for n in _COUNTS for row in ((n, 0), (0, n), (n, 0, n))]
    return [client.price_of(Reply("ok", usage=usage)) for usage in used]
