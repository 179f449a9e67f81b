"""Readers meet damaged files of every format and raise `AssayError` only.

Each reader takes two dozen copies, always the same ones; with ASSAY_STRESS=1 others for five minutes of processor time
each (ASSAY_FUZZ_SECONDS). All readers together take a core more than eight hours then: with ASSAY_FUZZ_FOLDER, a file
for each reader keeps the next seed and the seconds, so that ASSAY_FUZZ_SECONDS=20 in fifteen sessions is as good as 300
in one. What made a reader fail otherwise is kept in `FOUND`.
"""

from __future__ import annotations

import ast
import contextlib
import gzip
import json
import os
import shutil
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import assay
import fuzzing
import otlp
import reply_readers as replies
from assay.analysis.check_files import check_files
from assay.analysis.economics import read_costs
from assay.analysis.evidence import load, load_all
from assay.analysis.gate_rules import read_rules
from assay.analysis.history_index import read_history
from assay.analysis.judge_check import find_files_of_people, find_judged_files, people_of_file
from assay.analysis.label_tasks import find_relevance_files, read_relevance_task
from assay.analysis.nugget_tasks import find_nugget_files, read_nugget_task
from assay.analysis.pair_tasks import read_pair_task
from assay.analysis.production import find_bad_files, read_bad_requests
from assay.analysis.proposal_files import read_earlier
from assay.analysis.rating_tasks import read_rating_task
from assay.analysis.stored import read_system, read_systems
from assay.analysis.workspace import Workspace
from assay.curation.collection import open_collection
from assay.data.judgments import Judgments
from assay.errors import AssayError, InputError
from assay.formats.detect import MANIFEST as RESULT_OF_FOLDER
from assay.formats.documents import hash_of_text, read_documents, read_drawn, read_pairs, read_rounds
from assay.formats.events.privacy import read_salt
from assay.formats.files import Input, read_toml, run_name
from assay.formats.label_log import read_label_log
from assay.formats.other_sets import read_other_set
from assay.formats.other_sets_writing import write_other_set
from assay.formats.queries import read_clusters, read_queries
from assay.formats.reading import read_chunk_map, read_labels, read_weights
from assay.formats.results import load_result, read_calibration
from assay.formats.samples import read_samples
from assay.formats.set_folders import MANIFEST, hash_of, read_manifest, write_manifest
from assay.formats.splits import read_training
from assay.formats.traces.assembling import assemble
from assay.formats.traces.keeping import encode_lines
from assay.formats.traces.open_traces import OpenTraces
from assay.formats.traces.otlp_json import Unreadable, decode_json
from assay.formats.traces.otlp_protobuf import decode_logs, decode_traces
from assay.formats.traces.privacy import redact_texts
from assay.formats.traces.reading import read_new_traces, read_whole_traces
from assay.formats.trec.reading import last_tag, read_whole_grades, read_zscores
from assay.formats.verdicts import read_votes
from assay.judge import prompting as judging
from assay.judge.criteria import read_rubric
from assay.judge.rubric import load_rubric
from assay.llm.keys import _read as read_key
from assay.llm.prices import PriceTable
from assay.online.trial_reading import read_trial
from assay.pipeline import prompting as stages
from assay.pipeline.documents import read_collection
from assay.pipeline.experiment import load_experiment, read_data
from assay.pipeline.gold import read_gold, read_gold_column
from assay.report.views import run_progress as progress_view
from assay.results.replay import ReplayRules
from assay.serving.endpoints import read_bodies
from assay.text.minilm import _config as read_config
from assay.text.model_files import load_tokenizer, read_tensors
from conftest import STRESS
from fuzzing import (
    ARMS,
    BODIES,
    CLICKS,
    CONFIG,
    COSTS,
    DOCUMENTS,
    EVENTS,
    EXPERIMENT,
    GOLD,
    GRADES,
    HTML,
    LABELLED,
    LOG,
    MARKDOWN,
    PRICES,
    PROMPT,
    QRELS,
    QUERIES,
    RECORDS,
    ROWS,
    RUBRIC,
    RULES,
    RUN,
    SAMPLES,
    SCALE,
    STAGE_PROMPT,
    TOKENIZER,
    USERS,
    VERDICTS,
    case,
    csv,
    further_seeds,
    jsonl,
    parquet,
    pdf,
    safetensors,
)

ARCHIVE = Path(__file__).parents[1] / "archive" / "schema-1"
SCORES = assay.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}, ["map", "ndcg@10"])
NEW = assay.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}, ["map"])
JUDGED = {"q0": {"d1": 1}, "q1": {"d1": 2, "d4": 1}, "q2": {"d3": 1}}


def evaluate(place):
    return assay.evaluate(JUDGED, str(place), ["map"])


def read_beir(place):
    folder = place.parent / "beir"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "qrels" / "test.tsv").write_bytes(place.read_bytes())
    return assay.read_judgments(folder)


def read_result(place):
    return load_result(Input.at(place))


def rules(place):
    return read_rules(read_toml(str(place)), str(place))


def cost(place):
    return assay.cost(place).to_dict()


def check(place):
    return check_files([str(place)])


def events(place):
    log = assay.read_events(place, salt="long enough")
    return log.frame.collect(), log.notes


def events_with_attributes(place):
    return assay.read_events(place, attributes=["feedback", "experiment.id"], bots="drop").frame.collect()


def use_log(place):
    """Read a log, and make of it what can be made of one."""
    log = assay.read_events(place)
    tried = [
        lambda: assay.log_metrics(log), lambda: assay.log_metrics(log, by=["day", "variant"]), lambda: assay.user_table(log, ["ctr"], by=["variant"]),
        lambda: assay.sample_log(log, 2, redact=True), lambda: assay.ab_test(log, ["ctr"], control="A"),
        *(partial(assay.click_judgments, log, model, least=1) for model in ("ctr", "coec", "pbm")),
    ]  # fmt: skip
    for use in tried:
        with contextlib.suppress(AssayError):
            use()
    return log


def answer(place):
    """Read samples, and look at their texts by words."""
    with contextlib.suppress(AssayError):
        assay.answers(place, method="words")
    return read_samples(place)


def fuse(place):
    return assay.fuse([assay.read_run(place), assay.read_run(place)])


def roi(place):
    return assay.roi(place, revenue_per_query=1.0, queries_per_day=1000)


def experiment_data(place):
    """Read an experiment and the data that it names, of which one is damaged."""
    folder = place.parent
    kept = {"d.jsonl": jsonl(DOCUMENTS), "q.jsonl": jsonl(QUERIES), "qrels": QRELS.encode()}
    for name, data in kept.items():
        if name != place.name:
            (folder / name).write_bytes(data)
    experiment = place if place.suffix == ".toml" else folder / "whole.toml"
    if experiment != place:
        experiment.write_text(EXPERIMENT)
    return read_data(load_experiment(experiment))


