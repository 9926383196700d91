"""Validated settings of a TOML file: program, space and price."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from autobct.maps.ordinary import FileError
from autobct.run.reading import Reading
from autobct.tuning.decide.under_way import PriceOf
from autobct.tuning.space.parameter import Parameter
from autobct.tuning.space.row_table import Table

MOST_OUTPUT = 1 << 24
"""Bytes of each output stream of a run that are kept on disk: the beginning and the end of it."""


class SettingsError(FileError):
    """A TOML file cannot be used, in one sentence with the place in it."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run for one training, templates not yet filled in.

    command:   program and arguments;  directory: where it runs, relative ones as seen from the TOML file
    env:       added to the environment
    repeats:   trainings per run; the score is their median, the cost their sum
    """

    command: tuple[str, ...]
    directory: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What may be changed before continuing a tuning, for it changes no run that was made.

    timeout:   seconds a single training may take;  memory: bytes of memory that it may use
    max_cost, max_runs:  hard caps as in `autobct.tune`
    deadline:  seconds from each start of `autobct run`, or a moment
    output:    bytes of each output stream that are kept
    """

    timeout: float | None = None
    memory: float | None = None
    max_cost: float | None = None
    max_runs: int | None = None
    deadline: float | datetime | None = None
    output: int = MOST_OUTPUT


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """Everything a TOML file says.

    table:    the rows that may be trained, where these are the space
    rows:     the text of the file in which they stand, if they stand in one
    measure:  what cost is: "wall" or "cpu" seconds, or "reported" by the program, and then `cost` says where
    tuning:   arguments of `autobct.Tuner` as they were written: price, score_range, cost_range, direction, recall, ...
    price_of: what the price pays for: "compute", or "waiting" where programs run side by side
    """

    program: Program
    space: Mapping[str, Parameter]
    score: Reading
    measure: str
    cost: Reading
    tuning: Mapping[str, Any]
    seed: int
    limits: ProgramLimits
    table: Table | None = None
    rows: str | None = None
    price_of: PriceOf = "compute"

    @property
    def defining(self) -> dict[str, Any]:
        """What makes it this problem and no other: key path -> value, plain enough for JSON."""
        program, told = self.program, dict(self.tuning)
        flat = {
            "command": list(program.command),
            "directory": program.directory,
            "repeats": program.repeats,
            "seed": self.seed,
            "space": list(self.space),
            "cost.measure": self.measure,
            **{f"env.{name}": value for name, value in program.env.items()},
            **{f"space.{name}": repr(parameter) for name, parameter in self.space.items()},
            **{f"score.{key}": getattr(self.score, key) for key in ("key", "file", "pattern")},
            **{f"cost.{key}": getattr(self.cost, key) for key in ("key", "file", "pattern")},
            **({} if self.table is None else {"table": self.table.fingerprint}),
            **({} if self.price_of == "compute" else {"price_of": self.price_of}),
            **told,
        }
        plain: dict[str, Any] = json.loads(json.dumps({key: value for key, value in flat.items() if value is not None}))
        return plain

    @property
    def digest(self) -> str:
        """A fingerprint of what makes it this problem."""
        return hashlib.sha256(json.dumps(self.defining, sort_keys=True).encode()).hexdigest()


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The keys in which two problems differ."""
    keys = [*first, *(key for key in second if key not in first)]
    return [key for key in keys if first.get(key) != second.get(key)]
