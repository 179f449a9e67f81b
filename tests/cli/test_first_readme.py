"""Command lines of the first README still work: the same exit code, and at most one more line on standard error."""

from __future__ import annotations

import os
import shlex
import shutil
from unittest.mock import patch

import pytest

import workplace
from assay.testing import FakeLLM
from net.making import judge_by_texts

DASHSCOPE = "https://dashscope.aliyuncs.com/compatible-mode/v1"
# Exit code, lines on standard error then, command line.
LINES = """
0 0 evaluate qrels.txt one.run two.run -m ndcg@10 -m P@5
0 0 evaluate answers.jsonl --protocol rag
0 0 compare qrels.txt bm25.run dense.run -m ndcg@10
0 53 compare qrels.txt *.run --all-pairs --brief --format latex
0 0 sweep qrels.txt dense.run --k 1,3,5,10,20
0 0 diagnose qrels.txt dense.run --queries queries.jsonl
0 2 run experiment.toml --holdout 0.3
0 0 rerank-eval qrels.txt bm25.run --queries queries.tsv --documents corpus.tsv --reranker mymodule:score
0 2 fuse bm25.run dense.run -o hybrid.run
0 0 fuse --list
0 1 fuse bm25.run dense.run --method weighted --tune qrels.txt -m ndcg@10 -o hybrid.run
0 0 answers samples.jsonl
0 3 answers samples.jsonl --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1 --max-cost 1 -o result.json --per-sample evidence.jsonl
0 1 answers samples.jsonl -m examples/tone.md --judge qwen-plus --url https://dashscope.aliyuncs.com/compatible-mode/v1
0 1 compare qrels.txt bm25.run dense.run --report report.html
0 1 report result.json -o report.html --queries queries.jsonl --documents docs.jsonl --lang zh
0 1 plot result.json --chart means-0-ndcg@10 -o means.svg
0 0 gate qrels.txt new.run --not-worse-than baseline.json -m ndcg@10
0 4 judge bm25.run --queries queries.jsonl --documents docs.jsonl --url https://dashscope.aliyuncs.com/compatible-mode/v1 --model qwen-plus --max-cost 1 -o judged.qrels
0 0 calibrate judged.qrels human.qrels --run bm25.run -m ndcg@10
0 0 bench mymodule:rerank
0 0 bench http://127.0.0.1:8000/rerank --candidates 50 --rate 20
0 1 cost --method cross-encoder,price=0.025,tokens=800 --reference -o cost.json
0 0 roi comparison.json --costs cost.json --method cross-encoder --revenue-per-query 0.01
2 1 cache stats
0 0 validate labelled.jsonl --human human.faithfulness --positive 3
0 0 models
1 0 check qrels.txt one.run
0 0 explain qrels.txt one.run q17 -m ndcg@10
0 0 measures ndcg
0 0 evaluate qrels.txt one.run --protocol graded-012
0 0 protocols
0 0 trec_eval -q -c -m all_trec qrels.txt one.run
0 1 convert run one.run one.parquet
0 1 evaluate qrels.txt one.run --output result.json
0 0 evaluate qrels.txt aplrob03a.run pircRBa1.run -m ndcg@10 -m recall@100 -m map
0 0 answers samples.jsonl -m faithfulness -m context_recall -m citation_precision -m token_f1 --method words
"""


def read_lines(text: str) -> list[tuple[int, int, str]]:
    rows = [line.split(" ", 2) for line in text.strip().splitlines()]
    return [(int(code), int(said), line) for code, said, line in rows]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme") / "all"
    folder.mkdir()
    workplace.fill(folder)
    return folder


@pytest.fixture
def run_line(filled, tmp_path, call):
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    kept |= {"XDG_CACHE_HOME": str(tmp_path / ".home"), "COLUMNS": "100"}
    with FakeLLM(judge_by_texts) as judge, workplace.web_server() as web, patch.dict(os.environ, kept, clear=True):

        def run(line: str) -> tuple[int, str, str]:
            line = line.replace(DASHSCOPE, f"{judge.url} --prices prices.toml").replace("http://127.0.0.1:8000", web)
            words = [name for word in shlex.split(line) for name in _expand(word, tmp_path)]
            return call(*words)

        yield run


def _expand(word, folder):
    return sorted(path.name for path in folder.glob(word)) if "*" in word else [word]


@pytest.mark.parametrize(("code", "said", "line"), read_lines(LINES), ids=[line for *_, line in read_lines(LINES)])
def test_a_command_line_of_the_first_readme_works_with_one_more_line_at_most(code, said, line, run_line):
    got, _, err = run_line(line)
    assert got == code, err
    assert len(err.splitlines()) <= said + 1, err


@pytest.mark.parametrize("line", ["run examples/chunking.toml", "run examples/ablation.toml"])
def test_the_examples_of_the_first_readme_run(line, run_line, demo_run):
    here = line.replace("examples", str(workplace.EXAMPLES))  # their paths start there
    code, out, err = run_line(f"{here} --cache {demo_run.cache} -o results")
    assert (code, bool(out)) == (0, True), err
