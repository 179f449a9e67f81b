"""Import on first use: Polars, and the public functions of the package.

Polars takes longer to import than most runs take to be evaluated, which needs none of it.
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


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _LazyModule("polars")


def public(name: str) -> Any:
    """A function of the package as its users know it, such as `show`: records offer some of them as methods.

    The package itself names its functions and imports none before it is asked for, so that a record low in the layers
    can do what any user of it can.
    """
    return getattr(importlib.import_module("assay"), name)
