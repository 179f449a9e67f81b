"""The parts of a result: the record behind each name in a file."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import assay.results

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.data.record import Record

Part = TypeVar("Part", bound="type[Record]")


@dataclass(frozen=True)
class PartKind:
    """How a part is stored in a file: its record, whether there is a list of them, and the view that shows it."""

    record: type[Record]
    many: bool
    view: str


_PARTS: dict[str, PartKind] = {}


def part(name: str, *, many: bool = False, view: str = "") -> Callable[[Part], Part]:
    """Register a record as the part of this name; with `many`, the part is a list of them.

    The module `report.views` has for it is called as the part is, unless `view` names another.
    """

    def register(record: Part) -> Part:
        _PARTS[name] = PartKind(record, many, view or name)
        return record

    return register


def all_parts() -> Mapping[str, PartKind]:
    """All parts that a result may have; a module of this folder that declares one is enough."""
    _import_all()
    return _PARTS


@cache
def _import_all() -> None:
    for module in pkgutil.iter_modules(assay.results.__path__):
        importlib.import_module(f"assay.results.{module.name}")


def name_of(record: type[Any]) -> str:
    """The name of a record in a result."""
    return next(name for name, shape in _PARTS.items() if issubclass(record, shape.record))
