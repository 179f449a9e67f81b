"""Choose the measures and methods that score an experiment's answers; what cannot work is refused early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from assay.analysis.answer_methods import CachingEmbedder
from assay.analysis.answer_plan import language_of, plan_answers
from assay.analysis.answers import score_answers
from assay.analysis.settings import answer_measures, for_answers
from assay.data.protocol import AnswerMethod
from assay.data.samples import Context, Sample, Samples
from assay.errors import InputError, UsageError, excerpt
from assay.grounding.agreement import ORDERS
from assay.measures import defaults
from assay.messages import say
from assay.pipeline.measuring import time_work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assay.analysis.answer_plan import AnswerPlan
    from assay.analysis.answers import Answers
    from assay.data.protocol import Protocol
    from assay.measures import Measure
    from assay.messages import Lang
    from assay.pipeline.experiment import Collection, Experiment
    from assay.pipeline.measuring import Account
    from assay.pipeline.stages import Setup

ANSWERING = ("method", "judge", "embedder")  # keys of the table [evaluate] that are about answers
_MAKES = frozenset({"question", "answer", "contexts", "context_ids"})  # what a sample of an experiment has
_NO_MARKS = frozenset({"none", "extractive"})  # generators that never cite


@dataclass(frozen=True)
class AnswerRules:
    """Measures of answers by their labels, and how they are judged, the same for every combination of an experiment.

    `asked` has the labels of what was asked for.
    `client` asks the language model that `judge` names, in the language of the questions.
    """

    measures: Mapping[str, Measure]
    asked: Mapping[str, str]
    protocol: Protocol
    method: AnswerMethod
    client: Any = None
    embedder: Any = "auto"
    lang: Lang = "en"
    judge: str = ""
    notes: tuple[str, ...] = ()

    def plan(self, samples: Samples, name: str = "answers") -> AnswerPlan:
        """Plan how the given samples are judged."""
        return plan_answers(
            samples, self.measures, method=self.method, judge=self.client, embedder=self.embedder,
            text_lang=self.lang, protocol=self.protocol, name=name,
        )  # fmt: skip

    def score(self, samples: Samples, name: str) -> tuple[Answers, Account]:
        """Score the answers of one combination, and return what that cost."""
        done = time_work(lambda: score_answers(self.plan(samples, name)))
        return done.found, done.account


def answer_rules(
    asked: Sequence[str | Measure],
    protocol: Protocol,
    told: Mapping[str, Any],
    data: tuple[Experiment, Collection],
    setup: Setup,
) -> AnswerRules | None:
    """Decide how answers are scored: by `asked` measures, else the protocol's; None if there will be no answers.

    `told` has the method, the judge and the embedder of the table [evaluate].
    """
    experiment, collection = data
    place, measures_at = experiment.at("evaluate"), experiment.at("evaluate.measures")
    generators = {one.name: one.generator for one in experiment.combinations}
    if set(generators.values()) == {"none"}:
        if asked:
            name = asked[0] if isinstance(asked[0], str) else asked[0].label
            raise InputError(
                say("{name} is a measure of answers, but no combination generates answers", name=name),
                path=measures_at,
                hint=say('set [generate] method = "extractive" or "llm"'),
            )
        return None
    method = told.get("method") or protocol.method
    if method not in get_args(AnswerMethod):
        raise InputError(
            say("method = {method!r}: expected one of {methods}", method=method, methods=list(get_args(AnswerMethod))),
            path=place,
        )
    names = list(asked) or list(protocol.answers) or list(defaults.ANSWERS)
    try:
        wanted, labels = answer_measures(names, for_answers(protocol))
    except UsageError as error:
        raise InputError(error.message, path=measures_at) from None
    kept, notes = _possible(wanted, collection, set(generators.values()), measures_at, strict=bool(asked))
    client = _client(told.get("judge"), setup, experiment.at("evaluate.judge"))
    _check_judge(kept, method, client, place)
    used = {str(measure.arguments.get("method")) for measure in kept.values()} | {method}
    try:
        embedder = _embedder(told.get("embedder", "auto"), used, setup)
        prospect = _placeholder_samples(collection)
        lang = language_of(prospect)
        rules = AnswerRules(kept, labels, protocol, method, client, embedder, lang, notes=tuple(notes))
        judge = rules.plan(prospect).here.judge
    except UsageError as error:
        raise InputError(error.message, path=place) from None
    return replace(rules, judge="" if judge is None else judge.name)


def _possible(
    wanted: Mapping[str, Measure], collection: Collection, generators: set[str], place: str, *, strict: bool
) -> tuple[dict[str, Measure], list[str]]:
    """Drop measures that an experiment's answers cannot have; refuse one that was asked for."""
    fields = _MAKES | ({"reference"} if any(collection.references.get(q.id) for q in collection.queries) else set())
    fields |= set() if generators <= _NO_MARKS else {"marks"}
    kept: dict[str, Measure] = {}
    notes: list[str] = []
    for label, measure in wanted.items():
        lack = _missing_field(measure, fields)
        if lack and strict:
            hint = say("add a column reference to the queries") if "reference" in lack else ""
            raise InputError(say("{label} needs {lack}", label=label, lack=lack), path=place, hint=hint)
        if lack:
            notes.append(say("answers.not_computed", label=label, lack=lack))
        else:
            kept[label] = measure
    return kept, notes


