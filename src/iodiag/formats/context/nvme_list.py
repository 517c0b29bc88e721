"""`nvme list` of nvme-cli, as a table and as JSON (-o json): the NVMe drives of a host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iodiag.formats.context._common import describe, fact, json_object, origin, size_kb
from iodiag.formats.context._health import disk_name
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_BYTE

_HEADER = r"^Node\s+(?:Generic\s+)?SN\s+Model\s"
_MOST = 1000
_LEVELS = ("Subsystems", "Controllers", "Namespaces")


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if '"Devices"' in lines[0].text:
        return _read_json(lines, source)
    if len(lines) < 3 or not re.fullmatch(r"-[- ]*", lines[1].text.rstrip()):
        return None
    places = [match.span() for match in re.finditer("-+", lines[1].text)]
    words = [lines[0].text[first:last].strip() for first, last in places]
    rows: list[tuple[Mapping[str, Any], Line]] = []
    for line in lines[2:_MOST]:
        if not line.text.startswith("/dev/nvme"):
            break
        row = {word: line.text[a:b].strip() for word, (a, b) in zip(words, places, strict=True)}
        rows.append((row | {"Node": line.text.split()[0]}, line))
    return _block(2 + len(rows), rows, source)


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    decoded = json_object(lines[: _MOST * 20], "Devices")
    if decoded is None:
        return None
    named = {
        path: line
        for line in reversed(lines[: decoded.used])
        for path in re.findall(r'"(?:NameSpace|DevicePath)"\s*:\s*"([^"]*)"', line.text)
    }
    rows = []
    for item in [row for top in decoded.items("Devices")[:_MOST] for row in _namespaces(top, {})][:_MOST]:
        path = item.get("DevicePath", item.get("NameSpace"))
        if isinstance(path, str) and re.match(r"(?:/dev/)?nvme\d", path):
            rows.append((_renamed(item, path), named.get(path, lines[0])))
    return _block(decoded.used, rows, source)


def _namespaces(
    item: Any, above: Mapping[str, Any], levels: Sequence[str] = _LEVELS
) -> Iterator[Mapping[str, Any]]:
    """The namespaces of a list, flat (to nvme-cli 2.10) or below subsystems and their controllers."""
    if not isinstance(item, dict):
        return
    named = {**above, **_own(item)}
    if "NameSpace" in named or "DevicePath" in named:
        yield named
    for at, key in enumerate(levels, 1):
        parts = item.get(key)
        for part in parts if isinstance(parts, list) else ():
            yield from _namespaces(part, named, levels[at:])
            # those of several paths stand below the subsystem
            named |= _own(part) if key == "Controllers" and isinstance(part, dict) else {}


def _own(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if not isinstance(value, list)}


def _renamed(item: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    size = item.get("PhysicalSize")
    return {
        "Node": path.split()[0],
        "Model": str(item.get("ModelNumber") or "").strip(),
        "FW Rev": str(item.get("Firmware") or "").strip(),
        "kb": size * KB_PER_BYTE if isinstance(size, int) and 0 < size < 2**80 else None,
    }


def _block(used: int, rows: Sequence[tuple[Mapping[str, Any], Line]], source: str) -> ContextBlock | None:
    devices = tuple(_device(row, line, source) for row, line in rows)
    return ContextBlock(used, devices, tuple(_facts(rows, source)), layout="nvme list") if rows else None


def _device(row: Mapping[str, Any], line: Line, source: str) -> Device:
    # 500.11  GB / 500.11  GB: what is used, and the size; GB are powers of 1000
    size = re.search(r"/\s*([\d.]{1,12})\s*([KMGTP]B)", row.get("Usage", ""))
    kb = size_kb(f"{size[1]}{size[2][0]}") if size else None
    power = " KMGTP".index(size[2][0]) if size else 0
    return describe(
        disk_name(row["Node"]),
        origin("nvme-list", source, line),
        model=row.get("Model"),
        transport="nvme",
        size_kb=row.get("kb") or (kb * (1000 / 1024) ** power if kb else None),
    )


def _facts(rows: Sequence[tuple[Mapping[str, Any], Line]], source: str) -> Iterator[Fact]:
    for row, line in rows:
        name = disk_name(row["Node"])
        values = {"device": name, "model": row.get("Model"), "firmware": row.get("FW Rev")}
        if all(values.values()):
            text = "{device} is a {model} with firmware {firmware}"
            yield fact("nvme-list", text, values, source, [line])


FORMAT = ContextFormat(
    id="nvme-list",
    title="nvme list: NVMe drives, models and firmware",
    example=(
        "Node             SN                   Model                  Namespace Usage                      "
        "Format           FW Rev  \n"
        "---------------- -------------------- ---------------------- --------- -------------------------- "
        "---------------- --------\n"
        "/dev/nvme0n1     S0000000000001       EXAMPLE NVME 960GB     1         500.11  GB / 960.20  GB    "
        "512   B +  0 B   1B2QEXE7\n"
    ),
    starts=re.compile(rf'{_HEADER}|^\s*(?:\{{\s*)?"Devices"\s*:\s*\['),
    read=_read,
    releases="nvme-cli 1.0 and later",
)
