"""A number is the same wherever it stands: in the file, the terminal, Markdown, the report and the workbench."""

from __future__ import annotations

import html as entities
import json
import re
from collections import Counter
from functools import cache

import pytest

import assay
from assay.analysis.evidence import load
from assay.analysis.report_data import report_data
from assay.report import charts
from assay.report.blocks import Chart, Fold, Section
from assay.report.document import write
from assay.report.renderers.tips import tips
from assay.report.show import blocks_of
from assay.report.views.result import pages
from parts import SAMPLES_OF_PARTS, scores
from workbench_desk import Person, key_of, run_workbench

# Parts of results, and results of commands that have none.
KINDS = {**SAMPLES_OF_PARTS, "scores": scores}
FLOORS = re.compile(r"< 0\.0001")  # a p-value below what four decimals show
TIMES = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?|\b\d\d:\d\d\b")
NUMBER = re.compile(r"(?<![\w.])[-+~]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(%| \N{MICRO SIGN}s)?(?![\w])")
# What is counted together, in another unit, or known without the file; every other number that is shown is in the file.
BESIDE = {
    "answers page": {"0.75": "the edge of a bar of a histogram"},
    "comparison": {"0.025": "alpha by the number of tests"},
    "comparison table": {"0.3066": "how a query changed: after minus before"},
    "comparison_plan": {"0.025": "alpha by the number of tests"},
    "experiment": {"0.0205": "an index in MB", "1.05": "memory in MB", "1,000": "queries that a price is for"},
    "judging": {"980": "tokens of prompts and of replies"},
    "proposal": {"3": "the number of a step"},
    "questions_plan": {"00000000": "the mark of a prompt"},
    "reranker": {"0.025": "as of comparisons", "0.005208": "the price of a query: of all, by their number"},
    "reranker table": {"0.3066": "as of comparisons"},
    "sampled_scores": {"100": "judged documents per query, below which a warning is given"},
    "set_split": {"10": "queries of both parts"},
    "validation": {"0.63": "of the method, wherever it was used", "0.69": "the same", "0.96": "the same", "0.97": "the same"},
    "watch": {"6": "rows set aside in all windows", "90": "of 100", "100": "cases", "365": "days of a false alarm",
              "98%": "the level of its intervals", "99.1%": "of one side of them"},
}  # fmt: skip
# Main numbers of a record that are not shown, with the reason.
SILENT = {
    "ab_test": {"pvalue": "guardrails are decided by one side of their interval"},
    "bench": {"seconds": "as the command was given"},
    "gates": {"needed": "told as about 7,100: two digits are all that is known"},
    "interleaved_lists": {"propensity": "for the log, not for readers"},
    "questions_plan": {"cached": "of each step; the sum is told"},
    "watch": {"low": "only the last window and alerts are shown with intervals", "high": "the same"},
}


def file_of(name: str) -> str:
    """The result file of a kind; set.json is what the manifest of a set is called."""
    return "tea-set.json" if name == "set" else f"{name}.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a result file of every kind."""
    place = tmp_path_factory.mktemp("kinds")
    for name, make in KINDS.items():
        assay.write_result(make(), place / file_of(name))
    return place


