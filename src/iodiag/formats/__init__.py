"""Formats: one public module each, found here; nothing else lists them.

A module whose name does not begin with an underscore holds one FORMAT: a TableFormat (sample
blocks in text), a ContextFormat (context blocks in text) or a FileFormat (a whole input).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from iodiag.formats._types import ContextFormat, FileFormat, Format, TableFormat


@cache
def all_formats() -> tuple[Format, ...]:
    """Every FORMAT of this package, in the order of their modules' names."""
    names = sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))
    return tuple(import_module(f"{__name__}.{name}").FORMAT for name in names)


@cache
def table_formats() -> tuple[TableFormat, ...]:
    """Formats of sample blocks in text."""
    return tuple(f for f in all_formats() if isinstance(f, TableFormat))


@cache
def context_formats() -> tuple[ContextFormat, ...]:
    """Formats of context blocks in text."""
    return tuple(f for f in all_formats() if isinstance(f, ContextFormat))


@cache
def file_formats() -> tuple[FileFormat, ...]:
    """Formats that own their whole input."""
    return tuple(f for f in all_formats() if isinstance(f, FileFormat))
