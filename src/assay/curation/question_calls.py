"""What a language model is asked when it makes questions and checks them, and how its replies are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from assay.judge.prompting import block
from assay.llm.prompts import mark_for, read_prompt
from assay.llm.records import Request
from assay.results.questions import Category

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.curation.passages import Passage
    from assay.llm.prompts import Prompt
    from assay.llm.records import Reply
    from assay.messages import Lang
    from assay.text.words import Language

CATEGORIES: tuple[Category, ...] = get_args(Category)
STYLES = ("short", "conversational")
NO_ANSWER: dict[Lang, str] = {"en": "The documents do not say.", "zh": "文档中没有说明。"}
VERDICTS = ("yes", "partly", "no")
_NEEDED = {
    "question": ("count", "task", "style", "user", "language", "passages", "examples", "mark"),
    "answerable": ("question", "reference", "passages", "mark"),
    "passages": ("question", "passages", "count", "numbers", "mark"),
    "closed-book": ("question", "mark"),
    "same-answer": ("question", "reference", "answer", "mark"),
}
_TOKENS = {"question": 500, "answerable": 200, "closed-book": 200, "same-answer": 200}
_TOKENS_A_PASSAGE = 150
_TOGETHER, _CHARACTERS = 5, 6000  # passages in one call, and their characters
_PART = re.compile(r"^# (category|style) ([\w-]+)[ \t]*\n(.*?)(?=^# )", re.MULTILINE | re.DOTALL)
_SPELLINGS = {
    **dict.fromkeys(("true", "y", "fully", "correct", "right", "是", "能", "对", "正确", "完全", "完整"), "yes"),
    **dict.fromkeys(("partial", "partially", "部分", "一部分"), "partly"),
    **dict.fromkeys(("false", "n", "none", "not", "incorrect", "wrong", "否", "不是", "不能", "错误", "没有"), "no"),
}  # fmt: skip
# What the prompts call things, in their languages.
_WORDS: dict[Lang, dict[str, str]] = {
    "en": {
        "one": "a passage", "two": "two passages", "same": "the language of the passage", "en": "English",
        "zh": "Chinese",
        "user": "The question is asked by: %s",
        "examples": "Real questions of users, for their style and length only: ask nothing that they ask.",
    },
    "zh": {
        "one": "一个段落", "two": "两个段落", "same": "段落所用的语言", "en": "英语", "zh": "中文",
        "user": "提问者：%s",
        "examples": "以下是用户的真实问题，只供参考其风格和长度：不要问它们所问的内容。",
    },
}  # fmt: skip


class Brief(NamedTuple):
    """What one question is to be: its passages, category, style and language, and examples of real questions."""

    passages: tuple[Passage, ...]
    category: Category
    style: str
    user: str
    examples: tuple[str, ...]
    language: Language
    text_lang: Lang | None


class Written(NamedTuple):
    """What the model wrote."""

    question: str
    reference: str
    evidence: tuple[str, ...]


class PassageVerdict(NamedTuple):
    """What the judge said about one passage."""

    verdict: str
    quote: str


@dataclass(frozen=True)
class Asker:
    """Requests in one language of prompts, and the readers of their replies."""

    lang: Lang

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions of the prompts, each with a digest of its text."""
        return tuple(load(name, self.lang)[0].version for name in _NEEDED)

    def write(self, brief: Brief) -> Request:
        """Ask for a question about passages."""
        prompt, parts = load("question", self.lang)
        said = _WORDS[self.lang]
        texts = [passage.text for passage in brief.passages]
        mark = mark_for(prompt.version, *texts, *brief.examples, brief.user)
        examples = [block(f"example {number}", text, mark) for number, text in enumerate(brief.examples, 1)]
        values = {
            "count": said["two" if len(texts) > 1 else "one"],
            "task": parts["category", brief.category],
            "style": parts["style", brief.style],
            "user": said["user"] % block("user", brief.user, mark) if brief.user else "",
            "language": said[brief.text_lang or "same"],
            "passages": _blocks(texts, mark),
            "examples": "\n\n".join([said["examples"], *examples]) if examples else "",
            "mark": mark,
        }
        text = {"type": "string"}
        shape = {"question": text, "reference": text, "evidence": {"type": "array", "items": text}}
        return _request(prompt, values, shape, _TOKENS["question"])

    def ask_answerable(self, question: str, reference: str, passages: Sequence[Passage]) -> Request:
        """Ask whether passages answer a question, and whether its reference is right."""
        prompt, _ = load("answerable", self.lang)
        texts = [passage.text for passage in passages]
        mark = mark_for(prompt.version, question, reference, *texts)
        values = {"question": question, "reference": reference, "passages": _blocks(texts, mark), "mark": mark}
        shape = {
            "reason": {"type": "string"},
            "answered": {"type": "string", "enum": list(VERDICTS)},
            "reference": {"type": "string", "enum": ["yes", "no"]},
        }
        return _request(prompt, values, shape, _TOKENS["answerable"])

    def ask_passages(self, question: str, passages: Sequence[Passage]) -> list[Request]:
        """Ask which of some passages answer a question by themselves, a few in each call."""
        return [self._ask_group(question, group) for group in group_passages(passages)]

    def _ask_group(self, question: str, group: Sequence[Passage]) -> Request:
        prompt, _ = load("passages", self.lang)
        texts = [passage.text for passage in group]
        mark = mark_for(prompt.version, question, *texts)
        numbers = [str(number) for number in range(1, len(texts) + 1)]
        values = {
            "question": question, "passages": _blocks(texts, mark), "count": str(len(texts)),
            "numbers": ", ".join(numbers), "mark": mark,
        }  # fmt: skip
        verdict = {
            "type": "object",
            "properties": {"verdict": {"type": "string", "enum": list(VERDICTS)}, "quote": {"type": "string"}},
            "required": ["verdict", "quote"],
            "additionalProperties": False,
        }
        return _request(prompt, values, dict.fromkeys(numbers, verdict), _TOKENS_A_PASSAGE * len(texts))

    def ask_closed_book(self, question: str) -> Request:
        """Ask the question itself, without any passage."""
        prompt, _ = load("closed-book", self.lang)
        mark = mark_for(prompt.version, question)
        values = {"question": question, "mark": mark}
        return _request(prompt, values, {"answer": {"type": "string"}}, _TOKENS["closed-book"])

    def ask_same(self, question: str, reference: str, answer: str) -> Request:
        """Ask whether an answer says what the reference says."""
        prompt, _ = load("same-answer", self.lang)
        mark = mark_for(prompt.version, question, reference, answer)
        values = {"question": question, "reference": reference, "answer": answer, "mark": mark}
        shape = {"reason": {"type": "string"}, "right": {"type": "string", "enum": ["yes", "no"]}}
        return _request(prompt, values, shape, _TOKENS["same-answer"])


