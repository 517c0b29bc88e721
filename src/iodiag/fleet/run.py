"""A whole run: look at the inputs, do the jobs that are new, join the results."""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from iodiag import __version__
from iodiag.errors import ConfigError, IodiagError, OutputError
from iodiag.fleet import jobs, store
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.discover import Input, Scan, inputs_of, scan
from iodiag.fleet.executor import Executor, Progress
from iodiag.fleet.output_files import Bucket, Folder, Place, write
from iodiag.fleet.plan import SCHEMA, InputRow, Job, Options, plan
from iodiag.fleet.publish import publish
from iodiag.fleet.store import Record
from iodiag.sources.remote import is_remote

_OWN = ".iodiag"
_LOCK = f"{_OWN}/lock"


@dataclass(frozen=True)
class Outcome:
    """What became of a run: how many host-days there are, how many of them are new, what has no result and
    why, the manifest's lines on inputs that were not read whole, and the fleet report's first sentence.
    """

    host_days: int
    fresh: int
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
) -> Outcome:
    """Bring the data set at `out` up to date with the inputs; what is there already is not done again.

    Host-days of inputs that are not given any more stay, unless `prune`. Raises ConfigError when nothing
    was given that can be read, or `out` is no place for a data set; OutputError when it cannot be
    written, is being written by another run, or the executor has gone.
    """
    with opened(out) as place:
        token = secrets.token_hex(8)
        write(place, store.RUN, token.encode())
        own = out if is_remote(out) else str(Path(out).absolute())
        scans, lines = _scanned(inputs_of(places, own), executor, progress)
        planned = plan(scans, options)
        files = place.files()
        done = {(record.host, record.day): record for record in store.records(place, files)}
        todo = [job for job in planned.jobs if not _is_done(job, done.get((job.host, job.day)))]
        rows, failed = _do(todo, place, token, executor, progress)
        wanted = {(job.host, job.day): job.key for job in planned.jobs}
        files = place.files()
        paths = {store.record_path(job.host, job.day) for job in todo}
        fresh = store.records(place, {path: size for path, size in files.items() if path in paths}, files)
        done |= {(record.host, record.day): record for record in fresh}
        kept = [record for record in done.values() if _stays(record, wanted, prune)]
        store.sweep(
            place, files, (path for record in kept for path in (record.path, record.page, *record.files))
        )
        store.join(place, kept, (*planned.rows, *lines, *rows))
        headline, pages = publish(place, kept, executor, progress, inventory)
        head = {"schema": SCHEMA, "iodiag": __version__, "options": asdict(options)}
        write(place, "manifest.json", (json.dumps(head, indent=2) + "\n").encode())
        place.remove(store.RUN)
    accounts = [*lines, *planned.rows, *rows, *(row for record in kept for row in record.inputs)]
    return Outcome(
        len(kept),
        len(todo) - len(failed),
        (*failed, *pages),
        tuple(row for row in accounts if row.status != "read"),
        headline,
    )


def _is_done(job: Job, record: Record | None) -> bool:
    return record is not None and record.key == job.key and record.is_settled


def _stays(record: Record, wanted: dict[tuple[str, str], str], prune: bool) -> bool:
    key = wanted.get((record.host, record.day))
    return not prune if key is None else key == record.key


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
    todo: Sequence[Job], place: Place, token: str, executor: Executor, progress: Progress
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
def opened(out: str) -> Iterator[Place]:
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
