"""Import on first use: Polars, and the public functions of the package.

Importing Polars takes longer than evaluating most runs, which does not need it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["pl", "public"]


class _LazyModule(ModuleType):
    """A stand-in for a module, which is imported on first use."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)  # the next time, this is not called
        return found

    def __reduce__(self) -> tuple[type[_LazyModule], tuple[str]]:
        return type(self), (self.__name__,)  # functions that use it are sent to the workers of an engine


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _LazyModule("polars")


def public(name: str) -> Any:
    """A function of the package as its users know it, such as `show`: records offer some of them as methods.

    The package imports its functions on first use, so that a record in a low layer can call the public functions.
    """
    return getattr(importlib.import_module("assay"), name)
