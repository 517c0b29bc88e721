"""Formats: one public module each, found in the rooms below; nothing else lists them.

In tables, context, exports and sa a module whose name does not begin with an underscore holds one FORMAT: a
TableFormat (sample blocks in text), a ContextFormat (context blocks in text) or a FileFormat (a whole input).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from iodiag.formats.types import ContextFormat, FileFormat, Format, TableFormat

ROOMS = ("context", "exports", "sa", "tables")
"""The packages whose public modules are formats."""


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules that hold one FORMAT each, in the order of their names."""
    found = [
        (module.name, f"{__name__}.{room}.{module.name}")
        for room in ROOMS
        for module in iter_modules(import_module(f"{__name__}.{room}").__path__)
        if not module.name.startswith("_")
    ]
    return tuple(import_module(path) for _, path in sorted(found))


@cache
def all_formats() -> tuple[Format, ...]:
    """Every FORMAT of the rooms, in the order of their modules' names."""
    return tuple(module.FORMAT for module in modules())


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
