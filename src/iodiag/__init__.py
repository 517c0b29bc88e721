"""iodiag: an offline storage doctor for Linux performance captures.

``analyze`` a file (or what ``read`` made of one), and print the report:

    import iodiag
    report = iodiag.analyze("capture.txt")
    print(report.to_markdown())

Names load on first use, so that ``import iodiag`` alone costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iodiag.anonymize.pseudonyms import Pseudonyms
    from iodiag.anonymize.rewriting import anonymized
    from iodiag.api import analyze, compare, read, read_many
    from iodiag.errors import ConfigError, FormatError, IodiagError, RuleError, SourceError, UnknownFormat
    from iodiag.model.capture import Capture
    from iodiag.model.report import Report

__version__ = "0.1.0"

_HOMES = {
    "analyze": "iodiag.api",
    "anonymized": "iodiag.anonymize.rewriting",
    "Pseudonyms": "iodiag.anonymize.pseudonyms",
    "compare": "iodiag.api",
    "read": "iodiag.api",
    "read_many": "iodiag.api",
    "Capture": "iodiag.model.capture",
    "Report": "iodiag.model.report",
    "ConfigError": "iodiag.errors",
    "FormatError": "iodiag.errors",
    "IodiagError": "iodiag.errors",
    "RuleError": "iodiag.errors",
    "SourceError": "iodiag.errors",
    "UnknownFormat": "iodiag.errors",
}

__all__ = [
    "Capture",
    "ConfigError",
    "FormatError",
    "IodiagError",
    "Pseudonyms",
    "Report",
    "RuleError",
    "SourceError",
    "UnknownFormat",
    "__version__",
    "analyze",
    "anonymized",
    "compare",
    "read",
    "read_many",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'iodiag' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
