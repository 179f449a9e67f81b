"""Single charts of results: to look at in a notebook, or as a picture in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.evidence import find_evidence, load_all
from assay.analysis.report_data import report_data
from assay.errors import UnknownName, UsageError
from assay.formats.files import check_outputs, write_atomically
from assay.messages import say
from assay.report import charts
from assay.report.blocks import Block, Chart, Fold, Section
from assay.report.document import check_language, write
from assay.report.tables import Table
from assay.report.views.result import pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assay.analysis.evidence import LoadedResult
    from assay.data.record import Record
    from assay.formats.queries import Queries
    from assay.messages import Lang

    Results = LoadedResult | Record | str | os.PathLike[str] | Iterable[LoadedResult | Record | str | os.PathLike[str]]

PICTURES = (".svg", ".png")


@dataclass(frozen=True)
class Plot:
    """One chart, which a notebook shows and `save` writes; `inputs` are files that were read for it."""

    chart: Chart
    lang: Lang = "en"
    inputs: tuple[str, ...] = ()

    def to_svg(self) -> str:
        """Draw it as SVG."""
        return charts.svg(self.chart, self.lang, alone=True)

    def to_png(self, scale: float = 2.0) -> bytes:
        """Draw it as PNG, `scale` times as large."""
        return charts.png(self.chart, self.lang, scale=scale)

    def save(self, place: str | os.PathLike[str], *, scale: float = 2.0) -> None:
        """Write a picture: .svg or .png."""
        suffix = Path(place).suffix.lower()
        if suffix not in PICTURES:
            raise UsageError(
                say("cannot tell the format of {place!r}: use {suffixes}", place=os.fspath(place), suffixes=PICTURES)
            )
        check_outputs([place], self.inputs)
        write_atomically(place, self.to_svg() if suffix == ".svg" else self.to_png(scale))

    def _repr_svg_(self) -> str:
        return self.to_svg()


@dataclass(frozen=True)
class Plots(Mapping[str, Plot]):
    """All charts that results have, by name; printed, they are listed."""

    plots: Mapping[str, Plot]
    lang: Lang = "en"

    def __getitem__(self, name: str) -> Plot:
        if name not in self.plots:
            raise UnknownName(say("chart"), name, self.plots, hint=say("assay report RESULT --chart lists them"))
        return self.plots[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plots)

    def __len__(self) -> int:
        return len(self.plots)

    def __str__(self) -> str:
        return write([self._table()], "table", self.lang)

    def _repr_html_(self) -> str:
        return write([self._table()], "notebook", self.lang)

    def _table(self) -> Table:
        rows = tuple((name, plot.chart.title) for name, plot in self.plots.items())
        return Table((say("column.chart"), say("column.shows")), rows, names=2)


def plot(
    results: Results,
    name: str | None = None,
    *,
    judgments: Any = None,
    runs: Mapping[str, Any] | Iterable[Any] = (),
    queries: Queries | str | os.PathLike[str] | None = None,
    lang: Lang = "en",
) -> Plot | Plots:
    """Draw one chart of results, or without a name list all that they have; everything is given as to `write_report`.

    >>> import assay
    >>> judged = {f"q{i}": {"a": 1} for i in range(20)}
    >>> runs = {"found": {q: {"b": 2.0, "a": 1.0} for q in judged}, "reranked": {q: {"a": 1.0} for q in judged}}
    >>> scores = [assay.evaluate(judged, run, ["ndcg@10"], name=name) for name, run in runs.items()]
    >>> "means-0-ndcg@10" in assay.plot(scores)
    True
    """
    found = find_plots(results, judgments=judgments, runs=runs, queries=queries, lang=lang)
    return found if name is None else found[name]


def find_plots(
    results: Results, *, judgments: Any, runs: Mapping[str, Any] | Iterable[Any],
    queries: Queries | str | os.PathLike[str] | None, lang: Lang,
) -> Plots:  # fmt: skip
    """Make all charts that results have something for."""
    check_language(lang)
    loaded = load_all(results)
    evidence = find_evidence(loaded, judgments=judgments, runs=runs, queries=queries)
    inputs = (*(one.file for one in loaded if one.file is not None), *evidence.files)
    shown = pages(report_data([one.result for one in loaded], evidence))
    return Plots({chart.name: Plot(chart, lang, inputs) for chart in _charts(shown)}, lang)


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from _charts(block.blocks)
