"""Judgments by a language model: which pairs to judge, what it would cost, and the verdicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.panel_grades import calibrate_grades
from assay.errors import UsageError
from assay.formats.conversion import as_judgments
from assay.formats.documents import read_documents, read_drawn, read_pairs
from assay.formats.queries import Queries, read_queries
from assay.judge import panel, pooling
from assay.judge.panel import Juror
from assay.judge.prompting import load_prompt
from assay.judge.relevance import NEEDED, Pair, PairQuestion
from assay.judge.rubric import load_rubric
from assay.llm.adapters import as_client
from assay.messages import say
from assay.results.judging import Bill, DrawnPair, Judging, JudgingPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from assay.data.judgments import Judgments
    from assay.judge.panel import Combine
    from assay.llm.adapters import Completes
    from assay.llm.progress import Progress
    from assay.llm.records import Reply
    from assay.messages import Lang

Place = str | os.PathLike[str]
Texts = Mapping[str, str] | Place


def choose_pairs(
    pairs: Iterable[Any] | Place, *, queries: Texts | Queries | None = None, documents: Texts | None = None,
    known: Any = None,
) -> list[Pair]:  # fmt: skip
    """Collect the pairs to judge with their texts, without those that have a grade already."""
    found = _with_texts(pairs, queries, documents)
    done = {(one.query_id, one.doc_id) for one in _read_sample(pairs) if one.grade is not None}
    found = [pair for pair in found if (pair.query_id, pair.doc_id) not in done]
    if known is not None:
        judged = as_judgments(known)
        found = [pair for pair in found if not pooling.is_judged(judged, pair.query_id, pair.doc_id)]
    if not found:
        raise UsageError(say("there is nothing to judge"))
    return found


def _read_sample(pairs: Iterable[Any] | Place) -> tuple[DrawnPair, ...]:
    """The pairs of a file that is a sample."""
    return tuple(DrawnPair(*row) for row in read_drawn(pairs)) if isinstance(pairs, (str, os.PathLike)) else ()


def _with_texts(pairs: Iterable[Any] | Place, queries: Texts | Queries | None, documents: Texts | None) -> list[Pair]:
    if isinstance(pairs, (str, os.PathLike)):
        return [Pair(*row) for row in read_pairs(pairs)]
    given = list(pairs)
    if all(isinstance(pair, Pair) for pair in given):
        return given
    if queries is None or documents is None:
        raise UsageError(say("pairs of ids need texts: give queries and documents, as {{id: text}} or as files"))
    asked = read_queries(queries) if isinstance(queries, (str, os.PathLike)) else queries
    texts = asked.texts() if isinstance(asked, Queries) else asked
    read = read_documents(documents) if isinstance(documents, (str, os.PathLike)) else documents
    return pooling.pairs_of(given, texts, read)


def judge_pairs(
    pairs: Iterable[Any] | Place,
    *,
    judge: Any,
    queries: Texts | Queries | None = None,
    documents: Texts | None = None,
    known: Any = None,
    sample: Place | None = None,
    scale: str | Sequence[str] = "0-3",
    text_lang: Lang = "en",
    prompt: str | Sequence[str] = "relevance",
    repeats: int = 1,
    temperature: float | None = None,
    combine: Combine = "vote",
    labels: Any = None,
    weighted: bool = False,
    max_chars: int = 20_000,
    progress: Callable[[str, Progress], object] | None = None,
    deadline: float | None = None,
    seed: int = 0,
) -> Judging:
    """Let language models grade pairs of queries and documents; a failed call fails its pair and nothing else.

    `pairs` are those of `pool` (with `queries` and `documents`, their texts by id or files of them), `assay.judge`'s
    `Pair`, or a file. `judge` is a client, a function from messages to text, or several as a list or {name: client}.
    `known` are judgments whose pairs are not judged again, `sample` is the list that the pairs were drawn for, if that
    is another one. `scale` is 0-1, 0-2, 0-3, 0-10 or a file with a rubric, `prompt` a file with one of your own; with
    several of either, each judge is asked in every way, and counts as a judge of its own each time. Each judge is asked
    `repeats` times, at a `temperature` of 1 then and else of 0.

    Votes are combined by majority ("vote"), "median", "mean", or "calibrated": by how well each judge predicts people's
    `labels`, so that no label has a part in its own grade. `weighted` grades are means of those that a judge
    considered. `progress` is called with the name of a judge and its progress; `deadline` are seconds for everything.
    `assess_panel` says how far the judges agree.

    >>> import assay
    >>> from assay.llm import Client
    >>> from assay.testing import FakeLLM
    >>> pairs, texts = assay.pool([{"q": {"d": 1.0}}]), {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}
    >>> with FakeLLM('{"reason": "on the point", "grade": 3}') as server, Client(server.url, "any-model") as client:
    ...     found = assay.judge_pairs(pairs, judge=client, **texts)
    >>> found.to_judgments().to_dict()
    {'q': {'d': 3.0}}
    """
    people = _people(labels, combine)
    chosen = choose_pairs(pairs, queries=queries, documents=documents, known=known)
    jurors = _jurors(
        judge, scale=scale, prompt=prompt, text_lang=text_lang, repeats=repeats, temperature=temperature,
        max_chars=max_chars, weighted=weighted,
    )  # fmt: skip
    if weighted and combine != "calibrated":
        combine = "mean"  # weighted grades are hardly ever equal
    last: dict[str, Progress] = {}
    whole = {name: _Whole(juror.client) for name, juror in jurors.items()}

    def note(name: str, now: Progress) -> None:
        last[name] = now
        if progress is not None:
            progress(name, now)

    found = tuple(
        panel.judge(
            chosen, jurors, repeats=repeats, combine=combine, progress=note, deadline=deadline,
            seen=lambda name, reply: whole[name].count(reply),
        )
    )  # fmt: skip
    grades = next(iter(jurors.values())).question.rubric.grades
    judging = Judging(
        judge=_name(jurors, repeats, combine, temperature),
        verdicts=found,
        bills={name: whole[name].bill(now) for name, now in last.items()},
        max_chars=max_chars,
        cut=sum(len(pair.document) > max_chars for pair in chosen),
        drawn=_read_sample(pairs if sample is None else sample),
        combine=combine,
        grades=grades,
    )
    return judging if people is None else calibrate_grades(judging, people, seed=seed)


def _people(labels: Any, combine: Combine) -> Judgments | None:
    """People's labels, which calibrated grades need and others have no use for."""
    if (labels is None) == (combine == "calibrated"):
        raise UsageError(
            say("calibrated grades need people's labels, and only they do: combine='calibrated' with labels=...")
        )
    return None if labels is None else as_judgments(labels)


