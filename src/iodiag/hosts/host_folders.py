"""Whose is what names no host: that of the nearest folder, or archive, that names one."""

from __future__ import annotations

import re
from collections.abc import Iterator

Parts = tuple[str, ...]
Names = dict[str | None, None]

_NO_HOST = re.compile(r"(sar?|sysstat|log|logs|var|data|perf|[\d._-]*)", re.IGNORECASE)
"""Folders that hosts' captures lie in and that are not called after the host."""


def parts_of(folder: str) -> Parts:
    """A folder's parts; an archive is a part of its own, with its colon."""
    return tuple(part for part in re.split(r"[/\\]", folder.replace(":", ":/")) if part not in ("", ".", ":"))


class HostFolders:
    """Which hosts folders name: by what lies right there, by what lies below, and by a report's own words.

    A report's `hostname` or `uname -a` states the host of all that lies below its folder. It may lack the
    domain, or be newer than the captures: where those name one host alone, that is the one.
    """

    def __init__(self) -> None:
        self._anywhere: Names = {}
        self._stated: dict[Parts, str] = {}
        self._right_there: dict[Parts, Names] = {}
        self._below: dict[Parts, Names] = {}

    def add(self, parts: Parts | None, host: str | None) -> None:
        """Note the host of something in a folder (None as host: disks of a host without a name)."""
        self._anywhere[host] = None
        if parts is None:
            return
        self._right_there.setdefault(parts, {})[host] = None
        for place in _upward(parts):
            self._below.setdefault(place, {})[host] = None

    def state(self, parts: Parts, host: str) -> None:
        """Note the host that a report says everything below its folder is of."""
        self._stated[parts] = host

    def agree(self) -> None:
        """Spell what reports state as the captures do: those below, else the only ones anywhere that fit.

        To be called once, when all captures and statements are noted.
        """
        spelled = {parts: self._spelled(parts, host) for parts, host in self._stated.items()}
        for parts, host in spelled.items():
            self.state(parts, host)
            self.add(parts, host)

    def _spelled(self, parts: Parts, host: str) -> str:
        below = [name for name in self._below.get(parts, {}) if name]
        anywhere = [name for name in self._anywhere if name]
        if host in below:
            return host
        if len(below) == 1:
            return below[0]
        fitting = [name for name in below or anywhere if may_be_same_host(host, name)]
        return fitting[0] if len(fitting) == 1 and host not in anywhere else host

    def stated(self, parts: Parts) -> str | None:
        """The host that a report in this very folder states."""
        return self._stated.get(parts)

    def owner(self, parts: Parts, has_disk: bool, top: int | None = None) -> str | None:
        """The host of something in a folder that names none itself; None where that is not certain.

        What has samples of disks is not given to a neighbouring folder's host, as those may be another
        host's; except in what is one host's as a whole: an archive, or with `top` each folder of so many
        parts or more. No folder of fewer parts is asked then. What captures name in other folders of a report
        (days that sar recorded before the host was renamed) does not count against what the report states.
        """
        asked = [place for place in _upward(parts) if top is None or len(place) >= top]
        stated = next((self._stated[place] for place in asked if place in self._stated), None)
        for place in asked:
            if place in self._stated:
                break
            is_one_host = top is not None or any(part.endswith(":") for part in place)
            near = self._right_there.get(place, {})
            is_asked_below = stated is None and (is_one_host or not has_disk)
            names = near or (self._below.get(place, {}) if is_asked_below else {})
            named = [host for host in names if host is not None]
            if named:
                is_certain = len(named) == 1 and (near or None not in names or is_one_host)
                return named[0] if is_certain else stated
            if names and not has_disk:
                break
        return stated

    def owner_of_samples(self, root: Parts, parts: Parts, file: str) -> str:
        """The host of a fleet's samples that name none: the folder's, else called after the folder or file.

        Folders below `root`, which was given, are taken for one host's each.
        """
        if owner := self.owner(parts, True, top=min(len(root) + 1, len(parts))):
            return owner
        for name in reversed(parts[len(root) :]):
            if not _NO_HOST.fullmatch(name.removesuffix(":")):
                return name.removesuffix(":")
        return file.rpartition("/")[2].rpartition(":")[2].partition(".")[0] or "unknown"

    def owner_of_context(self, root: Parts, parts: Parts) -> str | None:
        """The host of a fleet's context that names none; no folder above `root` is asked."""
        return self.owner(parts, False, top=min(len(root), len(parts)))


def _upward(parts: Parts) -> Iterator[Parts]:
    """A folder and those above it, the nearest first."""
    return (parts[:depth] for depth in range(len(parts), -1, -1))


def may_be_same_host(one: str, other: str) -> bool:
    """Whether two names may be one host's: equal, or one is the other without its domain."""
    short, long = sorted((one, other), key=len)
    return short == long or long.startswith(f"{short}.")
