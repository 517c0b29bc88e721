"""One text, one owner: no context format takes what is another's, or a table of samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats import context_formats, table_formats
from iodiag.formats.types import ContextFormat
from reading import lines_of

FORMATS = context_formats()


def claims(form: ContextFormat, text: str) -> bool:
    lines = lines_of(text)
    return any(
        form.starts.search(line.text) and form.read(lines[at:], "paste.txt") for at, line in enumerate(lines)
    )


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_example_has_one_owner(form):
    assert [other.id for other in FORMATS if claims(other, form.example)] == [form.id]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_example_is_read_whole_and_no_further(form):
    lines = lines_of(form.example.rstrip("\n") + "\n\nDevice            r/s     w/s\nsda   1.00  2.00\n")
    at = next(at for at, line in enumerate(lines) if form.starts.search(line.text))
    block = form.read(lines[at:], "paste.txt")
    assert at + block.used == form.example.rstrip("\n").count("\n") + 1
    assert block.devices or block.facts or block.tables


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.id)
def test_every_field_says_where_it_stands(form):
    lines = lines_of(form.example)
    at = next(at for at, line in enumerate(lines) if form.starts.search(line.text))
    block = form.read(lines[at:], "paste.txt")
    for device in block.devices:
        said = {
            name: value
            for name, value in vars(device).items()
            if name not in ("name", "aliases", "provenance") and value not in (None, ())
        }
        assert set(said) <= set(device.provenance)
        assert all(stated.startswith(f"{form.id} paste.txt:") for stated in device.provenance.values())
    for fact in block.facts:
        assert fact.kind == form.id
        assert 1 <= fact.ref.first <= fact.ref.last <= len(lines)


SAMPLES = [
    "Linux 5.14.0 (db1) \t11/20/2026 \t_x86_64_\t(4 CPU)\n\n"
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           2.30    0.00    1.30   96.40    0.00    0.00\n\n"
    "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await\n"
    "md0               0.00     0.70  172.50    1.20  1670.00     7.60    19.32     1.02    5.90\n"
    "vg0-data          0.00     0.70  172.50    1.20  1670.00     7.60    19.32     1.02    5.90\n",
    "12:00:01 AM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n"
    "12:10:01 AM  dev252-8    360.63   1739.05   1139.02      7.98     52.81    146.31     33.01\n",
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    " 1  0      0 877116  40060 2141312    0    0     0  1783 2185 23112 44 10 41  5  0\n",
]


@pytest.mark.parametrize("text", [*SAMPLES, *(form.example for form in table_formats())])
def test_samples_are_no_context(text):
    assert [form.id for form in FORMATS if claims(form, text)] == []


EXAMPLES = [form.example for form in FORMATS]


@given(
    st.sampled_from(EXAMPLES),
    st.integers(0, 400),
    st.integers(0, 400),
    st.sampled_from(["", "\n", " ", "|", "é"]),
)
def test_damage_never_raises(text, begin, size, patch):
    torn = text[:begin] + patch + text[begin + size % 40 :]
    lines = lines_of(torn)
    for form in FORMATS:
        for at, line in enumerate(lines):
            if form.starts.search(line.text):
                block = form.read(lines[at:], "paste.txt")
                assert block is None or 1 <= block.used <= len(lines) - at
