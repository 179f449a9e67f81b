"""Write constraints.txt: the version of every package that an installation with all extras gets today.

    python tools/make_constraints.py [--check-python 3.12 ...]

Versions are resolved anew by pip for the Python that runs this, which should be the oldest one supported: what runs
there has wheels for later ones. `--check-python` then asks whether the file can be met there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
FILE = HERE / "constraints.txt"
ALL = ".[connect,dev,docs,onnx,pipeline,report,serve,spark,test,text,usearch]"
CHECKED = "[docs,onnx,pipeline,report,serve,text,usearch]"  # what has wheels for every system
HEAD = "# Made by `make constraints`: all packages of all extras. Used by the Makefile and .ci/run.\n"


def report(*args: str) -> list[tuple[str, str]]:
    """Names and versions that pip would install."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--report",
        "-",
        *args,
    ]
    told = json.loads(subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.PIPE).stdout)
    found = ((one["metadata"]["name"], one["metadata"]["version"]) for one in told["install"])
    return sorted((re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found)


def check(version: str) -> list[tuple[str, str]]:
    """What would be installed under the constraints for another Python, of wheels alone."""
    wheels = ["--only-binary=:all:", "--python-version", version, "--target", "unused"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "."]
        subprocess.run(command, cwd=HERE, check=True)
        wheel = next(Path(folder).glob("*.whl"))
        return report(*wheels, "-c", str(FILE), f"{wheel}{CHECKED}")


def main() -> None:
    """Write the file, or check it against other versions of Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check-python", action="append", default=[], metavar="VERSION")
    versions = parser.parse_args().check_python
    for version in versions:
        print(f"Python {version}: {len(check(version))} packages")
    if not versions:
        found = [f"{name}=={version}\n" for name, version in report(ALL) if name != "assay-eval"]
        FILE.write_text(HEAD + "".join(found), encoding="utf-8")
        print(f"{FILE.name}: {len(found)} packages")


if __name__ == "__main__":
    main()
