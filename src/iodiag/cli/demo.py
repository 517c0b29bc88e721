"""`iodiag demo`: a sample capture, and the report on it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from iodiag.cli._common import one_line, read_inputs, user_errors, write_whole
from iodiag.errors import OutputError

_SAMPLE = "samples/cases/slow-member"
_CAPTURE, _REPORT = "capture", "report.html"


@click.command(short_help="Write a sample capture, analyze it, and open the report.")
@click.argument("folder", default="iodiag-demo", type=click.Path())
@click.option("--no-open", is_flag=True, help="Do not open the report in a browser.")
@user_errors
def demo(folder: str, no_open: bool) -> None:
    """Write a sample capture into FOLDER (default: iodiag-demo), analyze it, and write the report there.

    The capture was taken while a RAID0 of four disks had one slow disk. The report opens in a browser
    where this runs on a terminal of a desktop.
    """
    place = Path(folder)
    capture, page = place / _CAPTURE, place / _REPORT
    _copy_sample(place, capture)
    from iodiag.api import analyze

    report = analyze(read_inputs((f"{capture}{os.sep}",), strict=False, columns=None))
    write_whole(page, report.to_html())
    click.echo(
        f"The sample capture:  {_shown(capture)}\n"
        f"The report on it:    {_shown(page)}\n\n"
        "Analyze it yourself:\n"
        f"    iodiag analyze {_shown(capture)}\n"
        f"    iodiag analyze {_shown(capture)} -o {_shown(page)}\n"
        "Analyze this host, for one minute:\n"
        "    iostat -xt 1 60 | iodiag analyze -"
    )
    if not no_open and _has_browser():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def _copy_sample(place: Path, capture: Path) -> None:
    """Copy the sample into a folder that is new, empty, or of an earlier demo."""
    try:
        if place.exists() and not {entry.name for entry in place.iterdir()} <= {_CAPTURE, _REPORT}:
            raise OutputError(f"{place}: holds other files; give a new folder")
        capture.mkdir(parents=True, exist_ok=True)
        for source in sorted(_sample().glob("*.txt")):
            shutil.copyfile(source, capture / source.name)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{place}: cannot be written ({reason}); give another folder") from None


def _sample() -> Path:
    """Where the sample is: in the installed package, or in a checkout among the worked cases."""
    installed = Path(__file__).parent / _SAMPLE
    return installed if installed.is_dir() else Path(__file__).parents[3] / _SAMPLE


def _has_browser() -> bool:
    """Whether somebody looks at this terminal who can see a page."""
    is_desktop = sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return bool(sys.stdout.isatty() and is_desktop)


def _shown(path: Path) -> str:
    return one_line(shlex.quote(str(path)))
