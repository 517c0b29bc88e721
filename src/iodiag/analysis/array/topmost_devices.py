"""Who stands on whom among devices with the same verdict: one of a stack speaks for all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.table.result_cache import cached

T = TypeVar("T")

ADDED = 1.5
"""A layer that takes so many times as long as the disk below it is where requests wait."""


def topmost(view: View, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The devices among `names` with no other of them above, each with those of them below it."""
    named = list(dict.fromkeys(names))
    known = set(named)
    above = {name: _ancestors(view, name) & known for name in named}
    below: dict[str, list[str]] = {name: [] for name in named if not above[name]}
    for name in named:
        for top in above[name] & below.keys():
            below[top].append(name)
    return {top: tuple(names) for top, names in below.items()}


def representatives(view: View, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The device among `names` to tell each stack of them by, with the others of the stack.

    That is the disk on which all of the stack stands, where its cause is; the topmost where the layers add
    latency, or where they stand on several disks.
    """
    return _leads(view, names, lambda top, low: _is_slower(view, top, low))


def lowest(view: View, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The same of devices that are all full: what waits above the only disk waits for that one."""
    return _leads(
        view, names, lambda top, low: len(view.topology.leaves(top)) > 1 and _is_slower(view, top, low)
    )


def _is_slower(view: View, top: str, low: str) -> bool:
    return _mean(view, top, "latency_ms") > ADDED * _mean(view, low, "latency_ms")


def _leads(
    view: View, names: Iterable[str], is_led: Callable[[str, str], bool]
) -> dict[str, tuple[str, ...]]:
    """Stacks by the lowest of their devices, or by the topmost where `is_led` says so of both.

    Those above the lowest come by what they move of its load.
    """
    found: dict[str, tuple[str, ...]] = {}
    by_bottom: dict[str, list[str]] = {}
    for top, below in topmost(view, names).items():
        bottoms = [name for name in below if not any(name in _ancestors(view, other) for other in below)]
        if len(bottoms) == 1 and not is_led(top, bottoms[0]):
            by_bottom.setdefault(bottoms[0], []).extend(
                name for name in (top, *below) if name not in (*by_bottom.get(bottoms[0], ()), bottoms[0])
            )
        else:
            found[top] = below
    return found | {
        bottom: tuple(sorted(above, key=lambda name: -_mean(view, name, "kb_per_s")))
        for bottom, above in by_bottom.items()
    }


def once_per_stack(
    view: View,
    found: Mapping[str, T],
    chosen: Callable[[View, Iterable[str]], dict[str, tuple[str, ...]]] = representatives,
) -> Iterator[tuple[DeviceSeries, T, tuple[str, ...]]]:
    """What was found of each device, once per stack: for the one `chosen` to tell it, with the others."""
    for name, others in chosen(view, found).items():
        if (series := view.series(name)) is not None:
            yield series, found[name], others


def _mean(view: View, name: str, column: str) -> float:
    series = view.series(name)
    return weighted.or_zero(weighted.mean(series.samples, column)) if series is not None else 0.0


def are_related(view: View, one: str, other: str) -> bool:
    """Whether two devices are the same, or one stands on the other."""
    return other in relatives(view, one)


@cached
def relatives(view: View, name: str) -> frozenset[str]:
    """The names of a device, of those that stand on it and of those that it stands on."""
    return frozenset((name, *_ancestors(view, name), *(device.name for device in view.topology.below(name))))


def _ancestors(view: View, name: str) -> set[str]:
    return {device.name for device in view.topology.above(name)}


def common_top(view: View, names: Iterable[str]) -> list[list[str]]:
    """The names, among those given, that stand below each device with two and more of them below it."""
    below: dict[str, list[str]] = {}
    for name in names:
        for top in _ancestors(view, name):
            below.setdefault(top, []).append(name)
    return [together for together in below.values() if len(together) >= 2]
