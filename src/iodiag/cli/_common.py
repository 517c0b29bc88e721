"""What the commands share: reading inputs, writing files whole, errors as one line."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import click

from iodiag.cli._names import call_names
from iodiag.cli._progress import progress
from iodiag.errors import ConfigError, IodiagError, OutputError, ReportGiven, RuleError

if TYPE_CHECKING:
    from iodiag.model.capture import Capture

Params = ParamSpec("Params")

EXIT_FAIL_ON, EXIT_USAGE, EXIT_INPUT = 1, 2, 3
_WAITS = (
    "iodiag: waiting for a capture on standard input: paste one and press Ctrl-D on a line of its own, "
    "or stop with Ctrl-C and pipe one in: iostat -xt 1 60 | iodiag analyze -"
)


def fail(message: str, status: int) -> NoReturn:
    """Print one line to standard error and exit."""
    click.echo(f"iodiag: {one_line(message)}", err=True)
    sys.exit(status)


def one_line(message: str) -> str:
    """A message that cannot break out of its line or drive the terminal, whatever a file is called."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in message)


def user_errors(command: Callable[Params, None]) -> Callable[Params, None]:
    """Turn what a user can cause into one line and the contract's exit status."""

    @wraps(command)
    def wrapped(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (ConfigError, OutputError, RuleError) as error:
            fail(anonymized_message(error), EXIT_USAGE)
        except IodiagError as error:
            fail(anonymized_message(error), EXIT_INPUT)
        except KeyboardInterrupt:
            fail("interrupted", 130)

    return wrapped


def anonymized_message(message: object) -> str:
    """What standard error may say: a message, without the names that --anonymize hides."""
    names = call_names()
    return names.problem(str(message)) if names else str(message)


def read_inputs(
    inputs: tuple[str, ...], strict: bool, columns: str | None, quiet: bool = False
) -> list[Capture]:
    """All inputs that could be read; fails when none could, under `strict` when any could not.

    Raises ReportGiven when one of them is a report of iodiag.
    """
    from iodiag.api import read_many

    if names := call_names():
        names.add_inputs(inputs)
    is_typed = "-" in inputs and sys.stdin.isatty()
    if is_typed and not quiet:
        click.echo(_WAITS, err=True)
    with progress("reading", quiet or is_typed) as say:
        count = itertools.count(1)

        def begin(source: str) -> None:
            said = f"reading file {next(count)}"
            say(said if names else f"{said}: {one_line(source)}")

        captures, problems = read_many(inputs, strict=strict, columns=columns, on_file=begin)
    if names:
        from iodiag.anonymize.rewriting import gather

        gather(captures, names)
    for problem in problems:
        if isinstance(problem, ReportGiven):
            raise problem
    if problems and (strict or not captures):
        for problem in problems[:-1]:
            click.echo(f"iodiag: {one_line(anonymized_message(problem))}", err=True)
        raise problems[-1]
    if not quiet:
        for problem in problems:
            click.echo(f"iodiag: left out: {one_line(anonymized_message(problem))}", err=True)
    return captures


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file under a temporary name and rename it: no half file ever stands under its name.

    A pipe or a device is written to as it stands, and a link's target is what becomes the file.
    """
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    target = Path(os.path.realpath(path))
    name = None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            target.write_bytes(data)
            return
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".iodiag.", delete=False) as handle:
            name = handle.name
            handle.write(data)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as error:
        fail(
            anonymized_message(
                f"{path}: cannot be written ({error.strerror or error}); choose another place"
            ),
            EXIT_USAGE,
        )
    finally:
        if name is not None and os.path.exists(name):
            os.unlink(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def complete_rule(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The rules whose id begins with what stands on a command line, for a shell's completion."""
    from iodiag.rules import all_rules

    return [rule for rule in all_rules() if rule.startswith(incomplete)]
