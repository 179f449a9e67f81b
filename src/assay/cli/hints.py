"""Common mistakes of people who know another tool, or this one only a little, each with its fix."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from assay.messages import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

# Spellings of other tools; the option that a command must have for the advice to fit; the advice.
_OPTIONS: tuple[tuple[str, str, str], ...] = (
    ("--metrics --metric --measures --eval-metrics", "--measure", "measures are given with -m: -m ndcg@10 -m map"),
    (
        "-k --k --ks --cutoff --cutoffs --top-k --topk --at --depth",
        "--sweep",
        "the cutoff is part of the measure: -m ndcg@10; --sweep 1,3,5,10 compares cutoffs",
    ),
    (
        "-k --k --ks --cutoff --cutoffs --top-k --topk --at --depth",
        "--measure",
        "the cutoff is part of the measure: -m ndcg@10",
    ),
    (
        "--qrels --qrel --judgments --judgements --gold --labels --truth",
        "--measure",
        "the judgments come first, without an option: assay evaluate qrels.txt my.run",
    ),
    (
        "--run --runs --run-file --results --predictions",
        "--measure",
        "the runs come after the judgments, without an option: assay evaluate qrels.txt my.run",
    ),
    ("--json", "--format", "use --format json, or -o FILE.json"),
    ("--csv", "--format", "use --format csv, or -o FILE.csv"),
    ("--latex --tex", "--format", "use --format latex, or -o FILE.tex"),
    ("--markdown --md", "--format", "use --format markdown, or -o FILE.md"),
    ("--output-format --out-format --as", "--format", "use --format json, csv, markdown, latex or table"),
    ("--out --outfile --out-file --output-file --save --save-to", "--output", "use -o FILE"),
    ("--html --page", "--report", "use --report FILE.html"),
    ("--threshold --min --minimum --at-least --under", "--fail-under", "use --fail-under MEASURE=NUMBER"),
    (
        "--threshold --rel --relevance-level -l",
        "--min-relevance",
        "use --min-relevance GRADE for what counts as relevant",
    ),
    ("--max --maximum --at-most --over", "--fail-over", "use --fail-over MEASURE=NUMBER"),
    (
        "--test --stat-test --ttest --t-test --wilcoxon --method",
        "--correction",
        "the test is always a paired permutation test; --correction names the correction for several systems",
    ),
    ("--confidence --ci --level --conf", "--alpha", "use --alpha 0.05 for 95% intervals"),
    ("--effect --mde --min-effect --delta", "--smallest-effect", "use --smallest-effect NUMBER"),
    ("--reference --control --base", "--baseline", "use --baseline NAME"),
    (
        "--api-key --apikey --openai-key --token",
        "--key-env",
        "keys are read from the environment or a file, so that no shell history keeps them: --key-env NAME or --key-file FILE",
    ),
    ("--silent -s", "--quiet", "use -q or --quiet"),
    ("--model --llm --judge-model --evaluator", "--judge", "use --judge MODEL --url URL"),
    ("--base-url --api-base --endpoint --host", "--url", "use --url URL, such as http://127.0.0.1:8000/v1"),
    ("--budget --max-spend --max-usd", "--max-cost", "use --max-cost NUMBER"),
    ("--workers --num-workers --parallel --threads --concurrency -j --n-jobs", "--jobs", "use --jobs N"),
    ("--docs --corpus --collection", "--documents", "use --documents FOLDER|FILE"),
    ("--topics --questions --query", "--queries", "use --queries FILE"),
    ("--columns --column --rename --field", "--map", "use --map question=MY_COLUMN"),
    ("--language --locale", "--lang", "use --lang en or --lang zh"),
    ("--embeddings --embedding-model --embed", "--embedder", "use --embedder NAME"),
    ("--verbose -v --debug", "--per-query", "use --per-query for every query, or --report FILE.html"),
    ("--verbose -v --debug", "--report", "use --report FILE.html for every query"),
    (
        "--config --file --experiment",
        "--holdout",
        "the experiment file comes without an option: assay run experiment.toml",
    ),
)

# What people call a command; the advice.
_COMMANDS: tuple[tuple[str, str], ...] = (
    ("eval evaluation score scores metrics metric test measure-run", "use evaluate: assay evaluate qrels.txt my.run"),
    ("measure list-measures list", "assay help measures lists them; assay help ndcg explains one"),
    ("significance ttest t-test diff stats versus vs", "use compare: assay compare qrels.txt a.run b.run"),
    ("rag ragas faithfulness answer generation", "use answers: assay answers samples.jsonl"),
    (
        "rerank reranker rerank_eval",
        "use run: assay run qrels.txt --candidates my.run --reranker NAME --queries FILE --documents FOLDER",
    ),
    ("search index bm25 retrieve chunk experiment pipeline", "use run: assay run experiment.toml"),
    (
        "label annotate rate grade qrels",
        "use judge: assay judge my.run --queries FILE --documents FOLDER --judge MODEL --url URL -o judged.qrels",
    ),
    ("merge rrf ensemble combine hybrid", "use fuse: assay fuse a.run b.run -o fused.run"),
    ("benchmark latency load speed", "use bench: assay bench module:function"),
    ("price prices pricing money", "use cost: assay cost --variant NAME,price=0.5,tokens=800"),
    ("html page dashboard ui view show", "use report: assay report result.json -o report.html"),
    ("chart charts figure", "use report: assay report result.json --chart NAME -o chart.svg"),
    ("lint verify inspect info-file doctor-file", "use check: assay check qrels.txt my.run"),
    ("export transform", "use convert: assay convert run my.csv my.run"),
    ("doctor info status about system", "use env: assay env"),
    ("ci threshold assert", "use gate: assay gate qrels.txt my.run --fail-under ndcg@10=0.5"),
    ("example examples tutorial quickstart init", "use demo: assay demo"),
)


def advise_option(name: str, command: click.Command | None) -> str:
    """The advice for an option that a command does not have, or nothing."""
    known = {spelling for param in command.params for spelling in param.opts} if command is not None else set[str]()
    for spellings, target, text in _OPTIONS:
        if name in spellings.split() and target in known:
            return say(text)
    return ""


def advise_command(name: str) -> str:
    """The advice for a command that does not exist, or nothing."""
    return next((say(text) for spellings, text in _COMMANDS if name.lower() in spellings.split()), "")


def advice() -> list[str]:
    """Everything that the tables say."""
    return [*(text for _, _, text in _OPTIONS), *(text for _, text in _COMMANDS)]


def advise_path(path: str) -> str:
    """The advice for a file that is not there, or nothing."""
    return next(filter(None, _path_advice(path)), "")


def _path_advice(path: str) -> Iterator[str]:
    if re.match(r"[a-z]+://", path):
        yield say("files are read from this machine: download it first")
    if re.search(r"[*?\[]", path):
        yield say("no file matches this pattern")
    if path != path.strip() and Path(path.strip()).exists():
        yield say("the name has blanks around it: remove them")
    if os.name != "nt" and ("\\" in path or re.match(r"[A-Za-z]:", path)):
        yield say("this looks like a Windows path: on this system folders are separated by /")
    if _is_measure(path):
        yield say("{name} is a measure: repeat -m, as in -m ndcg@10 -m {name}", name=path)
    yield _near_file(path)


def _near_file(path: str) -> str:
    """Suggest a file of the same folder with a similar name."""
    place = Path(path)
    folder = place.parent
    if not folder.is_dir():
        return say("there is no folder {folder}", folder=str(folder))
    names = [entry.name for entry in folder.iterdir()]
    near = get_close_matches(place.name, names, n=1, cutoff=0.75) or [
        name for name in names if name.split(".")[0] == place.name
    ]
    return say("did you mean {name}?", name=str(folder / near[0])) if near else ""


def _is_measure(text: str) -> bool:
    from assay.errors import AssayError
    from assay.measures import parse

    for spelling in (text, f"{text}@10"):  # some need a cutoff
        with suppress(AssayError):
            parse(spelling)
            return True
    return False
