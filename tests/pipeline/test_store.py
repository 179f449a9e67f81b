"""The cache of experiments: what is damaged is done again and never believed, what was paid for is never lost."""

from __future__ import annotations

import errno
import json
import random
import re
import shutil
from pathlib import Path

import pytest

import assay
from assay.errors import InputError
from assay.pipeline.store import Store, key_of
from assay.testing import Answer, FakeLLM
from assay.text.segmentation import segmenter
from experiments import SHORT_DOCUMENTS, short_experiment

KEPT = Path(__file__).parents[1] / "archive" / "stage-cache"
STAGES = ("chunk", "index", "search", "fuse", "rerank", "generate")
WORDS = ("tea", "rain", "stone", "river", "paper", "light", "train", "milk", "noon", "hand", "black", "green")


# What earlier versions kept ---------------------------------------------------------------------------------------


def kept_by_an_earlier_version(place):
    if segmenter() != "rjieba":
        pytest.skip("the kept cache has the words of rjieba, which is not installed")
    shutil.copytree(KEPT, place, dirs_exist_ok=True)
    return place / "experiment.toml", place / "cache"


def numbers(found):
    return {
        row.name: {label: row.quality[label].mean.estimate for label in ("ndcg@3", "recall@1")}
        | {"cost_per_query": row.cost_per_query}
        for row in found.findings.combinations
    }


def test_a_cache_of_an_earlier_version_is_used_in_full_and_its_server_is_not_asked(tmp_path):
    path, cache = kept_by_an_earlier_version(tmp_path)
    expected = json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))
    for _ in range(2):  # as it was written, and as the first reading left it
        found = assay.run_experiment(path, cache=cache)  # nobody listens on the port that experiment.toml names
        assert (found.done, found.damaged) == ({}, {})
        assert found.reused == {"chunk": 2, "search": 24, "fuse": 6, "rerank": 12, "generate": 18}
        assert numbers(found) == expected


def test_what_an_earlier_version_kept_is_sealed_when_it_is_read(tmp_path):
    path, cache = kept_by_an_earlier_version(tmp_path)
    assay.run_experiment(path, cache=cache)
    for file in cache.rglob("*.json"):
        if "index" not in file.parts:
            assert file.read_bytes().startswith(b'{"checksum":"')
    shutil.rmtree(cache / "search")  # so that the indexes are loaded
    assert set(assay.run_experiment(path, cache=cache).done) == {"search"}
    assert all(folder.suffix == ".sealed" for folder in (cache / "index").glob("*/*"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "{}",
        lambda text: "[1]" if text.startswith("[[") else text.replace('"chunks":[', '"chunks":[999,', 1),
        lambda text: text.replace("1", "x", 1),
    ],
    ids=["cut", "no rows", "an object", "other rows", "no number"],
)
def test_an_entry_of_an_earlier_version_that_makes_no_sense_is_done_again(tmp_path, damage):
    path, cache = kept_by_an_earlier_version(tmp_path)
    expected = json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))
    for stage in ("chunk", "search", "fuse"):
        victim = next((cache / stage).glob("*/*.json"))
        victim.write_text(damage(victim.read_text(encoding="utf-8")), encoding="utf-8")
    found = assay.run_experiment(path, cache=cache)
    assert found.damaged == {"chunk": 1, "search": 1, "fuse": 1}
    assert numbers(found) == expected
    assert assay.run_experiment(path, cache=cache).damaged == {}


def test_an_index_of_an_earlier_version_that_fits_other_chunks_is_built_again(tmp_path):
    path, cache = kept_by_an_earlier_version(tmp_path)
    shutil.rmtree(cache / "search")
    indexes = {}
    for folder in (cache / "index").glob("*/*"):
        indexes.setdefault((folder / "vectors.npy").is_file(), []).append(folder)
    for one, other in indexes.values():  # whole documents and pieces of them: swap what the indexes hold
        for name in ("vectors.npy", "data.npy", "indices.npy", "indptr.npy", "vocabulary.json"):
            if (one / name).is_file():
                held = (one / name).read_bytes()
                (one / name).write_bytes((other / name).read_bytes())
                (other / name).write_bytes(held)
    found = assay.run_experiment(path, cache=cache)
    assert found.damaged == {"index": 4}
    assert numbers(found) == json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))