def _missing_field(measure: Measure, fields: frozenset[str] | set[str]) -> str:
    by = measure.arguments.get("by")
    for need in measure.needs:
        options = [one for one in need.split("|") if by is None or (one == "gold_ids") == (by == "gold")]
        if not fields.intersection(options or need.split("|")):
            names = options or need.split("|")
            return say("answers.either", fields=[say("answers.cited") if one == "marks" else one for one in names])
    return ""


def _client(asked: Any, setup: Setup, place: str) -> Any:
    """The judge: a model of the server of [llm], or MODEL@URL."""
    if asked is None:
        return None
    if not isinstance(asked, str) or not asked:
        raise InputError(
            say("{name} is not the name of a model", name=excerpt(asked)),
            path=place,
            hint=say('write it like "qwen-plus"'),
        )
    name, at, url = asked.rpartition("@")
    try:
        return setup.client(url, name) if at and "://" in url else setup.client("", asked)
    except UsageError as error:
        raise InputError(error.message, path=place) from None


def _check_judge(measures: Mapping[str, Measure], method: str, client: Any, place: str) -> None:
    if client is not None:
        return
    for label, measure in measures.items():
        if measure.spec.needs_judge:
            raise InputError(
                say("{label} needs a judge", label=label), path=f"{place}.measures" if place else "", hint=_judge_hint()
            )
    if method == "llm" or any(measure.arguments.get("method") == "llm" for measure in measures.values()):
        raise InputError(say("the method llm needs a judge"), path=place, hint=_judge_hint())


def _judge_hint() -> str:
    return say('set [evaluate] judge = "MODEL", and its url in [llm]')


def _embedder(asked: str, methods: set[str], setup: Setup) -> Any:
    """One embedder for all combinations, chosen by the documents' language, as answers may be in another one."""
    order = ORDERS.get(next((one for one in methods if one in ORDERS), ""), ())
    first = bool(order) and order.index("embedding") < order.index("words")
    if asked == "auto" and not first and not methods & {"embedding", "sigmoid"}:
        return "auto"
    try:
        return CachingEmbedder(setup.embedder(asked))
    except UsageError:
        if asked == "auto" and "embedding" not in methods:
            return "auto"  # words take over, and a note says why
        raise


def _placeholder_samples(collection: Collection) -> Samples:
    """Samples without real answers yet, enough to find out which measures cannot be judged."""
    return Samples(
        tuple(
            Sample(query.id, query.text, ".", (Context("."),), references=collection.references.get(query.id, ()))
            for query in collection.queries
        )
    )
