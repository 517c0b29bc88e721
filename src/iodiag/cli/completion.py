"""`iodiag completion`: the script that teaches a shell this program's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Print the script that completes commands, options and rules in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and rule ids in SHELL.

    \b
    bash: iodiag completion bash > ~/.local/share/bash-completion/completions/iodiag
    zsh:  iodiag completion zsh > ~/.zfunc/_iodiag      (with ~/.zfunc in fpath)
    fish: iodiag completion fish > ~/.config/fish/completions/iodiag.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "iodiag", "_IODIAG_COMPLETE").source())
