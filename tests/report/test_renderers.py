"""One document, every format: golden files of each renderer, made from records with numbers set by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.messages import say
from assay.report.document import Heading, Lines, write
from assay.report.tables import Cell, Table
from assay.report.views import comparison as report
from assay.results.comparison import Change, Comparison, Contrast, Likeness, Pairs, Reordering, Rules
from assay.results.conclusion import describe_best
from assay.stats.intervals import Interval

GOLDEN = Path(__file__).parents[1] / "golden" / "report"
SUFFIX = {"table": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}


def interval(estimate: float, half: float) -> Interval:
    return Interval(estimate, estimate - half, estimate + half, 0.95, "t", 80)


def contrast(system: str, measure: str, difference: float, **changes: object) -> Contrast:
    values: dict[str, object] = {
        "difference": interval(difference, 0.03125), "relative": interval(difference * 2, 0.0625), "t_pvalue": 0.001,
        "pvalue": 0.0009, "exact": False, "adjusted": 0.0018, "effect_size": 0.41, "superiority": 0.7, "wins": 50,
        "ties": 20, "losses": 10, "detectable": 0.025, "effective_n": 80.0, "too_few": False, "reach": 1.0, "limit": None, "verdict": "better",
        "improves": True, "at_least_smallest": True, "pays": "open",
        "gained": (Change("q7", 0.25, 1.0),), "lost": (Change("q|9", 0.5, 0.125),),
    }  # fmt: skip
    return Contrast(system=system, measure=measure, **{**values, **changes})  # type: ignore[arg-type]


@pytest.fixture
def comparison() -> Comparison:
    return Comparison(
        baseline="bm25",
        systems=("bm25", "dense_v2", "重排"),
        measures=("ndcg@10", "recall@50"),
        queries=80,
        rules=Rules(),
        means={
            "ndcg@10": (interval(0.5, 0.05), interval(0.625, 0.05), interval(0.46875, 0.05)),
            "recall@50": (interval(0.75, 0.05), interval(0.75390625, 0.05), interval(0.75, 0.05)),
        },
        contrasts=(
            contrast("dense_v2", "ndcg@10", 0.125),
            contrast(
                "重排", "ndcg@10", -0.03125, verdict="worse", improves=False, at_least_smallest=False, pvalue=0.00001,
                adjusted=0.00002,
            ),
            contrast("dense_v2", "recall@50", 0.00390625, verdict="inconclusive", pvalue=0.4, adjusted=0.8, gained=(), lost=()),
            contrast("重排", "recall@50", 0.0, verdict="equivalent", pvalue=1.0, adjusted=1.0, gained=(), lost=()),
        ),
        conclusions=tuple(
            describe_best(name, dict(zip(("bm25", "dense_v2", "重排"), means, strict=True)), lower=False, baseline="bm25")
            for name, means in (("ndcg@10", (0.5, 0.625, 0.46875)), ("recall@50", (0.75, 0.75390625, 0.75)))
        ),
        warnings=(say("concern.each_measure", n=2),),
    )  # fmt: skip


@pytest.fixture
def document(comparison):
    lifts = (
        Reordering("重排", "ndcg@10", 0.5, 0.46875, interval(-0.0625, 0.0625), 0.875, 0.5357, -0.0833, pays="below"),
    )
    likeness = (Likeness("dense_v2", 0.4, 10, 0.35, 0.62), Likeness("重排", 0.9, 10, 0.8, 1.0))
    found = replace(comparison, lifts=lifts, likeness=likeness)
    return report.table(found, protocol="rerank", notes=["a note with 100 % & more"])


def check(name: str, text: str) -> None:
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", list(SUFFIX))
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_comparison_in_every_format_and_language(document, kind, lang):
    check(f"comparison.{lang}.{SUFFIX[kind]}", write(document, kind, lang))


def test_all_pairs_carry_letters(comparison):

    ones = ((1.0, 0.01, 0.5), (0.01, 1.0, 0.01), (0.5, 0.01, 1.0))
    pairs = (Pairs("ndcg@10", ones, ("b", "a", "b")), Pairs("recall@50", ((1.0,) * 3,) * 3, ("a", "a", "a")))
    text = write(report.table(replace(comparison, pairs=pairs), protocol="trec", brief=True), "table")
    check("pairs.txt", text)


def test_numbers_agree_across_formats(comparison):
    table = report.summary(comparison)
    for kind in ("table", "markdown", "latex", "csv"):
        text = write([table], kind)
        assert all(value in text for value in ("0.5000", "0.6250", "0.4688", "0.7539"))


def test_hostile_text_is_harmless_in_every_format():
    nasty = "=cmd|'/c'!A1 \x1b[31m\u202e$x_1^2 & 50% # {a} ~\\ | <b>"
    table = Table(("system", "value"), ((nasty, Cell("0.1", "a", strong=True)),), caption=nasty)
    text = write([Heading(nasty), Lines((nasty,)), table], "table")
    assert "\x1b" not in text and "\u202e" not in text
    latex = write([table], "latex")
    assert r"\$x\_1\textasciicircum{}2 \& 50\% \# \{a\}" in latex
    assert write([table], "csv").splitlines()[1].startswith("\"'=cmd") or write([table], "csv").splitlines()[
        1
    ].startswith("'=cmd")
    assert r"\|" in write([table], "markdown")


def test_an_empty_part_leaves_no_gap():
    assert write([Lines(()), Heading("a"), Lines(("b",))], "table") == "a\n=\n\nb\n"


def test_a_table_wider_than_the_terminal_goes_on_below_with_the_names_again():
    from assay.report.renderers.terminal import table
    from assay.report.tables import Table

    wide = Table(
        ("system", "ndcg", "recall", "P95"), (("one", "0.5000", "0.2500", "1.0"), ("二", "0.1", "0.2", "30.0"))
    )
    assert table(wide, 100) == table(wide)
    parts = table(wide, 22).rstrip("\n").split("\n\n")
    assert [part.splitlines()[0].split() for part in parts] == [["system", "ndcg", "recall"], ["system", "P95"]]
    assert parts[1].splitlines()[3].split() == ["二", "30.0"]
    assert all(len(line) <= 22 for line in table(wide, 22).splitlines())
    assert len(table(wide, 5).rstrip("\n").split("\n\n")) == 3, "one column at least is beside the names"
