"""Pages of measures and protocols, made from their docstrings and TOML files."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any, get_args, get_origin

from assay.data.protocol import POSITIVE
from assay.grounding.agreement import ORDERS
from assay.measures import ALIASES, REGISTRY, parse
from assay.measures.registry import SHARED_PARAMETERS
from assay.report.tables import Table, render
from assay.report.views.diagnosis import goal

if TYPE_CHECKING:
    from assay.data.protocol import Protocol
    from assay.measures import Spec

SECTIONS = ("Definition", "Parameters", "Odd cases", "Reference", "Agrees with", "Reading", "Use when", "Not when")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):[ \n]?", re.MULTILINE)
_WIDTH = 96
_FAMILIES = (
    "ranked",
    "gains",
    "incomplete",
    "sets",
    "subtopics",
    "spans",
    "answers",
    "conduct",
    "judged",
    "references",
)


def listing(kind: str) -> str:
    """Table of all measures."""
    rows = []
    for spec in ordered():
        also = [alias for alias, text in ALIASES.items() if text == spec.name]
        rows.append((spec.name + _cutoff(spec), spec.summary, ", ".join(also)))
    table = render(Table(("measure", "what it is", "also"), tuple(rows), names=3), kind)  # type: ignore[arg-type]
    return table + "\nassay measures NAME shows a measure's page; parameters are written as in ndcg(gain='exp')@10\n"


def ordered() -> list[Spec]:
    """All measures, the common ones first."""
    family = {name: i for i, name in enumerate(_FAMILIES)}
    return sorted(
        REGISTRY.values(),
        key=lambda spec: (family.get(spec.function.__module__.rpartition(".")[2], len(family)), spec.order),
    )


def _cutoff(spec: Spec) -> str:
    return {"required": "@k", "optional": "[@k]", "none": ""}[spec.cutoff]


def sections(spec: Spec) -> dict[str, str]:
    """Split a measure's docstring into its headed parts."""
    text = inspect.getdoc(spec.function) or ""
    parts = _SECTION.split(text)
    return {head: body.strip() for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def page(name: str, kind: str = "table") -> str:
    """Page of one measure, by any of its names."""
    spec = parse(name).spec
    said = sections(spec)
    also = [alias for alias, text in ALIASES.items() if parse(text).name == spec.name]
    parts = {head: [said[head]] for head in SECTIONS if head in said}
    parts["Parameters"] = _parameters(spec, said.get("Parameters", ""))
    parts["Properties"] = [_properties(spec)]
    parts["Also known as"] = [", ".join(also)] if also else []
    order = ["Definition", "Parameters", *(head for head in parts if head not in {"Definition", "Parameters"})]
    if kind == "markdown":
        lines = [f"## {spec.name}{_cutoff(spec)}", "", spec.summary]
        for head in order:
            mark = "- " if head == "Parameters" else ""
            lines += (
                ["", f"**{head}**", "", *(mark + " ".join(text.split()) for text in parts[head])] if parts[head] else []
            )
    else:
        lines = [f"{spec.name}{_cutoff(spec)}", "", *_wrapped(spec.summary), ""]
        for head in order:
            body = [
                line for text in parts[head] for line in _wrapped(text, "  ", "    " if head == "Parameters" else "  ")
            ]
            lines += [head, *body] if body else []
    return "\n".join(lines) + "\n"


def _parameters(spec: Spec, text: str) -> list[str]:
    """Describe every parameter: its choices, what the docstring or the shared list says, and its default."""
    said = {m[1]: " ".join(m[2].split()) for m in re.finditer(r"^ *(\w+): ((?:.|\n(?! *\w+: ))*)", text, re.MULTILINE)}
    found = []
    for name, parameter in spec.parameters.items():
        words = said.get(name) or SHARED_PARAMETERS.get(name, "")
        shown = "" if parameter.default is None or name in SHARED_PARAMETERS else f" (default {parameter.default!r})"
        found.append(f"{name}: {_choices(spec.hints[name])}{words}{shown}")
    return [*found, f"judged_only: {SHARED_PARAMETERS['judged_only']}"] if spec.of == "rankings" else found


def _choices(hint: Any) -> str:
    """List the fixed choices of a parameter, unless it has none."""
    options = [hint] if get_origin(hint) is not None else []
    found = [repr(choice) for option in options for choice in get_args(option) if isinstance(choice, str)]
    return f"{' | '.join(found)}. " if found else ""


def _properties(spec: Spec) -> str:
    words = ["values from its lowest to its highest grade"]
    if not callable(spec.bounds):
        low, high = spec.bounds
        words = [f"values from {low:g} to {'no limit' if high == float('inf') else f'{high:g}'}"]
    if spec.of == "answers":
        needs = ", ".join(need.replace("|", " or ").replace("marks", "citation marks") for need in spec.needs)
        needs += " and a judge" if spec.needs_judge else ""
        better = "lower" if spec.lower_is_better else "higher"
        return "; ".join([*words, f"needs {needs}", "averaged over samples", f"{better} is better"])
    if spec.of == "spans":
        return "; ".join([*words, "needs gold spans (assay run)", "averaged over queries"])
    words.append("the ideal ranking scores 1" if spec.ideal_is_one else "the ideal ranking need not score 1")
    words.append(
        "moving a better document up never lowers it" if spec.swap_safe else "moving a better document up can lower it"
    )
    words.append(
        {"mean": "averaged", "sum": "summed", "geometric": "averaged geometrically"}[spec.aggregate] + " over queries"
    )
    if spec.lower_is_better:
        words.append("lower is better")
    if spec.expected:
        words.append("has an expected value over ties")
    return "; ".join(words)


def _wrapped(text: str, indent: str = "", further: str | None = None) -> list[str]:
    joined = " ".join(text.split())
    return textwrap.wrap(
        joined, _WIDTH, initial_indent=indent, subsequent_indent=indent if further is None else further
    )


def protocol_page(protocol: Protocol) -> str:
    """Page of one protocol: what it is for, its rules and its measures."""
    rules = {**protocol.rules(), "primary": protocol.primary}
    if protocol.answers or any(parse(text).spec.of == "answers" for text in protocol.measures.values()):
        rules["method"] = f"{protocol.method} ({', then '.join(ORDERS.get(protocol.method, (protocol.method,)))})"
    if protocol.min_relevance == POSITIVE:
        rules["min_relevance"] = "any grade above 0"
    if protocol.required:
        rules |= dict.fromkeys(protocol.required, "must be given")
    lines = [f"{protocol.name}: {protocol.title}", "", *_wrapped(protocol.description), "", "Rules"]
    lines += [f"  {key} = {value}" for key, value in rules.items() if value is not None]
    measures = (*protocol.measures.items(), *protocol.answers.items())
    lines += ["", render(Table(("label", "definition"), measures, names=2), "table").rstrip()]
    if protocol.targets:
        rows = tuple((t.measure, goal(t, t.target), goal(t, t.excellent)) for t in protocol.targets)
        lines += ["", render(Table(("target for", "target", "excellent"), rows, names=1), "table").rstrip()]
    return "\n".join(lines) + "\n"
