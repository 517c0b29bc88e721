"""Whatever happens to a run, nothing is lost, and giving it again ends in the bytes of an undisturbed one."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pytest

from fleet.conftest import assert_same, everything, finish, run_here, start
from fleet.deaths import die_on_three
from iodiag.errors import OutputError
from iodiag.fleet import jobs, local, store
from iodiag.fleet.discover import inputs_of, scan
from iodiag.fleet.output_files import TEMPORARY, Folder, write
from iodiag.fleet.plan import Options, plan
from writers.fleet_writer import LAYOUTS, ROLES, sa_day
from writers.sa_writer import SaFile

KILLS = int(os.environ.get("IODIAG_KILLS", "2"))
"""How many runs are killed at random moments: a few by default, 20 in the long run."""


class CrashError(BaseException):
    """What no `except Exception` holds up, like a kill."""


@pytest.fixture
def crashing(monkeypatch):
    """Makes the n-th write die when the file is written and not yet renamed, its temporary file left."""
    count = {"left": -1}
    real = Folder.writing

    @contextlib.contextmanager
    def writing(self: Folder, path: str) -> Iterator[BinaryIO]:
        if count["left"] == 0:
            target = Path(self.root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            (target.parent / f"{TEMPORARY}left").write_bytes(b"half a fi")
            count["left"] -= 1
            raise CrashError
        count["left"] -= 1
        with real(self, path) as handle:
            yield handle

    monkeypatch.setattr(Folder, "writing", writing)
    return count


@pytest.mark.slow
def test_a_run_that_dies_at_any_write_goes_on_where_it_was(fleet, tmp_path, crashing):
    inputs, out = fleet.inputs / "mail0002", tmp_path / "out"
    options = Options(tables=("disk",))
    run_here(inputs, tmp_path / "whole", options)
    crashes = 0
    while True:
        crashing["left"] = crashes
        try:
            run_here(inputs, out, options)
        except CrashError:
            crashes += 1
        else:
            break
    # the run's name, a host-day's four files, the joined ones: each write was the last one of some run
    assert crashes >= 1 + 4 + 5
    assert_same(out, tmp_path / "whole")


@pytest.mark.slow
def test_a_run_that_was_killed_ends_in_the_same_bytes(fleet, tmp_path):
    chance = random.Random(os.environ.get("IODIAG_SEED", "fleet"))
    for number in range(KILLS):
        out = tmp_path / f"out{number}"
        process = start(fleet.inputs, "-o", out, "--jobs", 2)
        goal = chance.randrange(0, 40)
        while process.poll() is None and len(list(out.rglob("*.parquet"))) < goal:
            time.sleep(0.02)
        time.sleep(chance.random() / 5)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        while any(Path(f"/proc/{worker}/exe").exists() for worker in workers):
            time.sleep(0.02)
        status, said = finish(start(fleet.inputs, "-o", out, "--jobs", 2))
        assert status == 0, said
        assert_same(out, fleet.out)


def children(parent: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    try:
        found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except OSError:
        return []
    return [pid for child in map(int, found) for pid in (child, *children(child))]


@pytest.mark.slow
def test_a_second_run_into_the_same_folder_is_refused(fleet, tmp_path):
    out = tmp_path / "out"
    first = start(fleet.inputs, "-o", out, "--jobs", 2)
    while not (out / ".iodiag" / "run").exists():
        time.sleep(0.02)
    status, said = finish(start(fleet.inputs, "-o", out, "--jobs", 1))
    assert status == 2
    assert said == f"iodiag: -o {out}: another run is writing there; wait until it has ended\n"
    status, said = finish(first)
    assert status == 0, said
    assert_same(out, fleet.out)


def test_a_job_of_a_run_that_another_has_replaced_writes_nothing(fleet, tmp_path):
    place = Folder(str(tmp_path / "out"))
    write(place, store.RUN, b"the later run")
    planned = plan([scan(item) for item in inputs_of([str(fleet.inputs / "mail0002")])[0]], Options())
    with pytest.raises(OutputError, match="another run has begun to write there"):
        jobs.run((planned.jobs[0],), place, "the earlier run")
    assert list(place.files()) == [store.RUN]


@pytest.mark.slow
def test_a_full_disk_stops_the_run_with_a_line_and_loses_nothing(fleet, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with small_disk(out) as limits:
        status, said = finish(start(fleet.inputs, "-o", out, "--jobs", 1, "--quiet", preexec_fn=limits))
        assert status == 2
        assert said.startswith(f"iodiag: {out}/")
        assert "give the same command again: what is done stays done" in said
        assert said.count("\n") == 1
        done = [path for path in everything(out) if path.startswith(".iodiag/days/")]
        assert 0 < len(done) < 5
    run_here(fleet.inputs, out)
    assert_same(out, fleet.out)


@contextlib.contextmanager
def small_disk(out: Path) -> Iterator[object]:
    """A file system that is soon full, where one may be mounted; else a bound on the size of files.

    Behind the block what it held stands in the folder itself.
    """
    mount = ["mount", "-t", "tmpfs", "-o", "size=220k", "tmpfs", str(out)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield None
            shutil.copytree(out, out.with_name("kept"))
        finally:
            subprocess.run(["umount", str(out)], check=True)
        shutil.copytree(out.with_name("kept"), out, dirs_exist_ok=True)
        return
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_bad_inputs_are_lines_and_change_nothing_else(fleet, tmp_path):
    inputs, out = tmp_path / "in", tmp_path / "out"
    shutil.copytree(fleet.inputs / "mail0002", inputs / "mail0002")
    run_here(inputs, out)
    before = everything(out)
    sound = sa_day("bad", ROLES[2], 0, "")
    head = SaFile(LAYOUTS, [], host=b"../../../etc/\n<img src=x>").head()
    bad = {
        "cut": (sound[: len(sound) // 2], "partly"),
        "cut-in-head": (sound[:100], "failed"),
        "empty": (b"", "unknown"),
        "hostile-host": (head + sound[len(SaFile(LAYOUTS, []).head()) :], "read"),
        "noise": (random.Random(1).randbytes(5000), "unknown"),
        "\n<img src=x>\x1b[31m": (b"", "unknown"),
        "zeros": (sound[:30_000] + bytes(20_000), "partly"),
    }
    (inputs / "bad").mkdir()
    for name, (data, _) in bad.items():
        (inputs / "bad" / name).write_bytes(data)
    outcome = run_here(inputs, out)
    manifest = pd.read_parquet(out / "manifest.parquet").set_index("input")["status"]
    assert {name.removeprefix(f"{inputs}/bad/"): state for name, state in manifest.items()} == {
        **{name: state for name, (_, state) in bad.items()},
        **{f"{inputs}/mail0002/{path.name}": "read" for path in (inputs / "mail0002").iterdir()},
    }
    assert len(outcome.problems) == len([state for _, state in bad.values() if state != "read"])
    found = everything(out)
    own = [name for name in before if "mail0002" in name]
    assert own
    assert [name for name in own if found[name] != before[name]] == []
    assert set(tmp_path.iterdir()) == {inputs, out}


def test_a_process_that_dies_is_the_end_of_its_job_alone(tmp_path):
    with local.workers(2) as executor:
        results = dict(executor.each(die_on_three, range(10)))
    failed = results.pop(3)
    assert isinstance(failed, OutputError)
    assert results == {number: number * 2 for number in range(10) if number != 3}


def test_a_changed_input_is_done_again_and_the_rest_is_not(tmp_path):
    inputs, out = tmp_path / "in", tmp_path / "out"
    role = ROLES[2]
    inputs.mkdir()
    for day in (0, 1):
        (inputs / f"sa0{day + 2}").write_bytes(sa_day("mail7", role, day, ""))
    assert run_here(inputs, out).fresh == 2
    first = everything(out)
    assert run_here(inputs, out).fresh == 0
    assert everything(out) == first
    (inputs / "sa02").write_bytes(sa_day("mail7", role, 0, "", seed=9))
    assert run_here(inputs, out).fresh == 1
    run_here(inputs, tmp_path / "anew")
    assert_same(out, tmp_path / "anew")
    # a part that was lost is made again, a host-day that is not given any more stays until --prune
    next((out / "tables" / "disk").rglob("*.parquet")).unlink()
    assert run_here(inputs, out).fresh == 1
    (inputs / "sa03").unlink()
    assert run_here(inputs, out).host_days == 2
    assert run_here(inputs, out, prune=True).host_days == 1
    run_here(inputs, tmp_path / "one")
    assert_same(out, tmp_path / "one")


def test_a_folder_with_other_files_is_not_written_to(fleet, tmp_path):
    (tmp_path / "letter").write_text("dear")
    status, said = finish(start(fleet.inputs, "-o", tmp_path))
    assert (status, said.count("\n")) == (2, 1)
    assert "holds other files" in said
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]
