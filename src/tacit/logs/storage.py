"""Private arrays in one file, for its owner alone (mode 0600): no pickle, written whole or not."""

from __future__ import annotations

import glob
import os
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from tacit.core.saved import Arrays
from tacit.errors import InputError
from tacit.policy.folders import sync_folder


def write(path: Path, arrays: Arrays) -> None:
    """A file beside it, written through to the disk, then put in its place: a crash leaves the old
    one or the new.

    Where `path` is a symbolic link, the file that it leads to is replaced: an old sum must not stay
    behind.
    """
    path = path.resolve()
    name = ""
    try:
        forget(path, whole=False)
        # It has mode 0600 from the beginning.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
        sync_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        if name:
            Path(name).unlink(missing_ok=True)


def read(path: str | Path, prefix: str) -> Arrays:
    """The arrays whose names begin with `prefix`."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}.")
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            return {name: file[name] for name in file.files if name.startswith(prefix)}
    except Exception as error:  # whatever zip, zlib and NumPy raise at bytes that make no sense
        if not isinstance(error, _NONSENSE):
            raise
        raise damaged(path) from None


_NONSENSE = (
    OSError,
    ValueError,
    EOFError,
    AttributeError,
    KeyError,
    TypeError,
    SyntaxError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def forget(path: Path, whole: bool = True) -> None:
    """Deletes the file, and what crashes in the middle of writing it left behind (only that unless
    `whole`).

    Of a symbolic link also the file that it leads to, which is where the sum is.
    """
    file = path.resolve()
    for left in file.parent.glob(f".{glob.escape(file.name)}.*.part"):
        left.unlink(missing_ok=True)
    if whole:
        file.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def damaged(path: str | Path) -> InputError:
    return InputError(
        f"{path} is damaged, or no checkpoint of this version of Tacit: delete it and start again."
    )
