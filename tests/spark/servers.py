"""A Spark Connect server on this machine, started by a test and ended by it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

_SECONDS = 300  # for a Java machine on a busy processor


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def connect_server(folder: Path):
    """The address of a server with two threads; its log is in the folder."""
    home = Path(find_spec("pyspark").origin).parent
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 3, "spark.sql.adaptive.enabled": "false",
    }  # fmt: skip
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [home / "bin" / "spark-submit", "--master", "local[2]", *words,
               "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]  # fmt: skip
    env = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log, start_new_session=True)
        try:
            _await(port, server, folder)
            yield f"sc://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _await(port: int, server: subprocess.Popen, folder: Path) -> None:
    for _ in range(_SECONDS * 2):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        assert server.poll() is None, (folder / "server.log").read_text()[-2000:]
        time.sleep(0.5)
    raise AssertionError("the server does not answer")
