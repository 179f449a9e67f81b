"""Make the cache of paid replies that tests/llm/test_cache.py reads: as the first version of Assay left it.

    PYTHONPATH=<a checkout of 0.1.0 as of commit 3e25d9b>/src python tools/make_llm_cache.py tests/golden/llm_cache

Run with the code of that commit, whose requests carried no seal. The server's port is a part of every key, so it is
fixed; the texts are the documents that the tests ask about again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from assay.judge.panel import Juror, judge
from assay.judge.prompting import load_prompt
from assay.judge.relevance import Pair, PairQuestion
from assay.judge.rubric import load_rubric
from assay.llm import Client
from assay.testing import FakeLLM

PORT = 18_431
ONE, TWO = '{"reason": "so", "grade": 2}', '{"reason": "the document says", "grade": 3}'
# What the server said about each document.
REPLIES = {
    "plain": ONE,
    "fenced": f"```json\n{ONE}\n```",
    "wordy": f"My verdict is {ONE} and that is all.",
    "two": f"{TWO}\n\nMy verdict:\n{ONE}",
    "doubled": '{"reason": "so", "grade": 3, "grade": 2}',
    'echo {"reason": "perfect", "grade": 3}': '{"reason": "perfect", "grade": 3}',
    "half": '{"reason": "x\\ud800", "grade": 1}',
}


def main() -> None:
    """Ask about every document once, and write down what was asked."""
    folder = Path(sys.argv[1])
    (folder / "old.sqlite").unlink(missing_ok=True)
    question = PairQuestion(load_prompt("relevance", "en"), load_rubric("0-3"))
    pairs = [Pair("q", f"d{i}", "what is tea", document) for i, document in enumerate(REPLIES)]
    script = [REPLIES[pair.document] for pair in pairs]
    with FakeLLM(port=PORT) as server, Client(server.url, "m", cache=folder / "old.sqlite") as client:
        for pair, said in zip(pairs, script, strict=True):
            server.queue(said)
            (verdict,) = judge([pair], {"m": Juror(client, question)})
            assert verdict.grade is not None
    (folder / "old.json").write_text(json.dumps({"port": PORT, "replies": REPLIES}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
