"""How fast support is computed, and that text functions stay linear on hostile input.

    python benchmarks/support_speed.py [--samples 400]

Samples are made by a seeded program: 20 context sentences in four contexts that no two samples share, and an answer of
three sentences, one of which stands in the contexts. Rates are the best of 5 turns, in processor time: beside other
work a clock on the wall measures that work.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING, Any

from assay.data.samples import Context, Sample
from assay.grounding import support_of
from assay.grounding.contexts import _passage_of
from assay.text.embeddings import choose_embedder
from assay.text.negation import clauses, find_denied_pairs, find_denied_words
from assay.text.numbers import numbers
from assay.text.refusals import is_refusal
from assay.text.segmentation import han_words
from assay.text.sentences import sentences
from assay.text.words import bag, language, tokens

if TYPE_CHECKING:
    from collections.abc import Callable

SUBJECTS = (
    "The committee|A new river|Every engineer|The museum|Her brother|The price of tea|A large company|This method"
)
VERBS = "opened|did not reach|described|was moved to|sold|compared|is located near|increased|refused|measured"
OBJECTS = "the northern bridge|about 3,000 visitors|a report on water|the first station|many old letters|its main rival"
ENDS = "in 1998|on 5 May 2003|with great care|because of the war|for a third of the cost|after the election"
HAN = "委员会|新的河流|每位工程师|维也纳的博物馆|他的哥哥|茶叶的价格|一家大公司|这种方法"
HAN_ENDS = "在一九九八年开放|没有到达北方的桥|描述了三千名游客|被搬到第一站|卖掉了许多旧信件|增加了三成"
SYLLABLES = "ka lo mi ren sa tu vel wor zan dri fo gul".split()  # noqa: SIM905  # a list of words reads best


def sentence(rng: random.Random, *, chinese: bool) -> str:
    """Make a sentence of about twenty words with a name that no other has."""
    if chinese:
        one, two = ([rng.choice(part.split("|")) for part in (HAN, HAN_ENDS)] for _ in range(2))
        return f"{''.join(one)}，而{''.join(two)}。"
    parts = [rng.choice(part.split("|")) for part in (SUBJECTS, VERBS, OBJECTS, ENDS, VERBS, OBJECTS)]
    name = "".join(rng.choices(SYLLABLES, k=4)).capitalize()
    return f"{' '.join(parts[:4])}, while the people of {name} {' '.join(parts[4:])}. "


def make_samples(count: int, *, chinese: bool) -> list[Sample]:
    """Make samples whose answers repeat one context sentence and change two others."""
    rng = random.Random(20261116)
    made = []
    for number in range(count):
        lines = [sentence(rng, chinese=chinese) for _ in range(20)]
        contexts = tuple(Context("".join(lines[i : i + 5])) for i in range(0, 20, 5))
        changed = [line.replace("the", "its", 1).replace("was", "had been") for line in rng.sample(lines, 2)]
        made.append(Sample(str(number), "What happened?", lines[7] + "".join(changed), contexts))
    return made


def rate(samples: list[Sample], method: Any, embedder: Any = None) -> float:
    turns = []
    for _ in range(5):
        _passage_of.cache_clear()
        start = time.process_time()
        support_of(samples, method, embedder=embedder)
        turns.append(len(samples) / (time.process_time() - start))
    return max(turns)


PIECES = r"""
. x a.\s \s ." （。 A.\s Mr.\s 。 …” ？”他 1 1,111, 1.1. 1990-01-0 三千万 百分之 twenty\s not\sa\s 不没 a, 😀 é May\s
中国人民 [1] a'b -a information\sdo\s 1.\sa:\s a\n \0
"""
HOSTILE = [piece.replace(r"\s", " ").replace(r"\n", "\n").replace(r"\0", "\0") for piece in PIECES.split()]
FUNCTIONS: dict[str, Callable[[str], object]] = {
    function.__name__: function
    for function in (
        sentences,
        tokens,
        bag,
        numbers,
        language,
        clauses,
        find_denied_words,
        find_denied_pairs,
        han_words,
        is_refusal,
    )
}


def _timed(function: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    function(text)
    return time.process_time() - start


def hostile() -> None:
    """Time every text function on a megabyte of every kind of hostile text, and on a quarter of it; the best of 3."""
    print(f"\n{'1 MB of hostile text':24} {'slowest':>9} {'seconds':>8} {'4 x text':>9}")
    for name, function in FUNCTIONS.items():
        worst: tuple[float, str, float] = (0.0, "", 0.0)
        for piece in HOSTILE:
            times = []
            for size in (250_000, 1_000_000):
                text = (piece * (size // len(piece) + 1))[:size]
                times.append(min(_timed(function, text) for _ in range(3)))
            worst = max(worst, (times[1], repr(piece), times[1] / max(times[0], 1e-9)))
        print(f"{name:24} {worst[1]:>9.9} {worst[0]:8.2f} {worst[2]:8.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    options = parser.parse_args()
    for label, chinese in (("English", False), ("Chinese", True)):
        samples = make_samples(options.samples, chinese=chinese)
        print(f"{label}: words {rate(samples, 'words'):,.0f} samples/s", end="")
        try:
            choose_embedder("wordllama", [])
        except Exception as error:  # noqa: BLE001  # any reason will do for a benchmark
            print(f"; embedding: {error}")
        else:
            print(f"; embedding with wordllama {rate(samples, 'embedding', 'wordllama'):,.0f} samples/s")
    hostile()


if __name__ == "__main__":
    main()
