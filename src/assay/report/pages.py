"""Pages of measures and protocols, made from their docstrings, Chinese pages and TOML files."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

from assay.data.protocol import POSITIVE
from assay.grounding.agreement import ORDERS
from assay.measures import ALIASES, REGISTRY, parse
from assay.measures.chinese import NAMES
from assay.measures.registry import SHARED_PARAMETERS
from assay.messages import say, tell
from assay.report.document import write
from assay.report.tables import Table
from assay.report.views.diagnosis import goal
from assay.report.wrapping import join_lines, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assay.data.protocol import Protocol
    from assay.measures import Spec
    from assay.messages import Lang

SECTIONS = ("Definition", "Parameters", "Odd cases", "Reference", "Agrees with", "Reading", "Use when", "Not when")
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
    "clicks",
)


def listing(kind: str, lang: Lang = "en") -> str:
    """Table of all measures: in English with what other tools call them, in Chinese with their Chinese names."""
    if lang == "en":
        heads = (say("column.measure"), say("what it is"), say("also"))
        rows = [
            (spec.name + _cutoff(spec), spec.summary, ", ".join(_others(spec, lang))) for spec in measures_in_order()
        ]
    else:
        heads = (say("column.measure"), say("Chinese name"), say("what it is"))
        rows = [
            (spec.name + _cutoff(spec), NAMES.get(spec.name, ""), summary(spec, lang)) for spec in measures_in_order()
        ]
    note = say("assay help NAME shows a measure's page; parameters are written as in ndcg(gain='exp')@10")
    return f"{write([Table(heads, tuple(rows), names=3)], kind, lang)}\n{tell(note, lang)}\n"


def measures_in_order() -> list[Spec]:
    """All measures, the common ones first."""
    family = {name: i for i, name in enumerate(_FAMILIES)}
    return sorted(
        REGISTRY.values(),
        key=lambda spec: (family.get(spec.function.__module__.rpartition(".")[2], len(family)), spec.order),
    )


def _cutoff(spec: Spec) -> str:
    return {"required": "@k", "optional": "[@k]", "none": ""}[spec.cutoff]


def _others(spec: Spec, lang: Lang, *, exactly: bool = True) -> list[str]:
    """Other names of a measure; Chinese ones are for Chinese readers."""
    known = [alias for alias, text in ALIASES.items() if (text if exactly else parse(text).name) == spec.name]
    return known if lang == "zh" else [alias for alias in known if not re.search(r"[\u3400-\u9fff]", alias)]


@cache
def _titles() -> Mapping[str, str]:
    """What the parts of a page are called."""
    return {
        "Definition": say("Definition"),
        "Parameters": say("Parameters"),
        "Odd cases": say("Odd cases"),
        "Reference": say("Reference"),
        "Agrees with": say("Agrees with"),
        "Reading": say("Reading"),
        "Use when": say("Use when"),
        "Not when": say("Not when"),
        "Properties": say("Properties"),
        "Also known as": say("Also known as"),
    }


def _text(spec: Spec, lang: Lang) -> tuple[str, Lang]:
    """The page of a measure in a language, and the language it is in: a user's own measure has its docstring alone."""
    if lang == "zh":
        from assay.wordings.reference import measure_pages

        found = measure_pages(lang, spec.of).get(spec.name)
        if found is not None:
            return found, "zh"
    return inspect.getdoc(spec.function) or "", "en"


def summary(spec: Spec, lang: Lang = "en") -> str:
    """What a measure is, in a line."""
    return _text(spec, lang)[0].partition("\n")[0] or spec.name


