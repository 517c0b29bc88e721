"""Every error that a user can cause.

    IodiagError
     ├─ SourceError     an input cannot be opened, or is not what its name promises
     ├─ FormatError     an input is of a known format, but broken beyond use
     ├─ UnknownFormat   an input holds nothing that iodiag knows
     ├─ ConfigError     an option, a threshold or a configuration file is wrong
     └─ RuleError       a rule (most likely a third party's) is not usable

A message is one line: where (``file:line`` or ``file@byte``), what, and what to do.
"""

from __future__ import annotations


class IodiagError(Exception):
    """Base of all errors that a user can cause."""


class SourceError(IodiagError):
    """An input cannot be opened."""


class FormatError(IodiagError):
    """An input is of a known format, but broken beyond use."""


class UnknownFormat(IodiagError):
    """An input holds nothing that iodiag knows."""


class ConfigError(IodiagError):
    """An option, a threshold or a configuration file is wrong."""


class RuleError(IodiagError):
    """A rule is not usable."""
