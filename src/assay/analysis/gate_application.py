"""A gate in front of a finished application: asked anew, evaluated, decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.analysis.applications import run_application
from assay.analysis.gate import gate_result
from assay.analysis.gate_baselines import measure_in_common
from assay.analysis.gate_numbers import is_number
from assay.analysis.gate_rules import measures_of_rules
from assay.analysis.protocols import load_protocol

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from assay.analysis.gate_rules import GivenRules
    from assay.results.gate import Gate


def gate_application(
    app: str,
    queries: str | os.PathLike[str],
    judgments: str | os.PathLike[str],
    rules: GivenRules = (),
    *,
    settings: Mapping[str, Any] | None = None,
    protocol: str = "trec",
    overrides: Mapping[str, Any] | None = None,
    measures: Sequence[str] = (),
    targets: bool = False,
    not_worse_than: Any = (),
    tell: Callable[[str, int, int], None] = lambda *_: None,
    **more: Any,
) -> list[Gate]:
    """Ask an application all queries again, and check its lists, answers, times and costs against rules.

    A gate never decides on what an earlier run kept. `overrides` are rules that differ from the protocol, `more` the
    parameters of `gate`. A number is checked only where every question was answered, or `min_coverage` of them were.

    >>> import assay
    >>> from pathlib import Path
    >>> reply = {"answer": "Hot.", "contexts": [{"id": "a", "text": "Tea is hot."}]}
    >>> _ = Path("tea_gate.py").write_text(f"def ask(question): return {reply}")
    >>> _ = Path("queries.jsonl").write_text('{"query_id": "q", "text": "how is tea"}')
    >>> _ = Path("judgments.json").write_text('{"q": {"a": 1}}')
    >>> gates = assay.gate_application("tea_gate:ask", "queries.jsonl", "judgments.json", ["ndcg@10>=0.9"])
    >>> [one.passed for one in gates]
    [True]
    """
    known = load_protocol(protocol)
    named = list(measures) or measure_in_common(not_worse_than, known.primary)
    wanted = measures_of_rules(rules, named, targets_of=known if targets else None)
    asked = [str(one) for one in wanted if not is_number(str(one))] or list(filter(None, [known.primary]))
    evaluate = {"measures": asked, "protocol": protocol, **(overrides or {})}
    found = run_application(app, queries, judgments, settings=settings, evaluate=evaluate, fresh=True, tell=tell)
    return gate_result(found.findings, rules, measures=measures, targets=targets, not_worse_than=not_worse_than, **more)
