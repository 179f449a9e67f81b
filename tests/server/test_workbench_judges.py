"""The check of a judge in the workbench: its numbers, its cases, as labels arrive, and what a browser shows."""

from __future__ import annotations

import re
from collections import Counter

import httpx2
import pytest

import assay
from assay.analysis.judge_check import check_judge
from assay.formats.trec.reading import JUDGE_LINE
from payloads import payloads
from server.layout import faults_of_layout
from workbench_desk import Person, fields_of, hash_of, key_of, make_folder, run_workbench, write_lines

POOL, MODEL = key_of("pool.jsonl"), key_of("model.qrels")
LABEL, CHECK = f"/label/{POOL}", f"/judges/{MODEL}"
PAIRS = [(f"q{i % 3 + 1}", f"d{i}") for i in range(60)]
MODELS = {pair: hash_of("".join(pair)) % 4 for pair in PAIRS}
PEOPLE = {pair: (grade + (hash_of(pair[1]) % 5 == 0)) % 4 for pair, grade in MODELS.items()}


def make_judged(folder):
    make_folder(folder, pairs=60)
    lines = "".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in MODELS.items())
    (folder / "model.qrels").write_text(f"{JUDGE_LINE}some-model\n{lines}")
    write_lines(folder / "why.jsonl", [{"query_id": q, "doc_id": d, "judge": "some-model", "repeat": 1, "grade": g, "panel_grade": g, "reason": f"<i>because</i> {d}", "status": "ok"} for (q, d), g in MODELS.items()])  # fmt: skip
    return folder


def label(folder, pairs, by="Ann"):
    with assay.LabelStore(folder / "workbench") as store:
        for query, doc in pairs:
            store.add("relevance:pool.jsonl", "relevance", (query, doc), PEOPLE[query, doc], by=by, note=f"note {doc}" if doc == "d7" else "")  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return make_judged(tmp_path / "work")


@pytest.fixture
def ann(folder):
    with run_workbench(folder) as server, Person(server.origin, server.address) as person:
        person.server = server
        yield person


def matrix(text):
    rows = re.findall(r'<tr><th scope="row">(\d)</th>(.*?)</tr>', text, re.DOTALL)
    return {(int(human), place): int(n) for human, row in rows for place, n in enumerate(re.findall(r'<td class="n cell[^>]*>.*?>(\d+)<', row))}  # fmt: skip


def test_the_matrix_counts_what_people_said_and_agreement_is_that_of_calibrate(ann, folder):
    label(folder, PAIRS)
    text = ann.get(CHECK).text
    counted = Counter((PEOPLE[pair], MODELS[pair]) for pair in PAIRS)
    assert {cell: n for cell, n in matrix(text).items() if n} == counted
    exported = folder / "people.qrels"
    exported.write_text(ann.get(f"{LABEL}/judgments.qrels").text)
    found = assay.calibrate(folder / "model.qrels", exported)
    for one in (found.kappa, found.alpha):
        assert f">{one.value:.2f}<" in text
        assert f"[{one.interval.low:.2f}, {one.interval.high:.2f}]" in text
    equal = sum(PEOPLE[pair] == MODELS[pair] for pair in PAIRS) / len(PAIRS)
    shares = [sum(grades[pair] == g for pair in PAIRS) / len(PAIRS) for g in range(4) for grades in (PEOPLE, MODELS)]
    chance = sum(a * b for a, b in zip(shares[::2], shares[1::2], strict=True))
    assert f">{(equal - chance) / (1 - chance):.2f}<" in text, "Cohen's kappa by hand"
    assert f"{equal:.1%}" in text
    assert "only 60 labels" in text
    assert ann.get("/judges").text.count("60 of 60") == 1


def test_every_cell_opens_its_cases_and_without_one_the_furthest_apart_come_first(ann, folder):
    label(folder, PAIRS)
    for (human, model), n in matrix(ann.get(CHECK).text).items():
        text = ann.get(CHECK, human=human, model=model).text.partition('id="cases"')[2]
        shown = set(re.findall(r'<span class="id soft">(d\d+)</span>', text))
        expected = {doc for (query, doc) in PAIRS if (PEOPLE[query, doc], MODELS[query, doc]) == (human, model)}
        assert shown == expected
        assert len(shown) == n
    text = ann.get(CHECK).text.partition('id="cases"')[2]
    shown = re.findall(r"people <span[^>]*>(\d)</span>.*?model <span[^>]*>(\d)</span>", text)
    apart = [abs(int(a) - int(b)) for a, b in shown]
    assert len(apart) == sum(PEOPLE[pair] != MODELS[pair] for pair in PAIRS)
    assert apart == sorted(apart, reverse=True)
    cell = {"human": PEOPLE["q2", "d7"], "model": MODELS["q2", "d7"]}
    text = ann.get(CHECK, **cell).text
    assert "note d7" in text
    assert "&lt;i&gt;because&lt;/i&gt; d7" in text
    assert "Tea number d7" in text


