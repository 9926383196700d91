"""Trials in the world: any program, timed, capped, survived; stored in a folder, and continued after a crash."""

from autobct.run.ask_tell import StoredTuner, stored
from autobct.run.recorded import RecordedRun, read_run

__all__ = ["RecordedRun", "StoredTuner", "read_run", "stored"]
