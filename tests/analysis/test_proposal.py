"""An experiment that is proposed for a folder: what was found, what is asked, and that nothing is written over."""

from __future__ import annotations

import json
import tomllib

import pytest

import assay
from assay.analysis.proposal_files import write_proposal
from assay.errors import InputError
from assay.pipeline.experiment import load_experiment
from assay.report.views.decision import _of_contrast
from assay.testing import FakeLLM
from commands import call_assay, working_in
from question_writer import english, reply

pytest.importorskip("bm25s")

PLACES = ("Granite", "Lantern", "Orchard", "Compass", "Thunder", "Saddle", "Falcon", "Meadow")


@pytest.fixture(autouse=True)
def no_models(monkeypatch):
    monkeypatch.setattr("assay.analysis.proposal.find_minilm", lambda: None)
    monkeypatch.setattr("assay.analysis.proposal.wordllama_folder", lambda: None)


@pytest.fixture
def docs(tmp_path):
    """Eight texts with words of their own, long enough to be cut, of three suffixes."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for i, place in enumerate(PLACES):
        parts = [
            f"The {place.lower()} harbour number {i}{j} stores {place}{j} barrels for winter{j} sailors."
            for j in range(30)
        ]
        body = "\n\n".join(parts)
        suffix = ("md", "txt", "html")[i % 3]
        (folder / f"{place}.{suffix}").write_text(f"<p>{body}</p>" if suffix == "html" else body)
    return folder


def test_a_folder_of_texts_gets_known_items_and_sizes_of_chunks(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    found = assay.propose_experiment("docs", n=5)
    assert (found.documents, found.known_items, found.questions, found.cost) == (8, True, 5, 0.0)
    assert found.combinations == ("size 400", "size 800", "size 1600")
    assert set(found.more) == {"vectors", "reranker"}
    assert tomllib.loads(found.toml)["data"] == {
        "documents": "documents.jsonl",
        "queries": "questions",
        "gold": "questions",
    }
    assert not (docs.parent / "docs-results").exists(), "a proposal writes nothing"


def test_a_proposal_is_run_into_one_folder_and_again_from_its_cache(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    first = assay.run_experiment(assay.propose_experiment("docs", n=5))
    assert first.findings.measure.startswith("span_recall(characters=2000)")
    assert first.findings.query_kinds == {"known_items": 5}
    assert "simulated" in first.findings.stamp
    before = {path: path.read_bytes() for path in (docs.parent / "docs-results").glob("*.*")}
    again = assay.run_experiment(assay.propose_experiment("docs", n=5))
    assert again.done == {}
    assert all(path.read_bytes() == content for path, content in before.items())


def test_an_experiment_that_somebody_changed_is_run_as_it_is(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    with working_in(docs.parent):
        assert call_assay(["run", "docs", "-n", "5"])[0] == 0
        place = docs.parent / "docs-results" / "experiment.toml"
        place.write_text(place.read_text().replace("size = 1600", "size = 1200"))
        code, out, err = call_assay(["run", "docs", "-n", "5"])
    assert code == 0, err
    assert "it is run as it is" in " ".join(out.split())
    assert "size = 1200" in place.read_text()


def test_documents_that_changed_are_refused_until_another_folder_is_named(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    with working_in(docs.parent):
        assert call_assay(["run", "docs", "-n", "5"])[0] == 0
        (docs / "new.md").write_text("A new document about quite other things.")
        code, _, err = call_assay(["run", "docs", "-n", "5"])
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert "have changed" in err
        assert call_assay(["run", "docs", "-n", "5", "-o", "other"])[0] == 0


def test_labels_in_the_folder_decide_and_choose_the_folder_of_documents(docs, monkeypatch):
    monkeypatch.chdir(docs.parent)
    whole = docs.parent / "project"
    whole.mkdir()
    docs.rename(whole / "docs")
    (whole / "README.md").write_text("About this project.")
    (whole / "queries.jsonl").write_text(json.dumps({"query_id": "q", "text": "granite barrels"}) + "\n")
    (whole / "qrels.txt").write_text("q 0 Granite.md 1\n")
    found = assay.propose_experiment("project")
    assert (found.known_items, found.documents, found.questions) == (False, 8, 1)
    assert {one.place: one.used_as for one in found.files} == {"queries.jsonl": "queries", "qrels.txt": "judgments"}
    assert tomllib.loads(found.toml)["evaluate"]["measures"][0] == "ndcg@10"
    done = assay.run_experiment(found)
    assert done.findings.value_of(done.findings.done[0]) == pytest.approx(1.0)


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_used(docs):
    (docs / "broken.md").write_bytes(b"\xff\xfe\x00\xd8 not text")
    found = assay.propose_experiment(docs)
    assert [one.place for one in found.unread] == ["broken.md"]
    assert found.documents == 8


@pytest.mark.parametrize("content", [None, "   \n"])
def test_a_folder_without_documents_is_refused_in_one_line(tmp_path, content):
    folder = tmp_path / "empty"
    folder.mkdir()
    if content is not None:
        (folder / "a.md").write_text(content)
    with pytest.raises(InputError, match=r"no documents in this folder|no document has text"):
        assay.propose_experiment(folder)


def test_one_document_and_copies_are_warned_of(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Tea is hot and steamed.")
    assert any("only one document" in text for text in assay.propose_experiment(folder).warnings)
    (folder / "b.md").write_text("Tea is hot and steamed.")
    assert any("same text" in text for text in assay.propose_experiment(folder).warnings)


def test_what_is_left_out_of_a_folder_and_of_its_plan_is_said(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.md").write_text(f"The harbour number {i} stores {PLACES[i]} barrels for winter sailors.")
    (folder / "contract.docx").write_bytes(b"PK")
    (folder / "Makefile").write_text("all:")
    (folder / "gbk.txt").write_bytes("煎茶宜用七十度的水冲泡，不可久泡。".encode("gbk"))
    found = assay.propose_experiment(folder, n=100)
    told = " ".join(found.warnings)
    assert "2 files are not read, because of their kinds: .docx (1), without a suffix (1)" in told
    assert "sizes of chunks are not compared" in told
    assert found.questions == 3, "no more than there are passages"
    assert [one.reason.partition(" ")[0] for one in found.unread] == ["byte"], "the file is named beside it"
    with working_in(tmp_path):
        code, out, err = call_assay(["run", "docs", "--encoding", "gb18030", "--dry-run"])
    assert code == 0, err
    assert "4 documents" in out and "1 Chinese" in out


def test_copies_that_leave_no_question_are_named_as_the_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for i in range(12):
        (tmp_path / "docs" / f"{i}.md").write_text("The Granite harbour stores barrels of molasses for winter sailors.")
    with pytest.raises(InputError, match="stands in more than ten places"):
        assay.run_experiment(assay.propose_experiment("docs"))


def test_a_slow_reranker_is_left_out_with_the_words_that_run_it_all_the_same(docs, monkeypatch):
    """The file has the combinations that are quick; a name on the command line asks for any, a pattern for those."""
    monkeypatch.chdir(docs.parent)
    monkeypatch.setattr("assay.analysis.proposal.find_minilm", lambda: docs)
    monkeypatch.setattr("assay.analysis.proposal._seconds_of", lambda *_: 2.5)
    found = assay.propose_experiment("docs", n=30)
    assert found.more["slow_reranker"] == "8"  # 30 queries, each with five chunks, 2.5 s for a text
    assert found.more["fewer_questions"] == "14"  # which take 3.5 of the 5 minutes that are quick
    assert found.more["with_reranker"] == "--only 'size 800' --only 'size 800 + minilm'"
    place = write_proposal(found)
    assert [one.name for one in load_experiment(place, only=["*"]).combinations] == list(found.combinations)
    named = load_experiment(place, only=["size 800", "size 800 + minilm"]).combinations
    assert [one.name for one in named] == ["size 800", "size 800 + minilm"]


def test_span_recall_within_characters_cuts_the_last_chunk():
    from assay.data.spans import ChunkStart, GoldSpan, SpanCase
    from assay.measures import parse

    case = SpanCase([GoldSpan("q", "d", 90, 100)], [ChunkStart("e", 0, 50), ChunkStart("d", 0, 200)])
    values = {n: parse(f"span_recall(characters={n})@10").span_value(case) for n in (144, 145, 400)}
    assert values == {144: 0.0, 145: 1.0, 400: 1.0}  # five of ten characters of the span are half of it


# A language model writes the questions ------------------------------------------------------------------------------

PRICES = 'price = [{ host = "127.0.0.1", model = "m", date = 2026-01-01, input = 1.0, output = 4.0 }]'


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder that a scripted model can write questions for, its server, and the command that names it."""
    monkeypatch.chdir(tmp_path)
    for name, text in english(12).items():
        place = tmp_path / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (tmp_path / "prices.toml").write_text(PRICES)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    with FakeLLM(reply) as server, working_in(tmp_path):
        yield (
            tmp_path,
            server,
            ["run", "docs", "-n", "4", "--judge", "m", "--url", server.url, "--prices", "prices.toml"],
        )


