"""`iodiag fleet`: many hosts' archives to a data set, a report per host and day, and one on the fleet."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import click

from iodiag.cli._common import (
    EXIT_INPUT,
    complete_rule,
    fail,
    ignores,
    load_config,
    one_line,
    thresholds,
    user_errors,
)

if TYPE_CHECKING:
    from iodiag.fleet.plan import Options
    from iodiag.fleet.run import Engine

_MOST_LINES = 20
_GRAVITY = ("failed", "partly", "unknown", "duplicate")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="DIR", help="The data set; what is there stays.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes on this machine (default: its cores)."
)
@click.option("--scheduler", metavar="ADDRESS", help="Do the jobs on this Dask cluster: tcp://HOST:PORT.")
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Store this table only. Repeatable.")
@click.option(
    "--inventory", metavar="FILE", help="CSV with a column of hosts and any of role, model, firmware, site."
)
@click.option("--prune", is_flag=True, help="Drop host-days whose inputs are not given any more.")
@click.option("--tz", metavar="ZONE", help="Zone of clocks that state none, and of the reports' times.")
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="ID",
    shell_complete=complete_rule,
    help="Run this rule only. Repeatable.",
)
@click.option(
    "--skip-rule",
    "skip_rules",
    multiple=True,
    metavar="ID",
    shell_complete=complete_rule,
    help="Do not run this rule. Repeatable.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="RULE.THRESHOLD=VALUE", help="Change a threshold. Repeatable."
)
@click.option("--config", metavar="FILE", help="TOML file with thresholds, rules, skip-rules and ignore.")
@click.option("--quiet", is_flag=True, help="No progress and no notes on standard error.")
@user_errors
def fleet(
    inputs: tuple[str, ...],
    output: str,
    jobs: int | None,
    scheduler: str | None,
    inventory: str | None,
    prune: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Judge the archives of many hosts, a host-day at a time, and write a data set and reports.

    INPUT is as for analyze: files, directories, archives and addresses. They are grouped by host (by
    what each file says itself, else its sosreport, else its path) and day. What is done already is not
    done again; a run that was stopped goes on where it was. An input that cannot be read is a line in
    the manifest and on standard error.
    """
    chosen = _options(options)
    from iodiag.fleet.inventory import read_inventory
    from iodiag.fleet.progress import progress
    from iodiag.fleet.run import run
    from iodiag.fleet.store import check_pyarrow

    check_pyarrow()
    peers = read_inventory(inventory) if inventory else None
    with _engine(jobs, scheduler) as engine, progress(quiet) as told:
        outcome = run(inputs, output, chosen, engine, told, prune, peers)
    if not quiet:
        ranked = sorted(outcome.problems, key=lambda row: _GRAVITY.index(row.status))
        lines = [f"{row.input}: {row.status}: {row.reason}" for row in ranked]
        lines += [f"no result for {line}" for line in outcome.failed]
        for line in lines[:_MOST_LINES]:
            click.echo(f"iodiag: {one_line(line)}", err=True)
        if len(lines) > _MOST_LINES:
            click.echo(f"iodiag: and {len(lines) - _MOST_LINES} more, in {output}/manifest.parquet", err=True)
        click.echo(
            f"iodiag: {outcome.host_days} host-days in {output}, {outcome.fresh} of them new", err=True
        )
        click.echo(f"iodiag: {one_line(outcome.headline)} See {output}/fleet.html", err=True)
    if not outcome.host_days:
        fail("no input held samples of any host; see the lines above", EXIT_INPUT)


def _options(options: dict[str, Any]) -> Options:
    from iodiag.fleet.plan import Options
    from iodiag.pipeline import check_options

    configured = load_config(options["config"])
    limits = thresholds(configured, options["settings"])
    rules = options["rules"] or configured.get("rules")
    skipped = (*options["skip_rules"], *configured.get("skip-rules", ()))
    ignored = tuple(ignores(configured))
    check_options(limits, rules, skipped, ignored, options["tz"])
    return Options(
        limits=tuple(sorted(limits.items())),
        rules=tuple(rules) if rules else None,
        skip_rules=skipped,
        ignore=ignored,
        tz=options["tz"],
        tables=tuple(sorted(options["tables"])) or None,
    )


def _engine(jobs: int | None, scheduler: str | None) -> contextlib.AbstractContextManager[Engine]:
    if scheduler is not None:
        from iodiag.fleet.on_dask import cluster

        return cluster(scheduler)
    from iodiag.fleet.local import workers

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return workers(jobs or cores or 1)
