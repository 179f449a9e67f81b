"""Labels change decisions: judgments of a real collection are hidden, and given back by keyboard in a browser."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

import assay
from assay.formats.trec.reading import JUDGE_LINE
from workbench_desk import enter, key_of, run_workbench

POOL, MODEL = key_of("pool.jsonl"), key_of("model.qrels")
DEPTH, FIRST, ALL = 5, 24, 54


@pytest.fixture
def collection(shared):
    folder = shared / "noveleval"
    if not folder.is_dir():
        pytest.skip("the collection noveleval is not here")
    queries, documents = (dict(line.split("\t", 1) for line in (folder / name).read_text("utf-8").splitlines()) for name in ("queries.tsv", "corpus.tsv"))  # fmt: skip
    truth = {(q, d): int(grade) for q, _, d, grade in map(str.split, (folder / "qrels.txt").read_text().splitlines())}
    return queries, documents, truth


def rank_by_words(queries, documents, pairs):
    """The candidates of each query by the rarity of the words that they share with it."""
    words = {doc: set(re.findall(r"\w+", text.lower())) for doc, text in documents.items()}
    common = Counter(word for own in words.values() for word in own)

    def score(query, doc):
        return sum(math.log(len(words) / common[word]) for word in words[doc] & set(re.findall(r"\w+", queries[query].lower())))  # fmt: skip

    return {query: {doc: score(query, doc) for one, doc in pairs if one == query} for query in queries}


def precision(ranked, judged, query):
    """Precision at 5 from a dict, where what is not judged is not relevant."""
    best = sorted(ranked[query], key=lambda doc: (ranked[query][doc], doc), reverse=True)[:DEPTH]
    return sum(judged.get((query, doc), 0) >= 1 for doc in best) / DEPTH


def mean_difference(runs, judged):
    """How much better the words are than the length, over the queries that are judged."""
    asked = {query for query, _ in judged}
    return sum(precision(runs["words"], judged, q) - precision(runs["length"], judged, q) for q in asked) / len(asked)


def compare_runs(folder, judgments):
    scores = [assay.evaluate(judgments, folder / f"{name}.run", ["p@5"]) for name in ("length", "words")]
    return assay.compare(scores).contrasts[0]


def weighted_kappa(pairs):
    """Cohen's kappa with squared distances, from a list of two grades each."""
    n = len(pairs)
    apart = sum((a - b) ** 2 for a, b in pairs) / n
    chance = sum((a - b) ** 2 for a, _ in pairs for _, b in pairs) / n**2
    return 1 - apart / chance


def test_labelling_what_the_pool_proposes_moves_calibrate_and_compare(browser, collection, tmp_path):
    """A model that takes long documents for relevant favours the system that ranks by length; people turn that round."""
    queries, documents, truth = collection
    work = tmp_path / "work"
    work.mkdir()
    runs = {"words": rank_by_words(queries, documents, truth), "length": {q: {d: float(len(documents[d])) for one, d in truth if one == q} for q in queries}}  # fmt: skip
    for name, run in runs.items():
        assay.write_run(assay.Run.from_dict(run, name=name), work / f"{name}.run")
    pooled = assay.pool_judgments([work / "words.run", work / "length.run"], ALL, depth=DEPTH, queries=queries, documents=documents)  # fmt: skip
    assay.write_pool(pooled, work / "pool.jsonl")
    long = sorted(map(len, documents.values()))[len(documents) // 2]
    model = {pair: 2 if len(documents[pair[1]]) > long else int(truth[pair] == 2) for pair in truth}
    lines = "".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in model.items())
    (work / "model.qrels").write_text(f"{JUDGE_LINE}biased\n{lines}")
    by_key = {assay_key(pair): pair for pair in truth}

    before = compare_runs(work, work / "model.qrels")
    assert before.difference.estimate == pytest.approx(mean_difference(runs, model))
    assert before.difference.estimate < 0
    with run_workbench(work, rubric="0-2", overlap=1.0) as server:
        context = browser.browser.new_context()
        page, _ = enter(context, server, f"/label/{POOL}", "Ann")
        page.goto(f"{server.origin}/judges/{MODEL}")
        assert page.locator(".empty").is_visible()
        labelled: dict[tuple[str, str], int] = {}
        seen = []
        for n in (FIRST, ALL):
            page.goto(f"{server.origin}/label/{POOL}")
            while len(labelled) < n:
                pair = by_key[page.locator("form.keys input[name=card]").get_attribute("value")]
                labelled[pair] = truth[pair]
                with page.expect_navigation(wait_until="domcontentloaded"):
                    page.keyboard.press(str(truth[pair]))
            page.goto(f"{server.origin}/label/{POOL}/results")
            with page.expect_download() as got:
                page.get_by_role("link", name="Download judgments").click()
            exported = work.parent / f"people-{n}.qrels"
            exported.write_bytes(got.value.path().read_bytes())
            assert {(q, d): int(g) for q, _, d, g in map(str.split, exported.read_text().splitlines())} == labelled
            page.goto(f"{server.origin}/judges/{MODEL}")
            shown = page.locator(".decision").inner_text()
            kappa = weighted_kappa([(labelled[pair], model[pair]) for pair in labelled])
            assert f"{kappa:.2f}" in shown
            assert f"{n} pairs" in shown
            cells = {(one.split()[1].rstrip(","), one.split()[3].rstrip(":")): int(one.split()[4]) for one in page.locator(".confusion a").evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")}  # fmt: skip
            assert cells == Counter((str(labelled[pair]), str(model[pair])) for pair in labelled)
            contrast = compare_runs(work, exported)
            assert contrast.difference.estimate == pytest.approx(mean_difference(runs, labelled))
            seen.append((kappa, contrast.difference.estimate))
            if n == ALL:
                found = assay.calibrate(work / "model.qrels", exported)
                assert found.kappa.value == pytest.approx(kappa)
                assert "a calibration needs" not in shown
        context.close()
    assert seen[0] != seen[1], "more labels move both"
    assert seen[-1][1] > 0 > before.difference.estimate, "people turn round what the model said"


def assay_key(pair):
    from hashlib import sha256

    return sha256("\x00".join(pair).encode()).hexdigest()[:16]
