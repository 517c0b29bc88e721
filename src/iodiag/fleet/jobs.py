"""One host's day: read its inputs, judge it, store it. A pure function of the job, wherever it runs.

What a process holds at a time is one host-day: the bytes of its inputs (of an archive, its files that
are of the host), their tables, and the report. Nothing but a short account travels back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from iodiag import __version__
from iodiag.anonymize.before_judging import JudgedUnder
from iodiag.anonymize.collect_names import Name
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.anonymize.rewriting import anonymous_report, anonymous_tables, gather
from iodiag.errors import ConfigError, IodiagError, OutputError
from iodiag.fleet import dataset_rows, store
from iodiag.fleet.anonymized_dataset import hidden_devices, hidden_row
from iodiag.fleet.discover import UNDATED, days_of, hosts_of
from iodiag.fleet.plan import InputRow, Job, Reading
from iodiag.judging.run import check_selected, judged, narrowed, prepared
from iodiag.model.capture import EVENTS, Capture, Source
from iodiag.model.topology import DeviceTopology
from iodiag.reading.captures import is_known, read_source
from iodiag.sources.archives import find
from iodiag.table.tables import Tables

_ONE_AT_A_TIME = threading.Lock()
"""A Dask worker may have several threads; what is stated on memory holds for one job at a time."""


@dataclass(frozen=True)
class Done:
    """What became of a job: the lines on its inputs, and why there is no result (None where there is)."""

    host: str
    day: str
    key: str
    rows: tuple[InputRow, ...]
    failure: str | None = None


def run(jobs: tuple[Job, ...], place: store.OutputStore, token: str) -> list[Done]:
    """Do the jobs one after the other: the days of one archive, which is unpacked for all of them once.

    Raises OutputError where the data set cannot be written or belongs to a later run; whatever is
    wrong with the inputs stands in the account.
    """
    with _ONE_AT_A_TIME:
        files = _Files(jobs)
        return [_run_one(job, files, place, token) for job in jobs]


def _run_one(job: Job, files: _Files, place: store.OutputStore, token: str) -> Done:
    if job.version != __version__:
        raise ConfigError(
            f"a worker runs iodiag {__version__}, this command {job.version}; install one on all"
        )
    rows: list[InputRow] = []
    try:
        names = Pseudonyms([Name("host", (job.host,))], job.secret) if job.secret else None
        captures = list(_captures(job, files, rows, names))
        if not captures:
            return Done(job.host, job.day, job.key, tuple(rows), "none of its inputs could be read")
        contents = _contents(job, captures, tuple(rows), names)
    except (ConfigError, OutputError):
        raise
    except IodiagError as problem:
        return Done(job.host, job.day, job.key, tuple(rows), str(problem))
    except Exception as error:  # the fence around one host-day: recorded, the others go on
        reason = f"{type(error).__name__}: {error}; report this with its inputs"
        return Done(job.host, job.day, job.key, tuple(rows), reason)
    store.write_day(place, token, contents)
    return Done(job.host, job.day, job.key, tuple(rows))


def _contents(
    job: Job, captures: list[Capture], rows: tuple[InputRow, ...], names: Pseudonyms | None
) -> store.Day:
    wanted, options = job.options.tables, job.options.of_judging()
    options = replace(options, names=JudgedUnder(names)) if names else options
    whole, hosts = prepared(captures, options)
    try:
        check_selected(whole, hosts, options)
    except ConfigError as problem:  # of this host-day: others may have what is asked for
        raise IodiagError(str(problem)) from None
    report = judged(whole, hosts, options)
    whole = narrowed(whole, options)
    report = replace(report, generated=_as_of(job.day))
    tables = {
        name: frame
        for name, frame in sorted(whole.tables.items())
        if len(frame) and (not wanted or name in wanted)
    }
    devices = [row for view in hosts for row in dataset_rows.device_rows(view, job.owner, job.day)]
    hours = dataset_rows.hour_rows(hosts, job.owner)
    if names:
        report = anonymous_report(report, names)
        tables = dict(anonymous_tables(Tables(tables), names))
        devices, hours = hidden_devices(devices, names), hidden_devices(hours, names)
        names.add_inputs(reading.name for reading in job.readings)
        rows = tuple(hidden_row(row, names) for row in rows)
    return store.Day(
        host=job.owner,
        day=job.day,
        key=job.key,
        inputs=rows,
        findings=dataset_rows.finding_rows(report, job.owner, job.day, job.key),
        devices=devices,
        outcomes=dataset_rows.outcome_rows(report, job.owner, job.day),
        hours=hours,
        tables={name: dataset_rows.stored_table(frame) for name, frame in tables.items()},
        report=report.to_json(),
    )


def _as_of(day: str) -> str:
    """The time that a stored report bears: the end of its day; the same inputs give the same bytes."""
    return f"{day}T23:59:59Z" if day != UNDATED else "1970-01-01T00:00:00Z"


def _captures(job: Job, files: _Files, rows: list[InputRow], names: Pseudonyms | None) -> Iterator[Capture]:
    """What the inputs hold of this host and day; a line on each input goes to `rows`, names to `names`."""
    for reading in job.readings:
        failures = list(reading.failures)
        unread: list[str] = []
        count = 0
        for source, zone_s in files.of(reading, failures):
            try:
                capture = read_source(source)
            except IodiagError as problem:
                failures.append(str(problem))
                continue
            except Exception as error:  # the fence around one input: recorded, the others go on
                failures.append(f"{source.name}: cannot be read ({type(error).__name__}: {error})")
                continue
            count += 1
            if names:
                gather([capture], names)
            unread += [f"{note.source}:{note.line}: {note.reason}" for note in capture.unparsed]
            unread += [f"{source.name}: {source.remark}"] if source.remark else []
            yield _narrowed(capture, job, zone_s, reading.is_context)
        rows.append(_account(job, reading, count, failures, unread))


def _account(job: Job, reading: Reading, count: int, failures: list[str], unread: list[str]) -> InputRow:
    status = "failed" if not count else "partly" if failures or unread else "read"
    problems = [*failures, *unread]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    reason = (" ".join(problems[0].split())[:500] + more) if problems else ""
    return InputRow(
        reading.name, reading.sha256, reading.size_bytes, job.host, (job.day,), status, reason, job.key
    )


class _Files:
    """The files that some jobs want of their inputs; what several want is opened once and kept meanwhile."""

    def __init__(self, jobs: tuple[Job, ...]) -> None:
        self._wanted: dict[str, set[str]] = {}
        count: dict[str, int] = {}
        for reading in (reading for job in jobs for reading in job.readings):
            self._wanted.setdefault(reading.address, set()).update(reading.parts)
            count[reading.address] = count.get(reading.address, 0) + 1
        self._shared = {address for address in count if count[address] > 1}
        self._kept: dict[str, list[Source]] = {}

    def of(self, reading: Reading, failures: list[str]) -> Iterator[tuple[Source, int]]:
        """Those of one input, each with what to add to its times to get its host's clock."""
        zones = dict(zip(reading.parts, reading.zones_s, strict=True))
        kept = self._kept.get(reading.address)
        try:
            if kept is None and reading.address in self._shared:
                kept = self._kept[reading.address] = list(self._found(reading))
            for source in kept if kept is not None else self._found(reading):
                if source.name in zones:
                    yield source, zones[source.name]
        except IodiagError as problem:
            failures.append(str(problem))

    def _found(self, reading: Reading) -> Iterator[Source]:
        for found in find(reading.address, is_known, reading.name):
            if isinstance(found, Source) and found.name in self._wanted[reading.address]:
                yield found


