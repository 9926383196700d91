"""Reads the settings from a TOML file: unknown keys and bad values are errors that say what to write."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from autobct.belief.prior import PAPER_PRIORS
from autobct.maps.ordinary import decoded, read_ordinary, read_toml
from autobct.run.program_settings import MOST_OUTPUT, Program, ProgramLimits, ProgramSettings, SettingsError
from autobct.run.reading import Reading
from autobct.run.toml_space import PARAMETER, plain_value, read_space, read_table
from autobct.run.toml_table import (
    CARRIES_ALL,
    TomlTable,
    check_placeholders,
    duration,
    flag,
    mapping,
    names,
    number,
    one_of,
    pair,
    placeholders,
    text,
    whole,
)
from autobct.tuning.jobs import bytes_of
from autobct.tuning.keywords import ENSEMBLE, PAPER
from autobct.tuning.space.parameter import Parameter
from autobct.tuning.space.row_table import Table as Rows
from autobct.tuning.units.price import parse_price
from autobct.tuning.units.scale import affine

_MOST_BYTES = 1 << 17
_COMMAND = 'command = ["python", "train.py", "--depth", "{depth}"]'
_TIMES = ("wall", "cpu")
_TOP = (
    *("command", "directory", "env", "repeats", "price", "score_range", "score_noise", "cost_range", "direction"),
    *("recall", "seed", "price_of"),
)
_HINTS = ("guess", "guess_strength", "increases_cost", "expect_usual")
_TABLES = {
    "score": ("key", "file", "pattern"),
    "cost": ("measure", "key", "file", "pattern"),
    "limits": ("timeout", "memory", "max_cost", "max_runs", "deadline", "output"),
}


def read_text(path: Path, most: int = _MOST_BYTES) -> str:
    """The text of a file of at most so many bytes; SettingsError if there is none to read."""
    if path.suffix == ".toml" and not os.path.lexists(path):
        raise SettingsError(f"{str(path)!r} cannot be read: there is no such file; autobct init writes one")
    return decoded(read_ordinary(path, most, SettingsError), path, SettingsError)


def _no_file(name: str) -> str:
    raise SettingsError(f"table.file: there is no file {name!r} here")


def parse(source: str, opened: Callable[[str], str] = _no_file) -> ProgramSettings:
    """The settings that a TOML text describes; SettingsError, one sentence with the key, if it describes none.

    opened: the text of a file of rows, by the name that the TOML text has for it
    """
    try:
        data = read_toml(source)
    except ValueError as error:
        raise SettingsError(f"is not TOML: {error}") from None
    _check_integers(data, "")
    nested = [f"{table}.{key}" for table, keys in _TABLES.items() for key in keys]
    top = TomlTable(data, "", (*_TOP, *_HINTS, "prior", "space", "table", *_TABLES), nested)
    command = top.need("command", _command, _COMMAND)
    space, rows, told_rows = _space(top, opened)
    score, cost, limits = (top.table(key, keys) for key, keys in _TABLES.items())
    measure = cost.get("measure", _measure) or "wall"
    settings = ProgramSettings(
        program=Program(
            command=command,
            directory=top.get("directory", text) or ".",
            env=_env(top.get("env", mapping) or {}),
            repeats=top.get("repeats", whole(1)) or 1,
        ),
        space=space,
        score=_reading(score, "score", space),
        measure=measure,
        cost=_reading(cost, "cost", space),
        tuning=_tuning(top),
        seed=top.get("seed", whole(0)) or 0,
        limits=_limits(limits, timed=measure in _TIMES),
        table=rows,
        rows=told_rows,
        price_of="waiting" if top.get("price_of", one_of("compute", "waiting")) == "waiting" else "compute",
    )
    _check_told(settings)
    _check_templates(settings)
    return settings


def _measure(value: Any) -> str:
    """What cost is; "told" is the former word for "reported"."""
    return one_of(*_TIMES, "reported")("reported" if value == "told" else value)


def _space(top: TomlTable, opened: Callable[[str], str]) -> tuple[Mapping[str, Parameter], Rows | None, str | None]:
    """What is tuned; where rows are the space, these too, and the text of their file."""
    rows = top.get("table", mapping)
    if rows is None:
        return read_space(top.need("space", mapping, f"[space] and in it {PARAMETER}")), None, None
    described = top.get("space", mapping)
    table, told = read_table(rows, None if described is None else read_space(described), opened)
    return dict(zip(table.names, table.parameters, strict=True)), table, told


def _check_integers(value: Any, path: str) -> None:
    """TOML's integers have 64 bits; larger ones would only fail later, as numbers do."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else ((path, part) for part in value):
            _check_integers(part, f"{path}.{key}" if path and isinstance(value, dict) else key)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise SettingsError(f"{path}: is an integer beyond 64 bits; write it with e, as in 1e30")


def _command(value: Any) -> tuple[str, ...]:
    """A list of arguments, or one string split as a shell would split it; no shell is involved."""
    words = shlex.split(value) if isinstance(value, str) else value
    if not isinstance(words, list):
        raise ValueError(f"must be a list of arguments or one string, got {value!r}; write e.g. {_COMMAND}")
    if not words or not words[0]:
        raise ValueError(f"is empty; write e.g. {_COMMAND}")
    return tuple(map(text, words))


def _env(data: Mapping[str, Any]) -> dict[str, str]:
    table = TomlTable(data, "env", None)
    for name in data:
        if not name or "=" in name or "\0" in name:
            raise SettingsError(f"{table.where(name)} cannot be the name of an environment variable")
    return {name: table.need(name, text, f'{name} = "1"') for name in data}