# Damage of every kind ---------------------------------------------------------------------------------------------


def flip(data, rng):
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def truncate(data, rng):
    return data[: rng.randrange(len(data))]


def zero(data, rng):
    place = rng.randrange(len(data))
    return data[:place] + bytes(len(data[place : place + 512])) + data[place + 512 :]


def digit(data, rng):
    places = [found.start() for found in re.finditer(rb"\d", data)]
    if not places:
        return flip(data, rng)
    place = rng.choice(places)
    other = rng.choice([sign for sign in b"0123456789" if sign != data[place]])
    return data[:place] + bytes([other]) + data[place + 1 :]


def empty(data, rng):
    del data, rng
    return b""


def another_shape(data, rng):
    del data
    return rng.choice([b"[]", b"{}", b"null", b"[[]]", b'{"checksum":"0","value":[]}', b"[1, 2", b"\xff\xfe"])


WAYS = (flip, truncate, zero, digit, empty, another_shape, None)  # None: the file is deleted


def write_experiment(place, url):
    rng = random.Random(3)

    def lines(rows):
        return "".join(json.dumps(row) + "\n" for row in rows)

    docs = {f"d{i}": ". ".join(" ".join(rng.choices(WORDS, k=6)) for _ in range(3)) for i in range(20)}
    queries = {f"q{i}": " ".join(rng.choices(WORDS, k=3)) for i in range(40)}  # two blocks of queries
    (place / "d.jsonl").write_text(lines({"doc_id": k, "text": v} for k, v in docs.items()), encoding="utf-8")
    (place / "q.jsonl").write_text(lines({"query_id": k, "text": v} for k, v in queries.items()), encoding="utf-8")
    judged = "".join(f"{q} 0 {d} {rng.randrange(3)}\n" for q in queries for d in rng.sample(sorted(docs), 5))
    (place / "j.qrels").write_text(judged, encoding="utf-8")
    shutil.copy(KEPT / "kept_stages.py", place)
    approximate = (
        '[[retrieve]]\nname = "near"\nmethod = "vectors"\nembedder = "kept_stages:letters"\nsearch = "usearch"\n'
    )
    try:
        from assay.pipeline.vectors import _usearch

        _usearch()
    except assay.AssayError:
        approximate = ""
    path = place / "e.toml"
    path.write_text(
        '[data]\ndocuments = "d.jsonl"\nqueries = "q.jsonl"\njudgments = "j.qrels"\n'
        '[chunk]\nmethod = "sentence"\nsize = 40\n'
        '[[retrieve]]\nmethod = "bm25"\n[[retrieve]]\nmethod = "hybrid"\nembedder = "kept_stages:letters"\n'
        + approximate
        + '[rerank]\nmethod = "llm-pointwise"\nmodel = "grader"\ndepth = 3\n'
        '[generate]\nmethod = "llm"\nmodel = "writer"\ncontexts = 2\n'
        f'[evaluate]\nmeasures = ["ndcg@10", "recall@3"]\n[llm]\nurl = "{url}"\n',
        encoding="utf-8",
    )
    return path


def reply(request):
    text = request.text
    if request.body["model"] == "grader":
        return Answer(json.dumps({"grade": len(text) % 11}), usage={"prompt_tokens": 50, "completion_tokens": 5})
    return Answer(f"It is {text.count('a')}.", usage={"prompt_tokens": 60, "completion_tokens": 7})


