"""Show the progress of long work: a bar on a terminal, a line every ten seconds in a log, with the stage."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeVar

import click

from assay.cli import language, options
from assay.messages import say, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from assay.analysis.bench import LoadStep
    from assay.llm.progress import Progress

Item = TypeVar("Item")
_BAR, _LINE = 0.1, 10.0  # seconds between two bars, and between two lines of a log
_PATIENCE = 1.0  # seconds before the reading of files is shown at all
_CELLS, _WIDTH = 24, 100


class Display:
    """The one line that shows progress; `patience` are seconds in which nothing is shown on a terminal."""

    def __init__(self, patience: float = 0.0) -> None:
        self.lang, self.live = language.current(), sys.stderr.isatty()
        now = time.monotonic()
        self.shown = now + patience - _BAR if self.live else now

    def show(self, stage: str, share: float, count: str, more: str = "") -> None:
        """Show the stage, how much of it is done, and what else is known; too soon after the last time, nothing."""
        now = time.monotonic()
        if options.is_quiet() or now - self.shown < (_BAR if self.live else _LINE):
            return
        self.shown = now
        named = tell(stage, self.lang)
        if not self.live:
            line = say("progress.line", stage=named, count=count, more=more)
            click.echo(tell(line, self.lang) if count else named, err=True)
            return
        filled = int(_CELLS * min(max(share, 0.0), 1.0))
        bar = f" [{'#' * filled}{'.' * (_CELLS - filled)}] {count}" if count else " ..."
        click.echo("\r" + _fill(f"{named}{bar}{more}", self._room()), err=True, nl=False)

    def clear(self) -> None:
        """Wipe the bar."""
        if self.live and not options.is_quiet():
            click.echo("\r" + " " * self._room() + "\r", err=True, nl=False)

    @staticmethod
    def _room() -> int:
        """Columns of the line: a longer one would go on in the next, where it is not wiped."""
        return min(_WIDTH, get_terminal_size().columns - 1)


def _fill(text: str, room: int) -> str:
    """A text in exactly so many columns: cut, or with blanks behind it."""
    from assay.report.wrapping import width

    while width(text) > room:
        text = text[:-1]
    return text + " " * (room - width(text))


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that takes (stage, done, total) and shows it until the work is over."""
    from assay.cli.logs import tell_logs

    tell_logs()
    display = Display()

    def show(stage: str, done: int, total: int) -> None:
        display.show(stage, done / max(total, 1), f"{done:,}/{total:,}" if total else "")

    try:
        yield show
    finally:
        display.clear()


@contextmanager
def calls() -> Iterator[Callable[[str, Progress], None]]:
    """Give a function that takes a model and its progress, and shows its calls with their rate and price."""
    display = Display()

    def show(model: str, now: Progress) -> None:
        total = now.total or now.done
        more = f"  {now.rate:.1f}/s" + ("" if now.unpriced else f"  {now.cost:.4f} {now.currency}")
        if now.seconds_left is not None:
            minutes, seconds = divmod(int(now.seconds_left), 60)
            more += "  " + tell(say("progress.left", time=f"{minutes}:{seconds:02}"), display.lang)
        display.show(model, now.done / max(total, 1), f"{now.done:,}/{total:,}", more)

    try:
        yield show
    finally:
        display.clear()


@contextmanager
def loads() -> Iterator[Callable[[LoadStep], Callable[[int, float], None]]]:
    """Give a function to call when a load begins, which returns one to call with its progress."""
    display = Display()

    def begin(step: LoadStep) -> Callable[[int, float], None]:
        plan = step.plan
        name = [say("progress.load", number=step.number + 1, of=step.of)]
        name += [] if step.candidates is None else [say("load.candidates", n=step.candidates)]
        name += [say("load.threads", n=plan.threads)] if plan.threads > 1 else []
        stage = say("progress.parts", parts=name)

        def show(done: int, seconds: float) -> None:
            timed = plan.seconds is not None and (plan.runs is None or seconds / plan.seconds > done / plan.runs)
            if timed and plan.seconds:
                count = say("progress.seconds", seconds=seconds, of=plan.seconds, calls=done)
                display.show(stage, seconds / plan.seconds, tell(count, display.lang))
            else:
                count = say("progress.calls", done=done, of=plan.limit)
                display.show(stage, done / plan.limit, tell(count, display.lang))

        return show

    try:
        yield begin
    finally:
        display.clear()


def each(items: Iterable[Item], stage: str, size: int) -> Iterator[Item]:
    """Yield so many items; after a second, show the progress."""
    display = Display(_PATIENCE)
    for done, item in enumerate(items):
        display.show(stage, done / size, f"{done}/{size}")
        yield item
    display.clear()
