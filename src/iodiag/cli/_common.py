"""What the commands share: reading inputs, writing files whole, errors as one line."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec

import click

from iodiag.cli._names import call_names
from iodiag.cli._progress import progress
from iodiag.errors import ConfigError, IodiagError, OutputError, ReportGiven, RuleError

if TYPE_CHECKING:
    from iodiag.model.capture import Capture
    from iodiag.model.finding import Ignore

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


def load_config(path: str | None) -> dict[str, Any]:
    """The settings of a TOML file: its own, or those below [tool.iodiag]."""
    if path is None:
        return {}
    import tomllib

    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); check the name") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no TOML ({error}); mend it") from None
    tool = data.get("tool", {})
    settings = tool.get("iodiag", data if "tool" not in data else {}) if isinstance(tool, dict) else {}
    known = {"thresholds", "rules", "skip-rules", "ignore", "rule-pages"}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ConfigError(f"{path}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return dict(settings)


def thresholds(config: dict[str, Any], settings: tuple[str, ...]) -> dict[str, float]:
    """`rule.threshold` → value, from a configuration's [thresholds] and then --set, which wins."""
    result: dict[str, float] = {}
    for name, value in config.get("thresholds", {}).items():
        pairs = {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
        for key, number in pairs.items():
            result[key] = _number(key, number)
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator:
            raise ConfigError(f"--set {setting!r}: write RULE.THRESHOLD=VALUE")
        result[name.strip()] = _number(name, value)
    return result


def ignores(config: dict[str, Any]) -> list[Ignore]:
    """The findings that a configuration takes out, each with the reason that it must state."""
    from iodiag.model.finding import Ignore

    entries = config.get("ignore", [])
    keys = {"rule", "device", "host", "reason"}
    result = []
    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
            raise ConfigError("ignore: write a list of tables with rule, reason, and maybe device and host")
        unknown = sorted(set(entry) - keys)
        if unknown:
            raise ConfigError(f"ignore: unknown key {unknown[0]!r}; known are {', '.join(sorted(keys))}")
        missing = next((key for key in ("rule", "reason") if not entry.get(key, "").strip()), None)
        if missing:
            raise ConfigError(f"ignore: an entry lacks its {missing}; every finding ignored needs one")
        result.append(Ignore(**entry))
    return result


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ConfigError(f"threshold {name}: {value!r} is no number") from None