def told(found):
    """Everything that an experiment says and that does not come from a clock."""
    return [
        (
            outcome.combination.name,
            outcome.reason,
            [(hits.chunks, hits.scores, hits.tokens, hits.money) for hits in outcome.hits],
            [sample.answer for sample in outcome.samples or ()],
            [tuple(chunk) for chunk in outcome.chunks],
            outcome.index.chunks,
            {label: quality.mean.estimate for label, quality in row.quality.items()},
        )
        for outcome, row in zip(found.outcomes, found.findings.combinations, strict=True)
    ]


def test_no_damage_of_the_cache_changes_a_number(tmp_path, stress):
    rng = random.Random(11)
    whole, cache = tmp_path / "whole", tmp_path / "cache"
    with FakeLLM(reply) as server:
        path = write_experiment(tmp_path, server.url)
        expected = told(assay.run_experiment(path, cache=whole))
        paid = len(server.requests)
        files = {stage: sorted(file for file in (whole / stage).rglob("*") if file.is_file()) for stage in STAGES}
        assert all(files.values())
        turns = [(stage, way) for stage in STAGES for way in WAYS]
        rng.shuffle(turns)
        noticed, count = 0, 1000 if stress else 18
        for number in range(count):
            stage, way = turns[number % len(turns)]
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(whole, cache)
            victim = cache / rng.choice(files[stage]).relative_to(whole)
            data = victim.read_bytes()
            if stage == "index":
                shutil.rmtree(cache / "search")  # so that the indexes are loaded
            if way is None:
                victim.unlink()
            else:
                victim.write_bytes(way(data, rng))
            found = assay.run_experiment(path, cache=cache)
            changed = not victim.is_file() or victim.read_bytes() != data
            assert told(found) == expected, f"{way} in {victim}"
            noticed += sum(found.damaged.values())
            if way is None and stage != "index":  # a value that is not there is no damage: it is made
                assert found.done[stage] == 1
            elif changed or sum(found.damaged.values()):
                assert found.damaged == {stage: 1}, f"{way} in {victim}"
                assert found.done[stage] == 1
            again = assay.run_experiment(path, cache=cache)
            assert (again.done, again.damaged) == ({}, {})
            assert told(again) == expected
        assert noticed >= 0.7 * count
        assert len(server.requests) == paid  # replies that were paid for come from the cache of the client


# The store by itself ----------------------------------------------------------------------------------------------


def kept(store, stage="search", key=None):
    key = key or key_of("x")
    assert store.values(stage, key, lambda: ([[1, 2], {"a": 0.1}], True)) == [[1, 2], {"a": 0.1}]
    return next((store.folder / stage).rglob(f"{key}.json"))


def test_a_value_under_the_name_of_another_is_not_believed(tmp_path):
    store = Store(tmp_path)
    one, other = kept(store, key=key_of("one")), kept(store, key=key_of("other"))
    other.write_bytes(one.read_bytes())
    assert store.values("search", key_of("other"), lambda: ([5], True)) == [5]
    assert store.damaged == {"search": 1}


@pytest.mark.parametrize("sign", ["0", "x"])
def test_a_checksum_that_is_itself_damaged_is_not_believed(tmp_path, sign):
    store = Store(tmp_path)
    place = kept(store)
    text = place.read_text(encoding="utf-8")
    at = text.index('":"') + 3
    place.write_text(text[:at] + sign * 8 + text[at + 8 :], encoding="utf-8")
    assert store.values("search", key_of("x"), lambda: ([5], True)) == [5]
    assert store.values("search", key_of("x"), lambda: ([6], True)) == [5]
    assert store.damaged == {"search": 1}


def test_a_damaged_value_stays_until_there_is_another(tmp_path):
    store = Store(tmp_path)
    place = kept(store)
    place.write_bytes(place.read_bytes()[:-3])
    assert store.values("search", key_of("x"), lambda: ([5], False)) == [5]  # not to be kept
    assert store.values("search", key_of("x"), lambda: ([6], True)) == [6]
    assert store.damaged == {"search": 2}
    assert Store(tmp_path).values("search", key_of("x"), lambda: ([7], True)) == [6]


