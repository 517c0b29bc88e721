"""The pages' templates and their style, read from this package; escaping is on in all of them."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(name: str) -> Template:
    """A template of this folder; what it uses and is not given is an error, not a blank.

    It is compiled once in a process: a fleet's pages are many.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_text_of),
        trim_blocks=True,
        lstrip_blocks=True,
        # folding constants takes longer than a page does
        optimized=False,
    )
    return environment.get_template(name)


def css() -> str:
    """The style of every page."""
    return _text_of("page.css")


def policy() -> str:
    """What a browser may load for a page: its one style and its images, and nothing else."""
    style = b64encode(sha256(css().encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src-elem 'sha256-{style}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _text_of(name: str) -> str:
    return files("iodiag.report").joinpath(name).read_text("utf-8")
