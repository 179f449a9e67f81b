"""Reading the files of a model: its tensors and its tokenizer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import InputError, MissingPackage, cause
from assay.messages import say

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
_LARGEST_HEADER = 1 << 26


def read_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read all tensors of a safetensors file: a header in JSON, then the numbers as they lie in memory.

    Numbers of other types become 32-bit floats.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        size = int.from_bytes(data[:8].tobytes(), "little")
        if not 2 <= size <= min(_LARGEST_HEADER, len(data) - 8):  # noqa: PLR2004
            raise InputError(say("the header is longer than the file"))  # noqa: TRY301
        header = json.loads(data[8 : 8 + size].tobytes())
        body = data[8 + size :]
        return {name: _tensor(body, entry) for name, entry in header.items() if name != "__metadata__"}
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        InputError,
    ) as error:
        reason = cause(error)
        raise InputError(say("not a readable safetensors file: {reason}", reason=reason), path=str(path)) from None


def _tensor(body: NDArray[np.uint8], entry: dict[str, object]) -> NDArray[np.float32]:
    start, end = entry["data_offsets"]  # type: ignore[misc]
    kind = _TYPES[str(entry["dtype"])]
    if not 0 <= start <= end <= len(body):  # type: ignore[has-type]
        raise InputError(say("a tensor lies outside the file"))
    numbers = np.frombuffer(body[start:end].tobytes(), dtype=kind)  # type: ignore[has-type]
    return numbers.reshape(entry["shape"]).astype(np.float32)  # type: ignore[call-overload,no-any-return]


def load_tokenizer(path: str) -> Any:
    """Load a tokenizer.json by the package `tokenizers`."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingPackage(say("an embedding model"), "tokenizers", "text") from None
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # noqa: BLE001  # the package raises plain Exception
        raise InputError(say("not a readable tokenizer: {reason}", reason=cause(error)[:120]), path=path) from None
