"""The configuration file: bounded, of known keys and types, each fault one line that names file and key."""

from __future__ import annotations

import math
import os
import reprlib
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iodiag.errors import ConfigError

if TYPE_CHECKING:
    from iodiag.model.finding import Ignore

MOST_BYTES = 1 << 16
"""Bytes of a configuration, of a few thousand as a rule: keys of many dots take quadratic time."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_KEYS = ("ignore", "rule-pages", "rules", "skip-rules", "thresholds")
_KEYS_OF_IGNORE = ("device", "host", "reason", "rule")


@dataclass(frozen=True)
class Configuration:
    """What a file states; the names in it are those of rules and thresholds that there are."""

    thresholds: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    skip_rules: tuple[str, ...] = ()
    ignore: tuple[Ignore, ...] = ()
    rule_pages: str = ""


def load_config(path: str | None) -> Configuration:
    """The settings of a TOML file, or those below its [tool.iodiag]. Raises ConfigError for any fault."""
    if path is None:
        return Configuration()
    from iodiag.judging.options import Options, check

    try:
        settings = _settings(_parsed(_read(path)))
        names = {key: tuple(_names(key, settings.get(key, []))) for key in ("rules", "skip-rules")}
        loaded = Configuration(
            dict(_thresholds(settings.get("thresholds", {}))),
            names["rules"],
            names["skip-rules"],
            tuple(_ignores(settings.get("ignore", []))),
            _address(settings.get("rule-pages", "")),
        )
        for key, one in (
            ("rules", Options(rules=loaded.rules)),
            ("skip-rules", Options(skip_rules=loaded.skip_rules)),
            ("thresholds", Options(limits=loaded.thresholds)),
            ("ignore", Options(ignore=loaded.ignore)),
        ):
            try:
                check(one)
            except ConfigError as problem:
                raise ConfigError(f"{key}: {problem}") from None
    except ConfigError as problem:
        raise ConfigError(f"{path}: {problem}") from None
    return loaded


def _read(path: str) -> bytes:
    try:
        # a pipe would wait for its writer, a device may never end
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ConfigError("is not a regular file; give a TOML file")
        with Path(path).open("rb") as handle:
            data = handle.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot be read ({getattr(error, 'strerror', None) or error}); check the name"
        ) from None
    if len(data) > MOST_BYTES:
        raise ConfigError(f"is larger than {MOST_BYTES >> 10} KiB; give a TOML file of settings")
    return data


def _parsed(data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not valid TOML (byte {error.start} is not UTF-8); fix it") from None
    except RecursionError:
        raise ConfigError("is not valid TOML (nested too deeply); fix it") from None
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise ConfigError(f"is not valid TOML ({str(error).partition(';')[0]}); fix it") from None


def _settings(data: dict[str, Any]) -> dict[str, Any]:
    settings: object = data
    if "tool" in data:
        settings = _table("tool", data["tool"]).get("iodiag", {})
        settings = _table("tool.iodiag", settings)
    assert isinstance(settings, dict)
    _check_keys("", settings, _KEYS)
    return settings


def _check_keys(where: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise ConfigError for the first key that is not among the known ones."""
    if unknown := sorted(set(given) - set(known)):
        raise ConfigError(f"{where}unknown key {_shown(unknown[0])}; known are {', '.join(known)}")


def _table(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{key}: {_shown(value)} is not a table; write [{key}] and settings below it")
    return value


def _shown(value: object) -> str:
    """A value, shortened where it is long or deep."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # a number of thousands of digits, which Python does not write
        return "a huge number"


def _address(value: object) -> str:
    """The web address of rules' pages."""
    from iodiag.report.wording import is_link

    if not isinstance(value, str) or not (is_link(value) or not value):
        raise ConfigError(f"rule-pages: {_shown(value)} is not a web address; write https://host/path")
    return value


def _names(key: str, value: object) -> Iterator[str]:
    """A list of rules' ids."""
    for name in value if isinstance(value, list) else [None]:
        if not isinstance(name, str):
            raise ConfigError(f'{key}: {_shown(value)} is not a list of rules; write {key} = ["RULE"]')
        yield name


def _thresholds(value: object) -> Iterator[tuple[str, float]]:
    """`rule.threshold` and value, of keys in quotation marks or of a table for each rule."""
    for name, entry in _table("thresholds", value).items():
        if isinstance(entry, dict):
            yield from ((f"{name}.{key}", number(f"{name}.{key}", each)) for key, each in entry.items())
        else:
            yield name, number(name, entry)


def number(name: str, value: object) -> float:
    """The value of a threshold. Raises ConfigError for what is no finite number."""
    try:
        if isinstance(value, bool):
            raise ValueError
        converted = float(value)  # type: ignore[arg-type]
        if not math.isfinite(converted):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"threshold {name}: {_shown(value)} is not a number") from None
    return converted


def _ignores(entries: object) -> Iterator[Ignore]:
    """The findings that a configuration takes out, each with the reason that it must state."""
    from iodiag.model.finding import Ignore

    for entry in entries if isinstance(entries, list) else [entries]:
        if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
            raise ConfigError("ignore: write a list of tables with rule, reason, and maybe device and host")
        _check_keys("ignore: ", entry, _KEYS_OF_IGNORE)
        missing = next((key for key in ("rule", "reason") if not entry.get(key, "").strip()), None)
        if missing:
            raise ConfigError(f"ignore: an entry lacks its {missing}; every finding ignored needs one")
        yield Ignore(**entry)
