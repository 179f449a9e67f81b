"""The workbench against hostile texts in every field and hostile names in every parameter of every page and form."""

from __future__ import annotations

import html
from urllib.parse import urlsplit

import pytest

import assay
from payloads import payloads
from server.test_workbench import has_markup_of, names_that_lead_out
from workbench_desk import Person, fields_of, key_of, make_folder, run_workbench, write_lines

POOL, ALPHA, BETA, OLD, NEW = map(key_of, ("pool.jsonl", "alpha.jsonl", "beta.jsonl", "old-0.json", "new-1.json"))
BAD, FEW = key_of("bad.jsonl"), key_of("few.jsonl")
LABEL, RATE, PAIRS, REQUESTS = f"/label/{POOL}", f"/rate/{ALPHA}", f"/pairs/{ALPHA}/{BETA}", f"/production/{BAD}/requests"  # fmt: skip


@pytest.fixture(scope="module")
def hostile(stress):
    every = payloads(300)
    assert len(set(every)) == 300
    return every if stress else every[::160]


@pytest.fixture(scope="module")
def server(tmp_path_factory, hostile):
    """A folder in which every text of every file is hostile: ids, questions, answers, errors, attributes, names."""
    folder = make_folder(tmp_path_factory.mktemp("safety") / "work", pairs=3)
    write_lines(folder / "pool.jsonl", [
        {"query_id": text, "doc_id": text, "query_text": text, "document_text": text, "grade": None, "priority": i}
        for i, text in enumerate(hostile)
    ])  # fmt: skip
    write_lines(folder / "queries.jsonl", [{"query_id": f"q{i}", "text": text, "kind": text} for i, text in enumerate(hostile)])  # fmt: skip
    for name in ("alpha", "beta"):
        write_lines(folder / f"{name}.jsonl", [
            {"query_id": text, "question": text, "answer": f"{text} {name}.", "contexts": [{"id": text, "text": text}], "reference": text}
            for text in hostile
        ])  # fmt: skip
    for name, texts in (("bad", hostile), ("few", hostile[:1])):
        write_lines(folder / f"{name}.jsonl", [
        {"id": text, "question": text, "answer": text, "contexts": [{"id": text, "text": text}], "error": text,
         "time": "2026-01-01T00:03:00+00:00", "session": text, "why": "no_answer"}
        for text in texts
    ])  # fmt: skip
    assay.write_set(folder / "tea", queries=[{"query_id": "q1", "text": "green"}], documents={"d": "Green tea."})
    judged = {f"q{i}": {"d1": 1, text: 2} for i, text in enumerate(hostile[:20])}
    run = {query: dict.fromkeys(docs, 1.0) for query, docs in judged.items()}
    for name in ("old-0.json", "new-1.json"):
        scores = [assay.evaluate(judged, run, ["ndcg@10"], name=text) for text in hostile[:3]]
        assay.write_result(scores, folder / name)
    with run_workbench(folder) as running:
        yield running, folder


def pages_of(text: str) -> list[tuple[str, dict]]:
    """Every page, with a text in each of its parameters."""
    of_two = {"r": [OLD, NEW], "m": "ndcg@10"}
    asked = {"base": text, "other": text, "m": text, "sign": text, "attr": text, "value": text, "zero": text, "q": text}
    return [
        ("/", {"q": text, "page": text}), ("/label", {"q": text}), (LABEL, {"card": text}),
        ("/rate", {"q": text}), (RATE, {"card": text}), ("/pairs", {"f": [text, text]}), (PAIRS, {"card": text}),
        (f"{PAIRS}/results", {"reveal": text}), (f"/result/{OLD}", {"page": text}),
        ("/compare", {**asked, "r": [OLD, NEW]}), ("/compare", of_two | {"q": text}), ("/compare", of_two | {"attr": "kind", "value": text}),
        ("/compare", {"r": [text, OLD]}), ("/compare/query", of_two | {"query": text}),
        ("/production", {"q": text}), (f"/production/{FEW}/requests", {"why": text, "page": text}), (f"/production/{BAD}", {"page": text}),
    ]  # fmt: skip


def forms_of(text: str) -> list[tuple[str, dict[str, str]]]:
    """Every form, with a text in each of its fields."""
    fields = ("card", "value", "known", "note", "statement", "undoes", "once")
    return [
        ("/name", {"name": "Ann", "next": text}), ("/language", {"lang": text, "next": text}), ("/language", {"lang": "en", "next": f"/compare?{text}"}),
        *((f"{place}{end}", dict.fromkeys(fields, text)) for place in (LABEL, RATE, PAIRS) for end in ("", "/undo", "/save")),
        (REQUESTS, dict.fromkeys(("request", "set", "reference"), text)),
    ]  # fmt: skip


_RATERS = 20  # who have labels: agreement is shown for every two of them
PAGES = (
    "/", LABEL, f"{LABEL}/results", RATE, f"{RATE}/results", PAIRS, f"{PAIRS}/results?reveal=1", "/pairs", REQUESTS, f"/result/{OLD}?page=systems",
    f"/result/{OLD}?page=queries", f"/compare?r={OLD}&r={NEW}", f"/compare/query?r={OLD}&r={NEW}&query=q0",
)  # fmt: skip


