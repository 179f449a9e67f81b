"""Polars, imported when it is first used: that takes longer than evaluating most runs, which needs none of it."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["pl"]


class _Later(ModuleType):
    """Stands for a module until somebody asks for something in it."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, found)  # the next time, nobody asks here
        return found


if TYPE_CHECKING:
    import polars as pl
else:
    pl = _Later("polars")
