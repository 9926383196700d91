"""Where the data lies, and files of numbers that are not trusted until checked."""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array32

VARIABLE = "AUTOBCT_DATA"
MAX_ARRAYS = 4 * 2**30  # bytes, unpacked
_AGAIN = "it is damaged or truncated; copy or download it again"


class DataError(ValueError):
    """A data file that cannot be used; one sentence says which and why."""


def data_folder(given: str | os.PathLike[str] | None = None, how: str = "") -> Path:
    """The folder of the paper's data: `given`, or AUTOBCT_DATA; where that holds a folder paper/, it is meant.

    how: to fill it, for the message that there is none
    """
    told = os.fspath(given) if given is not None else os.environ.get(VARIABLE, "")
    fill = f"; to fill one, {how}" if how else ""
    if not told:
        raise FileNotFoundError(f"the paper's data is needed: name its folder with --data DIR or in {VARIABLE}{fill}")
    folder = Path(told)
    if not folder.is_dir():
        raise FileNotFoundError(f"the data folder {told!r} does not exist or is not a folder{fill}")
    return folder / "paper" if (folder / "paper").is_dir() else folder


def first_of(folder: Path, names: Sequence[str], how: str) -> Path:
    """The first of these that is in the folder; FileNotFoundError saying how to get it if none is."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"none of {', '.join(names)} is in {str(folder)!r}: {how}")


def read_npz(path: Path, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """These arrays of an .npz file, without pickle."""
    try:
        with zipfile.ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > MAX_ARRAYS:
                raise DataError(f"{path.name} unpacks to more than {MAX_ARRAYS} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            missing = [key for key in keys if key not in arrays]
            if missing:
                raise DataError(f"{path.name} lacks the array {missing[0]!r}; it needs {', '.join(keys)}")
            return {key: arrays[key] for key in keys}
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError) as error:
        raise DataError(f"{path.name} cannot be read: {_AGAIN}") from error


def read_parquet(path: Path, columns: Sequence[str]) -> Array32:
    """These columns of a parquet file: (rows, columns)."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"{path.name} needs pyarrow: pip install 'autobct[paper]'") from None
    try:
        file = pyarrow.parquet.ParquetFile(path)
        check_columns(path, file.schema_arrow.names, columns)
        table = file.read(columns=list(columns))
        return np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float32) for name in columns])
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path.name} cannot be read: {_AGAIN}") from error


def read_text(file: Path | TextIO, **options: Any) -> Array32:
    """The numbers between the commas of a text file: (rows, columns), as of np.loadtxt with these options."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")  # whoever calls says so better
        return np.loadtxt(file, dtype=np.float32, delimiter=",", ndmin=2, **options)


def check_columns(path: Path, found: Sequence[str], needed: Sequence[str]) -> None:
    """DataError if a needed column is not among those found."""
    missing = [name for name in needed if name not in found]
    if missing:
        raise DataError(f"{path.name} lacks the column {missing[0]!r}; it needs {needed[0]} ... {needed[-1]}")


def check_finite(path: Path, numbers: NDArray[Any]) -> None:
    """DataError if there are no rows, or one holds something else than a finite number."""
    if len(numbers) == 0:
        raise DataError(f"{path.name} has no rows")
    bad = ~np.isfinite(numbers).all(axis=tuple(range(1, numbers.ndim)))
    if bad.any():
        raise DataError(f"row {int(bad.argmax()) + 1} of {path.name} holds a value that is not a finite number")
