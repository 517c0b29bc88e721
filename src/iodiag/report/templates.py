"""The templates, the style and the script of pages, read from this package; escaping is always on."""

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


def css(with_script: bool = False) -> str:
    """The style of every page, and of the charts that a script draws."""
    return _without_indents("page.css") + (_text_of("uplot/uPlot.min.css") if with_script else "")


def filter_script() -> str:
    """The script of the fleet report, which filters its lists."""
    return _text_of("fleet_filter.js")


@cache
def script() -> str:
    """The one script of a page with charts over time: uPlot with its licence, and what uses it."""
    licence = _text_of("uplot/LICENSE").strip()
    return f"/*!\n{licence}\n*/\n{_text_of('uplot/uPlot.iife.min.js')}\n{_without_indents('explore.js')}"


def policy(css: str, script: str = "") -> str:
    """What a browser may load for a page: its one style, its images and its script, and nothing else."""
    scripts = f"script-src 'sha256-{_hash(script)}'; " if script else ""
    return (
        f"default-src 'none'; style-src-elem 'sha256-{_hash(css)}'; {scripts}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def _text_of(name: str) -> str:
    return files("iodiag.report").joinpath(name).read_text("utf-8")


def _without_indents(name: str) -> str:
    return "".join(f"{line.strip()}\n" for line in _text_of(name).splitlines())
