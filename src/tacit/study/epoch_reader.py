"""What may be known of the epochs of a study, read without their arrays. Released epochs do not
change any more: they are read once. Nothing here decides which rounds count where."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import Engine, select

from tacit.core.database import perform
from tacit.study.epoch_store import EpochRow, epochs_table


class Texts(NamedTuple):
    """What is written about the law of an epoch, and about its policy once it was released."""

    law: dict[str, Any]
    policy: dict[str, Any] | None


class EpochReader:
    """Reads the public part of one study's epochs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._released: tuple[EpochRow, ...] = ()
        self._texts: dict[int, Texts] = {}  # of these

    def rows(self) -> list[EpochRow]:
        """Every epoch that was opened, in order, as it stands now."""
        known = self._released
        columns = [epochs_table.c[name] for name in EpochRow.__dataclass_fields__]
        wanted = select(*columns).where(epochs_table.c.number > len(known))
        query = wanted.order_by(epochs_table.c.number)
        new = perform(self._engine, lambda connection: connection.execute(query).all())
        found = [*known, *(EpochRow(*row) for row in new)]
        self._released = tuple(takewhile(lambda epoch: epoch.released is not None, found))
        return found

    def texts(self, numbers: Sequence[int]) -> dict[int, Texts]:
        """What is written about epochs of these numbers."""
        unknown = [number for number in numbers if number not in self._texts]
        wanted = select(epochs_table.c.number, epochs_table.c.law, epochs_table.c.policy)
        query = wanted.where(epochs_table.c.number.in_(unknown))
        rows = perform(self._engine, lambda connection: connection.execute(query).all())
        found = dict(self._texts)
        for row in rows:
            policy = None if row.policy is None else json.loads(row.policy)
            found[row.number] = Texts(json.loads(row.law), policy)
        self._texts = {i: texts for i, texts in found.items() if texts.policy is not None}
        return found
