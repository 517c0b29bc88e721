"""The pages' templates and their style, read from this package; escaping is on in all of them."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment, Template

PAGES = ("page.html", "compared.html", "fleet.html", "macros.html")


def template(name: str) -> Template:
    """A template of this folder, compiled already where it comes out of a wheel."""
    from jinja2 import FunctionLoader, ModuleLoader

    compiled = Path(__file__).with_name(_compiled())
    loader = ModuleLoader(compiled) if compiled.is_dir() else FunctionLoader(_text_of)
    return _environment(loader).get_template(name)


def compile_into(folder: Path) -> list[Path]:
    """Writes the compiled templates below a folder, for the wheel, as `_compiled` says."""
    from jinja2 import FunctionLoader, ModuleLoader

    environment = _environment(FunctionLoader(_text_of))
    into = folder / _compiled()
    into.mkdir()
    paths = [into / ModuleLoader.get_module_filename(name) for name in PAGES]
    for name, path in zip(PAGES, paths, strict=True):
        code = environment.compile(_text_of(name), name, name, raw=True, defer_init=True)
        path.write_text(code, encoding="utf-8")
    return paths


def _compiled() -> str:
    """The folder of compiled templates; what one release of jinja2 compiled is for that release only."""
    from jinja2 import __version__

    return f"compiled-{__version__}"


def _environment(loader: BaseLoader) -> Environment:
    """Escaping is on; what a template uses and is not given is an error, not a blank."""
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=loader,
        trim_blocks=True,
        lstrip_blocks=True,
        # folding constants takes longer than a page does
        optimized=False,
    )


def css() -> str:
    """The style of every page."""
    return _text_of("page.css")


def policy() -> str:
    """What a browser may load for a page: its one style and the charts' own attributes, and nothing else."""
    style = b64encode(sha256(css().encode()).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src-elem 'sha256-{style}'; style-src-attr 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _text_of(name: str) -> str:
    return files("iodiag.report").joinpath(name).read_text("utf-8")
