"""`iodiag rules`: the list of rules, or one rule's page."""

from __future__ import annotations

import json

import click

from iodiag.cli._common import complete_rule, user_errors
from iodiag.errors import ConfigError
from iodiag.model.rule import Rule


@click.command(short_help="List the rules, or print one rule's page.")
@click.argument("rule", required=False, shell_complete=complete_rule)
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
@user_errors
def rules(rule: str | None, as_json: bool) -> None:
    """List the rules, or print the page of RULE: claim, thresholds with their source, remedy."""
    from iodiag.rules import all_rules, page
    from iodiag.rules.precedence import relations
    from iodiag.rules.selection import unknown_rule

    known = all_rules()
    if rule is not None and rule not in known:
        raise ConfigError(unknown_rule(rule, known))
    chosen = [known[rule]] if rule else list(known.values())
    if as_json:
        click.echo(json.dumps([_as_dict(entry) for entry in chosen], indent=1))
        return
    if rule is None:
        width = max(map(len, known), default=0)
        for entry in chosen:
            click.echo(f"{entry.id:<{width}}  {entry.title}")
        return
    entry = chosen[0]
    click.echo(f"{entry.id}: {entry.title}\n\n{page(entry.id)}\n")
    if entry.thresholds:
        click.echo(f"Thresholds (change one with --set {entry.id}.NAME=VALUE)")
        for name, threshold in entry.thresholds.items():
            click.echo(
                f"  {name} = {threshold.default:g} {threshold.unit}: {threshold.meaning} [{threshold.source}]"
            )
        click.echo()
    click.echo(f"Role: {entry.role}")
    for label, others in relations(entry.id, list(known.values())).items():
        click.echo(f"{label}: {', '.join(others)}")
    click.echo("\nRemedy\n" + "\n".join(f"  - {line}" for line in entry.remedy))


def _as_dict(entry: Rule) -> dict[str, object]:
    return {
        "id": entry.id,
        "title": entry.title,
        "role": entry.role,
        "explains": list(entry.explains),
        "replaces": list(entry.replaces),
        "why": entry.why,
        "remedy": list(entry.remedy),
        "confirm": list(entry.confirm),
        "references": list(entry.references),
        "thresholds": {
            name: {"default": t.default, "unit": t.unit, "meaning": t.meaning, "source": t.source}
            for name, t in entry.thresholds.items()
        },
    }
