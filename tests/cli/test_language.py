"""The language that the command line chooses."""

from __future__ import annotations

import re

import click
import pytest

import assay
from assay.cli import COMMANDS, FORMER, app
from assay.cli.language import choose_language
from assay.cli.parameters import Number, WordChoice


@pytest.mark.parametrize(
    ("arguments", "environment", "language"),
    [
        ([], {}, "en"),
        ([], {"LANG": "C.UTF-8"}, "en"),
        ([], {"LANG": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": "de_DE.UTF-8"}, "en"),
        ([], {"LANG": "zh_CN.UTF-8", "ASSAY_LANG": "en"}, "en"),
        ([], {"LANG": "en_GB.UTF-8", "ASSAY_LANG": "zh"}, "zh"),
        (["evaluate", "--lang", "en"], {"ASSAY_LANG": "zh"}, "en"),
        (["evaluate", "--lang=zh", "q"], {}, "zh"),
        (["evaluate", "--lang"], {}, "en"),
        (["evaluate", "--lang", "fr"], {"ASSAY_LANG": "zh"}, "zh"),
        (["bench", "--", "cat", "--lang", "zh"], {}, "en"),
    ],
)
def test_an_option_comes_before_the_environment_and_that_before_the_locale(arguments, environment, language):
    assert choose_language(arguments, environment) == language


# What every command says in each language -----------------------------------------------------------------------------


def leaves(command: click.Command, path: str) -> list[str]:
    inner = command.commands.items() if isinstance(command, click.Group) else ()
    return [path, *(one for name, found in inner for one in leaves(found, f"{path} {name}"))]


PATHS = [
    path
    for name in (*COMMANDS, *FORMER)
    for path in leaves(app.get_command(click.Context(app), name), name)  # type: ignore[arg-type]
]
# Not language: command lines, options, quoted text, and words that are joined to others by signs.
CODE = re.compile(r"assay( [\w.:@=-]+)*|-{1,2}[a-zA-Z][\w-]*|'[^']*'|\S*[_./=@:#|]\S*|\[[^\]]*\]")
SENTENCE = re.compile(r"\b[a-z]{2,} [a-z]+ [a-z]+\b")
HAN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")


def english_in(text: str) -> list[str]:
    plain = text.partition("示例：\n")[0]
    return [found for line in plain.splitlines() for found in SENTENCE.findall(CODE.sub("#", line))]


def test_an_english_sentence_is_found():
    assert english_in("没有选项\nshow every query of it")
    assert not english_in("参见 assay help measures；--format markdown；示例：\n  assay evaluate some words here")


@pytest.mark.parametrize("path", ["", *PATHS])
def test_help_is_chinese_in_chinese_and_english_in_english(path, call, monkeypatch):
    monkeypatch.setenv("ASSAY_LANG", "zh")
    code, out, _ = call(*path.split(), "--help")
    assert code == 0
    assert english_in(out) == []
    assert HAN.search(out)
    monkeypatch.setenv("ASSAY_LANG", "en")
    assert HAN.findall(call(*path.split(), "--help")[1]) == []


def mistakes() -> list[str]:
    """For every command: an option that does not exist, and a wrong value for each option that can have one."""
    found = []
    for path in PATHS:
        command = app
        for name in path.split():
            command = command.get_command(click.Context(command), name)
        found.append(f"{path} --nonsense")
        found += [
            f"{path} {one.opts[-1]} nonsense"
            for one in command.params
            if isinstance(one, click.Option) and isinstance(one.type, (WordChoice, Number))
        ]
        if any(isinstance(one, click.Argument) and one.required for one in command.params):
            found.append(path)
    return found


@pytest.mark.parametrize("line", mistakes())
def test_mistakes_are_told_in_the_language_of_the_user(line, call, monkeypatch):
    monkeypatch.setenv("ASSAY_LANG", "zh")
    code, _, err = call(*line.split())
    assert code == 2
    assert english_in(err) == []
    assert HAN.search(err)
    monkeypatch.setenv("ASSAY_LANG", "en")
    assert HAN.findall(call(*line.split())[2]) == []


LINES = """
evaluate qrels.txt one.run -m map -o o.unknown
evaluate qrels.txt one.run --sweep many
evaluate qrels.txt one.run --sweep 5-1
evaluate qrels.txt --explain q1
evaluate qrels.txt one.run --explain q00 --fold after
evaluate qrels.txt one.run one.run
evaluate - - -m map
evaluate result.json
evaluate qrels.txt one.run --recall-target 0.5
compare result.json --ties given
diagnose result.json --k 3
diagnose qrels.txt one.run --measured none
gate result.json --fail-under map
gate cost.json --not-worse-than result.json
gate cost.json
gate cost.json --fail-over p95=3
gate qrels.txt one.run --baseline none -m map
fuse one.run two.run
fuse one.run two.run --weight one -o f.run
fuse one.run two.run --weight one=x -o f.run
fuse one.run two.run --train 0.5 -o f.run
judge
judge one.run -o j.qrels
judge one.run --pairs p.jsonl -o j.qrels
judge --pairs pairs.jsonl -o j.qrels --judge m
answers result.json
answers p.jsonl --max-cost 1
answers p.jsonl --per-sample p.txt
answers p.jsonl --map question
calibrate qrels.txt qrels.txt --human x
calibrate p.jsonl --votes v.jsonl
calibrate result.json
run e.toml --depth 3
run qrels.txt --candidates one.run
run qrels.txt --candidates one.run --limit 3
bench
bench one --threads x
bench http://127.0.0.1:9 --header x
cost --variant =x
cost --variant x,price=much
cost --roi
cost --roi --gain 0.2 --cost-per-query 1
cost cost.json --reference
report result.json
report result.json --chart x
report result.json -o r.html --scale 2
env cache prune
env cache prune --max-size much
trec_eval -R other qrels.txt one.run
nonsense
help nonsense
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_what_the_command_line_refuses_is_told_in_the_language_of_the_user(line, call, monkeypatch, two_systems):
    assay.evaluate("qrels.txt", "one.run", ["map"], name="one").save("result.json")
    assay.cost({"x": {"per_query": 1}}).save("cost.json")
    (two_systems / "p.jsonl").write_text('{"question": "q", "answer": "a", "contexts": ["c"]}\n', encoding="utf-8")
    pair = '{"query_id": "q", "doc_id": "d", "query": "q", "document": "d"}\n'
    (two_systems / "pairs.jsonl").write_text(pair, encoding="utf-8")
    monkeypatch.delenv("ASSAY_BASE_URL", raising=False)
    monkeypatch.setenv("ASSAY_LANG", "zh")
    code, out, err = call(*line.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert english_in(err) == []
    assert HAN.search(err)
    monkeypatch.setenv("ASSAY_LANG", "en")
    assert HAN.findall(call(*line.split())[2]) == []


def test_what_was_written_is_told_in_the_language_of_the_user(call, two_systems):
    assert call("evaluate", "qrels.txt", "one.run", "-o", "o.json", "--lang", "zh")[2] == "已写入 o.json\n"
    assert call("convert", "run", "one.run", "o.jsonl", "--lang", "zh")[2] == "已写入 o.jsonl\n"