def test_a_proposal_with_a_judge_says_what_its_questions_cost_and_asks_nothing(written):
    folder, server, words = written
    code, out, err = call_assay([*words, "--dry-run"])
    told = " ".join(out.split())
    assert code == 0, err
    assert "4 questions that m writes from the documents and checks" in told
    assert "USD, at most" in told
    assert "--dry-run" not in err and "--max-cost" in err and err.rstrip().endswith("--yes")
    assert not (folder / "docs-results").exists()
    assert server.requests == ()


def test_questions_of_a_model_are_made_within_a_limit_and_paid_once(written):
    folder, server, words = written
    code, _, err = call_assay([*words, "--yes"])
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "m costs money: give --max-cost" in err
    assert server.requests == ()
    assert call_assay([*words, "--yes", "--max-cost", "1", "--only", "no such"])[0] == 2
    assert server.requests == ()
    code, out, err = call_assay([*words, "--yes", "--max-cost", "1"])
    assert code == 0, err
    assert "4 questions from" in " ".join(out.split()) and "made by m" in out
    assert "assay run docs-results/questions --app URL" in " ".join(err.split())  # what to do with them next
    assert "(questions by a language model)" in " ".join(out.split()) or "made and checked by a language model" in out
    result = json.loads((folder / "docs-results" / "result.json").read_text())
    assert result["experiment"]["query_kinds"] == {"model": 4}
    asked = len(server.requests)
    code, out, err = call_assay([*words, "--yes"])  # nothing is left to pay for
    assert code == 0, err
    assert "which are there already" in " ".join(out.split())
    assert "assay run docs-results/questions --app URL" in " ".join(err.split())
    assert len(server.requests) == asked


