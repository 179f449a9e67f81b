"""The command: called in this process, or as users run it, in a process of its own."""

from __future__ import annotations

import gc
import importlib
import io
import os
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def call_assay(words: Sequence[str]) -> tuple[int, str, str]:
    """Call the program here: its exit code, and what it printed on standard output and error."""
    from assay.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    code: object = 0
    try:
        with (
            patch.object(sys, "argv", ["assay", *words]),
            patch.object(sys, "stdout", out),
            patch.object(sys, "stderr", err),
        ):
            main()
    except SystemExit as stop:
        code = stop.code
    finally:
        gc.enable()  # a process that ends soon does without
    for stream in (out, err):
        stream.flush()
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))
    return code if isinstance(code, int) else int(code is not None), *texts


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in a folder with modules of its own, whatever modules of these names were imported from other folders."""
    path, here, home = list(sys.path), Path.cwd(), str(folder.resolve())
    for module in folder.glob("*.py"):
        sys.modules.pop(module.stem, None)
    importlib.invalidate_caches()
    os.chdir(folder)
    try:
        with patch.object(sys, "dont_write_bytecode", True):  # noqa: FBT003
            yield
    finally:
        os.chdir(here)
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(home + os.sep):
                del sys.modules[name]


def run_assay(*words: object, cwd: object = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Call `assay` with these words and variables of the environment; give what it printed and its exit code."""
    told = [str(word) for word in words]
    with patch.dict(os.environ, env), working_in(Path(str(cwd))) if cwd else nullcontext():
        code, out, err = call_assay(told)
    return subprocess.CompletedProcess(told, code, out, err)


def run_alone(*words: object, cwd: object = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, which takes half a second more."""
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=300, env={**os.environ, **env}
    )
