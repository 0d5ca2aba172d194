"""pyarrow, loaded when it is first used: it is the extra `files`, and half a second of imports."""

from __future__ import annotations

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


def arrow_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises at a damaged file; nothing where it is not installed."""
    if not has_arrow():
        return ()
    return (pa.ArrowException,)
