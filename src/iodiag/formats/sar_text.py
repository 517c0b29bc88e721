"""sar text: every section that _sar_columns names, from sysstat 4 to 12.7.

What changes its shape: -p and --pretty (the name comes last), -h and --human (suffixes), the locale (12-hour
clocks, decimal commas, the word for Average:), live or from a file. A section is known by its
header's words; the clock in front of them is taken off before they are looked up.
"""

from __future__ import annotations

import pandas as pd

from iodiag.formats._sar_columns import combine_long_cpu, find_section
from iodiag.formats._sar_section import SarSection
from iodiag.formats._types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
Linux 3.10.0 (db1) \t09/19/19 \t_x86_64_\t(4 CPU)

07:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
07:10:01    dev253-89    375.29   3496.57   2559.05     16.14    423.86   1107.75      1.56     58.64
"""


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a section's header, without the clock in front of it."""
    section = find_section(words)
    if section is None:
        return None
    keys = [word for word in words if word in section.key_tokens]
    key_at = "last" if keys and words[-1] == keys[0] and words[0] != keys[0] else "first"
    values = [word for word in words if word not in keys[:1]]
    if keys and words[0 if key_at == "first" else -1] != keys[0]:
        return None
    is_mpstat = "%irq" in words and "%steal" in words and words.index("%irq") < words.index("%steal")
    tool = "mpstat" if is_mpstat else "sar"
    return Layout(
        format=tool,
        name=f"{tool} {section.name}",
        family=section.family,
        columns=tuple(_column(section, word) for word in values),
        key=section.key_tokens[keys[0]] if keys else None,
        key_at="last" if key_at == "last" else "first",
        clock="row",
        finish=_finisher(section, values),
    )


def _column(section: SarSection, word: str) -> LayoutColumn:
    entry = section.columns.get(word)
    family = section.family_of(word)
    if section.spread and section.spread.item(word) is not None:
        return LayoutColumn(word, f"{_SPREAD}{section.spread.item(word)}", 1.0, family)
    if word in section.label_tokens:
        return LayoutColumn(word, section.label_tokens[word], 1.0, family, is_label=True)
    if entry is None:
        return LayoutColumn(word, None, 1.0, family)
    name, factor = entry
    is_size = "kb" in name.split("_") or "mb" in name.split("_") or name.endswith("_kb")
    return LayoutColumn(word, name, factor, family, is_size=is_size)


_SPREAD = "spread:"


def _finisher(section: SarSection, words: list[str]):  # type: ignore[no-untyped-def]
    """What is left to do with a section's frames: add up the long CPU form, unfold a matrix."""
    if section.name == "cpu" and ("%irq" in words or "%guest" in words):
        return _finish_long_cpu
    if section.spread is not None:
        return lambda frames: _unfold(frames, section)
    return None


def _finish_long_cpu(frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {family: combine_long_cpu(frame) if family == "cpu" else frame for family, frame in frames.items()}


def _unfold(frames: dict[str, pd.DataFrame], section: SarSection) -> dict[str, pd.DataFrame]:
    """A row per item for sections that print an item per column."""
    if section.spread is None:
        return frames
    result = {}
    for family, frame in frames.items():
        items = [name for name in frame.columns if str(name).startswith(_SPREAD)]
        if not items:
            result[family] = frame
            continue
        rest = [name for name in frame.columns if name not in items]
        long = frame.melt(rest, items, section.spread.key, section.spread.column)
        long[section.spread.key] = pd.Categorical(long[section.spread.key].str.removeprefix(_SPREAD))
        result[family] = long.sort_values("line", kind="stable", ignore_index=True)
    return result


FORMAT = TableFormat(id="sar", title="sar text", example=_EXAMPLE, layout=layout)
