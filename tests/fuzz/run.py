"""The long fuzzing run, on demand: `python tests/fuzz/run.py --executions 1000000 --jobs 2`.

Each family of readers runs in processes of its own, guided by coverage (atheris) and fed by the changes of
`mutate`. A failure does not end the run: its input is kept in the work folder under a name that tells where
it happened, once per place. The last line of each family counts what ran; the exit status is 1 when
anything failed. `--replay` runs what a work folder holds once, for coverage.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
import traceback
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parent)]

from fuzz.limits import TooExpensive, measured, unpacked  # noqa: E402
from fuzz.mutate import mutated  # noqa: E402

_CHUNKS = 50
_LEAST_CHUNK = 500
_TOLD_EVERY = 250
_LARGE_EVERY = 400
_LARGE_BYTES = 1 << 18
_MOST_MEMORY = 4 << 30


def main() -> int:
    """Spread the executions over families and processes; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--family", action="append", help="only this family (repeatable)")
    parser.add_argument("--work", type=Path, default=Path(".fuzz"), help="where corpora and failures go")
    parser.add_argument("--seed", type=int, default=1, help="the first chunk's source of chance")
    parser.add_argument(
        "--unguided", action="store_true", help="changes of the samples alone; needs no atheris"
    )
    parser.add_argument("--replay", action="store_true", help="run every input of the work folder once")
    parser.add_argument("--chunk", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--check", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        return _check(*options.check)
    if options.chunk:
        family, executions, seed = options.chunk
        run = _unguided if options.unguided else _guided
        return run(family, int(executions), int(seed), options.work)
    from fuzz.targets import FAMILIES

    names = options.family or list(FAMILIES)
    if options.replay:
        return _replay(names, options.work)
    whole = sum(FAMILIES[name].share for name in names)
    left = {name: round(options.executions * FAMILIES[name].share / whole) for name in names}
    _run_chunks(left, options)
    failed = 0
    for name in names:
        told = _told(options.work / name)
        failures = len(list((options.work / name / "failures").glob("*.txt")))
        inputs = len(list((options.work / name / "corpus").iterdir()))
        print(f"{name}: {told['executions']:,} executions, {inputs:,} inputs kept, {failures} failures")
        failed += failures
    return 1 if failed else 0


def _run_chunks(left: dict[str, int], options: argparse.Namespace) -> None:
    """Processes of a chunk each, family by family in turn, until nothing is left to run."""
    running: dict[subprocess.Popen[bytes], str] = {}
    whole = dict(left)
    seed = options.seed
    while any(left.values()) or running:
        waiting = [name for name, count in left.items() if count and name not in running.values()]
        # the family that is furthest behind comes first, so that a run that is ended has a part of each
        for name in sorted(waiting, key=lambda name: -left[name] / whole[name])[
            : options.jobs - len(running)
        ]:
            count = min(left[name], max(whole[name] // _CHUNKS, _LEAST_CHUNK))
            left[name] -= count
            command = [sys.executable, __file__, "--work", str(options.work)]
            command += ["--chunk", name, str(count), str(seed), *["--unguided"] * options.unguided]
            running[subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)] = name
            seed += 1
        time.sleep(0.2)
        for process in [process for process in running if process.poll() is not None]:
            name = running.pop(process)
            print(f"{time.strftime('%H:%M:%S')} {name}: {_told(options.work / name)}", flush=True)


def _guided(name: str, executions: int, seed: int, work: Path) -> int:
    """One process: a family's executions, guided by the coverage of the package."""
    import atheris

    with atheris.instrument_imports(include=["iodiag"]):
        from iodiag.formats import all_formats
        from iodiag.rules import all_rules

        all_formats(), all_rules()
        account = _Account(name, work / name, executions)
    arguments = [sys.argv[0], f"-runs={executions * 10}", f"-seed={seed}", "-rss_limit_mb=0", "-timeout=600"]
    arguments += [f"-max_len={account.family.most_bytes}", "-len_control=0", str(work / name / "corpus")]
    atheris.Setup(
        arguments,
        account.run,
        custom_mutator=lambda data, most, number: account.changed(data, random.Random(number))[:most],
    )
    atheris.Fuzz()
    return 0


def _unguided(name: str, executions: int, seed: int, work: Path) -> int:
    """One process: a family's executions on changes of its seeds and of what a guided run has kept."""
    account = _Account(name, work / name, executions)
    kept = [path.read_bytes() for path in sorted((work / name / "corpus").iterdir())]
    chance = random.Random(seed)
    while True:
        account.run(account.changed(chance.choice(kept), chance))


class _Account:
    """What a process runs, and what came of it, written down as it goes: libFuzzer ends without a word."""

    def __init__(self, name: str, folder: Path, executions: int) -> None:
        from fuzz.targets import FAMILIES

        self.family, self._folder, self._most = FAMILIES[name], folder, executions
        self._done = 0
        self._said = 0, 0.0
        for part in ("corpus", "failures"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self._seeds = [data[: self.family.most_bytes] for data in self.family.seeds()]
        for data in self._seeds:
            (folder / "corpus" / sha256(data).hexdigest()[:20]).write_bytes(data)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))

    def changed(self, data: bytes, chance: random.Random) -> bytes:
        """An input made from another one."""
        return mutated(data, chance, self._seeds, self.family.changes, self.family.most_bytes)

    def run(self, data: bytes) -> None:
        """One execution, now and then of an input made large; the process ends with the last."""
        if data and self._done % _LARGE_EVERY == _LARGE_EVERY - 1:
            data = (data + b"\n") * (_LARGE_BYTES // (len(data) + 1))
        try:
            measured(self.family.run, data, unpacked(data))
        except Exception as error:
            self.keep(data, error)
        self._done += 1
        if self._done % _TOLD_EVERY == 0 or self._done == self._most:
            seconds = time.process_time()
            told = _told(self._folder)
            told["executions"] += self._done - self._said[0]
            told["cpu_seconds"] = round(told["cpu_seconds"] + seconds - self._said[1], 1)
            (self._folder / "told.json").write_text(json.dumps(told))
            self._said = self._done, seconds
        if self._done == self._most:
            os._exit(0)

    def keep(self, data: bytes, error: Exception) -> None:
        """Keep an input that failed, once for each place where the code stood."""
        frames = traceback.extract_tb(error.__traceback__)
        place = next((f for f in reversed(frames) if "/iodiag/" in f.filename), frames[-1])
        name = f"{type(error).__name__}-{Path(place.filename).stem}-{place.name}-{place.lineno}"
        if isinstance(error, TooExpensive):
            name = f"TooExpensive-{sha256(data).hexdigest()[:10]}"
        path = self._folder / "failures" / f"{name}.txt"
        if path.exists():
            return
        path.with_suffix(".bin").write_bytes(data)
        if isinstance(error, TooExpensive) and not self._is_expensive(path.with_suffix(".bin")):
            path.with_suffix(".bin").unlink()
            return
        path.write_text("".join(traceback.format_exception(error)))

    def _is_expensive(self, path: Path) -> bool:
        """Whether an input costs too much also where no coverage is counted, which takes time itself."""
        command = [sys.executable, __file__, "--check", self._folder.name, str(path)]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0


def _told(folder: Path) -> dict[str, float]:
    path = folder / "told.json"
    return json.loads(path.read_text()) if path.exists() else {"executions": 0, "cpu_seconds": 0.0}


def _check(name: str, path: str) -> int:
    """One input, measured: 1 when it fails."""
    from fuzz.targets import FAMILIES

    FAMILIES[name].run(FAMILIES[name].seeds()[0])
    measured(FAMILIES[name].run, Path(path).read_bytes())
    return 0


def _replay(names: list[str], work: Path) -> int:
    """Every input of a work folder once more, without atheris."""
    from fuzz.targets import fuzz_one

    failed = 0
    for name in names:
        for path in sorted((work / name / "corpus").iterdir()):
            try:
                fuzz_one(name, path.read_bytes())
            except Exception:
                failed += 1
                print(f"{path}:\n{traceback.format_exc()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
