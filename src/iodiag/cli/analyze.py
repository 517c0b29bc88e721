"""`iodiag analyze`: captures in, one report out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from iodiag.cli._common import read_inputs, user_errors
from iodiag.cli._options import analysis_options, deliver, formats_of, report_options, rerendered
from iodiag.cli._progress import progress
from iodiag.errors import ReportGiven

if TYPE_CHECKING:
    from iodiag.model.report import Report


@click.command(short_help="Read captures and context, run the rules, write a report.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT...")
@report_options
@user_errors
def analyze(inputs: tuple[str, ...], **options: Any) -> None:
    """Read captures and context, run the rules, and write one report.

    INPUT is a capture of iostat, sar, vmstat or sadc, context such as lsblk or /proc/mdstat, a directory
    or an archive of them (give a sosreport as it is), an address such as s3://bucket/file, or - for
    standard input; iodiag recognizes each input by its content. A JSON report of iodiag, as the only input,
    is rendered again in the requested format.
    """
    formats = formats_of(options["outputs"], options["format_"])
    chosen = analysis_options(options)
    deliver(_report(inputs, chosen, options), formats, options)


def _report(inputs: tuple[str, ...], chosen: dict[str, Any], options: dict[str, Any]) -> Report:
    try:
        captures = read_inputs(inputs, options["strict"], options["columns"], options["quiet"])
    except ReportGiven as given:
        if len(inputs) > 1:
            raise
        return rerendered(given, options)
    from iodiag.api import analyze as run

    with progress("judging", options["quiet"]):
        return run(captures, **chosen)
