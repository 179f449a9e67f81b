"""What Spark lacks is said in one line, with the cure."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.engines import sessions
from assay.errors import MissingPackage, UsageError
from assay.messages import tell


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A stand-in for Java that names its version."""

    def make(text):
        place = tmp_path / "home" / "bin" / "java"
        place.parent.mkdir(parents=True)
        place.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
        place.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))

    return make


def test_without_java_the_cure_is_an_installation(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs Java 17 or later, and there is none: install one") as caught:
        sessions.check_java()
    assert "\n" not in str(caught.value) and "需要 Java 17" in tell(caught.value.message, "zh")


@pytest.mark.parametrize(
    ("text", "number"), [('openjdk version "11.0.2" 2019-01-15', 11), ('java version "1.8.0_392"', 8)]
)
def test_an_older_java_is_named_with_its_place(java, text, number):
    java(text)
    with pytest.raises(UsageError, match=rf"home/bin/java is Java {number}: set JAVA_HOME"):
        sessions.check_java()


def test_a_java_that_is_new_enough_is_taken(java):
    java('openjdk version "21.0.5" 2024-10-15 LTS')
    assert sessions.java_version() == 21
    sessions.check_java()


@pytest.mark.parametrize("address", ["spark://127.0.0.1:{port}", "sc://127.0.0.1:{port}/;token=x"])
def test_an_address_where_nothing_listens_is_named(address):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        place = address.format(port=held.getsockname()[1])
        with pytest.raises(UsageError, match="nothing answers at s"):
            sessions.check_route(place)


def test_an_address_with_half_a_bracket_is_refused():
    assert not sessions.is_here("spark://[.0.0.1:7077")
    with pytest.raises(UsageError, match="nothing answers at s"):
        sessions.check_route("spark://[.0.0.1:7077")


def test_without_spark_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(sessions, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"pip install .*\[spark\]"):
        sessions.start()
    with pytest.raises(UsageError, match="not both"):
        sessions.start(master="local", remote="sc://here")


class Session:
    """Workers that answer what they are told to."""

    def __init__(self, *answers):
        self.answers = answers

    def range(self, *_):
        return self

    def mapInArrow(self, *_):  # noqa: N802
        return self

    def collect(self):
        return self.answers


def test_workers_of_another_version_or_without_assay_are_refused():
    here = version("assay-eval")
    with pytest.raises(UsageError, match=rf"worker on b has Assay 0\.0\.9, and this is {here}: install the same"):
        sessions.check_workers(Session(("a", here, ""), ("b", "0.0.9", "")))
    with pytest.raises(UsageError, match=rf"cannot import Assay \(No module\): install assay-eval=={here} there"):
        sessions.check_workers(Session(("a", "", "No module")))
    sessions.check_workers(Session(("a", here, "")))


@pytest.mark.parametrize(
    ("own", "told"), [(None, ["", "ModuleNotFoundError: No module named 'assay'"]), ("0.0.9", None)]
)
def test_a_worker_without_assay_can_say_so(tmp_path, own, told):
    """What is sent there is unpickled by a Python that has pyarrow, and no Assay or another one."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle comes with Spark and joblib")
    pytest.importorskip("pyarrow")
    for name in ("cloudpickle", "pyarrow", "numpy"):
        place = Path(find_spec(name).origin).parent
        for one in (place, place.with_name(f"{name}.libs")):
            if one.exists():
                (tmp_path / one.name).symlink_to(one)
    if own:
        (tmp_path / "assay" / "engines").mkdir(parents=True)
        (tmp_path / "assay" / "__init__.py").write_text(f"__version__ = {own!r}\n")
        for name in ("__init__.py", "batches.py"):
            (tmp_path / "assay" / "engines" / name).write_text("")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import base64, json, cloudpickle\n"
        "probe = cloudpickle.loads(base64.b64decode(sys.stdin.read()))\n"
        "print(json.dumps([list(row.values()) for batch in probe(iter([])) for row in batch.to_pylist()]))"
    )
    sent = base64.b64encode(cloudpickle.dumps(sessions._probe())).decode()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], input=sent, capture_output=True, text=True, check=True
    )
    ((host, *found),) = json.loads(done.stdout)
    assert host == socket.gethostname() and found == (told or [own, ""])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11", "another version of Python"),
        ('java.io.IOException: Cannot run program "/no/python": error=2', "cannot run the Python of PYSPARK_PYTHON"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/no/such. SQLSTATE: 42K03", "file:/no/such: Spark finds no such path"),
        ("[CANNOT_READ_FILE_FOOTER] Could not read footer for file: file:/lake/part-1.parquet.", r"file:/lake/part-1\.parquet: a Parquet file is damaged"),
        ("something else\nValueError: went wrong\n  at x", "could not do it: ValueError: went wrong"),
    ],
)  # fmt: skip
def test_what_spark_says_is_put_into_one_line(said, told):
    error = sessions.translate(RuntimeError(said))
    assert "\n" not in str(error)
    with pytest.raises(type(error), match=told):
        raise error


def test_settings_for_this_machine_are_only_those_that_the_user_has_not(monkeypatch):
    assert sessions._places("local[2]") == {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    assert sessions._settings("local-cluster[2,1,1024]")["spark.driver.bindAddress"] == "127.0.0.1"
    assert sessions._places("spark://head:7077") == {} and "spark.driver.host" not in sessions._settings("yarn")
