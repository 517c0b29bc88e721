import json

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


def test_bits_of_a_warning_do_not_end_the_log():
    text = (
        "Smart Log for NVME device:nvme0 namespace-id:ffffffff\n"
        "critical_warning\t\t\t: 0x4\n"
        "      Available Spare[0]             : 0\n"
        "      Temp. Threshold[1]             : 0\n"
        "      NVM subsystem Reliability[2]   : 1\n"
        "      Volatile mem. backup failed[4] : 0\n"
        "temperature\t\t\t\t: 43 °C (316 K)\n"
        "media_errors\t\t\t\t: 3\n"
        "Warning Temperature Time\t\t: 5\n"
    )
    (block,) = blocks_of(LOG, text)
    values = block.facts[0].values
    assert (values["critical_warning"], values["uncorrected_errors"], values["hot_minutes"]) == ("04", 3, 5)
    assert values["temperature_c"] == 43
    assert "throttlings" not in values  # which nothing counted


@pytest.mark.parametrize("words", ["109 °F (316 K)", "43 °C (316 K)", "43 C (316 Kelvin)", "43 C"])
def test_heat_in_the_unit_of_the_locale_becomes_celsius(words):
    text = f"Smart Log for NVME device:nvme0 namespace-id:ffffffff\ntemperature : {words}\n"
    (block,) = blocks_of(LOG, text)
    assert block.facts[0].values["temperature_c"] == 43


def test_a_log_inside_another_object_is_of_the_drive_of_its_command():
    text = """\
# nvme smart-log /dev/nvme2 -o json
{
  "controller":"nvme2",
  "smart_log":{
    "critical_warning":0,
    "temperature":316,
    "num_err_log_entries":1
  }
}
"""
    (block,) = blocks_of(LOG, text)
    assert (block.facts[0].values["device"], block.facts[0].values["temperature_c"]) == ("nvme2n1", 43)


def test_drives_below_subsystems_have_the_model_of_their_controller():
    text = """\
{
  "Devices":[
    {
      "HostNQN":"nqn.2014-08.org.nvmexpress:uuid:0",
      "Subsystems":[
        {
          "Subsystem":"nvme-subsys0",
          "Controllers":[
            {
              "Controller":"nvme0",
              "ModelNumber":"EXAMPLE NVME 960GB",
              "Firmware":"1B2QEXE7",
              "Namespaces":[
                {
                  "NameSpace":"nvme0n1",
                  "NSID":1,
                  "PhysicalSize":960197124096
                }
              ]
            }
          ],
          "Namespaces":[]
        },
        {
          "Subsystem":"nvme-subsys1",
          "Controllers":[
            {"Controller":"nvme1", "ModelNumber":"EXAMPLE ARRAY", "Firmware":"4.1", "Namespaces":[]},
            {"Controller":"nvme2", "ModelNumber":"EXAMPLE ARRAY", "Firmware":"4.1", "Namespaces":[]}
          ],
          "Namespaces":[
            {"NameSpace":"nvme1n1", "NSID":1, "PhysicalSize":480103981056}
          ]
        }
      ]
    }
  ]
}
"""
    devices = devices_of(LIST, text)
    assert {name: device.model for name, device in devices.items()} == {
        "nvme0n1": "EXAMPLE NVME 960GB",
        "nvme1n1": "EXAMPLE ARRAY",
    }
    assert devices["nvme1n1"].size_kb == pytest.approx(480103981056 / 1024)
    (block,) = blocks_of(LIST, text)
    assert [fact.ref.first for fact in block.facts] == [15, 31]


def test_a_list_on_one_line_is_read():
    drive = {"NameSpace": 1, "DevicePath": "/dev/nvme7n1", "ModelNumber": "M 7", "Firmware": "F7"}
    assert [*devices_of(LIST, json.dumps({"Devices": [drive]}))] == ["nvme7n1"]
    assert not blocks_of(LIST, json.dumps({"Devices": [drive]})[:-9])
    assert not blocks_of(LIST, json.dumps({"Devices": [{"name": "eth0"}]}))