def _reading(table: TomlTable, what: str, space: Mapping[str, Parameter]) -> Reading:
    def template(value: Any) -> str:
        check_placeholders(text(value), space)
        return str(value)

    reading = Reading(
        what,
        key=table.get("key", text),
        file=table.get("file", template),
        pattern=table.get("pattern", lambda value: _pattern(value, what)),
    )
    if reading.key is not None and reading.pattern is not None:
        raise SettingsError(f"{what} has both a key and a pattern; write one of the two")
    return reading


def _pattern(value: Any, what: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what may mean something else in a later Python is not taken
            expression = re.compile(text(value))
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"is not a regular expression: {error}, got {value!r}") from None
    if expression.groups == 0:
        raise ValueError(f"must have a group around the number, got {value!r}; write e.g. '{what} = ([0-9.]+)'")
    return str(value)


def _tuning(top: TomlTable) -> dict[str, Any]:
    """Arguments of the tuner, as they were written; each is checked where it is."""
    scores = top.get("score_range", _range("score_range"))
    told = {
        "price": top.need("price", _price(scores), 'price = "0.01 per 30s"'),
        "score_range": scores,
        "score_noise": top.get("score_noise", _noise),
        "cost_range": top.get("cost_range", _range("cost_range", least=0.0)),
        "direction": top.get("direction", one_of("maximize", "minimize")),
        "recall": top.get("recall", flag),
        "prior": top.get("prior", one_of(PAPER, ENSEMBLE, *PAPER_PRIORS)),
        "guess": top.get("guess", _guess),
        "guess_strength": top.get("guess_strength", number),
        "increases_cost": top.get("increases_cost", names),
        "expect_usual": top.get("expect_usual", flag),
    }
    return {key: value for key, value in told.items() if value is not None}


def _guess(value: Any) -> Mapping[str, Any]:
    """Values of some parameters; TOML also has times, which no parameter takes."""
    for guessed in mapping(value).values():
        plain_value(guessed)
    return mapping(value)


def _price(scores: list[float] | None) -> Any:
    """A check of a price; what a point is depends on the range of scores."""

    def check(value: Any) -> Any:
        parse_price(value, None if scores is None else (scores[0], scores[1]))
        return value

    return check


def _noise(value: Any) -> float | str:
    """A number, or "exact"."""
    if value != "exact" and (isinstance(value, str) or number(value) < 0.0):
        raise ValueError(f'must be "exact" or a number of at least 0, got {value!r}; write score_noise = "exact"')
    return "exact" if isinstance(value, str) else float(value)


def _range(name: str, least: float = float("-inf")) -> Any:
    def check(value: Any) -> list[float]:
        scale = affine(pair(value), name=name)
        if scale.low < least:
            raise ValueError(f"must not be negative, got {value!r}; write e.g. [1, 60]")
        return [scale.low, scale.high]

    return check


def _limits(table: TomlTable, *, timed: bool) -> ProgramLimits:
    return ProgramLimits(
        timeout=table.get("timeout", duration),
        memory=table.get("memory", bytes_of),
        max_cost=table.get("max_cost", duration if timed else _positive),
        max_runs=table.get("max_runs", whole(1)),
        deadline=table.get("deadline", _deadline),
        output=table.get("output", whole(1 << 10)) or MOST_OUTPUT,
    )


def _deadline(value: Any) -> float | datetime:
    return value if isinstance(value, datetime) else duration(value)


def _positive(value: Any) -> float:
    if not 0 < number(value) < float("inf"):
        raise ValueError(f"must be positive and finite, got {value!r}")
    return float(value)


def _check_told(settings: ProgramSettings) -> None:
    """A cost that is measured is not read, and one that is read has to stand somewhere."""
    given = [key for key in ("key", "file", "pattern") if getattr(settings.cost, key) is not None]
    if settings.measure in _TIMES and given:
        raise SettingsError(
            f'cost.{given[0]} is for a cost that the program reports; add measure = "reported", or leave it out'
        )
    if settings.price_of == "waiting" and settings.measure != "wall":
        raise SettingsError('price_of: "waiting" counts seconds of the wall clock; write cost.measure = "wall"')


def _check_templates(settings: ProgramSettings) -> None:
    """Every placeholder has a meaning, and every parameter reaches the program."""
    used: set[str] = set()
    places = [("command", word) for word in settings.program.command]
    places += [(f"env.{name}", value) for name, value in settings.program.env.items()]
    for place, template in places:
        try:
            used.update(check_placeholders(template, settings.space))
        except ValueError as error:
            raise SettingsError(f"{place}: {error}") from None
    _check_conditional(settings)
    unused = [name for name, parameter in settings.space.items() if name not in used and parameter.count != 1]
    if unused and not used & CARRIES_ALL:
        raise SettingsError(
            f"space.{unused[0]} never reaches the program; write {{{unused[0]}}} (or {{params_json}}) in command"
        )


def _check_conditional(settings: ProgramSettings) -> None:
    """A word is left out where its parameter does not exist, so it must not leave a flag or a place behind."""
    sometimes = {name for name, parameter in settings.space.items() if parameter.when is not None}
    first, *words = settings.program.command
    lonely = [word for word in words if word.startswith("{") and placeholders(word) == [word[1:-1]]]
    for name in [name for word in (first, *lonely) for name in placeholders(word) if name in sometimes]:
        raise SettingsError(
            f"command: {{{name}}} is left out where {name} does not exist; write it in one argument with its name, "
            f'e.g. "--{name}={{{name}}}", or use {{params_json}}'
        )
    for reading in (settings.score, settings.cost):
        if found := sometimes.intersection(placeholders(reading.file or "")):
            raise SettingsError(f"{reading.what}.file: has {{{min(found)}}}, which does not exist in every run")


__all__ = ["parse", "read_text"]