def _narrowed(capture: Capture, job: Job, zone_s: int, is_context: bool) -> Capture:
    """The rows, sections, devices and facts of one host, and of one day, everything named after it."""
    sections = [
        replace(section, host=job.host)
        for section in capture.sections
        if section.host in (None, "", job.named) or is_context
    ]
    topology = capture.topologies.get(job.named, DeviceTopology()) if capture.topologies else capture.topology
    has_days = any(_is_dated(frame, zone_s) for frame in capture.tables.values())
    return replace(
        capture,
        tables=_of_job(capture.tables, job, zone_s, has_days),
        averages=_of_job(capture.averages, job, zone_s, has_days),
        topology=topology or capture.topology,
        topologies={},
        sections=sections,
        evidence=[replace(f, host=job.host) for f in capture.evidence if f.host in (None, "", job.named)],
    )


def _is_dated(frame: pd.DataFrame, zone_s: int) -> bool:
    return bool((days_of(frame, zone_s) != UNDATED).any())


def _of_job(tables: Tables, job: Job, zone_s: int, has_days: bool) -> Tables:
    narrowed = {
        # what happened without a date is told of each day
        family: _rows(frame, job, zone_s, has_days or family == EVENTS)
        for family, frame in tables.items()
    }
    return Tables({family: rows for family, rows in narrowed.items() if len(rows)})


def _rows(frame: pd.DataFrame, job: Job, zone_s: int, has_days: bool) -> pd.DataFrame:
    """The rows of the job's host and day; those without a date go with the dated ones of their input."""
    days = days_of(frame, zone_s)
    is_wanted = hosts_of(frame).isin(["", job.named]) & ((days == job.day) | ((days == UNDATED) & has_days))
    kept = frame if is_wanted.all() else frame[is_wanted.to_numpy(dtype=bool)].reset_index(drop=True)
    return kept.assign(host=pd.Categorical([job.host] * len(kept)))
