"""The workbench on the web server: all its pages, its style and its script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.analysis.workspace import Workspace
from assay.curation.labelling import OVERLAP
from assay.curation.labels import LabelStore
from assay.errors import UsageError
from assay.judge.rubric import load_rubric
from assay.messages import say
from assay.server.limits import Limits
from assay.server.running import WebServer
from assay.server.workbench import (
    experiments,
    history,
    judges,
    nuggets,
    pairing,
    production,
    rating,
    relevance,
    results,
    settings,
)
from assay.server.workbench.desk import Desk
from assay.server.workbench.rendering import STATIC

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from assay.messages import Lang

_HIGHEST = 9  # the highest grade that one key can give
# Several people may come through one proxy, and each label takes a form, a page and its style.
_LIMITS = Limits(page_rate=200, page_burst=2000)
_ROOMS = (history, results, experiments, settings, relevance, rating, pairing, nuggets, judges, production)


def open_workbench(
    folder: str | os.PathLike[str] = ".",
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    password: str | None = None,
    names: Sequence[str] = (),
    rubric: str = "0-3",
    overlap: float = OVERLAP,
    lang: Lang = "en",
) -> WebServer:
    """Make the server of a workbench over a folder: `run` it, or use it as a context. Labels go to FOLDER/workbench."""
    rubrics = {one: load_rubric(rubric, one) for one in ("en", "zh")}
    if rubrics["en"].high > _HIGHEST:
        raise UsageError(say("a grade is one key: choose a rubric whose grades are 0 to {most}", most=_HIGHEST))
    if not 0 <= overlap <= 1:
        raise UsageError(say("overlap {overlap:g}: expected a share between 0 and 1", overlap=overlap))
    space = Workspace(folder)
    desk = Desk(space, LabelStore(space.own), rubrics, lang, overlap)  # type: ignore[arg-type]
    pages = [route for room in _ROOMS for route in room.routes(desk)]
    return WebServer(
        pages=pages, static=STATIC, host=host, port=port, password=password, names=names, limits=_LIMITS, lang=lang
    )  # fmt: skip
