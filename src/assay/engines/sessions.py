"""Starting Spark, or saying in one line what it lacks: Java, a route to the cluster, Assay on its workers."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assay.errors import InputError, MissingPackage, UsageError
from assay.installation import PACKAGE
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JAVA = 17  # the least version that Spark 4 runs on
_LOOPBACK = "127.0.0.1"
_PATIENCE = 5.0  # seconds for a master to answer
_CONNECT_PORT, _MASTER_PORT = 15002, 7077
_HERE = re.compile(r"local(-cluster)?(\[.*\])?")
_checked: set[str] = set()  # sessions whose workers were looked at


def start(*, master: str | None = None, remote: str | None = None, settings: dict[str, str] | None = None) -> Any:
    """Start a session of Spark, or take the one that runs; what is missing is an error with its cure."""
    if master and remote:
        raise UsageError(say("give --master or --remote, not both"))
    if find_spec("pyspark") is None:
        raise MissingPackage(say("The engine spark"), "pyspark", "spark")
    if remote:
        check_route(remote)
        return _connect(remote)
    running = _running()
    if running is not None and master is None:
        return running
    master = master or "local[*]"
    check_java()
    check_route(master)
    for name, value in _places(master).items():
        os.environ.setdefault(name, value)
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master(master).appName("assay")
    for name, value in {**_settings(master), **(settings or {})}.items():
        builder = builder.config(name, value)
    return ask(builder.getOrCreate)


def _connect(remote: str) -> Any:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    try:
        return ask(builder.remote(remote).getOrCreate)
    except ImportError as error:
        raise MissingPackage(say("A Spark Connect server"), str(error.name or "grpcio"), "connect") from None


def _running() -> Any:
    """The session that was started before, if there is one."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _places(master: str) -> dict[str, str]:
    """What Spark needs to know of this machine, where workers are on it: they would take the first python of PATH."""
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": _LOOPBACK} if is_here(master) else {}


def _settings(master: str) -> dict[str, str]:
    found = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    if is_here(master):
        found |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    return found


def is_here(master: str) -> bool:
    """Return whether all workers of a master are on this machine."""
    with suppress(ValueError):
        return bool(_HERE.fullmatch(master)) or urlsplit(master).hostname in {"localhost", _LOOPBACK}
    return False


def check_java() -> None:
    """Refuse to start Spark without a Java that is new enough."""
    found = java_version()
    if found is None:
        raise UsageError(
            say(
                "The engine spark needs Java {least} or later, and there is none: install one (Debian: apt-get install "
                "openjdk-{least}-jre-headless), or set JAVA_HOME",
                least=JAVA,
            )
        )
    if found < JAVA:
        raise UsageError(
            say(
                "The engine spark needs Java {least} or later, and {place} is Java {found}: set JAVA_HOME to a later "
                "one",
                least=JAVA,
                place=_java(),
                found=found,
            )
        )


def java_version() -> int | None:
    """The major version of the Java that Spark would take; None if there is none."""
    place = _java()
    if place is None:
        return None
    try:
        said = subprocess.run([place, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def check_route(address: str) -> None:
    """Refuse an address at which nothing listens; only those with a host are looked at."""
    try:
        parts = urlsplit(address.partition(",")[0])
        if parts.scheme not in {"spark", "sc"}:
            return
        port = _CONNECT_PORT if parts.scheme == "sc" else _MASTER_PORT
        place = parts.hostname or "", parts.port or port
        socket.create_connection(place, timeout=_PATIENCE).close()
    except (OSError, ValueError):
        raise UsageError(
            say(
                "nothing answers at {address}: check the address, that Spark runs there, and that this machine may "
                "reach it",
                address=address,
            )
        ) from None


def check_workers(session: Any) -> None:
    """Refuse workers without Assay, with another version of it, or that cannot run Python."""
    key = str(id(session))
    if key in _checked:
        return
    here = version(PACKAGE)
    columns = "host string, assay string, problem string"
    found = ask(lambda: session.range(0, 2, 1, 2).mapInArrow(_probe(), columns).collect())
    for host, there, problem in found:
        if problem:
            raise UsageError(
                say(
                    "the worker on {host} cannot import Assay ({problem}): install {package}=={version} there, or name "
                    "a Python that has it with PYSPARK_PYTHON",
                    host=host,
                    problem=problem,
                    package=PACKAGE,
                    version=here,
                )
            )
        if there != here:
            raise UsageError(
                say(
                    "the worker on {host} has Assay {there}, and this is {here}: install the same version on both",
                    host=host,
                    there=there,
                    here=here,
                )
            )
    _checked.add(key)


def _probe() -> Any:
    """A function that says what a worker has; it needs nothing of Assay to be unpickled there."""

    def probe(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib
        import socket

        import pyarrow as pa

        for _ in batches:
            pass
        found, problem = "", ""
        try:
            found = str(importlib.import_module("assay").__version__)
            importlib.import_module("assay.engines.batches")  # with all that it needs
        except Exception as error:  # noqa: BLE001 - whatever it is, the worker cannot be used
            problem = f"{type(error).__name__}: {error}"
        names = ["host", "assay", "problem"]
        yield pa.RecordBatch.from_arrays([pa.array([text]) for text in (socket.gethostname(), found, problem)], names)

    return probe


# What Spark says, and the message about it.
_CAUSES = {
    "python": r"PYTHON_VERSION_MISMATCH|different version .* driver",
    "no_python": r"Cannot run program",
    "no_path": r"PATH_NOT_FOUND|Path does not exist",
    "no_table": r"TABLE_OR_VIEW_NOT_FOUND",
    "damaged": r"CANNOT_READ_FILE_FOOTER|FAILED_READ_FILE|is not a Parquet file|Could not read footer",
    "no_files": r"UNABLE_TO_INFER_SCHEMA",
    "memory": r"OutOfMemoryError|exit code 137|Killed",
    "result_size": r"maxResultSize",
    "gone": r"UNAVAILABLE|Connection refused|failed to connect",
    "no_pyarrow": r"No module named 'pyarrow'|PyArrow >= ",
}


def ask(action: Callable[[], Any]) -> Any:
    """Have Spark do something; what it says when it cannot is put into one line."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")  # of versions of pandas
        try:
            return action()
        except ImportError:
            raise
        except Exception as error:  # noqa: BLE001 - the errors of Spark have no other class in common
            raise translate(error) from None


def translate(error: BaseException) -> InputError:
    """Say in one line what went wrong in Spark."""
    text = str(error)
    for name, pattern in _CAUSES.items():
        if re.search(pattern, text):
            place = re.search(r"(?:file|s3a?|gs|hdfs|abfss?):/[^\s'\",\]]+", text)
            return InputError(say(f"spark.{name}"), path=place[0].rstrip(".") if place else None)
    lines = [line.strip().removeprefix(": ").removeprefix("Caused by: ") for line in text.splitlines()]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    reason = (named or [line for line in lines if line] or [type(error).__name__])[-1 if named else 0]
    return InputError(say("Spark could not do it: {reason}", reason=reason[:300]))