def read_others(place):
    """Read a result as each command does that takes one."""
    for read in (read_system, read_calibration, read_costs, load_all, roi, lambda one: assay.ab_history([one])):
        with contextlib.suppress(AssayError):
            read(str(place))


def archived(name):
    return (ARCHIVE / name).read_bytes()


def schema2():
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "r.json"
        NEW.save(place)
        return place.read_bytes()


def judge_prompt(place):
    return judging.load_prompt(str(place), needed=("query", "document"))


def stage_prompt(place):
    return stages.load_prompt("answer", place, ("query", "passages"))


def ab_test(place):
    return assay.ab_test(place, ["clicks"], control="a").to_dict()


def validate(place):
    return assay.validate(place, human="human", methods=["overlap"], scores=["other"], n_resamples=5).to_dict()


def bodies(place):
    return read_bodies(Input.at(place).text, str(place))


def gate(place):
    return assay.gate_result(place, {"map": 0.1, "p95_ms": 5, "cost_per_query": 1}).to_dict()


def gate_by(place):
    return assay.gate(NEW, [str(place)]).to_dict()


def show(place):
    """Read a result, and show its tables in both languages."""
    read = read_result(place)
    for lang in ("en", "zh"):
        for part in read.parts.values():
            assay.show(part, lang=lang)
    return read


def set_with(place, **contents):
    """A set beside a file, in which that file takes the place of the one with its name and has its true hash."""
    folder = Path(place).parent / "set"
    shutil.rmtree(folder, ignore_errors=True)
    rows = [{"query_id": "q1", "text": "what is tea"}]
    assay.write_set(folder, queries=rows, documents={"d1": "Tea is hot."}, **contents)
    name = Path(place).name.removeprefix("set-")
    shutil.copy(place, folder / name)
    manifest = read_manifest(folder)
    if name != MANIFEST:
        files = {**manifest.files, name: replace(manifest.files[name], sha256=hash_of(folder / name))}
        write_manifest(folder, replace(manifest, files=files))
    return folder


def use_set(place):
    """Read all of a set with gold, nuggets and judgments, one of whose files is the given one."""
    judged = Judgments.from_dict({"q1": {"d1": 1}})
    found = assay.read_set(
        set_with(place, gold=GOLD[:1], nuggets=[{"query_id": "q1", "text": "hot"}], judgments=judged)
    )
    return found.queries, found.documents, found.spans, found.rows("nuggets"), found.judgments


def use_gold_as_judgments(place):
    return assay.read_judgments(set_with(place, gold=GOLD[:1]))


def use_hashes(place):
    """Read a set with hashes of documents that are beside it."""
    (Path(place).parent / "texts.jsonl").write_bytes(jsonl([{"doc_id": "d1", "text": "Tea is hot."}]))
    return read_collection(set_with(place, documents_at=Path(place).parent / "texts.jsonl"))


def passages(place):
    return list(open_collection(place)())


def other_folder(place):
    """A BEIR or AutoRAG set beside a file, in which that file takes the place of the one with its name."""
    folder = Path(place).parent / "other"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = Path(place).name.removeprefix("other-")
    files = AUTORAG if name.endswith(".parquet") else {"corpus.jsonl": jsonl(CORPUS), "queries.jsonl": jsonl(ASKED)}
    for one, data in files.items():
        (folder / one).write_bytes(data)
    shutil.copy(place, folder / name)
    return folder


def other_set(place):
    """Read a set of another tool, and write it as each of the others."""
    found = read_other_set(other_folder(place) if Path(place).name.startswith("other-") else place)
    for kind, name in {
        "beir": "b",
        "autorag": "a",
        "ragas": "r.csv",
        "llamaindex": "l.json",
        "llamaindex-rag": "e.json",
    }.items():
        write_other_set(found, Path(place).parent / name, kind)
    return found


def made_set(tmp, **contents):
    """The manifest of a set as bytes."""
    folder = Path(tmp) / "set"
    assay.write_set(
        folder, queries=[{"query_id": "q1", "text": "what is tea"}], documents={"d1": "Tea is hot."}, **contents
    )
    return (folder / MANIFEST).read_bytes()


def manifest_of_set():
    with TemporaryDirectory() as tmp:
        judged = Judgments.from_dict({"q1": {"d1": 1}})
        return made_set(tmp, gold=GOLD[:1], nuggets=[{"query_id": "q1", "text": "hot"}], judgments=judged)


CORPUS = [{"_id": "d1", "title": "Tea", "text": "Tea is hot."}, {"_id": "d2", "title": "", "text": "Rain."}]
ASKED = [{"_id": "q1", "text": "what is tea", "metadata": {"category": "fact"}}]


def engine_check(place):
    return assay.check({"q1": {"d1": 1}}, [str(place)], engine="local")


def engine_evaluate(place):
    return assay.evaluate({"q1": {"d1": 1}}, str(place), "map", engine="local")


def engine_answers(place):
    return assay.answer_tables(str(place), ["exact_match"], engine="local")


def score_folder(place):
    """Read a folder of scores, one of whose files is the given one; a part has the hash of the manifest."""
    folder = Path(place).parent / "scores"
    shutil.rmtree(folder, ignore_errors=True)
    assay.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}, "map", name="a", engine="local", folder=folder)
    if Path(place).name == "folder-manifest.json":
        (part,) = folder.glob("part-*")
        was = json.loads((folder / RESULT_OF_FOLDER).read_text())["tables"]["parts"][0]["file"]
        text = Path(place).read_bytes().replace(b"PART", was.encode()).replace(b"HASH", hash_of(part).encode())
        (folder / RESULT_OF_FOLDER).write_bytes(text)
    else:
        (part,) = folder.glob("part-*")
        text = (folder / RESULT_OF_FOLDER).read_bytes().replace(hash_of(part).encode(), hash_of(Path(place)).encode())
        shutil.copy(place, part)
        (folder / RESULT_OF_FOLDER).write_bytes(text)
    return read_result(folder)


def scores_manifest():
    with TemporaryDirectory() as tmp:
        assay.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}, "map", name="a", engine="local", folder=Path(tmp) / "s")
        (part,) = (Path(tmp) / "s").glob("part-*")
        text = (Path(tmp) / "s" / RESULT_OF_FOLDER).read_bytes()
        return text.replace(part.name.encode(), b"PART").replace(hash_of(part).encode(), b"HASH"), part.read_bytes()


