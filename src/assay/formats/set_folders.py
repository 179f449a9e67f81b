"""Folders that hold an evaluation set: plain files, and a manifest that says what each is and where it came from.

The manifest has the hash of every file. A file that no longer has its hash was changed after the set was written: it is
refused with its name until somebody accepts the change.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping  # noqa: TC003 - the decoder of manifests looks it up
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.data.source import Source
from assay.errors import InputError, NoSuchFile, excerpt
from assay.formats.files import Input
from assay.messages import say, word
from assay.results.codec import place_and_reason, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable

MANIFEST = "set.json"
FOLLOWING = ".set.next.json"  # the manifest of a set to which something is being added
SCHEMA = 1
_DIGITS = 12  # of the hash that names a version
_LONGEST_NAME = 255  # bytes, in all common file systems

Role = Literal["queries", "documents", "hashes", "judgments", "gold", "nuggets", "labels"]
# The names under which files are written, and looked for in a folder without a manifest.
FILE_NAMES: dict[str, Role] = {
    "queries.jsonl": "queries", "documents.jsonl": "documents", "documents.hashes.jsonl": "hashes",
    "judgments.qrels": "judgments", "judgments.jsonl": "judgments", "gold.jsonl": "gold",
    "nuggets.jsonl": "nuggets", "labels.jsonl": "labels",
}  # fmt: skip

MADE_BY = "made_by"  # the column of queries that says who or what made each
UNKNOWN = "unknown"
# Who or what makes queries, and what kind of queries those are: means of several kinds are not to be mixed.
KINDS = {"person": "real", "log": "real", "model": "model", "known_items": "known_items", UNKNOWN: UNKNOWN}


@dataclass(frozen=True)
class SetFile:
    """A file of a set: what it holds, its hash, and where it came from.

    `made_by` counts rows by who or what made them: person, log, model, known_items, unknown. `sources` names what the
    file was made from, with the beginning of its hash where that is a file. `edited_at` is when a change by hand
    was accepted.
    """

    role: Role
    sha256: str
    rows: int
    made_at: str = ""
    made_by: Mapping[str, int] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    edited_at: str = ""


@dataclass(frozen=True)
class Manifest:
    """What a set holds. `version` is a hash over the contents of its files, whatever their history.

    `documents_at` is where documents are of which the set has only hashes, as a path from its folder.
    """

    set_schema: int
    name: str
    version: str
    files: Mapping[str, SetFile]
    language: str = ""
    made_at: str = ""
    documents_at: str = ""
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name and version, as results name the set."""
        return f"{self.name} {self.version}"

    def name_of(self, role: Role) -> str | None:
        """The name of the file that holds something, if there is one."""
        return next((name for name, one in self.files.items() if one.role == role), None)

    def kinds(self) -> dict[str, int]:
        """How many queries there are of each kind: real, by a model, known items, unknown."""
        name = self.name_of("queries")
        return count_kinds(self.files[name].made_by if name else {})

    def warnings(self) -> list[str]:
        """What a mean over all queries of the set would hide: that they are of several kinds."""
        return warn_of_mixture(self.kinds(), "set.mixed")


def count_kinds(makers: Mapping[str, int]) -> dict[str, int]:
    """How many queries there are of each kind, from how many each maker made."""
    found: Counter[str] = Counter()
    for maker, n in makers.items():
        found[KINDS.get(maker, maker)] += n
    return dict(found)


def warn_of_mixture(kinds: Mapping[str, int], key: str) -> list[str]:
    """Say how many queries of each kind there are, where there are several."""
    if len(kinds) < 2:  # noqa: PLR2004 - one kind is no mixture
        return []
    told = [say("set.kind_count", n=n, kind=word("set.kind", kind)) for kind, n in kinds.items()]
    return [say(key, kinds=told)]


@dataclass(frozen=True)
class FileChange:
    """A file that is not what the manifest says: changed, missing, or new (in no manifest)."""

    name: str
    kind: Literal["changed", "missing", "new"]


