"""`iodiag convert`: the normalised tables as CSV, JSON lines or Parquet."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from iodiag.cli._common import one_line, read_inputs, user_errors, write_whole
from iodiag.cli._names import anonymize_options, call_names
from iodiag.cli._options import table_options
from iodiag.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

_ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_CHOOSING = {"devices": "--device", "since": "--since", "until": "--until"}
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@click.command(short_help="Write the normalised tables as CSV, JSON lines or Parquet.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT...")
@click.option("--table", metavar="NAME", help="The table to write; not needed where the input has one alone.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Write here; the ending (.csv, .jsonl, .parquet) picks the format.",
)
@click.option(
    "--format", "format_", type=click.Choice(["csv", "jsonl", "parquet"]), help="Format on standard output."
)
@click.option("--averages", is_flag=True, help="The Average: rows instead of the samples.")
@click.option("--columns", metavar='"DEV tps …"', help="Header of rows that came without one.")
@click.option("--strict", is_flag=True, help="Fail on any input or line that is not understood.")
@table_options
@anonymize_options
@user_errors
def convert(
    inputs: tuple[str, ...],
    table: str | None,
    output: str | None,
    format_: str | None,
    averages: bool,
    columns: str | None,
    strict: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write one normalised table of INPUT: every row with its source and line, units in the column names."""
    chosen = format_ or (_ENDINGS.get(Path(output).suffix.lower()) if output else "csv")
    if chosen is None:
        raise ConfigError(
            f"-o {output}: the ending picks no format; use .csv, .jsonl or .parquet, or give --format"
        )
    captures = read_inputs(inputs, strict, columns, quiet)
    from iodiag.judging.options import Options
    from iodiag.judging.run import selected

    chosen_rows = {name: options[name] for name in ("devices", "since", "until", "tz", "interval")}
    whole = selected(captures, Options(**chosen_rows))
    if names := call_names():
        from iodiag.anonymize.rewriting import anonymous_captures

        (whole,) = anonymous_captures([whole], names)
    tables = whole.averages if averages else whole.tables
    if table is None and len(tables) == 1:
        table = next(iter(tables))
    if table is None or table not in tables:
        said = f"there is no table {table!r}" if table else "there are several tables"
        raise ConfigError(f"{said}; give --table with one of {', '.join(tables) or '(none)'}")
    asked = [option for name, option in _CHOOSING.items() if options[name]]
    if asked and not len(tables[table]):
        raise ConfigError(f"{table} has no rows for {', '.join(asked)}; `iodiag inspect` says what there is")
    data = _encode(tables[table], chosen)
    if output:
        write_whole(Path(output), data)
    elif chosen == "csv" and sys.stdout.isatty():
        click.echo("\n".join(map(one_line, data.decode().split("\n"))), nl=False)
    else:
        sys.stdout.buffer.write(data)


def _encode(frame: pd.DataFrame, chosen: str) -> bytes:
    if chosen == "csv":
        return _inert(frame).to_csv(index=False).encode()
    if chosen == "jsonl":
        return frame.to_json(orient="records", lines=True, date_format="iso").encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False, engine="pyarrow")
    except ImportError:
        raise ConfigError("Parquet needs pyarrow: pip install iodiag[parquet]") from None
    return buffer.getvalue()


def _inert(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose words no spreadsheet takes for a formula: such a cell gets an apostrophe."""
    safe = frame.copy()
    for name in safe.columns:
        if safe[name].dtype.kind in "fiubM" or str(safe[name].dtype).startswith("datetime"):
            continue
        words = safe[name].astype(str)
        risky = words.str.startswith(_FORMULA_STARTS)
        if risky.any():
            safe[name] = words.where(~risky, "'" + words)
    return safe
