"""Collections as support tools make them, from the outputs in samples/, and archives of them.

The trees are laid out as sos and supportconfig lay them out; what stands in the files is real, or
written by the other writers.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from writers import sa_writer as sa
from writers.captures import iostat, vmstat

SAMPLES = Path(__file__).parents[2] / "samples"
MIDNIGHT = 1_794_960_000  # 2026-11-18 00:00:00 UTC

Tree = Mapping[str, bytes]


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def below(folder: str, tree: Tree) -> dict[str, bytes]:
    return {f"{folder}/{path}": data for path, data in tree.items()}


def tar(tree: Tree, compression: str = "", links: Mapping[str, str] | None = None, form: int = 2) -> bytes:
    """A tar archive; `compression` is gz, bz2 or xz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}", format=form) as archive:  # type: ignore[call-overload]
        for path, data in tree.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for path, target in (links or {}).items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


class _Pipe(io.RawIOBase):
    """Somewhere to write that cannot be rewound."""

    def __init__(self) -> None:
        self.written = io.BytesIO()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self.written.write(bytes(data))  # type: ignore[call-overload]


def zipped(tree: Tree, method: int = zipfile.ZIP_DEFLATED, to_pipe: bool = False) -> bytes:
    """A zip archive; one that is written to a pipe has the sizes behind the members."""
    pipe, buffer = _Pipe(), io.BytesIO()
    with zipfile.ZipFile(pipe if to_pipe else buffer, "w", method) as archive:  # type: ignore[arg-type]
        for path, data in tree.items():
            archive.writestr(path, data)
    return (pipe.written if to_pipe else buffer).getvalue()


def unpack(tree: Tree, folder: Path) -> Path:
    for path, data in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def busy_iostat(
    host: str = "", devices: tuple[str, ...] = ("sda", "sdb", "sdc", "sdd"), samples: int = 8
) -> bytes:
    """An iostat of busy disks; without a host its banner is left out."""
    row = {"r/s": 90.0, "w/s": 30.0, "rkB/s": 720.0, "wkB/s": 240.0, "r_await": 9.0, "w_await": 4.0}
    text = iostat([dict.fromkeys(devices, row | {"aqu-sz": 1.0, "%util": 91.0})] * samples)
    return (text.replace("(box)", f"({host})") if host else text.partition("\n\n")[2]).encode()


def some_vmstat(rows: int = 5) -> bytes:
    return vmstat([{"r": 1, "b": 2, "wa": 30}] * rows).encode()


def sa_day(day: int, host: str = "web1", disks: int = 2, records: int = 145) -> bytes:
    """A day of sadc's file: a record each ten minutes, from midnight to just before the next."""
    stats = []
    for number in range(records):
        n = day * 144 + number + 1
        time = MIDNIGHT + day * 86400 + number * 600 + (1 if number < 144 else -2)
        counters = {
            sa.CPU.id: [_counters(sa.CPU, user=n * 5000, iowait=n * 9000, idle=n * 46000) for _ in range(3)],
            sa.DISK.id: [
                _counters(
                    *(sa.DISK,),
                    **{"ios": n * 30000, "read": n * 50000, "write": n * 90000, "read_ms": n * 90000},
                    **{"write_ms": n * 99000, "busy_ms": n * 240000, "queue_ms": n * 190000},
                    **{"major": 8, "minor": 16 * disk},
                )
                for disk in range(disks)
            ],
        }
        stats.append(sa.Stats(time, n * 60000, counters, uptime_one=n * 60000))
    return sa.SaFile([sa.CPU, sa.DISK], stats, host=host.encode()).write()


def _counters(layout: sa.Layout, **values: int) -> dict[str, int | float | bytes]:
    return dict.fromkeys(layout.names.split(), 0) | values


def sar_day(day: int, host: str = "web1", disks: int = 2) -> bytes:
    """What `sar -d` makes of that day on the host, whose clock is an hour ahead of UTC."""
    date = f"11/{18 + day}/26"
    lines = [f"Linux 6.1.0 ({host}) \t{date} \t_x86_64_\t(2 CPU)\n"]
    lines.append(
        "00:50:01          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util"
    )
    for number in range(137):
        second = 3600 + number * 600 + 1
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        for disk in range(disks):
            values = "     50.00     41.67     75.00      2.33      0.32      6.30     40.00"
            lines.append(f"{clock}       dev8-{16 * disk}{values}")
    return ("\n".join(lines) + "\n").encode()