@pytest.fixture(scope="module")
def without_pictures():
    """Pictures take most of the time of a page, and none of what is compared here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "svg", lambda *_, **__: "<svg></svg>")
        yield


@pytest.fixture(scope="module")
def reader(folder, without_pictures):
    """Somebody who looks at the folder in the workbench."""
    with run_workbench(folder) as server, Person(server.origin, server.address) as person:
        yield person


@pytest.fixture(scope="module")
def reports(folder, without_pictures):
    """The report of each file, made when it is asked for, as the sections of its page."""
    return cache(lambda name: sections(assay.write_report(folder / file_of(name))))


@pytest.fixture(scope="module")
def workbench(reader):
    """The pages of each result in the workbench."""

    def ask(name: str) -> dict[str, str]:
        address = f"/result/{key_of(file_of(name))}"
        first = reader.get(address).text
        keys = re.findall(rf'href="{address}\?page=([a-z_]+)"', first.partition('<div class="report">')[0])
        rest = [sections(reader.get(address, page=key).text) for key in keys[1:]]
        return {key: text for one in (sections(first), *rest) for key, text in one.items()}

    return cache(ask)


def sections(page: str) -> dict[str, str]:
    """The text of each page of a report, without pictures and data."""
    bare = re.sub(r"<(script|style|svg|noscript)\b.*?</\1>", " ", page, flags=re.DOTALL)
    found = re.findall(r'<section id="([a-z_]+)" aria-labelledby.*?>(.*?)</section>', bare, re.DOTALL)
    return {key: text_of(body) for key, body in found if key != "query"}


def text_of(markup: str) -> str:
    return entities.unescape(re.sub(r"<[^>]*>", " ", markup)).replace("\N{NO-BREAK SPACE}", " ")


def numbers(text: str) -> Counter[str]:
    """Every number in a text with its unit; dates and the bounds of tiny p-values are none."""
    return Counter(match[1] + (match[2] or "") for match in NUMBER.finditer(TIMES.sub(" ", FLOORS.sub(" ", text))))


def values(plain: object) -> set[float]:
    """Every number of a file: as it is, in a text, and how many things a list holds."""
    if isinstance(plain, (bool, type(None))):
        return set()
    if isinstance(plain, (int, float)):
        return {abs(float(plain))}
    if isinstance(plain, str):
        return {float(match[1].replace(",", "")) for match in NUMBER.finditer(plain)}
    inner = [*plain, *plain.values()] if isinstance(plain, dict) else plain
    return {float(len(plain))}.union(*map(values, inner))


def is_rounded(shown: str, value: float) -> bool:
    """The one rule: as many decimals as are shown, of the value, of a hundred times it, or of microseconds."""
    factor = 100 if shown.endswith("%") else 1000 if shown.endswith("s") else 1
    digits = shown.rstrip("%s \N{MICRO SIGN}").replace(",", "")
    return f"{factor * abs(value):.{len(digits.partition('.')[2])}f}" == digits


def unfounded(text: str, known: set[float]) -> set[str]:
    return {shown for shown in numbers(text) if not any(is_rounded(shown, value) for value in known)}


def main_numbers(made) -> list[tuple[str, float]]:
    """The numbers that a record itself calls its main ones; 0 and 1 would be found in any text."""
    if isinstance(made, list):
        return [(label, one[label]) for one in made for label in one.counts]
    return [
        (key, value)
        for row in made.to_rows()
        for key, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value not in {0, 1}
    ]  # fmt: skip


def lacking(made, text: str) -> set[str]:
    shown = numbers(text)
    return {key for key, value in main_numbers(made) if not any(is_rounded(one, value) for one in shown)}


@pytest.mark.parametrize("level", ["table", "page"])
@pytest.mark.parametrize("name", KINDS)
def test_every_number_that_is_shown_is_rounded_from_one_in_the_file(folder, name, level):
    if name == "scores" and level == "page":
        pytest.skip("what pages of scores show besides means is worked out when they are shown: see below")
    place = folder / file_of(name)
    known = values(json.loads(place.read_text(encoding="utf-8")))
    shown = write(blocks_of(load(place).result, level), "table")
    beside = BESIDE.get(name, {}) | BESIDE.get(f"{name} {level}", {})
    assert unfounded(shown, known) == set(beside)


@pytest.mark.parametrize("name", KINDS)
def test_main_numbers_are_on_the_terminal_in_markdown_in_the_report_and_in_the_workbench(
    folder, reports, workbench, name
):
    blocks = blocks_of(load(folder / file_of(name)).result)
    shown = {
        "terminal": write(blocks, "table"),
        "markdown": write(blocks, "markdown").replace("**", " "),
        "report": " ".join(reports(name).values()),
        "workbench": " ".join(workbench(name).values()),
    }
    found = {place: lacking(KINDS[name](), text) for place, text in shown.items()}
    assert found == {place: set(SILENT.get(name, {})) for place in shown}


@pytest.mark.parametrize("name", KINDS)
def test_the_workbench_shows_each_page_of_a_report_with_the_same_numbers(reports, workbench, name):
    beside = {key: numbers(text) for key, text in workbench(name).items()}
    assert beside == {key: numbers(text) for key, text in reports(name).items()}
    assert sum(map(len, beside.values()))


# What is worked out when it is shown ----------------------------------------------------------------------------------


def test_a_report_of_scores_has_the_numbers_of_compare(reports, workbench):
    """The file of an evaluation holds no comparison: the report works it out, as the command does."""
    own = assay.compare(scores())
    for page in (reports("scores")["systems"], workbench("scores")["systems"]):
        assert lacking(own, page) == set()


def test_the_difference_of_two_systems_in_the_workbench_has_the_numbers_of_compare(reader):
    one = assay.compare([one for one in scores() if one.name != "broken"])
    (contrast,) = (found for found in one.contrasts if found.measure == "ndcg@5")
    page = reader.get("/compare", r=key_of("scores.json"), base="bm25", other="dense", m="ndcg@5").text
    shown = numbers(text_of(re.search(r'<section class="decision.*?</section>', page, re.DOTALL)[0]))
    of = contrast.difference
    for value in (of.estimate, of.low, of.high, contrast.pvalue, of.n, contrast.wins, contrast.losses):
        assert any(is_rounded(one, value) for one in shown), value


def test_the_history_has_the_mean_and_interval_of_the_best_system(reader):
    row = re.search(r"<tr>(?:(?!</tr>).)*>scores\.json<.*?</tr>", reader.get("/").text, re.DOTALL)[0]
    own = assay.compare(scores())
    mean = own.means["ndcg@5"][own.systems.index("dense")]
    assert "dense" in row
    for value in (mean.estimate, mean.low, mean.high):
        assert any(is_rounded(one, value) for one in numbers(text_of(row)))


@pytest.mark.parametrize("name", KINDS)
def test_charts_write_a_number_under_the_pointer_as_the_table_below_them_does(folder, name):
    """A number that the table lacks has as many decimals as those that it has; values of queries are in other tables."""
    place = folder / file_of(name)
    known = values(json.loads(place.read_text(encoding="utf-8")))
    drawn = [one for one in charts_in(pages(report_data([load(place).result]))) if one.kind not in {"bars", "scatter"}]
    for chart in drawn:
        told = " ".join(value for _, value, _ in tips(chart, "en")).replace(str(chart.x), "")
        shown = {one.strip("%") for one in numbers(write([chart.table], "table"))}
        for one in {found.strip("%") for found in numbers(told)} - shown:
            assert decimals(one) in set(map(decimals, shown)), (chart.name, one)
            assert name == "scores" or not unfounded(one, known), (chart.name, one)


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


def charts_in(blocks):
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, (Fold, Section)):
            yield from charts_in(block.blocks)
