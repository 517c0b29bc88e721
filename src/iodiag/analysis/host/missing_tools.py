"""What does instead of iostat on a host that has none: advice that nobody can follow is none."""

from __future__ import annotations

import re

from iodiag.analysis.view.view import View

SNAPSHOTS = "date +%s; cat /proc/diskstats; sleep 10; date +%s; cat /proc/diskstats"
"""Two snapshots with the times that make rates of them."""

_IOSTAT = re.compile(r"\biostat -[a-zA-Z]+(?: \d+){0,2}(?: > [\w.]+)?")
_PIDSTAT = re.compile(r"\bpidstat -d(?: \d+){1,2}")


def lacks_iostat(view: View) -> bool:
    """Whether a shell says so, and no disk is shown that it could have printed; nor is there sysstat then."""
    tools = {fact.word("tool") for fact in view.facts_of("missing-command")}
    return "iostat" in tools and not view.devices


def without_iostat(text: str, snapshots: str = SNAPSHOTS) -> str:
    """A command, or a sentence with commands, with others for those of iostat and of pidstat."""
    return _PIDSTAT.sub("iotop -oP", _IOSTAT.sub(lambda _: snapshots, text))
