"""Write docs/measures.md and docs/protocols.md from the measures and protocols themselves."""

from __future__ import annotations

from pathlib import Path

from assay.analysis.protocols import builtin_names, load_protocol
from assay.report.pages import listing, ordered, page, protocol_page

DOCS = Path(__file__).parents[1] / "docs"


def measures_text() -> str:
    """List of the measures and a page for each."""
    pages = [page(spec.name, "markdown") for spec in ordered()]
    return "# Measures\n\nMade by `tools/make_docs.py` from the measures' own docstrings.\n\n" + "\n".join(
        [listing("markdown"), *pages]
    )


def protocols_text() -> str:
    """Page of every built-in protocol, with the TOML format."""
    head = (DOCS / "protocols.head.md").read_text(encoding="utf-8")
    pages = [f"## {name}\n\n```text\n{protocol_page(load_protocol(name))}```\n" for name in builtin_names()]
    return head + "\n" + "\n".join(pages)


def main() -> None:
    """Write the files."""
    (DOCS / "measures.md").write_text(measures_text(), encoding="utf-8")
    (DOCS / "protocols.md").write_text(protocols_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
