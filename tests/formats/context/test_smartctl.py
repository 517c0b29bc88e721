import pytest

from iodiag.formats.context.smartctl import FORMAT
from reading import blocks_of, devices_of, lines_of
from sample_files import SAMPLES

TITLE = "smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n"
TABLE = "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"


def values_of(text, name="paste.txt"):
    block = FORMAT.read(lines_of(text), name)
    return dict(block.facts[0].values)


def test_an_ata_disk_s_counters_are_read_by_the_names_of_its_attributes():
    text = (SAMPLES / "smartctl/ata-pending.txt").read_text()
    (block,) = blocks_of(FORMAT, text)
    assert block.used == text.rstrip("\n").count("\n") + 1
    assert block.facts[0].values == {
        "device": "sdb",
        "status": "passed",
        "firmware": "TN03",
        "temperature_c": 32,
        "pending_sectors": 24,
        "uncorrectable_sectors": 24,
        "reallocated_sectors": 16,
        "uncorrected_errors": 12,
        "crc_errors": 3,
        "error_log_entries": 12,
    }
    device = devices_of(FORMAT, text)["sdb"]
    assert (device.rotational, device.write_cache, device.model) == (
        True,
        "write through",
        "ST4000NM0035-1V4107",
    )
    assert device.size_kb == pytest.approx(4_000_787_030_016 / 1024)


def test_a_sas_disk_s_uncorrected_errors_are_those_of_all_its_ways():
    values = values_of((SAMPLES / "smartctl/sas_.dev.sda.txt").read_text(), "smartctl_-x_.dev.sda")
    assert (values["device"], values["status"], values["uncorrected_errors"]) == ("sda", "passed", 1)
    assert (values["reallocated_sectors"], values["temperature_c"]) == (2, 31)


def test_an_nvme_drive_fails_by_its_status_and_its_critical_warning():
    values = values_of((SAMPLES / "smartctl/nvme.txt").read_text())
    assert (values["device"], values["health"], values["critical_warning"]) == ("nvme0n1", "FAILED", "04")
    assert (values["percentage_used"], values["hot_minutes"], values["error_log_entries"]) == (112, 5, 12)


def test_json_says_the_same_as_text():
    (block,) = blocks_of(FORMAT, (SAMPLES / "smartctl/ata.json").read_text())
    (device,) = block.devices
    assert (device.name, device.rotational, device.model) == ("sdc", False, "EXAMPLE SSD 480GB")
    assert block.facts[0].values == {
        "device": "sdc",
        "status": "passed",
        "firmware": "1.2.3",
        "temperature_c": 28,
        "reallocated_sectors": 0,
        "crc_errors": 0,
        "percentage_used": 6,
        "error_log_entries": 0,
    }


def row(name, raw, failed="-"):
    return f"  5 {name:<23} 0x0033   040   001   036    Pre-fail  Always   {failed}    {raw}\n"


@pytest.mark.parametrize(
    ("row", "values"),
    [
        (row("Current_Pending_Sector", 8), {"pending_sectors": 8}),
        # a flash drive's own count of corrections under way is no sector that cannot be read
        (row("Current_Pending_ECC_Cnt", 1), {}),
        # three counts packed into one number
        (row("Reported_Uncorrect", 4295032833), {}),
        (row("Uncorrectable_Error_Cnt", 77), {"uncorrected_errors": 77}),
        (row("Temperature_Celsius", "31 (0 17 0 0 0)"), {"temperature_c": 31}),
        (
            row("Reallocated_Sector_Ct", 2047, "FAILING_NOW"),
            {"reallocated_sectors": 2047, "failing_attributes": "Reallocated_Sector_Ct"},
        ),
        (row("Reallocated_Sector_Ct", 2047, "In_the_past"), {"reallocated_sectors": 2047}),
    ],
)
def test_an_attribute(row, values):
    health = "\nSMART overall-health self-assessment test result: PASSED\n\n"
    assert values_of(TITLE + health + TABLE + row) == {"status": "passed", **values}


def test_a_disk_behind_a_controller_is_not_the_volume_that_the_command_names():
    text = f"# smartctl -a -d megaraid,5 /dev/sda\n{TITLE}\nRotation Rate:    7200 rpm\n"
    text += "SMART Health Status: OK\n"
    (block,) = blocks_of(FORMAT, text)
    assert block.devices == ()
    assert (block.facts[0].values["device"], block.facts[0].values["behind"]) == ("sda", "megaraid,5")


def test_what_follows_is_left_to_its_own_format():
    text = TITLE + "\nSMART Health Status: OK\n\nLinux 6.1.0 (db1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n" + TABLE
    (block,) = blocks_of(FORMAT, text)
    assert block.used == 3


@pytest.mark.parametrize(
    "text",
    [
        "Settle it with smartctl -x /dev/sda and send us the output.\n\nThanks\n",
        TITLE + "Copyright\n\n/dev/sdz: Unable to detect device type\n",
        '"json_format_version": [1, 0], "device": {"name": 7}}',
        '"json_format_version": [1, 0',
    ],
)
def test_what_says_nothing_of_a_disk_is_no_fact(text):
    assert blocks_of(FORMAT, text) == []


def test_a_number_of_thousands_of_digits_is_no_json_of_its():
    text = (
        '{\n"json_format_version": [1, 0],\n"device": {"name": "/dev/sda"}, "rotation_rate": '
        + "9" * 5000
        + "}\n"
    )
    assert blocks_of(FORMAT, text) == []