def sosreport(host: str = "web1", var_log: str = "var/log/sa") -> dict[str, bytes]:
    """A sosreport of a host with an LVM RAID5 over four disks; on Debian sysstat logs elsewhere."""
    disk = "sys/devices/pci0000:00/0000:00:1f.2/ata{n}/host{n}/target{n}:0:0/{n}:0:0:0/block/sd{letter}"
    tree = {
        "date": b"Fri Nov 20 14:00:00 UTC 2026\n",
        "etc/fstab": b"/dev/sda1 / ext4 defaults 0 1\n",
        "etc/lvm/lvm.conf": b"# devices {\n",
        "hostname": f"{host}\n".encode(),
        "proc/diskstats": b"   8       0 sda 7120 66 481266 8461 906 655 24426 2106 0 7012 10567\n",
        "proc/mdstat": b"Personalities : \nunused devices: <none>\n",
        "proc/meminfo": b"MemTotal:       16316412 kB\nMemFree:          301112 kB\nDirty: 1204 kB\n",
        "proc/mounts": b"/dev/mapper/vg0-data /srv ext4 rw,relatime 0 0\n",
        "proc/pressure/io": b"some avg10=6.57 avg60=5.67 avg300=1.75 total=6053862\n"
        b"full avg10=3.69 avg60=3.10 avg300=0.93 total=3306258\n",
        "proc/4711/status": b"Name:\tmysqld\nState:\tS (sleeping)\n",
        "sos_commands/block/lsblk": sample("lsblk/lvm-raid5-tree.txt"),
        "sos_commands/block/lsblk_-D": b"NAME DISC-ALN DISC-GRAN DISC-MAX DISC-ZERO\nsda 0 0B 0B 0\n",
        "sos_commands/devicemapper/dmsetup_table": sample("dmsetup/raid5-table.txt"),
        "sos_commands/host/uname_-a": f"Linux {host} 6.1.0 #1 SMP x86_64 GNU/Linux\n".encode(),
        "sos_commands/lvm2/lvs_-a_-o_lv_tags_devices": sample("lvs/raid5.txt"),
        "sos_commands/process/lsof_M_-n_-l_-c": b"systemd 1 0 txt REG 253,0 1632 /usr/lib/systemd/systemd\n",
        "sos_commands/rpm/package-data": b"bash-5.1.8\n",
        f"{var_log}/sa20": sa_day(2, host),
        f"{var_log}/sar20": sar_day(2, host),
        "var/log/messages": b"Nov 20 14:00:00 " + host.encode() + b" kernel: sda 1.0 2.0 3.0 4.0 5.0 6.0\n",
        "version.txt": b"sos-collector: 4.5\n",
    }
    for n, letter in enumerate("abcd"):
        place = disk.format(n=n, letter=letter)
        tree |= {
            f"{place}/dev": f"8:{16 * n}\n".encode(),
            f"{place}/queue/nr_requests": b"256\n",
            f"{place}/queue/rotational": b"1\n",
            f"{place}/queue/scheduler": b"none [mq-deadline] bfq\n",
            f"{place}/queue/iosched/fifo_batch": b"16\n",
            f"{place}/uevent": b"MAJOR=8\n",
        }
    return below(f"sosreport-{host.partition('.')[0]}-01234567-2026-11-20-abcdefg", tree)


def _part(kind: str, title: str, body: bytes) -> bytes:
    return (
        f"#==[ {kind} ]".ljust(53, "=").encode() + f"#\n# {title}\n".encode() + body.rstrip(b"\n") + b"\n\n"
    )


def supportconfig(host: str = "suse1") -> dict[str, bytes]:
    """A supportconfig: outputs and copied files below their separators, several in a file."""
    title = b"=" * 77 + b"\n" + b" " * 21 + b"Support Utilities - Supportconfig\n" + b"=" * 77 + b"\n\n"
    messages = b"Nov 20 14:00:00 x kernel: sda 1.0 2.0 3.0 4.0 5.0 6.0\n" * 50
    tree = {
        "basic-environment.txt": title
        + _part("Command", "/bin/date", b"Fri Nov 20 14:00:00 CET 2026\n")
        + _part("Command", "/bin/uname -a", f"Linux {host} 6.4.0-default #1 SMP x86_64 GNU/Linux\n".encode())
        + _part("Configuration File", "/etc/os-release", b"NAME=SLES\n"),
        "basic-health-check.txt": title
        + _part("Command", "/usr/bin/uptime", b" 14:00  up 5 days, load average: 1.00, 1.00, 1.00\n")
        + _part("Command", "/usr/bin/vmstat 1 4", some_vmstat(3)),
        "fs-diskio.txt": title
        + _part("Configuration File", "/etc/fstab", b"/dev/sda1 / ext4 defaults 0 1\n" * 9)
        + _part("Configuration File", "/sys/block/sda/queue/scheduler", b"noop [deadline] cfq\n")
        + _part("Configuration File", "/sys/block/sda/queue/rotational", b"1\n")
        + _part("Command", "/usr/bin/iostat -x 1 8", busy_iostat(host))
        + _part("Log File", "/var/log/messages - Last 50 Lines", messages)
        + _part("Command", "/usr/bin/lsblk -i", sample("lsblk/lvm-raid5-tree.txt")),
        "lvm.txt": title + _part("Command", "/sbin/lvs -a -o +devices", sample("lvs/raid5.txt")),
        "messages.txt": title + _part("Log File", "/var/log/messages", messages),
        "proc.txt": title + _part("Configuration File", "/proc/mdstat", sample("mdstat/raid5-degraded.txt")),
        "sar/sa20261120": sa_day(2, host),
    }
    return below(f"scc_{host}_261120_1400", tree)
