"""`assay compare`: which system is better, by how much, and is it real."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from assay.cli import inputs, language, options
from assay.cli.commands import command as make_command
from assay.cli.options import Output, RuleOptions
from assay.cli.parameters import NUMBER, SHARE, WHOLE, WordChoice, add_argument, add_option, option, takes
from assay.errors import UsageError
from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assay.cli.inputs import Inputs
    from assay.data.scores import Scores
    from assay.results.comparison import Comparison
    from assay.results.comparison import Rules as TestRules
    from assay.results.result import Result
    from assay.results.slices import SliceComparison

_EXAMPLES = (
    "assay compare qrels.txt bm25.run dense.run hybrid.run -m ndcg@10,recall@100 --baseline bm25",
    "assay compare qrels.txt retrieved.run reranked.run --protocol rerank",
    "assay compare qrels.txt *.run --all-pairs --brief --format latex",
    "assay compare before.json after.json --smallest-effect 0.02 -o comparison.json",
    "assay compare qrels.txt full.run no_memory.run --labels variants.csv --report report.html",
    "assay compare qrels.txt bm25.run dense.run -m ndcg@10 --by lang --queries queries.jsonl",
    "assay compare --plan 0.02 comparison.json",
    "assay compare --n 300 --deviation 0.2",
)


@dataclass(frozen=True)
class Testing:
    """How differences are tested."""

    smallest_effect: float = option("--smallest-effect", default=0.01, show_default=True, type=NUMBER, section="tests")
    alpha: float = option("--alpha", default=0.05, show_default=True, type=SHARE, section="tests")
    correction: str = option(
        "--correction", default="holm", show_default=True, metavar="NAME",
        type=WordChoice(["holm", "bonferroni", "benjamini-hochberg", "none"]), section="tests",
    )  # fmt: skip
    family: str = option(
        "--family", default="systems", show_default=True, type=WordChoice(["systems", "all"]), section="tests"
    )
    interval: str = option(
        "--interval", default="auto", show_default=True, type=WordChoice(["auto", "t", "bca"]), section="tests"
    )
    resamples: int = option("--resamples", default=10_000, show_default=True, type=WHOLE, section="tests")
    seed: int = option("--seed", default=0, show_default=True, type=WHOLE, section="tests")
    worth: float = option("--worth", default=0.15, show_default=True, type=NUMBER, section="tests")

    def rules(self) -> TestRules:
        """The same as the comparison takes them."""
        from assay.results.comparison import Rules as TestRules

        return TestRules(
            n_resamples=self.resamples,
            **{one.name: getattr(self, one.name) for one in fields(self) if one.name != "resamples"},
        )


@dataclass(frozen=True)
class Planning:
    """What is planned: queries for a difference, or the difference that queries show."""

    plan: float | None = option("--plan", type=NUMBER, metavar="DIFFERENCE", section="plan")
    n: int | None = option("--n", type=WHOLE, metavar="QUERIES", section="plan")
    deviation: float | None = option("--deviation", type=NUMBER, section="plan")
    tests: int | None = option("--tests", type=WHOLE, metavar="NUMBER", section="plan")

    @property
    def has_plan(self) -> bool:
        """Return whether a plan is asked for."""
        return self.plan is not None or self.n is not None


@make_command("compare", _EXAMPLES)
@add_argument("first", metavar="JUDGMENTS|RESULT", required=False)
@add_argument("others", nargs=-1, metavar="[NAME=]RUN|RESULT...")
@options.measures
@add_option("--baseline", metavar="NAME")
@add_option("--all-pairs", is_flag=True)
@add_option("--labels", metavar="FILE")
@add_option("--by", metavar="ATTRIBUTE")
@add_option("--queries", metavar="FILE", only="by")
@add_option("--brief", is_flag=True)
@options.encoding
@takes(tests=Testing, planned=Planning, rules=RuleOptions)
@options.weights
@takes(out=Output)
def command(
    *, first: str | None, others: tuple[str, ...], measures: tuple[str, ...], baseline: str | None, all_pairs: bool,
    labels: str | None, by: str | None, queries: str | None, brief: bool, weights: str | None, tests: Testing,
    planned: Planning, rules: RuleOptions, out: Output,
) -> None:  # fmt: skip
    """Compare and print, or print a plan."""
    from assay.analysis.compare import compare

    systems, job = _systems(first, others, measures, rules, weights)
    if planned.has_plan:
        options.refuse("report", "all_pairs", "labels", "by", "brief", because="cli.no_effect_with_plan")
        _print_plan(planned, systems, list(measures) or None, baseline=baseline, rules=tests.rules(), out=out)
        return
    options.refuse("deviation", "tests", because="cli.only_with_plan")
    if systems is None:
        raise UsageError(say("cli.nothing_to_compare"))
    found = compare(
        systems, list(measures) or None, baseline=baseline, rules=tests.rules(), all_pairs=all_pairs,
        descriptions=labels, runs=None if job is None or brief else job.runs(),
        chunks=None if job is None else job.chunks, dedupe=job is not None and job.dedupe,
    )  # fmt: skip
    sliced = (
        None
        if by is None
        else _slices(systems, list(measures) or None, by, queries, baseline=baseline, rules=tests.rules())
    )
    told = [] if baseline is not None or all_pairs else [say("cli.first_is_baseline", name=found.baseline)]
    _print(found, sliced, systems, out, brief=brief, notes=told)
    if out.report is not None:
        _report(job, _result(systems, found, sliced), out.report)


def _slices(
    systems: list[Scores], measures: list[str] | None, by: str, queries: str | None, *, baseline: str | None,
    rules: TestRules,
) -> SliceComparison:  # fmt: skip
    from assay.analysis.compare_slices import compare_slices

    if queries is None:
        raise UsageError(say("cli.by_needs_queries", attribute=by))
    return compare_slices(systems, by, queries, measures, baseline=baseline, rules=rules)


def _systems(
    first: str | None, others: tuple[str, ...], measures: tuple[str, ...], rules: RuleOptions, weights: str | None
) -> tuple[list[Scores] | None, Inputs | None]:
    """Read systems of result files, or judgments and runs to be evaluated; nothing where nothing is given."""
    if first is None:
        return None, None
    if inputs.is_result(options.split_name(first)[1]):
        return inputs.results((first, *others)), None
    job = inputs.prepare(first, others, list(measures) or None, rules, weights=weights, brief=True)
    return job.scores(), job


def _print_plan(
    planned: Planning, systems: list[Scores] | None, measures: list[str] | None, *, baseline: str | None,
    rules: TestRules, out: Output,
) -> None:  # fmt: skip
    from assay.analysis.plan_comparison import plan_comparison
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import comparison_plan
    from assay.results.result import make_result

    found = plan_comparison(
        planned.plan, systems, measures, n=planned.n, deviation=planned.deviation, tests=planned.tests,
        baseline=baseline, rules=rules,
    )  # fmt: skip
    result = make_result(found, command=inputs.command_line())
    lang = language.current()
    out.emit(lambda kind: to_json(result) if kind == "json" else write(comparison_plan.table(found), kind, lang))


def _print(
    found: Comparison, sliced: SliceComparison | None, systems: list[Scores], out: Output, *, brief: bool,
    notes: Sequence[str],
) -> None:  # fmt: skip
    from assay.formats.results import to_json
    from assay.report.document import write
    from assay.report.views import comparison as shown
    from assay.report.views import slices
    from assay.report.views.scores import stamp

    lang, judged = language.current(), stamp(systems)
    document = [
        *shown.table(found, brief=brief, notes=[*_notes(systems), *notes]),
        *([] if sliced is None else slices.table(sliced)),
        *inputs.show_estimates(systems, "table"),
    ]

    def as_text(kind: str) -> str:
        if kind == "json":
            return to_json(_result(systems, found, sliced))
        if kind == "csv":
            exact = shown.pair_rows if found.pairs else shown.rows
            return write([exact(found) if sliced is None else slices.rows(sliced)], "csv", lang, stamp=judged)
        if brief and kind in {"latex", "markdown"}:  # a table for a paper or a page; the rest is for the author
            return write(document[:1], kind, lang, stamp=judged, note=shown.heading(found, found.protocol))
        return write(document, kind, lang)

    out.emit(as_text)
    if brief and {out.file_format, out.format_to_print} & {"latex", "markdown"} and out.format_to_print != "table":
        options.note(write(document[1:], "table", lang).splitlines())


def _notes(systems: list[Scores]) -> list[str]:
    from assay.report.views import scores as evaluation

    return evaluation.sentences(systems)[1:]


def _report(job: Inputs | None, result: Result, place: str) -> None:
    """Write the report; without a job, the systems came from result files and their lists are not available."""
    from assay.cli.reporting import write_fresh

    if job is not None:
        job.report(result, place)
    else:
        write_fresh(result, place)


def _result(systems: list[Scores], found: Comparison, sliced: SliceComparison | None) -> Result:
    from assay.results.result import make_result

    warnings, parts = [*found.warnings, *_notes(systems)], [found, *inputs.estimates(systems)]
    parts += [] if sliced is None else [sliced]
    return make_result(parts, systems=systems, command=inputs.command_line(), warnings=warnings, seed=found.rules.seed)
