"""`iodiag inspect`: what is in a file, and what was not understood."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from iodiag.cli._common import one_line, read_inputs, user_errors
from iodiag.cli._names import anonymize_options, call_names
from iodiag.cli._options import talking_options

if TYPE_CHECKING:
    from iodiag.model.capture import Capture


@click.command(short_help="Say what is in a file, and what was not understood.")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT...")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@click.option("--columns", metavar='"DEV tps …"', help="Header of rows that came without one.")
@click.option("--strict", is_flag=True, help="Fail on any input or line that is not understood.")
@talking_options
@anonymize_options
@user_errors
def inspect(
    inputs: tuple[str, ...], as_json: bool, columns: str | None, strict: bool, quiet: bool, no_color: bool
) -> None:
    """Say what INPUT holds: formats, layouts, hosts, tables, time span, and every line not understood."""
    captures = read_inputs(inputs, strict, columns, quiet)
    if names := call_names():
        from iodiag.anonymize.rewriting import anonymous_captures

        captures = anonymous_captures(captures, names)
    facts = [_facts(capture) for capture in captures]
    if as_json:
        click.echo(json.dumps(facts, indent=1))
        return
    for entry in facts:
        for line in _lines(entry):
            click.echo(one_line(line))


def _facts(capture: Capture) -> dict[str, object]:
    return {
        "sources": list(capture.sources),
        "positions": next((source.pos_unit for source in capture.sources.values()), "line"),
        "sections": [
            {
                "format": s.format,
                "layout": s.layout,
                "line": s.first_line,
                "host": s.host,
                "kernel": s.kernel,
                "cpus": s.cpus,
                "start": s.start,
                "end": s.end,
                "reports": s.reports,
                "rows": s.rows,
                "is_context": s.is_context,
            }
            for s in capture.sections
        ],
        "tables": {name: len(rows) for name, rows in capture.tables.each()},
        "averages": {name: len(rows) for name, rows in capture.averages.each()},
        "devices": [
            {
                "name": d.name,
                "kind": d.kind,
                "level": d.level,
                "members": list(d.members),
                "aliases": list(d.aliases),
            }
            for d in capture.topology
        ],
        "facts": [{"kind": f.kind, "line": f.ref.first, "text": f.text} for f in capture.evidence],
        "lines": {ledger.source: dict(ledger.counts) for ledger in capture.ledgers},
        "notes": [{"line": n.line, "reason": n.reason} for n in capture.notes if not n.is_unread],
        "unparsed": [{"line": n.line, "reason": n.reason, "text": n.text} for n in capture.unparsed],
    }


def _lines(entry: dict) -> list[str]:  # type: ignore[type-arg]
    from iodiag.report.wording import plural

    lines = [", ".join(entry["sources"])]
    unit = entry["positions"]
    for section in entry["sections"]:
        about = [f"{key} {section[key]}" for key in ("host", "kernel", "cpus") if section[key]]
        if section["start"]:
            about.append(f"{section['start']} to {section['end']}")
        rows = plural(section["rows"], "line")
        if not section["is_context"]:
            rows = f"{plural(section['reports'], 'report')}, {plural(section['rows'], 'row')}"
        what = f"{section['format']} ({section['layout']})" if section["layout"] else section["format"]
        lines.append("; ".join([f"  {unit} {section['line']}: {what}, {rows}", *about]))
    for title, key in (("tables", "tables"), ("averages", "averages")):
        if entry[key]:
            lines.append(f"  {title}: " + ", ".join(f"{name} {count}" for name, count in entry[key].items()))
    if entry["devices"]:
        lines.append(
            "  devices known: "
            + ", ".join(f"{d['name']} ({d['level'] or d['kind'] or '?'})" for d in entry["devices"])
        )
    lines += [f"  {unit} {fact['line']}: {fact['kind']}: {fact['text']}" for fact in entry["facts"]]
    for counts in entry["lines"].values():
        lines.append("  lines: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    lines += [f"  note ({unit} {note['line']}): {note['reason']}" for note in entry["notes"]]
    lines += [f"  not understood, {unit} {n['line']}: {n['reason']}: {n['text']}" for n in entry["unparsed"]]
    return lines