def sections(spec: Spec, lang: Lang = "en") -> dict[str, str]:
    """Split a measure's page into its parts, by their English heads."""
    text, told = _text(spec, lang)
    heads = {tell(title, told): head for head, title in _titles().items() if head in SECTIONS}
    parts = re.split(rf"^({'|'.join(heads)})[:：][ \n]?", text, flags=re.MULTILINE)
    return {heads[head]: body.strip() for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def page(name: str, kind: str = "table", lang: Lang = "en") -> str:
    """Page of one measure, by any of its names."""
    spec = parse(name).spec
    said = sections(spec, lang)
    parts = {head: [said[head]] for head in SECTIONS if head in said}
    parts["Parameters"] = _parameters(spec, said.get("Parameters", ""), lang)
    parts["Properties"] = [_properties(spec, lang)]
    parts["Also known as"] = [_comma(lang).join(_others(spec, lang, exactly=False))]
    order = ["Definition", "Parameters", *(head for head in parts if head not in {"Definition", "Parameters"})]
    titled = {tell(_titles()[head], lang): parts[head] for head in order if any(parts[head])}
    first = spec.name + _cutoff(spec) + (f" {NAMES[spec.name]}" if lang == "zh" and spec.name in NAMES else "")
    return _markdown(first, spec, titled, lang) if kind == "markdown" else _plain(first, spec, titled, lang)


def _markdown(first: str, spec: Spec, parts: Mapping[str, list[str]], lang: Lang) -> str:
    lines = [f"## {first}", "", summary(spec, lang)]
    for title, texts in parts.items():
        mark = "- " if title == tell(_titles()["Parameters"], lang) else ""
        lines += ["", f"**{title}**", "", *(mark + join_lines(text) for text in texts)]
    return "\n".join(lines) + "\n"


def _plain(first: str, spec: Spec, parts: Mapping[str, list[str]], lang: Lang) -> str:
    lines = [first, "", *wrap(summary(spec, lang), _WIDTH), ""]
    for title, texts in parts.items():
        further = "    " if title == tell(_titles()["Parameters"], lang) else "  "
        lines += [title, *(line for text in texts for line in wrap(text, _WIDTH, "  ", further))]
    return "\n".join(lines) + "\n"


def _comma(lang: Lang) -> str:
    return "、" if lang == "zh" else ", "


def _parameters(spec: Spec, text: str, lang: Lang) -> list[str]:
    """Describe every parameter: its choices, what the page or the shared list says, and its default."""
    found = re.finditer(r"^(?: *|- )(\w+)(?:: |：)((?:.|\n(?! *\w+: |- ))*)", text, re.MULTILINE)
    said = {one[1]: join_lines(one[2]) for one in found}
    shared = {name: tell(say(words), lang) for name, words in SHARED_PARAMETERS.items()}
    lines = []
    for name, parameter in spec.parameters.items():
        words = said.get(name) or shared.get(name, "")
        default = None if name in SHARED_PARAMETERS else parameter.default
        shown = "" if default is None else tell(say(" (default {value})", value=repr(default)), lang)
        lines.append(f"{_colon(name, lang)}{_choices(spec.hints[name], lang)}{words}{shown}")
    return [*lines, f"{_colon('judged_only', lang)}{shared['judged_only']}"] if spec.of == "rankings" else lines


def _colon(name: str, lang: Lang) -> str:
    return f"{name}：" if lang == "zh" else f"{name}: "


def _choices(hint: Any, lang: Lang) -> str:
    """List the fixed choices of a parameter, unless it has none."""
    options = [hint] if get_origin(hint) is not None else []
    found = [repr(choice) for option in options for choice in get_args(option) if isinstance(choice, str)]
    return f"{' | '.join(found)}{'。' if lang == 'zh' else '. '}" if found else ""


def _properties(spec: Spec, lang: Lang) -> str:
    words = [
        _range(spec),
        *{"answers": _of_answers, "spans": _of_spans, "events": _of_events}.get(spec.of, _of_rankings)(spec),
    ]
    return ("；" if lang == "zh" else "; ").join(tell(word, lang) for word in words)


def _range(spec: Spec) -> str:
    if callable(spec.bounds):
        return say("values from its lowest to its highest grade")
    low, high = spec.bounds
    if high == float("inf"):
        return say("values from {low:g} to no limit", low=low)
    return say("values from {low:g} to {high:g}", low=low, high=high)


def _of_answers(spec: Spec) -> Iterable[str]:
    marks = {"marks": say("citation marks")}
    needs = [say("{names:or}", names=[marks.get(name, name) for name in need.split("|")]) for need in spec.needs]
    yield say("needs {names} and a judge", names=needs) if spec.needs_judge else say("needs {names}", names=needs)
    yield say("averaged over samples")
    yield say("lower is better") if spec.lower_is_better else say("higher is better")


def _of_spans(_spec: Spec) -> Iterable[str]:
    yield say("needs gold spans (assay run)")
    yield say("averaged over queries")


def _of_events(spec: Spec) -> Iterable[str]:
    yield say("needs {names} in the event log", names=[say("{names:or}", names=one.split("|")) for one in spec.needs])
    yield say("counted by {unit}", unit=say(f"unit.{spec.unit}"))
    if spec.lower_is_better:
        yield say("lower is better")


def _of_rankings(spec: Spec) -> Iterable[str]:
    yield say("the ideal ranking scores 1") if spec.ideal_is_one else say("the ideal ranking need not score 1")
    if spec.swap_safe:
        yield say("moving a better document up never lowers it")
    else:
        yield say("moving a better document up can lower it")
    yield {
        "mean": say("averaged over queries"),
        "sum": say("summed over queries"),
        "geometric": say("averaged geometrically over queries"),
    }[spec.aggregate]
    if spec.lower_is_better:
        yield say("lower is better")
    if spec.expected:
        yield say("has an expected value over ties")


def protocol_listing(protocols: Iterable[Protocol], lang: Lang = "en") -> str:
    """Table of protocols."""
    heads = (say("protocol"), say("primary"), say("what it is"))
    rows = tuple((one.name, one.primary or "", one.what_it_is) for one in protocols)
    note = say("assay help NAME shows one; --protocol NAME or --protocol my.toml uses it")
    return f"{write([Table(heads, rows, names=3)], 'table', lang)}\n{tell(note, lang)}\n"


def protocol_page(protocol: Protocol, lang: Lang = "en") -> str:
    """Page of one protocol: what it is for, its rules, its measures and its targets."""
    title = tell(say("{name}: {title}", name=protocol.name, title=protocol.what_it_is), lang)
    lines = [title, "", *wrap(tell(protocol.what_for, lang), _WIDTH), "", tell(say("Rules"), lang)]
    lines += [f"  {key} = {tell(value, lang)}" for key, value in _rules(protocol).items()]
    measures = (*protocol.measures.items(), *protocol.answers.items())
    tables = [Table((say("label"), say("definition")), measures, names=2)]
    if protocol.targets:
        heads = (say("target for"), say("column.target"), say("column.excellent"), say("column.advice"))
        rows = tuple((t.measure, goal(t, t.target), goal(t, t.excellent), t.what_to_do) for t in protocol.targets)
        tables.append(Table(heads, rows, texts=(3,)))
    return "\n".join([*lines, *("\n" + write([table], "table", lang).rstrip() for table in tables)]) + "\n"


def _rules(protocol: Protocol) -> dict[str, str]:
    """The rules of a protocol that are set, as texts."""
    found = {**protocol.rules(), "primary": protocol.primary}
    if protocol.answers or any(parse(text).spec.of == "answers" for text in protocol.measures.values()):
        order = ORDERS.get(protocol.method, (protocol.method,))
        found["method"] = say("{method} ({order})", method=protocol.method, order=_in_turn(order))
    if protocol.min_relevance == POSITIVE:
        found["min_relevance"] = say("any grade above 0")
    found |= dict.fromkeys(protocol.required, say("must be given"))
    return {key: value if isinstance(value, str) else str(value) for key, value in found.items() if value is not None}


def _in_turn(names: Iterable[str]) -> str:
    """Names of what is tried one after the other."""
    first, *others = names
    found: str = first
    for name in others:
        found = say("{first}, then {then}", first=found, then=name)
    return found
