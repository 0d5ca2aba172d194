"""How a fit is run, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tacit.design.options import require_rounds
from tacit.errors import InputError
from tacit.progress import Progress, silent

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class RunOptions:
    """How `tacit.fit` runs. All of it is public.

    | option | what it is |
    |---|---|
    | `request` | the name of the release in the ledger; a name of the design's otherwise |
    | `horizon` | the number of rounds planned, if that is more than the data has |
    | `columns` | what the data calls the problem's columns: `{"dose": "amount_mg"}` |
    | `checkpoint` | files only: keep the sums so far here, AS PRIVATE AS THE DATA, and go on |
    | `save_every` | seconds between two checkpoints |
    | `engine` | who counts: "local" is this process; "ray" a Ray cluster, for files only |
    | `address` | of a Ray cluster that is there; without one it is started on this machine |
    | `workers` | how many workers a Ray cluster on this machine has |
    | `progress` | called with (what, done, total) now and then |

    >>> run = tacit.RunOptions(request="spring", columns={"dose": "amount_mg"})
    """

    request: str | None = None
    horizon: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | Path | None = None
    save_every: float = 10.0
    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        if self.horizon is not None:
            require_rounds(self.horizon)
        if not self.save_every >= 0:
            raise InputError(f"save_every must be at least 0, got {self.save_every!r}.")
        if self.engine not in ENGINES:
            raise InputError(f"engine must be one of {', '.join(ENGINES)}, got {self.engine!r}.")
        if self.engine != "ray" and (self.address or self.workers):
            raise InputError(
                "address and workers are those of a cluster: choose the engine ray, too."
            )
        if self.address and self.workers:
            raise InputError(
                "a cluster that is there has its own workers: pass its address or a number of "
                "workers, not both."
            )
        if self.checkpoint is not None:
            folder = Path(self.checkpoint).absolute().parent
            if not folder.is_dir():
                raise InputError(
                    f"{self.checkpoint} cannot be written: there is no folder {folder}."
                )

    def require_table(self) -> None:
        """Fails if there is an option that a table in memory has no use for."""
        for name, given in (
            ("checkpoint", self.checkpoint is not None),
            ('engine="ray"', self.engine == "ray"),
        ):
            if given:
                raise InputError(
                    f"{name} is for files, and the data is a table in memory: leave it out, or "
                    "write the table to a Parquet file and pass its path."
                )
