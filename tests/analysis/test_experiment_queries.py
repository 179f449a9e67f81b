"""Query text as an axis of experiments, descriptions of combinations, and published figures beside measured ones."""

from __future__ import annotations

import json

import pytest

import assay
from assay.pipeline.experiment import load_experiment
from commands import run_assay
from experiments import QUERIES, names, write

REWRITES = """
import pathlib
def twice(text):
    with pathlib.Path("calls.txt").open("a") as file:
        file.write(text + "\\n")
    return text + " " + text
def nothing(text):
    return "?!"
def number(text):
    return 7
"""
PROFILES = {"q1": "green tea from Japan", "q2": "boiling", "q3": "station", "q4": "between green and black"}


@pytest.fixture
def home(place, monkeypatch):
    (place / "rewrites.py").write_text(REWRITES, encoding="utf-8")
    (place / "profile.tsv").write_text(
        "query_id\ttext\n" + "".join(f"{q}\t{PROFILES[q]} {text}\n" for q, text in QUERIES.items()), encoding="utf-8"
    )
    lines = (json.dumps({"query_id": q, "text": t, "profile": PROFILES[q]}) + "\n" for q, t in QUERIES.items())
    (place / "queries.jsonl").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(place)
    return place


AXIS = """#data
[[query]]
method = "none"
[[query]]
name = "profile"
method = "file"
file = "profile.tsv"
[[query]]
name = "twice"
method = "rewrites:twice"
[retrieve]
method = "bm25"
[generate]
method = "extractive"
"""


def lists(outcome):
    return [[outcome.chunks[n].doc_id for n in hits.chunks] for hits in outcome.hits]


def test_the_text_of_queries_is_an_axis_that_crosses_the_others(home):
    path = write(home, AXIS.replace('method = "bm25"', 'method = ["bm25", "hybrid"]\nembedder = "own_stages:vectors"'))
    assert names(path) == [f"{text} + {way}" for text in ("as given", "profile", "twice") for way in ("bm25", "hybrid")]
    (one, *_) = load_experiment(path, only=["profile + hybrid"]).combinations
    assert one.axes == {"query": "profile", "retrieve": "hybrid"}


def test_every_way_of_asking_gives_the_lists_of_its_own_text(home):
    found = assay.run_experiment(write(home, AXIS))
    written = {"as given": QUERIES, "profile": {q: f"{PROFILES[q]} {t}" for q, t in QUERIES.items()},
               "twice": {q: f"{t} {t}" for q, t in QUERIES.items()}}  # fmt: skip
    for outcome in found.outcomes:
        asked = written[outcome.combination.name]
        assert {query.id: query.text for query in outcome.queries} == asked
        lines = (json.dumps({"query_id": q, "text": t}) + "\n" for q, t in asked.items())
        (home / "queries.jsonl").write_text("".join(lines), encoding="utf-8")
        (alone,) = assay.run_experiment(write(home, "#data\n"), cache=home / "other").outcomes
        assert lists(outcome) == lists(alone)
        assert [sample.question for sample in outcome.samples] == list(QUERIES.values()), "answers meet the question"
    stages = {row.name: [stage.stage for stage in row.stages] for row in found.findings.combinations}
    assert stages["as given"] == stages["profile"] == ["retrieve", "generate"]
    assert stages["twice"] == ["query", "retrieve", "generate"]