MANIFEST_OF_SCORES, PART_OF_SCORES = scores_manifest()
AUTORAG = {
    "qa.parquet": parquet([{"qid": "q1", "query": "what is tea", "retrieval_gt": [["d1"], ["d2", "d3"]], "generation_gt": ["hot"]}], compression="uncompressed"),
    "corpus.parquet": parquet([{"doc_id": "d1", "contents": "Tea is hot.", "metadata": {"path": "a"}}], compression="uncompressed"),
}  # fmt: skip
TESTSET = [
    {
        "user_input": "what is tea",
        "reference_contexts": ["Tea is hot."],
        "reference": "hot",
        "synthesizer_name": "single",
    }
]
PAIRS = b'{"queries": {"q1": "what is tea"}, "corpus": {"d1": "Tea is hot."}, "relevant_docs": {"q1": ["d1"]}, "mode": "text"}'
EXAMPLES = b'{"examples": [{"query": "what is tea", "query_by": {"model_name": "m", "type": "ai"}, "reference_contexts": ["Tea is hot."], "reference_answer": "hot", "reference_answer_by": null}]}'

SHOWN = [
    {"query_id": "1", "client_id": "u", "user_query": "tea", "query_response_hit_ids": ["a", "b"],
     "query_attributes": {"interleaving": {"method": "team-draft", "teams": {"a": "A", "b": "B"}, "propensities": {"a": 0.5, "b": 0.5}}}},
    {"query_id": "2", "client_id": "v", "user_query": "tea", "query_response_hit_ids": ["a", "b"], "query_attributes": {"interleaving": {"teams": ["A", "B"]}}},
    {"query_id": "1", "action_name": "impression", "event_attributes": {"object": {"object_id": "a"}, "position": {"ordinal": 1}, "propensity": 0.25}},
    {"query_id": "1", "action_name": "click", "event_attributes": {"object": {"object_id": "a"}}},
]  # fmt: skip


PREFERENCES = [{"question_id": f"q{i}", "left": "ab"[i % 2], "right": "ba"[i % 2], "preferred": ("left", "right", "tie")[i % 3], "rater": "m"} for i in range(6)]  # fmt: skip
POOL = [{"query_id": f"q{i // 3}", "doc_id": f"d{i}", "query": "tea", "document": "Tea.", "inclusion": 1 / (1 + i % 3), "round": 1 + i % 2, "grade": i % 3} for i in range(9)]  # fmt: skip


def pool(place):
    """Read a list to judge whose rows have grades, draw again from what it says, and judge by it."""
    runs = {"a": {f"q{i}": {f"d{3 * i + j}": 3.0 - j for j in range(3)} for i in range(3)}}
    with contextlib.suppress(AssayError):
        assay.pool_judgments(runs, 2, method="sample", judgments=str(place))
    with contextlib.suppress(AssayError):
        evaluate_by(place)
    return read_drawn(place), read_rounds(place)


def evaluate_by(place):
    return assay.evaluate(str(place), {"q0": {"d0": 1.0}}, ["ndcg@10"])


def earlier(place):
    """Read what an earlier proposal left in a folder."""
    folder = place.parent / "made"
    folder.mkdir(exist_ok=True)
    shutil.copy(place, folder / "proposal.json")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    return read_earlier(folder, "x")


def replay(place, policy="uniform"):
    """Replay with rules under which six rows are enough."""
    return assay.replay(place, policy, rules=ReplayRules(least_ess=0.1, largest=1.0, least_weight=0.0))


def labels_log():
    """A log of three labels and an undoing."""
    with TemporaryDirectory() as tmp, assay.LabelStore(tmp) as store:
        store.add("pool", "relevance", ("q1", "d1"), 2, by="Ann", note="good")
        store.add("pairs", "preference", ("q1", "a", "b"), "tie", by="Bo", shown="a")
        store.add("pool", "relevance", ("q1", "d2"), "cannot_tell", by="Ann")
        store.undo("pool", by="Ann")
        return store.log.read_bytes()


def labels(place):
    """Read a log of labels, and open it as the workbench does."""
    folder = place.parent / "labels"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(place, folder / "labels.jsonl")
    with assay.LabelStore(folder) as store:
        for task in store.counts():
            assert all(one.undoes is None for one in store.current(task))
    return read_label_log(place)


def watch_journal():
    """The journal of a watch with a closed window and an open one."""
    with TemporaryDirectory() as tmp:
        place = Path(tmp) / "log.jsonl"
        place.write_bytes(jsonl(EVENTS))
        assay.watch_log(place, measures="any_click", state=Path(tmp) / "state")
        return (Path(tmp) / "state" / "journal").read_bytes()


def watch_state(place):
    """Open the state of a watch whose journal this is, as the next run does."""
    folder = place.parent / "state"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(place, folder / "journal")
    (place.parent / "empty.jsonl").touch()
    try:
        return assay.watch_log(place.parent / "empty.jsonl", measures="any_click", state=folder)
    finally:
        shutil.rmtree(folder)


def watch(place):
    """Watch an event log."""
    folder = place.parent / "watched"
    shutil.rmtree(folder, ignore_errors=True)
    return assay.watch_log(place, measures="any_click", state=folder)


def traces(place):
    found = assay.read_traces(place, attributes=["session.id", "gen_ai.prompt"], salt="grain of salt", redact=True)
    return found.samples, found.log(["session.id"]).frame.collect()


def packed_traces(place):
    return list(read_whole_traces(place))


TO_JUDGE = [{"query_id": "q1", "doc_id": "d1", "query": "tea", "document": "Tea is hot.", "priority": 1, "grade": None}]
TO_RATE = [{"query_id": "q1", "question": "tea?", "answer": "Tea is hot. Rain is wet.", "contexts": ["Tea is hot."]}]
A_RESULT = json.dumps(
    assay.compare(
        assay.evaluate({"q1": {"d1": 1}}, {"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d1": 1.0}}}, "map")
    ).to_dict()
).encode()


def on_desk(place, *others):
    """A folder of the workbench with one file, or two, as it lists them."""
    folder = Path(place).parent / "desk"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(place, folder)
    for name, text in others:
        (folder / name).write_bytes(text)
    return Workspace(folder)


def relevance_task(place):
    space = on_desk(place)
    return [read_relevance_task(space, file) for file in find_relevance_files(space)]


def rating_task(place):
    space = on_desk(place)
    return [read_rating_task(space, file) for file in space.files() if not file.fault]


def nugget_task(place):
    space = on_desk(place)
    return [
        (task, list(task.list_nuggets([])))
        for task in (read_nugget_task(space, file) for file in find_nugget_files(space))
    ]


def answer_with_nuggets(place):
    return assay.answers([{"id": "q1", "answer": "It is 80 degrees."}], method="words", nuggets=place)


def pair_task(place):
    space = on_desk(place, ("other.jsonl", jsonl([{**TO_RATE[0], "answer": "Cold."}])))
    first, second = space.files()
    return read_pair_task(space, first, second)


def history(place):
    return read_history(on_desk(place))


