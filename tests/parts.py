"""A record of every part of a result, as small as it can be and still show marks, statuses and numbers."""

from __future__ import annotations

import json
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import assay
from assay.analysis.answers import answer_details
from assay.data.protocol import Target
from assay.formats.queries import Queries
from assay.messages import say
from assay.results.bench import Bench, Histogram, Latency, Load
from assay.results.check import Finding, InputCheck
from assay.results.experiment import (
    Findings,
    Holdout,
    IndexTrace,
    Quality,
    QuestionCount,
    Reference,
    Refusals,
    Row,
    StageTime,
)
from assay.results.explanation import Explanation
from assay.results.judging import Bill, Estimate, Judging, JudgingPlan, PairVerdict, Vote
from assay.results.panel import JudgePair, Panel, PanelCalibration, PanelJudge, Swap, SystemBand
from assay.results.proposal import FoundFile, Proposal, Unread
from assay.results.questions import QuestionPlan, QuestionStep
from assay.results.reranker import RerankerEvaluation
from assay.results.sets import PartOfSet, SetSplit
from assay.results.trust import Bias, Calibration, Corrected, Noise, ScoreAgreement, Validation
from assay.results.watch import OpenWindow, Watch, WatchMeasure, WatchValue, WatchWindow
from assay.stats.agreement import Agreement, Confusion
from assay.stats.alarms import plan_alarms
from assay.stats.intervals import Interval
from assay.stats.prediction_powered import PredictionPowered

if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.data.record import Record

JUDGED = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(24)}
RUNS = {
    "bm25": {q: {"c": 3.0, "a": 2.0, "b": 1.0} for q in JUDGED},
    "dense": {q: {"a": 3.0, "b": 2.0, "c": 1.0} if i % 8 else {"c": 1.0} for i, q in enumerate(JUDGED)},
    "broken": {q: {"c": 3.0, "x": 2.0} if i % 3 else {"a": 1.0} for i, q in enumerate(JUDGED)},
}
PREFERRED = [
    {"question_id": f"q{i}", "left": left, "right": right, "preferred": "left" if i % 4 else "right", "rater": "m"}
    for i in range(16)
    for left, right in (("alpha", "beta"), ("beta", "alpha"), ("beta", "gamma"), ("alpha", "gamma"))
]
SAMPLES = [
    {"id": "1", "question": "When?", "answer": "It opened in 1889. Bananas are yellow.", "contexts": ["It opened in 1889."], "reference": "In 1889."},
    {"id": "2", "question": "Where?", "answer": "I do not know.", "contexts": ["It stands in Paris."], "reference": "In Paris."},
    {"id": "3", "question": "Who?", "answer": "Eiffel built the tower.", "contexts": ["Eiffel built the tower."], "reference": "Eiffel built it."},
]  # fmt: skip


def interval(estimate: float, half: float = 0.03125) -> Interval:
    return Interval(estimate, estimate - half, estimate + half, 0.95, "t", 40)


def proposal():
    return Proposal(
        "docs", "docs-results", 'name = "docs"\n', "d1", 2, 90, {"en": 1, "zh": 1}, ("bm25", "hybrid"), 20,
        known_items=True,
        files=(FoundFile("q.jsonl", "queries", "20 queries", "queries"),), unread=(Unread("<b>x</b>.pdf", "a scan"),),
        missing=("no judgments",), more={"reranker": "get it"}, seconds=200.0,
    )  # fmt: skip


def scores(protocol: str = "rag"):
    return [
        assay.evaluate(JUDGED, run, ["ndcg@5", "recall@5"], protocol=protocol, name=name) for name, run in RUNS.items()
    ]


def comparison():
    return assay.compare(scores())


def set_description():
    with TemporaryDirectory() as tmp:
        rows = [
            {"query_id": "q1", "text": "green <b>tea</b>", "made_by": "person", "probability": 0.2},
            {"query_id": "q2", "text": "茶", "made_by": "model"},
        ]
        judged = assay.Judgments.from_dict({"q1": {"d1": 2}})
        assay.write_set(f"{tmp}/tea", queries=rows, documents={"d1": "Green tea."}, judgments=judged)
        return assay.describe_set(f"{tmp}/tea")


def slices():
    """A slice with a verdict, one without, and one with too few queries."""
    import polars as pl

    kinds = ["en"] * 12 + ["de"] * 10 + ["fr"] * 2
    return assay.compare_slices(
        scores(), "language", Queries(pl.DataFrame({"query_id": list(JUDGED), "language": kinds}))
    )