def is_set(place: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder that holds a set."""
    try:
        return (Path(place) / MANIFEST).is_file()
    except (OSError, ValueError):  # too long, or no text for a path
        return False


def version_of(files: Mapping[str, SetFile]) -> str:
    """The version of a set: a hash over the names and contents of its files."""
    lines = sorted(f"{name} {one.sha256}\n" for name, one in files.items())
    return sha256("".join(lines).encode()).hexdigest()[:_DIGITS]


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """Read the manifest of a set; the files beside it are not looked at."""
    path = Path(folder) / MANIFEST
    if not is_set(folder):
        if not Path(folder).exists():
            raise NoSuchFile(os.fspath(folder))
        raise InputError(
            say("this folder holds no evaluation set: {name} is missing", name=MANIFEST),
            path=os.fspath(folder),
            hint=say("assay set info FOLDER --accept makes one of the files in it"),
        )
    found = _following(Path(folder)) or _decode(read_json(Input.at(path).text, path=str(path)), str(path))
    for name in found.files:
        if not _is_file_name(name) or name == MANIFEST:
            raise InputError(
                say("{name} is not the name of a file of the set", name=excerpt(name)),
                path=str(path),
                hint=say("the files of a set are in its folder"),
            )
    return found


def _following(folder: Path) -> Manifest | None:
    """The manifest that is being written, if the files are those that it describes already."""
    path = folder / FOLLOWING
    try:
        found = _decode(read_json(path.read_text(encoding="utf-8"), path=str(path)), str(path))
    except (OSError, ValueError, InputError):  # nothing is being added, or another process has just finished
        return None
    safe = all(_is_file_name(name) and (folder / name).is_file() for name in found.files)
    return found if safe and all(hash_of(folder / name) == one.sha256 for name, one in found.files.items()) else None


def _is_file_name(name: str) -> bool:
    """Whether a file of a folder can have this name."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return Path(name).name == name and "\0" not in name and size <= _LONGEST_NAME


def _decode(plain: Any, path: str) -> Manifest:
    import msgspec

    if isinstance(plain, dict) and isinstance(plain.get("set_schema"), int) and plain["set_schema"] > SCHEMA:
        raise InputError(
            say("the set was written by a newer version of assay"), path=path, hint=say("update assay")
        )  # fmt: skip
    try:
        return msgspec.convert(plain, Manifest)
    except msgspec.ValidationError as error:
        place, what = place_and_reason(error, "")
        raise InputError(
            say("the manifest is damaged: {place}: {what}", place=place or MANIFEST, what=what), path=path
        ) from None
    except UnicodeEncodeError:
        what = say("half a surrogate pair, which is no character")
        raise InputError(
            say("the manifest is damaged: {place}: {what}", place=MANIFEST, what=what), path=path
        ) from None


def write_manifest(folder: Path, manifest: Manifest, name: str = MANIFEST) -> None:
    """Write the manifest of a set, completely or not at all."""
    from assay.formats.files import write_atomically
    from assay.results.codec import encode

    write_atomically(folder / name, write_json(encode(manifest)) + "\n")


def hash_of(path: Path) -> str:
    """The hash of a file's bytes."""
    found = Source(str(path), path).sha256
    if found is None:
        raise InputError(say("error.no_file"), path=str(path))
    return found


def find_changes(folder: str | os.PathLike[str], manifest: Manifest) -> list[FileChange]:
    """Compare the files of a folder with its manifest."""
    root = Path(folder)
    found = [
        FileChange(name, "missing" if not (root / name).is_file() else "changed")
        for name, one in manifest.files.items()
        if not (root / name).is_file() or hash_of(root / name) != one.sha256
    ]
    return found + [
        FileChange(name, "new") for name in FILE_NAMES if name not in manifest.files and (root / name).exists()
    ]


def refuse_changes(folder: str | os.PathLike[str], manifest: Manifest, changes: Iterable[FileChange]) -> None:
    """Refuse files that are not what the manifest says; a new file is no part of the set, and left alone."""
    names = [one.name for one in changes if one.kind != "new"]
    if names:
        raise InputError(
            say(
                "{names} {n:is|are} not what was written as version {version}",
                names=names,
                n=len(names),
                version=manifest.version,
            ),
            path=os.fspath(folder),
            hint=say("if that is meant: assay set info {folder} --accept", folder=os.fspath(folder)),
        )


def locate(folder: str | os.PathLike[str], role: Role) -> Path | None:
    """Find the file of a set that holds something, and check it against its hash; None if there is none."""
    manifest = read_manifest(folder)
    name = manifest.name_of(role)
    if name is None:
        return None
    path = Path(folder) / name
    if not path.is_file() or hash_of(path) != manifest.files[name].sha256:
        refuse_changes(folder, manifest, [FileChange(name, "changed")])
    return path


def need(folder: str | os.PathLike[str], role: Role) -> Path:
    """Find the file of a set that holds something, as `locate` does; a set without it is refused."""
    found = locate(folder, role)
    if found is None:
        raise InputError(say("the set has no {role}", role=say(f"set.role.{role}")), path=os.fspath(folder))
    return found
