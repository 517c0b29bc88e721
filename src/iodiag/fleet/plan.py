"""From the account of all inputs to jobs: one per host and day, each with all that is to be read for it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from iodiag import __version__
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.fleet.discover import UNDATED, Part, Scan
from iodiag.hosts.host_folders import HostFolders, Parts, parts_of
from iodiag.hosts.same_name import DeviceFact, FolderFacts, contradiction, names_with_folders
from iodiag.judging import options as judging
from iodiag.model.finding import Ignore

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "iodiag-fleet/1"


@dataclass(frozen=True)
class Options:
    """What changes the results of a job; part of its key.

    `tables` are the families to store (None: all), `tz` the zone of clocks that state none.
    """

    limits: tuple[tuple[str, float], ...] = ()
    rules: tuple[str, ...] = ()
    skip_rules: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    devices: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    tz: str | None = None
    cpus: int | None = None
    interval: float | None = None
    tables: tuple[str, ...] | None = None

    def of_judging(self) -> judging.Options:
        """Those that every analysis has."""
        return judging.Options(
            limits=dict(self.limits),
            rules=self.rules,
            skip_rules=self.skip_rules,
            ignore=self.ignore,
            devices=self.devices,
            since=self.since,
            until=self.until,
            tz=self.tz,
            cpus=self.cpus,
            interval=self.interval,
        )

    def may_hold(self, day: str) -> bool:
        """Whether some time of a day is among those asked for; bounds without a date are of every day."""
        of_judging = self.of_judging()
        ends = (judging.bound(of_judging.since, "since"), judging.bound(of_judging.until, "until"))
        first, last = (_date(end, days) for end, days in zip(ends, (-1, 1), strict=True))
        return day == UNDATED or ((not first or first <= day) and (not last or day <= last))


def _date(bound: pd.Timestamp | None, days: int) -> str:
    """The day of a bound; of one in a zone as many days on, as its host's clock may be far from it."""
    if bound is None or bound.year == judging.ANY_DAY:
        return ""
    return str((bound + timedelta(days=days if bound.tzinfo else 0)).date())