def answers():
    other = [{**one, "answer": "It opened in 1889."} for one in SAMPLES]
    measures = ["faithfulness", "token_f1"]
    return answer_details(
        [
            assay.answers(SAMPLES, measures, method="words", name="alpha"),
            assay.answers(other, measures, method="words", name="beta"),
        ]
    )


def bench() -> Bench:
    slow = Latency(interval(200.0, 4.0), interval(301.25, 9.0), interval(402.0, 30.0), 210.0, 44.0)
    quick = Latency(interval(0.000221, 1e-5), interval(0.0005, 1e-5), interval(0.0008, 1e-5), 0.0003, 0.0)
    histogram = Histogram((100.0, 200.0, 300.0), (40, 60))
    loads = (
        Load("closed", 1, 50, None, 60.0, 100, {}, {}, 50.0, slow, None, histogram),
        Load("closed", 4, 50, None, 60.0, 400, {"timeout": 3}, {}, 180.25, quick, None, None),
        Load("closed", 2, 50, None, 60.0, 0, {"refused": 9}, {}, 0.0, None, None, None),
    )
    goal = Target("latency_p95", 500.0, 300.0, below=True, strict=True, unit="ms")
    return Bench("http://localhost/rerank", loads, (say("bench.hopeless"),), texts="demo", goal=goal)


def check() -> InputCheck:
    return InputCheck(
        (Finding("q.qrels", "unjudged", 12, "queries", ("q1", "q2")), Finding("a.run", "twice", 3, "x", error=True))
    )


def experiment() -> Findings:
    def row(name: str, mean: float, verdict: str, p: float | None, **more: object) -> Row:
        qualities = {
            "ndcg@10": Quality(interval(mean), p, verdict), "faithfulness": Quality(interval(mean / 2), None, "", "words"),
        }  # fmt: skip
        given: dict = {
            "quality": qualities, "latency_ms": {"mean": 8.5, "p50": 6.0, "p95": 12.25, "p99": 40.0}, "cost_per_query": 0.0,
            "stages": (StageTime("retrieve", 4.0, 9.5, 1200, 0.25, money_estimated=True),),
            "index": IndexTrace(1.25, 155, 20480, 1048576), "stages_chosen": {"retrieve": {"embedder": "wordllama"}},
        }  # fmt: skip
        return Row(name, "done", **{**given, **more})

    rows = (
        row("base", 0.65, "", None, pareto=True),
        row("better", 0.78, "better", 0.001, cost_per_query=0.0002, cost_estimated=True, pareto=True),
        row("worse", 0.41, "worse", 0.004, latency_ms={"p95": 210.0}),
        row(
            "app",
            0.5,
            "inconclusive",
            0.4,
            latency_ms={"p95": 90.0, "first_token_p50": 20.0, "first_token_p95": 44.5},
            outcomes=(
                QuestionCount("scored", "", 9),
                QuestionCount("scored", "no_contexts", 1),
                QuestionCount("abstained", "refused", 2),
                QuestionCount("failed", "server", 3, "HTTP 500: <b>no more memory</b>"),
            ),
        ),
        Row("lost", "failed", "no such model"),
    )
    held = Holdout(12, 28, "ndcg@10", interval(0.75), interval(0.66), interval(0.09), 0.0123, "better")
    reference = Reference("a paper", {"base": {"ndcg@10": 0.61}})
    declined = (
        Refusals("app", 12, 8, 1, interval(0.72), 0.004, "who <b>wrote</b> this?"),
        Refusals("lost", 0, 0, 0, Interval(None, None, None, 0.95, "wilson", 0), reason="no such model"),
    )
    return Findings(
        rows, "ndcg@10", ("ndcg@10", "faithfulness"), "base", "better", held, reference=reference, refusals=declined
    )  # fmt: skip


def explanation() -> Explanation:
    return Explanation(
        "q1", "ndcg@3", ("rank", "document", "gain"), (("1", "a", "1.0000"),), ("sum 1.0000",), 1.0, "trec"
    )


def judging() -> Judging:
    vote = Vote("m", 0, "scored", "", 1.0, "on the topic")
    verdicts = (
        PairVerdict("q1", "a", "scored", "", 1.0, "on the topic", (vote,)),
        PairVerdict("q1", "b", "failed", "parse", None, "no grade", ()),
    )
    return Judging("m", verdicts, {"m": Bill(2, 1, 900, 80, 0.0125, 0.0, "USD", 0, 1)}, 4000, cut=1)


