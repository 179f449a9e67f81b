"""Propose an experiment for a folder: what can be compared with what is in it and with what is installed here."""

from __future__ import annotations

import json
import os
import shlex
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.analysis.folder_contents import look_into
from assay.analysis.proposal_files import QUESTIONS, read_earlier, style_seeds
from assay.curation.passages import passages_of
from assay.data.toml import decode_toml
from assay.errors import InputError, MissingPackage
from assay.formats.files import is_there
from assay.formats.set_folders import is_set, read_manifest
from assay.installation import install_command
from assay.measures import defaults
from assay.messages import say, some
from assay.pipeline.experiment import make_experiment
from assay.results.proposal import Proposal
from assay.stats.inputs import check_whole
from assay.text.static import wordllama_folder
from assay.text.weights import find_minilm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from assay.analysis.folder_contents import Contents
    from assay.llm.client import Client

_SIZES = (400, 800, 1600)  # characters of chunks
_MIDDLE = 800
_BUDGET = 2000  # characters that a generator reads, over which chunks of different sizes are compared
_RERANKED = 5  # chunks that a slow reranker puts in order
_TIMED = 4  # texts that are embedded to find out how long that takes
_SURE = 0.7  # of the questions that would just be in time: times vary
_KINDS = 5  # kinds of files that are named
_BM25_RATE = 2e6  # characters that are cut and indexed in a second, roughly
_PATIENCE = 300.0  # seconds beyond which a reranker is named, but not proposed
_LEAST = 10  # questions with which a reranker is still worth a look
_FEW = 50  # queries below which most differences cannot be shown


class _Means(NamedTuple):
    """What is here: a splitter for chunks, fast embeddings, a slower model that reranks, and its seconds in all."""

    splitter: bool
    vectors: bool
    reranker: bool
    reranking: float = 0.0

    @property
    def quick(self) -> bool:
        """Return whether the reranker takes no longer than anybody would wait."""
        return self.reranker and self.reranking <= _PATIENCE


def propose_experiment(
    folder: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    n: int = 200,
    seed: int = 0,
    judge: Client | None = None,
    tell: Callable[[str, int, int], object] = lambda *_: None,
) -> Proposal:
    """Look at a folder, or a file of documents, and propose an experiment for it; nothing is written.

    Where the folder has queries with judgments or gold they are asked, else `n` questions that are made from the
    documents: known items, or questions by a language model where `judge` is a client of one, with what they would
    cost. Queries of the folder without judgments are searched for as well, but not scored. `assay.run_experiment` runs
    what is proposed and keeps everything in `output`, a new folder here that is named after the folder unless given.
    `tell` is called with (what, done, total).

    >>> import assay
    >>> from pathlib import Path
    >>> Path("tea").mkdir()
    >>> _ = Path("tea/green.md").write_text("Green tea is steamed right after picking, which keeps its leaves green.")
    >>> found = assay.propose_experiment("tea")
    >>> found.documents, found.known_items, found.output
    (1, True, 'tea-results')
    """
    check_whole(n, "n", least=1)
    place = Path(folder)
    if not is_there(folder):
        raise InputError(say("error.no_file"), path=os.fspath(folder))
    if find_spec("bm25s") is None:
        raise MissingPackage(say("an experiment"), "bm25s", "pipeline")
    to = Path(f"{Path(os.path.abspath(place)).name.split('.')[0]}-results" if output is None else output)  # noqa: PTH100
    found = look_into(place, tell)
    own = _count(found)
    questions = _plan_questions(found, to, n=n, seed=seed, judge=judge, tell=tell)
    means = _look_around(found, questions.n + (0 if found.has_labels else own))
    sizes = _sizes_for(found) if means.splitter else []
    text = _toml(place, to, found, sizes, means)
    digest = found.digest
    earlier = read_earlier(to, digest)
    if earlier is not None and not earlier.changed and _data_of(earlier.toml) != _data_of(text):
        told = say("queries or judgments came or went since this folder was made")
        raise InputError(told, path=os.fspath(to), hint=say("name another folder with -o"))
    text, kept = (text, False) if earlier is None else (earlier.toml, earlier.changed)
    grid = make_experiment(decode_toml(text, "experiment.toml"), to / "experiment.toml").combinations
    return Proposal(
        folder=os.fspath(folder), output=to.as_posix(), toml=text, digest=digest, copied=found.copied, kept=kept,
        documents=sum(bool(one.strip()) for one in found.documents.values()),
        characters=sum(map(len, found.documents.values())), languages=found.languages,
        combinations=tuple(one.name for one in grid),
        questions=questions.n, known_items=questions.known_items, seed=seed, judge=questions.judge,
        calls=questions.calls, cost=questions.cost, most=questions.most, currency=questions.currency,
        made=questions.made, unlabelled=0 if found.has_labels else own,
        unlabelled_at="" if found.has_labels or not own else os.fspath(found.roles["queries"]),
        seconds=_estimate(found, sizes, means), files=found.files, unread=found.unread,
        missing=tuple(_missing(found, questions)),
        warnings=(*_warnings(found, questions, judge), *_not_compared(found, sizes, means)),
        more=_more(sizes, means, 0 if found.has_labels else questions.n),
    )  # fmt: skip


