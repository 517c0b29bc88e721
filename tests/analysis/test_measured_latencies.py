"""Percentiles that tracers measured, in the report and beside what findings say of the same device."""

from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.anonymize.pseudonyms import Pseudonyms
from sample_files import SAMPLES
from writers.captures import iostat
from writers.loads import load

FULL = iostat([{"sda": load(150, 48, util=100)}] * 12)
PER_DISK = (SAMPLES / "biolatency/per-disk.txt").read_text()
BTT = (SAMPLES / "btt/one-device.txt").read_text()
LSBLK = 'NAME="sda" MAJ:MIN="8:0" RO="0" TYPE="disk" ROTA="1"\n'


def report_of(*texts):
    captures = [iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate(texts)]
    return iodiag.analyze(captures)


def test_each_device_has_what_was_measured_of_it():
    report = report_of(FULL, PER_DISK)
    sda, nvme = report.latencies
    assert (sda.device, sda.kind, sda.requests, sda.is_bucket) == ("sda", "biolatency", 300, True)
    assert (sda.p50_ms, sda.p99_ms, sda.p999_ms, sda.slowest_ms) == (1.024, 16.384, None, 16.384)
    assert nvme.device == "nvme0n1"
    assert "| `sda` | biolatency timed 300 requests: p50 at most 1.02 ms" in report.to_markdown()


def test_a_finding_that_speaks_of_latency_cites_it():
    report = report_of(FULL, PER_DISK)
    lead = report.findings[0]
    (cited,) = [each for each in lead.evidence if each.source == "1.txt"]
    assert (cited.weighs, cited.values["device"]) == ("context", "sda")
    assert cited.quotes
    alone = report_of(FULL)
    assert [(f.rule, f.confidence, f.severity) for f in report.findings] == [
        (f.rule, f.confidence, f.severity) for f in alone.findings
    ]


def test_a_device_number_is_told_by_lsblk():
    (measured,) = report_of(FULL, LSBLK, BTT).latencies
    assert (measured.device, measured.mean_ms, measured.p99_ms) == ("sda", pytest.approx(37.609824), None)
    # without it the kernel's numbers of sd devices do
    (alone,) = report_of(FULL, BTT).latencies
    assert alone.device == "sda"


def test_a_trace_of_all_devices_belongs_to_none():
    report = report_of(FULL, (SAMPLES / "biolatency/bpftrace.txt").read_text())
    (measured,) = report.latencies
    assert measured.device == ""
    assert "| all traced devices | biolatency timed 883 requests" in report.to_markdown(full=True)
    assert not [each for finding in report.findings for each in finding.evidence if each.source == "1.txt"]


def test_names_of_devices_are_hidden():
    captures = [iodiag.read(io.BytesIO(PER_DISK.replace("nvme0n1", "vg0-customers").encode()), name="t.txt")]
    report = iodiag.analyze(captures)
    assert "vg0-customers" in {measured.device for measured in report.latencies}
    assert "customers" not in iodiag.anonymized(report, captures).to_json()


def test_words_of_the_tools_are_no_names():
    for name, said in (
        ("biolatency/flags-m-T", "(Sync-Write), time queued in the"),
        ("biosnoop/bcc", "(writes)"),
    ):
        capture = iodiag.read(SAMPLES / f"{name}.txt")
        report = iodiag.analyze([capture], names=Pseudonyms())
        assert said in report.to_markdown(full=True)
