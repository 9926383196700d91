"""Runs that fail for reasons other than their params: wait, retry, or end the tuning.

The same for a tuning in a folder and for a worker on a database.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from autobct.run.interrupts import Interrupts
from autobct.run.job import Job
from autobct.run.process import INTERRUPTED, LOST, NOT_STARTED, TWICE, SlowNotice
from autobct.run.trial import Allowance, Trainer, TrialOutcome
from autobct.tuning.history import Stop, Train
from autobct.tuning.training import the_same_again
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

HANGING = 600.0
"""Seconds after which a run without a timeout is said to take long, and again after twice as many."""

WAIT = 60.0
"""Seconds in which a program that cannot be started may come back."""

_RETRY = 1.0  # seconds between two tries to start it


class Retries:
    """Makes the runs of one tuning, or of one worker, and remembers which of them were killed from outside.

    say: hears a sentence about what is waited for or made again, from any thread
    """

    def __init__(self, job: Job, interrupts: Interrupts, say: Callable[[str], None]) -> None:
        self._job, self._interrupts, self._say = job, interrupts, say
        self._lost = set[int]()

    def made(self, trainer: Trainer, decision: Train, first: Allowance, later: Callable[[], Allowance]) -> TrialOutcome:
        """The outcome of a run, in the thread where it is made; a program that cannot be started is waited for.

        first, later: what the run may take when it is begun, and at each further try
        """
        slow = SlowNotice(partial(self._say_waiting, decision.trial + 1), HANGING)
        outcome = trainer.train(decision, first, slow)
        if outcome.capped == NOT_STARTED and WAIT > 0.0:
            self._say(f"Run {decision.trial + 1} could not be started: {outcome.error}. Trying again for {WAIT:g} s.")
            until = time.monotonic() + WAIT
            while outcome.capped == NOT_STARTED and time.monotonic() < until and not self._interrupts.count:
                time.sleep(min(_RETRY, WAIT))
                outcome = trainer.train(decision, later(), slow)
        return outcome

    def judged(self, decision: Train, outcome: TrialOutcome) -> TrialOutcome:
        """The outcome; a run that was killed from outside once more has failed."""
        if outcome.capped == LOST and decision.trial in self._lost:
            return replace(outcome, error=f"{TWICE}: {outcome.error}", capped=None)
        return outcome

    def is_made_again(self, decision: Train, outcome: TrialOutcome) -> bool:
        """Whether the run was killed from outside, for the first time; then it says so."""
        if outcome.capped != LOST:
            return False
        self._lost.add(decision.trial)
        number = decision.trial + 1
        self._say(f"Run {number} was {outcome.error}, not by its own doing as far as we know: it is made again.")
        return True

    def reason_to_stop(self, tuner: Tuner, capped: str) -> Stop | None:
        """Why a run that was cut short ends the tuning; None if it was interrupted."""
        if capped == INTERRUPTED or (capped == NOT_STARTED and self._interrupts.count):
            return None
        if capped == NOT_STARTED:
            return Stop(NOT_STARTED, len(tuner.history), tuner.memory.incumbent_score)
        stop = tuner.peek(Left(0.0, capped))
        assert isinstance(stop, Stop)
        return stop

    def _say_waiting(self, number: int, seconds: float) -> None:
        """A program may hang, and without a limit nobody would ever know."""
        if self._job.settings.limits.timeout is None:
            self._say(
                f"Run {number} has been running for {seconds:.0f} s, and no timeout is set. "
                f'If it hangs, press Ctrl-C, write timeout = "1h" under [limits] in {self._job.path}, and run the same '
                f"command."
            )


def hopeless(tuner: Tuner, outcome: TrialOutcome) -> Stop | None:
    """The end of a tuning whose program fails for every params, as far as anybody can tell."""
    history = tuner.history
    if not outcome.fault or any(run.error is None for run in history):
        return None
    if outcome.fault == "output":
        return Stop("no score", len(history), None)
    return Stop("same failure", len(history), None) if the_same_again(history) else None
