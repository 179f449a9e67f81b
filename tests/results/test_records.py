"""Records are stored and read back whole, show themselves, and become frames; a damaged file names the place."""

from __future__ import annotations

import copy
import json
import re
import string
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import assay
from assay.data.record import Record
from assay.data.scores import Column, Counts, Scores
from assay.data.status import STATUSES
from assay.errors import InputError
from assay.messages import Said, say, tell
from assay.results.codec import decode, encode, read_json, write_json
from assay.results.comparison import Comparison, Rules
from assay.results.conclusion import Conclusion
from assay.results.parts import all_parts
from assay.results.result import decode_result, encode_result, make_result
from parts import SAMPLES_OF_PARTS

TEXTS = st.text(string.ascii_letters + "@ 中文%\"'<", max_size=8)
MESSAGES = st.builds(
    lambda n, some: say("doubt.missing", n=n, fate=say("fate.zero"), some=some), st.integers(0, 9), TEXTS
)
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: value + 0.0)
PARTS = all_parts()


def values(hint: Any, depth: int = 0) -> st.SearchStrategy:  # noqa: PLR0911 - one kind of type each
    """Values of a type as records declare them."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is type(None):
        return st.none()
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return (
            st.lists(values(args[0], depth + 1), max_size=2).map(tuple)
            if args[-1] is ...
            else st.tuples(*(values(arg, depth + 1) for arg in args))
        )
    if origin in {Mapping, dict}:
        return st.dictionaries(values(args[0]), values(args[1], depth + 1), max_size=2)
    if origin in {Union, type(int | str)}:
        return st.one_of(*(values(arg, depth) for arg in args))
    if is_dataclass(hint):
        return records(hint, depth + 1)
    known = {str: st.one_of(TEXTS, MESSAGES), float: NUMBERS, int: st.integers(0, 10**6), bool: st.booleans()}
    return known.get(hint, st.just({}))


def records(kind: type, depth: int = 0) -> st.SearchStrategy:
    """Records of any class: each field has a value of its type; those that contradict themselves are left out."""
    hints = get_type_hints(kind)
    stored = [one for one in fields(kind) if one.metadata.get("stored", True)]

    @st.composite
    def build(draw):
        for _ in range(40):
            given_values = {one.name: draw(values(hints[one.name], depth)) for one in stored}
            try:
                return kind(**given_values)
            except (ValueError, assay.AssayError):
                continue
        return draw(st.nothing())

    return build()


def comparisons() -> st.SearchStrategy:
    """Comparisons whose parts fit together."""
    hints = get_type_hints(Comparison)

    @st.composite
    def build(draw):
        systems = tuple(draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True)))
        measures = tuple(draw(st.lists(TEXTS, min_size=1, max_size=2, unique=True)))
        contrast = get_args(hints["contrasts"])[0]
        interval = values(get_args(get_args(hints["means"])[1])[0])
        return Comparison(
            systems[0], systems, measures, draw(st.integers(0, 99)), Rules(seed=draw(st.integers(0, 9))),
            {label: tuple(draw(interval) for _ in systems) for label in measures},
            tuple(replace(draw(records(contrast)), system=name, measure=label) for label in measures for name in systems[1:]),
            conclusions=tuple(Conclusion(one, len(systems), systems[:1], 0.5) for one in measures), warnings=draw(values(tuple[str, ...])),
        )  # fmt: skip

    return build()


def question_sets() -> st.SearchStrategy:
    """Sets of questions whose counts add up, which counts drawn at random hardly ever do."""
    kind = PARTS["questions"].record
    hints = get_type_hints(kind)

    @st.composite
    def build(draw):
        found = {one.name: draw(values(hints[one.name])) for one in fields(kind) if one.metadata.get("stored", True)}
        return kind(**found | {"drawn": len(found["questions"]) + sum(one.fell for one in found["filters"])})

    return build()


def strategy(name: str) -> st.SearchStrategy:
    special = {"comparison": comparisons, "questions": question_sets}
    return special[name]() if name in special else records(PARTS[name].record)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_record_of_every_part_is_read_back_as_it_was_written(name):
    @settings(max_examples=settings.default.max_examples // 3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy(name))
    def check(record):
        plain = read_json(write_json(encode(record)))
        again = decode(plain, type(record), place=name)
        assert again == record
        assert encode(again) == encode(record)

    check()


def test_messages_are_read_back_as_messages():
    record = replace(small(), warnings=(say("doubt.missing", n=2, fate=say("fate.zero"), some="q1, q2"), "plain"))
    again = decode(read_json(write_json(encode(record))), Comparison, place="comparison")
    assert [type(text) for text in again.warnings] == [Said, str]
    assert (again.warnings[0].key, again.warnings[0].values["n"]) == ("doubt.missing", 2)


@pytest.mark.parametrize(
    "stored",
    [
        {"key": "no.such", "values": {}, "text": "as it was"},
        {"key": "doubt.missing", "values": {}, "text": "as it was"},
        {"key": "doubt.missing", "values": [], "text": "as it was"},
        {"key": 5, "values": {"n": 1}, "text": "as it was"},
    ],
)
def test_a_message_that_cannot_be_said_is_the_text_it_was(stored):
    assert read_json(json.dumps([stored])) == ["as it was"]


# Scores --------------------------------------------------------------------------------------------------------------


@st.composite
def all_scores(draw):
    """Scores of any shape, with gaps, weights and statuses."""
    queries = draw(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
    labels = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    shape = (len(queries), len(labels))
    cells = st.one_of(st.just(np.nan), st.floats(0, 1, allow_nan=False))
    table = np.array(draw(st.lists(cells, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))).reshape(shape)
    codes = np.array(
        [[0 if not np.isnan(value) else draw(st.integers(1, 6)) for value in row] for row in table], dtype=np.uint8
    )
    weights = draw(
        st.one_of(st.none(), st.lists(st.floats(0.5, 9), min_size=shape[0], max_size=shape[0]).map(np.array))
    )
    columns = tuple(replace(draw(records(Column)), label=label) for label in labels)
    order = np.argsort(queries)
    return Scores(
        draw(TEXTS), [queries[i] for i in order], columns, table[order], codes[order],
        {label: draw(records(Counts)) for label in labels}, assay.load_protocol("trec"),
        weights=None if weights is None else weights[order], judgments=draw(TEXTS), warnings=draw(values(tuple[str, ...])),
        notes=draw(values(tuple[str, ...])), judge=draw(TEXTS), embedder=draw(TEXTS),
    )  # fmt: skip


@settings(max_examples=settings.default.max_examples, deadline=None, suppress_health_check=list(HealthCheck))
@given(all_scores())
def test_scores_are_read_back_as_they_were_written(scores):
    plain = read_json(write_json(encode_result(make_result(scores))))
    (again,) = decode_result(plain).systems
    assert again == scores
    assert plain["metrics"] == plain["systems"][0]["metrics"]


def test_metrics_stand_at_the_top_where_there_is_one_system():
    one, two = (assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["map"], name=name) for name in ("one", "two"))
    assert encode_result(make_result(one))["metrics"] == {one.labels[0]: 1.0}
    assert "metrics" not in encode_result(make_result([one, two]))


def test_a_result_knows_the_models_that_were_really_used():
    from assay.results.experiment import Findings, Quality, Row
    from assay.stats.intervals import Interval

    mean = Interval(0.5, 0.4, 0.6, 0.95, "t", 9)
    chosen = {
        "retrieve": {"method": "hybrid", "embedder": "wordllama"},
        "generate": {"method": "llm", "model": "qwen-plus"},
    }
    rows = (Row("a", "done", stages_chosen=chosen, quality={"map": Quality(mean)}), Row("b", "failed", "no such model"))
    found = Findings(rows, "map", ("map",), "a", "a")
    assert make_result(found).origin.models == {"retrieve embedder": "wordllama", "generate model": "qwen-plus"}


def test_absolute_paths_are_not_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path.parent):
        (folder / "judged.qrels").write_text("q 0 a 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 1 a\n")
    for judged, named in (
        (tmp_path / "judged.qrels", "judged.qrels"),
        (tmp_path.parent / "judged.qrels", "judged.qrels"),
    ):
        scores = assay.evaluate(str(judged), str(tmp_path / "a.run"), ["map"])
        plain = encode_result(make_result(scores, command=f"assay evaluate {judged} x={tmp_path / 'a.run'} -m map"))
        assert [(one["role"], one["path"]) for one in plain["inputs"]] == [("judgments", named), ("run", "a.run")]
        assert plain["command"] == f"assay evaluate {named} x=a.run -m map"
        assert str(tmp_path.parent) not in json.dumps(plain)


def test_statuses_are_one_table():
    assert STATUSES == ("scored", "missing", "undefined", "unjudged", "abstained", "not_applicable", "failed")


# Damage ---------------------------------------------------------------------------------------------------------------


def small() -> Comparison:
    lists = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "x": 1.0}}}
    return assay.compare(
        [assay.evaluate({"q": {"x": 1}}, run, ["ndcg@10", "map"], name=name) for name, run in lists.items()]
    )


def places(plain: Any, trail: tuple = ()):
    """Every place in plain values."""
    yield trail
    steps = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for step, inner in steps:
        yield from places(inner, (*trail, step))


def put(plain: Any, trail: tuple, value: Any) -> Any:
    if not trail:
        return value
    found = copy.copy(plain)
    found[trail[0]] = put(plain[trail[0]], trail[1:], value)
    return found


def read(text: str):
    """The result in a text, or the error that it ends in."""
    try:
        return decode_result(read_json(text, path="r.json"), path="r.json")
    except InputError as error:
        return error


@pytest.mark.parametrize("value", [5, -1.5, "text", None, [], {}, [[]], {"x": 1}, True, "1e999", 10**30])
def test_whatever_stands_in_whatever_place_a_file_is_read_or_refused_in_one_line(value):
    plain = json.loads(write_json(encode_result(make_result(small()))))
    for trail in places(plain):
        text = json.dumps(put(plain, trail, value)).replace('"1e999"', "1e999")
        found = read(text)
        if isinstance(found, InputError):
            assert str(found).startswith("r.json: ") and "\n" not in str(found)
        else:
            assert all(isinstance(record.to_rows(), list) for record in (found, *found.every(Comparison)))


@pytest.mark.parametrize(
    ("trail", "value", "told"),
    [
        (("comparison", "contrasts", 0, "wins"), "3", "comparison.contrasts[0].wins: expected int, got str"),
        (("systems", 0, "name"), 5, "systems[0].name: expected str, got int"),
        (
            ("per_query", "values", "a", "ndcg@10"),
            [1.0, 2.0],
            "per_query.values.ndcg@10: there is not one value for each query",
        ),
        (("systems", 1, "counts"), {}, "systems[1].counts: the labels are not those of metrics"),
        (("comparison", "baseline"), "b", "the baseline must be the first system"),
        (("inputs",), "x", "inputs: expected array, got str"),
        (("schema",), 3, "the file has schema 3"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(trail, value, told):
    plain = json.loads(write_json(encode_result(make_result(small()))))
    with pytest.raises(InputError, match=r"^r\.json") as error:
        decode_result(read_json(json.dumps(put(plain, trail, value))), path="r.json")
    assert told in str(error.value)
    assert not re.search("expected|must|there is|the ", tell(error.value.message, "zh"))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"schema": 2, "seed": NaN}',
        '{"schema": 2, "schema": 2}',
        "{",
        '{"schema": 2, "seed": ' + "9" * 5000 + "}",
    ],
)
def test_hostile_json_ends_in_one_line(text):
    with pytest.raises(InputError, match=r"^r\.json.*not valid JSON") as error:
        read_json(text, path="r.json")
    assert "\n" not in str(error.value)


# What records offer ---------------------------------------------------------------------------------------------------


def test_a_comparison_becomes_frames_tables_and_a_file(tmp_path):
    found = small()
    assert found.to_polars().columns == list(found.to_pandas().columns)
    assert found.to_polars()["mean"].to_list() == [
        found.mean(s, m).estimate for m in found.measures for s in found.systems
    ]
    assert "\\begin{tabular}" in found.to_latex() and "| " in found.to_markdown()
    assert found._repr_html_().count("<table>") >= 2
    found.save(tmp_path / "c.json")
    result = assay.read_result(tmp_path / "c.json")
    assert [scores.name for scores in result] == ["a", "b"]
    assert decode_result(read_json((tmp_path / "c.json").read_text(encoding="utf-8"))).part(Comparison) == found


def test_scores_show_themselves_and_are_saved(tmp_path):
    scores = assay.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["ndcg@10"], name="<b>")
    assert "&lt;b&gt;" in scores._repr_html_() and "<b>" not in scores._repr_html_()
    scores.save(tmp_path / "s.json")
    assert assay.read_result(tmp_path / "s.json") == [replace(scores, inputs=())]


@pytest.mark.parametrize("name", sorted(PARTS))
def test_every_part_has_a_view_and_the_methods_of_a_record(name):
    from importlib import import_module

    module = import_module(f"assay.report.views.{PARTS[name].view}")
    assert callable(module.line) and callable(module.table)
    assert issubclass(PARTS[name].record, Record)
    assert PARTS[name].record.to_rows is not Record.to_rows


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_record_prints_its_class_and_one_sentence(name):
    record = SAMPLES_OF_PARTS[name]()
    said = " ".join(assay.show(record, level="line").split())
    assert repr(record) == str(record) == f"<{type(record).__name__}: {said}>"
    assert len(repr(record)) < 260
    result = make_result(record)
    assert repr(result) == f"<Result: {said}>"


def test_a_record_that_cannot_be_shown_prints_its_class():
    class Odd(Record):
        pass

    assert repr(Odd()) == "<Odd>"


def test_a_stored_comparison_is_shown_without_computing_anything(tmp_path, monkeypatch):
    import assay.stats.intervals
    from assay.analysis import compare as module
    from assay.analysis.report_data import report_data
    from assay.report.document import write
    from assay.report.views.result import pages as report

    found = small()
    found.save(tmp_path / "c.json")
    result = decode_result(read_json((tmp_path / "c.json").read_text(encoding="utf-8")))

    def refuse(*_args, **_options):
        raise AssertionError("computed again")

    for name in ("sign_flip", "paired_t", "mean_intervals", "relative_interval", "decide"):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(assay.stats.intervals, "mean_intervals", refuse)
    assert "0.6309" in write(report(report_data([result])), "table")
    assert "0.6309" in assay.show(result)


@pytest.mark.parametrize(
    ("verdict", "passes", "strictly"), [("ok", True, True), ("unclear", True, False), ("over", False, False)]
)
def test_a_bench_passes_unless_a_limit_is_passed_or_under_strict_rules_may_be(verdict, passes, strictly, monkeypatch):
    bench = SAMPLES_OF_PARTS["bench"]()
    monkeypatch.setattr(type(bench), "verdict", verdict)
    assert (bench.passes(), bench.passes(strict=True)) == (passes, strictly)
