"""The bundled collection: short texts about tea in English and Chinese, written for demonstration.

Documents, queries and grades were made together, and some queries were worded so that the systems differ: good for
seeing how the tools work, not as evidence about retrieval methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

# What the table of chunkers shows of all that is measured.
CHUNKING = ("precision@5", "recall@5", "faithfulness")


@dataclass(frozen=True)
class Bundle:
    """The collection in a folder, and where its parts are."""

    folder: Path

    @property
    def judgments(self) -> Path:
        """Grades of documents."""
        return self.folder / "judgments.qrels"

    @property
    def runs(self) -> tuple[Path, ...]:
        """Lists of three simple systems."""
        return tuple(self.folder / f"{name}.run" for name in ("keywords", "bm25", "ngrams"))

    @property
    def documents_file(self) -> Path:
        """Texts of documents."""
        return self.folder / "documents.jsonl"

    @property
    def queries_file(self) -> Path:
        """Texts of queries."""
        return self.folder / "queries.jsonl"

    @property
    def ladder(self) -> Path:
        """The experiment over retrieval methods."""
        return self.folder / "ladder.toml"

    @property
    def chunking(self) -> Path:
        """The experiment over ways to cut documents."""
        return self.folder / "chunking.toml"

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.judgments, *self.runs, self.documents_file, self.queries_file, self.ladder, self.chunking)

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
    return Bundle(Path(str(files("assay.demo") / "data")))