def test_a_limit_that_is_too_small_is_never_exceeded_and_said(written):
    folder, server, words = written
    code, _, err = call_assay([*words, "--yes", "--max-cost", "0.0001"])
    assert (code, server.requests) == (2, ())
    assert "no question that passed" in err and "budget" in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "docs-results" / "questions").exists()


def test_a_judge_has_no_part_where_labels_decide(written):
    folder, server, words = written
    doc = next((folder / "docs" / "a").iterdir())
    (folder / "docs" / "queries.jsonl").write_text('{"query_id": "q", "text": "harbour"}\n')
    (folder / "docs" / "qrels.txt").write_text(f"q 0 a/{doc.name} 1\n")
    code, out, err = call_assay([*words, "--dry-run"])
    assert code == 0, err
    assert "m is not asked: the folder has queries with judgments" in " ".join(out.split())
    assert "no model is asked" in " ".join(out.split())
    assert server.requests == ()


# Queries without judgments ------------------------------------------------------------------------------------------


@pytest.fixture
def unlabelled(docs, monkeypatch):
    """The folder with two queries and no judgments; commands run beside it."""
    monkeypatch.chdir(docs.parent)
    rows = [{"query_id": "p1", "text": "granite barrels"}, {"query_id": "p2", "text": "winter sailors of the meadow"}]
    (docs / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return docs


def test_queries_without_judgments_are_searched_for_and_not_scored(unlabelled):
    with working_in(unlabelled.parent):
        code, out, err = call_assay(["run", "docs", "-n", "5", "--yes"])
    told = " ".join(out.split())
    assert code == 0, err
    assert "The 2 queries of docs/queries.jsonl, without judgments: lists of all combinations" in told
    assert "How far the lists agree" in told
    assert "assay judge docs-results/unlabelled/runs/*.jsonl --queries docs/queries.jsonl" in err
    results = unlabelled.parent / "docs-results"
    apart = json.loads((results / "unlabelled" / "result.json").read_text())["experiment"]
    assert (apart["measures"], len(apart["agreements"])) == ([], 3)
    assert {one["queries"] for one in apart["agreements"]} == {2}
    assert len(list((results / "unlabelled" / "runs").iterdir())) == 3
    assert json.loads((results / "result.json").read_text())["experiment"]["query_kinds"] == {"known_items": 5}


def test_the_same_from_python(unlabelled):
    found = assay.propose_experiment("docs", n=5)
    assert (found.unlabelled, found.known_items, found.questions) == (2, True, 5)
    assay.run_experiment(found)
    apart = assay.run_unlabelled(found)
    assert not apart.findings.judged
    assert {query.id for query in apart.collection.queries} == {"p1", "p2"}
    (unlabelled / "queries.jsonl").unlink()
    other = assay.propose_experiment("docs", n=5, output="other")
    assay.run_experiment(other)
    assert assay.run_unlabelled(other) is None


def test_labels_that_came_later_are_refused_until_another_folder_is_named(unlabelled):
    with working_in(unlabelled.parent):
        assert call_assay(["run", "docs", "-n", "5"])[0] == 0
        (unlabelled / "qrels.txt").write_text("p1 0 Granite.md 1\np2 0 Meadow.txt 1\n")
        code, _, err = call_assay(["run", "docs", "-n", "5"])
        assert (code, len(err.strip().splitlines())) == (2, 1)
        assert "queries or judgments came or went" in err
        assert call_assay(["run", "docs", "-n", "5", "-o", "other"])[0] == 0


def test_the_report_asks_for_questions_of_people_and_not_for_more_known_items():
    """Nothing is shown, and more of the same questions would not choose."""
    judged = {f"q{i}": {"d": 1} for i in range(20)}
    ranks = {"a": [1, 2], "b": [2, 1]}
    runs = {name: {f"q{i}": {"d": -float(rank[i % 2]), "e": -1.5} for i in range(20)} for name, rank in ranks.items()}
    compared = assay.compare(assay.evaluate(judged, runs, ["ndcg@10"]))
    contrast = compared.leading_contrast("ndcg@10")
    assert contrast.verdict == "inconclusive"
    steps = {
        kind: [str(one.text) for one in _of_contrast(compared, "ndcg@10", simulated=kind)] for kind in (False, True)
    }
    assert steps[False][0].startswith("Judge more queries") and steps[True][0].startswith("Ask questions of people")
