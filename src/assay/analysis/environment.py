"""What is installed and reachable on this machine: extras, models, keys by their names, servers."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import urlsplit

from assay.installation import PACKAGE, install_command

EXTRAS = (
    "text",
    "report",
    "pipeline",
    "onnx",
    "usearch",
    "postgres",
    "spark",
)  # of what users install; the others are for contributors
_PATIENCE = 2.0  # seconds for a server to answer
_KEYS = ("ASSAY_BASE_URL", "ASSAY_MODEL", "ASSAY_JUDGE", "ASSAY_CACHE", "ASSAY_LANG")


@dataclass(frozen=True)
class Extra:
    """Packages that are installed together; `missing` are those that are not here, `command` installs them."""

    name: str
    missing: tuple[str, ...]
    command: str


@dataclass(frozen=True)
class Environment:
    """What is here. Of keys and settings only the names are shown, never the values.

    `models` are places of models for embeddings, None where one is missing; `server` is the host that ASSAY_BASE_URL
    names, `reachable` whether something answers there.
    """

    version: str
    python: str
    system: str
    extras: tuple[Extra, ...]
    models: dict[str, str | None]
    cache: str
    keys: tuple[str, ...]
    settings: tuple[str, ...]
    server: str = ""
    reachable: bool = False


def describe_environment() -> Environment:
    """Look at what is installed, which models are here, which keys are set and whether the server answers.

    >>> import assay
    >>> assay.describe_environment().version == assay.__version__
    True
    """
    from assay.llm.hosts import VENDORS
    from assay.llm.store import default_path
    from assay.text.static import wordllama_folder
    from assay.text.weights import find_minilm

    models = {"minilm": find_minilm(), "wordllama": wordllama_folder()}
    server, reachable = _server(os.environ.get("ASSAY_BASE_URL", ""))
    return Environment(
        version=distribution(PACKAGE).version,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        extras=tuple(_extra(name) for name in EXTRAS),
        models={name: None if place is None else str(place) for name, place in models.items()},
        cache=str(default_path()),
        keys=tuple(one.key_env for one in VENDORS if one.key_env and os.environ.get(one.key_env)),
        settings=tuple(name for name in _KEYS if os.environ.get(name)),
        server=server,
        reachable=reachable,
    )


def _extra(name: str) -> Extra:
    """Find out which packages of an extra are missing."""
    missing = []
    for line in distribution(PACKAGE).requires or ():
        package, _, condition = line.partition(";")
        if f"extra == '{name}'" in condition.replace('"', "'") and _applies(condition):
            found = re.split(r"[\s<>=!~\[(]", package.strip(), maxsplit=1)[0]
            if not _is_installed(found):
                missing.append(found)
    return Extra(name, tuple(missing), install_command(name) if missing else "")


def _applies(condition: str) -> bool:
    """Return whether a requirement applies to this version of Python, the only condition used here."""
    limit = re.search(r"python_version\s*<\s*['\"](\d+)\.(\d+)['\"]", condition)
    version = tuple(map(int, platform.python_version_tuple()[:2]))
    return limit is None or version < (int(limit[1]), int(limit[2]))


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _server(address: str) -> tuple[str, bool]:
    """The host of an address without anything secret in it, and whether something answers there."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", False
    if not parts.hostname:
        return "", False
    try:
        with socket.create_connection((parts.hostname, port), timeout=_PATIENCE):
            return f"{parts.hostname}:{port}", True
    except OSError:
        return f"{parts.hostname}:{port}", False


@dataclass(frozen=True)
class Engines:
    """Where queries can be evaluated: the version of Spark that is here, whether it can connect, and which Java.

    `python` is the interpreter that workers on this machine use. `cluster` is a master or a server that was asked for,
    `problem` what is wrong with it, or with Spark here; empty if nothing is.
    """

    spark: str
    connect: bool
    java: int | None
    python: str
    cluster: str = ""
    problem: str = ""


def describe_engines(*, master: str | None = None, remote: str | None = None) -> Engines:
    """Look for Spark and Java, and at the workers of a cluster if one is named.

    >>> import assay
    >>> assay.describe_engines().cluster
    ''
    """
    from assay.engines import sessions
    from assay.engines.spark import SparkEngine
    from assay.errors import AssayError

    spark = next((distribution(name).version for name in ("pyspark", "pyspark-client") if _is_installed(name)), "")
    problem = ""
    try:
        if master or remote:
            SparkEngine(master=master, remote=remote)
        elif spark:
            sessions.check_java()
    except AssayError as error:
        problem = error.message
    return Engines(
        spark,
        _is_installed("grpcio"),
        sessions.java_version(),
        os.environ.get("PYSPARK_PYTHON") or sys.executable,
        master or remote or "",
        problem,
    )