def test_no_text_of_a_file_a_note_or_a_name_becomes_markup(server, hostile):
    running, _ = server
    for place, text in enumerate(hostile):
        with Person(running.origin, running.address, text[:100]) as person:
            page = person.get(LABEL)
            assert not has_markup_of(page.text, hostile)
            if place < _RATERS:
                person.press(page, LABEL, value="1", note=text)
    with Person(running.origin, running.address) as person:
        person.client.timeout = 300
        page = person.get(LABEL)
        for text in hostile:
            page = person.press(page, LABEL, value="1", note=text)
        for path in PAGES:
            found = person.get(path)
            assert found.status_code == 200, path
            assert not has_markup_of(found.text, hostile)


def test_no_text_of_a_parameter_or_a_field_becomes_markup(server, hostile):
    running, _ = server
    with Person(running.origin, running.address) as person:
        person.client.timeout = 300
        for text in hostile:
            asked = [(path, person.get(path, **params)) for path, params in pages_of(text)]
            sent = [(path, person.post(path, **fields)) for path, fields in forms_of(text)]
            for path, found in (*asked, *sent):
                assert found.status_code in {200, 400, 404}, path
                assert not has_markup_of(found.text, hostile)


def test_no_parameter_leads_out_of_the_folder_or_to_another_host(server, hostile, stress):
    """`secret.json` lies beside the folder; a redirection stays with us, and nothing is written beside the labels."""
    running, folder = server
    (folder.parent / "secret.json").write_text((folder / "old-0.json").read_text().replace("ndcg@10", "SECRET@10"))
    with Person(running.origin, running.address) as person:
        person.client.timeout = 300
        before = {place: place.read_bytes() for place in folder.parent.rglob("*") if place.is_file()}
        for name in names_that_lead_out(200 if stress else 2):
            paths = [f"/{room}/{name}{end}" for room in ("label", "rate", "result", "production", "pairs", "compare", "static") for end in ("", "/results", "/requests", "/report.html")]  # fmt: skip
            asked = [(path, {}) for path in paths] + pages_of(name)
            for path, params in asked:
                found = person.client.get(path, params=params or None, follow_redirects=False)
                assert found.status_code in {200, 303, 307, 400, 404}, path
                assert "SECRET" not in found.text
                assert "root:" not in found.text
                assert is_ours(found, running.origin)
            for path, fields in forms_of(name):
                found = person.client.post(path, data=fields, follow_redirects=False)
                assert found.status_code in {200, 303, 400, 404}, path
                assert is_ours(found, running.origin), (path, found.headers)
        after = {place: place.read_bytes() for place in folder.parent.rglob("*") if place.is_file()}
    written = {str(place.relative_to(folder)) for place in after if after[place] != before.get(place)}
    assert all(place.startswith("workbench/") for place in written), written


def is_ours(found, origin: str) -> bool:
    """Whether a redirection, if it is one, leads to the same server."""
    to = found.headers.get("location")
    if to is None:
        return True
    parts = urlsplit(str(found.url.join(to)))
    return f"{parts.scheme}://{parts.netloc}" == origin and "\\" not in to


@pytest.mark.parametrize("next_", ["//evil.example/", "//evil",  "/\\evil.example", "https://evil.example", "/x/../..//evil.example", "/label?\r\nset-cookie: a=b", "javascript:alert(1)"])  # fmt: skip
def test_the_language_button_leads_to_no_other_host(server, next_):
    running, _ = server
    with Person(running.origin, running.address) as person:
        found = person.client.post("/language", data={"lang": "zh", "next": next_}, follow_redirects=False)
        assert found.headers["location"] == "/"
        assert "a=b" not in str(found.headers)


def test_the_language_changes_on_a_page_without_losing_its_state(server):
    running, _ = server
    with Person(running.origin, running.address) as person:
        page = person.get("/compare", r=[OLD, NEW], sign="worse")
        fields = {name: html.unescape(value) for name, value in fields_of(page.text, "/language").items()}
        found = person.post("/language", **{**fields, "lang": "zh"})
        assert str(found.url).startswith(f"{running.origin}/compare?r={OLD}&r={NEW}")
        assert 'lang="zh-CN"' in found.text
        assert "sign=worse" in str(found.url)


def test_hostile_texts_run_nothing_in_a_browser(browser, server, hostile):
    """No dialog, no error of the policy, no request to anywhere: on every page that shows texts of others."""
    running, _ = server
    faults: list[str] = []
    context = browser.browser.new_context()
    page = context.new_page()
    page.on("dialog", lambda one: (faults.append(f"dialog {one.message}"), one.dismiss()))
    page.on("console", lambda one: faults.append(f"console {one.text}"))
    page.on("request", lambda one: one.url.startswith((running.origin, "data:,")) or faults.append(f"request {one.url}"))  # fmt: skip
    page.goto(running.address)
    page.goto(f"{running.origin}{LABEL}")
    page.locator("input[name=name]").fill(hostile[-1][:100])
    with page.expect_navigation():
        page.keyboard.press("Enter")
    for path in PAGES:
        page.goto(f"{running.origin}{path}")
        page.mouse.move(300, 400)
    context.close()
    assert [one for one in faults if "status of 4" not in one] == []
