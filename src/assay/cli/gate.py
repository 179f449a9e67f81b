"""`assay gate`: an exit code for continuous integration."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli import applications, inputs, language, options, places, progress
from assay.cli.applications import AppChoice, AppSetting
from assay.cli.commands import command as make_command
from assay.cli.options import Output, RuleOptions
from assay.cli.parameters import NUMBER, SHARE, Number, add_argument, list_typed, option, takes
from assay.cli.places import OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.gate_rules import Rule
    from assay.data.scores import Scores
    from assay.results.gate import Gate
    from assay.results.result import Result

_EXAMPLES = (
    "assay gate result.json --fail-under ndcg@10=0.85",
    "assay gate qrels.txt new.run --not-worse-than baseline.json -m ndcg@10",
    "assay gate new.json --not-worse-than history/ --take best:10 --not-worse-than release.json",
    "assay gate qrels.txt new.run --not-worse-than baseline.json --slice lang --queries queries.csv",
    "assay gate qrels.txt old.run new.run --baseline old -m ndcg@10",
    "assay gate result.json bench.json cost.json --rules 'p95_ms<=300' --rules 'cost_per_1000<=0.5'",
    "assay gate qrels.txt --app http://127.0.0.1:8000/ask --queries q.jsonl --fail-under ndcg@10=0.8",
    "assay gate result.json --rules gate.toml --junit gate.xml --format markdown",
    "assay gate qrels.txt new.run --protocol rerank --targets",
)


@dataclass(frozen=True)
class Conditions:
    """What must hold."""

    measures: tuple[str, ...] = option("-m", "--measure", default=(), multiple=True, metavar="MEASURE")
    fail_under: tuple[str, ...] = option("--fail-under", default=(), multiple=True, metavar="MEASURE=VALUE")
    fail_over: tuple[str, ...] = option("--fail-over", default=(), multiple=True, metavar="MEASURE=VALUE")
    sure: bool = option(
        "--sure", default=False, is_flag=True, only=("fail_under", "fail_over", "targets", "rules_file")
    )
    not_worse_than: tuple[str, ...] = option("--not-worse-than", default=(), multiple=True, metavar="RESULT|FOLDER|RUN")
    take: str = option("--take", default="newest", show_default=True, metavar="newest|best|best:N")
    baseline: str | None = option("--baseline", metavar="NAME")
    margin: float | None = option("--margin", type=NUMBER, only=("not_worse_than", "baseline", "rules_file"))
    alpha: float = option("--alpha", default=0.05, show_default=True, type=SHARE)
    min_coverage: float | None = option("--min-coverage", type=Number(least=0, most=1))
    slices: tuple[str, ...] = option("--slice", default=(), multiple=True, metavar="ATTRIBUTE[=VALUE]")
    queries: str | None = option("--queries", metavar="FILE")
    targets: bool = option("--targets", default=False, is_flag=True)
    rules_file: tuple[str, ...] = option("--rules", default=(), multiple=True, metavar="FILE|RULE")
    strict: bool = option("--strict", default=False, is_flag=True)
    junit: str | None = option("--junit", type=OUTPUT, metavar="FILE", section="output")

    def rules(self) -> list[Rule | str]:
        """The thresholds, the rules that were typed, and the files of rules."""
        from assay.analysis.gate_rules import Threshold, baselines_in

        own: dict[str, Any] = {"sure": self.sure, "alpha": self.alpha, "min_coverage": self.min_coverage}
        found: list[Rule | str] = [
            Threshold(name, at_least=v, **own) for name, v in _pairs(self.fail_under, "--fail-under")
        ]
        found += [Threshold(name, at_most=v, **own) for name, v in _pairs(self.fail_over, "--fail-over")]
        places.check(*(place for one in self.rules_file for place in baselines_in(one)))
        return [*found, *self.rules_file]

    def more(self) -> dict[str, Any]:
        """What else `gate` takes."""
        names = ("sure", "alpha", "targets", "measures", "margin", "min_coverage", "slices", "queries", "take")
        return {name: getattr(self, name) for name in names}


@make_command("gate", _EXAMPLES)
@add_argument("judgments", metavar="RESULT|JUDGMENTS")
@add_argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@options.encoding
@takes(asked=Conditions, app=AppChoice, setting=AppSetting, rules=RuleOptions, out=Output)
def command(
    *, judgments: str, runs: tuple[str, ...], asked: Conditions, app: AppChoice, setting: AppSetting,
    rules: RuleOptions, out: Output,
) -> None:  # fmt: skip
    """Decide, print, exit."""
    from assay.cli.reporting import write_fresh
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import gate as report
    from assay.report.views.scores import stamp

    if app.app is None:
        gates = _gates(judgments, runs, asked, rules)
    else:
        gates = _application(app.app, judgments, asked, setting, rules)
    systems = [scores for one in gates for scores in one.scores]
    judged, lang = stamp(systems) if systems else "", language.current()
    result, blocks = _result(gates, systems, judged), report.table(*gates, strict=asked.strict)

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(result)
        return write(blocks, kind, lang, stamp=judged)

    out.emit(as_text)
    if asked.junit:
        options.save(write(blocks, "junit"), asked.junit)
    write_fresh(result, out.report)
    if not all(one.passes(strict=asked.strict) for one in gates):
        sys.exit(1)


def _gates(judgments: str, runs: tuple[str, ...], asked: Conditions, rules: RuleOptions) -> list[Gate]:
    """Decide for every system of result files, or of runs under judgments."""
    from assay.analysis.gate import gate_result
    from assay.analysis.gate_baselines import measure_in_common
    from assay.analysis.gate_rules import measures_of_rules
    from assay.analysis.protocols import load_protocol

    if not asked.not_worse_than:
        options.refuse("take", because="cli.only_with_baseline")
    if not asked.slices and not asked.rules_file and not list_typed("app"):
        options.refuse("queries", because="cli.only_with_slice")
    given, more = asked.rules(), asked.more()
    places_ = [options.split_name(one) for one in (judgments, *runs)]
    if inputs.is_result(places_[0][1]):
        inputs.refuse_rules()
        if asked.baseline is None:
            return gate_result(_results(places_), given, not_worse_than=asked.not_worse_than, **more)
        systems, score = inputs.results((judgments, *runs)), None
    else:
        targets_of = load_protocol(rules.protocol) if asked.targets else None
        measures = asked.measures or measure_in_common(asked.not_worse_than, load_protocol(rules.protocol).primary)
        wanted = measures_of_rules(given, measures, targets_of=targets_of)
        job = inputs.prepare(judgments, runs, wanted or None, rules, brief=True)
        systems, score = job.scores(), partial(inputs.score_at, job)
    base, held = _baseline(systems, asked)
    return gate_result(held, given, score=score, not_worse_than=base, **more)


def _application(app: str, judgments: str, asked: Conditions, setting: AppSetting, rules: RuleOptions) -> list[Gate]:
    """Ask an application anew, evaluate it, and decide on that."""
    from assay.analysis.gate_application import gate_application

    options.refuse("runs", "baseline", "chunk_map", "dedupe", "cluster", "split", because="cli.no_effect_with_app")
    overrides = {name: value for name, value in rules.overrides().items() if value is not None}
    more = {name: value for name, value in asked.more().items() if name != "queries" or asked.slices}
    with progress.stages() as show:
        return gate_application(
            app, applications.need_queries(asked.queries), judgments, asked.rules(),
            settings=applications.read_settings(setting.settings), protocol=rules.protocol, overrides=overrides,
            not_worse_than=asked.not_worse_than, tell=show, **more,
        )  # fmt: skip


def _results(named: list[tuple[str | None, str]]) -> list[Scores | str]:
    """Result files as they are given; one with a name of its own is read here, and its system renamed."""
    from assay.analysis.stored import read_systems

    return [one for name, place in named for one in (read_systems(place, name=name) if name else [place])]


def _baseline(systems: list[Scores], asked: Conditions) -> tuple[Sequence[Scores | str], list[Scores]]:
    """The baselines, and the systems compared with them: one of those given, or those of named files."""
    from assay.analysis.stored import read_system
    from assay.errors import UnknownName
    from assay.messages import say

    if asked.baseline is None:
        return asked.not_worse_than, systems
    if asked.not_worse_than and all(inputs.is_result(one) for one in asked.not_worse_than):
        return [read_system(one, like=asked.baseline) for one in asked.not_worse_than], systems
    base = next((one for one in systems if one.name == asked.baseline), None)
    if base is None:
        hint = say("cli.baseline_file", place=asked.baseline) if Path(asked.baseline).exists() else ""
        raise UnknownName(say("cli.system"), asked.baseline, [one.name for one in systems], hint=hint)
    return [base, *asked.not_worse_than], [one for one in systems if one is not base]


def _pairs(texts: tuple[str, ...], option_name: str) -> list[tuple[str, float]]:
    """Read MEASURE=VALUE texts; one measure may have several."""
    return [pair for text in texts for pair in options.numbers([text], option_name).items()]


def _result(gates: list[Gate], systems: list[Scores], judged: str) -> Result:
    from assay.results.result import make_result

    warnings = dict.fromkeys([*([judged] if judged else []), *(text for one in gates for text in one.notes)])
    return make_result(gates, systems=systems, command=inputs.command_line(), warnings=list(warnings))
