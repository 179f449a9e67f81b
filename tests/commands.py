"""The command as users run it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys


def run_assay(*words: object, cwd: object = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `assay` with these words and variables of the environment; give what it printed and its exit code."""
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, timeout=300, env={**os.environ, **env}
    )
