"""A whole run: look at the inputs, do the jobs that are new, join the results."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from iodiag import __version__
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.errors import ConfigError, IodiagError, OutputError
from iodiag.fleet import anonymized_dataset, jobs, store
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.discover import Input, Scan, inputs_of, scan
from iodiag.fleet.executor import Executor, Progress
from iodiag.fleet.output_files import Bucket, Folder, OutputStore, write
from iodiag.fleet.plan import SCHEMA, InputRow, Job, Options, Plan, plan
from iodiag.fleet.publish import publish
from iodiag.fleet.store import Record
from iodiag.sources.remote import is_remote

_OWN = ".iodiag"
_LOCK = f"{_OWN}/lock"


@dataclass(frozen=True)
class Outcome:
    """What became of a run: how many host-days there are, how many of them are new, what was damaged on the
    disk, what has no result and why, the manifest's lines on inputs that were not read whole, and the fleet
    report's first sentence.
    """

    host_days: int
    fresh: int
    damaged: tuple[str, ...]
    failed: tuple[str, ...]
    problems: tuple[InputRow, ...]
    headline: str


def run(
    places: Sequence[str],
    out: str,
    options: Options,
    executor: Executor,
    progress: Progress,
    prune: bool = False,
    inventory: Inventory | None = None,
    verify: bool = False,
    secret: str = "",
    rule_pages: str = "",
) -> Outcome:
    """Bring the data set at `out` up to date with the inputs; what is there already is not done again.

    Host-days of inputs that are not given any more stay, unless `prune`. What is read of the data set is
    checked, with `verify` all of it: a host-day of which a file is damaged is judged again. With a `secret`
    (the key of pseudonyms) nothing that is written or returned holds a name. Rules have their pages below the
    address `rule_pages`; without one each page holds their text. Raises
    ConfigError when nothing was given that can be read, or `out` is no place for a data set; OutputError
    when it cannot be written, is being written by another run, or the executor has gone.
    """
    with opened(out) as place:
        anonymized_dataset.claim(place, secret, not store.has_days(place.files()))
        token = secrets.token_hex(8)
        write(place, store.RUN, token.encode())
        own = out if is_remote(out) else str(Path(out).absolute())
        scans, lines = _scanned(inputs_of(places, own), executor, progress)
        planned = plan(scans, options)
        planned.rows += lines
        names = None
        if secret:
            names = anonymized_dataset.names_of(planned, secret)
            inventory = inventory and anonymized_dataset.hidden_inventory(inventory, planned, names)
            planned.jobs = [replace(job, secret=secret) for job in planned.jobs]
        work = _Work(place, planned, token, executor, progress, prune, inventory, verify, names, rule_pages)
        result = work.finish()
        # what these options say are names
        said = replace(options, devices=(), ignore=()) if secret else options
        head = {"schema": SCHEMA, "iodiag": __version__, "options": asdict(said)}
        write(place, "manifest.json", (json.dumps(head, indent=2) + "\n").encode())
        place.remove(store.RUN)
    return result


@dataclass
class _Work:
    """The jobs of a run and what it knows of the data set; `damaged`: record to its damaged file."""

    place: OutputStore
    planned: Plan
    token: str
    executor: Executor
    progress: Progress
    prune: bool
    inventory: Inventory | None
    verify: bool
    names: Pseudonyms | None
    rule_pages: str
    damaged: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    rows: list[InputRow] = field(default_factory=list)
    fresh: int = 0
    done: list[Record] = field(default_factory=list)

    def finish(self) -> Outcome:
        """Do what is to be done, join and publish it; what proves to be damaged meanwhile is done again."""
        spoiled, rewritten = self._look(), []
        while True:
            kept = self._settled(spoiled)
            unread = self._hidden((*self.planned.rows, *self.rows))
            spoiled = store.join(self.place, kept, unread)
            if spoiled:
                continue
            work = (self.place, kept, self.executor, self.progress, self.inventory)
            published = publish(*work, self.verify, self.rule_pages)
            rewritten += published.rewritten
            spoiled = published.spoiled
            if not spoiled:
                break
        stored = [row for record in kept for row in record.inputs]
        return Outcome(
            len(kept),
            self.fresh,
            (*self._told_damage(), *rewritten),
            (*sorted(self.failed), *published.failed),
            tuple(row for row in (*unread, *stored) if row.status != "read"),
            published.headline,
        )

    def _hidden(self, rows: Iterable[InputRow]) -> list[InputRow]:
        return [anonymized_dataset.hidden_row(row, self.names) if self.names else row for row in rows]

    def _look(self) -> dict[str, str]:
        """What the data set holds; gives the records of host-days that are damaged, as far as is checked."""
        found = list(store.records(self.place, self.place.files()))
        self.done = [record for record in found if isinstance(record, Record)]
        damaged = dict(fault for fault in found if not isinstance(fault, Record))
        if self.verify:
            self.progress.begin("host-days verified", len(self.done))
            for record, path in self.executor.each(partial(store.damaged_file, place=self.place), self.done):
                if path:
                    damaged[record.path] = str(path)
                self.progress.step(1)
        return damaged

    def _settled(self, spoiled: Mapping[str, str]) -> list[Record]:
        """Do what is new or spoiled; gives the records of what the data set holds then."""
        jobs = {store.record_path(job.owner, job.day): job for job in self.planned.jobs}
        for path in spoiled.keys() & jobs.keys():
            if path in self.damaged:
                raise OutputError(f"{self.place.name}/{spoiled[path]}: is damaged again; check the disk")
            self.place.remove(path)
        self.damaged |= spoiled
        done = {record.path: record for record in self.done if record.path not in spoiled}
        todo = [job for path, job in jobs.items() if not _is_done(job, done.get(path))]
        rows, failed = _do(todo, self.place, self.token, self.executor, self.progress)
        self.rows += rows
        self.failed += map(self.names.problem, failed) if self.names else failed
        self.fresh += len(todo) - len(failed)
        files = self.place.files()
        paths = [store.record_path(job.owner, job.day) for job in todo]
        fresh = store.records(self.place, files, paths)
        done |= {record.path: record for record in fresh if isinstance(record, Record)}
        self.done = [r for path, r in done.items() if _stays(r, jobs.get(path), self.prune)]
        held = [path for record in self.done for path in (record.path, record.page, *record.files)]
        # what cannot be judged again is not removed: somebody may restore the file that is damaged
        lost = [] if self.prune else [path for path in self.damaged if path not in jobs]
        store.sweep(self.place, files, (*held, *(p for path in lost for p in store.files_of(path, files))))
        return self.done

    def _told_damage(self) -> Iterator[str]:
        given = {store.record_path(job.owner, job.day) for job in self.planned.jobs}
        for record, path in sorted(self.damaged.items()):
            if record in given:
                yield f"{self.place.name}/{path}: was damaged, or is not whole; its host-day is judged again"
            elif not self.prune:
                yield (
                    f"{self.place.name}/{path}: is damaged, and the inputs of its host-day are not given; "
                    "give them to judge it again"
                )


def _is_done(job: Job, record: Record | None) -> bool:
    return record is not None and record.key == job.key and record.is_settled


def _stays(record: Record, job: Job | None, prune: bool) -> bool:
    return not prune if job is None else job.key == record.key


def _scanned(
    found: tuple[list[Input], list[IodiagError]], executor: Executor, progress: Progress
) -> tuple[list[Scan], list[InputRow]]:
    """The accounts of all inputs in the order of their names, and lines on what could not be listed."""
    items, problems = found
    if not items:
        raise problems[0] if problems else ConfigError("there are no files in the inputs; check their names")
    lines = [
        InputRow(str(problem).partition(": ")[0], "", 0, "", (), "failed", str(problem), "")
        for problem in problems
    ]
    progress.begin("inputs looked at", len(items))
    scans: dict[str, Scan] = {}
    for item, result in executor.each(scan, items):
        scans[item.address] = (
            Scan(item, failures=(str(result),)) if isinstance(result, IodiagError) else result
        )
        progress.step(1)
    return [scans[item.address] for item in items], lines


def _do(
    todo: Sequence[Job], place: OutputStore, token: str, executor: Executor, progress: Progress
) -> tuple[list[InputRow], list[str]]:
    """Do the jobs; gives the lines on the inputs of those that failed, and why they did."""
    progress.begin("host-days judged", len(todo))
    rows: list[InputRow] = []
    failed: list[str] = []
    work = partial(jobs.run, place=place, token=token)
    for batch, result in executor.each(work, batches(todo)):
        if isinstance(result, IodiagError):
            result = [jobs.Done(job.host, job.day, job.key, (), str(result)) for job in batch]
        for done, job in zip(result, batch, strict=True):
            if done.failure is not None:
                failed.append(f"{done.host} {done.day}: {done.failure}")
                rows += _failed_rows(job, done)
        progress.step(len(batch))
    return rows, sorted(failed)


def _failed_rows(job: Job, done: jobs.Done) -> Iterator[InputRow]:
    """A line on each input of a host-day that has no result."""
    known = {row.input: row for row in done.rows}
    for reading in job.readings:
        row = known.get(reading.name)
        if row is None or row.status == "read":
            reason = " ".join((done.failure or "").split())[:500]
            row = InputRow(
                reading.name,
                reading.sha256,
                reading.size_bytes,
                job.host,
                (job.day,),
                "partly" if reading.is_context else "failed",
                reason,
                "",
            )
        yield replace(row, key="")


def batches(todo: Sequence[Job]) -> Iterator[tuple[Job, ...]]:
    """The jobs by what one process should do in one go: those that share an archive, else one each."""
    by_archive: dict[str, list[Job]] = {}
    for job in todo:
        samples = next((r for r in job.readings if not r.is_context), job.readings[0])
        by_archive.setdefault(samples.address, []).append(job)
    yield from (tuple(group) for group in by_archive.values())


@contextlib.contextmanager
def opened(out: str) -> Iterator[OutputStore]:
    """The place of a data set, held by this run alone where it is a folder."""
    if is_remote(out):
        yield Bucket(out)
        return
    root = Path(out).absolute()
    if root.exists() and not root.is_dir():
        raise ConfigError(f"-o {out}: is no directory; give one that is empty, new, or a fleet's")
    if root.is_dir() and any(root.iterdir()) and not (root / _OWN).is_dir():
        raise ConfigError(f"-o {out}: holds other files; give a directory that is empty, new, or a fleet's")
    with _locked(root, out):
        yield Folder(str(root))


@contextlib.contextmanager
def _locked(root: Path, out: str) -> Iterator[None]:
    """A lock that the system lets go when its holder ends, however it ends."""
    try:
        (root / _OWN).mkdir(parents=True, exist_ok=True)
        handle = (root / _LOCK).open("wb")
    except OSError as error:
        raise ConfigError(f"-o {out}: cannot be written ({error.strerror}); choose another place") from None
    with handle:
        try:
            _lock(handle.fileno())
        except OSError:
            raise OutputError(f"-o {out}: another run is writing there; wait until it has ended") from None
        yield


def _lock(descriptor: int) -> None:
    """Hold a file alone, or raise OSError at once where another process does."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
