"""The pages' templates and their style, read from this package; escaping is on in all of them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


def template(name: str) -> Template:
    """A template of this folder; what it uses and is not given is an error, not a blank."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_text_of),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def css() -> str:
    """The style of every page."""
    return _text_of("page.css")


def _text_of(name: str) -> str:
    return files("iodiag.report").joinpath(name).read_text("utf-8")
