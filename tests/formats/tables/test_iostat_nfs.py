import io

import pytest

import iodiag
from iodiag.formats.tables.iostat_nfs import layout
from iodiag.model.columns import FAMILIES

BLOCKS = (
    "Filesystem:              rBlk_nor/s   wBlk_nor/s   rBlk_dir/s   wBlk_dir/s   rBlk_svr/s   wBlk_svr/s"
    "     ops/s    rops/s    wops/s"
)
REPORTS = f"""\
Linux 2.6.18-194.el5 (web3) \t04/12/2010 \t_x86_64_\t(8 CPU)

Time: 10:00:10
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     2.00    0.00    1.00     0.00    24.00    24.00     0.00    1.00   1.00   0.10

{BLOCKS}
nas1:/export/home           2048.00       512.00         0.00         0.00      1024.00       512.00     70.00      8.00      4.00
filer-backup.example.net:/vol/archive
                               0.00         0.00         0.00         0.00         0.00         0.00      0.00      0.00      0.00

Time: 10:00:20
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     1.00    0.00    2.00     0.00    24.00    12.00     0.00    1.00   1.00   0.20

{BLOCKS}
nas1:/export/home              0.00         0.00         0.00      8192.00         0.00      8192.00     12.00      0.00     10.00
filer-backup.example.net:/vol/archive
                               0.00         0.00         0.00         0.00         0.00         0.00      0.00      0.00      0.00

"""  # noqa: E501


def test_mounts_stand_beside_the_devices_of_their_report():
    capture = iodiag.read(io.BytesIO(REPORTS.encode()))
    mounts, disk = capture.tables["nfs_mounts"], capture.tables["disk"]
    names = ["nas1:/export/home", "filer-backup.example.net:/vol/archive"]
    assert mounts["mount"].astype(str).tolist() == names * 2
    assert mounts["report"].tolist() == [0, 0, 1, 1]
    assert disk["report"].tolist() == [0, 1]
    assert mounts["time"].tolist()[::2] == disk["time"].tolist()
    first, _, third, _ = mounts.to_dict("records")
    assert (first["read_buffered_kb_per_s"], first["read_kb_per_s"], first["write_kb_per_s"]) == (
        1024,
        512,
        256,
    )
    assert (first["ops_per_s"], first["reads_per_s"], first["writes_per_s"]) == (70, 8, 4)
    assert third["write_direct_kb_per_s"] == 4096
    assert not capture.unparsed


@pytest.mark.parametrize("lost", [1, 2])
def test_a_name_whose_values_are_lost_is_no_label_of_what_follows(lost: int):
    at = [n for n, line in enumerate(REPORTS.splitlines()) if line.startswith(" " * 30)][lost - 1]
    lines = [line for n, line in enumerate(REPORTS.splitlines(keepends=True)) if n != at]
    capture = iodiag.read(io.BytesIO("".join(lines).encode()))
    assert len(capture.tables["nfs_mounts"]) == 3
    assert "phase_label" not in capture.tables["disk"]
    assert [(note.line, note.text.strip()) for note in capture.notes if note.is_unread] == [
        (at, lines[at - 1].strip())
    ]


def test_a_name_whose_values_are_lost_takes_none_of_the_next():
    text = REPORTS.replace("filer-backup", "filer-a.example.net:/vol/a\nfiler-backup")
    capture = iodiag.read(io.BytesIO(text.encode()))
    mounts = capture.tables["nfs_mounts"]["mount"].tolist()
    assert mounts == ["nas1:/export/home", "filer-backup.example.net:/vol/archive"] * 2
    assert [note.line for note in capture.notes if note.is_unread] == [9, 19]


@pytest.mark.parametrize(
    ("header", "factor"),
    [(BLOCKS, 0.5), (BLOCKS.replace("Blk", "kB"), 1), (BLOCKS.replace("Blk", "MB"), 1024)],
)
def test_units(header, factor):
    found = layout(tuple(header.split()))
    assert {column.factor for column in found.columns if column.is_size} == {factor}
    assert {column.column for column in found.columns} <= {entry.name for entry in FAMILIES["nfs_mounts"]}


@pytest.mark.parametrize(
    "header",
    [
        "Filesystem: rB/s wB/s rops/s wops/s fo/s fc/s fd/s",
        "Filesystem 1K-blocks Used Available Use% Mounted on",
        "Filesystem: ops/s rops/s wops/s",
        "Device: r/s w/s rkB/s wkB/s %util",
    ],
)
def test_other_headers_are_left_alone(header):
    assert layout(tuple(header.split())) is None
