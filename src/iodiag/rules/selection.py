"""Which rules run, and with which thresholds, from what the user asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase

from iodiag.errors import ConfigError
from iodiag.model.finding import Finding, Ignore, Ignored, Outcome
from iodiag.model.rule import Rule
from iodiag.rules import all_rules


def chosen_rules(wanted: Iterable[str] | None, skipped: Iterable[str]) -> dict[str, Rule]:
    """The rules to run, by id; all of them where none are wanted by name."""
    known = all_rules()
    skipped = list(skipped)
    names = list(wanted) if wanted else list(known)
    for name in [*names, *skipped]:
        _check(name, known)
    return {name: known[name] for name in known if name in names and name not in skipped}


_LARGEST_THRESHOLD = 1e12
"""Far above any measured: arithmetic with it stays finite."""

NOT_CHOSEN = "not among the rules chosen to run"


def not_chosen(chosen: Iterable[str]) -> list[Outcome]:
    """An outcome for each rule that the user's choice leaves out: silence never passes for health."""
    left_out = all_rules().keys() - set(chosen)
    return [
        Outcome(rule, "not_applicable", (), NOT_CHOSEN, ("choice of rules",)) for rule in sorted(left_out)
    ]


def changed_limits(limits: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """`rule.threshold` → value, grouped by rule. Raises ConfigError for one that is none or cannot be."""
    known = all_rules()
    changed: dict[str, dict[str, float]] = {}
    for name, value in limits.items():
        rule, _, threshold = name.partition(".")
        if rule not in known or threshold not in known[rule].thresholds:
            of_rule = [f"{rule}.{t}" for t in known[rule].thresholds] if rule in known else []
            names = of_rule or [f"{r}.{t}" for r, entry in known.items() for t in entry.thresholds]
            near = get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]}?" if near else "; `iodiag rules RULE` lists them"
            raise ConfigError(f"no threshold is called {name!r}{hint}")
        if not 0 <= value <= _LARGEST_THRESHOLD:
            raise ConfigError(f"threshold {name}: {value:g} is not between 0 and {_LARGEST_THRESHOLD:g}")
        changed.setdefault(rule, {})[threshold] = float(value)
    return changed


def without_ignored(
    findings: Iterable[Finding],
    ignores: Iterable[Ignore],
    aliases: Mapping[str, Iterable[str]],
    spellings: Callable[[str], tuple[str, ...]] | None = None,
) -> tuple[list[Finding], list[Ignored]]:
    """The findings that stay, and those that some `Ignore` takes out: all its devices must match.

    `aliases` are other names of a device, `spellings` the real names behind a pseudonym. Raises ConfigError
    for a rule that does not exist.
    """
    known = all_rules()
    ignores = list(ignores)
    for ignore in ignores:
        _check(ignore.rule, known)
    kept: list[Finding] = []
    ignored: list[Ignored] = []
    for finding in findings:
        reason = next((i.reason for i in ignores if _is_meant(i, finding, aliases, spellings)), None)
        if reason is None:
            kept.append(finding)
        else:
            ignored.append(Ignored(reason, finding))
    return kept, ignored


def _is_meant(
    ignore: Ignore,
    finding: Finding,
    aliases: Mapping[str, Iterable[str]],
    spellings: Callable[[str], tuple[str, ...]] | None,
) -> bool:
    real = spellings or (lambda name: (name,))
    if ignore.rule != finding.rule:
        return False
    if ignore.host is not None and not any(
        fnmatchcase(host, ignore.host) for host in real(finding.host or "")
    ):
        return False
    pattern = ignore.device
    if pattern is None:
        return True
    named = [
        [name for known in (device, *aliases.get(device, ())) for name in real(known)]
        for device in finding.devices
    ]
    return bool(named) and all(any(fnmatchcase(name, pattern) for name in names) for names in named)


def _check(name: str, known: Mapping[str, Rule]) -> None:
    if name not in known:
        raise ConfigError(unknown_rule(name, known))


def unknown_rule(name: str, known: Iterable[str]) -> str:
    """What to say of a rule that does not exist: the nearest by spelling, else those that hold the word."""
    known = list(known)
    near = get_close_matches(name, known, 1) or [rule for rule in known if name and name in rule]
    hint = f"did you mean {' or '.join(near[:4])}?" if near else "`iodiag rules` lists them"
    return f"no rule is called {name!r}; {hint}"
