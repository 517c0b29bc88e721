"""Every error that a user can cause.

    IodiagError
     ├─ SourceError     an input cannot be opened, or is not what its name promises
     ├─ FormatError     an input is of a known format, but broken beyond use
     ├─ UnknownFormat   an input holds nothing that iodiag knows
     │   └─ ReportGiven   it is no capture, but a report that iodiag wrote
     ├─ ConfigError     an option, a threshold or a configuration file is wrong
     ├─ RuleError       a rule (most likely a third party's) is not usable
     └─ OutputError     what was asked for cannot be written, or not finished

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


class ReportGiven(UnknownFormat):
    """An input is a report that iodiag wrote; `name` and `data` are the input's."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(
            f"{name}: is a report that iodiag wrote, no capture; "
            "`iodiag analyze` renders it again where it is the only input"
        )
        self.name = name
        self.data = data


class ConfigError(IodiagError):
    """An option, a threshold or a configuration file is wrong."""


class RuleError(IodiagError):
    """A rule is not usable."""


class OutputError(IodiagError):
    """An output cannot be written, or the machines that make it have gone."""
