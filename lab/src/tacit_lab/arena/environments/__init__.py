"""Problems to compare learners on. A factory draws one for a seed; `name@none` and `name@wrong`
change what the learner is told about the contexts, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit._typing import Rng
from tacit_lab.arena.environments.bump import bump
from tacit_lab.arena.environments.catalogue import catalogue
from tacit_lab.arena.environments.classics import CLASSICS
from tacit_lab.arena.environments.dosing import dosing
from tacit_lab.arena.environments.features import features
from tacit_lab.arena.environments.jester import jester
from tacit_lab.arena.environments.making import misled, untold
from tacit_lab.arena.environments.pooled import COLUMNS, pooled
from tacit_lab.arena.environments.pricing import pricing
from tacit_lab.arena.environments.rkhs import KERNELS, SIZES, rkhs
from tacit_lab.arena.environments.tables import TABLES
from tacit_lab.arena.environments.warfarin import warfarin
from tacit_lab.arena.protocol import Environment

RKHS: dict[str, Callable[[Rng], Environment]] = {
    f"{kernel}-{actions}+{contexts}": partial(rkhs, kernel, actions, contexts)
    for actions, contexts in SIZES
    for kernel in KERNELS
}
POOLED: dict[str, Callable[[Rng], Environment]] = {
    f"pooled-1+{columns}{kind}": partial(pooled, columns, bool(kind))
    for columns in COLUMNS
    for kind in ("", "-binary")
}
DATA: dict[str, Callable[[Rng], Environment]] = {"warfarin": warfarin, "jester": jester}
ENVIRONMENTS: dict[str, Callable[[Rng], Environment]] = {
    **RKHS,
    **{classic.name: classic for classic in CLASSICS},
    "bump": bump,
    "dosing": dosing,
    "pricing": pricing,
    "catalogue": catalogue,
    **POOLED,
    "features-33+4": features,
    **TABLES,
    **DATA,
}
# What the learner is told about the contexts: their public law unless it says otherwise.
VARIANTS: dict[str, Callable[[Environment], Environment]] = {
    "public": lambda e: e,
    "none": untold,
    "wrong": misled,
}

__all__ = ["DATA", "ENVIRONMENTS", "POOLED", "RKHS", "TABLES", "VARIANTS"]