def test_before_there_are_enough_labels_it_says_how_many_are_missing(ann, folder):
    assert "No pair has grades of both yet" in ann.get(CHECK).text
    label(folder, PAIRS[:10])
    text = ann.get(CHECK).text
    assert "10 pairs so far: a calibration needs 50." in text
    assert sum(matrix(text).values()) == 10
    assert ann.get(f"/judges/{POOL}").status_code == 404
    assert ann.get(CHECK, human="9", model="x", people="../people.qrels").status_code == 200


def test_people_may_be_a_file_or_a_column_beside_the_model(ann, folder):
    rows = [{"query_id": q, "doc_id": d, "grade": g, "human": PEOPLE[q, d]} for (q, d), g in MODELS.items()]
    write_lines(folder / "both.jsonl", rows)
    people = assay.Judgments.from_dict({q: {d: PEOPLE[q, d] for one, d in PAIRS if one == q} for q in ("q1", "q2")})
    assay.write_judgments(people, folder / "people.qrels")
    assert sum(matrix(ann.get(f"/judges/{key_of('both.jsonl')}").text).values()) == 60
    text = ann.get(CHECK, people=key_of("people.qrels")).text
    assert matrix(text)[0, 0] == sum(PEOPLE[p] == MODELS[p] == 0 for p in PAIRS if p[0] != "q3")


def test_a_judge_without_any_pair_in_common_has_no_numbers():
    judged = assay.Judgments.from_dict({"q": {"a": 1, "b": -1}})
    assert check_judge(judged, {("q", "b"): 1, ("q", "c"): 0}) is None
    assert check_judge(judged, {("q", "a"): 1}).weighted.value is None


def test_only_who_is_let_in_sees_it_and_no_text_becomes_markup(ann, folder, stress):
    hostile = [text for text in (payloads() if stress else payloads()[::29]) if "\n" not in text and "\r" not in text]
    write_lines(folder / "both.jsonl", [{"query_id": text, "doc_id": text, "grade": 1, "human": 0, "judge": "<b>model</b>"} for text in hostile])  # fmt: skip
    write_lines(folder / "documents.jsonl", [{"doc_id": text, "text": text} for text in hostile])
    paths = ("/judges", f"/judges/{key_of('both.jsonl')}")
    for path in paths:
        found = ann.get(path)
        assert found.status_code == 200
        assert "script-src 'self'; style-src 'self'" in found.headers["content-security-policy"]
        assert not re.search(r"<(img|svg|iframe|b|style|script(?! src))\b|\sstyle=|\son[a-z]+=\"", re.sub(r"&\w+;|&#\d+;", "", found.text).replace("<body>", ""))  # fmt: skip
        with httpx2.Client(base_url=ann.origin) as stranger:
            assert stranger.get(path).status_code == 401
            assert stranger.get(path, headers={"host": "evil.example"}).status_code == 421


def test_agreement_moves_as_labels_arrive_and_the_pages_fit(browser, ann, folder):
    """Ann presses a key in one browser; the page that is open in another shows one pair more without being loaded."""
    label(folder, [pair for pair in PAIRS if pair != PAIRS[0]], by="Ann")
    faults: list[str] = []
    context = browser.browser.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark")
    page = context.new_page()
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda one: one.url.startswith((ann.origin, "data:,")) or faults.append(one.url))
    page.goto(ann.server.address)
    page.goto(f"{ann.origin}{CHECK}")
    assert "59 pairs" in page.locator(".decision").inner_text()
    fields = fields_of(ann.get(LABEL).text, LABEL)
    assert ann.post(LABEL, **fields, value=str(PEOPLE[PAIRS[0]])).status_code == 200
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_text("60 pairs").first.wait_for()
    for path in (CHECK, "/judges", f"{CHECK}?human=1&model=1"):
        page.goto(f"{ann.origin}{path}")
        assert faults_of_layout(page) == []
    page.emulate_media(media="print")
    assert not page.get_by_role("button").filter(visible=True).count()
    with page.expect_navigation():
        page.emulate_media(media="screen", color_scheme="light")
        page.set_viewport_size({"width": 1440, "height": 900})
        page.get_by_role("button", name="中文").click()
    assert "评审模型检验" in page.locator("h2").first.inner_text()
    assert faults_of_layout(page) == []
    assert faults == []
    context.close()
