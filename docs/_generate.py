"""Writes the pages that are made from the code; `--check` fails when one is not current.

python docs/_generate.py [--check]
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from click_man.core import generate_man_page

from iodiag import __version__, formats
from iodiag.cli import cli, command_names
from iodiag.formats.types import ContextFormat, FileFormat, TableFormat
from iodiag.model import columns
from iodiag.model.finding import ROLES
from iodiag.rules import all_rules, page
from iodiag.rules.precedence import relations

DOCS = Path(__file__).parent
SAMPLES = DOCS.parent / "samples"
NOTE = "<!-- made by docs/_generate.py: edit the code, not this page -->\n\n"
MAN_NOTE = '.\\" made by docs/_generate.py: edit the code, not this page\n'
KINDS = {TableFormat: "samples in text", ContextFormat: "context in text", FileFormat: "a whole file"}


def pages() -> dict[str, str]:
    made = {
        "cli.md": cli_page(),
        "columns.md": columns_page(),
        "formats.md": formats_page(),
        "rules/index.md": rules_index(),
    }
    made |= {f"rules/{rule.id}.md": rule_page(rule.id) for rule in all_rules().values()}
    written = {name: NOTE + text.rstrip() + "\n" for name, text in made.items()}
    return written | {f"man/{name}.1": MAN_NOTE + text for name, text in man_pages()}


def man_pages() -> Iterator[tuple[str, str]]:
    """The manual page of the program and of each command, without a date: same code, same page."""
    context = click.Context(cli, info_name="iodiag")
    commands = {name: cli.get_command(context, name) for name in command_names()}
    group = click.Group("iodiag", commands=commands, help=cli.help, params=cli.params)
    context = click.Context(group, info_name="iodiag", max_content_width=96)
    yield "iodiag", man_page(context)
    for name, command in commands.items():
        yield f"iodiag-{name}", man_page(click.Context(command, info_name=name, parent=context))


def man_page(context: click.Context) -> str:
    """One manual page; a paragraph that click leaves unfilled stays so."""
    text = generate_man_page(context, version=__version__, date=" ")
    text = re.sub(r"^\x08\n(.*?)(?=^\.|\Z)", r".nf\n\1.fi\n", text, flags=re.S | re.M)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def cli_page() -> str:
    parts = ["# Command line\n"]
    context = click.Context(cli, info_name="iodiag", max_content_width=96)
    parts.append(f"```text\n{cli.get_help(context)}\n```\n")
    for name in command_names():
        command = cli.get_command(context, name)
        assert command is not None
        child = click.Context(command, info_name=name, parent=context, max_content_width=96)
        parts.append(f"## iodiag {name}\n\n```text\n{command.get_help(child)}\n```\n")
    return "\n".join(parts)


ROW_OF = {"events": "line of the kernel's log"}
"""What the rows of a table are of, beside its key, where that is no report."""


MARKS = {
    "disk": "`is_group` (a row of `iostat -g`, which adds up others), `is_omitted` (`iostat -z` left it out)",
    "cpu": "`may_be_sample` (a screen of top that may be an average since boot, as before procps 3.3.13 the "
    "first was), `is_brief` (one of the moment in which top started)",
}
"""Columns of true and false that some sources have, by table."""


def columns_page() -> str:
    parts = ["# Tables and columns\n", "Every table has these columns:\n", "| column | meaning |\n|---|---|"]
    parts += [
        f"| `{name}` | {cell(meaning)} |"
        for name, meaning in (columns.KEYS | columns.FIRST_REPORT_KEYS | columns.PHASE_KEYS).items()
    ]
    parts.append(
        "\n1 kB is 1024 bytes, as in sysstat. "
        "A column that a source lacks is absent, a cell that it lacks is NaN.\n"
    )
    for family, entries in columns.FAMILIES.items():
        key = columns.KEY_COLUMNS.get(family)
        parts.append(f"\n## {family}\n")
        if key:
            parts.append(f"One row per {ROW_OF.get(family, 'report')} and `{key}`.\n")
        if labels := columns.LABEL_COLUMNS.get(family):
            parts.append(f"Words beside it: {', '.join(f'`{label}`' for label in labels)}.\n")
        if marks := MARKS.get(family):
            parts.append(f"True or false beside it, where the source tells: {marks}.\n")
        parts.append("| column | unit | aggregates as | meaning |\n|---|---|---|---|")
        for entry in entries:
            how = f"mean weighted by `{entry.weight}`" if entry.weight else entry.kind
            trust = f" *Trust: {entry.trust}.*" if entry.trust else ""
            parts.append(
                f"| `{entry.name}` | {cell(entry.unit)} | {how} | {cell(entry.meaning + '.' + trust)} |"
            )
    return "\n".join(parts)


# name, what is taken, how host, clock and interval are told, what is left out, how it was verified
COLLECTIONS = (
    (
        "OSWatcher (OSW, OSWbb), folder or archive, hours compressed or not",
        "oswiostat, oswvmstat, oswmpstat, oswmeminfo, oswtop",
        "host: a file's heading or name; clock: the zzz line above a sample; interval: the grid of the "
        "rates, else the commands it is known to run (1 s; iostat of OSW 3 s); vmstat's first row of each "
        "sample is since boot",
        "oswps, oswnetstat, oswslabinfo, oswifconfig",
        "generated archives of one host and of two (iostat, vmstat, mpstat, top, ps); headings, names and "
        "commands are those of its published scripts",
    ),
    (
        "ExaWatcher",
        "Iostat, Vmstat, Mpstat, Meminfo, Top",
        "host: a file's name, iostat's banner; clock: iostat -t, else zzz; interval: the Collection Command",
        "Ps, Netstat, CellSrvStat, Diskinfo, Slabinfo",
        "generated archives (iostat, vmstat, top); headings are those of published examples",
    ),
    (
        "pt-stalk",
        "-iostat, -iostat-overall, -vmstat, -mpstat, -diskstats, -meminfo, -df, -processlist, -innodbstatus, "
        "-variables, -top, -dmesg",
        "host: -hostname and banners; clock: a file's name, TS lines; interval: the grid of the rates, "
        "and for "
        "vmstat that of the trigger's iostat and mpstat, which run with the same; what several files show of "
        "the same time counts once",
        "-procstat, -procvmstat, -interrupts, -slabinfo, -lsof, -netstat, -ps, -pmap, -tcpdump, -mysqladmin",
        "a made-up folder and archive with the files and commands of Percona Toolkit 3, what iostat, vmstat, "
        "mpstat, top, df and copies of /proc print on a live host in them (sysstat 12.6, procps 4); tests: "
        "generated iostat, vmstat, diskstats, df, processlist",
    ),
    (
        "pt-summary, its text or the folder of --save-samples",
        "schedulers, queue sizes, mounts; of the folder also vmstat, memory, lvs, partitioning, uptime, "
        "processes (top) and dmesg_file",
        "host: its Hostname line, or that of the file summary; nothing tells vmstat's interval",
        "the text's vmstat, which it rounds; all other sections and files",
        "a generated text of its layout; a made-up folder with the file names and forms of the samples that "
        "Percona Toolkit's own tests hold",
    ),
    (
        "sosreport",
        "sos_commands of block devices, file systems, LVM, md, NFS, sar, disks (smartctl, nvme) and RAID "
        "controllers (storcli, MegaCli, ssacli); var/log/sa; proc and sys",
        "host: hostname, uname, the folder's name, also where sar's days bear the name of before a "
        "renaming; a "
        "disk: the command in the file's name",
        "the journal, configurations, all else",
        "a made-up tree and archive with the paths of sos 4's plugins (block, ata, filesys, kernel, "
        "lvm2, md, "
        "memory, process, sar), a live host's output in them; tests: generated trees",
    ),
    (
        "supportconfig",
        "every Command section with a known output, copies of proc and sys; smartctl in fs-smartmon.txt",
        "host: uname -a; interval: the command in the section's title",
        "logs and configurations copied into it, network, rpm",
        "a made-up folder, archive and single text with the sections of supportutils' script, a live host's "
        "output in them; tests: generated texts",
    ),
    (
        "MongoDB mdiag, JSON or text",
        "iostat, top, dmesg, mounts, lsblk, lvs, mdadm, smartctl, copies of proc and the queue settings of "
        "/sys; lines of the JSON keep their numbers",
        "host: iostat's banner; clock: iostat -t; the first report is since boot",
        "ps -F, the files of processes",
        "a made-up text with the sections of mdiag.sh 1.6 and a JSON of mdiag.sh 2, a live host's output in "
        "them; tests: generated JSON",
    ),
    (
        "DataStax diagnostic collection (collect_node_diag.sh, ds-collector)",
        "os-metrics of each node: iostat, free, df, blockdev, vmstat; ds-collector's os and storage: iostat, "
        "vmstat, sar, top, free, meminfo, lsblk, df, dstat's CSV, lvs, lvdisplay",
        "host: banners, hostname and uname; clock: iostat -t; iostat -y has no report since boot; "
        "nothing tells "
        "the interval of ds-collector's vmstat",
        "nodetool, logs, configurations, pvdisplay, scheduler-DEVICE.txt",
        "made-up folders and archives with the paths and commands of both published scripts, a live host's "
        "output in them; tests: generated archives of two nodes",
    ),
    (
        "Elastic support diagnostics",
        "syscalls: iostat, sar, top, dmesg",
        "host: iostat's banner; clock: iostat -t; the first report is since boot",
        "the JSON of its API calls, netstat, logs",
        "a made-up folder and archive with the paths and commands of its published settings, a live host's "
        "output in them; tests: generated archives",
    ),
    (
        "Azure support's script for Linux (case_host_date.tar.gz)",
        "disks: iostat, df, fdisk, swapon, mdstat; memory: vmstat, free, meminfo, ps; log: dmesg; "
        "sar; uptime",
        "host: iostat's banner; clock: the time in front of each line; the first report is since boot, "
        "but for -y; vmstat: the interval that the script runs it with (1 s)",
        "cpuinfo, network; vmstat's times, which it has none of",
        "made-up folders and archives with the files and commands of its published script, a live host's "
        "output in them (with -y and without); tests: generated iostat, vmstat, df",
    ),
    (
        "cbcollect_info",
        "couchbase.log: iostat, vmstat, sar, mpstat, top, free, meminfo, mounts, df, lvdisplay, dmesg, queue "
        "settings of /sys/block, control groups; syslog.tar.gz and the journal beside it",
        "host: banners; interval: the command below a title; the first report is since boot; its ten copies "
        "of /proc/diskstats have no clock and make no rates",
        "logs of the server, lsof, netstat",
        "a made-up folder and zip with the titles and commands of its published script, a live host's output "
        "in them; tests: a generated text",
    ),
    (
        "GitLabSOS, folder or archive",
        "iostat, vmstat, mpstat, nfsiostat, iotop, sar_dev, sar_tcp, df_hT, df_inodes, free_m, mount, "
        "meminfo, pressure, dmesg, ps, top_cpu, top_res",
        "host: iostat's banner, `hostname` and `uname` beside the files; interval and since boot: the "
        "command that its published script writes each file with (1 s)",
        "netstat, nfsstat, sockstat, logs of GitLab; pidstat is of the CPU alone",
        "made-up folders and archives with the names and commands of its published script, a live host's "
        "output in them; tests: generated folders and archives",
    ),
    (
        "any other folder or archive",
        "every file with output that iodiag knows, several in one file as well",
        "host: banners, `hostname` and `uname` beside them; interval: commands in headings, clocks, the grid",
        "what no format knows",
        "generated folders",
    ),
    (
        "a loop in a shell: `while true; do date; iostat -x 1 2; sleep 28; done`",
        "iostat and vmstat, with -y and without",
        "clock: date, epoch seconds or any clock line above each run; interval: the grid of all runs' rates; "
        "since boot: the first report of each run, where those barely change or lie off the grid",
        "the interval of vmstat, whose numbers do not tell it",
        "generated loops of 1, 2 and 3 reports a run, intervals of 1, 2 and 5 s; live runs of sysstat 12.6.1",
    ),
)


def verified_with(form: str) -> str:
    """How many samples of a format its tool printed, and how many were written in its form."""
    sidecars = ((path, tomllib.loads(path.read_text(encoding="utf-8"))) for path in SAMPLES.rglob("*.toml"))
    # a capture may be of a wider format, and have this one's tables inside
    found = [
        told["origin"]
        for path, told in sidecars
        if form in (told.get("expect", {}).get("format"), path.parent.name)
    ]
    written = sum(origin.startswith("Written") for origin in found)
    counts = ((len(found) - written, "printed by the tool"), (written, "written in its form"))
    return ", ".join(f"{count} {how}" for count, how in counts if count) or "none: text in its tests"


def formats_page() -> str:
    modules = formats.modules()
    parts = [
        "# Formats\n",
        "What a file is, is found from its content; one text may hold several of these.\n",
        "The samples say how a format was verified: by output of its tool, or by text that was written in "
        "the form of its documentation or source.\n",
    ]
    parts.append(
        "| format | what is read | kind | releases | samples | what is not read, and why |\n"
        "|---|---|---|---|---|---|"
    )
    for module in modules:
        form = module.FORMAT
        name, verified = f"[`{form.id}`](#{form.id})", verified_with(form.id)
        row = (name, form.title, KINDS[type(form)], form.releases, verified, form.not_read)
        parts.append("| " + " | ".join(cell(text) for text in row) + " |")
    parts.append(
        "\n## Collections\n\n"
        "One command reads a collector's folder or archive (tar, zip, compressed or not).\n\n"
        "| collection | what is taken | host, clock and interval | what is not read | verified with |\n"
        "|---|---|---|---|---|"
    )
    parts += ["| " + " | ".join(cell(text) for text in row) + " |" for row in COLLECTIONS]
    for module in modules:
        form = module.FORMAT
        parts.append(f"\n## {form.id}\n\n{(module.__doc__ or '').strip()}\n")
        if isinstance(form.example, str) and form.example.strip():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", form.example)), default=0))
            parts.append(f"{fence}text\n{form.example.rstrip()}\n{fence}")
    return "\n".join(parts)


def rules_index() -> str:
    parts = ["# Rules\n", "The role of a rule says what its findings are:\n"]
    parts += [f"- **{role}**: {meaning}" for role, meaning in ROLES.items()]
    parts.append("\n| rule | role | finds |\n|---|---|---|")
    parts += [
        f"| [{rule.id}]({rule.id}.md) | {rule.role} | {cell(rule.title)} |" for rule in all_rules().values()
    ]
    return "\n".join(parts)


def rule_page(rule_id: str) -> str:
    rule = all_rules()[rule_id]
    first, _, rest = page(rule_id).partition("\n")
    parts = [f"# {rule.id}\n", f"**{first.rstrip('.')}.**\n", rest.strip(), "\n## Thresholds\n"]
    if rule.thresholds:
        parts.append(
            f"Change one with `--set {rule.id}.NAME=VALUE`.\n\n"
            "| name | default | meaning | source |\n|---|---|---|---|"
        )
        parts += [
            f"| `{name}` | {t.default:g} {cell(t.unit)} | {cell(t.meaning)} | {cell(t.source)} |"
            for name, t in rule.thresholds.items()
        ]
    else:
        parts.append("None.")
    parts.append(f"\n## Relations\n\n- Role: {rule.role}, {ROLES[rule.role]}")
    for label, others in relations(rule.id, list(all_rules().values())).items():
        parts.append(f"- {label}: {', '.join(f'[{other}]({other}.md)' for other in others)}")
    parts.append("\n## Needs\n")
    for alternative in rule.needs.one_of:
        parts.append(
            "- "
            + "; ".join(
                f"`{t}`: {', '.join(f'`{c}`' for c in cs) or 'any column'}" for t, cs in alternative.items()
            )
        )
    parts.append("\n## What to do\n")
    parts += [f"{number}. {line}" for number, line in enumerate(rule.remedy, 1)]
    if rule.confirm:
        parts.append("\n## To confirm\n\n```sh\n" + "\n".join(rule.confirm) + "\n```")
    parts.append(f"\n## Verified by\n\n{verified_by(rule_id)}")
    return "\n".join(parts)


SHOWN = re.compile(r"\| \[`(?P<rule>[^`]+)`\]\S+ \| (?P<by>[^|]+) \| \S+ \| \S+ \| (?P<exam>[^|]+) \|")


def verified_by(rule_id: str) -> str:
    """What shows that a rule works, as the table of docs/evaluation.md has it."""
    rows = {row["rule"]: row for row in SHOWN.finditer((DOCS / "evaluation.md").read_text())}
    by = rows[rule_id]["by"] if rule_id in rows else "literature only"
    words = {
        "real posts": "Captures that somebody posted, whose labels want this rule.",
        "lab": "Lab experiments on a real kernel. No labelled capture from the field has shown it yet.",
        "simulation": "The simulated exam alone. No capture of a real kernel has shown it yet.",
        "literature only": "Literature only: it follows its sources and has tests with made input, but no "
        "labelled capture has shown it yet. Treat its findings as less proven.",
    }
    simulated = rows[rule_id]["exam"].strip(" –") if rule_id in rows else ""
    exam = f" In the simulated exam: {simulated}." if simulated else ""
    return f"{words[by]}{exam} [All rules](../evaluation.md#by-what-each-rule-is-verified)"


def main() -> int:
    made = pages()
    stale = [
        name for name, text in made.items() if not (DOCS / name).exists() or (DOCS / name).read_text() != text
    ]
    orphans = [p for p in (DOCS / "rules").glob("*.md") if f"rules/{p.name}" not in made]
    if "--check" in sys.argv[1:]:
        for name in [*stale, *(f"rules/{p.name}" for p in orphans)]:
            print(f"docs/{name} is not current: run python docs/_generate.py")
        return 1 if stale or orphans else 0
    for name, text in made.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text)
    for path in orphans:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
