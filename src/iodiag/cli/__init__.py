"""The command line: a group that loads a command's file when the command is called."""

from __future__ import annotations

import gc
import os
import signal
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from iodiag import __version__

_COMMANDS = {
    "analyze": "Read captures and context, run the rules, write a report.",
    "compare": "Compare the same work before and after a change.",
    "fleet": "Judge many hosts' archives, in parallel, into a data set and one report.",
    "inspect": "Say what is in a file, and what was not understood.",
    "convert": "Write the normalised tables as CSV, JSON lines or Parquet.",
    "rules": "List the rules, or print one rule's page.",
    "completion": "Print the script that completes commands, options and rules in a shell.",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command = getattr(import_module(f"iodiag.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS:
            near = get_close_matches(args[0], _COMMANDS, 1)
            hint = f"Did you mean {near[0]}?" if near else "Commands: " + ", ".join(_COMMANDS) + "."
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Say which iodiag this is, and on what it runs; nothing is imported to find out."""
    if not is_wanted or ctx.resilient_parsing:
        return
    import platform
    from importlib.metadata import PackageNotFoundError, version

    click.echo(f"iodiag {__version__}")
    click.echo(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in ("pandas", "numpy", "pyparsing", "matplotlib", "click"):
        try:
            click.echo(f"{package} {version(package)}")
        except PackageNotFoundError:
            click.echo(f"{package} is missing")
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions that a bug report needs, and exit.",
)
def cli() -> None:
    """An offline storage doctor for Linux.

    Reads iostat, sar, vmstat and sadc captures and reports what is wrong, how sure that is, and which
    lines prove it.
    """


_RARELY = 100_000
"""Objects made before the collector looks for cycles: importing pandas alone makes so many."""


def main() -> None:
    """Run the command line; every error is one line, and a closed pipe or Ctrl-C ends it quietly.

    Nearly all that is imported lives until the process ends: the collector looks through it seldom, and
    not at all when the interpreter takes it down, which takes a tenth of a second off each call.
    """
    gc.set_threshold(_RARELY)
    try:
        _run()
    finally:
        gc.freeze()


def _run() -> None:
    # asked to end: leave as an error would, so that no temporary file stays
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        status = cli.main(prog_name="iodiag", standalone_mode=False)
    except click.UsageError as error:
        name = error.ctx.command_path if error.ctx else "iodiag"
        click.echo(f"iodiag: {error.format_message()} (`{name} --help` lists what there is)", err=True)
        sys.exit(2)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        # whoever read the output has gone: point stdout at nothing, so that the exit is quiet
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        # files have said so by their name: this is standard output, on a disk that is full for instance
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"iodiag: standard output: cannot be written ({error.strerror or error})", err=True)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
