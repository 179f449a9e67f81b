"""Assay measures how good a search system is.

>>> import assay
>>> scores = assay.evaluate({"q": {"d1": 1}}, {"q": {"d1": 2.0, "d2": 1.0}}, ["ndcg@10", "map"])
>>> scores["ndcg@10"]
1.0

Everything here is imported when it is first used, so `import assay` is instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.analysis.answer_tables import answer_tables
    from assay.analysis.answers import Answers, answer_systems, answers
    from assay.analysis.applications import ask_application, run_application
    from assay.analysis.bench import bench
    from assay.analysis.calibrate import calibrate
    from assay.analysis.check import check
    from assay.analysis.check_files import check_files
    from assay.analysis.compare import compare
    from assay.analysis.compare_slices import compare_slices
    from assay.analysis.diagnose import diagnose, diagnose_result
    from assay.analysis.economics import cost
    from assay.analysis.environment import describe_engines, describe_environment
    from assay.analysis.evaluate import evaluate
    from assay.analysis.experiment_runner import run_experiment, run_unlabelled
    from assay.analysis.explain import explain
    from assay.analysis.gate import gate, gate_result
    from assay.analysis.gate_application import gate_application
    from assay.analysis.gate_rules import NotWorse, Threshold
    from assay.analysis.judging import estimate_judging, judge_pairs
    from assay.analysis.panel import assess_panel
    from assay.analysis.plan_comparison import plan_comparison
    from assay.analysis.pools import pool, pool_judgments
    from assay.analysis.preferences import preferences
    from assay.analysis.preferring import ask_preferences, estimate_preferences
    from assay.analysis.priced_methods import PricedMethod
    from assay.analysis.proposal import propose_experiment
    from assay.analysis.protocols import load_protocol
    from assay.analysis.reranking import evaluate_reranker
    from assay.analysis.roi import roi
    from assay.analysis.sampled import sampled_scores
    from assay.analysis.sweep import sweep
    from assay.analysis.tuning import tune_fusion
    from assay.analysis.validate import validate
    from assay.curation.describe_sets import describe_set
    from assay.curation.exchange import convert_set
    from assay.curation.grow_sets import add_query
    from assay.curation.labelling import label_agreement
    from assay.curation.labels import LabelStore
    from assay.curation.merge_sets import merge_sets
    from assay.curation.questions import estimate_questions, make_questions
    from assay.curation.sets import EvaluationSet, Provenance, read_set, write_set
    from assay.curation.split_sets import split_set
    from assay.data.events import Events
    from assay.data.judgments import Judgments
    from assay.data.nuggets import Nugget, QuestionNuggets
    from assay.data.protocol import Protocol
    from assay.data.ranking import Ranking
    from assay.data.run import Run
    from assay.data.scores import Scores
    from assay.errors import AssayError, InputError, NotComparable, UnknownName, UsageError
    from assay.formats.events.reading import read_events
    from assay.formats.events.writing import write_events
    from assay.formats.monitoring import write_monitoring
    from assay.formats.nuggets import read_nuggets, write_nuggets
    from assay.formats.queries import write_queries
    from assay.formats.reading import read_judgments, read_records, read_run
    from assay.formats.run_progress import read_run_progress
    from assay.formats.samples import read_samples
    from assay.formats.traces.reading import read_traces
    from assay.formats.writing import (
        read_result,
        write_judgments,
        write_pool,
        write_result,
        write_run,
        write_verdicts,
    )
    from assay.fusion.fuse import fuse
    from assay.measures import Measure, measure, parse
    from assay.measures.lists import overlap, rbo
    from assay.online.ab import ab_test
    from assay.online.ab_history import ab_history
    from assay.online.ab_plan import plan_ab_test
    from assay.online.click_judgments import click_judgments
    from assay.online.interleaved_lists import interleave_runs, write_lists
    from assay.online.interleaving import interleave
    from assay.online.log_metrics import log_metrics
    from assay.online.log_sample import sample_log
    from assay.online.log_tables import read_event_tables
    from assay.online.preferences import interleaving_test
    from assay.online.replay import replay
    from assay.online.user_table import user_table
    from assay.online.watch import follow_log, watch_log
    from assay.report.plotting import plot
    from assay.report.show import show
    from assay.report.writing import write_report
    from assay.results.codec import encode
    from assay.results.comparison import Comparison, Rules
    from assay.results.money import Gain
    from assay.results.trust import Validation

_HOMES = {
    "plot": "assay.report.plotting",
    "write_report": "assay.report.writing",
    "write_verdicts": "assay.formats.writing",
    "LabelStore": "assay.curation.labels",
    "label_agreement": "assay.curation.labelling",
    "pool": "assay.analysis.pools",
    "pool_judgments": "assay.analysis.pools",
    "sampled_scores": "assay.analysis.sampled",
    "write_pool": "assay.formats.writing",
    "estimate_judging": "assay.analysis.judging",
    "judge_pairs": "assay.analysis.judging",
    "preferences": "assay.analysis.preferences",
    "ask_preferences": "assay.analysis.preferring",
    "estimate_preferences": "assay.analysis.preferring",
    "assess_panel": "assay.analysis.panel",
    "explain": "assay.analysis.explain",
    "check": "assay.analysis.check",
    "check_files": "assay.analysis.check_files",
    "describe_engines": "assay.analysis.environment",
    "describe_environment": "assay.analysis.environment",
    "Answers": "assay.analysis.answers",
    "answer_systems": "assay.analysis.answers",
    "answer_tables": "assay.analysis.answer_tables",
    "answers": "assay.analysis.answers",
    "bench": "assay.analysis.bench",
    "Comparison": "assay.results.comparison",
    "calibrate": "assay.analysis.calibrate",
    "ab_test": "assay.online.ab",
    "ab_history": "assay.online.ab_history",
    "plan_ab_test": "assay.online.ab_plan",
    "click_judgments": "assay.online.click_judgments",
    "interleave": "assay.online.interleaving",
    "interleave_runs": "assay.online.interleaved_lists",
    "interleaving_test": "assay.online.preferences",
    "replay": "assay.online.replay",
    "write_lists": "assay.online.interleaved_lists",
    "sample_log": "assay.online.log_sample",
    "EvaluationSet": "assay.curation.sets",
    "add_query": "assay.curation.grow_sets",
    "Provenance": "assay.curation.sets",
    "describe_set": "assay.curation.describe_sets",
    "convert_set": "assay.curation.exchange",
    "merge_sets": "assay.curation.merge_sets",
    "read_set": "assay.curation.sets",
    "split_set": "assay.curation.split_sets",
    "write_set": "assay.curation.sets",
    "Events": "assay.data.events",
    "write_queries": "assay.formats.queries",
    "Nugget": "assay.data.nuggets",
    "QuestionNuggets": "assay.data.nuggets",
    "read_nuggets": "assay.formats.nuggets",
    "write_nuggets": "assay.formats.nuggets",
    "log_metrics": "assay.online.log_metrics",
    "read_event_tables": "assay.online.log_tables",
    "follow_log": "assay.online.watch",
    "watch_log": "assay.online.watch",
    "write_monitoring": "assay.formats.monitoring",
    "user_table": "assay.online.user_table",
    "make_questions": "assay.curation.questions",
    "estimate_questions": "assay.curation.questions",
    "compare": "assay.analysis.compare",
    "compare_slices": "assay.analysis.compare_slices",
    "propose_experiment": "assay.analysis.proposal",
    "read_run_progress": "assay.formats.run_progress",
    "run_experiment": "assay.analysis.experiment_runner",
    "run_unlabelled": "assay.analysis.experiment_runner",
    "Rules": "assay.results.comparison",
    "diagnose": "assay.analysis.diagnose",
    "diagnose_result": "assay.analysis.diagnose",
    "PricedMethod": "assay.analysis.priced_methods",
    "cost": "assay.analysis.economics",
    "evaluate": "assay.analysis.evaluate",
    "NotWorse": "assay.analysis.gate_rules",
    "Threshold": "assay.analysis.gate_rules",
    "ask_application": "assay.analysis.applications",
    "run_application": "assay.analysis.applications",
    "gate_application": "assay.analysis.gate_application",
    "gate": "assay.analysis.gate",
    "gate_result": "assay.analysis.gate",
    "fuse": "assay.fusion.fuse",
    "load_protocol": "assay.analysis.protocols",
    "plan_comparison": "assay.analysis.plan_comparison",
    "sweep": "assay.analysis.sweep",
    "roi": "assay.analysis.roi",
    "evaluate_reranker": "assay.analysis.reranking",
    "tune_fusion": "assay.analysis.tuning",
    "Gain": "assay.results.money",
    "Validation": "assay.results.trust",
    "validate": "assay.analysis.validate",
    "Judgments": "assay.data.judgments",
    "Protocol": "assay.data.protocol",
    "Ranking": "assay.data.ranking",
    "Run": "assay.data.run",
    "Scores": "assay.data.scores",
    "AssayError": "assay.errors",
    "InputError": "assay.errors",
    "NotComparable": "assay.errors",
    "UnknownName": "assay.errors",
    "UsageError": "assay.errors",
    "read_events": "assay.formats.events.reading",
    "write_events": "assay.formats.events.writing",
    "read_judgments": "assay.formats.reading",
    "read_records": "assay.formats.reading",
    "read_run": "assay.formats.reading",
    "read_samples": "assay.formats.samples",
    "read_traces": "assay.formats.traces.reading",
    "read_result": "assay.formats.writing",
    "write_judgments": "assay.formats.writing",
    "write_result": "assay.formats.writing",
    "write_run": "assay.formats.writing",
    "Measure": "assay.measures",
    "measure": "assay.measures",
    "parse": "assay.measures",
    "encode": "assay.results.codec",
    "show": "assay.report.show",
    "overlap": "assay.measures.lists",
    "rbo": "assay.measures.lists",
}
__all__ = [
    "Answers",
    "AssayError",
    "Comparison",
    "EvaluationSet",
    "Events",
    "Gain",
    "InputError",
    "Judgments",
    "LabelStore",
    "Measure",
    "NotComparable",
    "NotWorse",
    "Nugget",
    "PricedMethod",
    "Protocol",
    "Provenance",
    "QuestionNuggets",
    "Ranking",
    "Rules",
    "Run",
    "Scores",
    "Threshold",
    "UnknownName",
    "UsageError",
    "Validation",
    "ab_history",
    "ab_test",
    "add_query",
    "answer_systems",
    "answer_tables",
    "answers",
    "ask_application",
    "ask_preferences",
    "assess_panel",
    "bench",
    "calibrate",
    "check",
    "check_files",
    "click_judgments",
    "compare",
    "compare_slices",
    "convert_set",
    "cost",
    "describe_engines",
    "describe_environment",
    "describe_set",
    "diagnose",
    "diagnose_result",
    "encode",
    "estimate_judging",
    "estimate_preferences",
    "estimate_questions",
    "evaluate",
    "evaluate_reranker",
    "explain",
    "follow_log",
    "fuse",
    "gate",
    "gate_application",
    "gate_result",
    "interleave",
    "interleave_runs",
    "interleaving_test",
    "judge_pairs",
    "label_agreement",
    "load_protocol",
    "log_metrics",
    "make_questions",
    "measure",
    "merge_sets",
    "overlap",
    "parse",
    "plan_ab_test",
    "plan_comparison",
    "plot",
    "pool",
    "pool_judgments",
    "preferences",
    "propose_experiment",
    "rbo",
    "read_event_tables",
    "read_events",
    "read_judgments",
    "read_nuggets",
    "read_records",
    "read_result",
    "read_run",
    "read_run_progress",
    "read_samples",
    "read_set",
    "read_traces",
    "replay",
    "roi",
    "run_application",
    "run_experiment",
    "run_unlabelled",
    "sample_log",
    "sampled_scores",
    "show",
    "split_set",
    "sweep",
    "tune_fusion",
    "user_table",
    "validate",
    "watch_log",
    "write_events",
    "write_judgments",
    "write_lists",
    "write_monitoring",
    "write_nuggets",
    "write_pool",
    "write_queries",
    "write_report",
    "write_result",
    "write_run",
    "write_set",
    "write_verdicts",
]  # every measure is a name of this module too: assay.ndcg, assay.precision ...


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if not name.startswith("_"):
        registry = importlib.import_module("assay.measures")
        if name in registry.REGISTRY:
            return registry.Measure(name)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("assay-eval")
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *importlib.import_module("assay.measures").REGISTRY])
