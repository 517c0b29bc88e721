"""Whose is what names no host: that of the nearest folder that tells, else, for samples, the folder's name.

A host's own words come first: the banner or the header of what lies in the same folder or below it, where
that is one host alone; then what a report states of itself (`hostname`, `uname -a`); then the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from iodiag.fleet.discover import Input, Part

Parts = tuple[str, ...]

_NO_HOST = re.compile(r"(sar?|sysstat|log|logs|var|data|perf|[\d._-]*)", re.IGNORECASE)
"""Folders that hosts' captures lie in and that are not called after the host."""


@dataclass
class Places:
    """The hosts that folders name: `below` by what lies there or deeper, `stated` by a report's own words."""

    below: dict[Parts, set[str]] = field(default_factory=dict)
    stated: dict[Parts, str] = field(default_factory=dict)

    def add(self, folder: str, hosts: Iterable[str]) -> None:
        """Note the hosts of something in a folder."""
        parts = parts_of(folder)
        for depth in range(len(parts) + 1):
            self.below.setdefault(parts[:depth], set()).update(hosts)

    def state(self, folder: str, host: str) -> None:
        """Note the host that a report says everything below its folder is of."""
        self.stated[parts_of(folder)] = host

    def owner(self, folder: str, top: int) -> str | None:
        """The host of something without a name, looking up to the folder of `top` parts."""
        parts = parts_of(folder)
        for depth in range(len(parts), min(top, len(parts)) - 1, -1):
            hosts = self.below.get(parts[:depth], set())
            if len(hosts) == 1:
                return next(iter(hosts))
            if parts[:depth] in self.stated:
                return self.stated[parts[:depth]]
            if hosts:
                return None
        return None


def parts_of(folder: str) -> Parts:
    """A folder's parts; an archive is a part of its own."""
    return tuple(part for part in re.split(r"[/\\]", folder.replace(":", ":/")) if part not in ("", ".", ":"))


def host_of_samples(item: Input, part: Part, places: Places) -> str:
    """The host of samples that name none: the folder's, else called after the folder or the file."""
    root, own = parts_of(item.root), parts_of(part.folder)
    # neighbours in other folders below the given one may be of any host
    owner = places.owner(part.folder, max(len(root) + 1, 0) if len(own) > len(root) else len(own))
    if owner:
        return owner
    for name in reversed(own[len(root) :]):
        if not _NO_HOST.fullmatch(name.removesuffix(":")):
            return name.removesuffix(":")
    return part.name.rpartition("/")[2].rpartition(":")[2].partition(".")[0] or "unknown"