def estimate_judging(
    pairs: Iterable[Any] | Place,
    *,
    judge: Any,
    queries: Texts | Queries | None = None,
    documents: Texts | None = None,
    known: Any = None,
    scale: str | Sequence[str] = "0-3",
    text_lang: Lang = "en",
    prompt: str | Sequence[str] = "relevance",
    repeats: int = 1,
    temperature: float | None = None,
    weighted: bool = False,
    max_chars: int = 20_000,
) -> JudgingPlan:
    """Estimate what `judge_pairs` would cost with each judge, without sending any request.

    >>> import assay
    >>> from assay.llm import Client
    >>> texts = {"queries": {"q": "tea"}, "documents": {"d": "Tea is a drink."}}
    >>> with Client("http://127.0.0.1:9/v1", "any-model") as client:
    ...     plan = assay.estimate_judging([("q", "d")], judge=client, **texts)
    >>> plan.estimates["any-model"].calls
    1
    """
    chosen = choose_pairs(pairs, queries=queries, documents=documents, known=known)
    jurors = _jurors(
        judge, scale=scale, prompt=prompt, text_lang=text_lang, repeats=repeats, temperature=temperature,
        max_chars=max_chars, weighted=weighted,
    )  # fmt: skip
    found = {}
    for name, juror in jurors.items():
        client, question = juror.client, juror.question
        if not hasattr(client, "estimate"):
            raise UsageError(say("{name} cannot say what it would cost: give an assay.llm.Client", name=name))
        found[name] = client.estimate(question.request(pair, repeat) for pair in chosen for repeat in range(repeats))
    return JudgingPlan(len(chosen), found)


