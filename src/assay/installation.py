"""How this copy was installed, and hence the commands that run it and install what is missing."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

PACKAGE = "assay-eval"


def program_name() -> str:
    """The command that runs this program: `assay` if the shell finds it, else its path.

    >>> program_name().endswith("assay")
    True
    """
    return _command("assay") or f"{_path(Path(sys.executable))} -m assay"


def install_command(*extras: str) -> str:
    """The command that installs extras for a copy that was installed as this one: from an index, a folder, an address.

    >>> "pip install " in install_command("text")
    True
    """
    named = f"[{','.join(extras)}]"
    folder, address, editable = _source()
    what = f"{PACKAGE}{named}"
    if folder:
        what = f"{folder}{named}"
    elif address:
        what = f"{what} @ {address}"
    return f"{pip_command()} install {'-e ' if editable else ''}{shlex.quote(what)}"


def pip_command() -> str:
    """How to call the pip of the Python that runs this program."""
    found = shutil.which("pip")
    ours = found is not None and Path(found).parent == Path(sys.executable).parent
    return "pip" if ours else f"{_path(Path(sys.executable))} -m pip"


def _command(name: str) -> str:
    """The command for a program installed with this Python: its name if the shell finds it, else its path."""
    place = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if found is not None and (Path(found) == place or not place.is_file()):
        return name
    return _path(place) if place.is_file() else ""


def _path(place: Path) -> str:
    """A path quoted for a shell: relative if it is below this folder."""
    here = Path.cwd()
    return shlex.quote(str(place.relative_to(here) if place.is_relative_to(here) else place))


def _source() -> tuple[str, str, bool]:
    """The folder or the address that this copy was installed from, and whether a folder is used in place."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    told = json.loads(text) if text else {}
    url = told.get("url", "")
    parts = urlsplit(url)
    if parts.scheme != "file":
        vcs = told.get("vcs_info", {}).get("vcs", "")
        return "", f"{vcs}+{url}" if vcs else url, False
    folder = Path(url2pathname(parts.path))
    return "." if folder == Path.cwd() else str(folder), "", bool(told.get("dir_info", {}).get("editable"))
