"""`assay gate`: an exit code for continuous integration."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from assay.cli import inputs, options, places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.analysis.gate import Rule
    from assay.data.scores import Scores
    from assay.measures import Measure
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
    from assay.measures import split_measures
    from assay.report.document import write
    from assay.report.views import gate as report
    from assay.report.views.scores import stamp

    names = ("fail_under", "fail_over", "sure", "baseline", "margin", "alpha", "targets", "rules_file", "min_coverage")
    asked = {name: rest.pop(name) for name in names}
    places.check(*_named_in(asked["rules_file"]))
    if inputs.is_result(options.named(judgments)[1]):
        systems, score = inputs.results((judgments, *runs)), None
    else:
        wanted = _measures(split_measures(measures), asked, rest["protocol"])
        job = inputs.prepare(judgments, runs, wanted, None, brief=True, **rest)
        systems, score = job.scores(), partial(inputs.score_at, job)
    gates = [gate(scores, _rules(scores, split_measures(measures), asked, score)) for scores in systems]
    kind = kind or options.format_for(output, options.FORMATS)
    judged = stamp(systems)
    if kind == "json":
        options.emit(_json(gates, systems, judged), output)
    else:
        options.emit(write(report.gates(gates, strict=strict), kind, lang, stamp=judged), output)  # type: ignore[arg-type]
    if junit:
        from assay.report.junit import junit as as_xml

        options.emit(as_xml(gates, strict=strict), junit)
    outcomes = {one.outcome for one in gates}
    if "failed" in outcomes or ("inconclusive" in outcomes and strict):
        sys.exit(1)


def _measures(measures: Sequence[str | Measure], asked: dict[str, Any], protocol: str) -> list[str | Measure] | None:
    """What to compute: every measure that a rule names, and the protocol's own for its targets."""
    from assay.analysis.protocols import load_protocol
    from assay.formats.files import read_toml

    thresholds = [*_pairs(asked["fail_under"], "--fail-under"), *_pairs(asked["fail_over"], "--fail-over")]
    rules = read_toml(asked["rules_file"]).get("rule", []) if asked["rules_file"] else []
    named = [entry["measure"] for entry in rules if isinstance(entry, dict) and isinstance(entry.get("measure"), str)]
    own = list(load_protocol(protocol).measures) if asked["targets"] else []
    found = {_text(name): name for name in [*own, *measures, *(name for name, _ in thresholds), *named]}
    return list(found.values()) or None


def _text(measure: str | Measure) -> str:
    """One text for all names of a measure, so that it is not computed twice."""
    from assay.errors import UsageError
    from assay.measures import parse

    try:
        return parse(measure).text
    except UsageError:
        return str(measure)


def _pairs(texts: tuple[str, ...], option: str) -> list[tuple[str, float]]:
    """Read MEASURE=VALUE texts; one measure may have several."""
    return [pair for text in texts for pair in options.numbers([text], option).items()]


def _rules(scores: Scores, measures: Sequence[str | Measure], asked: dict[str, Any], score: Any) -> list[Rule]:
    """Put the rules of the command line and of a file together."""
    from assay.analysis.comparable import labels_of
    from assay.analysis.diagnose import chosen
    from assay.analysis.gate import NotWorse, Threshold, target_rules
    from assay.errors import UsageError

    more: dict[str, Any] = {name: asked[name] for name in ("sure", "alpha", "min_coverage")}
    rules: list[Rule] = [
        Threshold(name, at_least=value, **more) for name, value in _pairs(asked["fail_under"], "--fail-under")
    ]
    rules += [Threshold(name, at_most=value, **more) for name, value in _pairs(asked["fail_over"], "--fail-over")]
    if asked["targets"]:
        found = target_rules(scores.protocol.targets, scores, **more)
        if not found:
            raise UsageError(f"protocol {scores.protocol.name} has no targets that {scores.name} has values for")
        rules += found
    if asked["baseline"]:
        base = _baseline(asked["baseline"], scores, score)
        named = [label for measure in measures for label in labels_of(scores, measure)] or [chosen(scores, None)]
        rules += [NotWorse(one, base, asked["margin"], asked["alpha"], asked["min_coverage"]) for one in named]
    return rules + _from_file(asked["rules_file"], scores, score, alone=not rules)


def _named_in(rules_file: str | None) -> list[str]:
    """Baselines that a file of rules names, which are read from its folder."""
    from pathlib import Path

    from assay.formats.files import read_toml

    rules = read_toml(rules_file).get("rule") if rules_file else None
    entries = rules if isinstance(rules, list) else []
    names = [entry.get("not_worse_than") for entry in entries if isinstance(entry, dict)]
    return [str(Path(rules_file or "").parent / name) for name in names if isinstance(name, str)]


def _from_file(place: str | None, scores: Scores, score: Any, *, alone: bool) -> list[Rule]:
    if place is None:
        return []
    from pathlib import Path

    from assay.analysis.gate import read_rules
    from assay.errors import UsageError
    from assay.formats.files import read_toml

    lost = [*options.given(*([] if options.given("baseline") else ["margin"]), *(["min_coverage"] if alone else []))]
    if lost:
        raise UsageError(f"{lost[0]} does not change the rules of {place}: set it there")
    folder = Path(place).parent
    return read_rules(read_toml(place), place, lambda name: _baseline(str(folder / name), scores, score))


def _baseline(place: str, scores: Scores, score: Any) -> Scores:
    """Read the baseline: a result file with one system (or one of the same name), or a run."""
    from assay.errors import UsageError

    if not inputs.is_result(place):
        if score is None:
            raise UsageError(f"{place} is not a result file: with a result, the baseline must be one too")
        found: Scores = score(place)
        return found
    systems = inputs.results((place,), check=False)
    if len(systems) == 1:
        return systems[0]
    same = [one for one in systems if one.name == scores.name]
    if not same:
        raise UsageError(f"{place} holds {', '.join(one.name for one in systems)}, none called {scores.name}")
    return same[0]


def _json(gates: list[Gate], systems: list[Scores], judged: str) -> str:
    from assay.formats.results import to_json
    from assay.results.result import make_result

    warnings = dict.fromkeys([*([judged] if judged else []), *(text for one in gates for text in one.warnings)])
    return to_json(make_result(gates, systems=systems, command=inputs.command_line(), warnings=list(warnings)))
