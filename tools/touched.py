"""Which files one decision goes through: those of the package whose functions run during one `ask` and one `tell`.

python -m tools.touched    # numbers and names, for the default tuner
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import autobct
from autobct import Categorical, Float, Int
from autobct.tuning.space.space import Parameter

PACKAGE = Path(autobct.__file__).parent
SPACES: dict[str, dict[str, Parameter]] = {
    "two numbers": {"rate": Float(0.001, 1.0, log=True), "size": Int(1, 9)},
    "six parameters": {
        "rate": Float(0.001, 1.0, log=True),
        "size": Int(1, 90),
        "share": Float(0, 1),
        "decay": Float(1e-6, 0.1, log=True),
        "depth": Int(1, 12),
        "kind": Categorical(["a", "b", "c"]),
    },
}
_RUNS = 5  # before the decision that is looked at


@contextmanager
def calls_into(seen: set[str]) -> Iterator[None]:
    """Adds every file, relative to the package, with a function that is called meanwhile; an import is no call."""

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE):
                seen.add(path.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


def touched(space: dict[str, Parameter]) -> tuple[set[str], set[str]]:
    """The files of one `ask` and of one `tell` of the default tuner, after some runs."""
    tuner, asked, told = autobct.Tuner(space, price=2e-4), set[str](), set[str]()
    for number in range(_RUNS + 1):
        with calls_into(found := set()):
            trial = tuner.ask()
        if number == _RUNS:
            asked = found
        assert isinstance(trial, autobct.Train)
        rate = float(trial.params["rate"])
        with calls_into(found := set()):
            tuner.tell(trial, 1.0 - (rate - 0.3) ** 2, 1.0 + rate)
        told = found
    return asked, told


if __name__ == "__main__":
    for name, space in SPACES.items():
        for what, files in zip(("ask", "tell"), touched(space), strict=True):
            print(f"{name}, {what}: {len(files)} files")
            print("".join(f"    {file}\n" for file in sorted(files)), end="")
