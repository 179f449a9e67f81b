"""Play a scene: run its command lines one after the other in a folder, and reduce what each prints and writes."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from assay.testing import FakeLLM
from commands import call_assay, working_in
from net.reduction import reduce_output
from net.scenes import Scene, judge_by_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRINTED = (".json", ".html", ".md", ".tex", ".txt", ".csv", ".xml", ".svg", ".jsonl")
AS_BEFORE = "as the line before wrote it"
WHOLE = (".run", ".qrels", ".tsv")  # files of other tools: their bytes stay
NOT_LOOKED_AT = re.compile(r"^(cache|\.assay-cache|trace\.jsonl|\.home|__pycache__)$|\.sqlite")


def play(scene: Scene, folder: Path) -> dict[str, dict]:
    """The outcome of every command line of a scene: exit code, printed text and written files, reduced."""
    with FakeLLM(judge_by_texts) as server, _at_home(folder):
        scene.prepare(folder)
        found: dict[str, dict] = {}
        latest: dict[str, object] = {}
        for line in scene.expand():
            words = [word.replace("{url}", server.url) for word in shlex.split(line)]
            before = _files(folder)
            code, out, err = call_assay(words)
            written = {name for name, state in _files(folder).items() if before.get(name) != state}
            texts = {"stdout": out, "stderr": err} | dict.fromkeys(sorted(written), "")
            reduced = {
                name: _reduce(scene, line, name, text.replace(str(folder), ""), folder) for name, text in texts.items()
            }
            files = {
                name: AS_BEFORE if name in latest and latest[name] == one else one for name, one in reduced.items()
            }
            latest |= {name: one for name, one in reduced.items() if name in written}
            found[line] = {"exit": code} | {name: one for name, one in files.items() if one}
        return found


def _reduce(scene: Scene, line: str, name: str, text: str, folder: Path) -> object:
    if name in {"stdout", "stderr"}:
        asked = shlex.split(line)
        kind = asked[asked.index("--format") + 1] if "--format" in asked and name == "stdout" else ""
        return reduce_output(f"{name}.{kind}", text, timed=scene.timed, quiet=scene.quiet)
    path = folder / name
    if path.parent.name in {"runs", "samples", "queries"}:  # of an experiment, which scores them
        return f"{len(path.read_bytes().splitlines())} lines"
    if path.suffix in WHOLE or scene.exact:
        return "written" if path.suffix == ".parquet" else _digest(path.read_bytes())
    if path.suffix in PRINTED:
        return reduce_output(name, path.read_text(encoding="utf-8"), timed=scene.timed, quiet=scene.quiet)
    return "written"


def _digest(data: bytes) -> str:
    first = data.split(b"\n", 1)[0].decode()
    count = data.count(b"\n")
    return f"{count} lines, SHA-256 {hashlib.sha256(data).hexdigest()[:16]}, first: {first}"


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Files of a folder with what shows that one was written again."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(map(NOT_LOOKED_AT.search, path.relative_to(folder).parts))
    }


@contextmanager
def _at_home(folder: Path) -> Iterator[None]:
    """Work in the folder, with a user's cache of its own and no settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    kept |= {"XDG_CACHE_HOME": str(folder / ".home"), "COLUMNS": "110"}
    with patch.dict(os.environ, kept, clear=True), working_in(folder):
        yield
