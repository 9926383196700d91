"""A coverage-guided fuzzer for everything that reads a file from others, on atheris.

    pip install -c constraints.txt -e '.[fuzz]'
    python -m tools.fuzz_guided --seeds SEEDS
    python -m tools.fuzz_guided -max_total_time=600 CORPUS SEEDS

The first byte of an input chooses the reader, the rest is the file.  For maps, surrogates, forests and journals there
is a second reader that makes the checksum right first, so that what is behind it is reached as well.  An input that
raises anything but FileError, or takes more than a second (-timeout=1), ends the run and is written to a file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Reader = Callable[[bytes, Path], Any]

_MOST = 1 << 16  # bytes of an input


def readers() -> list[Reader]:
    """What the first byte chooses from; the order is that of the corpus, so new ones are added at the end."""
    from tools import file_kinds as kinds

    def resealed(read: Reader) -> Reader:
        return lambda data, folder: read(_resealed(data), folder)

    return [
        kinds.read_as_map,
        resealed(kinds.read_as_map),
        kinds.read_as_surrogate,
        resealed(kinds.read_as_surrogate),
        kinds.read_as_forest,
        resealed(kinds.read_as_forest),
        lambda data, folder: kinds.read_as_prior(data, folder, ".toml"),
        lambda data, folder: kinds.read_as_prior(data, folder, ".json"),
        kinds.read_as_settings,
        kinds.read_as_rows,
        kinds.read_as_journal,
        lambda data, folder: kinds.read_as_replayed(_fingerprinted(data), folder),
        kinds.read_as_signature,
    ]


def attempt(data: bytes, folder: Path, known: list[Reader]) -> str:
    """Read one input: "accepted", or the name of the error it was refused with; anything else is raised."""
    from autobct.maps.ordinary import FileError

    if not data or len(data) > _MOST:
        return "ignored"
    try:
        known[data[0] % len(known)](data[1:], folder)
    except FileError as error:
        return type(error).__name__
    return "accepted"


def _resealed(data: bytes) -> bytes:
    """A container whose checksum is right, if it is one at all."""
    from tools.mutations import sealed

    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length]) if length < len(data) else None
    except (ValueError, RecursionError):
        return data
    return sealed(header, data[8 + length :]) if isinstance(header, dict) else data


def _fingerprinted(data: bytes) -> bytes:
    """Lines of JSON as a journal."""
    import hashlib

    lines, check = [], ""
    for line in filter(None, data.decode("utf-8", "replace").split("\n")):
        told, found, _ = line.rpartition(', "check": "')
        body = told + "}" if found else line
        check = hashlib.sha256(f"{check}{body}".encode()).hexdigest()[:32]
        lines.append(f'{body[:-1]}, "check": "{check}"}}\n')
    return "".join(lines).encode()


def seeds(folder: Path) -> dict[str, bytes]:
    """One sound input for every reader, small ones: name -> bytes."""
    from tools import file_kinds as kinds

    from autobct.maps.library import map_bytes, read_map
    from autobct.value.maps.value_map import Perceptron, ValueMap

    files = {kind.name: kind.data for kind in kinds.file_kinds(folder)}
    spec, rng = read_map(files["map"]).value_map.spec, np.random.default_rng(0)
    weights = tuple(rng.normal(0, 0.1, shape).astype(np.float32) for shape in ((spec.inputs, 2), (2, 1)))
    small = map_bytes(ValueMap(spec, (Perceptron(weights, (np.zeros(2, np.float32), np.zeros(1, np.float32))),)), {})
    told = [small, small, files["surrogate"], files["surrogate"], files["forest"], files["forest"]]
    told += [files["prior, TOML"], files["prior, JSON"], files["settings, TOML"], files["rows, CSV"]]
    told += [files["journal"], files["journal"], files["signature"]]
    return {f"seed-{number:02d}": bytes([number]) + data for number, data in enumerate(told)}


def main() -> None:
    """Fuzz until told to stop."""
    import atheris

    with atheris.instrument_imports(include=["autobct", "tomllib", "json", "csv"]):
        from tools import file_kinds  # noqa: F401

        import autobct.build.layout
        import autobct.maps.library
        import autobct.run.recorded  # noqa: F401
    known, folder = readers(), Path(tempfile.mkdtemp(prefix="autobct-fuzz-"))
    if sys.argv[1:2] == ["--seeds"]:
        for name, data in seeds(folder).items():
            (Path(sys.argv[2]) / name).write_bytes(data)
        return
    atheris.Setup(sys.argv, lambda data: attempt(data, folder, known) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
