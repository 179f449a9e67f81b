from __future__ import annotations

import pytest

import assay
from assay.data.judgments import Judgments
from assay.data.run import Run


@pytest.fixture
def two_systems(tmp_path):
    """A folder with judgments of 12 queries, qrels.txt, and two runs, one.run and two.run."""
    judged = {f"q{i:02}": {"a": 1, "b": 2} for i in range(12)}
    assay.write_judgments(Judgments.from_dict(judged), tmp_path / "qrels.txt")
    for name, docs in (("one", "xab"), ("two", "axb")):
        assay.write_run(
            Run.from_dict({q: {d: -float(i) for i, d in enumerate(docs)} for q in judged}, name),
            tmp_path / f"{name}.run",
        )
    return tmp_path


@pytest.fixture(scope="session")
def demo():
    """Where the files of the bundled collection are."""
    from assay.demo import collection

    return collection()
