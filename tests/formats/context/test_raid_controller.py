import json

import pytest

from iodiag.formats.context.raid_controller import FORMAT
from reading import blocks_of
from sample_files import SAMPLES


def facts_of(text):
    return [fact.values for block in blocks_of(FORMAT, text) for fact in block.facts]


def of_part(name, part):
    found = {}
    for values in facts_of((SAMPLES / f"raid-controller/{name}.txt").read_text()):
        if values.get("part", "") == part:
            found |= values
    return found


@pytest.mark.parametrize(
    ("name", "battery", "volume", "policies", "disk", "says"),
    [
        (
            "storcli",
            "failed",
            ("0", "raid5", "degraded", "sda"),
            ("write through", "write back"),
            "252:3",
            {"uncorrected_errors": 17, "other_errors": 2, "predicted_failures": 0, "temperature_c": 31},
        ),
        (
            "megacli",
            "learning",
            ("0", "raid1", "optimal", None),
            ("write through", "write back"),
            "32:1",
            {"health": "FAILED", "predicted_failures": 3, "other_errors": 12},
        ),
        (
            "ssacli",
            "failed",
            ("1", "raid10", "degraded", "sda"),
            ("write through", None),
            "1I:1:2",
            {"disk_state": "Failed"},
        ),
        (
            "arcconf",
            "failed",
            ("1", "raid6", "degraded", None),
            ("write through", "write back"),
            "3",
            {"disk_state": "Failed", "health": "FAILED"},
        ),
    ],
)
def test_a_controller_s_battery_volumes_and_disks(name, battery, volume, policies, disk, says):
    assert of_part(name, "")["battery"] == battery
    number, *known = volume
    values = of_part(name, f"volume {number}")
    assert [values.get(key) for key in ("level", "state", "device")] == known
    assert (values.get("write_policy"), values.get("configured_policy")) == policies
    assert of_part(name, f"disk {disk}").items() >= says.items()


def test_json_says_what_the_text_says():
    def by_part(name):
        found = {}
        for values in facts_of((SAMPLES / f"raid-controller/{name}.txt").read_text()):
            found.setdefault((values["controller"], values.get("part")), {}).update(values)
        # a text of several commands says it in another block than the counters
        return {part: {k: v for k, v in values.items() if k != "device_id"} for part, values in found.items()}

    assert by_part("storcli-J") == by_part("storcli")


def test_json_cites_its_lines():
    text = (SAMPLES / "raid-controller/storcli-J.txt").read_text()
    lines = text.split("\n")
    facts = [fact for block in blocks_of(FORMAT, text) for fact in block.facts]
    cited = {fact.values.get("part"): lines[fact.ref.first - 1 : fact.ref.last] for fact in facts}
    assert [any("/dev/sda" in line for line in cited[part]) for part in cited] == [False, True, False, False]
    assert any('"Offln"' in line for line in cited["disk 252:2"])
    assert any('"Media Error Count" : 17' in line for line in cited["disk 252:3"])


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            {
                "Cachevault_Info": [
                    {"Property": "Type", "Value": "CVPM02"},
                    {"Property": "State", "Value": "Optimal"},
                ]
            },
            "good",
        ),
        ({"Cachevault_Info": [{"Model": "CVPM02", "State": "Degraded", "Temp": "28C"}]}, "failed"),
        ({"BBU_Info": [{"Property": "Battery State", "Value": "Missing"}]}, "missing"),
        (
            {"System Overview": [{"Ctl": 0, "Model": "PERC H730P Mini", "BBU": "Msng", "sPR": "On"}]},
            "missing",
        ),
    ],
)
def test_the_cache_s_battery_in_json(rows, says):
    answer = {"Command Status": {"Controller": 0, "Status": "Success"}, "Response Data": rows}
    for indent in (None, 1):
        (values,) = facts_of(json.dumps({"Controllers": [answer]}, indent=indent) + "\n")
        assert (values["controller"], values["battery"]) == ("0", says)


