"""One run of a program: fill in the templates, run it as often as requested, read score and cost."""

from __future__ import annotations

import errno
import json
import math
import os
import shlex
import shutil
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autobct.run.interrupts import Interrupts
from autobct.run.lock import Lock
from autobct.run.process import NOT_STARTED, OWN_LIMITS, TIMEOUT, Ended, Order, SlowNotice, run_program
from autobct.run.program_settings import Program, ProgramSettings
from autobct.run.reading import NoNumberError, NotFiniteError, Reading, Stamp, check_written, last_words
from autobct.run.toml_table import as_text, filled, has_all
from autobct.tuning.history import Train
from autobct.tuning.units.limits import Deadline

_PARAMS = "params.json"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a run may still take.

    seconds, cpu:    of wall and processor time
    seconds_reason:  the cap behind `seconds`;  that behind `cpu` can only be max_cost
    """

    seconds: float = math.inf
    cpu: float = math.inf
    seconds_reason: str = "deadline"

    @classmethod
    def within(cls, settings: ProgramSettings, spent: float, deadline: Deadline | None, *, timed: bool) -> Allowance:
        """What the limits leave.  spent: by all runs, those under way included;  timed: the cost is wall time."""
        most = math.inf if settings.limits.max_cost is None else max(settings.limits.max_cost - spent, 0.0)
        until = math.inf if deadline is None else max(deadline.left(), 0.0)
        wall = most if timed else math.inf
        return cls(
            seconds=min(wall, until),
            cpu=most if settings.measure == "cpu" else math.inf,
            seconds_reason="max_cost" if wall <= until else "deadline",
        )


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of a run.

    score, error:  one of them is None
    wall:          seconds it took
    capped:        what ended it before its own end though it was not its fault: a cap, an interruption, or that it was
                   killed from outside or could not be started
    notes:         sentences about what else there is to know
    fault:         what is wrong for all params, as far as one run can tell: "output" if the program ended well and
                   printed no number, "program" if it failed; "" if it was too slow, or has diverged
    """

    score: float | None
    cost: float
    error: str | None
    wall: float
    notes: tuple[str, ...] = ()
    capped: str | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Once:
    """One training of a run; as `TrialOutcome`, and what it took in seconds."""

    score: float | None
    cost: float | None
    error: str | None
    ended: Ended
    fault: str = ""