class _Questions(NamedTuple):
    """The questions that decide: how many, who makes them, and what that costs."""

    n: int
    known_items: bool = False
    judge: str = ""
    calls: int = 0
    cost: float | None = 0.0
    most: float | None = None
    currency: str = "USD"
    made: bool = False


def _plan_questions(
    found: Contents, to: Path, *, n: int, seed: int, judge: Client | None, tell: Callable[[str, int, int], object]
) -> _Questions:
    """Those of the folder; those that an earlier run left; else known items, or what a model would write."""
    if found.has_labels:
        return _Questions(_count(found))
    if is_set(to / QUESTIONS):
        about = next(one for one in read_manifest(to / QUESTIONS).files.values() if one.role == "queries")
        return _Questions(about.rows, "known_items" in about.made_by, next(iter(about.models), ""), made=True)
    if judge is None:
        return _Questions(_most_known_items(found, n), known_items=True)
    from assay.curation.questions import estimate_questions

    plan = estimate_questions(
        dict(found.documents), n, judge=judge, seed=seed, style_seeds=style_seeds(found), progress=tell
    )
    one = plan.total
    return _Questions(n, judge=plan.judge, calls=one.calls, cost=one.cost, most=plan.most.enough, currency=one.currency)


def _most_known_items(found: Contents, n: int) -> int:
    """No more than there are passages, as each gives one at most."""
    passages = (one for doc, text in found.documents.items() for one in passages_of(doc, text))
    return max(1, sum(1 for _ in islice(passages, n)))


def _data_of(text: str) -> object:
    return decode_toml(text, "experiment.toml").get("data")


def _look_around(found: Contents, questions: int) -> _Means:
    splitter = find_spec("semantic_text_splitter") is not None
    reranker = find_minilm() is not None
    seconds = (_RERANKED + 1) * questions * _seconds_of("minilm", _sample(found)) if reranker else 0.0
    return _Means(splitter, wordllama_folder() is not None, reranker, seconds)


def _sample(found: Contents) -> list[str]:
    return [text[:_MIDDLE] for text in found.documents.values() if text.strip()][:_TIMED]


def _sizes_for(found: Contents) -> list[int]:
    """Sizes of chunks that most documents are longer than; none where documents are about as short as chunks."""
    lengths = sorted(len(text) for text in found.documents.values() if text.strip())
    typical = lengths[int(0.75 * (len(lengths) - 1))]
    return [size for size in _SIZES if size < typical] if typical > _MIDDLE else []


def _count(found: Contents) -> int:
    from assay.formats.queries import read_queries

    return len(read_queries(found.roles["queries"]).texts()) if "queries" in found.roles else 0


def _toml(place: Path, to: Path, found: Contents, sizes: list[int], means: _Means) -> str:
    """The text of the experiment: a ladder at one size of chunks, and the sizes at one retriever."""

    def path(of: Path) -> str:
        return json.dumps(Path(os.path.relpath(of, to)).as_posix(), ensure_ascii=False)

    data = {"documents": '"documents.jsonl"' if found.copied else path(found.documents_at)}
    data |= {"queries": '"questions"', "gold": '"questions"'}
    if found.has_labels:
        data = {"documents": data["documents"]} | {role: path(at) for role, at in found.roles.items()}
    lines = [
        "# Proposed by assay run. Change what you like: the same command runs it as it is then.",
        f"name = {json.dumps(place.resolve().name, ensure_ascii=False)}", 'output = "."', 'cache = "cache"',
        *_grid(sizes, means), "", "[data]", *(f"{name} = {value}" for name, value in data.items()),
    ]  # fmt: skip
    for size in sizes:
        lines += ["", "[[chunk]]", f'name = "size {size}"', 'method = "recursive"', f"size = {size}"]
    retrievers = '["bm25", "vectors", "hybrid"]' if means.vectors else '["bm25"]'
    lines += ["", "[retrieve]", f"method = {retrievers}", *(['embedder = "wordllama"'] if means.vectors else [])]
    if means.reranker:
        lines += ["", "[[rerank]]", 'method = "none"', "", "[[rerank]]", 'name = "minilm"', 'method = "embedding"']
        lines += ['embedder = "minilm"', f"depth = {_RERANKED}"]
    spans = f'"span_recall(characters={_BUDGET})@100", "span_recall@5", '
    measures = "" if found.has_labels and "gold" not in found.roles else spans
    lists = ", ".join(f'"{name}"' for name in defaults.LISTS)
    lines += ["", "[evaluate]", f"measures = [{measures}{lists}]"]
    return "\n".join(lines) + "\n"


