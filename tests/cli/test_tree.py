"""The tree of commands: one screen of help, examples that run, former names that say where they went."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
from unittest.mock import patch

import click
import pytest

import workplace
from assay.cli import COMMANDS, FORMER, app
from assay.cli.pages import fold, texts_of
from assay.cli.parameters import Number, WordChoice, owners_of
from assay.cli.tree import GROUPS
from assay.report.tables import width
from assay.testing import FakeLLM
from assay.text.weights import find_minilm
from assay.wordings import LANGUAGES, texts
from net.making import JUDGED
from question_writer import judge_or_write

KEPT = next(JUDGED.glob("*.sqlite"))


def walk(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        found += [one for name, inner in command.commands.items() for one in walk(inner, f"{path} {name}")]
    return found


ALL = [
    one
    for name in (*COMMANDS, *FORMER)
    for one in walk(app.get_command(click.Context(app), name), name)  # type: ignore[arg-type]
]
PATHS = [path for path, _ in ALL]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_help_of_the_program_fits_on_one_screen(lang, call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = call("--help", "--lang", lang)
    assert code == 0
    assert len(out.splitlines()) <= 40
    assert max(map(width, out.splitlines())) <= 100
    assert call("--lang", lang)[1] == out


def test_every_command_has_a_module_and_a_place_in_a_group():
    assert len(COMMANDS) == len(set(COMMANDS)) == sum(len(names) for _, names in GROUPS)
    for name in COMMANDS:
        assert importlib.import_module(f"assay.cli.{name}").command.name == name
    assert not set(COMMANDS) & set(FORMER)


@pytest.mark.parametrize(("path", "command"), ALL, ids=PATHS)
def test_every_parameter_is_explained_in_both_languages(path, command):
    missing = [key for key in texts_of(command) for lang in LANGUAGES if key not in texts(lang)]
    assert missing == []


def test_no_explanation_is_of_an_option_that_is_gone():
    used = {key for _, command in ALL for key in texts_of(command)}
    kept = {key for key in texts("en") if key.startswith("option.")}
    assert kept - used - {"option.help", "option.version", "option.lang"} == set()


@pytest.mark.parametrize("path", PATHS)
def test_the_help_of_every_command_ends_with_an_example(path, call):
    code, out, _ = call(*path.split(), "--help")
    head, _, examples = out.rpartition("Examples:\n")
    assert (code, bool(head)) == (0, True)
    assert all(line.startswith("  assay ") for line in examples.splitlines())
    assert path in {"measures", "protocols"} or call("help", *path.split()[:2])[1] == out or path.count(" ") > 1


@pytest.mark.parametrize("path", ["version", "help"])
def test_words_that_people_type_are_understood(path, call):
    code, out, err = call(path)
    assert (code, err) == (0, "")
    assert out == call("--version" if path == "version" else "--help")[1]


@pytest.mark.parametrize(
    ("topic", "shown"),
    [("ndcg", "ndcg"), ("P_10", "precision"), ("rag", "rag:"), ("formats", "Files that Assay reads"), ("measures", "measure"),
     ("protocols", "protocol"), ("compare", "Usage: assay compare"), ("sweep", "Usage: assay sweep")],
)  # fmt: skip
def test_help_knows_measures_protocols_formats_and_commands(topic, shown, call):
    code, out, _ = call("help", topic)
    assert (code, out.startswith(shown)) == (0, True)


def test_help_of_an_unknown_topic_names_what_is_like_it(call):
    code, out, err = call("help", "ndgc")
    assert (code, out) == (2, "")
    assert err.startswith("assay: unknown topic 'ndgc'; did you mean ndcg")
    assert "answers: " in call("help", "protocols", "answers")[1]


# Examples ------------------------------------------------------------------------------------------------------------

DASHSCOPE, OLLAMA, WEB = (
    "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "http://127.0.0.1:11434/v1",
    "http://127.0.0.1:8000",
)
SLOW = {
    "embedder=minilm": "embedder=minilm --runs 2 --candidates 3",
    "--seconds 60": "--seconds 0.1",
    "--threads 1,4 --seconds 30": "--threads 1,2 --seconds 0.1",
    "--ramp 5:80x5 --seconds 30": "--ramp 50:100x2 --seconds 0.2",
    "--rate 20 --fail-over p95=300": "--rate 100 --runs 20 --fail-over p95=300",
    "first_token_p95=500": "first_token_p95=500 --runs 20",
    "search --throughput": "search --throughput --seconds 0.1",
}
# Elsewhere: the net runs the demo, tests/text fetches a model, tests/server runs what listens, and does not end, tests/spark
# what needs a cluster, tests/test_systems_page what asks an application about a set that was made before.
ELSEWHERE = (
    "assay demo",
    "assay env models get",
    "assay serve",
    "--listen",
    "docs-results/",
    "--engine spark",
    "--master spark:",
)
NO = ("assay gate", "assay check", "assay bench", "assay log watch")  # an example may well be told no


def examples() -> list[str]:
    found = [line.replace(" \\\n", " ") for name, command in ALL if name not in FORMER for line in command.examples]
    return [line for line in dict.fromkeys(found) if not any(words in line for words in ELSEWHERE)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples") / "all"
    folder.mkdir()
    workplace.fill(folder)
    return folder


@pytest.fixture(scope="module")
def servers():
    with FakeLLM(judge_or_write) as judge, workplace.web_server() as web:
        yield judge.url, web


@pytest.fixture
def run_example(filled, servers, tmp_path, call, monkeypatch):
    """Run an example of the help in a folder that has the files it names."""
    judge, web = servers
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    kept = {"XDG_CACHE_HOME": str(tmp_path / ".home"), "RERANK_KEY": "k", "ASSAY_BASE_URL": judge, "ASSAY_LANG": "en"}

    def run(line):
        if "minilm" in line and find_minilm() is None:
            pytest.skip("minilm is not here")
        for old, new in {DASHSCOPE: f"{judge} --prices prices.toml", OLLAMA: judge, WEB: web, **SLOW}.items():
            line = line.replace(old, new)
        if line.startswith("assay log watch") and "--once" not in line:
            line += " --once"  # it would follow the log
        with patch.dict(os.environ, kept):
            if "env cache" in line:
                (tmp_path / ".home" / "assay").mkdir(parents=True)
                for place in (tmp_path / ".home" / "assay" / "llm.sqlite", tmp_path / "judging.sqlite"):
                    shutil.copy(KEPT, place)
            words = [name for word in shlex.split(line) for name in globbed(word, tmp_path)]
            return call(*words[1:])

    return run


@pytest.mark.parametrize("line", examples())
def test_an_example_of_the_help_runs(line, run_example):
    code, out, err = run_example(line)
    assert code in ({0, 1} if line.startswith(NO) else {0}), err
    assert out or err


def globbed(word, folder):
    return sorted(path.name for path in folder.glob(word)) if word.startswith("*") else [word]


@pytest.mark.parametrize("name", ["ab", "log", "env cache"])
@pytest.mark.parametrize("more", [[], ["--lang", "en"]])
def test_a_group_without_a_command_shows_its_page(name, more, call):
    code, out, _ = call(*name.split(), *more)
    assert code == 0
    assert out.startswith(f"Usage: assay {name} [OPTIONS] [COMMAND] ...\n\n")


# Every command that reads an event log takes it as it is: the options are those of one group.
@pytest.mark.parametrize("name", ["log metrics", "log judgments", "log sample", "ab analyse", "convert"])
def test_commands_that_read_event_logs_read_them_alike(name):
    spelled = {one for param in dict(ALL)[name].params for one in param.opts}
    assert {"--map", "--first-position", "--drop-bots", "--fold-variants", "--encoding"} <= spelled


# Former names and options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMER)
def test_a_former_name_is_hidden_and_says_where_it_went(name, call):
    assert f"  {name} " not in call("--help")[1]
    code, out, _ = call(name, "--help")
    assert code == 0
    assert f"Usage: assay {name}" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sweep qrels.txt one.run --k 1,3", "assay sweep is now: assay evaluate --sweep K,K,..."),
        ("explain qrels.txt one.run q00", "assay explain is now: assay evaluate --explain QUERY"),
        ("measures ndcg", "assay measures is now: assay help"),
        ("fuse one.run two.run --method combsum --k 3 -o f.run", "--method is now: --by"),
        ("cost --method x,per_query=1", "--method is now: --variant"),
    ],
)
def test_one_line_says_where_a_name_or_an_option_went(line, said, call, two_systems):
    _, _, err = call(*line.split())
    assert [one for one in err.splitlines() if "is now:" in one] == [said]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sweep qrels.txt one.run two.run --k 1,3 -m recall", "evaluate qrels.txt one.run two.run --sweep 1,3 -m recall"),
        ("explain qrels.txt one.run q00 -m map", "evaluate qrels.txt one.run --explain q00 -m map"),
        ("measures map", "help map"),
        ("protocols rag", "help rag"),
        ("protocols", "help protocols"),
        ("models", "env models"),
        ("roi --gain 0.2 --cost-per-query 0.1 --queries-per-day 9 --revenue-per-query 1",
         "cost --roi --gain 0.2 --cost-per-query 0.1 --queries-per-day 9 --revenue-per-query 1"),
        ("cost --method x,per_query=1", "cost --variant x,per_query=1"),
    ],
)  # fmt: skip
def test_a_former_name_prints_what_the_name_of_today_prints(old, new, call, two_systems):
    was, now = call(*old.split()), call(*new.split())
    assert was[:2] == now[:2]
    assert was[1]


# Options -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "evaluate qrels.txt one.run -m map",
        "evaluate qrels.txt one.run --sweep 1,3",
        "compare qrels.txt one.run two.run -m map",
        "diagnose qrels.txt one.run",
        "gate qrels.txt one.run --fail-under map=0.1",
        "cost --variant x,per_query=1",
        "cost --roi --gain 0.2 --cost-per-query 0.1 --queries-per-day 9 --revenue-per-query 1",
    ],
)
def test_output_writes_a_file_and_prints_the_table_unless_it_should_be_quiet(line, call, two_systems):
    table = call(*line.split())[1]
    code, out, err = call(*line.split(), "-o", "o.json")
    assert (code, out, err.splitlines()[-1]) == (0, table, "wrote o.json")
    assert (two_systems / "o.json").read_text(encoding="utf-8").startswith("{")
    code, out, err = call(*line.split(), "-o", "q.json", "--quiet")
    assert (code, out, err) == (0, "", "")
    assert facts(two_systems / "q.json") == facts(two_systems / "o.json")


WRITERS = [path for path, command in ALL if {"-o", "--output"} & {text for one in command.params for text in one.opts}]


def test_every_command_that_writes_a_file_can_be_quiet():
    loud = [path for path, command in ALL if path in WRITERS and "--quiet" not in spellings(command)]
    assert loud == ["demo"]  # which is there to be read


def spellings(command):
    return {text for one in command.params for text in one.opts}


def shortest_examples():
    """The shortest example of every command that can be quiet, without those that ask for something to be printed."""
    found = []
    for path, command in ALL:
        asked = ("--dry-run", "--format", "--list", "--chart", " -- ")
        lines = [one for one in command.examples if one.startswith(f"assay {path} ") and not any(map(one.count, asked))]
        found += sorted(lines, key=len)[:1] if "--quiet" in spellings(command) and path not in FORMER else []
    return found


@pytest.mark.parametrize("line", shortest_examples())
def test_a_quiet_command_prints_nothing(line, run_example):
    code, out, err = run_example(f"{line} -q")
    assert (code in {0, 1}, out, err) == (True, "", "")


def test_a_quiet_command_prints_the_format_that_is_asked_for_and_no_notes(call, two_systems):
    line = ["compare", "qrels.txt", "one.run", "two.run", "-m", "map", "--brief", "--format", "latex"]
    loud, still = call(*line), call(*line, "-q")
    assert (still[0], still[1], still[2]) == (0, loud[1], "")
    assert loud[2]
    assert call(*line, "-q", "-o", "table.tex") == (0, "", "")  # the file has it already


def facts(place):
    return {
        name: one
        for name, one in json.loads(place.read_text(encoding="utf-8")).items()
        if name not in {"command", "date"}
    }


def test_format_is_what_is_printed_and_the_suffix_what_is_written(call, two_systems):
    line = ["evaluate", "qrels.txt", "one.run", "-m", "map"]
    printed = {kind: call(*line, "--format", kind)[1] for kind in ("table", "csv", "latex", "markdown")}
    _, out, _ = call(*line, "--format", "csv", "-o", "o.md")
    assert (out, (two_systems / "o.md").read_text(encoding="utf-8")) == (printed["csv"], printed["markdown"])
    for name in ("o", "o.txt", "o.data"):  # such a suffix says nothing
        _, out, _ = call(*line, "--format", "latex", "-o", name)
        assert (out, (two_systems / name).read_text(encoding="utf-8")) == (printed["latex"], printed["latex"])


def test_the_output_says_that_the_first_system_is_the_baseline_unless_one_is_named(call, two_systems):
    line = ["compare", "qrels.txt", "two.run", "one.run", "-m", "map"]
    assert "Baseline: two, the first given; --baseline names another." in call(*line)[1]
    assert "the first given" not in call(*line, "--baseline", "two")[1]
    assert "the first given" not in call(*line, "--all-pairs")[1]


def test_measures_are_listed_with_commas(call, two_systems):
    measures = "ndcg(gain='exp', ideal='full')@10,map,P.1,3"
    _, out, _ = call("evaluate", "qrels.txt", "one.run", "-m", measures)
    assert out.split("\n")[0].split() == ["system", "ndcg@10", "map", "P.1", "P.3"] or "map" in out.split("\n")[0]


def test_an_option_without_the_one_it_belongs_to_is_refused(call, two_systems):
    code, out, err = call("evaluate", "qrels.txt", "one.run", "--recall-target", "0.5")
    assert (code, out) == (2, "")
    assert (
        err
        == "assay: --recall-target only works with --sweep: add that, or leave --recall-target out (see: assay evaluate --help)\n"
    )


def typed(option: click.Parameter) -> list[str]:
    value = (
        "1"
        if isinstance(option.type, Number)
        else option.type.choices[0]
        if isinstance(option.type, WordChoice)
        else "x"
    )
    return [option.opts[-1]] if option.is_flag else [option.opts[-1], value]


OWNED = [(path, one) for path, command in ALL if path not in FORMER for one in command.params if owners_of(one)]


@pytest.mark.parametrize(("path", "option"), OWNED, ids=[f"{path} {one.name}" for path, one in OWNED])
def test_every_option_that_belongs_to_another_is_refused_without_it(path, option, call):
    command = dict(ALL)[path]
    arguments = [one for one in command.params if isinstance(one, click.Argument) and one.required]
    code, out, err = call(*path.split(), *("x" for _ in arguments), *typed(option))
    names = [one.opts[-1] for one in command.params if one.name in owners_of(option)]
    assert len(names) == len(owners_of(option))  # what it names exists
    assert (code, out) == (2, "")
    assert err.startswith(f"assay: {option.spellings[-1]} only works with ")
    assert all(name in err for name in names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evaluate qrels.txt one.run --metrics map", "there is no option '--metrics': measures are given with -m"),
        ("evaluate --qrels qrels.txt one.run", "there is no option '--qrels': the judgments come first, without an option"),
        ("evaluate qrels.txt --run one.run", "there is no option '--run': the runs come after the judgments, without an option"),
        ("evaluate qrels.txt one.run --ties none", "--ties: 'none' is not one of docid, given, expected"),
        ("diagnose qrels.txt one.run --k 0", "--k: 0 is out of range: expected 1 or more"),
        ("diagnose qrels.txt one.run --k many", "--k: 'many' is not a whole number"),
        ("evaluate", "JUDGMENTS|FILE is missing"),
        ("evaluate qrels.txt one.run -m", "-m needs a value"),
        ("evaluate qrels.txt one.run --dedupe=1", "--dedupe takes no value"),
        ("convert run a b c", "unexpected arguments: c"),
        ("evalute", "unknown command 'evalute'; did you mean evaluate"),
        ("env chace", "unknown command 'chace'; did you mean cache"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_line_with_its_cure(words, said, call, two_systems):
    code, out, err = call(*words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_chinese_lines_do_not_begin_with_a_closing_mark():
    text = "用相关性标注给检索结果打分，" * 12
    lines = fold(text, 40)
    assert len(lines) > 4
    assert all(width(line) <= 41 for line in lines)
    assert not any(line[0] in "，。；：、）" for line in lines)
    assert "".join(lines) == text


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("compare qrels.txt one.run two.run -m map --deviation 0.2", "--deviation"),
        ("compare qrels.txt one.run two.run -m map --tests 3", "--tests"),
        ("gate qrels.txt one.run --fail-under map=0.1 --take best", "--take"),
        ("gate qrels.txt one.run --fail-under map=0.1 --margin 0.02", "--margin"),
        ("gate qrels.txt one.run -m map --not-worse-than two.run --sure", "--sure"),
        ("ab analyse users.csv -m clicks --control old --timezone Asia/Shanghai", "--timezone"),
        ("answers s.jsonl --prices prices.toml", "--prices"),
        ("answers s.jsonl --key-env KEY", "--key-env"),
        ("gate qrels.txt one.run --fail-under map=0.1 --queries q.csv", "--queries"),
        ("judge --pairs p.jsonl --depth 5 --judge m --url http://127.0.0.1:9/v1 -o j.qrels", "--depth"),
        ("judge --pairs p.jsonl --queries q.csv --judge m --url http://127.0.0.1:9/v1 -o j.qrels", "--queries"),
    ],
)
def test_an_option_without_what_it_belongs_to_is_refused(line, option, call, two_systems):
    (two_systems / "users.csv").write_text("user,variant,clicks\na,old,1\nb,old,0\nc,new,1\nd,new,0\n")
    (two_systems / "prices.toml").write_text('[[price]]\nmodel = "m"\ninput = 1\noutput = 1\ndate = 2026-11-01\n')
    (two_systems / "s.jsonl").write_text('{"question": "q", "answer": "a", "contexts": ["a"]}\n')
    code, out, err = call(*line.split())
    assert (code, out, err.startswith(f"assay: {option} ")) == (2, "", True), err