class Trainer:
    """Runs the program of some settings.

    directory:  where the program runs;  folder: where its output is kept
    lock:       of that folder;  interrupts, mark: as in `run_program`; a lock has a mark of its own
    """

    def __init__(
        self,
        settings: ProgramSettings,
        directory: Path,
        folder: Path,
        interrupts: Interrupts | None = None,
        lock: Lock | None = None,
        *,
        mark: str = "",
    ) -> None:
        self._settings, self._directory, self._folder = settings, directory, folder
        self._kept: dict[str, Any] = {"interrupts": interrupts, "mark": mark}
        if lock is not None:
            self._kept |= {"hold": lock.descriptor, "mark": lock.mark}

    def place(self, trial: int) -> Path:
        """The folder of a run, counted from 0 inside and from 1 on disk."""
        return self._folder / "runs" / f"{trial + 1:04d}"

    def command_line(self, decision: Train) -> str:
        """The command of a run as one would type it."""
        return shlex.join(self._order(decision, 1, Allowance()).argv)

    def train(self, decision: Train, allowance: Allowance, waiting: SlowNotice | None = None) -> TrialOutcome:
        """All trainings of one run.  If some of the repeats finish, the run has; the others are only paid for.

        waiting: as in `run_program`
        """
        self._prepare(decision)
        trainings: list[Once] = []
        for repeat in range(1, self._settings.program.repeats + 1):
            spent = Allowance(
                allowance.seconds - sum(once.ended.wall for once in trainings),
                allowance.cpu - sum(once.ended.cpu for once in trainings),
                allowance.seconds_reason,
            )
            trainings.append(self._once(decision, repeat, spent, waiting))
            if trainings[-1].ended.capped is not None:
                break
        return self._together(trainings, decision)

    def _prepare(self, decision: Train) -> None:
        """An empty folder for the run; what an interrupted try left there is moved aside."""
        place = self.place(decision.trial)
        if place.exists() and _is_untouched(place):
            shutil.rmtree(place)
        elif place.exists():
            number = 1
            while (aside := place.with_name(f"{place.name}.interrupted-{number}")).exists():
                number += 1
            place.rename(aside)
        place.mkdir(parents=True)
        (place / _PARAMS).write_text(_params_json(decision) + "\n", "utf-8")

    def _once(self, decision: Train, repeat: int, allowance: Allowance, waiting: SlowNotice | None) -> Once:
        settings = self._settings
        order = self._order(decision, repeat, allowance)
        values = self._values(decision, repeat)
        readings = (settings.score, settings.cost)
        before = {reading.what: Stamp.of(self._file(reading, values, order)) for reading in readings}
        ended = self._run(order, waiting)
        measured = {"wall": ended.wall, "cpu": ended.cpu}.get(settings.measure)
        if ended.failure is not None:
            said = self._last_words(decision, order, repeat) if ended.by_itself else ""
            fault = "" if ended.failure.endswith(OWN_LIMITS) else "program"
            return Once(score=None, cost=measured, error=ended.failure + said, ended=ended, fault=fault)
        cost = measured
        try:
            if measured is None:
                cost = self._number(settings.cost, values, order, before)
            return Once(self._number(settings.score, values, order, before), cost, None, ended)
        except NoNumberError as missing:
            if ended.trouble is not None:  # a full disk is not the params' fault: the run is to be made again
                raise OSError(errno.ENOSPC, ended.trouble, order.stdout) from None
            error = f"{missing}{self._last_words(decision, order, repeat)}"
            return Once(
                score=None,
                cost=cost,
                error=error,
                ended=ended,
                fault="" if isinstance(missing, NotFiniteError) else "output",
            )

    def _run(self, order: Order, waiting: SlowNotice | None) -> Ended:
        """The program; one whose name depends on the params and that is not there has failed like any other."""
        ended = run_program(order, waiting=waiting, **self._kept)
        if ended.capped == NOT_STARTED and "{" in self._settings.program.command[0]:
            return replace(ended, capped=None)
        return ended

    def _last_words(self, decision: Train, order: Order, repeat: int) -> str:
        """What the program wrote on stderr before it failed, without what [env] gave it."""
        values = self._values(decision, repeat)
        return last_words(order.stderr, _environment(self._settings.program, values))

    def _number(self, reading: Reading, values: Mapping[str, str], order: Order, before: Mapping[str, Stamp]) -> float:
        path = self._file(reading, values, order)
        if reading.file is not None:
            check_written(path, before[reading.what], reading.what)
        return reading.number(path)

    def _file(self, reading: Reading, values: Mapping[str, str], order: Order) -> Path:
        return Path(order.stdout) if reading.file is None else self._directory / filled(reading.file, values)

    def _order(self, decision: Train, repeat: int, allowance: Allowance) -> Order:
        settings, values, place = self._settings, self._values(decision, repeat), self.place(decision.trial)
        program, timeout = settings.program, settings.limits.timeout or math.inf
        suffix = "" if program.repeats == 1 else f".{repeat}"
        own = timeout <= allowance.seconds
        return Order(
            argv=tuple(filled(word, values) for word in program.command if has_all(word, values)),
            env={**os.environ, **_environment(program, values)},
            directory=str(self._directory),
            stdout=str(place / f"stdout{suffix}.txt"),
            stderr=str(place / f"stderr{suffix}.txt"),
            timeout=_finite(min(timeout, allowance.seconds)),
            timeout_reason=TIMEOUT if own else allowance.seconds_reason,
            most_cpu=_finite(allowance.cpu),
            cpu_reason="max_cost",
            most_memory=settings.limits.memory,
            most_output=settings.limits.output,
        )

    def _values(self, decision: Train, repeat: int) -> dict[str, str]:
        place = self.place(decision.trial)
        return {
            **{name: as_text(value) for name, value in decision.params.items()},
            "params_json": _params_json(decision),
            "params_file": str(place / _PARAMS),
            "run_dir": str(place),
            "run": str(decision.trial + 1),
            "repeat": str(repeat),
            "seed": str(self._settings.seed + repeat - 1),
        }

    def _together(self, trainings: list[Once], decision: Train) -> TrialOutcome:
        scores = [once.score for once in trainings if once.score is not None]
        capped = next((once.ended.capped for once in trainings if once.ended.capped is not None), None)
        # what a training has cost that failed to tell; nobody knows how much of it one that was cut short has cost
        guess = decision.expected_cost / self._settings.program.repeats if capped is None else 0.0
        cost = math.fsum(guess if once.cost is None else once.cost for once in trainings)
        wall = math.fsum(once.ended.wall for once in trainings)
        notes = tuple(note for once in trainings for note in once.ended.notes)
        failed = [once.error for once in trainings if once.error is not None]
        if scores and failed:
            notes += (f"{len(failed)} of {len(trainings)} repeats failed, the last one: {failed[-1]}",)
        if scores and capped is None:
            return TrialOutcome(score=statistics.median(scores), cost=cost, error=None, wall=wall, notes=notes)
        return TrialOutcome(
            score=None, cost=cost, error=failed[-1], wall=wall, notes=notes, capped=capped, fault=trainings[-1].fault
        )


def _is_untouched(place: Path) -> bool:
    """Whether a program that was to run there never started: it has printed and written nothing."""
    return all(file.name == _PARAMS or (file.is_file() and not file.stat().st_size) for file in place.iterdir())


def _environment(program: Program, values: Mapping[str, str]) -> dict[str, str]:
    """What [env] adds to the environment; a value for a parameter that this run does not have is left out."""
    return {name: filled(value, values) for name, value in program.env.items() if has_all(value, values)}


def _params_json(decision: Train) -> str:
    params: dict[str, Any] = dict(decision.params)
    return json.dumps(params, ensure_ascii=False)


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else max(number, 0.0)
