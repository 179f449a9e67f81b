"""The bundled collection: short texts about tea in English and Chinese, written for demonstration.

Documents, queries and grades were made together, and some queries were worded so that the systems differ: good for
seeing how the tools work, not as evidence about retrieval methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True)
class Bundle:
    """Where the parts of the collection are."""

    judgments: Path
    runs: tuple[Path, ...]
    documents_file: Path
    queries_file: Path
    ladder: Path
    chunking: Path

    @property
    def documents(self) -> int:
        """Number of documents."""
        return _lines(self.documents_file)

    @property
    def queries(self) -> int:
        """Number of queries."""
        return _lines(self.queries_file)


def _lines(path: Path) -> int:
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line)


def collection() -> Bundle:
    """Find the bundled files."""
    folder = Path(str(files("assay.demo") / "data"))
    runs = tuple(folder / f"{name}.run" for name in ("keywords", "bm25", "ngrams"))
    return Bundle(
        folder / "judgments.qrels", runs, folder / "documents.jsonl", folder / "queries.jsonl", folder / "ladder.toml",
        folder / "chunking.toml",
    )  # fmt: skip
