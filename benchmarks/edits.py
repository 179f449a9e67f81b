"""True sentences and sentences with one change, made by a seeded program from the passages of XQuAD.

A number, a name, a date or a negation is changed; three names in ten come from the same passage, the others from
another one. The passage is the context: a true sentence follows from it, an edited one does not.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Lang = Literal["en", "zh"]

MONTHS = "January|February|March|April|June|July|August|September|October|November|December"
PLACES = (
    "美国|英国|法国|德国|中国|日本|俄罗斯|意大利|西班牙|加拿大|澳大利亚|印度|波兰|华沙|伦敦|巴黎|纽约|加利福尼亚|洛杉矶|欧洲|非洲|亚洲|北美|"
    "苏格兰|肯尼亚|维多利亚|佛罗里达|休斯顿|丹佛|卡罗莱纳|诺曼底|蒙古|忽必烈|成吉思汗|特斯拉|爱迪生|哈佛|芝加哥|亚马逊"
)
NAMES = {
    "en": re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+){0,2}"),
    "zh": re.compile(rf"[\u4e00-\u9fff]{{2,4}}·[\u4e00-\u9fff]{{2,4}}|{PLACES}"),
}
NUMBER = re.compile(
    rf"(?<![\d.,])(?<!(?:{MONTHS.replace('|', ' )(?<!')} ))\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?(?![\d,.]*\d)(?!年|月|日)"
)
YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20[01]\d)(?!\d)")
MONTH = {"en": re.compile(MONTHS), "zh": re.compile(r"\d{1,2}(?=月)")}
DROPPED = {"en": re.compile(r"\bnot "), "zh": re.compile(r"(?:没有|不)(?=[是会能可被再需应得])|没有")}
ADDED = {
    "en": re.compile(r"\b(?:is|was|are|were|has been|have been|can|could|will|would|may|should)\b(?! not)"),
    "zh": re.compile(r"(?<![不但还就也都只若要于可更正凡便总像算])(?:是(?!否)|会(?=[在被使对有导引造])|能够|可以)"),
}
SHORTEST = {"en": 40, "zh": 15}


@dataclass(frozen=True)
class Edit:
    """A sentence with its passage; kind is "true" or what was changed."""

    passage: str
    sentence: str
    kind: str

    @property
    def is_true(self) -> bool:
        """Whether the sentence stands in the passage."""
        return self.kind == "true"


def passages_of(folder: Path, lang: Lang) -> list[str]:
    """Passages of one language."""
    data = json.loads((folder / f"xquad.{lang}.json").read_text(encoding="utf-8"))
    return [part["context"] for article in data["data"] for part in article["paragraphs"]]


class Editor:
    """Changes sentences of one language; the same seed gives the same changes."""

    def __init__(self, passages: list[str], lang: Lang, seed: int) -> None:
        self.passages, self.lang = passages, lang
        self.rng = random.Random(seed)
        self.names = sorted({found.group() for text in passages for found in NAMES[lang].finditer(text)})

    def number(self, text: str, passage: str) -> str | None:
        """Change some digits of a number."""
        del passage
        found = list(NUMBER.finditer(text))
        if not found:
            return None
        chosen = self.rng.choice(found)
        old = new = chosen.group()
        while new == old or (new[0] == "0" != old[0]):
            new = "".join(str(self.rng.randrange(10)) if c.isdigit() and self.rng.random() < 0.5 else c for c in old)
        return text[: chosen.start()] + new + text[chosen.end() :]

    def date(self, text: str, passage: str) -> str | None:
        """Change a year or a month."""
        del passage
        found = [*YEAR.finditer(text), *MONTH[self.lang].finditer(text)]
        if not found:
            return None
        chosen = self.rng.choice(found)
        old = chosen.group()
        if old.isalpha():
            new = self.rng.choice([name for name in MONTHS.split("|") if name != old])
        elif len(old) <= 2:
            new = str(self.rng.choice([month for month in range(1, 13) if str(month) != old]))
        else:
            new = str(int(old) + self.rng.choice([-20, -10, -3, -2, -1, 1, 2, 3, 10, 20]))
        return text[: chosen.start()] + new + text[chosen.end() :]

    def name(self, text: str, passage: str) -> str | None:
        """Put another name for one."""
        found = list(NAMES[self.lang].finditer(text))
        if not found:
            return None
        chosen = self.rng.choice(found)
        here = sorted({other.group() for other in NAMES[self.lang].finditer(passage)})
        pool = here if self.rng.random() < 0.3 else [name for name in self.names if name not in passage]
        pool = [name for name in pool if name not in text]
        return text[: chosen.start()] + self.rng.choice(pool) + text[chosen.end() :] if pool else None

    def negation(self, text: str, passage: str) -> str | None:
        """Take a negation out, or put one in."""
        del passage
        dropped, added = list(DROPPED[self.lang].finditer(text)), list(ADDED[self.lang].finditer(text))
        if dropped and self.rng.random() < 0.5:
            chosen = self.rng.choice(dropped)
            return text[: chosen.start()] + text[chosen.end() :]
        if not added:
            return None
        chosen = self.rng.choice(added)
        if self.lang == "en":
            return f"{text[: chosen.end()]} not{text[chosen.end() :]}"
        return f"{text[: chosen.start()]}不{text[chosen.start() :]}"


def make_edits(folder: Path, lang: Lang, *, count: int = 500, seed: int = 7) -> list[Edit]:
    """So many true sentences, and as many edited ones of all kinds alike."""
    texts = passages_of(folder, lang)
    editor = Editor(texts, lang, seed)
    pieces = [(text, text[start:end].strip()) for text in texts for start, end in sentences(text)]
    pieces = [(text, piece) for text, piece in pieces if len(piece) >= SHORTEST[lang]]
    made = [Edit(text, piece, "true") for text, piece in editor.rng.sample(pieces, count)]
    kinds: dict[str, Callable[[str, str], str | None]] = {
        "number": editor.number,
        "name": editor.name,
        "negation": editor.negation,
        "date": editor.date,
    }
    done = dict.fromkeys(kinds, 0)
    editor.rng.shuffle(pieces)
    for turn in range(40 * len(pieces)):
        if sum(done.values()) == count:
            break
        text, piece = pieces[turn % len(pieces)]
        kind = min(done, key=done.__getitem__)
        edited = kinds[kind](piece, text)
        if edited is not None and edited != piece:
            made.append(Edit(text, edited, kind))
            done[kind] += 1
    return made
