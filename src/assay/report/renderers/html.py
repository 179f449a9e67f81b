"""A document of blocks as one HTML file that needs nothing else: charts are pictures, and no request is ever made."""

from __future__ import annotations

import base64
import re
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from assay.errors import MissingPackage
from assay.messages import Lang, say, tell
from assay.report.blocks import Block, Cast, Section, Verdict
from assay.report.design import stylesheet
from assay.report.renderers.plain import Setting, data, find_cast

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORDS = (
    "contents", "skip", "theme", "data", "filter", "previous", "next", "rows", "no_rows", "back", "previous_query",
    "next_query", "new", "new_why", "unjudged", "grade", "empty", "contexts", "support", "script", "reference", "all",
    "clear", "export", "gone", "next_steps", "baseline", "best", "answer", "lists", "values", "place", "no_answer",
)  # fmt: skip
_COLUMNS = ("system",)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def write(blocks: Sequence[Block], lang: Lang = "en", *, title: str = "", made: str = "", stamp: str = "") -> str:
    """Write a page; blocks outside sections form a section of their own."""
    loose = tuple(block for block in blocks if not isinstance(block, Section))
    stamped = (*loose, Verdict(stamp, "warn")) if stamp else loose
    sections = [block for block in blocks if isinstance(block, Section)]
    heading = title or say("page.untitled")
    return page(
        [*([Section("result", heading, stamped)] if stamped else []), *sections], title=heading, made=made, lang=lang
    )


def page(sections: Sequence[Section], *, title: str, made: str = "", lang: Lang = "en") -> str:
    """Write the file; the same sections give the same bytes."""
    environment, markup = _environment()
    cast = find_cast(sections)
    setting = Setting(lang, cast, markup)
    style, script = stylesheet() + _on_paper(cast), _script()
    words = {name: tell(say(f"page.{name}"), lang) for name in _WORDS}
    known = {**words, **{f"column_{name}": tell(say(f"column.{name}"), lang) for name in _COLUMNS}}
    when = tell(say("page.when", days=list(cast.days)), lang) if cast.days else ""
    text: str = environment.get_template("page.html").render(
        language="zh-CN" if lang == "zh" else "en", title=tell(title, lang), made=tell(made, lang), words=words,
        pages=[setting.block(section) for section in sections], version=version("assay-eval"), when=when,
        style=markup(style), script=markup(script), style_hash=_hash(style), script_hash=_hash(script),
        words_data=markup(data(known)),
    )  # fmt: skip
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def render_part(template: str, lang: Lang, **values: Any) -> str:
    """Write a template of pages by itself, with the words of the report; every text in it is escaped."""
    environment, _ = _environment()
    words = {name: tell(say(f"page.{name}"), lang) for name in _WORDS}
    text: str = environment.get_template(template).render(words=words, **values)
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def fragment(blocks: Sequence[Block], lang: Lang = "en", cast: Cast | None = None) -> str:
    """Write blocks as a piece of a page that has the style sheet: tables, charts and sentences, every text escaped."""
    environment, markup = _environment()
    setting = Setting(lang, cast or find_cast(blocks), markup)
    words = {name: tell(say(f"page.{name}"), lang) for name in _WORDS}
    text: str = environment.get_template("fragment.html").render(blocks=setting.blocks(blocks), words=words)
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _environment() -> tuple[Any, Any]:
    """The templates, and the type of texts that need no escaping."""
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise MissingPackage(say("an HTML report"), "jinja2", "report") from None
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, loader=jinja2.FunctionLoader(_part))
    return environment, markupsafe.Markup


def _part(name: str) -> str:
    return (files("assay.report.renderers") / "page" / name).read_text(encoding="utf-8")


def _script() -> str:
    """The parts of the page's script as one."""
    inside = "\n".join(_part(f"{name}.js") for name in ("core", "tables", "charts", "query", "start"))
    return f'"use strict";\n(function () {{\n{inside}}})();\n'


def _on_paper(cast: Cast) -> str:
    """The foot of each printed page: when it was measured, and the number of the page."""
    days = [day for day in cast.days if _DAY.fullmatch(day)]
    date = f'@bottom-left {{ content: "{", ".join(days)}"; font: 8pt sans-serif; }}' if days else ""
    return f"\n@page {{ {date} @bottom-right {{ content: counter(page); font: 8pt sans-serif; }} }}\n"


def _hash(text: str) -> str:
    """The hash by which the page's policy knows its own style and script."""
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
