"""What goes wrong around a run: disks, pipes, signals, encodings."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import iodiag
from iodiag.cli import cli
from iodiag.errors import SourceError

SAMPLES = Path(__file__).parents[2] / "samples"
LADDER = SAMPLES / "seeds" / "util-ladder.txt"
TEXT = LADDER.read_bytes()


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """The program itself, where only a process shows what happens."""
    command = [sys.executable, "-m", "iodiag", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(command, **pipes)  # type: ignore[call-overload,no-any-return]


def told(result: Result, status: int) -> str:
    """The one line of an error."""
    assert result.exit_code == status, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("iodiag: ")
    return result.stderr


def small_files_only() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk_leaves_no_file(tmp_path: Path):
    process = start("analyze", LADDER, "-o", tmp_path / "r.md", preexec_fn=small_files_only)
    _, said = process.communicate()
    assert process.returncode == 2
    assert said.count(b"\n") == 1
    assert b"cannot be written (File too large)" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["analyze", "convert"])
def test_standard_output_on_a_full_disk_is_one_line(command: str):
    with open("/dev/full", "wb") as full:
        process = start(command, LADDER, *(["--table", "disk"] if command == "convert" else []), stdout=full)
        _, said = process.communicate()
    assert process.returncode == 2
    assert said == b"iodiag: standard output: cannot be written (No space left on device)\n"


@pytest.mark.parametrize(
    "place", ["/proc/self/r.md", "/nonexistent/r.md", "{}", "{}/" + "a" * 300 + ".md", "{}/file/r.md"]
)
def test_a_place_that_cannot_be_written_is_one_line(place: str, tmp_path: Path):
    (tmp_path / "file").write_text("")
    told(invoke("analyze", LADDER, "--format", "md", "-o", place.format(tmp_path)), 2)
    assert sorted(os.listdir(tmp_path)) == ["file"]


def test_an_interruption_while_writing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    result = invoke("analyze", LADDER, "--quiet", "-o", tmp_path / "r.md")
    assert told(result, 130) == "iodiag: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_an_old_report_stays_whole_where_the_new_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "r.md").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    told(invoke("analyze", LADDER, "-o", tmp_path / "r.md"), 2)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("r.md", "old")]


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path):
    (tmp_path / "target.md").write_text("old")
    (tmp_path / "link.md").symlink_to("target.md")
    os.mkfifo(tmp_path / "pipe.md")
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append((tmp_path / "pipe.md").read_bytes()))
    reader.start()
    outputs = ("-o", tmp_path / "link.md", "-o", tmp_path / "pipe.md")
    assert invoke("analyze", LADDER, "--no-charts", *outputs).exit_code == 0
    reader.join()
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "pipe.md").is_fifo()
    assert (tmp_path / "target.md").read_bytes() == came[0]
    assert came[0].startswith(b"# ")


def test_a_reader_that_goes_away_ends_the_run_quietly():
    process = start("analyze", LADDER, "--format", "json", stdin=None)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in (0, 141)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading_ends_the_run(number: int, status: int, tmp_path: Path):
    process = start("analyze", "-", "-o", tmp_path / "r.md", preexec_fn=with_signals)
    assert process.stdin is not None
    # larger than the pipe: it is written when the program reads
    process.stdin.write(TEXT * (1 + (1 << 18) // len(TEXT)))
    process.stdin.flush()
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in said
    assert said.count(b"\n") <= 1
    assert list(tmp_path.iterdir()) == []


def with_signals() -> None:
    """Whoever started the tests in the background had Ctrl-C ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Shrinking(io.RawIOBase):
    """A file that is cut short while it is read, or grows: its pieces come as they are at that moment."""

    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    def read(self, size: int = -1) -> bytes:
        return self.left.pop(0) if self.left else b""


