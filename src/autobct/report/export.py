"""The runs of a tuning for other programs: a pandas DataFrame, or a CSV file that is safe to open.

A spreadsheet takes a cell that begins with = + - @ for a formula, even in quotes, and a formula can send data away.
Parameter values and error messages may come from others, so such a text gets an apostrophe before it, which shows it
as text.  Numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autobct.maps.store import write_file
from autobct.tuning.visible import visible

if TYPE_CHECKING:
    import pandas


_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "|", "%")


def write_csv(records: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write the records to a file, whole or not at all."""
    write_file(path, csv_text(records).encode("utf-8"))


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as CSV, the names in the first line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if records:
        writer.writerow([_cell(name) for name in records[0]])
    writer.writerows([_cell(value) for value in record.values()] for record in records)
    return stream.getvalue()


def _cell(value: Any) -> str | int | float:
    """A number as it is, nothing for None, and text that is no formula."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = visible(str(value), keep="\n")
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def dataframe_of(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The records as a DataFrame, one row for each run."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "to_dataframe() needs pandas, which is not installed; install it with: pip install pandas "
            "(or use to_records(), which needs nothing)",
            name="pandas",
        ) from None
    return pandas.DataFrame(records)