def test_a_value_with_half_a_surrogate_pair_is_kept(tmp_path):
    store = Store(tmp_path)
    assert store.values("generate", "ab", lambda: (["half \ud83d"], True)) == ["half \ud83d"]
    assert store.values("generate", "ab", lambda: ([], True)) == ["half \ud83d"]


def read(folder):
    return (folder / "x").read_text(encoding="utf-8")


def fill(folder):
    (folder / "x").write_text("held", encoding="utf-8")
    (folder / "y").write_text("more", encoding="utf-8")


def test_a_folder_that_lacks_its_checksums_is_not_believed(tmp_path):
    store = Store(tmp_path)
    store.keep_folder("index", "abc", fill)
    assert store.load_folder("index", "abc", read) == "held"
    next(tmp_path.rglob("checksums.json")).unlink()
    assert store.load_folder("index", "abc", read) is None
    assert store.damaged == {"index": 1}
    store.keep_folder("index", "abc", fill)
    assert store.load_folder("index", "abc", read) == "held"


def test_only_the_files_that_are_read_are_checked(tmp_path):
    store = Store(tmp_path)
    store.keep_folder("index", "abc", fill)
    next(tmp_path.rglob("y")).write_text("less", encoding="utf-8")
    assert store.load_folder("index", "abc", read, only=["x"]) == "held"
    assert store.load_folder("index", "abc", read) is None


def test_a_folder_that_cannot_be_read_now_is_no_damage_and_stays(tmp_path):
    store = Store(tmp_path)
    store.keep_folder("index", "abc", fill)

    def load(folder):
        raise OSError(errno.EMFILE, "Too many open files", str(folder / "x"))

    with pytest.raises(InputError, match=r"abc\.sealed: the cache cannot be read: Too many open files"):
        store.load_folder("index", "abc", load)
    for error in (RuntimeError("no memory"), AttributeError("another version of a package")):

        def load(folder, error=error):
            del folder
            raise error

        with pytest.raises(type(error)):
            store.load_folder("index", "abc", load)
    assert store.damaged == {}
    assert store.load_folder("index", "abc", read) == "held"


def test_a_value_that_cannot_be_read_now_is_no_damage_and_stays(tmp_path, monkeypatch):
    store = Store(tmp_path)
    kept(store)

    def fail(path):
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        with pytest.raises(InputError, match="the cache cannot be read: Too many open files"):
            store.values("search", key_of("x"), lambda: ([5], True))
    assert store.damaged == {}
    kept(store)
    assert store.reused == {"search": 1}


