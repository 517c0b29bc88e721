"""The options that take names out of everything a command writes, and the pseudonyms of one call."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import click

if TYPE_CHECKING:
    from iodiag.anonymize.pseudonyms import Pseudonyms

Params = ParamSpec("Params")

KEY_VARIABLE = "IODIAG_ANONYMIZE_KEY"
_ASKED, _KEY, _NAMES = "iodiag.anonymize", "iodiag.anonymize_key", "iodiag.names"


def _kept(place: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        ctx.meta[place] = value

    return keep


def anonymize_options(command: Callable[Params, None]) -> Callable[Params, None]:
    """Give a command --anonymize and --anonymize-key; `call_names` has what becomes of them."""
    flag = click.option(
        "--anonymize",
        is_flag=True,
        expose_value=False,
        callback=_kept(_ASKED),
        help="Pseudonyms for hosts, devices, volumes, users, files and addresses in all that is written.",
    )
    key = click.option(
        "--anonymize-key",
        metavar="KEY",
        expose_value=False,
        callback=_kept(_KEY),
        help=f"Anonymize, and give a name the same pseudonym in every run with KEY (or ${KEY_VARIABLE}).",
    )
    return flag(key(command))


def secret_key() -> str:
    """The key of the command that runs, a random one where none is given; empty: names may be shown."""
    names = call_names()
    return "" if names is None else names.key or secrets.token_hex(16)


def call_names() -> Pseudonyms | None:
    """The pseudonyms of the command that runs, the same at every call; None where names may be shown."""
    found = click.get_current_context(silent=True)
    meta = found.meta if found else {}
    stated = meta.get(_KEY)
    if not meta.get(_ASKED) and stated is None:
        return None
    if _NAMES not in meta:
        from iodiag.anonymize.pseudonyms import Pseudonyms

        meta[_NAMES] = Pseudonyms(key=stated or os.environ.get(KEY_VARIABLE) or None)
    names: Pseudonyms = meta[_NAMES]
    return names