def judge_check(place):
    space = on_desk(place)
    files = [one.file for one in find_judged_files(space)] + find_files_of_people(space)
    return [people_of_file(space, file) for file in files]


def event_tables(place):
    with assay.read_event_tables(place, engine="local") as log:
        return assay.log_metrics(log, "clicks, ctr@10").to_dict()


def bad_requests(place):
    space = on_desk(place)
    return [read_bad_requests(space, file) for file in find_bad_files(space)]


def grow_set(place):
    """Add a query to a set, one of whose files is the given one."""
    return assay.add_query(set_with(place), {"query_id": "q9", "text": "is it new?"})


def growing_traces(place):
    """Read a file of traces as if it grew, keep what was read, and read that."""
    batch, position, _ = read_new_traces(place)
    read_new_traces(place, position, ended=True)
    for line in encode_lines(batch).splitlines():
        assert not decode_json(line).rejected
    waiting = OpenTraces()
    waiting.add(batch)
    return OpenTraces.from_bytes(waiting.to_bytes()).take_all() or batch


def sent_spans(place):
    """Decode what exporters send, as spans and as log records."""
    data = Path(place).read_bytes()
    with contextlib.suppress(Unreadable):
        decode_logs(data)
    try:
        batch = decode_traces(data)
    except Unreadable as error:
        raise InputError(error.message) from None
    for line in encode_lines(redact_texts(batch)).splitlines():
        assert not decode_json(line).rejected
    return assemble(batch.spans, batch.events)


def open_traces(place):
    return OpenTraces.from_bytes(Path(place).read_bytes()).take_all()


def stored_traces():
    waiting = OpenTraces()
    waiting.add(decode_json(otlp.lines(otlp.request(*otlp.rag())).encode()))
    return waiting.to_bytes()


MESSAGES = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "what is tea? mail a@b.example"}]}])
CHAT = otlp.span(5, {"gen_ai.operation.name": "chat", "gen_ai.input.messages": MESSAGES, "gen_ai.prompt.0.content": "x",
    "gen_ai.output.messages": [{"role": "assistant", "content": "hot"}], "gen_ai.response.time_to_first_chunk": 0.5},
    parent=1, status={"code": 2, "message": "no"}, events=[(0.5, "db.query.result", {"db.query.result.id": "d"})])  # fmt: skip
CALLS = otlp.lines(otlp.request(*otlp.rag()[:2]), otlp.request(*otlp.rag()[2:], CHAT), {"resourceLogs": [{"scopeLogs": [
    {"logRecords": [{"traceId": f"{1:032x}", "spanId": f"{5:016x}", "eventName": "gen_ai.choice", "timeUnixNano": "5",
                     "body": otlp.any_value({"message": {"content": "A."}})}]}]}]}).encode()  # fmt: skip


def run_progress(place):
    """How far a run is, with what the page makes of it."""
    found = assay.read_run_progress(place)
    chart = progress_view.chart(found)
    return progress_view.line(found), found.share, chart and chart.table, progress_view.write_money(found)


