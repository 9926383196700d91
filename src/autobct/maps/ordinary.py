"""Files from others: read only if ordinary and small enough, and refused with one type of error.

A link to a device would be read until memory ends, and a pipe without a writer waited for: the kind of a file and its
size are looked at before its first byte.
"""

from __future__ import annotations

import os
import stat

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe that took the file's place meanwhile is not waited for
_BINARY = getattr(os, "O_BINARY", 0)  # Windows


class FileError(ValueError):
    """A file that is refused: damaged, altered, too large, or not what it should be.  The message is one sentence.

    Every file that the package reads, e.g. a map, a prior, a surrogate, a TOML file or a journal, is refused with this
    type or one derived from it.
    """


def read_ordinary(path: str | os.PathLike[str], most: int, refused: type[FileError] = FileError) -> bytes:
    """The bytes of an ordinary file of at most `most` bytes; `refused`, in one sentence, if it is none."""
    shown = repr(os.fspath(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening some devices already does something
            raise refused(f"{shown} is not an ordinary file")
        descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    except FileError:
        raise
    except FileNotFoundError:
        raise refused(f"{shown} cannot be read: there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise refused(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise refused(f"{shown} is not an ordinary file")
        if status.st_size > most:
            raise refused(f"{shown} is larger than {most} bytes; is it the right file?")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    except OSError as error:
        raise refused(f"{shown} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