def panel() -> Panel:
    """Two judges, asked twice: one unsteady, one that failed once; labels of people, and systems that change places."""
    agreed = Agreement(0.62, "kappa (quadratic)", 60, interval(0.62))
    judges = (
        PanelJudge("m", 120, 120, {}, 60, 60, interval(0.25), interval(0.25), agreed, interval(0.125), 9000, 0.0125, "USD"),
        PanelJudge("n", 120, 118, {"timeout": 2}, 59, 59, interval(0.0), interval(0.0), agreed, None, 9000, None, "USD"),
    )  # fmt: skip
    fitted = PanelCalibration(
        52, 12, 10, 0.25, {"m": 0.5, "n": 0.25}, {"m": 0.75, "n": 0.875}, 0.5, interval(1.25), 1.5
    )
    systems = (
        SystemBand("bm25", "ndcg@10", 0.625, {"m": 0.625, "n": 0.5}),
        SystemBand("dense", "ndcg@10", 0.5, {"m": 0.5, "n": 0.75}),
    )
    swap = Swap("ndcg@10", "bm25", "dense", -0.25, 0.125, ("n",))
    return Panel(
        "m + n (p-1, scale 0-3, 2 x vote)", "vote", 2, 60, 12, 60, 59, 3, judges,
        (JudgePair("m", "n", 59, agreed, 0.75),), agreed, 52, agreed, fitted, systems, (swap,),
        (say("panel.failing", judge="n", failed=2, asked=120),),
    )  # fmt: skip


def judging_plan() -> JudgingPlan:
    return JudgingPlan(40, {"m": Estimate(40, 8, 32, 12000, 900, 0.0421, 0.0842, "USD")})


def reranker() -> RerankerEvaluation:
    found = comparison()
    return RerankerEvaluation(
        {"p50": 12.5, "p95": 48.75, "p99": 60.0, "mean": 20.0, "std": 4.0}, {f"q{i}": 12.5 for i in range(24)},
        {f"q{i}": 3 for i in range(24)}, 4200, 0.125, {"timeout": 2}, {"method": "embedding", "embedder": "wordllama"},
        estimated=True, comparison=found, scores=found.scores,
    )  # fmt: skip


def questions_plan() -> QuestionPlan:
    one = Estimate(10, 2, 8, 4100, 5000, 0.0123, 0.0456, "USD")
    steps = (QuestionStep("write", one), QuestionStep("others", one))
    both = Estimate(20, 4, 16, 8200, 10000, 0.0246, 0.0912, "USD")
    return QuestionPlan("m <b> (question-en-1+00000000)", 10, 30, steps, both, both)


def calibration() -> Calibration:
    agreed = Agreement(0.62, "kappa", 60, interval(0.62))
    powered = PredictionPowered(0.71, 0.02, interval(0.71), 0.5, 20.0, 10, 30)
    return Calibration(
        "m", 60, 12, 0.725, agreed, agreed, agreed, Confusion((0.0, 1.0), ((20, 4), (6, 30)), 60), interval(0.05),
        (Bias(0.0, 24, interval(0.1)), Bias(1.0, 36, interval(-0.05))), (Noise("m", 20, 0.15, 0.25, interval(0.15)),), agreed,
        (Corrected("bm25", "ndcg@10", 10, 30, 0.7, 0.75, powered),), (say("calibrate.few", n=60, enough=100),),
        "kappa 0.62", poor=False,
    )  # fmt: skip


def validation() -> Validation:
    agreed, apart = Agreement(0.812, "auroc", 80, interval(0.812)), Agreement(0.12, "auroc", 80, interval(0.12))
    return Validation(
        "dev", "human", 3.0, None, 90, 80, 30, 40,
        (
            ScoreAgreement("words", "method", 85, agreed, agreed, agreed, 0.625, None),
            ScoreAgreement("ragas.faithfulness", "published", 80, apart, apart, apart, 0.5, apart),
        ),
        {"no answer": 10}, (),
    )  # fmt: skip