def _jurors(
    judge: Any, *, scale: str | Sequence[str], prompt: str | Sequence[str], text_lang: Lang, repeats: int,
    temperature: float | None, max_chars: int, weighted: bool,
) -> dict[str, Juror]:  # fmt: skip
    """Make a judge of every client, prompt and rubric, named after what there are several of."""
    prompts, scales, clients = _list(prompt), _list(scale), clients_of(judge)
    # Repeating a question at temperature 0 would mostly repeat the answer.
    heat = (0.0 if repeats == 1 else 1.0) if temperature is None else temperature
    found = {}
    for name, client in clients.items():
        for file in prompts:
            for rubric in scales:
                loaded = load_prompt(file, text_lang, needed=NEEDED), load_rubric(rubric, text_lang)
                ways = [Path(file).stem] * (len(prompts) > 1) + [Path(rubric).stem] * (len(scales) > 1)
                label = f"{name} [{', '.join(ways)}]" if ways else name
                found[label] = Juror(client, PairQuestion(*loaded, max_chars, weighted=weighted, temperature=heat))
    if len(found) < len(clients) * len(prompts) * len(scales):
        raise UsageError(say("two prompts or rubrics have the same name: rename one of the files"))
    if len({juror.question.rubric.grades for juror in found.values()}) > 1:
        raise UsageError(say("the rubrics have different grades: their votes cannot be combined"))
    return found


def _list(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def clients_of(given: Any) -> dict[str, Completes]:
    """Clients by name: as given, or by their models."""
    if isinstance(given, Mapping):
        return {str(name): as_client(one) for name, one in given.items()}
    listed = given if isinstance(given, (list, tuple)) else [given]
    found = {str(getattr(one, "model", "") or getattr(one, "__name__", "judge")): as_client(one) for one in listed}
    if len(found) < len(listed):
        raise UsageError(
            say("two judges have the same name: give them as {{name: client}}; to ask one several times, use repeats")
        )
    return found


def _name(jurors: Mapping[str, Juror], repeats: int, combine: Combine, temperature: float | None) -> str:
    """Name the judge: what must be the same for its grades to be comparable."""
    questions = [juror.question for juror in jurors.values()]
    prompts = " + ".join(dict.fromkeys(one.prompt.version for one in questions))
    scales = " + ".join(dict.fromkeys(one.rubric.version for one in questions))
    many = repeats > 1 or len(jurors) > 1 or combine == "calibrated"
    how = f", {repeats} x {combine}" if many else ""
    weighted = ", weighted" if questions[0].weighted else ""
    heat = "" if temperature is None else f", temperature {temperature:g}"
    return f"{' + '.join(_short(jurors))} ({prompts}, scale {scales}{how}{weighted}{heat})"


def _short(jurors: Mapping[str, Juror]) -> list[str]:
    """The names of the judges; of one in several versions once, as these are named behind."""
    return list(dict.fromkeys(name.partition(" [")[0] if name.endswith("]") else name for name in jurors))


class _Whole:
    """Counts what all replies of a judge take, also those that were in the cache."""

    def __init__(self, client: Completes) -> None:
        self._price = getattr(client, "price_of", None)
        self._tokens = 0
        self._cost: float | None = 0.0

    def count(self, reply: Reply) -> None:
        """Take a reply into account."""
        self._tokens += reply.usage.prompt_tokens + reply.usage.completion_tokens
        cost = None if self._price is None else self._price(reply)
        self._cost = None if self._cost is None or cost is None else self._cost + cost

    def bill(self, now: Progress) -> Bill:
        """What the replies took in this run, and what they take without the cache."""
        return replace(bill_of(now), whole_tokens=self._tokens or None, whole_cost=self._cost)


def bill_of(now: Progress) -> Bill:
    """What the replies of a run took."""
    return Bill(
        now.calls, now.cached, now.prompt_tokens, now.completion_tokens, now.cost, now.possible_cost, now.currency,
        now.unpriced, now.estimated,
    )  # fmt: skip
