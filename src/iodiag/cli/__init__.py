"""The command line. A public module here is a command: it holds one `click.Command` named as the module.

Private modules hold what commands share. A module imports the rest of iodiag inside functions only, so that
`iodiag --help` loads click alone.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

import click

from iodiag import __version__


def command_names() -> list[str]:
    """The commands there are: the public modules of this folder, as they are called on a command line."""
    return [name.replace("_", "-") for _, name, _ in iter_modules(__path__) if not name.startswith("_")]


class _DiscoveredGroup(click.Group):
    """A group of the commands in this folder, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return command_names()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in command_names():
            return None
        module = name.replace("-", "_")
        command = getattr(import_module(f"{__name__}.{module}"), module)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in (names := command_names()):
            near = get_close_matches(args[0], names, 1)
            hint = f"Did you mean {near[0]}?" if near else "Commands: " + ", ".join(names) + "."
            raise click.UsageError(f"No such command {args[0]!r}. {hint}", ctx)
        return super().resolve_command(ctx, args)


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


@click.group(
    cls=_DiscoveredGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.pass_context
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the versions that a bug report needs, and exit.",
)
def cli(ctx: click.Context) -> None:
    """An offline storage doctor for Linux.

    Reads iostat, sar, vmstat and sadc captures and reports what is wrong, how sure that is, and which
    lines prove it.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


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
