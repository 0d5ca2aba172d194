"""How a dashboard is reached, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InputError


@dataclass(frozen=True)
class DashboardOptions:
    """`folder` is where studies that are created by the form are kept, as SQLite files; None where
    none may be. `user_header` is the header by which a trusted proxy says who is calling; of these
    people `operators` may operate, the others may look. `behind_proxy` says that there is such a
    proxy, so that pages are also shown under names that are not this machine's own."""

    folder: Path | None = None
    user_header: str | None = None
    operators: frozenset[str] = frozenset()
    behind_proxy: bool = False

    def __post_init__(self) -> None:
        if self.user_header is not None and not self.behind_proxy:
            raise InputError(
                "a header that says who is calling is trusted from a proxy only: pass "
                "--behind-proxy, and let nobody else reach the service."
            )
        if self.operators and self.user_header is None:
            raise InputError("--operator names people whom --user-header tells: pass both.")
