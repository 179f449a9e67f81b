"""Readers meet damaged files of every format and raise `AssayError` only.

Each reader takes a few dozen copies, always the same ones; with ASSAY_STRESS=1 more for five minutes each
(ASSAY_FUZZ_SECONDS). What made a reader fail otherwise is kept in `FOUND`.
"""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path

import pytest

import assay
from assay.analysis.check_files import check_files
from assay.analysis.gate_rules import read_rules
from assay.analysis.stored import read_systems
from assay.errors import AssayError
from assay.formats.documents import read_documents, read_pairs
from assay.formats.files import Input, read_toml
from assay.formats.queries import read_queries
from assay.formats.reading import read_chunk_map, read_labels, read_weights
from assay.formats.results import load_result
from assay.formats.samples import read_samples
from assay.judge.criteria import read_rubric
from assay.llm.prices import PriceTable
from assay.pipeline.documents import read_collection
from assay.pipeline.experiment import load_experiment
from conftest import STRESS
from fuzzing import (
    CLICKS,
    COSTS,
    DOCUMENTS,
    EVENTS,
    EXPERIMENT,
    GRADES,
    HTML,
    MARKDOWN,
    PRICES,
    QRELS,
    QUERIES,
    RECORDS,
    ROWS,
    RUBRIC,
    RULES,
    RUN,
    SAMPLES,
    case,
    csv,
    jsonl,
    parquet,
    pdf,
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


def archived(name):
    return (ARCHIVE / name).read_bytes()


def schema2():
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "r.json"
        NEW.save(place)
        return place.read_bytes()


READERS = {
    "qrels.txt": (QRELS.encode(), [assay.read_judgments, check]),
    "a.run": (RUN.encode(), [evaluate, assay.read_run, check]),
    "a.run.gz": (gzip.compress(RUN.encode(), 1), [evaluate, assay.read_run]),
    "run.jsonl": (jsonl(ROWS), [evaluate, check]),
    "grades.jsonl": (jsonl(GRADES), [assay.read_judgments, check]),
    "run.csv": (csv(ROWS), [evaluate]),
    "run.tsv": (csv(ROWS, "\t"), [evaluate]),
    "grades.csv": (csv(GRADES), [assay.read_judgments]),
    "beir.tsv": (csv([{"query-id": "q1", "corpus-id": "d1", "score": 1}], "\t"), [read_beir]),
    "run.json": (b'{"q1": {"d1": 2.5, "d2": 1}, "q2": ["d3", "d4"]}', [evaluate, assay.read_judgments, check]),
    "rows.json": (b"[" + jsonl(ROWS[:3]).strip().replace(b"\n", b",") + b"]", [evaluate]),
    "run.parquet": (parquet(ROWS, compression="uncompressed"), [evaluate]),
    "zstd.parquet": (parquet(GRADES), [assay.read_judgments]),
    "records.jsonl": (jsonl(RECORDS), [assay.read_records]),
    "lists.json": (b'{"a": [3, 1, 2, 0], "b": [1, 0, 2, 0]}', [assay.read_records]),
    "samples.jsonl": (jsonl(SAMPLES), [read_samples, check]),
    "samples.json": (b'{"samples": [' + jsonl(SAMPLES).strip().replace(b"\n", b",") + b"]}", [read_samples]),
    "samples.jsonl.gz": (gzip.compress(jsonl(SAMPLES), 1), [read_samples]),
    "documents.jsonl": (jsonl(DOCUMENTS), [read_documents, read_collection]),
    "pairs.jsonl": (jsonl([{"query_id": "q", "doc_id": "d", "query": "tea", "document": "Tea."}]), [read_pairs]),
    "queries.jsonl": (jsonl(QUERIES), [read_queries]),
    "queries.tsv": (csv(QUERIES, "\t"), [read_queries]),
    "weights.json": (b'{"q1": 2, "q2": 1.5}', [lambda place: read_weights(str(place))]),
    "chunks.csv": (b"chunk_id,doc_id\nc1,d1\nc2,d1\n", [lambda place: read_chunk_map(str(place))]),
    "labels.json": (b'{"a": "first", "b": "second"}', [lambda place: read_labels(str(place))]),
    "ubi.ndjson": (jsonl(EVENTS), [events, events_with_attributes, check]),
    "ubi.ndjson.gz": (gzip.compress(jsonl(EVENTS), 1), [events]),
    "ubi.json": (b"[" + jsonl(EVENTS[1:]).strip().replace(b"\n", b",") + b"]", [events]),
    "clicks.csv": (csv(CLICKS), [events, check]),
    "clicks.jsonl": (jsonl(CLICKS), [events, check]),
    "clicks.parquet": (parquet(CLICKS, compression="uncompressed"), [events, check]),
    "nested.parquet": (parquet([one for one in EVENTS[1:] if "_source" not in one]), [events, events_with_attributes]),
    "page.html": (HTML.encode(), [read_collection]),
    "page.pdf": (pdf("Tea and rain"), [read_collection]),
    "page.md": (MARKDOWN.encode(), [read_collection]),
    "experiment.toml": (EXPERIMENT.encode(), [load_experiment, check]),
    "protocol.toml": ((Path(assay.__file__).parent / "analysis" / "protocols" / "rerank.toml").read_bytes(), [lambda place: assay.load_protocol(str(place))]),
    "costs.toml": (COSTS.encode(), [cost]),
    "prices.toml": (PRICES.encode(), [PriceTable.load]),
    "rules.toml": (RULES.encode(), [rules]),
    "rubric.md": (RUBRIC.encode(), [read_rubric]),
    "schema2.json": (schema2(), [read_result, read_systems, check]),
    **{f"1-{name}": (archived(name), [read_result, read_systems]) for name in ("gate.json", "cost.json", "validate.json", "bench.json", "calibrate.json", "roi.json", "evaluate-weighted.json", "compare-lifts.json", "diagnose.json")},
}  # fmt: skip

# What made a reader fail with another error than ours, in its smallest form.
FOUND = {
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
    "a time of forty digits": ("u.ndjson", '{"action_name": "click", "timestamp": 1735732899999999999999999999999999}', events),
    "half a surrogate pair in a list of events": ("u.json", '[{"action_name": "click", "query_id": "\\ud800"}]', events),
    "lists of lists as results": ("u.jsonl", '{"query_id": "q", "action": "query", "results": [[]]}', events),
    "brackets without end": ("r.txt", "[" * 100_000, check),
}  # fmt: skip
SECONDS = float(os.environ.get("ASSAY_FUZZ_SECONDS", "300"))
COPIES = 40


def seeds(name):
    yield from range(COPIES)
    end = time.monotonic() + SECONDS
    seed = COPIES
    while STRESS and time.monotonic() < end:
        seed += 1
        yield seed


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


@pytest.mark.parametrize("name", READERS)
def test_the_samples_themselves_are_read(tmp_path, name):
    data, readers = READERS[name]
    place = tmp_path / name.removeprefix("1-")
    place.write_bytes(data)
    assert readers[0](place) is not None


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