@pytest.mark.parametrize("end", [2, 40, 300, len(TEXT) - 30])
def test_an_input_that_is_cut_while_it_is_read_gives_what_came_before(end: int):
    said = []
    for stream in (io.BytesIO(TEXT[:end]), Shrinking(TEXT[: end // 2], TEXT[end // 2 : end])):
        try:
            said.append(str(iodiag.read(stream, name="x").ledgers))  # type: ignore[arg-type]
        except iodiag.IodiagError as error:
            said.append(str(error))
    assert said[0] == said[1]
    assert "\n" not in said[0]


def test_an_input_that_grows_is_read_to_where_it_ends_then(tmp_path: Path):
    path = tmp_path / "growing.txt"
    path.write_bytes(TEXT)
    with path.open("rb") as handle, path.open("ab") as more:
        pieces = iter([handle.read, lambda size: (more.write(b"\n"), more.flush(), handle.read(size))[2]])

        class Growing(io.RawIOBase):
            def read(self, size: int = -1) -> bytes:
                return bytes(next(pieces, handle.read)(size))

        assert iodiag.read(Growing(), name="x").ledgers == iodiag.read(io.BytesIO(TEXT), name="x").ledgers  # type: ignore[arg-type]


WAYS: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "carriage returns alone": lambda text: text.replace("\n", "\r").encode(),
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "no line end at the end": lambda text: text.rstrip("\n").encode(),
    "bytes of another encoding": lambda text: b"caf\xe9 \xa4\xff\n" + text.encode(),
    "NUL bytes": lambda text: text.replace("\n\n", "\0\n\n").encode(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name", ["seeds/util-ladder.txt", "iostat/12.7.7-x-compact.txt", "sadf-json/12.7.7.json"]
)
def test_encodings_and_line_ends_change_no_number(name: str, way: str):
    path = SAMPLES / name if (SAMPLES / name).exists() else sorted((SAMPLES / name).parent.glob("*.json"))[0]
    text = path.read_text()
    plain, other = (iodiag.read(io.BytesIO(data), name="x") for data in (text.encode(), WAYS[way](text)))
    moved = 1 if way == "bytes of another encoding" else 0
    assert set(plain.tables) == set(other.tables)
    for family, frame in plain.tables.items():
        assert other.tables[family].assign(line=lambda f: f["line"] - moved).equals(frame), family
    for row in other.tables[next(iter(other.tables))].head(3).to_dict("records"):
        said = other.sources["x"].quote(row["line"]).rstrip("\0")
        assert said == text.split("\n")[row["line"] - 1 - moved]


def fifo(folder: Path) -> tuple[str, Callable[[], None]]:
    os.mkfifo(folder / "fifo")
    return str(folder / "fifo"), lambda: (folder / "fifo").write_bytes(TEXT) and None


def test_a_named_pipe_is_an_input(tmp_path: Path):
    place, write = fifo(tmp_path)
    writer = threading.Thread(target=write)
    writer.start()
    capture = iodiag.read(place)
    writer.join()
    assert capture.disk is not None


def test_what_may_be_endless_is_refused_by_its_beginning(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IODIAG_LIMITS", "unknown=2M")
    said = "holds more than 2 MiB, and its beginning holds nothing that iodiag knows; save it, and give"
    assert said in told(invoke("analyze", "/dev/zero"), 3)
    with open("/dev/zero", "rb") as endless:
        assert said.encode() in start("analyze", "-", stdin=endless).communicate()[1]


def test_inputs_that_are_no_files_are_one_line(tmp_path: Path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for place, word in {
        str(tmp_path / "a"): "symbolic links",
        "/proc/self/mem": "cannot be read",
        "/dev/null": "is empty",
        str(tmp_path / ("x" * 300)): "File name too long",
    }.items():
        assert word in told(invoke("analyze", place), 3)
    with pytest.raises(SourceError, match="null byte"):
        iodiag.read("a\0b")


def test_a_folder_with_loops_and_pipes_is_read_once(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    (tmp_path / "in" / "a.txt").write_bytes(TEXT)
    os.mkfifo(tmp_path / "in" / "pipe")
    captures, problems = iodiag.read_many([tmp_path])
    assert problems == []
    assert len([capture for capture in captures if capture.disk is not None]) == 1


def test_a_name_in_no_encoding_is_shown_somehow(tmp_path: Path):
    path = os.fsencode(tmp_path) + b"/caf\xe9-\xff.txt"
    with open(path, "wb") as handle:
        handle.write(TEXT)
    for form in ("md", "json", "html"):
        assert invoke("analyze", os.fsdecode(path), "--format", form, "--quiet").exit_code == 0
    assert told(invoke("analyze", os.fsdecode(path) + "x"), 3)
