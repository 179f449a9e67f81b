"""What the pages of the workbench do, seen by forms; tests/server/test_workbench_browser.py looks at them in a browser."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import httpx2
import pytest

import assay
from assay.analysis import workspace
from assay.analysis.demonstration import LIST, list_to_label
from assay.analysis.workspace import Workspace
from assay.demo import Bundle
from assay.formats.files import Input
from assay.formats.label_log import read_label_log
from assay.formats.results import load_result
from assay.formats.trec.reading import JUDGE_LINE
from payloads import payloads
from workbench_desk import Person, fields_of, key_of, make_folder, run_workbench

POOL, ALPHA, BETA = key_of("pool.jsonl"), key_of("alpha.jsonl"), key_of("beta.jsonl")
OLD, NEW = key_of("old-0.json"), key_of("new-1.json")
LABEL, RATE, PAIRS = f"/label/{POOL}", f"/rate/{ALPHA}", f"/pairs/{ALPHA}/{BETA}"
NUGGETS = f"/nuggets/{key_of('nuggets.jsonl')}"
READ = [
    "/", "/label", LABEL, f"{LABEL}/results", "/rate", RATE, f"{RATE}/results", "/pairs", PAIRS, f"{PAIRS}/results",
    f"/result/{OLD}", f"/compare?r={OLD}&r={NEW}", f"/compare/query?r={OLD}&r={NEW}&query=q1", f"/result/{OLD}/report.html",
    "/nuggets", NUGGETS, f"{NUGGETS}/results", f"{NUGGETS}/nuggets.jsonl",
]  # fmt: skip
WRITTEN = ["/name", "/language", LABEL, f"{LABEL}/undo", f"{LABEL}/save", RATE, f"{RATE}/undo", f"{RATE}/save", PAIRS, f"{PAIRS}/undo", f"{PAIRS}/save", NUGGETS, f"{NUGGETS}/undo", f"{NUGGETS}/save"]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "work")


@pytest.fixture
def server(folder):
    with run_workbench(folder) as running:
        yield running


@pytest.fixture
def ann(server):
    with Person(server.origin, server.address) as person:
        yield person


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    """A server whose folder no test of this module changes, but for labels."""
    folder = make_folder(tmp_path_factory.mktemp("steady") / "work")
    with run_workbench(folder) as running:
        yield running, folder


@pytest.fixture(scope="module")
def visitor(steady):
    server, folder = steady
    with Person(server.origin, server.address) as person:
        person.folder = folder
        yield person


def labels_of(folder):
    return [(one.by, one.item, one.value) for one in read_label_log(folder / "workbench" / "labels.jsonl").labels]


# What pages show --------------------------------------------------------------------------------------------------------


def test_the_history_shows_every_result_with_its_number_and_names_what_is_broken(visitor):
    text = visitor.get("/").text
    for name in ("old-0.json", "new-1.json"):
        assert name in text
        assert f"{scores_in(visitor.folder / name)['ndcg@10']:.4f}" in text
    assert "broken.json" in text
    assert "No result matches" in visitor.get("/", q="nothing like it").text


def scores_in(place):
    """The scores of the only system of a result."""
    (found,) = load_result(Input.at(place)).systems
    return found


def test_a_trend_follows_one_system_on_the_same_judgments(ann, folder):
    earlier = json.loads((folder / "old-0.json").read_text())
    (folder / "before.json").write_text(json.dumps({**earlier, "date": "2020-01-01T00:00:00Z"}))
    text = ann.get("/").text
    assert text.count("<polyline") == 1
    assert text.index("old-0.json") < text.index("before.json"), "the newest first"


@pytest.mark.parametrize("path", READ)
def test_every_page_is_there_in_both_languages_without_anything_inline(visitor, path):
    for lang, mark in (("zh", 'lang="zh-CN"'), ("en", 'lang="en"')):
        visitor.post("/language", lang=lang, next="/")
        found = visitor.get(path)
        assert found.status_code == 200
        if "attachment" in found.headers.get("content-disposition", ""):
            continue
        assert mark in found.text
        assert not re.search(r"<style|<script(?! src)|\sstyle=|\son[a-z]+=", found.text)
        assert "script-src 'self'; style-src 'self'" in found.headers["content-security-policy"]
        assert not re.search(r"(?<!/)\bworkbench\.[a-z]", found.text), "a text without its words"


def test_a_result_has_the_pages_of_its_report_at_addresses_of_their_own(visitor):
    first = visitor.get(f"/result/{OLD}").text
    listed = re.findall(rf'href="/result/{OLD}\?page=(\w+)"', first)
    assert {"summary", "systems", "queries", "origin"} <= set(listed)
    assert (
        f"{scores_in(visitor.folder / 'old-0.json')['ndcg@10']:.4f}"
        in visitor.get(f"/result/{OLD}", page="systems").text
    )
    for page in dict.fromkeys(listed):
        text = visitor.get(f"/result/{OLD}", page=page).text
        assert set(re.findall(r'href="(#[^"]*)"', text)) == {"#content"}, "no place that only the report has"
        assert not re.search(r"<style|<script(?! src)|\sstyle=|\son[a-z]+=", text)


def test_the_difference_counts_and_filters_queries(visitor):
    page = visitor.get("/compare", r=[OLD, NEW], m="ndcg@10").text
    old, new = (scores_in(visitor.folder / name) for name in ("old-0.json", "new-1.json"))
    changes = {q: new.column("ndcg@10")[i] - old.column("ndcg@10")[i] for i, q in enumerate(old.query_ids)}
    worse = sorted(q for q, change in changes.items() if change < 0)
    assert sum(change > 0 for change in changes.values()) + len(worse) == 3
    shown = visitor.get("/compare", r=[OLD, NEW], m="ndcg@10", sign="worse").text
    assert sorted(set(re.findall(r'class="id" href="[^"]*">(q\d)<', shown))) == worse
    assert len(re.findall(r'class="id" href="[^"]*">(q\d)<', page)) == 3
    swapped = visitor.get("/compare", r=[OLD, NEW], m="ndcg@10", base="new", other="old", sign="better").text
    assert sorted(set(re.findall(r'class="id" href="[^"]*">(q\d)<', swapped))) == worse


def test_a_query_is_shown_with_both_lists_grades_and_moves(visitor):
    page = visitor.get("/compare/query", r=[OLD, NEW], query="q1").text
    panes = re.findall(r'<ol class="results">(.*?)</ol>', page, re.DOTALL)
    run = assay.read_run(visitor.folder / "new.run")
    expected = (
        run.frame.filter(run.frame["query_id"] == "q1").sort(["score", "doc_id"], descending=True)["doc_id"].to_list()
    )
    assert re.findall(r'class="id">(d\d+)<', panes[1]) == expected
    judged = assay.read_judgments(visitor.folder / "judged.qrels").to_dict()["q1"]
    grades = re.findall(r'class="grade g\d">(\d)</span><span class="id">(d\d+)', panes[1])
    assert {doc: float(grade) for grade, doc in grades} == judged
    assert '<mark class="word">' in page


def test_results_that_are_forgotten_meanwhile_are_read_again(ann, monkeypatch):
    """As where others look at many files, or a result is written anew between two looks at it."""
    monkeypatch.setattr(workspace, "_KEPT", 0)
    page = ann.get("/compare/query", r=[OLD, NEW], query="q1")
    assert (page.status_code, "old" in page.text) == (200, True)


def test_unknown_files_and_queries_are_not_there(visitor):
    for path in (
        f"/label/{'0' * 16}",
        f"/result/{POOL}",
        f"/rate/{OLD}",
        f"/compare?r={POOL}",
        f"/compare/query?r={OLD}&r={NEW}&query=no",
    ):
        assert visitor.get(path).status_code == 404


def test_the_demo_has_something_on_every_page(demo_run, tmp_path):
    folder = tmp_path / "demo"
    shutil.copytree(demo_run.folder, folder, ignore=shutil.ignore_patterns(".assay-cache"))
    assert len(list_to_label(Bundle(folder / "tea"), folder).pairs) == 40
    with run_workbench(folder) as server, Person(server.origin, server.address) as person:
        assert person.get("/").text.count('href="/result/') >= 5
        text = person.get(f"/label/{key_of(LIST)}").text
        assert '<div class="document"' in text
        assert "The text is in no file" not in text
        assert all(person.get(path).text.count('class="said-by-user"') > 3 for path in ("/rate", "/pairs"))


# Labels -----------------------------------------------------------------------------------------------------------------


def test_grades_are_kept_and_exported_as_evaluate_reads_them(ann, folder):
    page = ann.get(LABEL)
    pressed = []
    for grade in ("3", "0", "cannot_tell", "2", "skipped", "1"):
        pressed.append(grade)
        page = ann.press(page, LABEL, value=grade, note="why <b>not</b>" if grade == "2" else "")
    ann.press(page, f"{LABEL}/undo")
    text = ann.get(f"{LABEL}/judgments.qrels").text
    assert text.splitlines() == ["q1 0 d0 3", "q1 0 d3 2", "q2 0 d1 0"]
    assert "why &lt;b&gt;not" in ann.get(f"{LABEL}/results").text
    saved = ann.post(f"{LABEL}/save")
    name = re.search(r"workbench/(\S+\.qrels)", saved.text)[1]
    assert (folder / "workbench" / name).read_text() == text
    assert assay.evaluate(folder / "workbench" / name, folder / "old.run", ["map"]).judged == 2


def test_who_only_looks_writes_nothing(ann, folder):
    ann.press(ann.get(LABEL), LABEL, value="3")
    before = sorted(folder.rglob("*"))
    assert ann.get(f"{LABEL}/judgments.qrels").text == "q1 0 d0 3\n"
    assert sorted(folder.rglob("*")) == before
    ann.press(ann.get(f"{LABEL}/results"), f"{LABEL}/save")
    assert [one.read_text() for one in (folder / "workbench").glob("*.qrels")] == ["q1 0 d0 3\n"]


def test_readers_of_one_name_in_two_modules_are_two(folder):
    space, made = Workspace(folder), []
    for number, module in enumerate(("one", "two")):

        def reader(place: str, number: int = number) -> int:
            return number

        reader.__module__, reader.__qualname__ = module, "_read_rows"
        made.append(space.read(space.files("samples")[0], reader))
    assert made == [0, 1]


def test_a_list_of_a_sample_is_exported_with_its_probabilities_only(ann, folder):
    rows = [json.loads(line) | {"inclusion": 0.5} for line in (folder / "pool.jsonl").read_text().splitlines()]
    (folder / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ann.press(ann.get(LABEL), LABEL, value="2")
    assert ann.get(f"{LABEL}/judgments.qrels").status_code == 400
    lines = ann.get(f"{LABEL}/list.jsonl").text.splitlines()
    assert json.loads(lines[0])["grade"] == 2
    assert {json.loads(line)["inclusion"] for line in lines} == {0.5}


def test_two_pages_of_one_person_do_not_overwrite_each_other(ann):
    first, second = ann.get(LABEL), ann.get(LABEL)
    assert fields_of(first.text, LABEL)["card"] == fields_of(second.text, LABEL)["card"]
    ann.press(first, LABEL, value="3")
    answer = ann.press(second, LABEL, value="0")
    assert "Another page with your name" in answer.text
    assert 'value="3" data-key="3" aria-pressed="true"' in answer.text
    ann.press(answer, LABEL, value="0")
    assert ann.get(f"{LABEL}/judgments.qrels").text == "q1 0 d0 0\n"


def test_a_form_that_is_sent_twice_counts_once(ann, folder):
    page = ann.get(LABEL)
    for _ in range(3):
        ann.press(page, LABEL, value="1")
    assert len(labels_of(folder)) == 1


def test_a_form_is_of_the_person_whom_it_was_shown_to(ann, folder):
    """Answers stand left or right by person: under another name, a press would be the opposite preference."""
    pages = {path: ann.get(path) for path in (LABEL, RATE, PAIRS)}
    for path, page in pages.items():
        assert (
            ann.press(page, path, value="supported" if path == RATE else "1" if path == LABEL else "left").status_code
            == 200
        )
    before = labels_of(folder)
    pages = {path: ann.get(path) for path in pages}
    ann.post("/name", name="Bo", next="/")  # in another tab
    for path, page in pages.items():
        answer = ann.press(page, path, value="supported" if path == RATE else "1" if path == LABEL else "right")
        assert (answer.status_code, "shown to somebody else" in answer.text) == (400, True)
        assert ann.press(page, f"{path}/undo").status_code == 400
    assert labels_of(folder) == before


@pytest.mark.parametrize("wrong", ["//evil", "//0123456789abcdef", "/\\evil", "https://evil"])
def test_no_form_leads_to_another_host(ann, wrong):
    answer = ann.client.post("/language", data={"lang": "en", "next": wrong}, follow_redirects=False)
    assert answer.headers["location"] == "/"


@contextlib.contextmanager
def two_people(server):
    with Person(server.origin, server.address, "Ann") as ann, Person(server.origin, server.address, "Bo") as bo:
        yield ann, bo


def test_people_who_share_a_list_get_different_pairs_and_see_how_far_they_agree(folder):
    with run_workbench(folder, overlap=0.0) as server, two_people(server) as people:
        assert len({fields_of(one.get(LABEL).text, LABEL)["card"] for one in people}) == 2
    with run_workbench(folder, overlap=1.0) as server, two_people(server) as people:
        for person, grades in zip(people, ("321012", "321011"), strict=True):
            page = person.get(LABEL)
            for grade in grades:
                page = person.press(page, LABEL, value=grade)
        text = people[0].get(f"{LABEL}/results").text
    assert "83%" in text  # five of six
    assert re.search(r"alpha.*?<strong>0\.\d\d</strong>", text, re.DOTALL)


def test_the_grades_of_a_model_are_shown_with_the_labels_only(ann, folder):
    lines = "".join(f"q{i % 3 + 1} 0 d{i} 1.75\n" for i in range(30))
    (folder / "model.qrels").write_text(f"{JUDGE_LINE}some-model\n{lines}")
    page = ann.get(LABEL)
    assert "some-model" not in page.text
    page = ann.press(page, LABEL, value="2")
    assert "some-model" not in page.text
    told = ann.get(f"{LABEL}/results").text
    assert "some-model" in told
    assert '<td class="n">1.75</td>' in told


def test_answers_are_rated_by_statement_and_read_by_calibrate(ann, folder):
    page = ann.get(RATE)
    for place, value in enumerate(("supported", "unsupported")):
        fields = fields_of(page.text, RATE)
        fields |= {"statement": str(place), "known": "", "once": f"{place:032x}"}
        page = ann.post(RATE, value=value, **fields)
    fields = fields_of(page.text, RATE)
    assert 'aria-pressed="true"' in page.text
    page = ann.post(RATE, card=fields["card"], by=fields["by"], value="4", known="", once="f" * 32)
    assert fields_of(page.text, RATE)["card"] != fields["card"], "an answer that is done makes room for the next"
    rows = [json.loads(line) for line in ann.get(f"{RATE}/rated.jsonl").text.splitlines()]
    assert rows[0]["human"] == {"faithfulness": 0.5, "mark": 0.8}
    assert rows[0]["raters"] == ["Ann"]
    assert [row.get("human") for row in rows[1:]] == [None, None]
    ann.press(page, f"{RATE}/undo")
    assert json.loads(ann.get(f"{RATE}/rated.jsonl").text.splitlines()[0])["human"] == {"faithfulness": 0.5}


def test_pairs_are_blind_until_the_end_and_read_as_preferences(ann, folder):
    page = ann.get(PAIRS)
    for _ in range(3):
        assert "alpha.jsonl" not in page.text
        left = re.search(r"<h3>Left</h3><p class=\"answer\">(\w+) says", page.text)[1]
        page = ann.press(page, PAIRS, value="left" if left == "alpha" else "right")
    assert "<strong>" not in page.text or "alpha" in page.text
    found = assay.preferences([json.loads(line) for line in ann.get(f"{PAIRS}/preferences.jsonl").text.splitlines()])
    wins = {found.pairs[0].first: found.pairs[0].wins, found.pairs[0].second: found.pairs[0].losses}
    assert wins == {"alpha": 3, "beta": 0}
    assert "100.0%" in page.text or "0.0%" in page.text


# Safety -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", READ)
def test_no_page_is_shown_to_strangers(visitor, path):
    with httpx2.Client(base_url=visitor.origin) as stranger:
        assert stranger.get(path).status_code == 401
        assert stranger.get(path, headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", WRITTEN)
def test_no_form_is_taken_from_another_page_or_a_stranger(visitor, path):
    for origin in ("http://evil.example", "null", visitor.origin.replace("127.0.0.1", "127.0.0.2"), ""):
        assert visitor.client.post(path, data={"value": "1"}, headers={"origin": origin}).status_code == 403
    with httpx2.Client(base_url=visitor.origin, headers={"origin": visitor.origin}) as stranger:
        assert stranger.post(path, data={"value": "1"}).status_code == 401
    assert not (visitor.folder / "workbench" / "labels.jsonl").exists()


def names_that_lead_out(n: int) -> list[str]:
    heads = ["../" * i for i in range(1, 9)] + ["..%2f" * 3, "..%252f" * 3, "..\\" * 3, "....//" * 3, "/", "//", "file:///", "%00", ".%2e/" * 3, "~/", "‥/", "C:\\"]  # fmt: skip
    tails = ["etc/passwd", "secret.json", "etc/hostname", "work/pool.jsonl", "secret.json%00.json", "secret.json?", "secret.json#", "workbench/labels.jsonl", ".", ""]  # fmt: skip
    return [head + tail for tail in tails for head in heads][:n]


def test_no_name_opens_a_file_that_is_not_listed(visitor, tmp_path_factory, stress):
    """In every parameter of every page; `secret.json` lies beside the folder and is a whole result."""
    secret = visitor.folder.parent / "secret.json"
    secret.write_text((visitor.folder / "old-0.json").read_text().replace('"old"', '"SECRET"'))
    (visitor.folder / "link.json").symlink_to(secret)
    for name in names_that_lead_out(200 if stress else 10):
        for path, params in [
            (f"/label/{name}", {}), (f"/result/{name}", {}), (f"/static/{name}", {}), (f"/pairs/{name}/{name}", {}),
            ("/compare", {"r": [name, OLD]}), ("/compare", {"r": [OLD, NEW], "base": name, "other": name, "m": name}),
            ("/compare/query", {"r": [OLD, NEW], "query": name}), ("/pairs", {"f": [name, name]}), (LABEL, {"card": name}),
        ]:  # fmt: skip
            found = visitor.client.get(path, params=params or None)
            assert found.status_code in {200, 400, 404}
            assert "SECRET" not in found.text
            assert "root:" not in found.text
    assert "SECRET" not in visitor.get("/").text
    (visitor.folder / "link.json").unlink()


def test_forms_that_nobody_made_are_refused(ann, folder):
    page = ann.get(LABEL)
    for wrong in ({"value": "4"}, {"value": "-1"}, {"value": "1.5"}, {"value": ""}, {"card": "0" * 16}, {"once": ""}, {"once": "x" * 32}, {"note": "x" * 5000}):  # fmt: skip
        assert ann.press(page, LABEL, **{"value": "1", **wrong}).status_code in {400, 404}
    for wrong in ({"statement": "99"}, {"statement": "-1"}, {"statement": "0", "value": "good"}, {"value": "6"}):
        assert ann.press(ann.get(RATE), RATE, **{"value": "supported", **wrong}).status_code == 400
    assert ann.press(ann.get(PAIRS), PAIRS, value="first").status_code == 400
    assert not (folder / "workbench" / "labels.jsonl").exists()


def test_no_text_of_anybody_becomes_markup(tmp_path, stress):
    """Names of raters, notes, queries, documents, answers, systems, names of files: each is shown as it was written."""
    hostile = payloads() if stress else payloads()[::29]
    folder = make_folder(tmp_path / "work", pairs=3)
    rows = [{"query_id": f"q{i}", "doc_id": text, "query_text": text, "document_text": text, "priority": i} for i, text in enumerate(hostile)]  # fmt: skip
    (folder / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("alpha", "beta"):
        samples = [{"query_id": text, "question": text, "answer": f"{text} {name}.", "contexts": [{"id": text, "text": text}], "reference": text} for text in hostile]  # fmt: skip
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    with run_workbench(folder) as server:
        for text in hostile:
            with Person(server.origin, server.address, text[:100]) as person:
                page = person.get(LABEL)
                person.press(page, LABEL, value="1", note=text)
                person.press(person.get(PAIRS), PAIRS, value="left", note=text)
                seen = [person.get(one).text for one in (LABEL, RATE, PAIRS)]
                assert not [one for one in seen if has_markup_of(one, hostile)]
        with Person(server.origin, server.address) as person:
            for path in ("/", f"{LABEL}/results", f"{PAIRS}/results?reveal=1", f"{RATE}/results", "/label", "/pairs"):
                assert not has_markup_of(person.get(path).text, hostile)


ELEMENTS = {
    "html", "head", "meta", "link", "script", "title", "body", "a", "header", "h1", "h2", "h3", "nav", "ul", "li", "div", "span", "form", "input", "button", "main",
    "footer", "section", "p", "article", "aside", "dl", "dt", "dd", "kbd", "label", "textarea", "progress", "mark", "table", "thead", "tbody", "tr", "th", "td",
    "strong", "code", "ol", "details", "summary", "fieldset", "legend", "svg", "polyline", "circle", "select", "option",
    "figure", "figcaption", "g", "path", "rect", "line", "text", "tspan", "defs", "clippath", "sup",
}  # fmt: skip


def has_markup_of(page: str, hostile: list[str]) -> bool:
    """Whether a page has an element or an attribute that ours do not have."""
    from html.parser import HTMLParser

    found: list[str] = []

    class Look(HTMLParser):
        def handle_starttag(self, tag, attrs):
            names = {name for name, _ in attrs}
            links = [value or "" for name, value in attrs if name in {"href", "src", "action"}]
            bad = tag not in ELEMENTS or any(
                one.startswith("on") or one in {"style", "srcdoc", "srcset"} for one in names
            )
            if bad or any(not (one.startswith(("/", "#", "data:,")) and not one.startswith("//")) for one in links):
                found.append(f"{tag} {attrs}")
            if tag == "script" and dict(attrs).get("src") != "/static/workbench.js":
                found.append("script")

    Look().feed(page)
    assert found == []
    return bool(found)


# Killed -----------------------------------------------------------------------------------------------------------------

_SERVE = (
    "import sys; from assay.cli import program; sys.argv = ['assay', 'serve', sys.argv[1], '--overlap', '1']; program()"
)


def test_a_server_that_is_killed_while_four_people_label_loses_and_doubles_nothing(tmp_path, stress):
    """What a page confirmed is in the log, once; who was not answered sends the same form to the next server."""
    folder = make_folder(tmp_path / "work", pairs=3000 if stress else 40)  # more than are labelled before the last kill
    told: dict[str, dict[str, str]] = {name: {} for name in ("Ann", "Bo", "Cy", "Di")}
    for turn in range(100 if stress else 2):
        process = subprocess.Popen([sys.executable, "-c", _SERVE, str(folder)], stdout=subprocess.PIPE, text=True)
        address = re.search(r"http\S+", process.stdout.readline())[0]
        people = [threading.Thread(target=label_until_killed, args=(address, name, told[name])) for name in told]
        for one in people:
            one.start()
        wait_for_labels(told, sum(map(len, told.values())) + 4)
        time.sleep((turn * 37 % 50) / 100)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        for one in people:
            one.join()
        kept = read_label_log(folder / "workbench" / "labels.jsonl").labels
        keys = [one.key for one in kept]
        assert len(keys) == len(set(keys))
        assert {key for own in told.values() for key in own} <= set(keys), "what was confirmed is kept"
        with assay.LabelStore(folder / "workbench") as store:
            current = store.current("relevance:pool.jsonl")
        assert len({(one.by, one.item) for one in current}) == len(current)
        known = {one.key: one for one in kept}
        assert all(str(known[key].value) == value for own in told.values() for key, value in own.items())
    assert sum(map(len, told.values())) >= 8


def wait_for_labels(told, n: int) -> None:
    deadline = time.monotonic() + 60
    while sum(map(len, told.values())) < n and time.monotonic() < deadline:
        time.sleep(0.01)


def label_until_killed(address: str, name: str, told: dict[str, str]) -> None:
    origin = address.split("/?", maxsplit=1)[0]
    try:
        with Person(origin, address, name) as person:
            page = person.get(LABEL)
            while f'action="{LABEL}"' in page.text:
                fields = fields_of(page.text, LABEL)
                value = str(int(fields["card"], 16) % 4)
                page = person.press(page, LABEL, value=value)
                if page.status_code == 200:
                    told[fields["once"]] = value
    except (httpx2.HTTPError, OSError):
        return