@dataclass(frozen=True)
class Reading:
    """What a job reads of one input: the named files in it. `zones_s` is what to add to their times."""

    name: str
    address: str
    sha256: str
    size_bytes: int
    parts: tuple[str, ...]
    zones_s: tuple[int, ...]
    is_context: bool
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One host's day: all that `jobs.run` needs, and small enough to be sent anywhere.

    `named` is what its inputs call the host, where several share that name. With a `secret` (the key of the
    pseudonyms) what becomes of it holds no names.
    """

    host: str
    day: str
    readings: tuple[Reading, ...]
    options: Options
    named: str
    version: str = __version__
    secret: str = ""

    @property
    def key(self) -> str:
        """A checksum of everything that the result depends on, which names nothing to who has no secret."""
        of_inputs = [
            (reading.name, reading.sha256, reading.parts, reading.failures) for reading in self.readings
        ]
        content = (SCHEMA, self.version, asdict(self.options), self.host, self.named, self.day, of_inputs)
        text = json.dumps(content).encode()
        code = hmac.new(self.secret.encode(), text, hashlib.sha256) if self.secret else hashlib.sha256(text)
        return code.hexdigest()[:32]

    @property
    def owner(self) -> str:
        """What the data set calls the host: its pseudonym where there is a secret."""
        return Pseudonyms(key=self.secret).name(self.host, "host") if self.secret else self.host


@dataclass(frozen=True)
class InputRow:
    """A line of the manifest. `status` is read, partly, failed, unknown or duplicate."""

    input: str
    sha256: str
    size_bytes: int
    host: str
    days: tuple[str, ...]
    status: str
    reason: str
    key: str


@dataclass
class Plan:
    """All jobs, in the order of host and day, and the lines on inputs that no job reads."""

    jobs: list[Job] = field(default_factory=list)
    rows: list[InputRow] = field(default_factory=list)


Members = dict[tuple[str, str], list[tuple[Scan, Part]]]
"""The parts of inputs by host and day; the day of context is empty."""


def plan(scans: Sequence[Scan], options: Options) -> Plan:
    """Group the parts of all inputs by host and day; context goes to all days of its host."""
    folders = _folders(scans)
    rows = [_unread_row(account) for account in scans if not account.parts]
    samples: Members = {}
    context: Members = {}
    first: dict[str, str] = {}
    rest: list[tuple[Scan, Part]] = []
    for account in scans:
        copies = []
        for part in account.parts:
            if not part.days:
                rest.append((account, part))
            elif part.sha256 in first:
                copies.append(first[part.sha256])
            else:
                first[part.sha256] = part.name
                for host, day in part.days:
                    owner = host or folders.owner_of_samples(_root(account), parts_of(part.folder), part.name)
                    samples.setdefault((owner, day), []).append((account, part))
        if copies and len(copies) == len([part for part in account.parts if part.days]):
            rows.append(_row(account, "duplicate", f"holds the same samples as {copies[0]}"))
    # a host called after its folder names that folder alone, and none beside it
    for (host, _), members in samples.items():
        for _, part in members:
            folders.add(parts_of(part.folder), host)
    hosts = {host for host, _ in samples}
    for account, part in rest:
        folder = parts_of(part.folder)
        whose = part.named[0] if len(part.named) == 1 else folders.owner_of_context(_root(account), folder)
        if whose in hosts:
            context.setdefault((whose, ""), []).append((account, part))
        else:
            rows.append(_homeless(account, whose))
    named = _named_with_folders(samples, context)
    samples, context = _renamed(samples, named), _renamed(context, named)
    left_out = [key for key in samples if not options.may_hold(key[1])]
    for account, _ in (member for key in left_out for member in samples.pop(key)):
        rows.append(_row(account, "unknown", "has no samples of the days asked for"))
    called = {name: host for (host, _), name in named.items()}
    jobs = [
        _job(host, day, members, context.get((host, ""), []), options, called.get(host, host))
        for (host, day), members in sorted(samples.items(), key=lambda item: item[0])
    ]
    return Plan(jobs, _merged(rows, jobs))


def _named_with_folders(samples: Members, context: Members) -> dict[tuple[str, Parts], str]:
    """New names for hosts that share one, by the old name and the folder."""
    facts: dict[tuple[str, Parts], list[DeviceFact]] = {}
    days: dict[str, dict[Parts, set[str]]] = {}
    for (host, day), members in (*samples.items(), *context.items()):
        for _, part in members:
            facts.setdefault((host, parts_of(part.folder)), []).extend(part.facts)
            if day:
                days.setdefault(host, {}).setdefault(parts_of(part.folder), set()).add(day)
    named: dict[tuple[str, Parts], str] = {}
    for host, folders in days.items():
        places = {
            folder: FolderFacts(
                tuple(facts[host, folder]), tuple(datetime.fromisoformat(day) for day in of - {UNDATED})
            )
            for folder, of in folders.items()
        }
        if contradiction(places):
            named |= {(host, folder): name for folder, name in names_with_folders(host, places).items()}
    return named


def _renamed(members: Members, named: Mapping[tuple[str, Parts], str]) -> Members:
    found: Members = {}
    for (host, day), parts in members.items():
        for account, part in parts:
            name = named.get((host, parts_of(part.folder)), host)
            found.setdefault((name, day), []).append((account, part))
    return found


def _root(account: Scan) -> Parts:
    return parts_of(account.item.root)


def _folders(scans: Iterable[Scan]) -> HostFolders:
    folders = HostFolders()
    for account in scans:
        for folder, host in account.stated:
            folders.state(parts_of(folder), host)
        for part in account.parts:
            for host in part.named:
                folders.add(parts_of(part.folder), host)
    folders.agree()
    return folders


def _job(
    host: str,
    day: str,
    samples: list[tuple[Scan, Part]],
    context: list[tuple[Scan, Part]],
    options: Options,
    named: str,
) -> Job:
    grouped: dict[str, list[tuple[Part, bool]]] = {}
    accounts: dict[str, Scan] = {}
    for is_context, members in ((False, samples), (True, context)):
        for account, part in members:
            accounts[account.item.address] = account
            grouped.setdefault(account.item.address, []).append((part, is_context))
    readings = []
    for address, chosen in grouped.items():
        account = accounts[address]
        readings.append(
            Reading(
                account.item.name,
                address,
                account.sha256,
                account.size_bytes,
                tuple(part.name for part, _ in chosen),
                tuple(part.zone_s for part, _ in chosen),
                all(is_context for _, is_context in chosen),
                account.failures,
            )
        )
    return Job(
        host,
        day,
        tuple(sorted(readings, key=lambda reading: (reading.name, reading.address))),
        options,
        named,
    )


def _row(account: Scan, status: str, reason: str, host: str = "") -> InputRow:
    return InputRow(account.item.name, account.sha256, account.size_bytes, host, (), status, reason, "")


def _unread_row(account: Scan) -> InputRow:
    return _row(account, "unknown" if account.is_unknown else "failed", "; ".join(account.failures))


def _homeless(account: Scan, owner: str | None) -> InputRow:
    if owner:
        reason = f"is context of {owner}, of which there are no samples"
    else:
        reason = "names no host, and its place does not tell whose it is; put it beside its host's captures"
    return _row(account, "unknown", reason, owner or "")


def _merged(rows: list[InputRow], jobs: Iterable[Job]) -> list[InputRow]:
    """One line per input that no job reads; what a job reads is accounted for there."""
    taken = {reading.name for job in jobs for reading in job.readings}
    kept: dict[str, InputRow] = {}
    for row in rows:
        if row.input not in taken:
            kept.setdefault(row.input, row)
    return [replace(row, reason=_one_line(row.reason)) for row in kept.values()]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
