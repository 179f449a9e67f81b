"""`assay gate`: an exit code for continuous integration."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options, places

if TYPE_CHECKING:
    from assay.analysis.gate_rules import Rule
    from assay.data.scores import Scores
    from assay.messages import Lang
    from assay.results.gate import Gate

_HELP = """Let a change pass only if the numbers of a RESULT (or of RUNs under JUDGMENTS) are good enough.

Exits with 1 when a rule fails. A rule that cannot be decided passes with a warning, or fails with --strict. A measure
fails when queries or samples that should have a value have none: failed calls, answers that another method judged,
missing answers. --min-coverage says how many may lack one; refusals and what a measure does not apply to never count.

\b
assay gate result.json --fail-under ndcg@10=0.85
assay gate qrels.txt new.run --not-worse-than baseline.json --margin 0.01 -m ndcg@10
assay gate result.json --rules gate.toml --junit gate.xml --format markdown
assay gate qrels.txt new.run --protocol rerank --targets
"""


@click.command(name="gate", help=_HELP)
@click.argument("judgments", metavar="RESULT|JUDGMENTS")
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...")
@click.option("-m", "--measure", "measures", multiple=True, help="Measures of --not-worse-than; the primary one.")
@click.option("--fail-under", multiple=True, metavar="MEASURE=VALUE", help="The mean must be at least this.")
@click.option("--fail-over", multiple=True, metavar="MEASURE=VALUE", help="The mean must be at most this.")
@click.option("--sure", is_flag=True, help="The whole interval must reach the value, not the mean alone.")
@click.option("--not-worse-than", "baseline", metavar="RESULT|RUN", help="Compare with a baseline, query by query.")
@click.option("--margin", type=float, default=0.01, show_default=True, help="A loss below this is tolerated.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Risk of a wrong decision.")
@click.option(
    "--min-coverage", type=click.FloatRange(0, 1), default=1.0, show_default=True,
    help="Share of the queries or samples that should have a value and must have one.",
)  # fmt: skip
@click.option("--targets", is_flag=True, help="Check the targets of the protocol.")
@click.option("--rules", "rules_file", metavar="FILE", help="Rules in a TOML file.")
@click.option("--strict", is_flag=True, help="A rule that cannot be decided fails.")
@options.written("--junit", help="Write JUnit XML too.")
@options.rules
@options.output
def command(
    *, judgments: str, runs: tuple[str, ...], measures: tuple[str, ...], strict: bool, junit: str | None,
    output: str | None, kind: str | None, lang: Lang, **rest: Any,
) -> None:  # fmt: skip
    """Decide, print, exit."""
    from assay.analysis.gate import gate
    from assay.analysis.gate_rules import needed_measures
    from assay.analysis.protocols import load_protocol
    from assay.report.document import write
    from assay.report.views import gate as report
    from assay.report.views.scores import stamp

    rules, more = _asked(rest)
    if inputs.is_result(options.named(judgments)[1]):
        systems, score = inputs.results((judgments, *runs)), None
    else:
        targets_of = load_protocol(rest["protocol"]) if more["targets"] else None
        wanted = needed_measures(rules, measures, targets_of=targets_of)
        job = inputs.prepare(judgments, runs, wanted or None, None, brief=True, **rest)
        systems, score = job.scores(), partial(inputs.score_at, job)
    gates = [gate(scores, rules, measures=measures, score=score, **more) for scores in systems]
    kind = kind or options.format_for(output, options.FORMATS)
    judged = stamp(systems)
    if kind == "json":
        options.emit(_json(gates, systems, judged), output)
    else:
        options.emit(write(report.gates(gates, strict=strict), kind, lang, stamp=judged), output)  # type: ignore[arg-type]
    if junit:
        from assay.report.junit import junit as as_xml

        options.emit(as_xml(gates, strict=strict), junit)
    if not all(one.passes(strict=strict) for one in gates):
        sys.exit(1)


def _asked(rest: dict[str, Any]) -> tuple[list[Rule | str], dict[str, Any]]:
    """Take the options about rules out of all others: the rules, and more about them."""
    from assay.analysis.gate_rules import Threshold, baselines_in

    typed = {"margin": bool(options.given("margin")), "min_coverage": bool(options.given("min_coverage"))}
    own = {name: rest.pop(name) for name in ("sure", "alpha", "min_coverage")}
    under, over, file = rest.pop("fail_under"), rest.pop("fail_over"), rest.pop("rules_file")
    rules: list[Rule | str] = [Threshold(name, at_least=v, **own) for name, v in _pairs(under, "--fail-under")]
    rules += [Threshold(name, at_most=v, **own) for name, v in _pairs(over, "--fail-over")]
    if file:
        places.check(*baselines_in(file))
        rules.append(file)
    more = {**own, "targets": rest.pop("targets"), "margin": rest.pop("margin"), "not_worse_than": rest.pop("baseline")}
    untold = [name for name, given in typed.items() if not given]
    return rules, {**more, **dict.fromkeys(untold)}


def _pairs(texts: tuple[str, ...], option: str) -> list[tuple[str, float]]:
    """Read MEASURE=VALUE texts; one measure may have several."""
    return [pair for text in texts for pair in options.numbers([text], option).items()]


def _json(gates: list[Gate], systems: list[Scores], judged: str) -> str:
    from assay.formats.results import to_json
    from assay.results.result import make_result

    warnings = dict.fromkeys([*([judged] if judged else []), *(text for one in gates for text in one.warnings)])
    return to_json(make_result(gates, systems=systems, command=inputs.command_line(), warnings=list(warnings)))
