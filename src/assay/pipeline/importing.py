"""Modules of users, which are imported from the folder of their experiment first; each folder has its own."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_IMPORTED: dict[str, dict[str, ModuleType]] = {}  # by folder and name


@contextmanager
def import_from(folder: Path) -> Iterator[None]:
    """Import from a folder before all others; modules that came from other folders are not taken for its own.

    Two experiments of one session may both have a `mine.py`. Each gets its own module, and the same one again later.
    A module stays where the same file would be found, as of a folder that the session itself imports from.
    """
    place = str(folder.resolve())
    for other, modules in _IMPORTED.items():
        for name, module in modules.items():
            if other != place and sys.modules.get(name) is module and not _is_found(place, name, modules):
                del sys.modules[name]
    sys.modules.update(_IMPORTED.get(place, {}))
    before = set(sys.modules)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
        new = {name: module for name, module in sys.modules.items() if name not in before}
        found = {name: module for name, module in new.items() if _is_in(place, new.get(name.partition(".")[0]))}
        _IMPORTED.setdefault(place, {}).update(found)


def _is_found(place: str, name: str, modules: dict[str, ModuleType]) -> bool:
    """Whether the file that a module came from would be found from a folder, too."""
    top = name.partition(".")[0]
    kept = modules[top].__spec__ if top in modules else None
    found = PathFinder.find_spec(top, [place, *sys.path])
    return kept is not None and found is not None and found.origin is not None and found.origin == kept.origin


def _is_in(place: str, module: ModuleType | None) -> bool:
    """Whether a module is a file or a package right in a folder, and not in an environment below it."""
    spec = None if module is None else module.__spec__
    if spec is None:
        return False
    homes = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
    return any(str(Path(home).parent) == place for home in homes)
