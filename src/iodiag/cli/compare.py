"""`iodiag compare`: the same work before and after a change, and what moved."""

from __future__ import annotations

from typing import Any

import click

from iodiag.cli._common import read_inputs, user_errors
from iodiag.cli._options import analysis_options, deliver, formats_of, report_options
from iodiag.cli._progress import progress
from iodiag.errors import ConfigError


@click.command(short_help="Compare the same work before and after a change.")
@click.argument("before", type=click.Path(readable=False), metavar="BEFORE")
@click.argument("after", type=click.Path(readable=False), metavar="AFTER")
@report_options
@user_errors
def compare(before: str, after: str, **options: Any) -> None:
    """Say what a change moved, by how much, how sure that is, and which findings went away or came.

    BEFORE and AFTER are each a capture, or a directory or an archive of captures and context, of the same
    work before and after the change; one of them may be - for standard input. The options apply to both.
    """
    if before == after == "-":
        raise ConfigError("both sides are -: standard input can be only one; give a file for the other")
    formats = formats_of(options["outputs"], options["format_"])
    chosen = analysis_options(options)
    sides = [
        read_inputs((side,), options["strict"], options["columns"], options["quiet"])
        for side in (before, after)
    ]
    from iodiag.api import compare as run

    with progress("comparing", options["quiet"]):
        report = run(*sides, **chosen)
    deliver(report, formats, options)
