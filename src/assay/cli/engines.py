"""Evaluating with an engine: which one is asked for, and what it is given. And `assay env engines`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.parameters import WHOLE, WordChoice, add_option, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cli.options import RuleOptions
    from assay.data.scores import Scores
    from assay.engines.engine import Engine


@dataclass(frozen=True)
class EngineChoice:
    """Where the work is done."""

    engine: str | None = option("--engine", type=WordChoice(["local", "spark"]), section="engine")
    master: str | None = option("--master", metavar="URL", only="engine", section="engine")
    remote: str | None = option("--remote", metavar="URL", only="engine", section="engine")

    def is_asked_for(self, places: Sequence[str], output: str | None = None) -> bool:
        """Return whether an engine has to do it: one is named, a folder is written, or only engines read a place."""
        return self.engine is not None or is_folder(output) or any(map(_is_table, places))

    def start_for(self, places: Sequence[str]) -> Engine | None:
        """Start the engine if it is named, or if only engines read a place that is no folder; None otherwise."""
        far = any("://" in place or place.startswith("table:") for place in places)
        return self.start(places) if self.engine is not None or (far and any(map(_is_table, places))) else None

    def is_far(self, places: Sequence[str]) -> bool:
        """Return whether Spark does it: it is named, or only Spark reads a place."""
        named = self.engine == "spark"
        return named or (self.engine is None and any("://" in one or one.startswith("table:") for one in places)
                         and any(map(_is_table, places)))  # fmt: skip

    def start(self, places: Sequence[str]) -> Engine:
        """Start the engine: Spark where it is named, or where only Spark reads a place."""
        from assay.engines.local import LocalEngine
        from assay.engines.spark import TABLE, SparkEngine, is_address

        if self.engine != "spark":
            options.refuse("master", "remote", because="cli.only_spark")
        far = any(is_address(place) or place.startswith(TABLE) for place in places)
        if self.engine == "spark" or (self.engine is None and far):
            return SparkEngine(master=self.master, remote=self.remote)
        return LocalEngine()


@dataclass(frozen=True)
class EngineOptions(EngineChoice):
    """Where whole queries are evaluated, and in how many parts."""

    parts: int = option("--parts", type=WHOLE, default=0, metavar="N", section="engine")


def is_folder(output: str | None) -> bool:
    """Return whether an output is a folder: it ends like one."""
    return output is not None and output.endswith(("/", os.sep))


def _is_table(place: str) -> bool:
    if place == "-" or os.path.isfile(options.split_name(place)[1]):  # noqa: PTH113 - a table's name may be no path
        return False  # and the engines need not be imported
    from assay.engines.local import is_parquet_folder
    from assay.engines.spark import TABLE, is_address

    return is_address(place) or place.startswith(TABLE) or is_parquet_folder(place)


def evaluate(
    judgments: str, runs: tuple[str, ...], measures: tuple[str, ...], rules: RuleOptions, where: EngineOptions, *,
    weights: str | None, folder: str | None,
) -> list[Scores]:  # fmt: skip
    """Evaluate the runs with an engine."""
    from assay.analysis.evaluate_tables import evaluate_tables
    from assay.errors import UsageError
    from assay.formats.queries import read_clusters
    from assay.formats.reading import read_chunk_map, read_weights
    from assay.messages import say

    if not runs:
        raise UsageError(say("an engine needs judgments and a run"))
    places = [judgments, *(options.split_name(run)[1] for run in runs)]
    inputs.refuse_results(places)
    options.read_once(places)
    named = inputs.name_runs(runs)
    given: dict[str, Any] = {
        "chunks": read_chunk_map(rules.chunk_map) if rules.chunk_map else None,
        "weights": read_weights(weights) if weights else None,
        "clusters": read_clusters(rules.cluster) if rules.cluster else None,
        "dedupe": rules.dedupe,
    }
    judged: Any = judgments
    if not _is_table(judgments):
        judged, _ = inputs.read_judged(judgments, runs, list(measures) or None, rules)
        if rules.calibration:
            given["calibration"] = inputs.stamp_of(rules.calibration, judged)
    elif rules.calibration:
        options.refuse("calibration", because="cli.no_effect_on_tables")
    (name, place), *others = named
    found = evaluate_tables(
        judged,
        dict(named) if others else place,
        list(measures) or None,
        protocol=rules.protocol,
        rules=rules.overrides(),
        name=name if options.split_name(runs[0])[0] and not others else None,
        engine=where.start(places),
        folder=folder,
        parts=where.parts,
        command=inputs.command_line(),
        **given,
    )
    return list(found.values()) if isinstance(found, dict) else [found]


_EXAMPLES = ("assay env engines", "assay env engines --master spark://head:7077")


@make_command("engines", _EXAMPLES, wording="env.engines")
@add_option("--master", metavar="URL")
@add_option("--remote", metavar="URL")
def command(*, master: str | None, remote: str | None) -> None:
    """Show which engines are here; of a cluster that is named, whether it answers and its workers have Assay."""
    from assay.analysis.environment import describe_engines
    from assay.report.document import write
    from assay.report.views.environment import view_engines

    click.echo(
        write(view_engines(describe_engines(master=master, remote=remote)), "table", language.current()), nl=False
    )
