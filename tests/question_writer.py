"""A scripted model that writes and checks questions as a careful one would, and collections for it."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import TYPE_CHECKING, Any

from net.making import judge_by_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.testing.answers import Answer, Received

NAMES = ["".join(one) for one in itertools.product("bdfgklmnprstvz", "aeiou", "lmnrst", "ao")]
HAN = list("山川湖海森林草原沙漠冰雪风雨雷电星辰日月金银铜铁木石竹梅兰菊松柏桃李杏枣")
_PASSAGE = re.compile(r"\[passage (\d+) (\w+)\]\n(.*?)\n\[end of passage \1 \2\]", re.DOTALL)


def english(n: int = 40, seed: int = 1) -> dict[str, str]:
    """Documents of three sentences of made-up names, all of which name a harbour: no two share a fact."""
    chance = random.Random(seed)
    found = {}
    for number in range(n):
        words = chance.sample(NAMES, 18)
        sentences = [" ".join(words[i : i + 6]).capitalize() + "." for i in (0, 6, 12)] + ["Harbour."]
        found[f"{'ab'[number % 2]}/{number}.txt"] = " ".join(sentences)
    return found


def chinese(n: int = 40, seed: int = 2) -> dict[str, str]:
    """Documents of three Chinese sentences."""
    chance = random.Random(seed)
    return {f"{i}": "".join("".join(chance.choices(HAN, k=16)) + "。" for _ in range(3)) for i in range(n)}


def mixed(n: int = 40, seed: int = 3) -> dict[str, str]:
    """Documents that write Chinese with English names in it."""
    chance = random.Random(seed)
    return {
        f"{i}": "".join(
            "".join(chance.choices(HAN, k=6)) + " " + " ".join(chance.sample(NAMES, 3)) + "。" for _ in range(3)
        )
        for i in range(n)
    }


def passages_in(received: Received) -> list[str]:
    """The passages that a request shows."""
    return [text for _, _, text in _PASSAGE.findall(received.text)]


def step_of(received: Received) -> str:
    """Which step of making questions a request belongs to."""
    names = set(received.schema["properties"])
    known = {"evidence": "write", "answered": "answerable", "answer": "closed_book", "right": "same"}
    return next((step for name, step in known.items() if name in names), "others")


def write(received: Received) -> dict[str, Any]:
    """A question about each passage's first sentence in other words, with that sentence as evidence."""
    asked, quotes = [], []
    for text in passages_in(received):
        sentence = re.match(r"[^.。]+[.。]", text)[0]  # type: ignore[index]
        quotes.append(sentence)
        asked.append(
            sentence[7:10] + sentence[1:4]
            if re.search("[一-鿿]", sentence[:4])
            else " and ".join(sentence.rstrip(".").lower().split()[:-3:-1])
        )
    if re.search("[一-鿿]", quotes[0]):
        return {"question": f"请问{'与'.join(asked)}有何关系？", "reference": "关系密切", "evidence": quotes}
    return {"question": f"Which harbour links {' with '.join(asked)}?", "reference": "a bond", "evidence": quotes}


def reply(received: Received) -> str:
    """What a careful model says at each step: all is well, and no other passage answers the question."""
    step = step_of(received)
    if step == "write":
        said: dict[str, Any] = write(received)
    elif step == "answerable":
        said = {"reason": "", "answered": "yes", "reference": "yes"}
    elif step == "closed_book":
        said = {"answer": ""}
    elif step == "same":
        said = {"reason": "", "right": "no"}
    else:
        numbers = [name for name in received.schema["properties"] if name != "seal"]
        said = {number: {"verdict": "no", "quote": ""} for number in numbers}
    return json.dumps(said, ensure_ascii=False)


def judge_or_write(received: Received) -> str:
    """A model that judges by the texts, and writes and checks questions."""
    names = set(received.schema.get("properties", {}))
    is_of_questions = names & {"evidence", "answered", "answer", "right"} or "[passage 1 " in received.text
    return reply(received) if is_of_questions else judge_by_texts(received)


def careful(**others: Callable[[Received], Mapping[str, Any] | str | Answer]) -> Callable[[Received], Any]:
    """The careful model, which says something else at some steps."""

    def answer(received: Received) -> Any:
        step = step_of(received)
        said = others[step](received) if step in others else reply(received)
        return json.dumps(said, ensure_ascii=False) if isinstance(said, dict) else said

    return answer