def test_a_folder_that_another_process_has_healed_is_not_removed(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    one.keep_folder("index", "abc", fill)
    turns = []

    def load(folder):
        if not turns:  # meanwhile the other process finds the damage and makes the index again
            turns.append(folder)
            (folder / "x").write_text("bad!", encoding="utf-8")
            assert other.load_folder("index", "abc", read) is None
            other.keep_folder("index", "abc", fill)
            raise ValueError("not the index of these chunks")
        return read(folder)

    assert one.load_folder("index", "abc", load) == "held"
    assert one.damaged == {}
    assert [path.name for path in (tmp_path / "index" / "ab").iterdir()] == ["abc.sealed"]


def test_a_folder_that_another_process_is_sealing_is_no_damage(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    bare = tmp_path / "index" / "ab" / "abc"
    bare.mkdir(parents=True)
    fill(bare)

    def load(folder):
        other.load_folder("index", "abc", read)
        return read(folder)

    assert one.load_folder("index", "abc", load) == "held"
    assert (one.damaged, other.damaged) == ({}, {})


def test_a_value_that_cannot_be_used_is_not_kept(tmp_path):
    def check(found):
        if not found:
            raise ValueError("no rows")

    for _ in range(2):
        store = Store(tmp_path)
        assert store.values("chunk", "abc", lambda: ([], True), check=check) == []
        assert (store.done, store.damaged) == ({"chunk": 1}, {})

        with pytest.raises(TypeError):
            store.values("search", "abc", lambda: ([1], True), lambda plain: [len(row) for row in plain])
        assert list(tmp_path.rglob("*.json")) == []


def test_work_is_used_where_the_cache_cannot_be_written_and_said_once(tmp_path, caplog):
    (tmp_path / "file").write_text("", encoding="utf-8")
    store, filled = Store(tmp_path / "file"), []
    assert store.values("generate", "abc", lambda: ([1], True)) == [1]
    assert store.values("generate", "abd", lambda: ([2], True)) == [2]
    store.keep_folder("index", "abc", lambda folder: filled.append(fill(folder)))
    assert store.done == {"generate": 2, "index": 1}
    assert filled
    place = tmp_path / "file" / "generate" / "ab" / "abc.json"
    assert [record.getMessage() for record in caplog.records] == [
        f"the cache of stages cannot be written, so finished work is not kept: {place}: Not a directory"
    ]


def test_an_experiment_whose_cache_cannot_be_written_has_all_its_numbers(tmp_path):
    with FakeLLM(reply) as server:
        path = write_experiment(tmp_path, server.url)
        expected = told(assay.run_experiment(path, cache=tmp_path / "cache"))
        (tmp_path / "file").write_text("", encoding="utf-8")
        found = assay.run_experiment(path, cache=tmp_path / "file")
    assert told(found) == expected
    assert all(outcome.index.bytes > 0 for outcome in found.outcomes)


def test_a_chunker_that_makes_no_chunk_is_named(tmp_path):
    with FakeLLM(reply) as server:
        path = write_experiment(tmp_path, server.url)
    (tmp_path / "cutters.py").write_text("def nothing(text):\n    return []\n", encoding="utf-8")
    text = path.read_text(encoding="utf-8").replace('method = "sentence"\nsize = 40', 'method = "cutters:nothing"')
    path.write_text(text, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(assay.UsageError, match="the chunker made no chunk"):
            assay.run_experiment(path, cache=tmp_path / "cache")


def test_the_command_says_in_one_line_what_was_damaged(tmp_path, call):
    rng = random.Random(5)
    with FakeLLM(reply) as server:
        path = write_experiment(tmp_path, server.url)
        code, out, err = call("run", str(path), "--brief", "--cache", "c")
        assert code == 0, err
        assert "amaged" not in err
        for stage in ("search", "rerank"):
            for victim in list((tmp_path / "c" / stage).rglob("*.json"))[:2]:
                victim.write_bytes(flip(victim.read_bytes(), rng))
        for kind in ("table", "json"):
            code, again, err = call("run", str(path), "--brief", "--cache", "c", "--format", kind)
            assert code == 0, err
            said = [line for line in err.splitlines() if "amaged" in line]
            if kind == "table":
                assert said == ["Damaged cache entries were found and computed again: rerank 2, search 2."]
                figures = re.compile(r"\d\.\d{4}")
                assert figures.findall(again) == figures.findall(out)
            else:
                assert said == []


def test_answers_made_from_the_order_of_a_failed_reranking_are_not_kept_for_the_right_order(tmp_path):
    broken = True

    def served(received):
        text = received.text
        if '"grade"' not in text:
            return f"station first: {text.find('station') < text.find('steamed')}"
        if broken and "station" in text:
            return Answer(body={"choices": []})
        return json.dumps({"grade": 9 if "station" in text else 1})

    body = '[rerank]\nmethod = "llm-pointwise"\n[generate]\nmethod = "llm"\n[llm]\nurl = "URL"\nmodel = "smollm2-135m"\nbackoff = 0.01\n'
    with FakeLLM(served) as server:
        path = short_experiment(tmp_path, body.replace("URL", server.url))
        assay.run_experiment(path)
        broken = False
        again = assay.run_experiment(path)
        assert assay.run_experiment(path).done == {}
    sample = next(iter(again.outcomes[0].samples))
    assert sample.contexts[0].text == SHORT_DOCUMENTS["b"]
    assert sample.answer == "station first: True"
