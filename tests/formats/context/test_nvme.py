import pytest

from iodiag.formats.context.nvme_list import FORMAT as LIST
from iodiag.formats.context.nvme_smart_log import FORMAT as LOG
from reading import blocks_of, devices_of
from sample_files import SAMPLES


def values_of(name):
    (block,) = blocks_of(LOG, (SAMPLES / "nvme-smart-log" / name).read_text())
    return dict(block.facts[0].values)


def test_a_drive_s_heat_is_read_from_text():
    values = values_of("hot.txt")
    assert (values["device"], values["temperature_c"], values["hot_minutes"]) == ("nvme0n1", 78, 37)
    assert (values["throttlings"], values["throttled_s"]) == (41, 5120)
    assert "critical_warning" not in values


def test_json_has_kelvin_numbers_in_quotes_and_no_name():
    values = values_of("worn.json")
    assert (values["device"], values["temperature_c"], values["uncorrected_errors"]) == ("nvme1n1", 41, 7)
    assert (values["critical_warning"], values["percentage_used"]) == ("01", 104)
    (block,) = blocks_of(LOG, '{"critical_warning":{"value":4},"temperature":300,"num_err_log_entries":1}')
    assert (block.facts[0].values["critical_warning"], "device" in block.facts[0].values) == ("04", False)


@pytest.mark.parametrize(
    "text", ["critical_warning : 0\n", '"critical_warning": 3\n', "nvme smart-log /dev/nvme0\n"]
)
def test_half_a_log_is_none(text):
    assert blocks_of(LOG, text) == []


def test_drives_are_listed_with_model_and_size():
    for name in ("two.txt", "devices.json"):
        device = devices_of(LIST, (SAMPLES / "nvme-list" / name).read_text())["nvme0n1"]
        assert (device.model, device.transport) == ("EXAMPLE NVME 960GB", "nvme")
        assert device.size_kb == pytest.approx(960.2e9 / 1024, rel=1e-4)


@pytest.mark.parametrize(("words", "stated"), [("0xzz", None), ("0x04 (temperature)", "04"), ("0x00", None)])
def test_only_a_whole_number_is_a_warning(words, stated):
    title = "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff"
    text = f"{title}\ncritical_warning : {words}\nmedia_errors : 1\n"
    (block,) = blocks_of(LOG, text)
    assert block.facts[0].values.get("critical_warning") == stated


def test_a_list_whose_rulers_are_cut_names_its_drives_all_the_same():
    text = "Node             SN    Model  Usage\n-- --- ---- ----\n/dev/nvme0n1 S0 M 1\n"
    assert list(devices_of(LIST, text)) == ["nvme0n1"]