def _grid(sizes: list[int], means: _Means) -> list[str]:
    """Which combinations run: every retriever at the middle size, the last of them with a reranker, and all sizes."""
    middle, top = _MIDDLE if sizes else 0, _best_retriever(means)
    retrievers = ("bm25", "vectors", "hybrid") if means.vectors else ("bm25",)
    rungs = [_name(sizes, means, middle, one) for one in retrievers]
    rungs += [_name(sizes, means, middle, top, "minilm")] if means.quick else []
    rungs += [_name(sizes, means, size, top) for size in sizes if size != middle]
    return [f"baseline = {json.dumps(rungs[0])}", f"only = {json.dumps(rungs)}"]


def _best_retriever(means: _Means) -> str:
    """The retriever at which chunks and rerankers are compared."""
    return "hybrid" if means.vectors else "bm25"


def _name(sizes: list[int], means: _Means, size: int, retriever: str, reranker: str = "") -> str:
    """The name of a combination: its value on every axis that there is."""
    words = [*([f"size {size}"] if sizes else []), *([retriever] if means.vectors else []), reranker]
    return " + ".join(filter(None, words)) or ("none" if means.reranker else retriever)


def _estimate(found: Contents, sizes: list[int], means: _Means) -> float:
    """Roughly how many seconds one run takes, from the time that the embedders here need for a few texts."""
    characters = sum(map(len, found.documents.values()))
    sample = _sample(found)
    seconds = (1 + len(sizes)) * characters / _BM25_RATE
    length = sum(map(len, sample)) / len(sample)
    if means.vectors:
        seconds += max(1, len(sizes)) * characters / length * _seconds_of("wordllama", sample)
    return seconds + (means.reranking if means.quick else 0.0)


def _seconds_of(name: str, sample: list[str]) -> float:
    from assay.text.embeddings import choose_embedder

    embedder = choose_embedder(name, sample).embedder
    embedder.embed(sample[:1])  # loads the model
    taken = []
    for _ in range(2):  # the shorter time: what else the machine does only makes it longer
        start = time.perf_counter()
        embedder.embed(sample)
        taken.append(time.perf_counter() - start)
    return min(taken) / len(sample)


def _missing(found: Contents, questions: _Questions) -> list[str]:
    """What is not in the folder and would make the numbers worth more."""
    if found.has_labels:
        return []
    maker = "written" if questions.judge else "made"
    if "queries" in found.roles:
        return [say(f"proposal.no_judgments_{maker}", place=found.roles["queries"].name)]
    return [say(f"proposal.no_queries_{maker}")]


def _warnings(found: Contents, questions: _Questions, judge: Client | None) -> list[str]:
    texts = [text for text in found.documents.values() if text.strip()]
    told: list[str] = []
    if len(texts) == 1:
        told.append(say("questions.one_document"))
    if (copies := len(texts) - len(set(texts))) > 0:
        told.append(say("proposal.copies", n=copies))
    if (empty := len(found.documents) - len(texts)) > 0:
        told.append(say("proposal.empty", n=empty))
    if found.has_labels and questions.n < _FEW:
        told.append(say("proposal.few", n=questions.n))
    if judge is not None and found.has_labels:
        told.append(say("proposal.judge_unused", model=judge.model))
    if judge is not None and questions.made and not questions.judge:
        told.append(say("proposal.known_items_there", model=judge.model))
    return told


def _not_compared(found: Contents, sizes: list[int], means: _Means) -> list[str]:
    """What a newcomer looks for in the plan and does not find, and why: other files, sizes of chunks."""
    told: list[str] = []
    if found.others:
        kinds = [f"{kind} ({n:,})" if kind else say("proposal.no_suffix", n=n) for kind, n in found.others.items()]
        told.append(say("proposal.other_kinds", n=sum(found.others.values()), kinds=some(kinds, _KINDS)))
    if means.splitter and not sizes:
        told.append(say("proposal.short_documents", n=_MIDDLE))
    return told


def _more(sizes: list[int], means: _Means, questions: int) -> Mapping[str, str]:
    """What else could be compared, and how: a command that installs it, or how long it takes."""
    found = {} if means.splitter else {"chunks": install_command("pipeline")}
    found |= {} if means.vectors else {"vectors": install_command("text")}
    if means.reranker and not means.quick:
        middle, top = _MIDDLE if sizes else 0, _best_retriever(means)
        names = dict.fromkeys(_name(sizes, means, middle, one) for one in ("bm25", top))
        reranked = [*names, _name(sizes, means, middle, top, "minilm")]
        found["slow_reranker"] = f"{means.reranking / 60:.0f}"
        found["with_reranker"] = " ".join(f"--only {shlex.quote(name)}" for name in reranked)
        if (fewer := int(_SURE * questions * _PATIENCE / means.reranking)) >= _LEAST:
            found["fewer_questions"] = str(fewer)
    return found | ({} if means.reranker else {"reranker": "assay env models get minilm"})