def ab_test(variants: int = 3) -> Record:
    import polars as pl

    users = pl.DataFrame({
        "variant": ["old", "new", "newer"] * 120, "day": [f"2026-10-{1 + i // 3 % 8:02d}" for i in range(360)],
        "clicks": [1 + (i % 3 == 1) * (i % 2) + i % 2 for i in range(360)], "ms": [100 + i % 7 + 30 * (i % 3 == 2) for i in range(360)],
    })  # fmt: skip
    kept = users.filter(pl.col("variant").is_in(["old", "new", "newer"][:variants]))
    return assay.ab_test(kept, "clicks", control="old", guardrails=["ms<=+5%"])


def ab_history() -> Record:
    return assay.ab_history([(assay.compare(scores()[:2]), ab_test(2))])


def event_log() -> assay.Events:
    import polars as pl

    rows = []
    for i in range(60):
        rows.append((f"r{i}", "query", None, None, "green tea" if i % 3 else "a", f"u{i % 20}", [] if i == 7 else None))
        shown = ["a", "b", "c"][:: -1 if i % 2 else 1]
        rows += [(f"r{i}", "impression", doc, place, None, None, None) for place, doc in enumerate(shown, 1)]
        rows += [(f"r{i}", "click", shown[i % 5 // 2], None, None, None, None)] if i % 4 else []
    names = ["query_id", "action", "doc_id", "position", "text", "user", "results"]
    kinds = {"results": pl.List(pl.String)}
    return assay.Events.of(pl.DataFrame(rows, schema=names, schema_overrides=kinds, orient="row"))


def log_metrics() -> Record:
    import polars as pl

    rows = [
        {
            "query_id": f"{day}{user}",
            "user": f"u{user}",
            "variant": "ab"[user % 2],
            "action": action,
            "time": f"2026-03-0{day}T00:00:00Z",
        }
        for day in (1, 2)
        for user in range(8)
        for action in ("query", *["click"] * (user % 3))
    ]
    log = assay.Events.of(pl.DataFrame(rows).with_columns(pl.col("time").str.to_datetime(time_zone="UTC")))
    return assay.log_metrics(log, ["any_click", "clicks", "thumbs"], by=["day", "variant"])


def watch() -> Record:
    """Four windows with two targets: one alert is over, one stands, and a measure has no values."""
    windows = tuple(
        WatchWindow(
            f"2026-03-01T0{i}:00:00Z", f"2026-03-01T0{i + 1}:00:00Z", 40, 20,
            (WatchValue("any_click", interval(0.25 if i in {0, 1} else 0.5)),
             WatchValue("query_latency(p=95)", interval(900.0 if i > 1 else 400.0, 25.0), 1)),
            set_aside=i, empty_before=i,
        )
        for i in range(4)
    )  # fmt: skip
    targets = {
        "any_click": Target("any_click", 0.4),
        "query_latency(p=95)": Target("query_latency(p=95)", 500, below=True, unit="ms"),
    }
    measures = [WatchMeasure(name, name, "query", target=targets[name], error=0.01, shift=0.05) for name in targets]
    lacking = WatchMeasure(
        "dwell",
        "dwell",
        "click",
        target=Target("dwell", 10),
        lacking=say("watch.lacking", measure="dwell", names=["click"]),
    )
    return Watch(
        "events", (*measures, lacking), windows, plan_alarms(8766), 3600.0, 600.0, "<b>mine</b>", 24,
        (OpenWindow("2026-03-01T04:00:00Z", 12),), 200, {"late": 2, "unreadable": 1},
        (say("watch.unwatched", names=["ndcg@10"], protocol="<b>mine</b>"),),
    )  # fmt: skip


def interleaving() -> Record:
    """Two systems against a control: one is preferred, one is not shown to be."""
    import polars as pl

    rows = []
    for i in range(240):
        found = assay.interleave(
            *map(list, ("abc", "bca", "cab")),
            names=["old", "new", "newer"],
            k=3,
            method="multileave",
            query="tea",
            user=i % 80,
        )
        of = {"query_id": f"r{i}", "user": f"u{i % 80}", "time": f"2026-03-{1 + i % 9:02d}T00:00:00Z"}
        shown = {**found.to_attributes(), "method": "multileave" if i % 2 else "team-draft"}
        rows.append({**of, "action": "query", "teams": json.dumps(shown)})
        clicked = {"new": i % 4 > 0, "old": i % 4 == 0, "newer": i % 8 == 0}
        rows += [
            {**of, "action": "click", "doc_id": doc}
            for doc, team in zip(found.documents, found.teams, strict=True)
            if clicked.get(team)
        ]
    log = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("time").str.to_datetime(time_zone="UTC"))
    return assay.interleaving_test(assay.Events.of(log), control="old", planned=80)


def interleaved_lists() -> Record:
    runs = {"old": {"q1": ["a", "b", "c"], "q2": ["a", "b"]}, "new": {"q1": ["b", "c", "a"], "q3": ["c"]}}
    return assay.interleave_runs(runs, method="balanced", k=3, per_query=2, propensities=True)


def replay() -> Record:
    rows = [
        {
            "item_id": "abcd"[i % 4],
            "position": 1 + i // 4 % 2,
            "click": int(i % 8 == 0),
            "propensity_score": 0.25,
            "request_id": f"r{i // 2}",
        }
        for i in range(800)
    ]
    return assay.replay(rows, lambda rows, items: [0.375, 0.25, 0.25, 0.125], name="new")


DRAWN = [
    {"query_id": q, "doc_id": doc, "grade": grade, "inclusion": chance}
    for q, docs in JUDGED.items()
    for (doc, grade), chance in zip(docs.items(), (1.0, 0.5, 0.5), strict=True)
    if doc != "b" or int(q[1:]) % 2
]


def judging_pool():
    """A sample of which all but the last is judged."""
    from assay.results.pool import JudgingPool, PoolPair, Stopping

    pairs = (PoolPair("q0", "a", 1, 1, 0.75, grade=1.0), PoolPair("q1", "<b>", 2, 2, 0.5))
    stop = Stopping(("bm25", "dense"), "ndcg@10", 1, 0.05, 0.025, 0.01, interval(0.0625), "apart")
    return JudgingPool(
        "sample", 20, 1, ("bm25", "dense"), pairs, 40, 2, 1, 1, 0, 2, 0, interval(12.0, 4.0), stop
    )  # fmt: skip


SAMPLES_OF_PARTS: dict[str, Callable[[], Record]] = {
    "ab_history": ab_history,
    "ab_plan": lambda: assay.plan_ab_test(mean=0.25, lift=0.125, users_per_day=512),
    "ab_test": ab_test,
    "answers": answers,
    "bench": bench,
    "calibration": calibration,
    "check": check,
    "click_judgments": lambda: assay.click_judgments(event_log(), "pbm"),
    "comparison": comparison,
    "comparison_plan": lambda: assay.plan_comparison(0.02, scores(), n=50),
    "cost": lambda: assay.cost([assay.PricedMethod("x", price=0.025, tokens=800)]),
    "diagnoses": lambda: assay.diagnose(JUDGED, RUNS["broken"], protocol="rag"),
    "experiment": experiment,
    "explanation": explanation,
    "gates": lambda: assay.gate(
        scores()[0],
        [assay.Threshold("recall@5", at_least=0.4), assay.Threshold("ndcg@5", at_least=0.99)],
        not_worse_than=scores()[1],
    ),
    "interleaved_lists": interleaved_lists,
    "interleaving": interleaving,
    "log_metrics": log_metrics,
    "watch": watch,
    "judging": judging,
    "judging_plan": judging_plan,
    "log_sample": lambda: assay.sample_log(event_log(), 2, strata=["no_click", "zero_results", "new"]),
    "proposal": proposal,
    "pool": judging_pool,
    "panel": panel,
    "preferences": lambda: assay.preferences(PREFERRED),
    "questions": lambda: assay.make_questions(
        {"a/1": "Granite Harbour Lantern <b>Meadow</b>.", "b/2": "Orchard Compass Thunder Saddle Falcon."}, 3
    ),
    "questions_plan": questions_plan,
    "reranker": reranker,
    "replay": replay,
    "roi": lambda: assay.roi(0.2, cost_per_query=0.001, queries_per_day=1000, revenue_per_query=0.01),
    "set": set_description,
    "set_split": lambda: SetSplit(
        "tea <b>",
        "0a1b2c3d4e5f",
        (PartOfSet("dev", "a" * 12, 3, 0.3, {"<i>": 1, "b": 2}), PartOfSet("test", "b" * 12, 7, 0.7, {"b": 7})),
        by="category",
        together="documents",
        units=6,
        seed=1,
    ),
    "sampled_scores": lambda: assay.sampled_scores(list(assay.evaluate(DRAWN, RUNS, ["ndcg@5", "recall@5"]).values())),
    "slices": slices,
    "sweep": lambda: assay.sweep(JUDGED, RUNS, [1, 3, 5]),
    "validation": validation,
}
