"""A data set without names: all that is stored or said of a host-day is rewritten before it leaves its job.

The pseudonyms come from a key, so that every job and every run gives a name the same one. Checksums of inputs
are hidden too: whoever guesses what a small file holds could try the guess against its checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from iodiag.anonymize.allowed_words import release_of
from iodiag.anonymize.collect_names import Name, kind_of_device
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.errors import ConfigError
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.output_files import OutputStore, write
from iodiag.fleet.plan import InputRow, Plan

if TYPE_CHECKING:
    from iodiag.fleet.dataset_rows import Row

_FINGERPRINT = ".iodiag/pseudonyms"


def names_of(plan: Plan, key: str) -> Pseudonyms:
    """The pseudonyms of a run. Raises ConfigError where two hosts get the same one."""
    names = Pseudonyms(key=key)
    hosts = {job.host for job in plan.jobs}
    names.add(Name("host", (host,)) for host in sorted(hosts))
    if len({names.name(host, "host") for host in hosts}) < len(hosts):
        raise ConfigError("two hosts have the same pseudonym with this key; give another --anonymize-key")
    names.add_inputs(reading.name for job in plan.jobs for reading in job.readings)
    names.add_inputs(row.input for row in plan.rows)
    names.add(Name("host", (row.host,)) for row in plan.rows if row.host)
    return names


def claim(place: OutputStore, key: str, is_empty: bool) -> None:
    """See to it that a data set has the names of one key alone, or real ones alone ("").

    Raises ConfigError where it has others.
    """
    mark = Pseudonyms(key=key).name("this data set", "key").encode() if key else b""
    found = place.read(_FINGERPRINT) or b""
    if found == mark:
        return
    if found:
        raise ConfigError(
            f"{place.name}: has pseudonyms of another key; give its --anonymize-key, or another directory"
        )
    if not is_empty:
        raise ConfigError(f"{place.name}: has real names; give --anonymize another directory")
    write(place, _FINGERPRINT, mark)


def hidden_row(row: InputRow, names: Pseudonyms) -> InputRow:
    """A line of the manifest with pseudonyms."""
    return replace(
        row,
        input=names.name(row.input, "file"),
        sha256=row.sha256 and names.name(row.sha256, "sha256"),
        host=row.host and names.name(row.host, "host"),
        reason=names.problem(row.reason),
    )


def hidden_devices(rows: Iterable[Row], names: Pseudonyms) -> list[Row]:
    """Rows of devices or of hours with pseudonyms; models may be somebody's own and are left out."""
    changed = []
    for row in rows:
        row = {**row, "device": names.name(row["device"], kind_of_device(row["device"]))}
        if row.get("kernel"):
            row["kernel"] = release_of(row["kernel"])
        changed.append({**row, "model": None} if "model" in row else row)
    return changed


def hidden_inventory(inventory: Inventory, plan: Plan, names: Pseudonyms) -> Inventory:
    """An inventory with pseudonyms for hosts, however it spells those of the plan, and for what it says."""
    entries = {**inventory.hosts, **inventory.match({job.host for job in plan.jobs})}
    names.add(Name("host", (host,)) for host in entries)
    hosts = {names.name(host, "host"): _hidden_entry(entry, names) for host, entry in entries.items()}
    return Inventory(hosts, tuple(map(names.problem, inventory.notes)))


def _hidden_entry(entry: Mapping[str, str], names: Pseudonyms) -> dict[str, str]:
    return {key: names.name(value, key) for key, value in entry.items()}