@cache
def load(name: str, lang: Lang) -> tuple[Prompt, Mapping[tuple[str, str], str]]:
    """A prompt with its named parts: the tasks of categories, and styles."""
    text = (files("assay.curation") / "prompts" / f"{name}.{lang}.md").read_text(encoding="utf-8")
    parts = {(found[1], found[2]): found[3].strip() for found in _PART.finditer(text)}
    return read_prompt(text, name, needed=_NEEDED[name], known=_NEEDED[name]), parts


def prompt_lang(brief: Brief) -> Lang:
    """The language of the prompts for a question: Chinese ones where it may be Chinese."""
    return brief.text_lang or ("zh" if brief.language in {"zh", "mixed"} else "en")


def group_passages(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Cut a list of passages into groups that one call can hold."""
    groups: list[list[Passage]] = []
    for passage in passages:
        last = groups[-1] if groups else []
        size = sum(len(one.text) for one in last) + len(passage.text)
        if last and len(last) < _TOGETHER and size <= _CHARACTERS:
            last.append(passage)
        else:
            groups.append([passage])
    return groups


def read_written(reply: Reply) -> Written:
    """Read a question, its reference and its evidence, with plain spaces."""
    data: dict[str, Any] = reply.data
    question, reference = (" ".join(str(data[name]).split()) for name in ("question", "reference"))
    quotes = tuple(quote for quote in map(str, data["evidence"]) if quote.strip())
    return Written(question, reference, quotes)


def read_passages(replies: Sequence[Reply], passages: Sequence[Passage]) -> list[PassageVerdict]:
    """Read the verdicts on passages that were asked about in groups."""
    found: list[PassageVerdict] = []
    for reply, group in zip(replies, group_passages(passages), strict=True):
        rows = [reply.data[str(number)] for number in range(1, len(group) + 1)]
        found += [PassageVerdict(row["verdict"], row["quote"]) for row in rows]
    return found


def _blocks(texts: Sequence[str], mark: str) -> str:
    return "\n\n".join(block(f"passage {number}", text, mark) for number, text in enumerate(texts, 1))


def _request(prompt: Prompt, values: Mapping[str, str], shape: Mapping[str, Any], tokens: int) -> Request:
    schema = {
        "type": "object", "properties": dict(shape), "required": list(shape), "additionalProperties": False,
    }  # fmt: skip
    return Request(
        prompt.messages(values), schema=schema, temperature=0.0, max_tokens=tokens, prompt_version=prompt.version,
        spellings=_SPELLINGS,
    )  # fmt: skip
