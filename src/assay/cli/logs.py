"""Warnings of the caches, which are logged, in the language of the user."""

from __future__ import annotations

import logging

import click

from assay.cli import language, options
from assay.errors import clean
from assay.messages import tell


class _Telling(logging.Handler):
    """Prints log messages on standard error, in the language of this command line."""

    def emit(self, record: logging.LogRecord) -> None:
        text = (
            tell(record.msg, language.current())
            if isinstance(record.msg, str) and not record.args
            else record.getMessage()
        )
        if not options.is_quiet():
            click.echo(clean(text), err=True)


def tell_logs() -> None:
    """Print what this package logs from now on; repeated calls do nothing."""
    log = logging.getLogger("assay")
    if not any(isinstance(one, _Telling) for one in log.handlers):
        log.addHandler(_Telling(logging.WARNING))
