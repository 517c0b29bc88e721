"""Mail whose parts are in base64."""

from __future__ import annotations

import base64
import io

import pytest

import iodiag
from iodiag.sources._mail import is_mail, with_plain_attachments

TEXT = (
    "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
    "Device            r/s     w/s     rkB/s     wkB/s  %util\n"
    "sda              1.10    8.60     44.20    120.44   1.37\n"
    "sdb              0.20  152.40      3.20   9753.60  97.64\n"
)
HEADERS = "From: a@example.com\nMIME-Version: 1.0\n"
ENCODED = "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n"


def of_one_part(text: bytes) -> bytes:
    return f"{HEADERS}{ENCODED}".encode() + base64.encodebytes(text)


def of_parts(text: bytes) -> bytes:
    body = base64.encodebytes(text).replace(b"\n", b"\r\n")
    head = f'{HEADERS}Content-Type: multipart/mixed; boundary="x"\n\n--x\n\nSee below.\n\n--x\n{ENCODED}'
    return head.encode() + body + b"\n--x--\n"


@pytest.mark.parametrize("mail", [of_one_part, of_parts])
def test_a_capture_in_base64_is_read(mail):
    capture = iodiag.read(io.BytesIO(mail(TEXT.encode())), name="x.eml")
    assert capture.tables["disk"]["util_pct"].tolist() == [1.37, 97.64]
    assert "in base64 were decoded" in capture.notes[-1].reason
    source = capture.sources["x.eml"]
    assert source.quote(int(capture.tables["disk"]["line"].iloc[1])).startswith("sdb ")


def test_what_is_cut_off_is_read_as_far_as_it_goes():
    data = of_one_part(TEXT.encode())[:-60]
    capture = iodiag.read(io.BytesIO(data), name="x")
    assert capture.tables["disk"]["device"].tolist()[:1] == ["sda"]
    assert capture.tables["disk"]["util_pct"].tolist()[:1] == [1.37]


def test_a_part_that_is_no_text_stays():
    data = of_one_part(bytes(range(256)))
    assert is_mail(data)
    assert with_plain_attachments(data) == data


def test_padding_inside_a_part_leaves_it_as_it_is():
    data = f"{HEADERS}{ENCODED}a+=\nb00==\n".encode()
    assert with_plain_attachments(data) == data
