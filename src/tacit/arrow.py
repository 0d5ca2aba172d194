"""pyarrow, loaded when it is first used: it is the extra `files`, and half a second of imports."""

from __future__ import annotations

from csv import Error as PlainError
from importlib import import_module
from typing import Any

from tacit.errors import MissingExtraError

USE = "Parquet and Arrow files"


class _Late:
    """Stands for a module of pyarrow until one of its names is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        try:
            module = import_module(self._module)
        except ImportError:
            raise MissingExtraError.of(USE, "pyarrow", "files") from None
        return getattr(module, name)


pa: Any = _Late("pyarrow")
csv: Any = _Late("pyarrow.csv")
feather: Any = _Late("pyarrow.feather")
kinds: Any = _Late("pyarrow.types")
parquet: Any = _Late("pyarrow.parquet")


def has_arrow() -> bool:
    """Whether pyarrow is installed. CSV files are read without it, too."""
    try:
        import_module("pyarrow")
    except ImportError:
        return False
    return True


def damage() -> tuple[type[Exception], ...]:
    """What is raised at a damaged file, by pyarrow or where it is not installed by Python."""
    own = (OSError, ValueError, PlainError)
    return (*own, pa.ArrowException) if has_arrow() else own