def progress_file() -> bytes:
    """A run of which one combination is done, one runs and one failed."""
    mean = {"estimate": 0.5, "low": 0.4, "high": 0.6, "confidence_level": 0.95, "method": "t", "n": 9}
    stages = [{"stage": "retrieve", "done": 3, "total": 9, "made": 1, "reused": 2}]
    rows = [
        {"name": "a", "state": "done", "stages": stages, "mean": mean, "ms_p95": 2.5, "cost_per_query": 0.1, "spent": 0.9},
        {"name": "b", "state": "running", "stage": "retrieve", "stages": stages, "unpriced": 2},
        {"name": "c", "state": "failed", "reason": "no more"},
    ]  # fmt: skip
    process = {"place": "here", "number": 7, "began": "12"}
    run = {"name": "tea", "state": "running", "began": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:01:00Z", "process": process, "combinations": rows}  # fmt: skip
    return json.dumps({"assay_run": run}).encode()


READERS = {
    "progress": (progress_file(), [run_progress]),
    "watch-journal": (watch_journal(), [watch_state]),
    "traces.jsonl": (CALLS, [traces, growing_traces, check, read_samples]),
    "traces.json": (json.dumps(otlp.request(*otlp.rag()), indent=1).encode(), [traces, check]),
    "traces.jsonl.gz": (gzip.compress(CALLS, 1), [traces, packed_traces]),
    "to-judge.jsonl": (jsonl(TO_JUDGE), [relevance_task, history]),
    "to-judge.csv": (csv(TO_JUDGE), [relevance_task]),
    "to-rate.jsonl": (jsonl(TO_RATE), [rating_task, pair_task, history]),
    "went-wrong.jsonl": (jsonl([{**TO_RATE[0], "why": "no_answer", "time": "2026-01-01T00:00:00"}]), [bad_requests]),
    "a-result.json": (A_RESULT, [history]),
    "spans.bin": (otlp.as_protobuf(*otlp.rag(), CHAT), [sent_spans]),
    "open-traces.bin": (stored_traces(), [open_traces]),
    "labels.jsonl": (labels_log(), [labels]),
    "folder-manifest.json": (MANIFEST_OF_SCORES, [score_folder]),
    "folder-part.parquet": (PART_OF_SCORES, [score_folder]),
    "testset.jsonl": (jsonl(TESTSET), [other_set]),
    "testset.csv": (csv([{"question": "what is tea", "contexts": "['Tea is hot.']", "ground_truth": "hot", "evolution_type": "simple"}]), [other_set]),
    "pairs.json": (PAIRS, [other_set]),
    "examples.json": (EXAMPLES, [other_set]),
    "other-corpus.jsonl": (jsonl(CORPUS), [other_set]),
    "other-queries.jsonl": (jsonl(ASKED), [other_set]),
    **{f"other-{name}": (data, [other_set]) for name, data in AUTORAG.items()},
    "qrels.txt": (QRELS.encode(), [assay.read_judgments, check]),
    "a.run": (RUN.encode(), [evaluate, assay.read_run, check, fuse]),
    "plain.qrels": (QRELS.replace("# judge: m\n", "").encode(), [assay.read_judgments]),
    "unclean.run": (b"\xef\xbb\xbf# a run\r\n" + RUN.replace(" ", " \t").replace("\n", "\r\n").encode(), [evaluate, assay.read_run]),
    "tags.long.run": (RUN.replace("\n", " of two words\n").encode(), [evaluate, assay.read_run]),
    "a.run.gz": (gzip.compress(RUN.encode(), 1), [evaluate, assay.read_run]),
    "run.jsonl": (jsonl(ROWS), [evaluate, check]),
    "grades.jsonl": (jsonl(GRADES), [assay.read_judgments, check]),
    "run.csv": (csv(ROWS), [evaluate]),
    "run.tsv": (csv(ROWS, "\t"), [evaluate]),
    "grades.csv": (csv(GRADES), [assay.read_judgments]),
    "checked.csv": (csv([{**one, "human": 1} for one in GRADES]), [judge_check]),
    "checked.jsonl": (jsonl([{**one, "human": 1} for one in GRADES]), [judge_check]),
    "beir.tsv": (csv([{"query-id": "q1", "corpus-id": "d1", "score": 1}], "\t"), [read_beir]),
    "run.json": (b'{"q1": {"d1": 2.5, "d2": 1}, "q2": ["d3", "d4"]}', [evaluate, assay.read_judgments, check]),
    "rows.json": (b"[" + jsonl(ROWS[:3]).strip().replace(b"\n", b",") + b"]", [evaluate]),
    "run.parquet": (parquet(ROWS, compression="uncompressed"), [evaluate]),
    "lake-run.parquet": (parquet(ROWS, compression="uncompressed"), [engine_check, engine_evaluate]),
    "lake-samples.jsonl": (jsonl([{"id": "1", "answer": "In 1889.", "reference": ["In 1889."]}, {"id": "2", "answer": None}]), [engine_answers]),
    "lake-samples.parquet": (parquet([{"id": "1", "answer": "In 1889.", "reference": ["In 1889."]}], compression="uncompressed"), [engine_answers]),
    "zstd.parquet": (parquet(GRADES), [assay.read_judgments]),
    "records.jsonl": (jsonl(RECORDS), [assay.read_records]),
    "lists.json": (b'{"a": [3, 1, 2, 0], "b": [1, 0, 2, 0]}', [assay.read_records]),
    "samples.jsonl": (jsonl(SAMPLES), [read_samples, check, answer]),
    "samples-nuggets.jsonl": (jsonl([{"id": "q1", "answer": "Hot.", "nuggets": [{"text": "hot", "importance": "vital"}, "80 degrees"]}]), [answer]),
    "samples.json": (b'{"samples": [' + jsonl(SAMPLES).strip().replace(b"\n", b",") + b"]}", [read_samples]),
    "samples.jsonl.gz": (gzip.compress(jsonl(SAMPLES), 1), [read_samples]),
    "documents.jsonl": (jsonl(DOCUMENTS), [read_documents, read_collection, passages]),
    "pairs.jsonl": (jsonl([{"query_id": "q", "doc_id": "d", "query": "tea", "document": "Tea."}]), [read_pairs]),
    "queries.jsonl": (jsonl(QUERIES), [read_queries]),
    "queries.tsv": (csv(QUERIES, "\t"), [read_queries]),
    "texts.tsv": (b"q1\twhat is tea\nq2\train\n", [read_queries, read_documents]),
    "d.jsonl": (jsonl(DOCUMENTS), [experiment_data]),
    "q.jsonl": (jsonl(QUERIES), [experiment_data]),
    "weights.json": (b'{"q1": 2, "q2": 1.5}', [lambda place: read_weights(str(place))]),
    "chunks.csv": (b"chunk_id,doc_id\nc1,d1\nc2,d1\n", [lambda place: read_chunk_map(str(place))]),
    "labels.json": (b'{"a": "first", "b": "second"}', [lambda place: read_labels(str(place))]),
    "shown.csv": (csv([{"item_id": "ab"[i % 2], "position": 1 + i % 3, "click": i % 2, "propensity_score": 0.5, "query": "tea"} for i in range(6)]), [replay]),
    "shown.ndjson": (jsonl(SHOWN), [replay, assay.interleaving_test, lambda place: replay(place, {"q": ["a"]})]),
    "ubi.ndjson": (jsonl(EVENTS), [events, events_with_attributes, check, use_log, watch, event_tables]),
    "ubi.ndjson.gz": (gzip.compress(jsonl(EVENTS), 1), [events]),
    "ubi.json": (b"[" + jsonl(EVENTS[1:]).strip().replace(b"\n", b",") + b"]", [events]),
    "clicks.csv": (csv(CLICKS), [events, check, watch]),
    "log.csv": (csv(LOG), [use_log]),
    "clicks.jsonl": (jsonl(CLICKS), [events, check, watch]),
    "clicks.parquet": (parquet(CLICKS, compression="uncompressed"), [events, check, event_tables]),
    "nested.parquet": (parquet([one for one in EVENTS[1:] if "_source" not in one]), [events, events_with_attributes]),
    "set-set.json": (manifest_of_set(), [use_set]),
    "set-queries.jsonl": (jsonl([{"query_id": "q1", "text": "is tea hot"}]), [grow_set]),
    "set-gold.jsonl": (jsonl(GOLD[:1]), [use_set, use_gold_as_judgments]),
    "nuggets.jsonl": (jsonl([{"qid": "q1", "query": "how hot", "nuggets": [{"text": "80 degrees", "importance": "vital"}, "hot"]}, {"query_id": 2, "text": "cold", "importance": "okay"}]), [assay.read_nuggets, nugget_task, answer_with_nuggets]),
    "set-nuggets.jsonl": (jsonl([{"query_id": "q1", "text": "hot"}]), [use_set]),
    "set-documents.jsonl": (jsonl([{"doc_id": "d1", "text": "Tea is hot."}]), [use_set]),
    "set-documents.hashes.jsonl": (jsonl([{"doc_id": "d1", "sha256": hash_of_text("Tea is hot."), "characters": 11}]), [use_hashes]),
    "page.html": (HTML.encode(), [read_collection]),
    "page.pdf": (pdf("Tea and rain"), [read_collection]),
    "page.md": (MARKDOWN.encode(), [read_collection]),
    "experiment.toml": (EXPERIMENT.encode(), [load_experiment, check, experiment_data]),
    "protocol.toml": ((Path(assay.__file__).parent / "analysis" / "protocols" / "rerank.toml").read_bytes(), [lambda place: assay.load_protocol(str(place))]),
    "costs.toml": (COSTS.encode(), [cost]),
    "prices.toml": (PRICES.encode(), [PriceTable.load]),
    "rules.toml": (RULES.encode(), [rules, check, gate_by]),
    "rubric.md": (RUBRIC.encode(), [read_rubric, lambda place: assay.parse(str(place))]),
    "scale.toml": (SCALE.encode(), [lambda place: load_rubric(str(place))]),
    "judge.md": (PROMPT.encode(), [judge_prompt]),
    "stage.md": (STAGE_PROMPT.encode(), [stage_prompt]),
    "gold.jsonl": (jsonl(GOLD), [lambda place: read_gold(place, {"d1": "Tea is hot."}), lambda place: read_gold_column(place, "doc_id")]),
    "split.tsv": (b"query_id\tsplit\nq1\ttrain\nq2\ttest\n", [read_training]),
    "clusters.csv": (b"query_id,cluster\nq1,a\nq2,a\n", [lambda place: read_clusters(str(place))]),
    "votes.jsonl": (jsonl(VERDICTS), [lambda place: read_votes(str(place)), check]),
    "reply.json": (json.dumps(replies.REPLY).encode(), [replies.ask, replies.measure]),
    "wrapped.json": (json.dumps(replies.WRAPPED).encode(), [replies.ask]),
    "chat.json": (json.dumps(replies.CHAT).encode(), [replies.ask, replies.measure]),
    "events.txt": (replies.EVENTS, [replies.ask_streaming, replies.measure]),
    "pieces.jsonl": (jsonl(replies.PIECES), [replies.ask_streaming, replies.measure]),
    "hits.json": (json.dumps(replies.HITS).encode(), [replies.search]),
    "results.json": (json.dumps(replies.RESULTS).encode(), [replies.search]),
    "app.toml": (replies.APP.encode(), [replies.app_file]),
    "body.json": (json.dumps(BODIES[0]).encode(), [replies.body_text]),
    "written.json": (json.dumps(replies.WRITTEN).encode(), [replies.written_question]),
    "verdicts.json": (json.dumps(replies.VERDICTS).encode(), [replies.passage_verdicts]),
    "preferences.jsonl": (jsonl(PREFERENCES), [assay.preferences]),
    "pool.jsonl": (jsonl(POOL), [pool, check]),
    "pool.csv": (csv(POOL), [pool]),
    "gold.csv": (csv(GOLD[1:]), [check]),
    "spans.jsonl": (jsonl(GOLD[1:]), [check]),
    "proposal.json": (b'{"digest": "x", "questions": 2, "seed": 0, "experiment": "y"}', [earlier]),
    "users.csv": (csv(USERS), [read_trial, ab_test]),
    "arms.jsonl": (jsonl(ARMS), [read_trial, ab_test]),
    "labelled.jsonl": (jsonl(LABELLED), [validate]),
    "bodies.jsonl": (jsonl(BODIES), [bodies]),
    "zscores.txt": (b"q1 map 0.5 0.1\nq1 P_10 0.2 0.1\n", [lambda place: read_zscores(str(place))]),
    "whole.qrels": (QRELS.replace("# judge: m\n", "").encode(), [lambda place: read_whole_grades(str(place))]),
    "tags.run": (RUN.encode(), [lambda place: last_tag(str(place)), run_name]),
    "model.safetensors": (safetensors(), [read_tensors]),
    "config.json": (CONFIG.encode(), [read_config]),
    "tokenizer.json": (TOKENIZER.encode(), [lambda place: load_tokenizer(str(place))]),
    "salt.txt": (b"a long salt\n", [lambda place: read_salt(f"@{place}")]),
    "key.txt": (b"abc-def\n", [lambda place: read_key(Path(place))]),
    "schema2.json": (schema2(), [read_result, read_systems, check, gate, show, assay.diagnose_result, load]),
    **{f"1-{name}": (archived(name), [read_result, read_systems, read_others]) for name in ("gate.json", "cost.json", "validate.json", "bench.json", "calibrate.json", "roi.json", "evaluate-weighted.json", "compare-lifts.json", "diagnose.json")},
}  # fmt: skip

# What made a reader fail with another error than ours, in its smallest form.
HALF_A_PAIR = manifest_of_set().replace(b"nuggets.jsonl", rb"\ud800")
LONG_NAME = manifest_of_set().replace(b"nuggets.jsonl", b"n" * 300)
FOUND = {
    "half a surrogate pair in the manifest of a set": ("set-set.json", HALF_A_PAIR, use_set),
    "a long name of a file of a set": ("set-set.json", LONG_NAME, use_set),
    "a long name of a part of a result": ("folder-manifest.json", READERS["folder-manifest.json"][0].replace(b"PART", b"a" * 300), score_folder),
    "half a surrogate pair as an id of records": ("r.jsonl", '{"query": "\\ud800", "retrieved": ["a"], "relevant": ["a"]}', assay.read_records),
    "half a surrogate pair in a result": ("r.json", '{"schema": 2, "version": "0.1.0", "command": "\\ud800"}', read_result),
    "objects as ranks": ("r.jsonl", '{"query_id": "q", "doc_id": "a", "score": 1, "rank": {}}\n{"query_id": "q", "doc_id": "b", "score": 1, "rank": 10000000000000000000000000000000000000000000}', check),
    "a number as tiers of a price": ("p.toml", 'price = [{vendor = "openai", model = "m", date = 2026-11-01, tiers = 3}]', PriceTable.load),
    "numbers among the tiers of a price": ("p.toml", 'price = [{vendor = "openai", model = "m", date = 2026-11-01, tiers = [3]}]', PriceTable.load),
    "a table as vendor of a price": ("p.toml", 'price = [{vendor = {a = 1}, model = "m", date = 2026-11-01, input = 1, output = 1}]', PriceTable.load),
    "a key of another kind of rule": ("g.toml", '[[rule]]\nmeasure = "map"\nnot_worse_than = "x"\nsure = true', rules),
    "lists of lists in a Parquet footer": ("p.parquet", b"PAR1" + b"\x19" * 3001 + (3001).to_bytes(4, "little") + b"PAR1", evaluate),
    "a list among the names of combinations": ("e.toml", 'only = [["a"]]\n[data]\ndocuments = "d"\n', load_experiment),
    "a text as seed": ("e.toml", 'seed = "a"\n[data]\ndocuments = "d"\nqueries = "q"\njudgments = "j"\n[retrieve]\nmethod = "bm25"', load_experiment),
    "costs beyond all numbers": ("c.toml", "[method.a]\nper_query = 1e308", cost),
    "a text as threads": ("c.toml", '[method.a]\nbench = "b.json"\nthreads = "x"\nmachine = 1', cost),
    "a table as currency": ("c.toml", "currency = {a = 1}\n[method.a]\nper_query = 1", cost),
    "a header and no rows": ("r.csv", "query_id,doc_id,score\n", check),
    "a column in two spellings": ("q.jsonl", '{"_id": "q1", "tExt": "tea"}\n{"_id": "q2", "text": "rain"}\n', read_queries),
    "a raised digit as grade": ("s.toml", 'name = "x"\n[grades]\n0 = "a"\n"²" = "b"\n', lambda place: load_rubric(str(place))),
    "a grade of five thousand digits": ("r.md", f"Good?\n\n- 0: no\n- {'9' * 5000}: yes\n", read_rubric),
    "brackets without end as a body": ("b.json", "[" * 100_000, bodies),
    "a body of five thousand digits": ("b.json", "9" * 5000, bodies),
    "a list as configuration of a model": ("config.json", "[1]", read_config),
    "brackets without end in the header of tensors": ("m.safetensors", (100_000).to_bytes(8, "little") + b"[" * 100_000, read_tensors),
    "users beyond all numbers": ("a.jsonl", '{"variant": "a", "measure": "clicks", "n": 1e999, "sum": 1, "sum_squares": 1}', read_trial),
    "sums of squares far from their sums": ("a.jsonl", '{"variant": "a", "measure": "clicks", "n": 100, "sum": 40, "sum_squares": 10000000000000000000}\n{"variant": "b", "measure": "clicks", "n": 100, "sum": 41, "sum_squares": 90}', ab_test),
    "a year of three digits": ("u.csv", "variant,day,clicks\na,026-11-01,1\nb,2026-11-01,2\na,2026-11-01,3\nb,2026-11-01,5\n", ab_test),
    "a score of four hundred digits": ("l.jsonl", '{"question": "q", "answer": "a", "contexts": ["a"], "human": 1' + "0" * 400 + ', "other": 1}', validate),
    "a time of forty digits": ("u.ndjson", '{"action_name": "click", "timestamp": 1735732899999999999999999999999999}', events),
    "half a surrogate pair in a list of events": ("u.json", '[{"action_name": "click", "query_id": "\\ud800"}]', events),
    "lists of lists as results": ("u.jsonl", '{"query_id": "q", "action": "query", "results": [[]]}', events),
    "a path that is too long for a file": ("e.toml", EXPERIMENT.replace("d.jsonl", "d" * 300), lambda place: read_data(load_experiment(place))),
    "a path of rules that is too long for a file": ("r.toml", f"[[rule]]\nmeasure = \"map\"\nnot_worse_than = \"{'d' * 300}\"\n", gate_by),
    "packed twice": ("a.run.gz", gzip.compress(b"\x1f\x8b" + RUN.encode(), 1), evaluate),
    "a query that begins like packed bytes": ("a.run", "x^2 Q0 d1 1 9e-1 t\n", evaluate),
    "a header that begins like packed bytes": ("a.csv", "x^,query_id,doc_id,score\n1,q1,d1,2\n", evaluate),
    "lists as grades of gold": ("set-gold.jsonl", '{"query_id": "q1", "doc_id": "d1", "text": "Tea", "grade": ["1"]}', use_gold_as_judgments),
    "a cost of four hundred digits in a reply": ("r.json", '{"answer": "Tea.", "cost": 1' + "0" * 400 + "}", replies.ask),
    "brackets without end in a stream": ("r.txt", "data: " + "[" * 100_000 + "\n\n", replies.measure),
    "a text among the hits of a search": ("h.json", '{"hits": {"hits": ["a"]}}', replies.search),
    "a list as the source of a hit": ("h.json", '{"hits": {"hits": [{"_id": "1", "_source": ["a"]}]}}', replies.search),
    "a score of four hundred digits in a search": ("h.json", '{"results": [{"id": "a", "score": 1' + "0" * 400 + "}]}", replies.search),
    "objects as grades of a pool": ("p.jsonl", '{"query_id": "q0", "doc_id": "d0", "inclusion": 1, "grade": {}}\n{"query_id": "q0", "doc_id": "d1", "inclusion": 1, "grade": 1}', pool),
    "objects as rounds of a pool": ("p.jsonl", '{"query_id": "q0", "doc_id": "d0", "inclusion": 1, "grade": 1, "round": {}}\n{"query_id": "q0", "doc_id": "d1", "inclusion": 1, "grade": 1, "round": 1}', pool),
    "half a bracket in the address of an application": ("app.toml", 'app = "http://[.0.0.1:9/ask"\n', replies.app_file),
    "a grade beyond all sums": ("q.txt", "q1 0 d1 1e308\nq1 0 d4 1e308\nq1 0 d5 1e308\n", lambda place: assay.evaluate(str(place), {"q1": {"d1": 2.0, "d4": 1.0, "d5": 0.5}}, ["ndcg"])),
    "a grade of a pool beyond all sums": ("p.jsonl", '{"query_id": "q0", "doc_id": "d0", "inclusion": 1, "grade": 1}\n{"query_id": "q0", "doc_id": "d1", "inclusion": 0.25, "grade": 1e308}', pool),
    "an object as judge of a pool": ("p.jsonl", '{"query_id": "q0", "doc_id": "d0", "inclusion": 1, "grade": 1, "judge": {"a": 1}}', pool),
    "brackets without end": ("r.txt", "[" * 100_000, check),
}  # fmt: skip
SECONDS = float(os.environ.get("ASSAY_FUZZ_SECONDS", "300"))
FOLDER = os.environ.get("ASSAY_FUZZ_FOLDER", "")
COPIES = 24


def seeds(name):
    yield from range(COPIES)
    if STRESS:
        yield from further_seeds(name, COPIES, SECONDS, Path(FOLDER) if FOLDER else None)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("name", READERS)
def test_damaged_files_raise_our_own_errors_only(tmp_path, name):
    data, readers = READERS[name]
    place = tmp_path / name.removeprefix("1-")
    strange = {}
    for seed in seeds(name):
        place.write_bytes(case(name, data, seed))
        for read in readers:
            try:
                read(place)
            except AssayError:
                pass
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                at = error.__traceback__
                while at.tb_next is not None:
                    at = at.tb_next
                where = f"{type(error).__name__} {at.tb_frame.f_code.co_filename.split('/assay/')[-1]}:{at.tb_lineno}"
                strange.setdefault(where, (seed, getattr(read, "__name__", read), str(error)[:80]))
    assert not strange, "\n".join(f"{where}: {found}" for where, found in strange.items())


def test_seeds_go_on_where_an_earlier_session_stopped_and_end_by_processor_time(tmp_path, monkeypatch):
    computed, clock = [0.0], [0.0]
    monkeypatch.setattr(fuzzing, "processor_seconds", lambda: computed[0])
    monkeypatch.setattr(fuzzing.time, "monotonic", lambda: clock[0])

    def take(name, seconds, folder, *, computing, waiting):
        for seed in further_seeds(name, 24, seconds, folder):
            computed[0] += computing
            clock[0] += computing + waiting
            yield seed

    assert list(take("a.run", 1.0, tmp_path, computing=0.25, waiting=0.5)) == [24, 25, 26, 27]
    assert json.loads((tmp_path / "a.run.json").read_text()) == {"next_seed": 28, "seconds": 1.0}
    assert list(take("a.run", 0.5, tmp_path, computing=0.25, waiting=0.0)) == [28, 29]
    assert json.loads((tmp_path / "a.run.json").read_text()) == {"next_seed": 30, "seconds": 1.5}
    waiting = list(take("b.run", 1.0, None, computing=0.0, waiting=1.0))  # for another process
    assert waiting == list(range(24, 24 + int(fuzzing.PATIENCE)))


@pytest.mark.parametrize("name", READERS)
def test_the_samples_themselves_are_read(tmp_path, name):
    data, readers = READERS[name]
    place = tmp_path / name.removeprefix("1-")
    place.write_bytes(data)
    assert readers[0](place) is not None


OPENING = {"Input.at", "read_toml", "read_text", "read_bytes", "memmap"}
# Functions that open files and need no damaged ones, with their reason.
ELSEWHERE = {
    "data of the package": {
        "wordlists.py", "html.py", "reference.py", "demonstration.py", "demo/__init__.py", "installation.py",
        "prices.py:_own_prices", "curation/question_calls.py:load", "judge/prompting.py:_read_builtin", "demo/log.py", "server/app.py:_load",
        "report/design/__init__.py:stylesheet",
    },
    "files of the system": {"claims.py", "measuring.py"},
    "what a checksum guards, tested in tests/pipeline and tests/llm": {"store.py", "runner.py", "bm25.py", "vectors.py"},
    "reads what load_result reads, which is here": {
        "gate_baselines.py:_earlier", "cost.py:_read_costs", "writing.py:read_result", "evidence.py:_result_at",
        "roi.py:_read_gain", "ab_history.py:_open",
    },
    "what the same journal wrote, whose sums are checked, tested in tests/online": {"online/watch.py:_open_feed", "watching/bad.py:write_bad", "watching/feeds.py:_decode"},
    "lines that the same watch wrote atomically, tested in tests/online/test_watch_evaluations.py": {"watching/outbox.py:_lines_of"},
    "what the same request wrote": {"workbench/relevance.py:send_judgments"},
    "reads what read_bodies reads, which is here": {"cli/bench.py:_bodies"},
    "what a hash guards, or the same job wrote, tested in tests/formats/test_score_folders.py": {
        "score_folders.py:_describe", "score_folders.py:_read_job", "score_folders.py:commit", "score_folders.py:read",
    },
    "copies files of a set whose hashes were just checked": {"split_sets.py"},
    "looks again at a file that was read": {"cli/wrong_files.py", "check_files.py:_prices", "cli/ab.py:_input", "cli/ab_output.py:_input", "trec/reading.py:locate", "trec/pieces.py:read_ahead", "results.py"},
}  # fmt: skip


def openers():
    """Functions of the package that open a file, as FILE:FUNCTION."""
    source = Path(assay.__file__).parent
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "testing" or not any(name in text for name in OPENING):
            continue
        for function in [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]:
            if any(_opens(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)):
                yield f"{path.relative_to(source).as_posix()}:{function.name}"


def _opens(called):
    if isinstance(called, ast.Name):
        return called.id in OPENING
    is_input = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "Input"
    return isinstance(called, ast.Attribute) and (called.attr in OPENING or (is_input and called.attr == "at"))


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_every_function_that_opens_a_file_is_fuzzed_or_has_its_reason(tmp_path, monkeypatch):
    ran = set()

    def noting(opens):
        def note(*args, **options):
            frame = sys._getframe(1)
            while frame is not None:
                if "/assay/" in frame.f_code.co_filename:
                    ran.add(f"{frame.f_code.co_filename.rpartition('/assay/')[2]}:{frame.f_code.co_name}")
                frame = frame.f_back
            return opens(*args, **options)

        return note

    monkeypatch.setattr(Input, "at", staticmethod(noting(Input.at)))
    for owner, opening in ((Path, "read_text"), (Path, "read_bytes"), (np, "memmap")):
        monkeypatch.setattr(owner, opening, noting(getattr(owner, opening)))
    for name, (data, readers) in READERS.items():
        place = tmp_path / name
        place.write_bytes(data)
        for read in readers:
            with contextlib.suppress(AssayError):
                read(place)
    excused = [one for names in ELSEWHERE.values() for one in names]
    missing = {one for one in openers() if one not in ran and not any(known in one for known in excused)}
    assert not missing, "\n".join(sorted(missing))


READING = ("read_", "load", "open_", "decode", "parse")
# Public functions that read what is no file of others, with their reason.
NO_READERS = {
    "data of the package": {"text.wordlists:read_lists", "text.static:load_wordllama", "judge.prompting:load_graded_prompt", "curation.question_calls:load"},
    "reads tensors, configuration and tokenizer, which are here": {"text.minilm:load_minilm"},
    "replies of a server, tested with hostile ones in tests/llm and tests/judge": {
        "llm.wire:read_completion", "llm.store:read_rows", "judge.support:read_verdicts",
    },
    "words of the command line and of the environment, tested in tests/test_long_texts.py": {
        "online.guardrails:read_guardrail", "online.click_judgments:read_cuts", "online.watching.outbox:read_headers",
    },
    "calls readers that are here": {"cli.inputs:read_judged", "cli.inputs:read_runs", "cli.reporting:load_named", "formats.trec.pieces:read_ahead", "analysis.result_difference:read_lists"},
    "passes bytes on as they come, tested with broken connections in tests/serving": {"serving.endpoints:read_parts"},
    "runs code by intention": {"pipeline.stages:load"},
    "messages of the library, and the address to listen on": {"formats.traces.otlp_protobuf:load_messages", "server.watching:read_address", "server.workbench.opening:open_workbench"},
    "a verb or a noun of its own": {"analysis.bench:load_name", "cli.options:read_once", "cli.progress:loads", "grounding.answerability:read_answerable"},
}  # fmt: skip


def public_readers():
    """Public functions of the package that read something, as MODULE:FUNCTION, with what they run."""
    source = Path(assay.__file__).parent
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(READING):
                yield f"{module}:{node.name}"


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_every_public_reader_is_fuzzed_or_has_its_reason(tmp_path):
    source = str(Path(assay.__file__).parent) + os.sep
    ran = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(source):
            ran.add((frame.f_code.co_filename, frame.f_code.co_name))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for name, (data, readers) in READERS.items():
            place = tmp_path / name.removeprefix("1-")
            place.write_bytes(data)
            for read in readers:
                with contextlib.suppress(AssayError):
                    read(place)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    fuzzed = {f"{file.removeprefix(source).removesuffix('.py').replace(os.sep, '.')}:{name}" for file, name in ran}
    missing = set(public_readers()) - fuzzed - {one for names in NO_READERS.values() for one in names}
    assert not missing, "\n".join(sorted(missing))


@pytest.mark.parametrize(("name", "data", "read"), FOUND.values(), ids=FOUND)
def test_what_was_found_raises_nothing_but_our_own_errors(tmp_path, name, data, read):
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    strange = None
    try:
        read(tmp_path / name)
    except AssayError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ours
        strange = error
    assert strange is None


def test_a_path_that_is_too_long_for_a_file_is_a_finding_of_check(tmp_path):
    (tmp_path / "e.toml").write_text(EXPERIMENT.replace("d.jsonl", "d" * 300))
    assert check(tmp_path / "e.toml")
