"""Rows of iostat for a device under a given load, depth following from rate and latency."""

from __future__ import annotations


def load(
    rate: float,
    latency: float,
    *,
    size: float = 16.0,
    reads: float = 1.0,
    util: float | None = None,
    depth: float | None = None,
) -> dict[str, float]:
    """`rate` requests per second of `size` kB and `latency` ms, a share `reads` of them reads.

    Little's law gives the depth; util is what a device has that is never idle while a request is in flight.
    """
    depth = rate * latency / 1000 if depth is None else depth
    return {
        "r/s": rate * reads,
        "w/s": rate * (1 - reads),
        "rkB/s": rate * reads * size,
        "wkB/s": rate * (1 - reads) * size,
        "r_await": latency if reads else 0.0,
        "w_await": latency if reads < 1 else 0.0,
        "aqu-sz": depth,
        "%util": min(100.0, 100 * depth) if util is None else util,
    }


def lsblk(*devices: tuple[str, bool], model: str = "") -> str:
    """lsblk of whole disks: name and whether it spins."""
    head = f"{'NAME':<6} {'ROTA':>4} {'TYPE':<6} MODEL\n"
    return head + "".join(f"{name:<6} {int(rota):>4} {'disk':<6} {model}\n" for name, rota in devices)


def array(level: str, *members: str, rota: bool = True) -> str:
    """lsblk -P of an md array over disks."""
    lines = []
    for member in members:
        lines.append(f'NAME="{member}" KNAME="{member}" PKNAME="" TYPE="disk" ROTA="{int(rota)}"')
        lines.append(f'NAME="md0" KNAME="md0" PKNAME="{member}" TYPE="{level}" ROTA="{int(rota)}"')
    return "\n".join(lines) + "\n"