@pytest.mark.parametrize(
    "text", ['{"Controllers": 3}', '{"Controllers": [{"name": "x"}]}', '{"Controllers": [{']
)
def test_other_json_is_left_alone(text):
    assert facts_of(text + "\n") == []


HEADER = "DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name\n" + "-" * 64 + "\n"


@pytest.mark.parametrize(
    ("row", "policy", "state"),
    [
        ("0/0   RAID6 Optl  RW     Yes     NRWBD -   ON  36.383 TB", "write back", "optimal"),
        ("0/0   RAID6 Pdgd  RW     Yes     RAWBC -   ON  36.383 TB", "write back", "degraded"),
        ("0/0   RAID6 Rec   RW     Yes     NRWTD -   ON  36.383 TB", "write through", "rebuilding"),
        ("0/0   RAID6 OfLn  RW     Yes     RFWBD -   ON  36.383 TB", "write back", "failed"),
    ],
)
def test_a_volume_s_table_pasted_alone(row, policy, state):
    (values,) = facts_of(HEADER + row + "\n")
    assert (values["write_policy"], values["state"], values["level"]) == (policy, state, "raid6")


def test_a_controller_that_takes_its_time_to_answer_keeps_its_number():
    answer = "Controller = 1\nStatus = Success\nDescription = None\n\n"
    answer += "Generating detailed summary of the adapter, it may take a while to complete.\n\n"
    answer += "VD LIST :\n=======\n\n"
    row = "0/0   RAID6 Optl  RW     Yes     NRWBD -   ON  36.383 TB"
    (values,) = facts_of(f"{answer}{'-' * 64}\n{HEADER}{row}\n")
    assert (values["controller"], values["part"]) == ("1", "volume 0")


def test_the_overview_has_the_battery_of_each_controller():
    header = (
        "Ctl Model             Ports PDs DGs DNOpt VDs VNOpt BBU  sPR DS EHS ASOs Hlth\n" + "-" * 70 + "\n"
    )
    row = "  1 PERC H730P Mini       8   2   1     0   1     0 Msng On  -  Y      3 Opt\n"
    (values,) = facts_of(header + row)
    assert (values["controller"], values["battery"]) == ("1", "missing")


@pytest.mark.parametrize(
    "text", ["Controller = 0\nStatus = Failure\n", "Adapter #0\n\nDevice: rrqm/s wrqm/s r/s\n"]
)
def test_a_listing_without_a_state_is_no_fact(text):
    assert facts_of(text) == []


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (
            "   Disk Name                                  : /dev/sda (Disk0) (Bus: 1, Target: 0, Lun: 0)\n"
            "   RAID level                                 : 10\n"
            "   Status of Logical Device                   : Optimal\n"
            "   Write-cache setting                        : On when protected by battery/ZMM\n"
            "   Write-cache status                         : Off\n",
            {
                "device": "sda",
                "level": "raid10",
                "state": "optimal",
                "write_policy": "write through",
                "configured_policy": "write back",
            },
        ),
        ("   Status of logical device  : Degraded, Rebuilding\n", {"state": "degraded"}),
        ("   Status of logical device  : Failed\n", {"state": "failed"}),
    ],
)
def test_arcconf_s_volumes_in_the_words_of_other_releases(lines, values):
    text = (
        f"Controllers found: 1\n{'-' * 70}\nLogical device information\n{'-' * 70}\nLogical Device number 0\n"
    )
    (found,) = facts_of(text + lines)
    assert found.items() >= values.items()


@pytest.mark.parametrize(("said", "state"), [("Ready", "good"), ("Not Installed", "missing")])
def test_a_capacitor_of_arcconf_is_a_battery(said, state):
    text = f"Controllers found: 1\nController information\n    Overall Backup Unit Status   : {said}\n"
    assert [values["battery"] for values in facts_of(text)] == [state]