def test_rewriting_is_kept_by_content(home):
    path = write(home, AXIS)
    first = assay.run_experiment(path)
    assert first.done["query"] == 1
    calls = (home / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert calls[1:] == list(QUERIES.values()), "the first call is made twice, as it may load things"
    assert assay.run_experiment(path).done == {}
    assert (home / "calls.txt").read_text(encoding="utf-8").splitlines() == calls
    (home / "profile.tsv").write_text(
        "query_id\ttext\n" + "".join(f"{q}\tother {text}\n" for q, text in QUERIES.items()), encoding="utf-8"
    )
    again = assay.run_experiment(path)
    assert set(again.done) == {"search", "generate"} or set(again.done) == {"search"}


def test_a_template_is_filled_from_the_columns_of_the_queries(home):
    path = write(home, '#data\n[[query]]\nname = "both"\nmethod = "template"\ntext = "$profile $text"\n')
    (outcome,) = assay.run_experiment(path).outcomes
    assert [query.text for query in outcome.queries] == [f"{PROFILES[q]} {text}" for q, text in QUERIES.items()]


BAD = [
    ('method = "file"\nfile = "none.tsv"', r"e\.toml: query: .*none\.tsv: no such file"),
    ('method = "file"\nfile = "few.tsv"', r"e\.toml: query: .*few\.tsv: query 'q2' and 2 others have no text in it"),
    ('method = "file"\nfile = "more.tsv"', r"e\.toml: query: .*more\.tsv: query 'q9' is not among the queries of the experiment"),
    ('method = "file"\nfile = "blank.tsv"', r"e\.toml: query: query 'q1' has no words: '\?!'"),
    ('method = "template"\ntext = "$profil $text"', r"e\.toml: query: unknown column 'profil'; did you mean profile"),
    ('method = "template"\ntext = "$"', r"e\.toml: query: .*template"),
    ('method = "nowhere:f"', r"e\.toml: query: nowhere:f cannot be imported"),
    ('method = "files"', r"e\.toml: query\.method: unknown method of query 'files'; did you mean file"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "told"), BAD, ids=range(len(BAD)))
def test_a_way_of_asking_that_cannot_work_is_refused_before_anything_runs(home, table, told):
    head = "query_id\ttext\n"
    (home / "few.tsv").write_text(head + "q1\thot\n", encoding="utf-8")
    rows = "".join(f"{q}\t{text}\n" for q, text in QUERIES.items())
    (home / "more.tsv").write_text(head + rows + "q9\tmore\n", encoding="utf-8")
    (home / "blank.tsv").write_text(head + rows.replace(QUERIES["q1"], "?!"), encoding="utf-8")
    with pytest.raises(assay.InputError, match=told):
        assay.run_experiment(write(home, f"#data\n[query]\n{table}\n"))
    assert not (home / ".assay-cache").exists()


@pytest.mark.parametrize(("name", "told"), [("nothing", "has no words"), ("number", "returned '7', expected a text")])
def test_a_function_that_gives_no_query_is_a_row_with_its_reason(home, name, told):
    path = write(home, f'#data\n[[query]]\nmethod = "none"\n[[query]]\nmethod = "rewrites:{name}"\n')
    rows = assay.run_experiment(path).findings.combinations
    assert [row.done for row in rows] == [True, False]
    assert told in rows[1].reason
    assert "q1" in rows[1].reason


LABELLED = (
    AXIS
    + """[evaluate]
protocol = "graded-012"
[labels]
"as given" = "query only"
profile = "the full system"
twice = "said twice"
[reference]
source = "a paper, 3,440 queries"
[reference.figures]
"profile + query" = {"ndcg@10" = 0.9070, "map@10" = 0.5435, gain = "+0.3 %"}
"query only" = {"ndcg@10" = 0.8272, "p@1" = 0.8154}
"""
)


def test_variants_are_described_and_published_figures_stand_apart_from_measured_ones(home):
    write(home, 'baseline = "profile"\n' + LABELLED)
    done = run_assay("run", "e.toml", "--brief", "--report", "r.html", "-o", "out", cwd=home)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["system", "description"]
    assert [line[: line.index("0.")].split("  ")[0].strip() for line in lines[2:5]] == ["as given", "profile", "twice"]
    assert "the full system" in lines[3]
    measured, _, published = done.stdout.partition("Published figures, not measured here: a paper, 3,440 queries\n")
    assert "0.9070" not in measured
    body = [line.split() for line in published.splitlines()[2:4]]
    assert body == [["profile", "+", "query", "0.9070", "0.5435", "+0.3", "%"], ["query", "only", "0.8272", "0.8154"]]
    result = json.loads((home / "out" / "result.json").read_text(encoding="utf-8"))
    assert [row["description"] for row in result["experiment"]["combinations"]] == ["query only", "the full system", "said twice"]  # fmt: skip
    assert result["experiment"]["reference"]["figures"]["query only"] == {"ndcg@10": 0.8272, "p@1": 0.8154}
    assert not any("0.907" in json.dumps(system) for system in result["systems"])
    page = (home / "r.html").read_text(encoding="utf-8")
    assert "Published figures, not measured here: a paper, 3,440 queries" in page
    assert "the full system" in page
    asked = (home / "out" / "queries" / "twice.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(asked[0]) == {"query_id": "q1", "text": f"{QUERIES['q1']} {QUERIES['q1']}"}
    chinese = run_assay("run", "e.toml", "--brief", "--lang", "zh", cwd=home).stdout
    assert "已发表的数值，并非此处测得" in chinese


@pytest.mark.parametrize(("lines", "told"), [
    ('[labels]\nbm52 = "x"\n', r"e\.toml: labels: unknown combination 'bm52'; did you mean bm25"),
    ("[labels]\nbm25 = 3\n", r"e\.toml: labels\.bm25: '3' is not a text"),
    ("[reference]\nsource = 3\n", r"e\.toml: reference\.source: '3' is not a text"),
    ("[reference]\nfigures = 3\n", r"e\.toml: reference\.figures: expected a table"),
    ("[reference]\nfigures = {x = [1]}\n", r"e\.toml: reference\.figures\.x: expected a table"),
    ("[reference]\nfigures = {x = {y = [1]}}\n", r"e\.toml: reference\.figures\.x\.y: expected a number or a text"),
    ("[reference]\nfigure = 3\n", r"e\.toml: reference: unknown key 'figure'; did you mean figures"),
])  # fmt: skip
def test_descriptions_and_published_figures_are_checked(home, lines, told):
    with pytest.raises(assay.InputError, match=told):
        load_experiment(write(home, f"#data\n{lines}"))
