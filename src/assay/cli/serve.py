"""`assay serve`: a local web page over a folder of results, for what files and terminals do badly."""

from __future__ import annotations

import os
from typing import Any

from assay.cli import language
from assay.cli.commands import command as make_command
from assay.cli.parameters import SHARE, Number, add_argument, add_option
from assay.messages import say, tell

_EXAMPLES = (
    "assay serve",
    "assay serve results --open",
    "assay serve results --port 8200 --rubric 0-2 --overlap 0.3",
)


@make_command("serve", _EXAMPLES)
@add_argument("folder", default=".", metavar="[FOLDER]")
@add_option("--port", default=0, type=Number(least=0, whole=True))
@add_option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS")
@add_option("--password", metavar="PASSWORD", envvar="ASSAY_PASSWORD")
@add_option("--name", "names", multiple=True, metavar="HOST")
@add_option("--rubric", default="0-3", show_default=True, metavar="NAME|FILE")
@add_option("--overlap", default=0.2, show_default=True, type=SHARE)
@add_option("--open", "show", is_flag=True)
def command(
    *, folder: str, port: int, host: str, password: str | None, names: tuple[str, ...], rubric: str, overlap: float,
    show: bool,
) -> None:  # fmt: skip
    """Open, print the address once, and answer until it is stopped."""
    serve_folder(
        folder, show=show, host=host, port=port, password=password, names=names, rubric=rubric, overlap=overlap
    )  # fmt: skip


def serve_folder(folder: str, *, show: bool, **options: Any) -> None:
    """Run a workbench over a folder until it is stopped."""
    import click

    from assay.server.workbench.opening import open_workbench

    server = open_workbench(folder, lang=language.current(), **options)
    click.echo(tell(say("serve.open", address=server.address), language.current()))
    click.echo(tell(say("serve.stop", folder=os.path.relpath(folder)), language.current()))
    if show:
        import webbrowser

        webbrowser.open(server.address)
    server.run()
