"""The options that commands with a report share, and what becomes of the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from iodiag.cli._common import (
    EXIT_FAIL_ON,
    anonymized_message,
    complete_rule,
    one_line,
    write_whole,
)
from iodiag.cli._config import load_config, number
from iodiag.cli._names import anonymize_options, call_names
from iodiag.errors import ConfigError, FormatError

if TYPE_CHECKING:
    from iodiag.errors import ReportGiven
    from iodiag.model.report import Report

Params = ParamSpec("Params")
Command = Callable[Params, None]

_OF_CAPTURES = {
    "devices": "--device",
    "since": "--since",
    "until": "--until",
    "tz": "--tz",
    "rules": "--rule",
    "skip_rules": "--skip-rule",
    "settings": "--set",
    "config": "--config",
    "columns": "--columns",
    "cpus": "--cpus",
    "interval": "--interval",
}
"""Options that choose what is read and how it is judged: nothing that a finished report can follow."""

_ENDINGS = {
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".sarif": "sarif",
}

_TZ = click.option("--tz", metavar="ZONE", help="Time zone for times without a zone, and for the report.")
_INTERVAL = click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Sample length, where the capture does not say.",
)
_SELECTING = (
    click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="NAME",
        help="Look at this device only, by any of its names.",
    ),
    click.option(
        "--since", metavar="TIME", help="Skip samples before this time (14:30, or 2026-11-20T14:30)."
    ),
    click.option("--until", metavar="TIME", help="Skip samples after this time."),
)
_TALKING = (
    click.option("--quiet", is_flag=True, help="No notes on standard error."),
    click.option("--no-color", is_flag=True, help="No colour on a terminal."),
)

_JUDGING = (
    _TZ,
    click.option(
        "--rule",
        "rules",
        multiple=True,
        metavar="ID",
        shell_complete=complete_rule,
        help="Run this rule only. Repeatable.",
    ),
    click.option(
        "--skip-rule",
        "skip_rules",
        multiple=True,
        metavar="ID",
        shell_complete=complete_rule,
        help="Do not run this rule. Repeatable.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="RULE.THRESHOLD=VALUE",
        help="Change a threshold. Repeatable.",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="TOML file with thresholds, rules, skip-rules, ignore and rule-pages.",
    ),
)
"""What decides how anything is judged, whichever command reads it."""

rule_pages_option = click.option(
    "--rule-pages",
    metavar="URL",
    help="Address below which each rule has its page; else a page of HTML holds the rules' text.",
)

_CPUS = click.option(
    "--cpus",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of CPUs, where the capture does not say.",
)

_OPTIONS = (
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=click.Path(),
        metavar="FILE",
        help="Write the report here; the ending (.md, .html, .json, .sarif) picks the format. Repeatable.",
    ),
    click.option(
        "--format",
        "format_",
        type=click.Choice(["md", "html", "json", "sarif", "ticket"]),
        help="Format on standard output, or of an -o without a known ending; ticket: text below 4 kB.",
    ),
    click.option("--full", is_flag=True, help="Show all sections, unshortened."),
    *_SELECTING,
    *_JUDGING,
    click.option("--columns", metavar='"DEV tps …"', help="Header for rows without a header."),
    _CPUS,
    _INTERVAL,
    click.option(
        "--fail-on",
        type=click.Choice(["critical", "warning", "notice"]),
        help="Exit with 1 on a finding this severe or worse (of AFTER, where two are compared).",
    ),
    click.option("--strict", is_flag=True, help="Fail on any input or line that is not understood."),
    click.option(
        "--no-charts", is_flag=True, help="No charts, neither in HTML nor as files beside -o FILE.md."
    ),
    rule_pages_option,
    *_TALKING,
)


def judging_options(command: Command[Params]) -> Command[Params]:
    """Give a command the options that decide what it judges and how; its function takes them as keywords."""
    for option in reversed((*_SELECTING, *_JUDGING, _CPUS, _INTERVAL)):
        command = option(command)
    return command


def talking_options(command: Command[Params]) -> Command[Params]:
    """Give a command `--quiet` and `--no-color`."""
    for option in reversed(_TALKING):
        command = option(command)
    return command


def table_options(command: Command[Params]) -> Command[Params]:
    """Give a command the options that choose rows, and say what they lack."""
    for option in reversed((*_SELECTING, _TZ, _INTERVAL)):
        command = option(command)
    return talking_options(command)


def report_options(command: Command[Params]) -> Command[Params]:
    """Give a command every option of a report; its function takes them as keywords."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return anonymize_options(command)


def formats_of(outputs: tuple[str, ...], stated: str | None) -> dict[str, str]:
    """The format of each -o, by its ending; an error before anything is read."""
    return {path: _format_of(path, stated) for path in outputs}


