"""What may be chosen for an analysis; rules, thresholds, times and zones that are none are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from iodiag.errors import ConfigError
from iodiag.formats.clock import parse_time
from iodiag.model.finding import Ignore

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.model.capture import Capture


ANY_DAY = 1970
"""The year of a bound that is a time of day alone."""


class Names(Protocol):
    """Pseudonyms to judge captures under; what is asked for and ignored is called by real names."""

    def renamed(self, capture: Capture) -> Capture:
        """A joined capture without the real names."""
        ...

    def to_judge(self, name: str) -> str:
        """What a device is called in it."""
        ...

    def spellings(self, name: str) -> tuple[str, ...]:
        """The real names of what is called so in it."""
        ...


@dataclass(frozen=True)
class Options:
    """The options of `iodiag.analyze`, which says what each means; no rules by name are all rules.

    Raises ConfigError for numbers that cannot be.
    """

    limits: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    skip_rules: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    devices: tuple[str, ...] = ()
    since: str | pd.Timestamp | None = None
    until: str | pd.Timestamp | None = None
    tz: str | None = None
    cpus: int | None = None
    interval: float | None = None
    names: Names | None = None

    def __post_init__(self) -> None:
        if self.cpus is not None and self.cpus < 1:
            raise ConfigError(f"cpus: {self.cpus} is no number of CPUs; give 1 or more")
        if self.interval is not None and not self.interval > 0:
            raise ConfigError(f"interval: {self.interval} is no length of a sample; give seconds above 0")


def check(options: Options) -> None:
    """Raise ConfigError for what an analysis would: before a long run begins, not in the midst of it."""
    from iodiag.rules.selection import changed_limits, chosen_rules, without_ignored

    chosen_rules(options.rules, options.skip_rules)
    changed_limits(options.limits)
    without_ignored((), options.ignore, {})
    zone(options.tz)
    bound(options.since, "since")
    bound(options.until, "until")


def bound(text: str | pd.Timestamp | None, option: str) -> pd.Timestamp | None:
    """A bound in time, in the zone it names if any; a time of day alone gets 1970-01-01: any day."""
    if text is None:
        return None
    import pandas as pd

    if isinstance(text, pd.Timestamp):
        return text
    if (seconds := parse_time(text)) is not None:
        return pd.Timestamp(seconds, unit="s")
    try:
        if text[:4].isdigit():  # pandas gives a clock without a date the date of today
            return pd.Timestamp(text)
    except ValueError:
        pass
    raise ConfigError(f"--{option} {text!r} is not a time; write 14:30, or 2026-11-20T14:30")


def zone(name: str | None) -> str | None:
    """The name of a time zone that there is. Raises ConfigError for any other."""
    if name is None:
        return None
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"--tz {name!r} is not a time zone; write UTC or a name such as Europe/Berlin"
        ) from None
    return name
