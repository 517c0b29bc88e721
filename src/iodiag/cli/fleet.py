"""`iodiag fleet`: many hosts' archives to a data set, a report per host and day, and one on the fleet."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import click

from iodiag.cli._common import EXIT_INPUT, fail, one_line, user_errors
from iodiag.cli._names import anonymize_options, call_names, secret_key
from iodiag.cli._options import judging, judging_options, rule_pages, rule_pages_option, talking_options

if TYPE_CHECKING:
    from iodiag.fleet.executor import Executor
    from iodiag.fleet.plan import InputRow, Options
    from iodiag.fleet.run import Outcome

_MOST_LINES = 20
_READ = ("failed", "partly")
_PASSED = {"duplicate": "hold the same samples as others"}


@click.command(short_help="Judge many hosts' archives, in parallel, into a data set and one report.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="Directory of the data set; existing host-days stay.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes on this machine (default: its cores)."
)
@click.option("--scheduler", metavar="ADDRESS", help="Do the jobs on this Dask cluster: tcp://HOST:PORT.")
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Store this table only. Repeatable.")
@click.option(
    "--inventory",
    type=click.Path(),
    metavar="FILE",
    help="CSV with a column of hosts and any of role, model, firmware, site.",
)
@click.option("--prune", is_flag=True, help="Drop host-days whose inputs are not given any more.")
@click.option("--verify", is_flag=True, help="Check every file of the data set, not only what is read.")
@judging_options
@rule_pages_option
@talking_options
@anonymize_options
@user_errors
def fleet(
    inputs: tuple[str, ...],
    output: str,
    jobs: int | None,
    scheduler: str | None,
    inventory: str | None,
    prune: bool,
    verify: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Judge the archives of many hosts, a host-day at a time, and write a data set and reports.

    INPUT is as for analyze: files, directories, archives and addresses. They are grouped by day and
    host (the host that each file states, else that of its sosreport, else that of its path). Host-days that
    are up to date are not judged again; a stopped run continues where it stopped, and a host-day of which
    a file is damaged is judged again. An input that cannot be read is reported in the manifest and on
    standard error.
    """
    chosen, address = _options(options), rule_pages(options)
    if names := call_names():
        names.add_inputs(inputs)
    from iodiag.fleet.across_hosts.inventory import read_inventory
    from iodiag.fleet.progress import progress
    from iodiag.fleet.run import run
    from iodiag.fleet.store import check_pyarrow

    check_pyarrow()
    peers = read_inventory(inventory) if inventory else None
    with _executor(jobs, scheduler) as executor, progress(quiet) as told:
        outcome = run(inputs, output, chosen, executor, told, prune, peers, verify, secret_key(), address)
    if not quiet:
        _tell(outcome, output)
    if not outcome.host_days:
        fail("no input held samples of any host; see the lines above", EXIT_INPUT)


def _tell(outcome: Outcome, output: str) -> None:
    """What came out, then a line on each input that failed, and one on all that are passed over alike."""
    output = output.rstrip("/") or "/"
    lines = [f"{outcome.headline} See {output}/fleet.html"]
    lines.append(f"{outcome.host_days} host-days in {output}, {outcome.fresh} of them new")
    lines += [*outcome.damaged, *(f"no result for {line}" for line in outcome.failed)]
    lines += [_told(row) for status in _READ for row in outcome.problems if row.status == status]
    passed: dict[str, list[InputRow]] = {}
    for row in outcome.problems:
        if row.status not in _READ:
            passed.setdefault(_PASSED.get(row.status) or _reason(row), []).append(row)
    for reason, rows in sorted(passed.items(), key=lambda item: -len(item[1])):
        names = ", ".join(row.input for row in rows[:3]) + (", …" if len(rows) > 3 else "")
        lines.append(_told(rows[0]) if len(rows) == 1 else f"{len(rows)} inputs ({names}): {reason}")
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES} more, in {output}/manifest.parquet"]
    for line in lines:
        click.echo(f"iodiag: {one_line(line)}", err=True)


def _reason(row: InputRow) -> str:
    """Why an input was not read; most reasons begin with its name themselves."""
    return row.reason.removeprefix(f"{row.input}: ")


def _told(row: InputRow) -> str:
    return f"{row.input}: {row.status}: {_reason(row)}"


def _options(options: dict[str, Any]) -> Options:
    from iodiag.fleet.plan import Options
    from iodiag.judging import options as judging_options

    chosen = judging(options)
    wanted = Options(
        limits=tuple(sorted(chosen["limits"].items())),
        rules=tuple(chosen["rules"] or ()),
        skip_rules=chosen["skip_rules"],
        ignore=tuple(chosen["ignore"]),
        tz=chosen["tz"],
        **{name: options[name] for name in ("devices", "since", "until", "cpus", "interval")},
        tables=tuple(sorted(options["tables"])) or None,
    )
    judging_options.check(wanted.of_judging())
    return wanted


def _executor(jobs: int | None, scheduler: str | None) -> contextlib.AbstractContextManager[Executor]:
    if scheduler is not None:
        from iodiag.fleet.on_dask import cluster

        return cluster(scheduler)
    from iodiag.fleet.local import workers

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return workers(jobs or cores or 1)