def analysis_options(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `iodiag.analyze` and `iodiag.compare` that some options make."""
    passed = ("devices", "since", "until", "cpus", "interval")
    return judging(options) | {name: options[name] for name in passed} | {"names": call_names()}


def judging(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords that `judging_options` make, with what the configuration adds to them."""
    configured = load_config(options["config"])
    return {
        "limits": {**configured.thresholds, **dict(map(_setting, options["settings"]))},
        "rules": options["rules"] or configured.rules,
        "skip_rules": (*options["skip_rules"], *configured.skip_rules),
        "ignore": configured.ignore,
        "tz": options["tz"],
    }


def _setting(text: str) -> tuple[str, float]:
    """`rule.threshold` and value of one --set."""
    name, separator, value = text.partition("=")
    if not separator:
        raise ConfigError(f"--set {text!r}: write RULE.THRESHOLD=VALUE")
    return name.strip(), number(name.strip(), value)


def rerendered(given: ReportGiven, options: dict[str, Any]) -> Report:
    """The report that an input is. Options that choose what is read or judged cannot apply to it."""
    from iodiag.report.as_json import from_json

    for name, option in _OF_CAPTURES.items():
        if options[name]:
            raise ConfigError(f"{option}: {given.name} is a report and judged already; give its captures")
    try:
        report = from_json(given.data)
    except FormatError as error:
        raise FormatError(f"{given.name}: {error}") from None
    return _without_names(report) if call_names() else report


def _without_names(report: Report) -> Report:
    """A report that was judged under real names, searched for them; says what that may spoil."""
    from iodiag.anonymize.rewriting import anonymous_report

    names = call_names()
    assert names is not None
    hidden = anonymous_report(report, names)
    if count := names.count_of_doubtful():
        click.echo(
            f"iodiag: {count} of the report's names {'is a word' if count == 1 else 'are words'} of its "
            "sentences too: they are replaced in all; give the captures for a report without that",
            err=True,
        )
    return hidden


def deliver(report: Report, formats: dict[str, str], options: dict[str, Any]) -> None:
    """Write the report where it was asked for, else to standard output; exit 1 on --fail-on."""
    for path, chosen in formats.items():
        beside = _write(report, Path(path), chosen, options)
        if not options["quiet"]:
            charts = (
                f" and {beside} chart{'s' * (beside != 1)} beside it (--no-charts omits them)"
                if beside
                else ""
            )
            click.echo(f"iodiag: wrote {one_line(path)}{charts}", err=True)
    if not formats:
        _print(report, options)
    if options["fail_on"] is not None and _is_met(report, options["fail_on"]):
        sys.exit(EXIT_FAIL_ON)


def _write(report: Report, path: Path, chosen: str, options: dict[str, Any]) -> int:
    """Write a report, charts of Markdown first: it never names a file that is not there. Returns how many."""
    is_no_file = os.path.exists(path) and not os.path.isfile(path)  # nothing belongs beside /dev/stdout
    if chosen != "md" or options["no_charts"] or is_no_file:
        write_whole(path, _render(report, chosen, options))
        return 0
    from iodiag.report.as_markdown import render
    from iodiag.report.charts.report_charts import chart_files

    by_section = chart_files(report, anonymized_message(path.stem), options["full"])
    files = {chart.name: chart for charts in by_section.values() for chart in charts}
    for chart in files.values():
        write_whole(path.parent / chart.name, chart.png)
    write_whole(path, render(report, by_section, options["full"]))
    return len(files)


def _format_of(path: str, stated: str | None) -> str:
    ending = _ENDINGS.get(Path(path).suffix.lower(), stated)
    if ending is None:
        raise ConfigError(
            f"-o {path}: the ending picks no format; use .md, .html, .json or .sarif, or give --format"
        )
    if not os.path.isdir(Path(path).parent) or os.path.isdir(path):
        raise ConfigError(f"-o {path}: cannot be written there; give a file in a directory that exists")
    return ending


def _render(report: Report, chosen: str, options: dict[str, Any]) -> str:
    if chosen == "html":
        from iodiag.report.as_html import render

        return render(report, not options["no_charts"], options["full"], rule_pages(options))
    if chosen == "md":
        return report.to_markdown(options["full"])
    return {"json": report.to_json, "sarif": report.to_sarif, "ticket": report.to_ticket}[chosen]()


def rule_pages(options: dict[str, Any]) -> str:
    """The address below which rules have their pages: the option's, else the configuration's, else ""."""
    from iodiag.report.wording import is_link

    address: str = options["rule_pages"] or load_config(options["config"]).rule_pages
    if address and not is_link(address):
        raise ConfigError(f"rule-pages: {address!r} is not a web address; write https://host/path")
    return address


def _print(report: Report, options: dict[str, Any]) -> None:
    format_ = options["format_"]
    if format_ is None and sys.stdout.isatty():
        _show(report, options)
        return
    text = _render(report, format_ or "md", options)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.write(b"" if text.endswith("\n") else b"\n")
    sys.stdout.buffer.flush()


def _show(report: Report, options: dict[str, Any]) -> None:
    """Print on the terminal, through the user's pager where it is longer than the screen, as git does it."""
    from iodiag.report.as_terminal import console, show

    screen = console(sys.stdout, no_color=True if options["no_color"] else None)
    with screen.capture() as captured:
        show(report, screen, options["full"])
    text = captured.get()
    if text.count("\n") < screen.height:
        click.echo(text, nl=False, color=True)
        return
    # less shows colours, leaves what it showed on the screen, and ends at once where all of it fits
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=True)


def _is_met(report: Report, level: str) -> bool:
    from iodiag.model.finding import SEVERITIES

    order = [str(severity) for severity in SEVERITIES]
    return any(order.index(finding.severity) >= order.index(level) for finding in report.findings)
