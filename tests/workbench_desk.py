"""A folder of work for tests, a workbench over it, and people who use it by forms as a browser would."""

from __future__ import annotations

import json
import re
from hashlib import sha256

import httpx2

import assay
from assay.server.workbench.opening import open_workbench

QUERIES = {"q1": "how hot should tea be", "q2": "绿茶怎么泡", "q3": "oolong steeping time"}


def key_of(name: str) -> str:
    return sha256(name.encode()).hexdigest()[:16]


def make_folder(folder, pairs: int = 30):
    """Results, a list to judge of so many pairs, answers of two systems, and a broken file."""
    folder.mkdir()
    docs = [(f"q{i % 3 + 1}", f"d{i}") for i in range(pairs)]
    rows = [
        {"query_id": q, "doc_id": d, "query_text": QUERIES[q], "document_text": f"Tea number {d}: steep it. 绿茶", "grade": None, "priority": i + 1, "round": 1, "method": "depth"}
        for i, (q, d) in enumerate(docs)
    ]  # fmt: skip
    write_lines(folder / "pool.jsonl", rows)
    write_lines(
        folder / "queries.jsonl",
        [{"query_id": q, "text": t, "kind": "how-to" if "h" in t else "other"} for q, t in QUERIES.items()],
    )
    write_lines(folder / "documents.jsonl", [{"doc_id": d, "text": f"Tea number {d}: steep it. 绿茶"} for _, d in docs])
    judged = {q: {d: i % 4 for i, (one, d) in enumerate(docs) if one == q} for q in QUERIES}
    assay.write_judgments(assay.Judgments.from_dict(judged), folder / "judged.qrels")
    for n, name in enumerate(("old", "new")):
        run = {q: {d: float(hash_of(d + name) % 100) for one, d in docs if one == q} for q in QUERIES}
        lines = [f"{q} Q0 {d} {i + 1} {s} {name}\n" for q, own in run.items() for i, (d, s) in enumerate(own.items())]
        (folder / f"{name}.run").write_text("".join(lines))
        scores = assay.evaluate(folder / "judged.qrels", folder / f"{name}.run", ["ndcg@10", "map"])
        scores.save(folder / f"{name}-{n}.json")
    for name in ("alpha", "beta"):
        answers = [
            {"query_id": q, "question": t, "answer": f"{name} says: use water of 80 degrees. Wait two minutes.", "contexts": [{"id": "c1", "text": "Use water of 80 degrees."}], "reference": "80 degrees"}
            for q, t in QUERIES.items()
        ]  # fmt: skip
        write_lines(folder / f"{name}.jsonl", answers)
    write_lines(folder / "nuggets.jsonl", [{"qid": "q1", "nuggets": [{"text": n, "importance": "okay"} for n in ("80 degrees", "not boiling", "hot")]}, {"qid": "q2", "nuggets": []}])  # fmt: skip
    (folder / "broken.json").write_text('{"schema": 2, "systems": 7}')
    return folder


def hash_of(text: str) -> int:
    return int(sha256(text.encode()).hexdigest()[:8], 16)


def write_lines(place, rows) -> None:
    place.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def run_workbench(folder, **options):
    return open_workbench(folder, **{"overlap": 1.0, **options})


def enter(context, server, path: str, name: str, shown: str = ".card"):
    """A page of somebody who was asked for a name on the way to a path, and what must not happen on it, as it happens."""
    faults: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: faults.append(f"console {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error {error}"))
    page.on("request", lambda one: one.url.startswith((server.origin, "data:,")) or faults.append(f"request {one.url}"))
    page.goto(server.address)
    page.goto(f"{server.origin}{path}")
    page.wait_for_selector("[name=name]:focus")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_selector(shown)
    page.wait_for_load_state()  # keys are heard from then on
    return page, faults


class Person:
    """Somebody with a browser without scripts: reads forms out of pages, and sends them."""

    def __init__(self, origin: str, address: str, name: str | None = "Ann") -> None:
        self.origin = origin
        self.client = httpx2.Client(base_url=origin, follow_redirects=True, timeout=30, headers={"origin": origin})
        assert self.client.get(address).status_code == 200
        if name is not None:
            assert self.post("/name", name=name, next="/label").status_code == 200

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def get(self, path: str, **params):
        return self.client.get(path, params=params or None)

    def post(self, path: str, **fields):
        return self.client.post(path, data=fields)

    def press(self, page, action: str, **changes):
        """Send the first form of a page with an action, with some of its fields changed."""
        return self.post(action, **{**fields_of(page.text, action), **changes})


def fields_of(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the first form with an action."""
    form = re.search(rf'<form method="post" action="{re.escape(action)}".*?</form>', text, re.DOTALL)
    assert form, f"no form {action}"
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form[0]))
